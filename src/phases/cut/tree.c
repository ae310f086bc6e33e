/*
 * tree: see tree.h.
 */
#include "phases/cut/tree.h"

#include <assert.h>
#include <inttypes.h>

#include "phases/cut/tree-host.h"

struct tree {
	enum tree_kind kind;
	size_t room;
	size_t host_count;           /* announced */
	VEC(struct tree_host) hosts; /* that came */
	/* Results. */
	size_t stride;             /* slices that are joined */
	size_t slices, all_slices; /* joined, and those of the overview */
	uint64_t *times;
	VEC(struct tree_node) nodes;
	double *values; /* [nodes][TREE_STATES][slices] */
	struct hierarchies hierarchies;
};

struct tree *tree_new(enum tree_kind kind, size_t room, size_t host_count)
{
	struct tree *tree = mem_alloc(sizeof(*tree));

	assert(kind < TREE_KINDS);
	assert(room > 0 && host_count > 0 && host_count <= TREE_HOSTS_MAX);
	tree->kind = kind;
	tree->room = room;
	tree->host_count = host_count;
	return tree;
}

void tree_free(struct tree *tree)
{
	if (!tree) {
		return;
	}
	VEC_EACH(&tree->hosts, host) {
		tree_host_fini(host);
	}
	VEC_EACH(&tree->nodes, node) {
		free(node->name);
		free(node->selection);
	}
	vec_fini(&tree->hosts);
	vec_fini(&tree->nodes);
	hierarchies_fini(&tree->hierarchies);
	free(tree->times);
	free(tree->values);
	free(tree);
}

void tree_begin_host(struct tree *tree, const char *name)
{
	assert(tree->hosts.count < tree->host_count);
	tree_host_init(vec_push(&tree->hosts), tree->kind, name, tree->room,
		       TREE_CPUS / tree->host_count);
}

void tree_report(struct tree *tree, size_t slice, const struct report *report)
{
	assert(tree->hosts.count > 0);
	tree_host_report(&tree->hosts.at[tree->hosts.count - 1], slice, report);
}

/* ---- nodes ---- */

/* @values: ns of each state and joined slice, TREE_STATES rows; NULL: the node is no leaf. */
static uint32_t add_node(struct tree *tree, uint32_t parent, char *name, char *selection,
			 const double *values)
{
	size_t row = TREE_STATES * tree->slices, at = tree->nodes.count;

	*vec_push(&tree->nodes) = (struct tree_node){
		.name = name, .selection = selection, .parent = parent, .is_leaf = values != NULL
	};
	tree->values = mem_realloc(tree->values, (at + 1) * row * sizeof(double));
	for (size_t i = 0; i < row; i++) {
		tree->values[at * row + i] = values ? values[i] : 0;
	}
	if (tree->host_count > 1 && at > 0) {
		tree->nodes.at[at].host = parent == 0 ? (uint32_t)at : tree->nodes.at[parent].host;
	}
	for (uint32_t node = (uint32_t)at; values; node = tree->nodes.at[node].parent) {
		tree->nodes.at[node].leaves++;
		if (node == 0) {
			break;
		}
	}
	return (uint32_t)at;
}

/* Adds what a resource did to a leaf's values, or takes it away. */
static void lay(const struct tree *tree, const struct tree_resource *resource, double sign,
		double *ret)
{
	VEC_EACH(&resource->slices, spent) {
		for (unsigned int k = 0; k < TREE_STATES; k++) {
			ret[k * tree->slices + spent->slice / tree->stride] +=
				sign * (double)spent->ns[k];
		}
	}
}

static double *leaf_of(const struct tree *tree)
{
	return mem_alloc(TREE_STATES * tree->slices * sizeof(double));
}

/* A CPU: shares of what is known of it.  Where nothing is, it is unknown. */
static void to_shares(const struct tree *tree, double *values)
{
	for (size_t s = 0; s < tree->slices; s++) {
		double *run = &values[s], *off = run + tree->slices, *unknown = off + tree->slices;
		double all = *run + *off + *unknown;

		*run = all > 0 ? *run / all : 0;
		*off = all > 0 ? *off / all : 0;
		*unknown = all > 0 ? *unknown / all : 1;
	}
}

/* Of a slice's length. */
static void to_runs(const struct tree *tree, double *values)
{
	for (size_t s = 0; s < tree->slices; s++) {
		double length = (double)(tree->times[s + 1] - tree->times[s]), *run = &values[s];
		double *off = run + tree->slices, *unknown = off + tree->slices;

		*run = length > 0 && *run > 0 ? *run / length : 0;
		*unknown = length > 0 ? *unknown / length : 0;
		*off = *run + *unknown < 1 ? 1 - *run - *unknown : 0;
	}
}

static bool is_zero(const struct tree *tree, const double *values)
{
	for (size_t i = 0; i < TREE_STATES * tree->slices; i++) {
		if (values[i] > 0) {
			return false;
		}
	}
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct tree_resource *x = a, *y = b;

	/* The pool, which is negative, is the last one. */
	return (uint64_t)x->id < (uint64_t)y->id ? -1 : (uint64_t)x->id > (uint64_t)y->id;
}

/* Processes before threads, and what ran most first. */
static bool is_thread(const struct tree_resource *resource)
{
	return resource->tid != NO_TID;
}

ORDER(by_time, struct tree_resource, UP_OF(is_thread) DOWN(ns) UP(id) UP(tid))

/* The host: all below it; of several, all of them. */
static void add_root(struct tree *tree, const char *all)
{
	const char *host = tree->host_count == 1 ? tree->hosts.at[0].name : NULL;

	(void)add_node(tree, 0, host ? mem_printf("%s: %s", host, all) : mem_strdup(all), NULL,
		       NULL);
}

/* The time in which a host was not recorded: so many CPUs' of a leaf that is unknown then. */
static void lay_missing(const struct tree *tree, const struct tree_host *host, size_t cpus,
			double *ret)
{
	for (size_t s = 0; host->missing && s < tree->all_slices; s++) {
		ret[UNKNOWN * tree->slices + s / tree->stride] +=
			(double)cpus * (double)host->missing[s];
	}
}

static void add_cpu_nodes(struct tree *tree, struct tree_host *host, uint32_t parent)
{
	vec_sort(&host->resources, by_id);
	VEC_EACH(&host->resources, cpu) {
		double *values = leaf_of(tree);
		size_t others = host->resources.count - 1;
		size_t pooled = host->cpus > others ? host->cpus - others : 1;

		lay(tree, cpu, 1, values);
		lay_missing(tree, host, cpu->id < 0 ? pooled : 1, values);
		to_shares(tree, values);
		(void)add_node(tree, parent,
			       cpu->id < 0 ? mem_strdup("other CPUs")
					   : mem_printf("CPU %" PRId64, cpu->id),
			       cpu->id < 0 ? NULL : mem_printf("--cpu %" PRId64, cpu->id), values);
		free(values);
	}
}

/* Whether it may have lived longer than a slice. */
static bool is_lasting(const struct tree *tree, const struct tree_resource *thread)
{
	size_t first = thread->slices.at[0].slice / tree->stride;
	size_t last = thread->slices.at[thread->slices.count - 1].slice / tree->stride;

	return last - first >= 2;
}

/* The threads of a process that are shown; those of all processes are sorted. */
static size_t threads_of(const struct tree *tree, const struct tree_host *host,
			 const struct tree_resource *process, const struct tree_resource **ret)
{
	size_t count = 0, most = TREE_THREADS / tree->host_count;

	for (size_t i = host->processes, seen = 0; i < host->resources.count && seen < most; i++) {
		const struct tree_resource *thread = &host->resources.at[i];

		if (is_lasting(tree, thread)) {
			seen++;
			if (thread->id == process->id) {
				ret[count++] = thread;
			}
		}
	}
	return count;
}

static char *pid_selection(const struct tree_resource *process)
{
	return process->id < 0 ? NULL : mem_printf("--pid %" PRId64, process->id);
}

static void add_process(struct tree *tree, const struct tree_host *host,
			const struct tree_resource *process, uint32_t parent)
{
	const struct tree_resource *threads[TREE_THREADS];
	size_t count = threads_of(tree, host, process, threads);
	double *rest = leaf_of(tree), *values;
	uint32_t node;

	lay(tree, process, 1, rest);
	for (size_t i = 0; i < count; i++) {
		lay(tree, threads[i], -1, rest);
	}
	if (count == 0 || (count == 1 && is_zero(tree, rest))) {
		for (size_t i = 0; i < count; i++) {
			lay(tree, threads[i], 1, rest);
		}
		to_runs(tree, rest);
		(void)add_node(tree, parent, mem_strdup(process->name), pid_selection(process),
			       rest);
		free(rest);
		return;
	}
	node = add_node(tree, parent, mem_strdup(process->name), pid_selection(process), NULL);
	for (size_t i = 0; i < count; i++) {
		values = leaf_of(tree);
		lay(tree, threads[i], 1, values);
		to_runs(tree, values);
		(void)add_node(tree, node, mem_strdup(threads[i]->name),
			       mem_printf("--tid %" PRId32, threads[i]->tid), values);
		free(values);
	}
	if (!is_zero(tree, rest)) {
		to_runs(tree, rest);
		(void)add_node(tree, node, mem_strdup("other threads"), pid_selection(process),
			       rest);
	}
	free(rest);
}

/* What is not among the shown processes, and what is not known. */
static void add_rest(struct tree *tree, const struct tree_host *host, uint32_t parent)
{
	double *rest = leaf_of(tree), *unknown = leaf_of(tree);

	for (size_t s = 0; s < tree->all_slices; s++) {
		rest[s / tree->stride] += (double)host->run[s];
		unknown[UNKNOWN * tree->slices + s / tree->stride] += (double)host->unknown[s];
	}
	lay_missing(tree, host, host->cpus, unknown);
	for (size_t i = 0; i < host->shown; i++) {
		lay(tree, &host->resources.at[i], -1, rest);
	}
	if (!is_zero(tree, rest)) {
		to_runs(tree, rest);
		(void)add_node(tree, parent, mem_strdup("other processes"), NULL, rest);
	}
	if (!is_zero(tree, unknown)) {
		to_runs(tree, unknown);
		(void)add_node(tree, parent, mem_strdup("unknown time"), NULL, unknown);
	}
	free(rest);
	free(unknown);
}

/* Whether the processes that are shown, the first ones, are in several containers. */
static bool has_containers(const struct tree_host *host)
{
	int64_t first = REPORT_NO_NUMBER;

	for (size_t i = 0; i < host->shown; i++) {
		int64_t number = host->resources.at[i].container;

		if (number != REPORT_NO_NUMBER && first != REPORT_NO_NUMBER && number != first) {
			return true;
		}
		first = number != REPORT_NO_NUMBER ? number : first;
	}
	return false;
}

/* With those of its processes that are shown; without any it is no node. */
static void add_container(struct tree *tree, const struct tree_host *host,
			  const struct tree_container *container, uint32_t parent)
{
	uint32_t node = 0;

	for (size_t i = 0; i < host->shown; i++) {
		if (host->resources.at[i].container == container->number) {
			node = node > 0 ? node
					: add_node(tree, parent, mem_strdup(container->name), NULL,
						   NULL);
			add_process(tree, host, &host->resources.at[i], node);
		}
	}
}

static void add_process_nodes(struct tree *tree, struct tree_host *host, uint32_t parent)
{
	size_t most = TREE_PROCESSES / tree->host_count;
	bool is_nested;

	vec_sort(&host->resources, by_time);
	while (host->processes < host->resources.count &&
	       host->resources.at[host->processes].tid == NO_TID) {
		host->processes++;
	}
	host->shown = host->processes < most ? host->processes : most;
	is_nested = has_containers(host);
	for (size_t i = 0; is_nested && i < host->containers.count; i++) {
		add_container(tree, host, &host->containers.at[i], parent);
	}
	for (size_t i = 0; i < host->shown; i++) {
		if (!is_nested || host->resources.at[i].container == REPORT_NO_NUMBER) {
			add_process(tree, host, &host->resources.at[i], parent);
		}
	}
	add_rest(tree, host, parent);
}

/* Of several hosts each has a node, if anything is known of its CPUs. */
static void add_host(struct tree *tree, struct tree_host *host)
{
	uint32_t parent = 0;

	if (host->cpus == 0) {
		return;
	}
	if (tree->host_count > 1) {
		parent = add_node(tree, 0, mem_strdup(host->name ? host->name : "?"), NULL, NULL);
	}
	if (tree->kind == TREE_CPU) {
		add_cpu_nodes(tree, host, parent);
	} else {
		add_process_nodes(tree, host, parent);
	}
	if (parent > 0 && tree->nodes.count == parent + 1) { /* nothing ran */
		free(tree->nodes.at[parent].name);
		tree->nodes.count--;
	}
}

/* ---- the result ---- */

/* The slices of the overview, joined to as few as the search takes. */
static void set_slices(struct tree *tree, const uint64_t *times, size_t slices)
{
	tree->all_slices = slices;
	tree->stride = (slices + HIERARCHY_SLICES_MAX - 1) / HIERARCHY_SLICES_MAX;
	tree->slices = (slices + tree->stride - 1) / tree->stride;
	tree->times = mem_alloc((tree->slices + 1) * sizeof(*tree->times));
	for (size_t s = 0; s < tree->slices; s++) {
		tree->times[s] = times[s * tree->stride];
	}
	tree->times[tree->slices] = times[slices];
}

static void search(struct tree *tree, double p)
{
	struct hierarchy_model model = { .series = TREE_STATES,
					 .slices = tree->slices,
					 .nodes = tree->nodes.count,
					 .values = tree->values };
	uint32_t *parents = mem_alloc(tree->nodes.count * sizeof(*parents));
	struct hierarchy_table *table;

	for (size_t i = 0; i < tree->nodes.count; i++) {
		parents[i] = tree->nodes.at[i].parent;
	}
	model.parents = parents;
	table = hierarchy_table_new(&model);
	hierarchies_find(table, p, &tree->hierarchies);
	hierarchy_table_free(table);
	free(parents);
}

bool tree_find(struct tree *tree, const uint64_t *times, const uint64_t *const *missing,
	       size_t slices, double p)
{
	assert(!tree->times && slices <= tree->room);
	if (tree->hosts.count == 0 || slices == 0) {
		return false;
	}
	set_slices(tree, times, slices);
	add_root(tree, tree->kind == TREE_CPU ? "all CPUs" : "all processes");
	for (size_t h = 0; h < tree->hosts.count; h++) {
		tree->hosts.at[h].missing = missing[h];
		add_host(tree, &tree->hosts.at[h]);
	}
	if (tree->nodes.count < 2) {
		return false;
	}
	search(tree, p);
	return true;
}

const char *const *tree_states(const struct tree *tree)
{
	static const char *const cpu[] = { "busy", "idle", "unknown" };
	static const char *const process[] = { "run", "off", "unknown" };

	return tree->kind == TREE_CPU ? cpu : process;
}

size_t tree_stride(const struct tree *tree)
{
	return tree->stride;
}

size_t tree_slices(const struct tree *tree)
{
	return tree->slices;
}

uint64_t tree_time(const struct tree *tree, size_t slice)
{
	assert(slice <= tree->slices);
	return tree->times[slice];
}

const struct tree_node *tree_nodes(const struct tree *tree, size_t *ret_count)
{
	*ret_count = tree->nodes.count;
	return tree->nodes.at;
}

const double *tree_values(const struct tree *tree, size_t node, unsigned int state)
{
	assert(tree->nodes.at[node].is_leaf);
	return &tree->values[(node * TREE_STATES + state) * tree->slices];
}

const struct hierarchies *tree_hierarchies(const struct tree *tree)
{
	return &tree->hierarchies;
}

static bool is_below(const struct tree *tree, uint32_t leaf, uint32_t node)
{
	while (leaf > node) {
		leaf = tree->nodes.at[leaf].parent;
	}
	return leaf == node;
}

double tree_share(const struct tree *tree, const struct aggregate *aggregate, unsigned int state)
{
	double sum = 0;

	for (uint32_t node = aggregate->node; node < tree->nodes.count; node++) {
		const double *values;

		if (!tree->nodes.at[node].is_leaf || !is_below(tree, node, aggregate->node)) {
			continue;
		}
		values = tree_values(tree, node, state);
		for (uint32_t s = aggregate->first; s <= aggregate->last; s++) {
			sum += values[s];
		}
	}
	return sum / (tree->nodes.at[aggregate->node].leaves *
		      (double)(aggregate->last - aggregate->first + 1));
}
