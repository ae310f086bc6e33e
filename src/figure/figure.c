/*
 * figure: see figure.h.
 */
#include "figure/figure.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/tables/columns.h"
#include "figure/which.h"

/* ---- what it is ---- */

static enum unit unit_of(const struct figure *figure)
{
	return figure->part == HISTOGRAM_COUNT ? UNIT_COUNT : figure_column(figure)->unit;
}

/* Bytes by a number are bytes each; bytes by bytes are a number. */
enum unit figure_unit(const struct figure *figure)
{
	return figure->per && unit_of(figure->per) != UNIT_COUNT ? UNIT_COUNT : unit_of(figure);
}

bool figure_has_shares(const struct figure *figure)
{
	return figure->per ? unit_of(figure) == unit_of(figure->per)
			   : unit_of(figure) == UNIT_NS && figure->part == HISTOGRAM_NO_PART;
}

bool figure_adds_up(const struct figure *figure)
{
	return figure_column(figure)->kind == COLUMN_SUM || figure->part == HISTOGRAM_COUNT ||
	       figure->part == HISTOGRAM_SUM;
}

bool figure_is_sum(const struct figure *figure)
{
	return !figure->per && figure_adds_up(figure);
}

static bool has_which(const struct figure *figure)
{
	return figure->has_id || figure->key;
}

bool figure_is_of_sums(const struct figure *figure)
{
	return figure->per && has_which(figure->per) && !figure_has_rows_of(figure->per, figure);
}

bool figure_is_of_trace(const struct figure *figure)
{
	return figure->table->scope == SCOPE_TRACE || figure_is_of_sums(figure);
}

bool figure_is_stored(const struct figure *figure)
{
	for (; figure; figure = figure->per) {
		bool is_known = false;

		for (size_t i = 0; analyses[i]; i++) {
			is_known |= analyses[i] == figure->analysis;
		}
		if (!is_known || scope_is_of_pairs(figure->table->scope)) {
			return false;
		}
	}
	return true;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool figure_has_rows_of(const struct figure *figure, const struct figure *other)
{
	return figure->table == other->table && figure->has_id == other->has_id &&
	       figure->id == other->id && is_same(figure->key, other->key) &&
	       is_same(figure->pattern, other->pattern);
}

bool figure_is_same(const struct figure *figure, const struct figure *other)
{
	if (!figure || !other) {
		return figure == other;
	}
	return figure_has_rows_of(figure, other) && figure->column == other->column &&
	       figure->part == other->part && figure->is_rate == other->is_rate &&
	       figure_is_same(figure->per, other->per);
}

void figure_uses(const struct figure *figure, uint16_t used[ANALYSES_MAX][TABLES_MAX])
{
	for (size_t i = 0; analyses[i]; i++) {
		if (analyses[i] == figure->analysis) {
			used[i][figure->table - figure->analysis->tables] |=
				(uint16_t)(1u << figure->column) | figure_column(figure)->sum_of;
		}
	}
	if (figure->per) {
		figure_uses(figure->per, used);
	}
}

void figure_needs(uint16_t used[ANALYSES_MAX][TABLES_MAX],
		  const struct analysis *list[ANALYSES_MAX])
{
	size_t count = 0;

	for (size_t a = 0; analyses[a]; a++) {
		const struct table *tables = analyses[a]->tables;
		bool needs_threads = false, is_any = false;

		for (size_t t = 0; t < TABLES_MAX; t++) {
			needs_threads |= used[a][t] != 0 && scope_is_of_threads(tables[t].scope);
			is_any |= used[a][t] != 0;
		}
		for (size_t t = 0; t < TABLES_MAX && needs_threads; t++) {
			used[a][t] |= tables[t].columns[0].key && tables[t].scope == SCOPE_THREAD
					      ? UINT16_MAX
					      : 0;
		}
		if (is_any) {
			list[count++] = analyses[a];
		}
	}
	list[count] = NULL;
}

/* ---- in a report ---- */

const struct report_table *figure_table(const struct figure *figure, const struct report *report)
{
	for (size_t i = 0; i < report->table_count; i++) {
		if (report->tables[i].table == figure->table) {
			return &report->tables[i];
		}
	}
	return NULL;
}

bool figure_is_unknown(const struct figure *figure, const struct report *report)
{
	bool is_unknown = false;

	for (; figure; figure = figure->per) {
		const struct report_table *table = figure_table(figure, report);

		is_unknown |= table && report_is_unknown(table, figure->column);
	}
	return is_unknown;
}

bool figure_has_value(const struct figure *figure, const struct report_row *row)
{
	const struct histogram *histogram;

	if (figure_is_sum(figure) || figure_column(figure)->kind != COLUMN_HISTOGRAM) {
		return true;
	}
	assert(figure->part != HISTOGRAM_NO_PART);
	histogram = column_histogram(row->values, figure->column);
	return histogram && (figure->part != HISTOGRAM_STDEV || histogram->count > 1);
}

static double number_of(const struct figure *figure, const uint64_t *values)
{
	const struct histogram *histogram;

	if (figure_column(figure)->kind != COLUMN_HISTOGRAM) {
		return (double)values[figure->column];
	}
	histogram = column_histogram(values, figure->column);
	return histogram ? histogram_part(histogram, figure->part) : 0;
}

/* The 100 % of a share: the window's length, or for a figure of all CPUs the time of all. */
static double whole_of(const struct figure *figure, double ns, const uint64_t *values)
{
	const struct column *columns = figure->table->columns;
	bool is_of_all = false;
	double all = 0;

	for (unsigned int i = 0;
	     figure->table->scope == SCOPE_TRACE && i < COLUMNS_MAX && columns[i].key; i++) {
		if (columns[i].is_share && columns[i].unit == UNIT_NS) {
			all += (double)values[i];
			is_of_all |= i == figure->column || columns[figure->column].of_shares;
		}
	}
	return is_of_all ? all : ns;
}

double figure_scale(const struct figure *figure, double number, double ns, const uint64_t *values)
{
	if (figure->is_share && !figure->per) {
		return number / whole_of(figure, ns, values);
	}
	return figure->is_rate ? number * 1e9 / ns : number;
}

static double one_value(const struct figure *figure, const struct report *report,
			const struct report_row *row)
{
	return figure_scale(figure, number_of(figure, row->values),
			    report_known_ns(report, figure->analysis), row->values);
}

/* Over all rows that it selects. */
static double sum_of_rows(const struct figure *figure, const struct report *report)
{
	const struct report_table *table = figure_table(figure, report);
	double sum = 0;

	for (size_t i = 0; table && i < table->row_count; i++) {
		if (which_chooses(figure, &table->rows[i])) {
			sum += one_value(figure, report, &table->rows[i]);
		}
	}
	return sum;
}

double figure_value(const struct figure *figure, const struct report *report,
		    const struct report_row *row)
{
	const struct figure *per = figure->per;
	double value, divisor = 0;

	assert(!per || !per->per);
	if (figure_is_of_sums(figure)) {
		divisor = sum_of_rows(per, report);
		return divisor > 0 ? sum_of_rows(figure, report) / divisor : NAN;
	}
	value = one_value(figure, report, row);
	if (!per) {
		return value;
	}
	if (per->table != figure->table) {
		const struct report_table *table = figure_table(per, report);

		assert(per->table->scope == SCOPE_TRACE);
		row = table && table->row_count > 0 ? &table->rows[0] : NULL;
	}
	if (row && figure_has_value(figure, row) && figure_has_value(per, row)) {
		divisor = one_value(per, report, row);
	}
	return divisor > 0 ? value / divisor : NAN;
}
