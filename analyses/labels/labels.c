/*
 * labels: see labels.h; the names of rows by what ids are called.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/labels/labels.h"
#include "engine/contract/untrusted.h"

/* A text that gets longer; from malloc(). */
static void append(char **text, const char *more, size_t len)
{
	char *longer = mem_printf("%s %.*s", *text, (int)len, more);

	free(*text);
	*text = longer;
}

/* Whether "WORD=" comes next. */
static bool is_next(const char *at, const char *word)
{
	size_t len = strlen(word);

	return strncmp(at, word, len) == 0 && at[len] == '=';
}

/* Where the item at @at ends: at what follows it, "WORD=". */
static size_t item_len(const char *at, const char *word)
{
	const char *next = word ? strchr(at, ' ') : NULL;

	while (next && !is_next(next + 1, word)) {
		next = strchr(next + 1, ' ');
	}
	return next ? (size_t)(next - at) : strlen(at);
}

static bool is_listed(const struct labels_row *row, const struct label_use *use)
{
	return !row->has_ids_only || use->label >= 0;
}

/* The length of item @i at @at: up to the nearest of what may follow, since any may be left out. */
static size_t len_of(const struct label_set *set, const struct labels_row *row, size_t i,
		     const char *at)
{
	size_t len = item_len(at, row->behind);

	while (++i < row->group->count) {
		const struct label_use *next = &row->group->uses[i];
		size_t upto = is_listed(row, next) ? item_len(at, label_use_name(set, next)) : len;

		len = upto < len ? upto : len;
	}
	return len;
}

/* Adds the items of a group, those of labels by their names; true: some had one. */
static bool add_items(char **text, const struct called *called, const struct label_set *set,
		      const struct labels_row *row)
{
	const char *at = row->items;
	bool any = false;

	for (size_t i = 0; i < row->group->count; i++) {
		const struct label_use *use = &row->group->uses[i];
		const char *word = label_use_name(set, use), *name = NULL;
		size_t len;

		if (!is_listed(row, use) || !is_next(at, word)) {
			continue;
		}
		len = len_of(set, row, i, at);
		if (use->label >= 0) {
			char *id = mem_printf("%.*s", (int)(len - strlen(word) - 1),
					      at + strlen(word) + 1);

			name = called_find(called, (unsigned int)use->label, id);
			free(id);
		}
		any |= name != NULL;
		append(text, name ? name : at, name ? strlen(name) : len);
		at += len + strspn(at + len, " ");
	}
	return any;
}

char *labels_name_of(const struct called *called, const struct label_set *set,
		     const struct labels_row *row)
{
	char *text = mem_strdup(row->name);

	if (!add_items(&text, called, set, row)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- files ---- */

bool labels_accepts(const struct untrusted_record *untrusted)
{
	const uint64_t *words = untrusted->numbers;
	const struct period_set *set = untrusted->periods;
	uint64_t len;

	if (!set || untrusted->record->arg16 >= set->labels.sources.count ||
	    !untrusted_has(untrusted, LABEL_TEXT + 1)) {
		return false;
	}
	len = words[LABEL_LEN];
	return len < LABEL_TEXT_BYTES_MAX &&
	       untrusted->count >= LABEL_TEXT + len / sizeof(*words) + 1 &&
	       strnlen((const char *)(words + LABEL_ID), ID_BYTES) < ID_BYTES &&
	       strnlen((const char *)(words + LABEL_TEXT), len + 1) == len;
}
