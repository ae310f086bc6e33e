/*
 * split: see split.h.
 */
#include "query/split.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

#define PLUS_MAX   8  /* regcomp() makes two copies of what is before each of them */
#define GROUPS_MAX 32 /* of which a part can be one */

/* ---- from what users write to what regcomp() takes ---- */

struct translation {
	struct split *split;
	const char *at;
	char *to; /* has room for all: what is longer than before has five letters for two */
	unsigned int groups;
};

static void keep_text(struct translation *t, size_t len)
{
	memcpy(t->to, t->at, len);
	t->to += len;
	t->at += len;
}

/* A list of characters, as [^]a-z[:digit:]], in which a backslash is one of them. */
static void copy_list(struct translation *t)
{
	keep_text(t, t->at[1] == '^' ? 2 : 1);
	keep_text(t, *t->at == ']');
	while (*t->at && *t->at != ']') {
		const char kind = t->at[0] == '[' ? t->at[1] : '\0';
		const char end[] = { kind, ']', '\0' };
		const char *past = kind && strchr(":.=", kind) ? strstr(t->at + 2, end) : NULL;

		keep_text(t, past ? (size_t)(past - t->at) + 2 : 1);
	}
	keep_text(t, *t->at == ']');
}

/* Takes ?<NAME>; false: it is wrong, or reserved. */
static bool take_part_name(struct translation *t, char name[SPLIT_NAME_BYTES])
{
	static const char *const reserved[] = { "tid", "pid", "cpu", "ctx", "app" };
	size_t len = 0;

	t->at += 2;
	while (isalnum((unsigned char)t->at[len]) || t->at[len] == '_') {
		len++;
	}
	if (len == 0 || len >= SPLIT_NAME_BYTES || t->at[len] != '>' ||
	    isdigit((unsigned char)*t->at)) {
		return false;
	}
	memcpy(name, t->at, len);
	t->at += len + 1;
	for (size_t i = 0; i < ARRAY_COUNT(reserved); i++) {
		if (strcmp(name, reserved[i]) == 0) {
			return false;
		}
	}
	return split_named(t->split, name) == SIZE_MAX;
}

/* What opens a group.  False: it has a name, and is one too many. */
static bool take_opening(struct translation *t)
{
	struct split_name part = { .group = (uint8_t)++t->groups };
	bool has_name, is_right = true;

	keep_text(t, 1);
	if (t->at[0] == '?' && t->at[1] == ':') {
		t->at += 2;
		return true;
	}
	has_name = t->at[0] == '?';
	if (has_name) {
		is_right = t->at[1] == '<' && take_part_name(t, part.text);
	}
	if (t->split->count == SPLIT_PARTS_MAX || t->groups >= GROUPS_MAX) {
		return is_right && !has_name;
	}
	t->split->parts[t->split->count++] = part;
	return is_right;
}

static bool to_posix(struct translation *t)
{
	bool is_right = true;

	while (is_right && *t->at) {
		if (t->at[0] == '\\' && t->at[1] == 'd') {
			memcpy(t->to, "[0-9]", 5);
			t->to += 5;
			t->at += 2;
		} else if (t->at[0] == '\\' && t->at[1]) {
			keep_text(t, 2);
		} else if (t->at[0] == '[') {
			copy_list(t);
		} else if (t->at[0] == '(') {
			is_right = take_opening(t);
		} else {
			keep_text(t, 1);
		}
	}
	*t->to = '\0';
	return is_right;
}

/* Back-references and counts may take any time. */
static bool is_quick(const char *text)
{
	unsigned int copies = 0;

	for (const char *at = text; *at; at++) {
		copies += *at == '+';
		if (*at == '{' || copies > PLUS_MAX ||
		    (*at == '\\' && isdigit((unsigned char)at[1]))) {
			return false;
		}
		at += *at == '\\' && at[1];
	}
	return true;
}

struct split *split_new(const char *text)
{
	struct split *split = mem_alloc(sizeof(*split));
	char *posix = mem_alloc(strlen(text) * 3 + 1);
	struct translation t = { .split = split, .at = text, .to = posix };
	bool is_right = is_quick(text) && to_posix(&t);

	assert((size_t)(t.to - posix) <= strlen(text) * 3);
	is_right = is_right && regcomp(&split->is, posix,
				       REG_EXTENDED | (split->count == 0 ? REG_NOSUB : 0)) == 0;
	free(posix);
	if (!is_right) {
		free(split);
		return NULL;
	}
	return split;
}

void split_free(struct split *split)
{
	if (split) {
		regfree(&split->is);
	}
	free(split);
}

/* ---- texts ---- */

bool split_matches(const struct split *split, const char *text, size_t len)
{
	regmatch_t whole = { .rm_so = 0, .rm_eo = (regoff_t)len };

	return regexec(&split->is, text, 0, &whole, REG_STARTEND) == 0;
}

size_t split_named(const struct split *split, const char *name)
{
	for (size_t i = 0; i < split->count; i++) {
		if (*name && strcmp(split->parts[i].text, name) == 0) {
			return i;
		}
	}
	return SIZE_MAX;
}

bool split_part(const struct split *split, const char *text, size_t len, size_t part,
		const char **ret, size_t *ret_len)
{
	regmatch_t groups[GROUPS_MAX];
	size_t group;

	assert(part < split->count);
	group = split->parts[part].group;
	assert(group < GROUPS_MAX);
	groups[0] =
		(regmatch_t){ .rm_so = 0,
			      .rm_eo = (regoff_t)(len < SPLIT_BYTES_MAX ? len : SPLIT_BYTES_MAX) };
	if (regexec(&split->is, text, group + 1, groups, REG_STARTEND) != 0 ||
	    groups[group].rm_so < 0) {
		return false;
	}
	*ret = text + groups[group].rm_so;
	*ret_len = (size_t)(groups[group].rm_eo - groups[group].rm_so);
	return true;
}
