/*
 * limit: see limit.h.
 */
#include "compare/limit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/cells.h"
#include "figure/op.h"
#include "figure/which.h"

enum limit_kind { LIMIT_VALUE, LIMIT_DIFFERENCE, LIMIT_RELATIVE };

struct limit {
	struct figure figure;
	enum op op;
	double bound;
	enum limit_kind kind;
};

/* ---- parsing ---- */

static int fail(struct err *err, const char *text, const char *what)
{
	return err_raise(err, -EINVAL, "--fail \"%s\": %s", text, what);
}

static int check_figure(const struct figure *figure, const char *text, struct err *err)
{
	if (!figure_is_stored(figure)) {
		return fail(err, text, "two runs are not compared by this figure");
	}
	if (figure->part == HISTOGRAM_STDEV ||
	    (figure->per && figure->per->part == HISTOGRAM_STDEV)) {
		return fail(err, text, "deviations are not compared");
	}
	if (figure->is_rate && !figure->per && !figure_is_sum(figure)) {
		return fail(err, text, "only a sum is per second");
	}
	for (; figure; figure = figure->per) {
		if (!which_is_by_name(figure)) {
			return err_raise(err, -EINVAL,
					 "--fail \"%s\": rows of %s are compared by name: "
					 "[%s=PATTERN]",
					 text, figure->table->key, which_name_key(figure->table));
		}
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
	limit->bound = number / 100;
	return true;
}

static int take_value(struct limit *limit, const char *text, const char *value, struct err *err)
{
	struct figure *figure = &limit->figure;
	bool has_sign = value[0] == '+' || value[0] == '-';

	if (has_sign && take_relative(limit, value + 1)) {
		return 0;
	}
	limit->kind = has_sign ? LIMIT_DIFFERENCE : LIMIT_VALUE;
	if (!figure_parse_value(figure, value + has_sign, &limit->bound)) {
		return fail(err, text,
			    "expected a change with its sign such as +20%, or a value such as 3ms");
	}
	if (figure->is_share && !figure->per && !figure_is_sum(figure)) {
		return fail(err, text, "only a sum of time is a share; a change has a sign: +20%");
	}
	if (figure_is_sum(figure) && !figure->is_rate && !figure->is_share) {
		return fail(err, text,
			    "a sum depends on how long a run is: give it per second (/s)");
	}
	return 0;
}

static int parse(const char *text, struct limit *ret, struct err *err)
{
	struct scan scan = scan_of("--fail", text, err);
	char value[40];
	size_t len;
	int r;

	if (!figure_parse(&scan, &ret->figure) || !op_parse(&scan, &ret->op)) {
		return -EINVAL;
	}
	len = scan_peek(&scan, " \t\n", value, sizeof(value));
	scan.at += len;
	scan_blanks(&scan);
	if (len == 0 || *scan.at) {
		return fail(err, text, "expected one value: +20%, -10%, +2ms or 3ms");
	}
	r = take_value(ret, text, value, err);
	r = r < 0 ? r : check_figure(&ret->figure, text, err);
	ret->bound = value[0] == '-' ? -ret->bound : ret->bound;
	/* Two runs have two lengths. */
	ret->figure.is_rate |= figure_is_sum(&ret->figure) && !ret->figure.is_share;
	return r;
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
		figure_fini(&limit->figure);
		free(limit);
	}
}

int limit_check_per(const struct limit *limit, enum per per, struct err *err)
{
	const struct figure *figure = &limit->figure;
	bool is_of_containers = scope_is_of_containers(figure->table->scope);

	if (compare_wants(per, figure->table)) {
		return 0;
	}
	return err_raise(err, -EINVAL, "--fail: %s is not compared %s", figure->text,
			 is_of_containers ? "without --per container" : "with this --per");
}

/* ---- rows ---- */

/* The figure, with the row; from malloc().  @change: NULL: it is of no row. */
static char *name_of(const struct limit *limit, const struct change *change)
{
	char *figure = change ? change_figure(change) : NULL, *named;
	const char *part = strrchr(limit->figure.text, '.');

	if (!change) {
		return mem_strdup(limit->figure.text);
	}
	named = limit->figure.per
			? mem_printf("%s (%s)", limit->figure.text, figure)
			: mem_printf("%s%s", figure, change->kind == CHANGE_SPREAD ? part : "");
	free(figure);
	return named;
}

static void say_held(const struct limit *limit, const struct change *change, const double value[2],
		     limit_held_fn *held, void *user)
{
	char a[CELL_MAX], b[CELL_MAX], relative[CELL_MAX];
	char *says, *named = name_of(limit, change);

	format_figure(b, &limit->figure, value[1]);
	if (isnan(value[0])) {
		says = mem_printf("%s: %s", named, b);
	} else {
		format_figure(a, &limit->figure, value[0]);
		cells_change(relative, change_relative(value[0], value[1]));
		says = mem_printf("%s: %s, before %s (%s)", named, b, a, relative);
	}
	held(user, says);
	free(says);
	free(named);
}

/* False: the row has not what is needed.  @change: NULL: the figure is of no row. */
static bool check_row(const struct limit *limit, const struct comparison *comparison,
		      const struct change *change, limit_held_fn *held, void *user)
{
	double value[2], compared;

	for (int i = 0; i < 2; i++) {
		value[i] =
			compare_figure(comparison, &limit->figure, change ? change->name : "", i);
	}
	compared = limit->kind == LIMIT_RELATIVE     ? change_relative(value[0], value[1])
		   : limit->kind == LIMIT_DIFFERENCE ? value[1] - value[0]
						     : value[1];
	if (isnan(compared)) {
		return false;
	}
	if (op_holds(limit->op, compared, limit->bound)) {
		say_held(limit, change, value, held, user);
	}
	return true;
}

static const struct profile_table *table_compared(const struct comparison *comparison, int side,
						  const struct figure *figure)
{
	for (size_t i = 0; comparison->list[i]; i++) {
		if (comparison->list[i] == figure->analysis) {
			return profile_find(comparison->side[side], figure->table);
		}
	}
	return NULL;
}

/* Whether A and B have the figure at all; a value of B alone needs B alone. */
static int check_recorded(const struct limit *limit, const struct comparison *comparison,
			  struct err *why)
{
	for (int i = limit->kind == LIMIT_VALUE; i < 2; i++) {
		for (const struct figure *one = &limit->figure; one; one = one->per) {
			const struct profile_table *table = table_compared(comparison, i, one);

			if (!table || table->unknown >> one->column & 1) {
				return err_raise(why, -ENOENT, "%s is not %s %s",
						 limit->figure.text,
						 table ? "recorded in" : "among the figures of",
						 comparison->side[i]->name);
			}
		}
	}
	return 0;
}

int limit_check(const struct limit *limit, const struct comparison *comparison, limit_held_fn *held,
		void *user, struct err *why)
{
	size_t rows = 0, measured = 0;
	int r = check_recorded(limit, comparison, why);

	if (r == 0 && figure_is_of_sums(&limit->figure)) {
		return check_row(limit, comparison, NULL, held, user)
			       ? 0
			       : err_raise(why, -ENODATA, "A or B has nothing to divide by");
	}
	for (size_t i = 0; r == 0 && i < comparison->changes.count; i++) {
		const struct change *change = &comparison->changes.at[i];

		if (change->table == limit->figure.table &&
		    change->column == limit->figure.column &&
		    which_chooses_name(&limit->figure, change->name)) {
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
