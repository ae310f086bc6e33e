/*
 * trigger-which: which rows of a list a figure is about: [3], [comm=redis*], [name="a]b"].
 *
 * A value is a pattern as those of a shell.  Quotes around it may enclose any letters; they are not
 * part of it, and patterns hold inside, too.  A backslash takes the letter after it as it is.  What
 * no row can have is refused: a trigger that never fires helps nobody.
 */
#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/contract/row-key.h"
#include "engine/engine.h"
#include "trigger/trigger-parts.h"

/* The name of a row with ids by their names; it changes, so a row has none until they are known. */
#define LABEL_KEY "label"

#define NAMED_IDS 4096 /* numbers that have names lie below: errno, vectors, log levels */

/* ---- keys ---- */

#define KEYS_MAX 7

/* What rows of the list are selected by, as in JSON; ends with NULL. */
static void list_keys(const struct figure *figure, const struct table *list,
		      const char *keys[KEYS_MAX])
{
	size_t count = 0;

	if (scope_is_of_pairs(list->scope)) {
		keys[count++] = list->by_key;
		keys[count++] = list->owner_key;
	}
	switch (list->scope) {
	case SCOPE_THREAD:
	case SCOPE_PAIR:
		keys[count++] = "comm";
		keys[count++] = "tid";
		keys[count++] = "pid";
		break;
	case SCOPE_PROCESS:
	case SCOPE_PROCESS_PAIR:
		keys[count++] = "comm";
		keys[count++] = "pid";
		break;
	case SCOPE_CPU:
		keys[count++] = "cpu";
		break;
	case SCOPE_EVENT:
		keys[count++] = "name";
		break;
	default:
		if (list->name_key) {
			keys[count++] = list->name_key;
		}
		if (list->scope == SCOPE_KEYED && analysis_rare(figure->analysis)->label_of) {
			keys[count++] = LABEL_KEY;
		}
		if (list->id_key) {
			keys[count++] = list->id_key;
		}
		if (list->owner_key && !scope_is_of_pairs(list->scope)) {
			keys[count++] = list->owner_key;
		}
		break;
	}
	keys[count] = NULL;
}

static bool is_key(const struct figure *figure, const struct table *list, const char *word,
		   size_t len)
{
	const char *keys[KEYS_MAX];

	list_keys(figure, list, keys);
	for (size_t i = 0; keys[i]; i++) {
		if (strlen(keys[i]) == len && strncmp(keys[i], word, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool has_numbers(const struct table *list)
{
	return list->scope != SCOPE_EVENT && (list->scope != SCOPE_KEYED || list->id_key);
}

static bool is_number(const struct table *list, const char *key)
{
	return strcmp(key, "comm") != 0 && strcmp(key, LABEL_KEY) != 0 &&
	       list->scope != SCOPE_EVENT && !(list->by_key && strcmp(key, list->by_key) == 0) &&
	       !(list->name_key && strcmp(key, list->name_key) == 0);
}

/* ---- parsing ---- */

static bool say_keys(const struct figure *figure, const struct table *list, char *why, size_t size)
{
	const char *keys[KEYS_MAX];
	int used = snprintf(why, size, "rows of %s are selected by %sKEY=PATTERN, KEY being ",
			    list->key, has_numbers(list) ? "a number or " : "");

	list_keys(figure, list, keys);
	for (size_t i = 0; keys[i] && used < (int)size; i++) {
		used += snprintf(why + used, size - (size_t)used, "%s%s",
				 i == 0        ? ""
				 : keys[i + 1] ? ", "
					       : " or ",
				 keys[i]);
	}
	return false;
}

/* The end of a value: the quote that closes it, or without quotes the bracket; NULL: there is none.
 */
static const char *value_end(const char *at, char closes)
{
	for (; *at && *at != closes; at++) {
		if (*at == '\\' && *++at == '\0') {
			return NULL;
		}
	}
	return *at ? at : NULL;
}

/* Whether some number's name, or the number itself, matches. */
static bool some_id_matches(const struct table *list, const char *pattern)
{
	char number[24];

	for (uint64_t id = 0; id < NAMED_IDS; id++) {
		const char *name = list->id_name(id);

		(void)snprintf(number, sizeof(number), "%" PRIu64, id);
		if (fnmatch(pattern, number, 0) == 0 || (name && fnmatch(pattern, name, 0) == 0)) {
			return true;
		}
	}
	return false;
}

/* Whether some row may have the value.  Patterns with signs of their own are believed. */
static bool may_match(const struct table *list, const char *key, const char *pattern, char *why,
		      size_t size)
{
	if (list->id_key && list->id_name && strcmp(key, list->id_key) == 0) {
		(void)snprintf(why, size, "no %s has this number or name", key);
		return some_id_matches(list, pattern);
	}
	if (is_number(list, key)) {
		(void)snprintf(why, size, "%s is a number", key);
		return pattern[0] && strspn(pattern, "0123456789-*?[]!^\\") == strlen(pattern);
	}
	if ((strcmp(key, "comm") == 0 || strcmp(key, "by_comm") == 0) &&
	    !strpbrk(pattern, "*[\\")) {
		(void)snprintf(why, size, "names of threads have at most %d letters",
			       NAME_BYTES - 1);
		return strlen(pattern) < NAME_BYTES;
	}
	return true;
}

/* @at is behind "KEY=".  Returns what is behind the value, NULL with the reason. */
static const char *take_pattern(const char *at, const struct table *list, struct figure *figure,
				char *why, size_t size)
{
	bool is_quoted = *at == '"' || *at == '\'';
	const char *begin = is_quoted ? at + 1 : at;
	const char *end = value_end(begin, is_quoted ? *at : ']');

	if (!end) {
		(void)snprintf(why, size,
			       is_quoted ? "the quote is not closed" : "the bracket is not closed");
		return NULL;
	}
	figure->pattern = mem_alloc((size_t)(end - begin) + 1);
	memcpy(figure->pattern, begin, (size_t)(end - begin));
	if (!may_match(list, figure->key, figure->pattern, why, size)) {
		return NULL;
	}
	return is_quoted ? end + 1 : end;
}

bool which_parse(const char **at, const struct table *list, struct figure *figure, char *why,
		 size_t size)
{
	const char *begin = *at + 1, *end = strpbrk(begin, "=]");
	char *past;

	assert(**at == '[');
	if (!end) {
		(void)snprintf(why, size, "the bracket is not closed");
		return false;
	}
	*at = begin;
	errno = 0;
	figure->id = strtoll(begin, &past, 10);
	if (past != begin && *past == ']' && has_numbers(list)) {
		figure->has_id = true;
		*at = past + 1;
		if (errno != 0 || (figure->id < 0 && list->scope != SCOPE_KEYED)) {
			(void)snprintf(why, size, "no row has this number");
			*at = begin;
			return false;
		}
		return true;
	}
	if (*end != '=' || !is_key(figure, list, begin, (size_t)(end - begin))) {
		return say_keys(figure, list, why, size);
	}
	figure->key = mem_printf("%.*s", (int)(end - begin), begin);
	*at = end + 1;
	end = take_pattern(end + 1, list, figure, why, size);
	if (end && *end != ']') {
		(void)snprintf(why, size, "expected ] behind the quote");
		*at = end;
		return false;
	}
	*at = end ? end + 1 : *at;
	return end != NULL;
}

const char *which_name(const struct figure *figure)
{
	return figure->key && figure->table->name_key &&
			       strcmp(figure->key, figure->table->name_key) == 0
		       ? figure->pattern
		       : NULL;
}

/* ---- choosing ---- */

/* The number that the key names. */
static int64_t number_of(const struct figure *figure, const struct report_row *row)
{
	if (figure->table->owner_key && strcmp(figure->key, figure->table->owner_key) == 0) {
		return row->owner;
	}
	if (row->thread) {
		return strcmp(figure->key, "tid") == 0 ? row->thread->tid : row->thread->pid;
	}
	return (int64_t)row->id;
}

static bool matches(const struct figure *figure, const struct report_row *row)
{
	const struct table *table = figure->table;
	const char *name;
	char number[24];

	if (row->by && table->by_key && strcmp(figure->key, table->by_key) == 0) {
		return fnmatch(figure->pattern, row->by, 0) == 0;
	}
	if (strcmp(figure->key, "comm") == 0) {
		return fnmatch(figure->pattern, row->thread->comm, 0) == 0;
	}
	if (strcmp(figure->key, LABEL_KEY) == 0) {
		return row->label && fnmatch(figure->pattern, row->label, 0) == 0;
	}
	if (!is_number(table, figure->key)) {
		return fnmatch(figure->pattern, row->name, 0) == 0;
	}
	(void)snprintf(number, sizeof(number), "%" PRId64, number_of(figure, row));
	name = table->id_name && strcmp(figure->key, table->id_key) == 0 ? table->id_name(row->id)
									 : NULL;
	return fnmatch(figure->pattern, number, 0) == 0 ||
	       (name && fnmatch(figure->pattern, name, 0) == 0);
}

bool which_chooses(const struct figure *figure, const struct report_row *row)
{
	enum scope scope = figure->table->scope;

	if (figure->has_id) {
		return scope == SCOPE_THREAD || scope == SCOPE_PAIR ? row->thread->tid == figure->id
		       : scope == SCOPE_PROCESS || scope == SCOPE_PROCESS_PAIR
			       ? row->thread->pid == figure->id
			       : (int64_t)row->id == figure->id;
	}
	return !figure->pattern || matches(figure, row);
}

/* ---- names ---- */

char *which_row_name(const struct table *table, const struct report_row *row)
{
	const char *name = row->name ? row->name : "";

	switch (table->scope) {
	case SCOPE_TRACE:
		return mem_strdup("");
	case SCOPE_CPU:
		return mem_printf("%" PRIu64, row->id);
	case SCOPE_THREAD:
	case SCOPE_PROCESS:
		return mem_strdup(row->thread ? row->thread->comm : name);
	case SCOPE_PAIR:
	case SCOPE_PROCESS_PAIR:
	case SCOPE_CONTAINER_PAIR:
		return mem_printf("%s by %s", row->thread ? row->thread->comm : name,
				  row->by ? row->by : "");
	case SCOPE_KEYED:
		if (row->label) {
			return mem_strdup(row->label);
		}
		return (table->name_key && name[0]) || !table->id_key || row->id == ROW_KEY_NO_ID
			       ? mem_strdup(name)
			       : mem_printf("%" PRId64, (int64_t)row->id);
	default:
		return mem_strdup(name);
	}
}
