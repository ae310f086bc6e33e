/*
 * fleet-rows: see fleet-rows.h.
 */
#include "fleet/fleet-rows.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure/which.h"
#include "fleet/fleet-before.h"

struct fleet_rows {
	const struct fleet_config *config;
	VEC(struct fleet_row) rows;
	VEC(const char *) absent, added, gone;
	struct robust *columns;
	bool *is_whole;
	size_t hosts;
	uint64_t begin, end;
};

struct fleet_rows *fleet_rows_new(const struct fleet_config *config)
{
	struct fleet_rows *rows = mem_alloc(sizeof(*rows));
	size_t figures = config->figures->at.count;

	rows->config = config;
	rows->columns = mem_alloc((figures + 1) * sizeof(*rows->columns));
	rows->is_whole = mem_alloc(figures + 1);
	return rows;
}

void fleet_rows_forget(struct fleet_rows *rows)
{
	for (size_t i = 0; i < rows->rows.count; i++) {
		free(rows->rows.at[i].cells);
		free((char *)rows->rows.at[i].container);
	}
	rows->rows.count = 0;
	rows->absent.count = rows->added.count = rows->gone.count = 0;
	rows->hosts = 0;
}

void fleet_rows_free(struct fleet_rows *rows)
{
	if (!rows) {
		return;
	}
	fleet_rows_forget(rows);
	vec_fini(&rows->rows);
	vec_fini(&rows->absent);
	vec_fini(&rows->added);
	vec_fini(&rows->gone);
	free(rows->columns);
	free(rows->is_whole);
	free(rows);
}

void fleet_rows_absent(struct fleet_rows *rows, const char *host)
{
	*vec_push(&rows->absent) = host;
}

#define KNOWN_LEAST 0.9 /* of the CPUs' time: a host of which less is known is not judged */

/* ---- rows ---- */

static void add_row(struct fleet_rows *rows, const char *host, size_t traces,
		    const struct report *report, const struct report_row *container)
{
	const struct fleet_figures *figures = rows->config->figures;
	struct fleet_row *row = vec_push(&rows->rows);
	double known = fleet_figure_known(report);

	*row = (struct fleet_row){
		.host = host,
		.container = container ? mem_strdup(container->name ? container->name : "") : NULL,
		.container_id = container ? container->id : 0,
		.begin = report->begin,
		.end = report->end,
		.covered_ns = report_covered_ns(report),
		.is_complete = report->complete,
		.known = known,
		.is_judged = known >= KNOWN_LEAST,
		.traces = traces,
		.cells = mem_alloc((figures->at.count + 1) * sizeof(*row->cells)),
	};
	for (size_t i = 0; i < figures->at.count; i++) {
		row->cells[i].is_known =
			fleet_figure_value(figures->at.at[i], report,
					   container ? &container->id : NULL, &row->cells[i].value);
	}
}

static bool has_container(const struct fleet_rows *rows, size_t first, uint64_t id)
{
	for (size_t i = first; i < rows->rows.count; i++) {
		if (rows->rows.at[i].container_id == id) {
			return true;
		}
	}
	return false;
}

/* Those that have a row for some figure. */
static void add_containers(struct fleet_rows *rows, const char *host, size_t traces,
			   const struct report *report)
{
	const struct fleet_figures *figures = rows->config->figures;
	size_t first = rows->rows.count;

	for (size_t i = 0; i < figures->at.count; i++) {
		const struct report_table *table = figure_table(&figures->at.at[i]->figure, report);

		for (size_t r = 0; table && r < table->row_count; r++) {
			if (which_chooses(&figures->at.at[i]->figure, &table->rows[r]) &&
			    !has_container(rows, first, table->rows[r].id)) {
				add_row(rows, host, traces, report, &table->rows[r]);
			}
		}
	}
}

void fleet_rows_add(struct fleet_rows *rows, const char *host, size_t traces,
		    const struct report *report)
{
	const struct fleet_figures *figures = rows->config->figures;

	if (rows->hosts++ == 0) {
		rows->begin = report->begin;
		rows->end = report->end;
		memset(rows->is_whole, 0, figures->at.count);
	}
	rows->begin = report->begin < rows->begin ? report->begin : rows->begin;
	rows->end = report->end > rows->end ? report->end : rows->end;
	for (size_t i = 0; i < figures->at.count; i++) {
		const struct report_table *table = figure_table(&figures->at.at[i]->figure, report);

		rows->is_whole[i] |= table && table->is_whole;
	}
	if (rows->config->by_container) {
		add_containers(rows, host, traces, report);
	} else {
		add_row(rows, host, traces, report, NULL);
	}
}

/* ---- what changed ---- */

/* False: there is nothing to compare it with. */
static bool take_before(struct fleet_rows *rows, struct fleet_row *row, bool *seen)
{
	const struct fleet_before *before = rows->config->before;
	size_t at = fleet_before_find(before, row->host);

	if (at == SIZE_MAX) {
		*vec_push(&rows->added) = row->host;
		free(row->cells);
		return false;
	}
	seen[at] = true;
	row->is_judged &= before->hosts.at[at].is_judged;
	for (size_t i = 0; i < rows->config->figures->at.count; i++) {
		const struct fleet_cell *was = &before->hosts.at[at].cells[i];

		row->cells[i].is_known &= was->is_known;
		row->cells[i].before = was->value;
	}
	return true;
}

/* Rows get what they were; hosts of one of both times only are set aside. */
static void match(struct fleet_rows *rows, struct fleet_table *table)
{
	const struct fleet_before *before = rows->config->before;
	bool *seen = mem_alloc(before->hosts.count + 1);
	size_t kept = 0;

	for (size_t i = 0; i < rows->rows.count; i++) {
		if (take_before(rows, &rows->rows.at[i], seen)) {
			rows->rows.at[kept++] = rows->rows.at[i];
		}
	}
	rows->rows.count = kept;
	for (size_t i = 0; i < before->hosts.count; i++) {
		if (!seen[i]) {
			*vec_push(&rows->gone) = before->hosts.at[i].host;
		}
	}
	free(seen);
	table->before = before;
	table->added = rows->added.at;
	table->new_count = rows->added.count;
	table->gone = rows->gone.at;
	table->gone_count = rows->gone.count;
}

/* What is compared between hosts. */
static double compared_value(const struct fleet_config *config, const struct fleet_cell *cell)
{
	return config->before ? cell->value - cell->before : cell->value;
}

/* A change is as inexact as what changed is: its spread is at least what that of the values would
 * be (robust.h). */
static void widen_spread(struct fleet_rows *rows, size_t figure, double *values)
{
	struct robust *column = &rows->columns[figure], level;
	size_t count = 0;

	VEC_EACH(&rows->rows, row) {
		if (row->cells[figure].is_known && row->is_judged) {
			values[count++] = row->cells[figure].before;
		}
	}
	robust_take(values, count, &level);
	if (level.count > 0) {
		column->spread = fmax(column->spread, fabs(level.median) / 64);
	}
}

/* ---- who is far ---- */

static void compare(struct fleet_rows *rows, size_t figure, double *values)
{
	struct robust *column = &rows->columns[figure];
	size_t count = 0;

	assert(figure < rows->config->figures->at.count);
	for (size_t i = 0; i < rows->rows.count; i++) {
		const struct fleet_cell *cell = &rows->rows.at[i].cells[figure];

		if (cell->is_known && rows->rows.at[i].is_judged) {
			values[count++] = compared_value(rows->config, cell);
		}
	}
	robust_take(values, count, column);
	if (rows->config->before && robust_has_distance(column)) {
		widen_spread(rows, figure, values);
	}
	for (size_t i = 0; i < rows->rows.count && robust_has_distance(column); i++) {
		struct fleet_cell *cell = &rows->rows.at[i].cells[figure];

		if (cell->is_known && rows->rows.at[i].is_judged) {
			cell->has_distance = true;
			cell->distance =
				robust_distance(column, compared_value(rows->config, cell));
			cell->is_far = robust_is_far(column, compared_value(rows->config, cell));
		}
	}
}

/* ---- order ---- */

struct order {
	bool by_host;
	size_t figure; /* SIZE_MAX: by distance */
	size_t figures;
	const struct fleet_config *config;
};

static int by_number(double a, double b)
{
	return a > b ? -1 : a < b;
}

/* The largest value, or change, is first. */
static double order_value(const struct fleet_config *config, const struct fleet_cell *cell)
{
	double value = compared_value(config, cell);

	return !cell->is_known ? -INFINITY : config->before ? fabs(value) : value;
}

static int by_name(const struct fleet_row *a, const struct fleet_row *b)
{
	int r = strcmp(a->host, b->host);

	r = r == 0 && a->container ? strcmp(a->container, b->container) : r;
	return r != 0                              ? r
	       : a->container_id < b->container_id ? -1
						   : a->container_id > b->container_id;
}

/* Largest first; what is not known comes last. */
static int by_order(const void *left, const void *right, void *user)
{
	const struct fleet_row *a = left, *b = right;
	const struct order *order = user;
	int r = 0;

	if (!order->by_host && order->figure == SIZE_MAX) {
		r = by_number(a->furthest, b->furthest);
		for (size_t i = 0; r == 0 && i < order->figures; i++) {
			r = by_number(order_value(order->config, &a->cells[i]),
				      order_value(order->config, &b->cells[i]));
		}
	} else if (!order->by_host) {
		const struct fleet_cell *x = &a->cells[order->figure],
					*y = &b->cells[order->figure];

		r = by_number(order_value(order->config, x), order_value(order->config, y));
	}
	return r != 0 ? r : by_name(a, b);
}

static void sort(struct fleet_rows *rows)
{
	const struct fleet_figures *figures = rows->config->figures;
	struct order order = { .by_host = rows->config->by_host,
			       .figure = rows->config->sort,
			       .figures = figures->at.count,
			       .config = rows->config };

	assert(order.figure == SIZE_MAX || order.figure < order.figures);
	VEC_EACH(&rows->rows, row) {
		row->furthest = -1;
		for (size_t k = 0; k < figures->at.count; k++) {
			if (row->cells[k].has_distance &&
			    fabs(row->cells[k].distance) > row->furthest) {
				row->furthest = fabs(row->cells[k].distance);
			}
		}
	}
	if (rows->rows.count > 1) {
		qsort_r(rows->rows.at, rows->rows.count, sizeof(rows->rows.at[0]), by_order,
			&order);
	}
}

void fleet_rows_show(struct fleet_rows *rows, bool is_total, uint64_t seq)
{
	const struct fleet_config *config = rows->config;
	double *values = mem_alloc((rows->rows.count + 1) * sizeof(*values));
	struct fleet_table table = { .is_total = is_total,
				     .seq = seq,
				     .begin = rows->begin,
				     .end = rows->end,
				     .figures = config->figures,
				     .columns = rows->columns,
				     .is_whole = rows->is_whole,
				     .host_count = rows->hosts,
				     .absent = rows->absent.at,
				     .absent_count = rows->absent.count };

	assert(rows->hosts > 0 || rows->rows.count == 0);
	if (config->before) {
		match(rows, &table);
	}
	for (size_t i = 0; i < config->figures->at.count; i++) {
		compare(rows, i, values);
	}
	sort(rows);
	free(values);
	table.rows = rows->rows.at;
	table.row_count = rows->rows.count;
	if (rows->hosts > 0) {
		config->show(config->user, &table);
	}
}
