/*
 * overview-text: see overview.h; a line for each phase.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "phases/overview.h"

#define PROCESSES_SHOWN 2
#define NAME_SHOWN      22

static void put_name(const char *name, FILE *out)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len && i < NAME_SHOWN; i++) {
		(void)fputc(units_letter(name[i]), out);
	}
	if (len > NAME_SHOWN) {
		(void)fputs("..", out);
	}
}

static void put_value(const struct overview_series *series, double value, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (series->is_share) {
		(void)fprintf(out, "%.0f %%", 100 * value);
	} else {
		(void)fprintf(out, "%s/s", units_count(text, (uint64_t)(value + 0.5)));
	}
}

/* The mean of a figure over all CPUs, as a share; below 0: there is none. */
static double mean_of(const struct overview *overview, const struct part *part, const char *figure)
{
	size_t count, found = 0;
	const struct overview_series *series = overview_series(overview, &count);
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (series[i].is_share && strcmp(series[i].figure, figure) == 0) {
			sum += overview_mean(&series[i], part);
			found++;
		}
	}
	return found > 0 ? sum / (double)found : -1;
}

static void put_processes(const struct overview *overview, const struct part *part, double ns,
			  FILE *out)
{
	struct overview_process list[PROCESSES_SHOWN];
	size_t count = overview_processes(overview, part, list, PROCESSES_SHOWN);

	for (size_t i = 0; i < count; i++) {
		(void)fputs(i > 0 ? ", " : "", out);
		put_name(list[i].name, out);
		(void)fprintf(out, " %.0f %%", 100 * list[i].ns / ns);
	}
}

/* Without CPU time: the rates, the first ones. */
static void put_rates(const struct overview *overview, const struct part *part, FILE *out)
{
	size_t count, shown = 0;
	const struct overview_series *series = overview_series(overview, &count);

	for (size_t i = 0; i < count && shown < PROCESSES_SHOWN; i++) {
		if (!series[i].is_share && series[i].most > 0) {
			(void)fprintf(out, "%s%s ", shown > 0 ? ", " : "", series[i].name);
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
		(void)fprintf(out, "%s ", series->name);
		put_value(series, overview_mean(series, before), out);
		(void)fputs(" -> ", out);
		put_value(series, overview_mean(series, after), out);
	}
}

static void put_phase(const struct overview *overview, const struct part *phases, size_t at,
		      FILE *out)
{
	const struct part *part = &phases[at];
	uint64_t begin = overview_time(overview, part->first);
	uint64_t ns = overview_time(overview, part->last + 1) - begin;
	double busy = mean_of(overview, part, "busy"), unknown = mean_of(overview, part, "unknown");
	char clock[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];

	(void)fprintf(out, "  %4zu  %.12s  %9s", at + 1, units_clock(clock, begin),
		      units_ns(length, ns));
	if (busy >= 0) {
		(void)fprintf(out, "  %4.0f %%", 100 * busy);
		(void)fprintf(out, unknown > 0.005 ? "  %4.0f %%" : "       -", 100 * unknown);
	} else {
		(void)fputs("       -       -", out);
	}
	(void)fputs("  ", out);
	if (busy >= 0) {
		put_processes(overview, part, (double)ns, out);
	} else {
		put_rates(overview, part, out);
	}
	(void)fputc('\n', out);
	if (at > 0) {
		(void)fputs("        since then: ", out);
		put_change(overview, part - 1, part, out);
		(void)fputc('\n', out);
	}
}

static void put_partitions(const struct overview *overview, size_t top, FILE *out)
{
	const struct partitions *partitions = overview_partitions(overview);
	size_t shown = 0;

	(void)fputs("\n       P  PHASES  SIMPLER   LOSES\n", out);
	for (size_t i = 0; i < partitions->at.count; i++) {
		const struct partition *partition = &partitions->at.at[i];
		overview_parts phases = { 0 };

		if (top > 0 && i >= top && i != partitions->suggested) {
			continue;
		}
		overview_phases_of(overview, partition, &phases);
		(void)fprintf(out, "  %6.4f  %6zu  %5.1f %%  %5.1f %%%s\n", partition->p,
			      phases.count, 100 * partition->gain, 100 * partition->loss,
			      i == partitions->suggested ? "  suggested" : "");
		vec_fini(&phases);
		shown++;
	}
	if (shown < partitions->at.count) {
		(void)fprintf(out, "  ... and %zu more\n", partitions->at.count - shown);
	}
}

/* ---- time and a hierarchy ---- */

struct rectangle {
	double ran; /* of the first state: slices of one leaf */
	struct aggregate aggregate;
};

static int by_begin(const void *a, const void *b)
{
	const struct rectangle *x = a, *y = b;

	return x->aggregate.first != y->aggregate.first
		       ? (x->aggregate.first < y->aggregate.first ? -1 : 1)
		       : (x->aggregate.node > y->aggregate.node) -
				 (x->aggregate.node < y->aggregate.node);
}

static int by_ran(const void *a, const void *b)
{
	const struct rectangle *x = a, *y = b;

	return x->ran != y->ran ? (x->ran > y->ran ? -1 : 1) : by_begin(a, b);
}

static void put_aggregate(const struct tree *tree, const struct aggregate *aggregate, FILE *out)
{
	char clock[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];
	uint64_t begin = tree_time(tree, aggregate->first);
	double unknown = tree_share(tree, aggregate, 2);
	size_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count), *node = &nodes[aggregate->node];

	(void)fprintf(out, "  %.12s  %9s  %4.0f %%", units_clock(clock, begin),
		      units_ns(length, tree_time(tree, aggregate->last + 1) - begin),
		      100 * tree_share(tree, aggregate, 0));
	(void)fprintf(out, unknown > 0.005 ? "  %4.0f %%  " : "       -  ", 100 * unknown);
	if (node->parent > 0) {
		put_name(nodes[node->parent].name, out);
		(void)fputs(": ", out);
	}
	put_name(node->name, out);
	(void)fputc('\n', out);
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

static void put_tree(const struct tree *tree, bool is_cpu, size_t top, FILE *out)
{
	const struct hierarchies *all = tree_hierarchies(tree);
	const struct aggregates *chosen = &all->at.at[all->chosen];
	size_t count = chosen->at.count, shown;
	struct rectangle *rectangles = mem_alloc(count * sizeof(*rectangles));

	(void)fprintf(out,
		      "\nTime and %s: %zu slice%s, %zu rectangle%s at p %.4f: %.1f %% simpler, "
		      "loses %.1f %%\n\n",
		      is_cpu ? "CPUs" : "processes", tree_slices(tree),
		      tree_slices(tree) == 1 ? "" : "s", count, count == 1 ? "" : "s", chosen->p,
		      100 * chosen->gain, 100 * chosen->loss);
	(void)fprintf(out, "  BEGIN          DURATION    %s UNKNOWN  %s\n",
		      is_cpu ? "BUSY" : " RUN", is_cpu ? "CPU" : "PROCESS OR THREAD");
	shown = rectangles_of(tree, chosen, top, rectangles);
	for (size_t i = 0; i < shown; i++) {
		put_aggregate(tree, &rectangles[i].aggregate, out);
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
	char begin[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];

	(void)fprintf(
		out, "%s: from %s, %s in %zu slice%s: %zu phase%s at p %.4f\n\n", path,
		units_clock(begin, overview_time(overview, 0)),
		units_ns(length, overview_time(overview, slices) - overview_time(overview, 0)),
		slices, slices == 1 ? "" : "s", count, count == 1 ? "" : "s", partition->p);
	(void)fprintf(out, "     #  BEGIN          DURATION    BUSY UNKNOWN  %s\n",
		      mean_of(overview, phases, "busy") >= 0 ? "RAN MOST" : "RATES");
	for (size_t i = 0; i < count; i++) {
		put_phase(overview, phases, i, out);
	}
	put_partitions(overview, top, out);
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		if (overview_tree(overview, (enum tree_kind)i)) {
			put_tree(overview_tree(overview, (enum tree_kind)i), i == TREE_CPU, top,
				 out);
		}
	}
}
