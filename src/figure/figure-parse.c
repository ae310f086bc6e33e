/*
 * figure-parse: the texts of figures and of their values; see figure.h.
 */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/units.h"
#include "figure/figure.h"
#include "figure/which.h"
#include "phases/phases.h"

/* ---- what was meant ---- */

typedef VEC(char *) word_list;

/* Adds a name as it is written: "busy" of busy_ns. */
static void add_word(word_list *words, const char *key)
{
	size_t len = strlen(key);
	bool has_unit = len > 3 && strcmp(key + len - 3, "_ns") == 0;

	*vec_push(words) = mem_printf("%.*s", (int)(has_unit ? len - 3 : len), key);
}

static char *list_of(const word_list *words)
{
	char *text = mem_strdup("");

	for (size_t i = 0; i < words->count; i++) {
		char *longer = mem_printf("%s%s%s", text, i > 0 ? ", " : "", words->at[i]);

		free(text);
		text = longer;
	}
	return text;
}

/* Raises "PROBLEM", with what was probably meant, or with all words; frees the words. */
static bool fail_with(const struct scan *scan, word_list *words, const char *name,
		      const char *problem)
{
	const char *near;
	char *listed = list_of(words);

	*vec_push(words) = NULL;
	near = nearest_word(name, (const char *const *)words->at,
			    (unsigned int)strlen(name) / 4 + 1);
	(void)(near ? scan_fail(scan, "%s; did you mean \"%s\"?", problem, near)
		    : scan_fail(scan, "%s; there is %s", problem, listed));
	free(listed);
	vec_free_each(words, free);
	return false;
}

static void add_columns(word_list *words, const struct table *table)
{
	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		if (table->columns[i].kind != COLUMN_PRIO) {
			add_word(words, table->columns[i].key);
		}
	}
}

/* No figure and no list of an analysis has the name. */
static bool fail_figure(const struct scan *scan, const struct analysis *analysis, const char *name)
{
	word_list words = { 0 };
	char problem[128];

	for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		const struct table *table = &analysis->tables[t];

		if (table->scope == SCOPE_TRACE) {
			add_columns(&words, table);
		} else if (table->key && table->scope != SCOPE_LONGEST) {
			add_word(&words, table->key);
		}
	}
	(void)snprintf(problem, sizeof(problem), "%s has no figure and no list of this name",
		       analysis->name);
	return fail_with(scan, &words, name, problem);
}

static bool fail_column(const struct scan *scan, const struct analysis *analysis,
			const struct table *list, const char *name)
{
	word_list words = { 0 };
	char problem[128];

	add_columns(&words, list);
	(void)snprintf(problem, sizeof(problem), "%s.%s has no such column", analysis->name,
		       list->key);
	return fail_with(scan, &words, name, problem);
}

static bool fail_analysis(const struct scan *scan, const char *name)
{
	word_list words = { 0 };

	for (size_t i = 0; analyses[i]; i++) {
		add_word(&words, analyses[i]->name);
	}
	add_word(&words, analysis_phase.name);
	return fail_with(scan, &words, name, "no analysis has this name");
}

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

/* "p99" means that of the distribution, where the list has only one. */
static bool find_distribution(struct figure *figure, const struct table *list, const char *part)
{
	unsigned int found = COLUMNS_MAX;

	for (unsigned int i = 0; i < COLUMNS_MAX && list->columns[i].key; i++) {
		if (list->columns[i].kind == COLUMN_HISTOGRAM) {
			if (found < COLUMNS_MAX) {
				return false;
			}
			found = i;
		}
	}
	if (found == COLUMNS_MAX || histogram_part_of(part) == HISTOGRAM_NO_PART) {
		return false;
	}
	figure->table = list;
	figure->column = found;
	return true;
}

static bool take_list(struct scan *scan, struct figure *figure, const struct table *list)
{
	char name[64] = "";

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
	if (scan_name(scan, name, sizeof(name)) && find_column(figure, list, name)) {
		return true;
	}
	scan->at -= strlen(name);
	if (find_distribution(figure, list, name)) {
		scan->at--; /* the part is read behind its point */
		return true;
	}
	return fail_column(scan, figure->analysis, list, name);
}

/* ANALYSIS[WHICH]: of the first list whose rows are selected like that. */
static bool take_which(struct scan *scan, struct figure *figure)
{
	const struct table *first = NULL;

	for (size_t t = 0; t < TABLES_MAX; t++) {
		const struct table *table = &figure->analysis->tables[t];

		if (!table->columns[0].key || table->scope == SCOPE_TRACE ||
		    table->scope == SCOPE_LONGEST) {
			continue;
		}
		first = first ? first : table;
		if (which_fits(figure, table, scan->at)) {
			return take_list(scan, figure, table);
		}
	}
	return first ? take_list(scan, figure, first) : scan_fail(scan, "expected .FIGURE");
}

/* The column of a list, or of the trace. */
static bool take_column(struct scan *scan, struct figure *figure)
{
	const struct table *list;
	char name[64];

	scan->at++;
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
		return fail_figure(scan, figure->analysis, name);
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
		return fail_analysis(scan, name);
	}
	if (*scan->at != '.' && *scan->at != '[') {
		return scan_fail(scan, "expected .FIGURE");
	}
	return true;
}

static bool take_one(struct scan *scan, struct figure *figure)
{
	const char *begin;
	char name[64];

	scan_blanks(scan);
	begin = scan->at;
	if (!take_analysis(scan, figure) ||
	    !(*scan->at == '[' ? take_which(scan, figure) : take_column(scan, figure))) {
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

/* Whether the second figure is of the row that the first one is of, of the trace, or of rows of its
 * own.  Then it has to be clear whose sum the first one is. */
static bool check_quotient(const struct scan *scan, const struct figure *figure)
{
	const struct figure *per = figure->per;

	if (!figure_is_of_sums(figure)) {
		return per->table->scope == SCOPE_TRACE || per->table == figure->table ||
		       scan_fail(scan, "expected a figure of the same row, of the trace, or of "
				       "rows of its own: [WHICH]");
	}
	if (figure->table->scope != SCOPE_TRACE && !figure->has_id && !figure->key) {
		return scan_fail(scan, "expected a figure of the same row, or of the trace: the "
				       "first figure is of each row");
	}
	return (figure_adds_up(figure) && figure_adds_up(per)) ||
	       scan_fail(scan, "of rows of its own only sums are divided, such as .count and .sum");
}

bool figure_parse(struct scan *scan, struct figure *ret)
{
	const char *begin, *past, *past_all;

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
	past_all = scan->at;
	scan->at = past;
	if (!check_quotient(scan, ret)) {
		return false;
	}
	scan->at = past_all;
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
