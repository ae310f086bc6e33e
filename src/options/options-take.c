/*
 * options-take: the value of an option, by its kind.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "options/options-parts.h"

int options_bad_value(struct err *err, const char *option, const char *value, const char *expected)
{
	return err_raise(err, -EINVAL, "--%s: \"%s\" is not %s", option, value, expected);
}

static int take_count(const char *option, const char *value, uint64_t most, uint64_t *ret,
		      struct err *err)
{
	char *past;

	errno = 0;
	*ret = strtoull(value, &past, 10);
	if (value[0] < '0' || value[0] > '9' || *past || errno || *ret > most) {
		return options_bad_value(err, option, value, "a number in range");
	}
	return 0;
}

static int take_size(const char *option, const char *value, uint64_t *ret, struct err *err)
{
	if (units_parse_size(value, ret) < 0 || *ret == 0) {
		return options_bad_value(err, option, value, "a size such as 64K, 1M or 2G");
	}
	return 0;
}

static int take_duration(const char *option, const char *value, uint64_t *ret, struct err *err)
{
	if (units_parse_duration(value, ret) < 0) {
		return options_bad_value(err, option, value,
					 "a duration such as 500ms, 1s or 2m (ns us ms s m h)");
	}
	return 0;
}

#define WORDS_NAMED 8 /* so many words fit into a message */

/* "text, json or html"; NULL: they are too many. */
static char *list_of(const char *const *words)
{
	char *list = mem_strdup(words[0]);

	for (size_t i = 1; words[i]; i++) {
		const char *separator = words[i + 1] ? ", " : " or ";
		char *longer =
			i < WORDS_NAMED ? mem_printf("%s%s%s", list, separator, words[i]) : NULL;

		free(list);
		if (!longer) {
			return NULL;
		}
		list = longer;
	}
	return list;
}

int options_take_word(const char *noun, const char *value, const char *const *words,
		      const char **ret_word, struct err *err)
{
	char *list;
	int r;

	for (size_t i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			*ret_word = words[i];
			return 0;
		}
	}
	list = options_nearest(value, words) ? NULL : list_of(words);
	r = list ? err_raise(err, -EINVAL, "unknown %s \"%s\": %s", noun, value, list)
		 : options_refuse(err, noun, value, words);
	free(list);
	return r;
}

/* ---- lists ---- */

typedef VEC(int64_t) numbers_vec;
typedef VEC(const char *) texts_vec;

static int take_numbers(const char *option, const char *value, numbers_vec *numbers,
			struct err *err)
{
	char *list = mem_strdup(value), *rest = list;
	const char *word;
	uint64_t number;
	int r = 0;

	while (r == 0 && (word = strsep(&rest, ","))) {
		r = take_count(option, word, UINT32_MAX, &number, err);
		if (r == 0) {
			*vec_push(numbers) = (int64_t)number;
		}
	}
	free(list);
	return r;
}

/* Patterns as those of a shell.  A backslash takes what is behind it as it is, a comma too. */
static int take_names(const char *option, const char *value, texts_vec *names, struct err *err)
{
	const char *begin = value;

	for (const char *at = value;; at++) {
		if (*at == '\\' && at[1] == '\0') {
			return options_bad_value(err, option, value,
						 "a list of patterns: nothing is behind \\");
		}
		if (*at == '\\') {
			at++;
		} else if (*at == ',' || *at == '\0') {
			*vec_push(names) = mem_printf("%.*s", (int)(at - begin), begin);
			begin = at + 1;
		}
		if (*at == '\0') {
			return 0;
		}
	}
}

/* ---- any ---- */

static int take_by_kind(struct options *options, const struct option *option, const char *value,
			struct err *err)
{
	void *member = (char *)options + option->offset;

	switch (option->kind) {
	case OPTION_IGNORED:
		return 0;
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_COUNT:
		return take_count(option->name, value, option->most, member, err);
	case OPTION_SIZE:
		return take_size(option->name, value, member, err);
	case OPTION_DURATION:
		return take_duration(option->name, value, member, err);
	case OPTION_TEXT:
		*(const char **)member = value;
		return 0;
	case OPTION_TEXTS:
		*vec_push((texts_vec *)member) = value;
		return 0;
	case OPTION_WORD:
		return options_take_word(option->noun, value, option->words, member, err);
	case OPTION_NUMBERS:
		return take_numbers(option->name, value, member, err);
	case OPTION_NAMES:
		return take_names(option->name, value, member, err);
	case OPTION_CUSTOM:
		return option->take(options, value, err);
	}
	return 0;
}

int options_take(struct options *options, const struct option *option, const char *value,
		 struct err *err)
{
	assert((option->argument != NULL) == (value != NULL) || (option->may_lack && !value));
	assert((option->kind == OPTION_CUSTOM) == (option->take != NULL));
	if (option->given > 0) {
		*((bool *)options + option->given) = true;
	}
	return take_by_kind(options, option, value, err);
}
