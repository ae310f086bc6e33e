/*
 * which: see which.h.
 */
#include "figure/which.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "engine/contract/partial.h"
#include "engine/contract/row-key.h"

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

static bool say_keys(struct scan *scan, const struct figure *figure, const struct table *list)
{
	const char *keys[KEYS_MAX];
	char text[120] = "";

	list_keys(figure, list, keys);
	for (size_t i = 0; keys[i]; i++) {
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used, "%s%s",
			       i == 0        ? ""
			       : keys[i + 1] ? ", "
					     : " or ",
			       keys[i]);
	}
	return scan_fail(scan, "rows of %s are selected by %sKEY=PATTERN, KEY being %s", list->key,
			 has_numbers(list) ? "a number or " : "", text);
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

/* Whether some number's name, or the number itself, matches.  Beside large ones that have a name
 * there are others. */
static bool some_id_matches(const struct table *list, const char *pattern)
{
	char number[24];

	if (list->id_named && strspn(pattern, "0123456789*?") == strlen(pattern)) {
		return pattern[0];
	}
	for (size_t i = 0; list->id_named ? list->id_named(i) != UINT64_MAX : i < NAMED_IDS; i++) {
		uint64_t id = list->id_named ? list->id_named(i) : i;
		const char *name = list->id_name(id);

		(void)snprintf(number, sizeof(number), "%" PRIu64, id);
		if (fnmatch(pattern, number, 0) == 0 || (name && fnmatch(pattern, name, 0) == 0)) {
			return true;
		}
	}
	return false;
}

/* Whether some row may have the value.  Patterns with signs of their own are believed. */
static bool check_pattern(struct scan *scan, const struct table *list, const char *key,
			  const char *pattern)
{
	if (list->id_key && list->id_name && strcmp(key, list->id_key) == 0) {
		return some_id_matches(list, pattern) ||
		       scan_fail(scan, "no %s has this number or name", key);
	}
	if (is_number(list, key)) {
		return (pattern[0] && strspn(pattern, "0123456789-*?[]!^\\") == strlen(pattern)) ||
		       scan_fail(scan, "%s is a number", key);
	}
	if ((strcmp(key, "comm") == 0 || strcmp(key, "by_comm") == 0) &&
	    !strpbrk(pattern, "*[\\")) {
		return strlen(pattern) < NAME_BYTES ||
		       scan_fail(scan, "names of threads have at most %d letters", NAME_BYTES - 1);
	}
	return true;
}

/* What is behind "KEY=", and the bracket. */
static bool take_pattern(struct scan *scan, const struct table *list, struct figure *figure)
{
	bool is_quoted = *scan->at == '"' || *scan->at == '\'';
	const char *begin = scan->at + is_quoted;
	const char *end = value_end(begin, is_quoted ? *scan->at : ']');

	if (!end) {
		return scan_fail(scan, is_quoted ? "the quote is not closed"
						 : "the bracket is not closed");
	}
	figure->pattern = mem_printf("%.*s", (int)(end - begin), begin);
	if (!check_pattern(scan, list, figure->key, figure->pattern)) {
		return false;
	}
	scan->at = end + is_quoted;
	if (*scan->at != ']') {
		return scan_fail(scan, "expected ] behind the quote");
	}
	scan->at++;
	return true;
}

bool which_parse(struct scan *scan, const struct table *list, struct figure *figure)
{
	const char *begin = scan->at + 1, *end = strpbrk(begin, "=]");
	char *past;

	assert(*scan->at == '[');
	if (!end) {
		return scan_fail(scan, "the bracket is not closed");
	}
	scan->at = begin;
	errno = 0;
	figure->id = strtoll(begin, &past, 10);
	if (past != begin && *past == ']' && has_numbers(list)) {
		figure->has_id = true;
		if (errno != 0 || (figure->id < 0 && list->scope != SCOPE_KEYED)) {
			return scan_fail(scan, "no row has this number");
		}
		scan->at = past + 1;
		return true;
	}
	if (*end != '=' || !is_key(figure, list, begin, (size_t)(end - begin))) {
		return say_keys(scan, figure, list);
	}
	figure->id = 0; /* "[4x=" begins with a number */
	figure->key = mem_printf("%.*s", (int)(end - begin), begin);
	scan->at = end + 1;
	return take_pattern(scan, list, figure);
}

bool which_fits(const struct figure *figure, const struct table *list, const char *at)
{
	size_t len = strcspn(++at, "=]");

	return at[len] == '=' ? is_key(figure, list, at, len)
			      : has_numbers(list) && strspn(at, "-0123456789") == len;
}

const char *which_pattern(const struct figure *figure)
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

/* The text of the row that a pattern is compared with; NULL: a number. */
static const char *text_of(const struct figure *figure, const struct report_row *row)
{
	const struct table *table = figure->table;

	assert(figure->key && figure->pattern);
	if (row->by && table->by_key && strcmp(figure->key, table->by_key) == 0) {
		return row->by;
	}
	if (strcmp(figure->key, "comm") == 0) {
		return row->thread->comm;
	}
	if (strcmp(figure->key, LABEL_KEY) == 0) {
		return row->label ? row->label : "";
	}
	return is_number(table, figure->key) ? NULL : row->name;
}

static bool matches(const struct figure *figure, const struct report_row *row)
{
	const struct table *table = figure->table;
	const char *name, *text = text_of(figure, row);
	char number[24];

	if (text) {
		return (row->label || strcmp(figure->key, LABEL_KEY) != 0) &&
		       fnmatch(figure->pattern, text, 0) == 0;
	}
	(void)snprintf(number, sizeof(number), "%" PRId64, number_of(figure, row));
	name = table->id_name && strcmp(figure->key, table->id_key) == 0 ? table->id_name(row->id)
									 : NULL;
	return fnmatch(figure->pattern, number, 0) == 0 ||
	       (name && fnmatch(figure->pattern, name, 0) == 0);
}

char *which_nearest(const struct figure *figure, const struct report_table *table)
{
	VEC(const char *) words = { 0 };
	const char *near = NULL;

	for (size_t i = 0; figure->pattern && i < table->row_count; i++) {
		const char *text = text_of(figure, &table->rows[i]);

		if (text && text[0]) {
			*vec_push(&words) = text;
		}
	}
	*vec_push(&words) = NULL;
	near = figure->pattern ? nearest_word(figure->pattern, words.at,
					      (unsigned int)strlen(figure->pattern) / 4 + 1)
			       : NULL;
	vec_fini(&words);
	return mem_strdup_if(near);
}

bool which_chooses(const struct figure *figure, const struct report_row *row)
{
	enum scope scope = figure->table->scope;

	if (scope == SCOPE_TRACE) {
		return true;
	}
	if (figure->has_id) {
		return scope == SCOPE_THREAD || scope == SCOPE_PAIR ? row->thread->tid == figure->id
		       : scope == SCOPE_PROCESS || scope == SCOPE_PROCESS_PAIR
			       ? row->thread->pid == figure->id
			       : (int64_t)row->id == figure->id;
	}
	return !figure->pattern || matches(figure, row);
}

/* ---- selections ---- */

/* Whether one of the numbers (no list: any number) is a row's. */
static bool some_number(const struct figure *figure, const int64_t *at, size_t count)
{
	char number[24];
	bool any = count == 0;

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(number, sizeof(number), "%" PRId64, at[i]);
		any |= figure->has_id ? figure->id == at[i]
				      : fnmatch(figure->pattern, number, 0) == 0;
	}
	return any;
}

#define SIGNS "*?[\\"

/* Whether there may be a text that both patterns match. */
static bool may_match_both(const char *a, const char *b)
{
	size_t begin_a = strcspn(a, SIGNS), begin_b = strcspn(b, SIGNS);

	if (!a[begin_a]) {
		return fnmatch(b, a, 0) == 0;
	}
	if (!b[begin_b]) {
		return fnmatch(a, b, 0) == 0;
	}
	return strncmp(a, b, begin_a < begin_b ? begin_a : begin_b) == 0;
}

static bool some_name(const struct figure *figure, const struct selection *selection)
{
	bool any = selection->comms.count == 0;

	for (size_t i = 0; i < selection->comms.count; i++) {
		any |= may_match_both(figure->pattern, selection->comms.at[i]);
	}
	return any;
}

bool which_is_selected(const struct figure *figure, const struct selection *selection)
{
	const struct table *table = figure->table;
	uint8_t concerns = selection_of(selection) & (uint8_t)~table->of_all;
	bool is_thread = table->scope == SCOPE_THREAD || table->scope == SCOPE_PAIR;
	const char *key = figure->has_id    ? (is_thread ? "tid" : "pid")
			  : figure->pattern ? figure->key
					    : "";

	if (table->scope == SCOPE_CPU && key[0]) {
		return !(concerns & OF_ALL_CPUS) ||
		       some_number(figure, selection->cpus.at, selection->cpus.count);
	}
	if (!(concerns & OF_ALL_THREADS) ||
	    !(is_thread || table->scope == SCOPE_PROCESS || table->scope == SCOPE_PROCESS_PAIR)) {
		return true;
	}
	return strcmp(key, "tid") == 0
		       ? some_number(figure, selection->tids.at, selection->tids.count)
	       : strcmp(key, "pid") == 0
		       ? some_number(figure, selection->pids.at, selection->pids.count)
		       : strcmp(key, "comm") != 0 || !is_thread || some_name(figure, selection);
}

static uint64_t hash_name(const char *text)
{
	return text ? hash_text(0, text) : 0;
}

struct which_identity which_identity(const struct table *table, const struct report_row *row)
{
	switch (table->scope) {
	case SCOPE_TRACE:
		return (struct which_identity){ 0, 0 };
	case SCOPE_THREAD:
		return (struct which_identity){ (uint64_t)(int64_t)row->thread->tid, row->id };
	case SCOPE_PROCESS:
		return (struct which_identity){ row->id, hash_name(row->thread->comm) };
	case SCOPE_CONTAINER: /* its name may become known later */
		return (struct which_identity){ row->id, 0 };
	case SCOPE_PAIR:
	case SCOPE_PROCESS_PAIR:
	case SCOPE_CONTAINER_PAIR:
		return (struct which_identity){ row->id, (uint64_t)row->owner };
	case SCOPE_CPU:
		return (struct which_identity){ row->id, 0 };
	default: /* the number of a keyed row, in two parts if it has an owner */
		return (struct which_identity){
			table->owner_key ? (uint64_t)row->owner << 32 | (uint32_t)row->id : row->id,
			hash_name(row->name)
		};
	}
}

/* ---- names ---- */

char *which_name(const struct table *table, const struct report_row *row)
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

const char *which_name_key(const struct table *table)
{
	switch (table->scope) {
	case SCOPE_CPU:
		return "cpu";
	case SCOPE_THREAD:
	case SCOPE_PROCESS:
		return "comm";
	case SCOPE_EVENT:
		return "name";
	case SCOPE_KEYED:
	case SCOPE_CONTAINER:
		return table->name_key ? table->name_key : table->id_key;
	default:
		return NULL;
	}
}

bool which_is_by_name(const struct figure *figure)
{
	const struct table *table = figure->table;
	const char *key = which_name_key(table);

	if (figure->has_id) {
		return table->scope == SCOPE_CPU || key == table->id_key;
	}
	return !figure->pattern || (key && strcmp(figure->key, key) == 0);
}

bool which_chooses_name(const struct figure *figure, const char *name)
{
	const struct table *table = figure->table;
	const char *other = NULL;
	char number[24];

	assert(which_is_by_name(figure));
	if (figure->has_id) {
		(void)snprintf(number, sizeof(number), "%" PRId64, figure->id);
		return strcmp(number, name) == 0;
	}
	if (table->id_name && !table->name_key && figure->pattern) {
		other = table->id_name(strtoull(name, NULL, 10));
	}
	return !figure->pattern || fnmatch(figure->pattern, name, 0) == 0 ||
	       (other && fnmatch(figure->pattern, other, 0) == 0);
}

/* A value that needs no quotes. */
static bool is_plain(const char *name)
{
	return name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_./:@%+-,#~") == strlen(name);
}

void which_print(const struct table *table, const char *name, FILE *out)
{
	const char *key = which_name_key(table), *quote = is_plain(name) ? "" : "\"";

	(void)fprintf(out, "[%s%s%s", key ? key : "", key ? "=" : "", quote);
	while (*name) {
		if (strchr("\"\\*?[", *name)) {
			(void)fputc('\\', out);
		}
		name += utf8_put(out, name);
	}
	(void)fprintf(out, "%s]", quote);
}
