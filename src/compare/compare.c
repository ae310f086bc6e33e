/*
 * compare: see compare.h.
 */
#include "compare/compare.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compare/smirnov.h"
#include "figure/which.h"
#include "kernel/wait-object.h"

/* ---- values ---- */

static double seconds_of(const struct profile *profile)
{
	assert(profile->covered_ns > 0);
	return (double)profile->covered_ns / (double)NS_PER_S;
}

static enum change_kind kind_of(const struct column *column)
{
	return column->kind == COLUMN_HISTOGRAM ? CHANGE_SPREAD
	       : column->kind == COLUMN_SUM     ? CHANGE_RATE
						: CHANGE_LEVEL;
}

/* A row that a complete list does not have did nothing: its sums are 0, but it has no maximum. */
static double number_in(const struct profile_table *table, const struct profile_row *row,
			unsigned int column)
{
	enum change_kind kind = kind_of(&table->table->columns[column]);

	if (!row) {
		return table->is_cut || kind == CHANGE_LEVEL ? NAN : 0;
	}
	return (double)(kind == CHANGE_SPREAD ? row->spreads[column].sum : row->values[column]);
}

static double value_in(const struct change *change, const struct profile *profile,
		       const struct profile_table *table, const struct profile_row *row)
{
	double number = number_in(table, row, change->column);

	return change->kind == CHANGE_LEVEL ? number : number / seconds_of(profile);
}

static double difference(double a, double b)
{
	return fabs((isnan(b) ? 0 : b) - (isnan(a) ? 0 : a));
}

static void measure_distance(struct change *change)
{
	const struct spread *a = change->spread[0], *b = change->spread[1];

	change->has_distance = a && b && a->buckets && b->buckets;
	if (change->has_distance) {
		change->distance = smirnov_distance(a->buckets, b->buckets);
		change->probability = smirnov_probability(change->distance, a->count, b->count);
	}
}

static bool is_empty(const struct change *change)
{
	for (int i = 0; i < 2; i++) {
		bool has_values = change->spread[i] && change->spread[i]->count > 0;

		if (has_values || (!isnan(change->value[i]) && change->value[i] > 0)) {
			return false;
		}
	}
	return true;
}

/* ---- rows ---- */

struct pair {
	struct comparison *comparison;
	const struct profile_table *table[2];
};

static void compare_column(const struct pair *pair, const char *name, unsigned int column)
{
	static const struct spread none;
	struct change change = { .analysis = pair->table[0]->analysis,
				 .table = pair->table[0]->table,
				 .column = column,
				 .name = name,
				 .kind = kind_of(&pair->table[0]->table->columns[column]) };

	for (int i = 0; i < 2; i++) {
		const struct profile_row *row = profile_find_row(pair->table[i], name);

		change.is_in[i] = row;
		change.value[i] = value_in(&change, pair->comparison->side[i], pair->table[i], row);
		if (change.kind == CHANGE_SPREAD && !isnan(change.value[i])) {
			change.spread[i] = row ? &row->spreads[column] : &none;
		}
	}
	if (is_empty(&change)) {
		return;
	}
	measure_distance(&change);
	change.cost = difference(change.value[0], change.value[1]);
	*vec_push(&pair->comparison->changes) = change;
}

static void compare_row(const struct pair *pair, const char *name, uint16_t unknown)
{
	const struct table *table = pair->table[0]->table;

	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		if (table->columns[i].kind != COLUMN_PRIO && !(unknown >> i & 1)) {
			compare_column(pair, name, i);
		}
	}
}

static void compare_rows(const struct pair *pair)
{
	uint16_t unknown = pair->table[0]->unknown | pair->table[1]->unknown;

	for (int side = 0; side < 2; side++) {
		const struct by_name *rows = &pair->table[side]->rows;

		for (size_t i = 0; i < rows->all.count; i++) {
			const char *name = rows->all.at[i].name;

			if (side == 0 || !profile_find_row(pair->table[0], name)) {
				compare_row(pair, name, unknown);
			}
		}
	}
}

/* ---- tables ---- */

static uint16_t all_columns(const struct table *table)
{
	uint16_t all = 0;

	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		all |= table->columns[i].kind == COLUMN_PRIO ? 0 : (uint16_t)(1u << i);
	}
	return all;
}

static void note_unmeasured(struct comparison *comparison, const struct analysis *analysis,
			    const struct table *table, const struct profile_table *const of[2])
{
	uint16_t all = all_columns(table), lacks[2];

	for (int i = 0; i < 2; i++) {
		lacks[i] = of[i] ? of[i]->unknown & all : all;
	}
	comparison->compared += (size_t)__builtin_popcount(all & ~lacks[0] & ~lacks[1]);
	for (int who = 1; who <= 3; who++) { /* A, B, both */
		uint16_t columns = (who & 1 ? lacks[0] : (uint16_t)~lacks[0]) &
				   (who & 2 ? lacks[1] : (uint16_t)~lacks[1]) & all;
		bool is_there = (!(who & 1) || of[0]) && (!(who & 2) || of[1]);

		if (columns != 0) {
			*vec_push(&comparison->unmeasured) = (struct unmeasured){
				.analysis = analysis,
				.table = table,
				.columns = columns,
				.lacks = { who & 1, who & 2 },
				.why = is_there ? "not recorded" : "not there",
			};
		}
	}
}

bool change_rests(const struct change *change)
{
	uint8_t rest = change->table->columns[change->column].rest;

	return rest == REST_ALL || (rest == REST_OF_CALLS && syscall_waits(change->name));
}

/* Time, bytes, counts; idle time; maxima and levels cost nothing by themselves. */
static int rank_of(const struct change *change)
{
	enum unit unit = change_unit(change);

	return (change->kind == CHANGE_LEVEL) * 4 + (change_rests(change) ? 3
						     : unit == UNIT_NS    ? 0
						     : unit == UNIT_BYTES ? 1
									  : 2);
}

ORDER(by_cost, struct change,
      UP_OF(rank_of) DOWN(cost) UP_TEXT(analysis->name) UP(table) UP(column) UP_TEXT(name))

static void compare_table(struct comparison *comparison, const struct analysis *analysis,
			  const struct table *table)
{
	struct pair pair = { .comparison = comparison };

	for (int i = 0; i < 2; i++) {
		pair.table[i] = profile_find(comparison->side[i], table);
	}
	if (!pair.table[0] && !pair.table[1] && !comparison->is_asked) {
		return;
	}
	note_unmeasured(comparison, analysis, table, pair.table);
	if (pair.table[0] && pair.table[1]) {
		compare_rows(&pair);
	}
}

/* Lists of containers are there only if they are asked for, and then processes are not: of these
 * what has one name is one, whatever container it is in. */
bool compare_wants(enum per per, const struct table *table)
{
	bool by_container = per == PER_CONTAINER;

	if (scope_is_of_containers(table->scope)) {
		return by_container;
	}
	if (by_container && table->scope == SCOPE_PROCESS) {
		return false;
	}
	return profile_has_names(table) &&
	       (table->scope == SCOPE_TRACE || selection_shows(per, table));
}

void compare(const struct profile *a, const struct profile *b, const struct analysis *const *list,
	     bool is_asked, enum per per, struct comparison *ret)
{
	*ret = (struct comparison){ .side = { a, b }, .list = list, .is_asked = is_asked };
	for (; *list; list++) {
		for (size_t t = 0; t < TABLES_MAX && (*list)->tables[t].columns[0].key; t++) {
			const struct table *table = &(*list)->tables[t];

			if (compare_wants(per, table)) {
				compare_table(ret, *list, table);
			}
		}
	}
	vec_sort(&ret->changes, by_cost);
}

void comparison_fini(struct comparison *comparison)
{
	vec_fini(&comparison->changes);
	vec_fini(&comparison->unmeasured);
}

/* ---- what a change is ---- */

enum unit change_unit(const struct change *change)
{
	return change->table->columns[change->column].unit;
}

double change_part(const struct comparison *comparison, const struct change *change, int side,
		   enum histogram_part part)
{
	bool is_sum = part == HISTOGRAM_COUNT || part == HISTOGRAM_SUM;
	double value;

	assert(change->kind == CHANGE_SPREAD);
	if (!change->spread[side] || !spread_part(change->spread[side], part, &value)) {
		return NAN;
	}
	return is_sum ? value / seconds_of(comparison->side[side]) : value;
}

/* What figure_scale() makes a share or a rate of. */
static double number_of(const struct figure *figure, const struct profile_table *table,
			const struct profile_row *row)
{
	static const struct spread none;
	double number = number_in(table, row, figure->column);

	if (isnan(number) || figure->part == HISTOGRAM_NO_PART) {
		return number;
	}
	return spread_part(row ? &row->spreads[figure->column] : &none, figure->part, &number)
		       ? number
		       : NAN;
}

/* Over the rows that it selects.  Of distributions without buckets the count and the sum are known,
 * too. */
static double sum_of_selected(const struct comparison *comparison, const struct figure *figure,
			      int side)
{
	const struct profile *profile = comparison->side[side];
	const struct profile_table *table = profile_find(profile, figure->table);
	double sum = 0;

	if (!table || table->unknown >> figure->column & 1) {
		return NAN;
	}
	VEC_EACH(&table->rows.all, row) {
		if (which_chooses_name(figure, row->name)) {
			sum += figure_scale(figure, number_of(figure, table, row->row),
					    (double)profile->covered_ns,
					    ((const struct profile_row *)row->row)->values);
		}
	}
	return sum;
}

double compare_figure(const struct comparison *comparison, const struct figure *figure,
		      const char *name, int side)
{
	static const uint64_t none[COLUMNS_MAX];
	const struct profile *profile = comparison->side[side];
	const struct profile_table *table = profile_find(profile, figure->table);
	const struct profile_row *row = profile_find_row(table, name);
	double value, divisor;

	if (figure_is_of_sums(figure)) {
		divisor = sum_of_selected(comparison, figure->per, side);
		return divisor > 0 ? sum_of_selected(comparison, figure, side) / divisor : NAN;
	}
	if (!table || table->unknown >> figure->column & 1) {
		return NAN;
	}
	value = figure_scale(figure, number_of(figure, table, row), (double)profile->covered_ns,
			     row ? row->values : none);
	if (!figure->per) {
		return value;
	}
	divisor = compare_figure(comparison, figure->per,
				 figure->per->table == figure->table ? name : "", side);
	return divisor > 0 ? value / divisor : NAN;
}

double change_relative(double a, double b)
{
	if (isnan(a) || isnan(b)) {
		return NAN;
	}
	return a > 0 ? (b - a) / a : b > 0 ? INFINITY : 0;
}

bool change_differs(const struct change *change)
{
	const struct spread *a = change->spread[0], *b = change->spread[1];

	/* NAN differs from itself, which is right only if one side is known. */
	if (isnan(change->value[0]) || isnan(change->value[1])) {
		return change->is_in[0] != change->is_in[1];
	}
	if (change->cost > 0 || !a || !b) {
		return change->cost > 0;
	}
	return a->count != b->count || a->max != b->max || change->distance > 0;
}

char *change_figure(const struct change *change)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "%s", change->analysis->name);
	if (change->table->key) {
		(void)fprintf(out, ".%s", change->table->key);
		which_print(change->table, change->name, out);
	}
	if (change->table->scope != SCOPE_EVENT) {
		(void)fprintf(out, ".%s", change->table->columns[change->column].key);
	}
	(void)fclose(out);
	return text;
}
