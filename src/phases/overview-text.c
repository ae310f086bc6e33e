/*
 * overview-text: see overview.h; a line for each phase.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "phases/overview.h"
#include "text/text-table.h"

#define PROCESSES_SHOWN 2
#define NAME_WIDTH      36
#define LINE_WIDTH      80
#define BEFORE_WIDTH    37    /* of the columns before the processes, without the begin */
#define LEAST_SHARE     0.005 /* of unknown time: less is as good as none */

static void put_value(const struct overview_series *series, double value, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (series->is_share) {
		(void)fprintf(out, "%.0f %%", 100 * value);
	} else {
		(void)fputs(series_text(text, series->is_level, series->unit, value), out);
	}
}

/* Names of periods may be long; a line has room for it and two values. */
static void put_name(const struct overview_series *series, FILE *out)
{
	char *name = mem_strdup(series->name);

	text_cut(name, NAME_WIDTH);
	text_put(out, name, -1);
	(void)fputc(' ', out);
	free(name);
}

/* The mean of a figure over all CPUs, as a share; below 0: there is none. */
static double mean_of(const struct overview *overview, const struct part *part, const char *figure)
{
	size_t count, found = 0;
	const struct overview_series *series = overview_series(overview, &count);
	double sum = 0;

	/* Of a host with many CPUs one series stands for all. */
	for (size_t i = 0; i < count; i++) {
		if (series[i].is_share && strcmp(series[i].figure, figure) == 0) {
			sum += overview_mean(&series[i], part) * (double)series[i].cpus;
			found += series[i].cpus;
		}
	}
	return found > 0 ? sum / (double)found : -1;
}

/* The first one, and others as far as the line has room for them. */
static void put_processes(const struct overview *overview, const struct part *part, double ns,
			  size_t room, FILE *out)
{
	struct ran_process list[PROCESSES_SHOWN];
	size_t count = ran_most(overview_ran(overview), part, list, PROCESSES_SHOWN), used = 0;

	for (size_t i = 0; i < count; i++) {
		const char *host = list[i].host;
		char *text = mem_printf("%s%s%s%s %.0f %%", i > 0 ? ", " : "", host ? host : "",
					host ? ": " : "", list[i].name, 100 * list[i].ns / ns);

		used += strlen(text);
		if (i == 0 || used <= room) {
			text_put(out, text, -1);
		}
		free(text);
	}
}

/* Without CPU time: the rates, the first ones. */
static void put_rates(const struct overview *overview, const struct part *part, FILE *out)
{
	size_t count, shown = 0;
	const struct overview_series *series = overview_series(overview, &count);

	for (size_t i = 0; i < count && shown < PROCESSES_SHOWN; i++) {
		if (!series[i].is_share && series[i].most > 0 &&
		    overview_is_told(overview, &series[i], part)) {
			(void)fputs(shown > 0 ? ", " : "", out);
			put_name(&series[i], out);
			put_value(&series[i], overview_mean(&series[i], part), out);
			shown++;
		}
	}
}

static void put_change(const struct overview *overview, const struct part *before,
		       const struct part *after, FILE *out)
{
	const struct overview_series *series = overview_change(overview, before, after);

	if (series) {
		(void)fputs("        since then: ", out);
		put_name(series, out);
		put_value(series, overview_mean(series, before), out);
		(void)fputs(" -> ", out);
		put_value(series, overview_mean(series, after), out);
		(void)fputc('\n', out);
	}
}

/* The start and length of a time. */
static void put_time(struct text_table *table, struct units_times times, uint64_t begin,
		     uint64_t ns)
{
	char text[UNITS_TEXT_MAX];

	text_cell(table, units_time(text, times, begin));
	text_cell(table, units_ns(text, ns));
}

/* A share that is worth a figure. */
static void put_share(struct text_table *table, double share, double least)
{
	if (share < least) {
		text_cell(table, "-");
	} else {
		text_share(table, share, 0);
	}
}

static struct units_times times_of(const struct overview *overview)
{
	return units_times_of(overview_time(overview, 0),
			      overview_time(overview, overview_slices(overview)));
}

static void put_phase(struct text_table *table, const struct overview *overview,
		      const struct part *phases, size_t at)
{
	const struct part *part = &phases[at];
	uint64_t begin = overview_time(overview, part->first);
	uint64_t ns = overview_time(overview, part->last + 1) - begin;
	double busy = mean_of(overview, part, "busy"), unknown = mean_of(overview, part, "unknown");

	text_cell_format(table, "%zu", at + 1);
	put_time(table, times_of(overview), begin, ns);
	put_share(table, busy, 0);
	put_share(table, busy < 0 ? -1 : unknown, LEAST_SHARE);
	text_cell(table, "");
	if (busy >= 0) {
		put_processes(overview, part, (double)ns,
			      LINE_WIDTH - BEFORE_WIDTH -
				      (size_t)units_time_width(times_of(overview)),
			      table->out);
	} else {
		put_rates(overview, part, table->out);
	}
	text_end(table);
	if (at > 0) {
		put_change(overview, part - 1, part, table->out);
	}
}

static void put_partitions(const struct overview *overview, size_t top, FILE *out)
{
	const struct partitions *partitions = overview_partitions(overview);
	struct text_table table = text_table_of(out, "  P>6|  PHASES>6|  SIMPLER>7|  LOSES>7");
	size_t shown = 0;

	table.hangs = false;
	(void)fputc('\n', out);
	text_head(&table);
	for (size_t i = 0; i < partitions->at.count; i++) {
		const struct partition *partition = &partitions->at.at[i];
		partition_parts phases = { 0 };

		/* Those with few phases say most. */
		if (top > 0 && i + top < partitions->at.count && i != partitions->suggested &&
		    i != partitions->nearest) {
			continue;
		}
		overview_phases_of(overview, partition, &phases);
		text_cell_format(&table, "%.4f", partition->p);
		text_cell_format(&table, "%zu", phases.count);
		text_share(&table, partition->gain, 1);
		text_share(&table, partition->loss, 1);
		(void)fputs(i == partitions->suggested ? "  suggested"
			    : i == partitions->nearest ? "  nearest"
						       : "",
			    out);
		text_end(&table);
		vec_fini(&phases);
		shown++;
	}
	text_more(out, partitions->at.count, shown);
}

/* ---- time and a hierarchy ---- */

struct rectangle {
	double ran; /* of the first state: slices of one leaf */
	struct aggregate aggregate;
};

ORDER(by_begin, struct rectangle, UP(aggregate.first) UP(aggregate.node))

ORDER(by_ran, struct rectangle, DOWN(ran) UP(aggregate.first) UP(aggregate.node))

static void put_aggregate(struct text_table *table, struct units_times times,
			  const struct tree *tree, const struct aggregate *aggregate)
{
	uint64_t begin = tree_time(tree, aggregate->first);
	size_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count), *node = &nodes[aggregate->node];

	put_time(table, times, begin, tree_time(tree, aggregate->last + 1) - begin);
	text_share(table, tree_share(tree, aggregate, 0), 0);
	put_share(table, tree_share(tree, aggregate, 2), LEAST_SHARE);
	text_cell(table, "");
	if (node->host > 0 && node->host != aggregate->node && node->host != node->parent) {
		text_put(table->out, nodes[node->host].name, -1);
		(void)fputs(": ", table->out);
	}
	if (node->parent > 0) {
		text_put(table->out, nodes[node->parent].name, -1);
		(void)fputs(": ", table->out);
	}
	text_put(table->out, node->name, -1);
	text_end(table);
}

/* Those that ran most, in the order of time; returns how many. */
static size_t rectangles_of(const struct tree *tree, const struct aggregates *all, size_t top,
			    struct rectangle *ret)
{
	size_t count = top > 0 && top < all->at.count ? top : all->at.count, nodes;
	const struct tree_node *node = tree_nodes(tree, &nodes);

	for (size_t i = 0; i < all->at.count; i++) {
		const struct aggregate *at = &all->at.at[i];
		double cells = (double)node[at->node].leaves * (at->last - at->first + 1);

		ret[i] = (struct rectangle){ cells * tree_share(tree, at, 0), *at };
	}
	qsort(ret, all->at.count, sizeof(*ret), by_ran);
	qsort(ret, count, sizeof(*ret), by_begin);
	return count;
}

static void put_tree(const struct tree *tree, struct units_times times, bool is_cpu, size_t top,
		     FILE *out)
{
	const struct hierarchies *all = tree_hierarchies(tree);
	const struct aggregates *chosen = &all->at.at[all->chosen];
	struct text_table table = text_table_of(
		out, "  BEGIN<%d|  DURATION>9|  %s>6| UNKNOWN>7|  %s<", units_time_width(times),
		is_cpu ? "BUSY" : "RUN", is_cpu ? "CPU" : "PROCESS OR THREAD");
	size_t count = chosen->at.count, shown;
	struct rectangle *rectangles = mem_alloc(count * sizeof(*rectangles));

	(void)fprintf(out,
		      "\nTime and %s: %zu slice%s, %zu rectangle%s at p %.4f: %.1f %% simpler, "
		      "loses %.1f %%\n\n",
		      is_cpu ? "CPUs" : "processes", tree_slices(tree),
		      tree_slices(tree) == 1 ? "" : "s", count, count == 1 ? "" : "s", chosen->p,
		      100 * chosen->gain, 100 * chosen->loss);
	table.hangs = false;
	text_head(&table);
	shown = rectangles_of(tree, chosen, top, rectangles);
	for (size_t i = 0; i < shown; i++) {
		put_aggregate(&table, times, tree, &rectangles[i].aggregate);
	}
	if (shown < count) {
		(void)fprintf(out, "  ... and %zu that ran less\n", count - shown);
	}
	free(rectangles);
}

void overview_text(const struct overview *overview, const char *path, size_t top, FILE *out)
{
	const struct partition *partition = overview_chosen(overview);
	size_t slices = overview_slices(overview), count;
	const struct part *phases = overview_phases(overview, &count);
	const struct units_times times = times_of(overview);
	struct text_table table = text_table_of(
		out, "  #>4|  BEGIN<%d|  DURATION>9|  BUSY>6| UNKNOWN>7|  %s<",
		units_time_width(times),
		mean_of(overview, phases, "busy") >= 0 ? "PROCESSES THAT RAN MOST" : "RATES");
	const struct partitions *all = overview_partitions(overview);
	char begin[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];

	(void)fprintf(out, "%s: ", path);
	if (overview_hosts(overview) > 0) {
		(void)fprintf(out, "%zu hosts, ", overview_hosts(overview));
	}
	(void)fprintf(
		out, "from %s, %s in %zu slice%s: %zu phase%s",
		times.has_day ? units_time(begin, times, overview_time(overview, 0))
			      : units_clock(begin, overview_time(overview, 0)),
		units_ns(length, overview_time(overview, slices) - overview_time(overview, 0)),
		slices, slices == 1 ? "" : "s", count, count == 1 ? "" : "s");
	if (partition != &all->at.at[all->suggested]) { /* that one is the best for no p */
		(void)fprintf(out, " at p %.4f", partition->p);
	}
	(void)fputs("\n\n", out);
	table.hangs = false;
	text_head(&table);
	for (size_t i = 0; i < count; i++) {
		put_phase(&table, overview, phases, i);
	}
	put_partitions(overview, top, out);
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		if (overview_tree(overview, (enum tree_kind)i)) {
			put_tree(overview_tree(overview, (enum tree_kind)i), times, i == TREE_CPU,
				 top, out);
		}
	}
}
