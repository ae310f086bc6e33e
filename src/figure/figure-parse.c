/*
 * figure-parse: the texts of figures and of their values; see figure.h.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "figure/figure.h"
#include "figure/which.h"
#include "phases/phases.h"

/* ---- columns and lists ---- */

/* "busy" means busy_ns. */
static bool is_column(const char *key, const char *name)
{
	size_t len = strlen(name);

	return strncmp(key, name, len) == 0 && (!key[len] || strcmp(key + len, "_ns") == 0);
}

/* "thread" means threads, "process" means processes. */
static bool is_list(const char *key, const char *name)
{
	size_t len = strlen(name);

	return key && strncmp(key, name, len) == 0 &&
	       (!key[len] || strcmp(key + len, "s") == 0 || strcmp(key + len, "es") == 0);
}

static bool find_column(struct figure *figure, const struct table *table, const char *name)
{
	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		if (table->columns[i].kind != COLUMN_PRIO &&
		    is_column(table->columns[i].key, name)) {
			figure->table = table;
			figure->column = i;
			return true;
		}
	}
	return false;
}

/* A column of the trace as a whole. */
static bool find_of_trace(struct figure *figure, const char *name)
{
	for (size_t t = 0; t < TABLES_MAX; t++) {
		const struct table *table = &figure->analysis->tables[t];

		if (table->columns[0].key && table->scope == SCOPE_TRACE &&
		    find_column(figure, table, name)) {
			return true;
		}
	}
	return false;
}

static const struct table *find_list(const struct analysis *analysis, const char *name)
{
	for (size_t t = 0; t < TABLES_MAX; t++) {
		const struct table *table = &analysis->tables[t];

		if (table->columns[0].key && table->scope != SCOPE_TRACE &&
		    table->scope != SCOPE_LONGEST && is_list(table->key, name)) {
			return table;
		}
	}
	return NULL;
}

#define NAMES_BYTES 330

/* Adds "busy, idle": the columns that a figure can name, as users write them. */
static void name_columns(char text[NAMES_BYTES], const struct table *table)
{
	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		const char *key = table->columns[i].key;
		size_t len = strlen(key), used = strlen(text);

		len -= len > 3 && strcmp(key + len - 3, "_ns") == 0 ? 3 : 0;
		if (table->columns[i].kind != COLUMN_PRIO) {
			(void)snprintf(text + used, NAMES_BYTES - used, "%s%.*s", used ? ", " : "",
				       (int)len, key);
		}
	}
}

/* All that may follow "cpu.". */
static void name_all(char text[NAMES_BYTES], const struct analysis *analysis)
{
	text[0] = '\0';
	for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		const struct table *table = &analysis->tables[t];
		size_t used = strlen(text);

		if (table->scope == SCOPE_TRACE) {
			name_columns(text, table);
		} else if (table->scope != SCOPE_LONGEST) {
			(void)snprintf(text + used, NAMES_BYTES - used, "%s%s", used ? ", " : "",
				       table->key);
		}
	}
}

/* ---- one figure ---- */

static bool take_part(struct scan *scan, struct figure *figure, const char *name)
{
	bool is_histogram = figure_column(figure)->kind == COLUMN_HISTOGRAM;

	if (strcmp(name, "rate") == 0) {
		figure->is_rate = true;
		return true;
	}
	figure->part = is_histogram ? histogram_part_of(name) : HISTOGRAM_NO_PART;
	if (figure->part != HISTOGRAM_NO_PART) {
		return true;
	}
	scan->at -= strlen(name);
	return scan_fail(scan, is_histogram ? "expected " HISTOGRAM_PARTS " or rate"
					    : "expected rate, or nothing");
}

/* irq.soft is a figure of the trace, irq.soft.time.max is one of a list: what follows decides. */
static bool goes_on_as_list(const struct scan *scan, const struct figure *figure)
{
	return *scan->at == '[' || (*scan->at == '.' && strncmp(scan->at, ".rate", 5) != 0 &&
				    figure_column(figure)->kind != COLUMN_HISTOGRAM);
}

static bool take_list(struct scan *scan, struct figure *figure, const struct table *list)
{
	char name[64], has[NAMES_BYTES] = "";

	if (*scan->at == '[' && !which_parse(scan, list, figure)) {
		return false;
	}
	if (list->scope == SCOPE_EVENT) { /* its rows have one column, without a name */
		figure->table = list;
		return true;
	}
	if (*scan->at != '.') {
		return scan_fail(scan, "expected .COLUMN");
	}
	scan->at++;
	name_columns(has, list);
	return (scan_name(scan, name, sizeof(name)) && find_column(figure, list, name)) ||
	       scan_fail(scan, "%s.%s has no such column; it has %s", figure->analysis->name,
			 list->key, has);
}

/* The column of a list, or of the trace. */
static bool take_column(struct scan *scan, struct figure *figure)
{
	const struct table *list;
	char name[64], has[NAMES_BYTES];

	if (!scan_name(scan, name, sizeof(name))) {
		return scan_fail(scan, "expected a figure of %s", figure->analysis->name);
	}
	if (strcmp(name, "rate") == 0) { /* of the first column */
		figure->is_rate = true;
		return find_of_trace(figure, figure->analysis->tables[0].columns[0].key) ||
		       scan_fail(scan,
				 "%s has no figure of the trace as a whole: name a list first",
				 figure->analysis->name);
	}
	list = find_list(figure->analysis, name);
	if (find_of_trace(figure, name) && !(list && goes_on_as_list(scan, figure))) {
		return true;
	}
	if (!list) {
		scan->at -= strlen(name);
		name_all(has, figure->analysis);
		return scan_fail(scan, "%s has no figure and no list of this name; it has %s",
				 figure->analysis->name, has);
	}
	return take_list(scan, figure, list);
}

static bool take_analysis(struct scan *scan, struct figure *figure)
{
	const char *begin = scan->at;
	char name[64];

	if (!scan_name(scan, name, sizeof(name))) {
		return scan_fail(scan, "expected a figure such as cpu.busy");
	}
	for (size_t i = 0; analyses[i]; i++) {
		figure->analysis =
			strcmp(analyses[i]->name, name) == 0 ? analyses[i] : figure->analysis;
	}
	if (strcmp(analysis_phase.name, name) == 0) {
		figure->analysis = &analysis_phase;
	}
	if (!figure->analysis) {
		scan->at = begin;
		return scan_fail(scan, "no analysis has this name");
	}
	if (*scan->at != '.') {
		return scan_fail(scan, "expected .FIGURE");
	}
	scan->at++;
	return true;
}

static bool take_one(struct scan *scan, struct figure *figure)
{
	const char *begin;
	char name[64];

	scan_blanks(scan);
	begin = scan->at;
	if (!take_analysis(scan, figure) || !take_column(scan, figure)) {
		return false;
	}
	while (*scan->at == '.') {
		scan->at++;
		if (!scan_name(scan, name, sizeof(name))) {
			return scan_fail(scan, "expected a name");
		}
		if (!take_part(scan, figure, name)) {
			return false;
		}
	}
	if (figure_column(figure)->kind == COLUMN_HISTOGRAM && figure->part == HISTOGRAM_NO_PART) {
		return scan_fail(scan,
				 "this is a distribution: add .p99, .max, .mean or another part");
	}
	assert(figure->column < COLUMNS_MAX && figure_column(figure)->key);
	figure->text = mem_printf("%.*s", (int)(scan->at - begin), begin);
	return true;
}

/* ---- quotients ---- */

/* Whether the second figure is of the row that the first one is of, or of the trace. */
static bool fits(const struct figure *figure)
{
	const struct figure *per = figure->per;

	return per->table->scope == SCOPE_TRACE ||
	       (per->table == figure->table &&
		((!per->has_id && !per->key) || figure_has_rows_of(per, figure)));
}

bool figure_parse(struct scan *scan, struct figure *ret)
{
	const char *begin, *past;

	scan_blanks(scan);
	begin = scan->at;
	if (!take_one(scan, ret)) {
		return false;
	}
	past = scan->at;
	if (!scan_sign(scan, '/')) {
		scan->at = past;
		return true;
	}
	scan_blanks(scan);
	past = scan->at;
	ret->per = mem_alloc(sizeof(*ret->per));
	if (!take_one(scan, ret->per)) {
		return false;
	}
	if (!fits(ret)) {
		scan->at = past;
		return scan_fail(scan, "expected a figure of the same row, or of the trace");
	}
	free(ret->text);
	ret->text = mem_printf("%.*s", (int)(scan->at - begin), begin);
	return true;
}

bool figure_parse_alone(struct figure *ret, const char *what, const char *text, struct err *err)
{
	struct scan scan = scan_of(what, text, err);

	if (!figure_parse(&scan, ret)) {
		return false;
	}
	scan_blanks(&scan);
	return *scan.at == '\0' || scan_fail(&scan, "expected the end, or .PART");
}

void figure_copy(struct figure *to, const struct figure *from)
{
	*to = *from;
	to->text = mem_strdup(from->text);
	to->key = mem_strdup_if(from->key);
	to->pattern = mem_strdup_if(from->pattern);
	if (from->per) {
		to->per = mem_alloc(sizeof(*to->per));
		figure_copy(to->per, from->per);
	}
}

void figure_fini(struct figure *figure)
{
	if (figure->per) {
		figure_fini(figure->per);
		free(figure->per);
	}
	free(figure->text);
	free(figure->key);
	free(figure->pattern);
}

/* ---- values ---- */

/* 200K, 1.5M: powers of 1024 for bytes, of 1000 for all else.  @rest is what follows the number. */
static bool scale(double *number, const char *rest, enum unit unit)
{
	static const char letters[] = "KMG";
	const char *letter = *rest ? strchr(letters, toupper((unsigned char)*rest)) : NULL;

	for (const char *l = letters; letter && l <= letter; l++) {
		*number *= unit == UNIT_BYTES ? 1024 : 1000;
	}
	return !*rest || (letter && !rest[1]);
}

/* Without /s. */
static bool parse_value(struct figure *figure, const char *word, double *ret)
{
	char *rest;
	uint64_t ns;

	*ret = strtod(word, &rest);
	if (rest == word || !(*ret >= 0) || *ret > 1e18) {
		return false;
	}
	if (strcmp(rest, "%") == 0 && figure_has_shares(figure)) {
		figure->is_share = true;
		*ret /= 100;
		return true;
	}
	if (figure_unit(figure) != UNIT_NS) {
		return scale(ret, rest, figure_unit(figure));
	}
	if (units_parse_duration(word, &ns) < 0) {
		return false;
	}
	*ret = (double)ns;
	return true;
}

bool figure_parse_value(struct figure *figure, const char *word, double *ret)
{
	size_t len = strlen(word);
	bool is_rate = len > 2 && strcmp(word + len - 2, "/s") == 0, is_known;
	char *text = mem_printf("%.*s", (int)(is_rate ? len - 2 : len), word);

	figure->is_rate |= is_rate;
	is_known = !(is_rate && figure->per) && parse_value(figure, text, ret);
	free(text);
	return is_known;
}

const char *figure_value_form(const struct figure *figure)
{
	bool is_time = figure_unit(figure) == UNIT_NS, has_shares = figure_has_shares(figure);

	return is_time && has_shares ? "expected a share or a duration: 90%, 3ms"
	       : is_time             ? "expected a duration: 3ms"
	       : has_shares          ? "expected a number or a share: 0.05, 5%"
	       : figure->per         ? "expected a number: 12, 200K, 1.5M"
				     : "expected a number: 12, 200K, 1.5M/s";
}
