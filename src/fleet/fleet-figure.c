/*
 * fleet-figure: see fleet-figure.h.
 */
#include "fleet/fleet-figure.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/value.h"
#include "engine/engine.h"
#include "engine/tables/columns.h"
#include "phases/phases.h"
#include "trigger/trigger-parts.h"

struct fleet_figure {
	struct condition condition; /* without a limit */
	struct columns columns;     /* of its table */
};

static const struct column *column_of(const struct fleet_figure *figure)
{
	return &figure->condition.figure.table->columns[figure->condition.figure.column];
}

/* ---- which ones ---- */

static void figure_free(struct fleet_figure *figure)
{
	trigger_condition_fini(&figure->condition);
	columns_fini(&figure->columns);
	free(figure);
}

static int check(const struct figure *figure, const char *text, bool by_container, struct err *err)
{
	if (figure->analysis == &analysis_phase) {
		return err_raise(err, -EINVAL, "--figure \"%s\": a store keeps no phases", text);
	}
	if (scope_is_of_pairs(figure->table->scope)) {
		return err_raise(err, -EINVAL, "--figure \"%s\": a store keeps no pairs of threads",
				 text);
	}
	if (by_container && figure->table->scope != SCOPE_CONTAINER) {
		return err_raise(err, -EINVAL,
				 "--figure \"%s\": with --per host,container figures are those of "
				 "lists of containers: cpu.containers.run",
				 text);
	}
	return 0;
}

static bool is_known_already(const struct fleet_figures *figures, const char *text)
{
	for (size_t i = 0; i < figures->at.count; i++) {
		if (strcmp(fleet_figure_name(figures->at.at[i]), text) == 0) {
			return true;
		}
	}
	return false;
}

int fleet_figure_add(struct fleet_figures *figures, const char *text, bool by_container,
		     struct err *err)
{
	struct fleet_figure *figure = mem_alloc(sizeof(*figure));
	struct condition *c = &figure->condition;
	const struct column *column;

	if (!figure_alone_parse(c, "--figure", text, err) ||
	    check(&c->figure, text, by_container, err) < 0) {
		figure_free(figure);
		return -EINVAL;
	}
	column = column_of(figure);
	c->is_share = column->unit == UNIT_NS && column->kind == COLUMN_SUM && !c->figure.is_rate;
	columns_append(&figure->columns, c->figure.table);
	if (is_known_already(figures, c->figure.text)) {
		figure_free(figure);
	} else if (figures->at.count == FLEET_FIGURES_MAX) {
		figure_free(figure);
		return err_raise(err, -EINVAL, "--figure: at most %d can be shown",
				 FLEET_FIGURES_MAX);
	} else {
		*vec_push(&figures->at) = figure;
	}
	return 0;
}

/* By analysis, in the order in which they are shown. */
static const struct {
	const char *analysis;
	bool is_default;
	const char *of_host, *of_container; /* NULL: there is none */
} usual[] = {
	{ "cpu", true, "cpu.busy", "cpu.containers.run" },
	{ "sched", true, "sched.wake.p99", "sched.containers.wake.p99" },
	{ "syscalls", true, "syscalls.errors.rate", "syscalls.containers.errors.rate" },
	{ "io", true, "io.read_bytes.rate", "io.containers.read_bytes.rate" },
	{ "io", true, "io.write_bytes.rate", "io.containers.write_bytes.rate" },
	{ "memory", true, "memory.allocated_pages.rate", "memory.containers.allocated_pages.rate" },
	{ "count", true, "count.discarded", NULL },
	{ "count", true, "count.lost_packets", NULL },
	{ "count", false, "count.rate", NULL },
	{ "lost", false, "lost.events", NULL },
	{ "lost", false, "lost.packets", NULL },
	{ "files", false, "files.errors.rate", NULL },
	{ "files", false, "files.operations.time.p99", NULL },
	{ "irq", false, "irq.hard", NULL },
	{ "irq", false, "irq.soft", NULL },
	{ "block", false, "block.requests.rate", "block.containers.requests.rate" },
	{ "block", false, "block.disks.time.p99", NULL },
	{ "net", false, "net.interfaces.rx_bytes.rate", NULL },
	{ "net", false, "net.interfaces.tx_bytes.rate", NULL },
	{ "ust", false, "ust.processes.events.rate", NULL },
	{ "periods", false, "periods.by_name.time.p99", NULL },
	{ "jobs", false, "jobs.misses.rate", NULL },
	{ "jobs", false, "jobs.jobs.response.p99", NULL },
	{ "faults", false, "faults.major.rate", NULL },
	{ "preempt", false, "preempt.waited", NULL },
};

#define USUAL (sizeof(usual) / sizeof(usual[0]))

static void add_usual(struct fleet_figures *figures, size_t at, bool by_container)
{
	const char *text = by_container ? usual[at].of_container : usual[at].of_host;
	struct err err;
	int r = text ? fleet_figure_add(figures, text, by_container, &err) : 0;

	assert(r == 0); /* the table above names figures that exist */
	(void)r;
}

void fleet_figure_add_usual(struct fleet_figures *figures, const struct analysis *analysis,
			    bool by_container)
{
	for (size_t i = 0; i < USUAL; i++) {
		if (strcmp(usual[i].analysis, analysis->name) == 0) {
			add_usual(figures, i, by_container);
		}
	}
}

void fleet_figure_add_default(struct fleet_figures *figures, bool by_container)
{
	for (size_t i = 0; i < USUAL; i++) {
		if (usual[i].is_default) {
			add_usual(figures, i, by_container);
		}
	}
}

void fleet_figures_fini(struct fleet_figures *figures)
{
	for (size_t i = 0; i < figures->at.count; i++) {
		figure_free(figures->at.at[i]);
	}
	vec_fini(&figures->at);
}

const char *fleet_figure_name(const struct fleet_figure *figure)
{
	return figure->condition.figure.text;
}

void fleet_figure_uses(const struct fleet_figure *figure, bool used[ANALYSES_MAX][TABLES_MAX])
{
	const struct figure *of = &figure->condition.figure;

	for (size_t a = 0; analyses[a]; a++) {
		if (analyses[a] == of->analysis) {
			used[a][of->table - of->analysis->tables] = true;
		}
	}
}

/* ---- values ---- */

const struct report_table *fleet_figure_table(const struct fleet_figure *figure,
					      const struct report *report)
{
	return trigger_table(report, figure->condition.figure.table);
}

bool fleet_figure_chooses(const struct fleet_figure *figure, const struct report_row *row)
{
	return figure->condition.figure.table->scope == SCOPE_TRACE ||
	       which_chooses(&figure->condition.figure, row);
}

/* What the rows have together. */
static double value_of(const struct fleet_figure *figure, const struct report *report,
		       const struct report_table *table, const uint64_t *values)
{
	const struct figure *of = &figure->condition.figure;
	const struct report_row row = { .values = values };
	const struct histogram *histogram = NULL;

	if (column_of(figure)->kind == COLUMN_HISTOGRAM) {
		histogram = column_histogram(values, of->column);
		if (!histogram && of->part != HISTOGRAM_COUNT && of->part != HISTOGRAM_SUM) {
			return NAN; /* no value has no percentile */
		}
		if (of->part == HISTOGRAM_STDEV && histogram->count < 2) {
			return NAN;
		}
	}
	return trigger_figure(&figure->condition, report, table, &row);
}

bool fleet_figure_value(const struct fleet_figure *figure, const struct report *report,
			const uint64_t *container, double *ret)
{
	const struct report_table *table = fleet_figure_table(figure, report);
	uint64_t values[COLUMNS_MAX] = { 0 };
	double found;

	if (!table || report_is_unknown(table, figure->condition.figure.column) ||
	    (table->table->scope == SCOPE_TRACE && table->row_count == 0)) {
		return false;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];

		if (fleet_figure_chooses(figure, row) && (!container || row->id == *container)) {
			columns_add(&figure->columns, values, row->values);
		}
	}
	found = value_of(figure, report, table, values);
	columns_empty(&figure->columns, values);
	if (!isfinite(found)) {
		return false; /* of a window without length, or a CPU time of 0 */
	}
	*ret = found;
	return true;
}

/* ---- text ---- */

static enum unit unit_of(const struct fleet_figure *figure)
{
	return figure->condition.figure.part == HISTOGRAM_COUNT ? UNIT_COUNT
								: column_of(figure)->unit;
}

const char *fleet_figure_unit(const struct fleet_figure *figure)
{
	static const char *const names[][2] = { [UNIT_COUNT] = { "count", "count/s" },
						[UNIT_BYTES] = { "bytes", "bytes/s" },
						[UNIT_NS] = { "ns", "ns/s" } };

	return figure->condition.is_share
		       ? "share"
		       : names[unit_of(figure)][figure->condition.figure.is_rate];
}

void fleet_figure_print(char text[FIGURE_TEXT_MAX], const struct fleet_figure *figure, double value)
{
	char number[VALUE_TEXT_MAX];

	if (figure->condition.is_share) {
		(void)snprintf(text, FIGURE_TEXT_MAX, "%.1f %%", value * 100);
		return;
	}
	value_print(number, unit_of(figure), value, figure->condition.figure.is_rate);
	(void)snprintf(text, FIGURE_TEXT_MAX, "%s", number);
}
