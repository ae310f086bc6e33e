/*
 * overview-json: see overview.h; one object with all that was found.
 */
#include "base/json.h"
#include "phases/overview.h"
#include "phases/phases.h"

static void put_part(struct json *json, const struct overview *overview, const struct part *part)
{
	json_u64(json, "begin", overview_time(overview, part->first));
	json_u64(json, "end", overview_time(overview, part->last + 1));
}

/* A share of time is known of a host that was not recorded: all of it is unknown. */
static bool is_valued(const struct overview *overview, const struct overview_series *series,
		      const struct part *part)
{
	return series->is_share || overview_is_told(overview, series, part);
}

static void put_means(struct json *json, const struct overview *overview, const struct part *part)
{
	size_t count;
	const struct overview_series *series = overview_series(overview, &count);

	json_open(json, "means", '[');
	for (size_t i = 0; i < count; i++) {
		if (is_valued(overview, &series[i], part)) {
			json_real(json, NULL, overview_mean(&series[i], part));
		} else {
			json_null(json, NULL);
		}
	}
	json_close(json, ']');
}

/* Of several. */
static void put_host(struct json *json, const char *host)
{
	if (host) {
		json_text(json, "host", host);
	}
}

static void put_processes(struct json *json, const struct overview *overview,
			  const struct part *part, size_t top)
{
	size_t room = top > 0 && top < RAN_ROWS_MAX ? top : RAN_ROWS_MAX;
	struct ran_process list[RAN_ROWS_MAX];
	size_t count = ran_most(overview_ran(overview), part, list, room);

	json_open(json, "processes", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		put_host(json, list[i].host);
		json_text(json, "name", list[i].name);
		json_u64(json, "run_ns", (uint64_t)list[i].ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_change(struct json *json, const struct overview *overview,
		       const struct part *before, const struct part *after)
{
	const struct overview_series *series = overview_change(overview, before, after);

	if (!series) {
		return;
	}
	json_open(json, "change", '{');
	json_text(json, "series", series->name);
	json_real(json, "before", overview_mean(series, before));
	json_real(json, "after", overview_mean(series, after));
	json_close(json, '}');
}

static void put_series(struct json *json, const struct overview *overview)
{
	size_t count;
	const struct overview_series *series = overview_series(overview, &count);

	json_open(json, "series", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		if (overview_hosts(overview) > 0) {
			put_host(json, overview_host(overview, series[i].host)->name);
		}
		json_text(json, "name", series[i].name);
		json_text(json, "unit",
			  series_unit(series[i].is_share, series[i].is_level, series[i].unit));
		json_real(json, "scale", overview_scale(overview, &series[i]));
		json_open(json, "values", '[');
		for (size_t s = 0; s < overview_slices(overview); s++) {
			if (is_valued(
				    overview, &series[i],
				    &(struct part){ .first = (uint32_t)s, .last = (uint32_t)s })) {
				json_real(json, NULL, series[i].values[s]);
			} else {
				json_null(json, NULL);
			}
		}
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_partitions(struct json *json, const struct overview *overview)
{
	const struct partitions *partitions = overview_partitions(overview);

	json_real(json, "auc", partitions->auc);
	json_open(json, "partitions", '[');
	for (size_t i = 0; i < partitions->at.count; i++) {
		const struct partition *partition = &partitions->at.at[i];

		json_open(json, NULL, '{');
		json_real(json, "p", partition->p);
		json_real(json, "gain", partition->gain);
		json_real(json, "loss", partition->loss);
		json_bool(json, "suggested", i == partitions->suggested);
		json_bool(json, "nearest", i == partitions->nearest);
		json_open(json, "ends", '[');
		for (size_t k = 0; k < partition->parts.count; k++) {
			json_u64(json, NULL, partition->parts.at[k].last);
		}
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_nodes(struct json *json, const struct tree *tree)
{
	size_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);

	json_open(json, "nodes", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", nodes[i].name);
		if (i > 0) {
			json_u64(json, "parent", nodes[i].parent);
		}
		for (unsigned int k = 0; k < TREE_STATES && nodes[i].is_leaf; k++) {
			const double *values = tree_values(tree, i, k);

			json_open(json, tree_states(tree)[k], '[');
			for (size_t s = 0; s < tree_slices(tree); s++) {
				json_real(json, NULL, values[s]);
			}
			json_close(json, ']');
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_tree(struct json *json, const char *by, const struct tree *tree)
{
	const struct hierarchies *all = tree_hierarchies(tree);
	const struct aggregates *chosen = &all->at.at[all->chosen];

	json_open(json, NULL, '{');
	json_text(json, "by", by);
	json_open(json, "slices", '[');
	for (size_t s = 0; s < tree_slices(tree); s++) {
		json_u64(json, NULL, tree_time(tree, s));
	}
	json_close(json, ']');
	put_nodes(json, tree);
	json_real(json, "p", chosen->p);
	json_real(json, "gain", chosen->gain);
	json_real(json, "loss", chosen->loss);
	json_open(json, "aggregates", '[');
	VEC_EACH(&chosen->at, aggregate) {
		json_open(json, NULL, '{');
		json_u64(json, "node", aggregate->node);
		json_u64(json, "first", aggregate->first);
		json_u64(json, "last", aggregate->last);
		json_u64(json, "begin", tree_time(tree, aggregate->first));
		json_u64(json, "end", tree_time(tree, aggregate->last + 1));
		for (unsigned int k = 0; k < TREE_STATES; k++) {
			json_real(json, tree_states(tree)[k], tree_share(tree, aggregate, k));
		}
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_trees(struct json *json, const struct overview *overview)
{
	static const char *const by[] = { "cpu", "process" };
	bool is_first = true;

	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		const struct tree *tree = overview_tree(overview, (enum tree_kind)i);

		if (tree && is_first) {
			json_open(json, "hierarchies", '[');
		}
		if (tree) {
			put_tree(json, by[i], tree);
			is_first = false;
		}
	}
	if (!is_first) {
		json_close(json, ']');
	}
}

/* Several, and when each was recorded. */
static void put_host_spans(struct json *json, const struct overview *overview)
{
	json_open(json, "hosts", '[');
	for (size_t i = 0; i < overview_hosts(overview); i++) {
		const struct overview_host_span *host = overview_host(overview, i);

		json_open(json, NULL, '{');
		json_text(json, "name", host->name ? host->name : "");
		if (host->past > 0) {
			json_u64(json, "begin", overview_time(overview, host->first));
			json_u64(json, "end", overview_time(overview, host->past));
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

void overview_json(const struct overview *overview, const char *path, size_t top, bool has_trees,
		   FILE *out)
{
	const struct partition *partition = overview_chosen(overview);
	size_t count;
	const struct part *phases = overview_phases(overview, &count);
	struct json json;

	json_begin_object(&json, out, "overview");
	json_version(&json);
	json_text(&json, "path", path);
	json_moment(&json, "begin", overview_time(overview, 0));
	json_moment(&json, "end", overview_time(overview, overview_slices(overview)));
	json_open(&json, "slices", '[');
	for (size_t s = 0; s < overview_slices(overview); s++) {
		json_u64(&json, NULL, overview_time(overview, s));
	}
	json_close(&json, ']');
	if (overview_hosts(overview) > 0) {
		put_host_spans(&json, overview);
	}
	json_real(&json, "p", partition->p);
	json_open(&json, "phases", '[');
	for (size_t i = 0; i < count; i++) {
		const struct part *part = &phases[i];

		json_open(&json, NULL, '{');
		put_part(&json, overview, part);
		put_means(&json, overview, part);
		put_processes(&json, overview, part, top);
		if (i > 0) {
			put_change(&json, overview, part - 1, part);
		}
		json_close(&json, '}');
	}
	json_close(&json, ']');
	put_series(&json, overview);
	put_partitions(&json, overview);
	if (has_trees) {
		put_trees(&json, overview);
	}
	json_end_object(&json);
}
