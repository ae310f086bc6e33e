/*
 * overview-page: see overview.h; a page that draws an overview (overview.html).
 *
 * Its data are two objects: the overview as JSON has it, and what only the page needs: the phases
 * of each partition, what each process ran, several hierarchies, and the commands that look at a
 * range.  The slices bound its size: at most 1000 of them, by 64 processes and the series.
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/page/page.h"
#include "base/shell.h"
#include "base/units.h"
#include "phases/overview-html.h"
#include "phases/overview.h"

/* ---- data ---- */

/* Times: as text, since the page's numbers cannot hold ns since the epoch, and since the start. */
static void put_times(struct json *json, const struct overview *overview)
{
	uint64_t begin = overview_time(overview, 0);
	char text[UNITS_TEXT_MAX], *epoch = mem_printf("%llu", (unsigned long long)begin);

	json_text(json, "epoch", epoch);
	free(epoch);
	json_open(json, "since", '[');
	for (size_t s = 0; s <= overview_slices(overview); s++) {
		json_u64(json, NULL, overview_time(overview, s) - begin);
	}
	json_close(json, ']');
	json_open(json, "clocks", '[');
	for (size_t s = 0; s <= overview_slices(overview); s++) {
		json_text(json, NULL, units_clock(text, overview_time(overview, s)));
	}
	json_close(json, ']');
}

static void put_series(struct json *json, const struct overview *overview)
{
	size_t count;
	const struct overview_series *series = overview_series(overview, &count);

	json_open(json, "figures", '[');
	for (size_t i = 0; i < count; i++) {
		json_text(json, NULL, series[i].figure);
	}
	json_close(json, ']');
}

static void put_phases(struct json *json, const struct overview *overview)
{
	const struct partitions *partitions = overview_partitions(overview);

	json_u64(json, "chosen", overview_chosen_at(overview));
	json_open(json, "phases", '[');
	for (size_t i = 0; i < partitions->at.count; i++) {
		partition_parts phases = { 0 };

		overview_phases_of(overview, &partitions->at.at[i], &phases);
		json_open(json, NULL, '[');
		for (size_t k = 0; k < phases.count; k++) {
			json_u64(json, NULL, phases.at[k].last);
		}
		json_close(json, ']');
		vec_fini(&phases);
	}
	json_close(json, ']');
}

static void put_processes(struct json *json, const struct overview *overview)
{
	const struct ran_slice *runs;
	const char *name;
	size_t count;

	json_open(json, "processes", '[');
	for (size_t i = 0; (runs = ran_slices(overview_ran(overview), i, &name, &count)); i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", name);
		json_open(json, "slices", '[');
		for (size_t k = 0; k < count; k++) {
			json_u64(json, NULL, runs[k].slice);
		}
		json_close(json, ']');
		json_open(json, "ns", '[');
		for (size_t k = 0; k < count; k++) {
			json_u64(json, NULL, runs[k].ns);
		}
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_aggregates(struct json *json, const struct tree *tree,
			   const struct aggregates *aggregates)
{
	json_open(json, NULL, '{');
	json_real(json, "p", aggregates->p);
	json_real(json, "gain", aggregates->gain);
	json_real(json, "loss", aggregates->loss);
	json_open(json, "at", '[');
	VEC_EACH(&aggregates->at, at) {
		json_open(json, NULL, '[');
		json_u64(json, NULL, at->node);
		json_u64(json, NULL, at->first);
		json_u64(json, NULL, at->last);
		for (unsigned int k = 0; k < TREE_STATES; k++) {
			json_fixed(json, NULL, tree_share(tree, at, k));
		}
		json_close(json, ']');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_tree(struct json *json, const char *title, const struct tree *tree)
{
	const struct hierarchies *all = tree_hierarchies(tree);
	size_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);

	json_open(json, NULL, '{');
	json_text(json, "title", title);
	json_u64(json, "stride", tree_stride(tree));
	json_u64(json, "slices", tree_slices(tree));
	json_open(json, "states", '[');
	for (unsigned int k = 0; k < TREE_STATES; k++) {
		json_text(json, NULL, tree_states(tree)[k]);
	}
	json_close(json, ']');
	json_open(json, "nodes", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", nodes[i].name);
		json_text(json, "selection", nodes[i].selection ? nodes[i].selection : "");
		json_u64(json, "parent", nodes[i].parent);
		json_bool(json, "leaf", nodes[i].is_leaf);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "chosen", all->chosen);
	json_u64(json, "suggested", all->suggested);
	json_open(json, "compromises", '[');
	for (size_t i = 0; i < all->at.count; i++) {
		put_aggregates(json, tree, &all->at.at[i]);
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_trees(struct json *json, const struct overview *overview)
{
	static const char *const titles[] = { "Time and CPUs", "Time and processes" };

	json_open(json, "hierarchies", '[');
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		const struct tree *tree = overview_tree(overview, (enum tree_kind)i);

		if (tree) {
			put_tree(json, titles[i], tree);
		}
	}
	json_close(json, ']');
}

/* Both objects, in memory. */
static char *data_of(const struct overview *overview, const char *path, const char *source,
		     size_t top, size_t *ret_len)
{
	char *data = NULL, *line = NULL, *word = source ? shell_path(source) : NULL;
	size_t line_len = 0;
	FILE *out = open_memstream(&line, &line_len);
	struct json json;

	overview_json(overview, path, top, false, out);
	(void)fclose(out);
	out = open_memstream(&data, ret_len);
	json_init(&json, out);
	json_open(&json, NULL, '[');
	json_raw(&json, line);
	json_open(&json, NULL, '{');
	json_u64(&json, "top", top);
	if (word) {
		json_text(&json, "source", word);
	}
	put_times(&json, overview);
	put_series(&json, overview);
	put_phases(&json, overview);
	put_processes(&json, overview);
	put_trees(&json, overview);
	json_close(&json, '}');
	json_close(&json, ']');
	json_flush(&json);
	(void)fclose(out);
	free(line);
	free(word);
	return data;
}

void overview_page(const struct overview *overview, const char *path, const char *source,
		   size_t top, FILE *out)
{
	size_t len = 0;
	char *data = data_of(overview, path, source, top, &len);

	page_begin(overview_html, out);
	page_put(data, len, out);
	page_end(overview_html, out);
	free(data);
}
