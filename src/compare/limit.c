/*
 * limit: see limit.h.
 */
#include "compare/limit.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compare/value.h"
#include "trigger/trigger-parts.h"

enum limit_kind { LIMIT_VALUE, LIMIT_DIFFERENCE, LIMIT_RELATIVE };

struct limit {
	struct condition condition;
	enum limit_kind kind;
	bool is_negative; /* -X */
};

/* ---- parsing ---- */

static bool is_sum(const struct figure *figure)
{
	return figure->table->columns[figure->column].kind == COLUMN_SUM ||
	       figure->part == HISTOGRAM_COUNT || figure->part == HISTOGRAM_SUM;
}

static int fail(struct err *err, const char *text, const char *what)
{
	return err_raise(err, -EINVAL, "--fail \"%s\": %s", text, what);
}

static int check_figure(const struct figure *figure, const char *text, struct err *err)
{
	const char *key = profile_key(figure->table);
	bool is_known = false;

	for (size_t i = 0; analyses[i]; i++) {
		is_known |= analyses[i] == figure->analysis;
	}
	if (!is_known || scope_is_of_pairs(figure->table->scope)) {
		return fail(err, text, "two runs are not compared by this figure");
	}
	if (figure->part == HISTOGRAM_STDEV) {
		return fail(err, text, "deviations are not compared");
	}
	if ((figure->has_id && figure->table->scope != SCOPE_CPU && key != figure->table->id_key) ||
	    (figure->pattern && strcmp(figure->key, key) != 0)) {
		return err_raise(err, -EINVAL,
				 "--fail \"%s\": rows of %s are compared by name: [%s=PATTERN]",
				 text, figure->table->key, key);
	}
	if (figure->is_rate && !is_sum(figure)) {
		return fail(err, text, "only a sum is per second");
	}
	return 0;
}

/* +20%: of A. */
static bool take_relative(struct limit *limit, const char *value)
{
	char *rest;
	double number = strtod(value, &rest);

	if (rest == value || strcmp(rest, "%") != 0 || !(number >= 0) || number > 1e9) {
		return false;
	}
	limit->kind = LIMIT_RELATIVE;
	limit->condition.limit = number / 100;
	return true;
}

static int take_value(struct limit *limit, const char *text, char *value, struct err *err)
{
	struct condition *c = &limit->condition;
	bool has_sign = value[0] == '+' || value[0] == '-';
	size_t len = strlen(value);

	limit->is_negative = value[0] == '-';
	value += has_sign;
	len -= has_sign;
	if (has_sign && take_relative(limit, value)) {
		return 0;
	}
	limit->kind = has_sign ? LIMIT_DIFFERENCE : LIMIT_VALUE;
	if (len > 2 && strcmp(value + len - 2, "/s") == 0) {
		c->figure.is_rate = true;
		value[len - 2] = '\0';
	}
	if (!figure_value_parse(c, value)) {
		return fail(err, text,
			    "expected a change with its sign such as +20%, or a value such as 3ms");
	}
	if (c->is_share && !is_sum(&c->figure)) {
		return fail(err, text, "only a sum of time is a share; a change has a sign: +20%");
	}
	if (is_sum(&c->figure) && !c->figure.is_rate && !c->is_share) {
		return fail(err, text,
			    "a sum depends on how long a run is: give it per second (/s)");
	}
	return 0;
}

static int parse(const char *text, struct limit *ret, struct err *err)
{
	const char *at = figure_op_parse(&ret->condition, "--fail", text, err);
	char value[40];
	size_t len;
	int r;

	if (!at) {
		return -EINVAL;
	}
	len = strcspn(at, " \t\n");
	if (len == 0 || len >= sizeof(value) || at[len + strspn(at + len, " \t\n")] != '\0') {
		return fail(err, text, "expected one value: +20%, -10%, +2ms or 3ms");
	}
	memcpy(value, at, len);
	value[len] = '\0';
	r = take_value(ret, text, value, err);
	return r < 0 ? r : check_figure(&ret->condition.figure, text, err);
}

struct limit *limit_new(const char *text, struct err *err)
{
	struct limit *limit = mem_alloc(sizeof(*limit));

	if (parse(text, limit, err) < 0) {
		limit_free(limit);
		return NULL;
	}
	return limit;
}

void limit_free(struct limit *limit)
{
	if (limit) {
		trigger_condition_fini(&limit->condition);
		free(limit);
	}
}

int limit_check_per(const struct limit *limit, enum per per, struct err *err)
{
	const struct figure *figure = &limit->condition.figure;
	bool is_of_containers = scope_is_of_containers(figure->table->scope);

	if (compare_wants(per, figure->table)) {
		return 0;
	}
	return err_raise(err, -EINVAL, "--fail: %s is not compared %s", figure->text,
			 is_of_containers ? "without --per container" : "with this --per");
}

/* ---- rows ---- */

static bool chooses(const struct limit *limit, const struct change *change)
{
	const struct figure *figure = &limit->condition.figure;
	const struct table *table = figure->table;
	char number[24];
	const char *other = NULL;

	if (change->table != table || change->column != figure->column) {
		return false;
	}
	if (figure->has_id) {
		(void)snprintf(number, sizeof(number), "%lld", (long long)figure->id);
		return strcmp(number, change->name) == 0;
	}
	if (table->id_name && !table->name_key && figure->pattern) {
		other = table->id_name(strtoull(change->name, NULL, 10));
	}
	return !figure->pattern || fnmatch(figure->pattern, change->name, 0) == 0 ||
	       (other && fnmatch(figure->pattern, other, 0) == 0);
}

/* A share is a rate: ns of each ns.  A figure of all CPUs is a share of the time of all. */
static double whole_of(const struct comparison *comparison, const struct change *change, int side)
{
	const struct profile_table *table = profile_find(comparison->side[side], change->table);
	const struct profile_row *row = profile_find_row(table, "");
	double all = 0;

	if (change->table->scope != SCOPE_TRACE ||
	    !change->table->columns[change->column].is_share) {
		return (double)NS_PER_S;
	}
	for (unsigned int i = 0; i < COLUMNS_MAX && change->table->columns[i].key; i++) {
		const struct column *column = &change->table->columns[i];

		all += column->is_share && column->unit == UNIT_NS ? (double)row->values[i] : 0;
	}
	return all * (double)NS_PER_S / (double)comparison->side[side]->covered_ns;
}

static double value_of(const struct limit *limit, const struct comparison *comparison,
		       const struct change *change, int side)
{
	double value = change->kind == CHANGE_SPREAD
			       ? change_part(comparison, change, side, limit->condition.figure.part)
			       : change->value[side];

	return limit->condition.is_share && !isnan(value)
		       ? value / whole_of(comparison, change, side)
		       : value;
}

static bool is_beyond(char op, double value, double limit)
{
	return op == '>'   ? value > limit
	       : op == '<' ? value < limit
	       : op == 'g' ? value >= limit
			   : value <= limit;
}

/* ---- what is said ---- */

static void value_text(char text[VALUE_TEXT_MAX], const struct limit *limit, double value)
{
	const struct figure *figure = &limit->condition.figure;
	enum unit unit = figure_is_time(figure) ? UNIT_NS
			 : figure->part == HISTOGRAM_COUNT
				 ? UNIT_COUNT
				 : figure->table->columns[figure->column].unit;

	if (limit->condition.is_share) {
		(void)snprintf(text, VALUE_TEXT_MAX, "%.1f %%", value * 100);
	} else {
		value_print(text, unit, value, is_sum(figure));
	}
}

static void say_held(const struct limit *limit, const struct change *change, const double value[2],
		     limit_held_fn *held, void *user)
{
	char a[VALUE_TEXT_MAX], b[VALUE_TEXT_MAX], relative[VALUE_TEXT_MAX];
	char *figure = change_figure(change), *says;
	const char *part = strrchr(limit->condition.figure.text, '.');

	value_text(b, limit, value[1]);
	if (isnan(value[0])) {
		says = mem_printf("%s%s: %s", figure, change->kind == CHANGE_SPREAD ? part : "", b);
	} else {
		value_text(a, limit, value[0]);
		value_print_change(relative, change_relative(value[0], value[1]));
		says = mem_printf("%s%s: %s, before %s (%s)", figure,
				  change->kind == CHANGE_SPREAD ? part : "", b, a, relative);
	}
	held(user, says);
	free(says);
	free(figure);
}

/* False: the row has not what is needed. */
static bool check_row(const struct limit *limit, const struct comparison *comparison,
		      const struct change *change, limit_held_fn *held, void *user)
{
	double value[2], compared, bound = limit->condition.limit;

	for (int i = 0; i < 2; i++) {
		value[i] = value_of(limit, comparison, change, i);
	}
	bound = limit->is_negative ? -bound : bound;
	compared = limit->kind == LIMIT_RELATIVE     ? change_relative(value[0], value[1])
		   : limit->kind == LIMIT_DIFFERENCE ? value[1] - value[0]
						     : value[1];
	if (isnan(compared)) {
		return false;
	}
	if (is_beyond(limit->condition.op, compared, bound)) {
		say_held(limit, change, value, held, user);
	}
	return true;
}

/* Whether A and B have the figure at all; a value of B alone needs B alone. */
static int check_recorded(const struct limit *limit, const struct comparison *comparison,
			  struct err *why)
{
	const struct figure *figure = &limit->condition.figure;

	for (int i = limit->kind == LIMIT_VALUE; i < 2; i++) {
		const struct profile_table *table =
			profile_find(comparison->side[i], figure->table);

		if (!table || table->unknown >> figure->column & 1) {
			return err_raise(why, -ENOENT, "%s is not %s %s", figure->text,
					 table ? "recorded in" : "among the figures of",
					 comparison->side[i]->name);
		}
	}
	return 0;
}

int limit_check(const struct limit *limit, const struct comparison *comparison, limit_held_fn *held,
		void *user, struct err *why)
{
	size_t rows = 0, measured = 0;
	int r = check_recorded(limit, comparison, why);

	for (size_t i = 0; r == 0 && i < comparison->changes.count; i++) {
		const struct change *change = &comparison->changes.at[i];

		if (chooses(limit, change)) {
			rows++;
			measured += check_row(limit, comparison, change, held, user);
		}
	}
	if (r == 0 && measured == 0) {
		r = err_raise(why, -ENODATA,
			      rows > 0 ? "A or B has no value" : "neither A nor B has such a row");
	}
	return r;
}
