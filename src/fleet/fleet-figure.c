/*
 * fleet-figure: see fleet-figure.h.
 */
#include "fleet/fleet-figure.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure/which.h"

/* ---- which ones ---- */

static void figure_free(struct fleet_figure *figure)
{
	figure_fini(&figure->figure);
	columns_fini(&figure->columns);
	free(figure);
}

static int check(const struct figure *figure, const char *text, bool by_container, struct err *err)
{
	if (!figure_is_stored(figure)) {
		return err_raise(
			err, -EINVAL,
			"--figure \"%s\": a store keeps no phases, and no pairs of threads", text);
	}
	if (by_container &&
	    (figure->table->scope != SCOPE_CONTAINER || figure_is_of_sums(figure))) {
		return err_raise(err, -EINVAL,
				 "--figure \"%s\": with --per host,container figures are those of "
				 "lists of containers: cpu.containers.run",
				 text);
	}
	return 0;
}

size_t fleet_figure_find(const struct fleet_figures *figures, const char *text)
{
	struct figure wanted = { 0 };
	size_t found = SIZE_MAX;
	struct err err;

	if (figure_parse_alone(&wanted, "", text, &err)) {
		for (size_t i = figures->at.count; i-- > 0;) {
			const struct figure *figure = &figures->at.at[i]->figure;

			found = figure_is_same(figure, &wanted) ? i : found;
		}
	}
	figure_fini(&wanted);
	return found;
}

int fleet_figure_add(struct fleet_figures *figures, const char *text, bool by_container,
		     struct err *err)
{
	struct fleet_figure *figure = mem_alloc(sizeof(*figure));
	struct figure *of = &figure->figure;

	assert(figures->at.count <= FLEET_FIGURES_MAX);
	if (!figure_parse_alone(of, "--figure", text, err) ||
	    check(of, text, by_container, err) < 0) {
		figure_free(figure);
		return -EINVAL;
	}
	of->is_share = figure_has_shares(of) && !of->is_rate &&
		       (of->per || figure_column(of)->kind == COLUMN_SUM);
	columns_append(&figure->columns, of->table);
	if (fleet_figure_find(figures, of->text) != SIZE_MAX) {
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

#define USUAL ARRAY_COUNT(usual)

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
	vec_free_each(&figures->at, figure_free);
}

/* ---- values ---- */

#define OF_CPUS     "cpu"
#define UNKNOWN_KEY "unknown_ns"

double fleet_figure_known(const struct report *report)
{
	double all = 0, unknown = 0;

	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (strcmp(table->analysis->name, OF_CPUS) != 0 ||
		    table->table->scope != SCOPE_TRACE || table->row_count == 0) {
			continue;
		}
		for (unsigned int c = 0; c < COLUMNS_MAX && table->table->columns[c].key; c++) {
			double ns = (double)table->rows[0].values[c];

			all += ns;
			unknown += strcmp(table->table->columns[c].key, UNKNOWN_KEY) == 0 ? ns : 0;
		}
	}
	return all > 0 ? 1 - unknown / all : 1;
}

/* Shares of CPUs are of the time that is known. */
static double scale(const struct figure *figure, const struct report *report, double value)
{
	bool is_of_known = figure->is_share && !figure->per &&
			   strcmp(figure->analysis->name, OF_CPUS) == 0 &&
			   strcmp(figure_column(figure)->key, UNKNOWN_KEY) != 0;

	return is_of_known ? value / fleet_figure_known(report) : value;
}

bool fleet_figure_value(const struct fleet_figure *figure, const struct report *report,
			const uint64_t *container, double *ret)
{
	const struct report_table *table = figure_table(&figure->figure, report);
	uint64_t values[COLUMNS_MAX] = { 0 };
	const struct report_row together = { .values = values };
	double found = NAN;

	if (!table || figure_is_unknown(&figure->figure, report) ||
	    (table->table->scope == SCOPE_TRACE && table->row_count == 0)) {
		return false;
	}
	for (size_t i = 0; i < table->row_count && !figure_is_of_sums(&figure->figure); i++) {
		const struct report_row *row = &table->rows[i];

		if (which_chooses(&figure->figure, row) && (!container || row->id == *container)) {
			columns_add(&figure->columns, values, row->values);
		}
	}
	if (figure_is_of_sums(&figure->figure) || figure_has_value(&figure->figure, &together)) {
		found = scale(&figure->figure, report,
			      figure_value(&figure->figure, report, &together));
	}
	columns_empty(&figure->columns, values);
	if (!isfinite(found)) {
		return false; /* of a window without length, or a CPU time of 0 */
	}
	*ret = found;
	return true;
}

/* ---- text ---- */

const char *fleet_figure_unit(const struct fleet_figure *figure)
{
	static const char *const names[][2] = { [UNIT_COUNT] = { "count", "count/s" },
						[UNIT_BYTES] = { "bytes", "bytes/s" },
						[UNIT_NS] = { "ns", "ns/s" } };

	return figure->figure.is_share
		       ? "share"
		       : names[figure_unit(&figure->figure)][figure->figure.is_rate];
}
