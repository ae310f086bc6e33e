/*
 * trigger-parse: parses the text of a trigger; the grammar is in trigger.h.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "phases/phases.h"
#include "trigger/trigger-parts.h"

struct parser {
	const char *what; /* the text is: "trigger" */
	const char *text, *at;
	bool is_until;
	struct err *err;
};

/* Raises an error that names the column in the text; returns NULL. */
static void *fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void *fail(struct parser *p, const char *fmt, ...)
{
	char why[200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	assert(p->at >= p->text);
	(void)err_raise(p->err, -EINVAL, "%s \"%s\": column %zu, at \"%.20s\": %s", p->what,
			p->text, (size_t)(p->at - p->text) + 1, p->at, why);
	return NULL;
}

static void skip_space(struct parser *p)
{
	p->at += strspn(p->at, " \t\n");
}

/* Takes the word if it comes next. */
static bool take_word(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	skip_space(p);
	if (strncmp(p->at, word, len) != 0 || isalnum((unsigned char)p->at[len])) {
		return false;
	}
	p->at += len;
	return true;
}

/* A name: letters, digits, _. */
static bool take_name(struct parser *p, char *name, size_t size)
{
	size_t len =
		strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (len == 0 || len >= size) {
		return false;
	}
	memcpy(name, p->at, len);
	name[len] = '\0';
	p->at += len;
	return true;
}

/* ---- figures ---- */

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
static bool find_figure(struct figure *figure, const char *name)
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

/* [3], [comm=redis*] */
static bool take_which(struct parser *p, struct figure *figure, const struct table *list)
{
	char why[160];

	return which_parse(&p->at, list, figure, why, sizeof(why)) || fail(p, "%s", why);
}

static bool take_part(struct parser *p, struct figure *figure, const char *name)
{
	bool is_histogram = figure->table->columns[figure->column].kind == COLUMN_HISTOGRAM;

	if (strcmp(name, "rate") == 0) {
		figure->is_rate = true;
		return true;
	}
	figure->part = is_histogram ? histogram_part_of(name) : HISTOGRAM_NO_PART;
	if (figure->part != HISTOGRAM_NO_PART) {
		return true;
	}
	p->at -= strlen(name);
	return fail(p, is_histogram ? "expected " HISTOGRAM_PARTS " or rate"
				    : "expected rate, or nothing"),
	       false;
}

/* irq.soft is a figure of the trace, irq.soft.time.max is one of a list: what follows decides. */
static bool goes_on_as_list(const struct parser *p, const struct figure *figure)
{
	return *p->at == '[' || (*p->at == '.' && strncmp(p->at, ".rate", 5) != 0 &&
				 figure->table->columns[figure->column].kind != COLUMN_HISTOGRAM);
}

/* The column of a list, or of the trace. */
static bool take_column(struct parser *p, struct figure *figure)
{
	const struct table *list;
	char name[64];

	if (!take_name(p, name, sizeof(name))) {
		return fail(p, "expected a figure of %s", figure->analysis->name), false;
	}
	if (strcmp(name, "rate") == 0) { /* of the first column */
		figure->is_rate = true;
		return find_figure(figure, figure->analysis->tables[0].columns[0].key) ||
		       fail(p, "%s has no figure of the trace as a whole: name a list first",
			    figure->analysis->name);
	}
	list = find_list(figure->analysis, name);
	if (find_figure(figure, name) && !(list && goes_on_as_list(p, figure))) {
		return true;
	}
	if (!list) {
		p->at -= strlen(name);
		return fail(p, "%s has no figure and no list of this name (sillage help json)",
			    figure->analysis->name),
		       false;
	}
	if (*p->at == '[' && !take_which(p, figure, list)) {
		return false;
	}
	if (*p->at == '.') {
		p->at++;
	} else if (list->scope != SCOPE_EVENT) {
		return fail(p, "expected .COLUMN"), false;
	}
	if (list->scope == SCOPE_EVENT) { /* its rows have one column, without a name */
		figure->table = list;
		p->at -= p->at[-1] == '.';
		return true;
	}
	if (!take_name(p, name, sizeof(name)) || !find_column(figure, list, name)) {
		return fail(p, "%s.%s has no such column (sillage help json)",
			    figure->analysis->name, list->key),
		       false;
	}
	return true;
}

static bool take_figure(struct parser *p, struct figure *figure)
{
	const char *begin;
	char name[64];

	skip_space(p);
	begin = p->at;
	if (!take_name(p, name, sizeof(name))) {
		return fail(p, "expected a figure such as cpu.busy"), false;
	}
	for (size_t i = 0; analyses[i]; i++) {
		figure->analysis =
			strcmp(analyses[i]->name, name) == 0 ? analyses[i] : figure->analysis;
	}
	if (strcmp(analysis_phase.name, name) == 0) {
		figure->analysis = &analysis_phase;
	}
	if (!figure->analysis) {
		p->at = begin;
		return fail(p, "no analysis has this name"), false;
	}
	if (*p->at != '.') {
		return fail(p, "expected .FIGURE"), false;
	}
	p->at++;
	if (!take_column(p, figure)) {
		return false;
	}
	while (*p->at == '.') {
		p->at++;
		if (!take_name(p, name, sizeof(name)) || !take_part(p, figure, name)) {
			return p->err->text[0] ? false : (fail(p, "expected a name"), false);
		}
	}
	if (figure->table->columns[figure->column].kind == COLUMN_HISTOGRAM &&
	    figure->part == HISTOGRAM_NO_PART) {
		return fail(p, "this is a distribution: add .p99, .max, .mean or another part"),
		       false;
	}
	assert(figure->column < COLUMNS_MAX);
	assert(figure->table->columns[figure->column].key);
	figure->text = mem_alloc((size_t)(p->at - begin) + 1);
	memcpy(figure->text, begin, (size_t)(p->at - begin));
	return true;
}

/* ---- values ---- */

/* 200K, 1.5M: powers of 1024 for bytes, of 1000 for all else.  @rest is what follows the number. */
static double scaled(double number, const char *rest, enum unit unit, bool *ret_is_known)
{
	static const char letters[] = "KMG";
	const char *letter = *rest ? strchr(letters, toupper((unsigned char)*rest)) : NULL;

	*ret_is_known = !*rest || (letter && !rest[1]);
	for (const char *l = letters; letter && l <= letter; l++) {
		number *= unit == UNIT_BYTES ? 1024 : 1000;
	}
	return number;
}

bool figure_value_parse(struct condition *c, const char *word)
{
	const struct column *column = &c->figure.table->columns[c->figure.column];
	char *rest;
	double number = strtod(word, &rest);
	uint64_t ns;
	bool is_known;

	if (rest == word || !(number >= 0) || number > 1e18) {
		return false;
	}
	if (!figure_is_time(&c->figure)) {
		c->limit = scaled(number, rest, column->unit, &is_known);
		return is_known;
	}
	if (strcmp(rest, "%") == 0 && c->figure.part == HISTOGRAM_NO_PART) {
		c->is_share = true;
		c->limit = number / 100;
		return true;
	}
	if (units_parse_duration(word, &ns) < 0) {
		return false;
	}
	c->limit = (double)ns;
	return true;
}

static bool take_auto(struct parser *p, struct condition *c)
{
	char why[160];

	if (p->is_until) {
		return fail(p, "auto() is not possible in `until`"), false;
	}
	return auto_parse(&p->at, c, why, sizeof(why)) || fail(p, "%s", why);
}

static bool take_value(struct parser *p, struct condition *c)
{
	char word[40], why[160];
	size_t len;

	skip_space(p);
	if (strncmp(p->at, "auto(", 5) == 0) {
		return take_auto(p, c);
	}
	if (strncmp(p->at, "baseline", strlen("baseline")) == 0) {
		return baseline_parse(&p->at, c, why, sizeof(why)) || fail(p, "%s", why);
	}
	len = strcspn(p->at, " \t\n)");
	if (len == 0 || len >= sizeof(word)) {
		return fail(p, "expected a value such as 90%%, 3ms or 200M/s"), false;
	}
	memcpy(word, p->at, len);
	word[len] = '\0';
	if (len > 2 && strcmp(word + len - 2, "/s") == 0) {
		c->figure.is_rate = true;
		word[len - 2] = '\0';
	}
	if (!figure_value_parse(c, word)) {
		return fail(p, !figure_is_time(&c->figure) ? "expected a number: 12, 200K, 1.5M/s"
			       : c->figure.part == HISTOGRAM_NO_PART
				       ? "expected a share or a duration: 90%%, 3ms"
				       : "expected a duration: 3ms"),
		       false;
	}
	p->at += len;
	assert(c->limit >= 0);
	return true;
}

static bool take_op(struct parser *p, struct condition *c)
{
	skip_space(p);
	if (*p->at != '>' && *p->at != '<') {
		return fail(p, "expected >, >=, < or <="), false;
	}
	c->op = *p->at++;
	if (*p->at == '=') {
		c->op = c->op == '>' ? 'g' : 'l';
		p->at++;
	}
	return true;
}

const char *figure_op_parse(struct condition *c, const char *what, const char *text,
			    struct err *err)
{
	struct parser p = { .what = what, .text = text, .at = text, .err = err };

	err->text[0] = '\0';
	if (!take_figure(&p, &c->figure) || !take_op(&p, c)) {
		return NULL;
	}
	skip_space(&p);
	return p.at;
}

bool figure_alone_parse(struct condition *c, const char *what, const char *text, struct err *err)
{
	struct parser p = { .what = what, .text = text, .at = text, .err = err };

	err->text[0] = '\0';
	if (!take_figure(&p, &c->figure)) {
		return false;
	}
	skip_space(&p);
	return *p.at == '\0' || (fail(&p, "expected the end, or .PART"), false);
}

void trigger_condition_fini(struct condition *c)
{
	free(c->figure.text);
	free(c->figure.key);
	free(c->figure.pattern);
}

void trigger_condition_free(struct condition *c)
{
	if (c) {
		trigger_condition_free(c->left);
		trigger_condition_free(c->right);
		trigger_condition_fini(c);
		free(c);
	}
}

#define DEPTH_MAX 32 /* of brackets */

static struct condition *take_any(struct parser *p, unsigned int depth);

static struct condition *take_one(struct parser *p, unsigned int depth)
{
	struct condition *c;

	skip_space(p);
	if (*p->at == '(') {
		if (depth == DEPTH_MAX) {
			return fail(p, "too many brackets");
		}
		p->at++;
		c = take_any(p, depth + 1);
		skip_space(p);
		if (c && *p->at != ')') {
			trigger_condition_free(c);
			return fail(p, "expected )");
		}
		p->at += c != NULL;
		return c;
	}
	c = mem_alloc(sizeof(*c));
	if (!take_figure(p, &c->figure) || !take_op(p, c) || !take_value(p, c)) {
		trigger_condition_free(c);
		return NULL;
	}
	return c;
}

static struct condition *join(enum node_kind kind, struct condition *left, struct condition *right)
{
	struct condition *c;

	if (!left || !right) {
		trigger_condition_free(left);
		trigger_condition_free(right);
		return NULL;
	}
	assert(kind != NODE_COMPARE);
	c = mem_alloc(sizeof(*c));
	c->kind = kind;
	c->left = left;
	c->right = right;
	return c;
}

static struct condition *take_all(struct parser *p, unsigned int depth)
{
	struct condition *c = take_one(p, depth);

	while (c && take_word(p, "and")) {
		c = join(NODE_AND, c, take_one(p, depth));
	}
	return c;
}

static struct condition *take_any(struct parser *p, unsigned int depth)
{
	struct condition *c = take_all(p, depth);

	while (c && take_word(p, "or")) {
		c = join(NODE_OR, c, take_all(p, depth));
	}
	return c;
}

static bool take_duration(struct parser *p, uint64_t *ret_ns)
{
	char word[32];
	size_t len;

	skip_space(p);
	len = strcspn(p->at, " \t\n");
	if (len >= sizeof(word)) {
		return fail(p, "expected a duration"), false;
	}
	memcpy(word, p->at, len);
	word[len] = '\0';
	if (units_parse_duration(word, ret_ns) < 0) {
		return fail(p, "expected a duration such as 3s"), false;
	}
	p->at += len;
	return true;
}

/* on 3 hosts */
static bool take_hosts(struct parser *p, uint64_t *ret)
{
	char *past;

	skip_space(p);
	*ret = isdigit((unsigned char)*p->at) ? strtoull(p->at, &past, 10) : 0;
	if (*ret == 0 || *ret > UINT32_MAX) {
		return fail(p, "expected how many hosts, at least 1"), false;
	}
	p->at = past;
	return take_word(p, "hosts") || take_word(p, "host") || (fail(p, "expected hosts"), false);
}

static void copy_figure(struct figure *to, const struct figure *from)
{
	*to = *from;
	to->text = mem_strdup(from->text);
	to->key = from->key ? mem_strdup(from->key) : NULL;
	to->pattern = from->pattern ? mem_strdup(from->pattern) : NULL;
}

/* until cpu.busy < 70%; or until < 70%, which is about the figure of `when`. */
static bool take_until(struct parser *p, struct trigger *trigger)
{
	skip_space(p);
	p->is_until = true;
	if (*p->at != '<' && *p->at != '>') {
		trigger->until = take_any(p, 0);
		return trigger->until;
	}
	if (trigger->when->kind != NODE_COMPARE) {
		return fail(p, "name the figure: there are several"), false;
	}
	trigger->until = mem_alloc(sizeof(*trigger->until));
	copy_figure(&trigger->until->figure, &trigger->when->figure);
	return take_op(p, trigger->until) && take_value(p, trigger->until);
}

/* Each part once: what is given again is refused as what it is not. */
static bool take_trigger(struct parser *p, struct trigger *trigger)
{
	trigger->when = take_any(p, 0);
	while (trigger->when) {
		if (trigger->for_ns == 0 && take_word(p, "for")) {
			if (!take_duration(p, &trigger->for_ns)) {
				return false;
			}
		} else if (trigger->every_ns == 0 && take_word(p, "every")) {
			if (!take_duration(p, &trigger->every_ns)) {
				return false;
			}
		} else if (trigger->hosts == 0 && take_word(p, "on")) {
			if (!take_hosts(p, &trigger->hosts)) {
				return false;
			}
		} else if (!trigger->until && take_word(p, "until")) {
			if (!take_until(p, trigger)) {
				return false;
			}
		} else if (take_word(p, "complete")) {
			trigger->wants_complete = true;
		} else {
			break;
		}
	}
	if (trigger->when && *p->at) {
		return fail(p, "expected and, or, for, until, every, complete, on, or the end"),
		       false;
	}
	return trigger->when;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether all compared rows are selected rows of one list: that of @list, or if that is NULL the
 * first one found, which is stored there. */
static bool has_one_list(const struct condition *c, const struct figure **list)
{
	const struct figure *figure = c ? &c->figure : NULL;

	if (!c) {
		return true;
	}
	if (c->kind != NODE_COMPARE) {
		return has_one_list(c->left, list) && has_one_list(c->right, list);
	}
	if (figure->table->scope == SCOPE_TRACE) {
		return true;
	}
	*list = *list ? *list : figure;
	return figure->table == (*list)->table && figure->has_id == (*list)->has_id &&
	       figure->id == (*list)->id && is_same(figure->key, (*list)->key) &&
	       is_same(figure->pattern, (*list)->pattern);
}

struct trigger *trigger_new(const char *name, const char *text, struct err *err)
{
	struct trigger *trigger = mem_alloc(sizeof(*trigger));
	struct parser p = { .what = "trigger", .text = text, .at = text, .err = err };
	struct condition_list baselines = { 0 };

	err->text[0] = '\0';
	trigger->text = mem_strdup(text);
	trigger->name = mem_strdup(name ? name : text);
	if (!take_trigger(&p, trigger)) {
		trigger_free(trigger);
		return NULL;
	}
	if (!has_one_list(trigger->when, &trigger->subject) ||
	    !has_one_list(trigger->until, &trigger->subject)) {
		trigger->subject = NULL;
	}
	baseline_list(trigger, &baselines);
	trigger->uses_baseline = baselines.at.count > 0;
	vec_fini(&baselines.at);
	assert(!trigger->subject || trigger->subject->table->scope != SCOPE_TRACE);
	return trigger;
}
