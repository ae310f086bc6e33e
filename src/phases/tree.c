/*
 * tree: see tree.h.
 */
#include "phases/tree.h"

#include <assert.h>
#include <inttypes.h>

#include "base/hash.h"

#define NO_TID (-1)

enum { RUN, OFF, UNKNOWN };

/* What a resource did in one slice. */
struct spent {
	uint32_t slice;
	uint64_t ns[TREE_STATES]; /* of a thread or process the first only */
};

struct tree_resource {
	int64_t id;  /* CPU or pid */
	int32_t tid; /* NO_TID: a process, or a CPU */
	char *name;
	int64_t container; /* of a process, as it was last known; REPORT_NO_NUMBER: unknown */
	uint64_t ns;       /* all of the first state */
	VEC(struct spent) slices; /* in order */
};

struct tree_container {
	int64_t number; /* of its PID namespace */
	char *name;     /* the last one */
};

HASH_MAP(resource_of, uint32_t)

struct tree {
	enum tree_kind kind;
	size_t room;
	VEC(struct tree_resource) resources;
	struct resource_of by_key;
	uint64_t *run, *unknown; /* of each slice: of all processes, of all CPUs */
	bool has_cpus;
	VEC(struct tree_container) containers;
	/* Results. */
	size_t stride; /* slices that are joined */
	size_t slices;
	uint64_t *times;
	VEC(struct tree_node) nodes;
	double *values; /* [nodes][TREE_STATES][slices] */
	struct hierarchies hierarchies;
};

struct tree *tree_new(enum tree_kind kind, size_t room)
{
	struct tree *tree = mem_alloc(sizeof(*tree));

	assert(kind < TREE_KINDS);
	assert(room > 0);
	tree->kind = kind;
	tree->room = room;
	tree->run = mem_alloc(room * sizeof(*tree->run));
	tree->unknown = mem_alloc(room * sizeof(*tree->unknown));
	return tree;
}

void tree_free(struct tree *tree)
{
	if (!tree) {
		return;
	}
	for (size_t i = 0; i < tree->resources.count; i++) {
		free(tree->resources.at[i].name);
		vec_fini(&tree->resources.at[i].slices);
	}
	for (size_t i = 0; i < tree->nodes.count; i++) {
		free(tree->nodes.at[i].name);
		free(tree->nodes.at[i].selection);
	}
	for (size_t i = 0; i < tree->containers.count; i++) {
		free(tree->containers.at[i].name);
	}
	vec_fini(&tree->containers);
	vec_fini(&tree->resources);
	vec_fini(&tree->nodes);
	resource_of_fini(&tree->by_key);
	hierarchies_fini(&tree->hierarchies);
	free(tree->run);
	free(tree->unknown);
	free(tree->times);
	free(tree->values);
	free(tree);
}

/* ---- windows ---- */

/* NULL: there is none, and @is_wanted is false. */
static struct tree_resource *resource_of(struct tree *tree, int64_t id, int32_t tid, bool is_wanted)
{
	uint64_t key = (uint64_t)id << 32 ^ (uint32_t)tid;
	struct tree_resource *resource;
	uint32_t *at = resource_of_get(&tree->by_key, key);

	if (at) {
		return &tree->resources.at[*at];
	}
	if (!is_wanted) {
		return NULL;
	}
	*resource_of_put(&tree->by_key, key, NULL) = (uint32_t)tree->resources.count;
	resource = vec_push(&tree->resources);
	*resource = (struct tree_resource){ .id = id, .tid = tid, .container = REPORT_NO_NUMBER };
	return resource;
}

/* The same resource may come several times in one slice: CPUs that share a leaf. */
static struct spent *spent_in(struct tree_resource *resource, size_t slice)
{
	size_t count = resource->slices.count;

	assert(count == 0 || resource->slices.at[count - 1].slice <= slice);
	if (count == 0 || resource->slices.at[count - 1].slice < slice) {
		*vec_push(&resource->slices) = (struct spent){ .slice = (uint32_t)slice };
		count++;
	}
	return &resource->slices.at[count - 1];
}

static bool has_slice(const struct tree_resource *resource, size_t slice)
{
	size_t count = resource ? resource->slices.count : 0;

	return count > 0 && resource->slices.at[count - 1].slice == slice;
}

static void add_cpus(struct tree *tree, size_t slice, const struct report_table *table)
{
	for (size_t i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];

		tree->has_cpus = true;
		tree->unknown[slice] += row->values[UNKNOWN];
		if (tree->kind == TREE_CPU) {
			bool is_pooled = tree->resources.count >= TREE_CPUS - 1 &&
					 !resource_of(tree, (int64_t)row->id, NO_TID, false);
			struct spent *spent = spent_in(
				resource_of(tree, is_pooled ? -1 : (int64_t)row->id, NO_TID, true),
				slice);

			for (unsigned int k = 0; k < TREE_STATES; k++) {
				spent->ns[k] += row->values[k];
			}
		}
	}
}

static void set_name(struct tree_resource *resource, const struct thread_view *view)
{
	free(resource->name); /* the last name is shown */
	resource->name = view->pid < 0 && resource->tid == NO_TID
				 ? mem_strdup("(not known)")
				 : mem_printf("%s (%" PRId32 ")", view->comm[0] ? view->comm : "?",
					      resource->tid == NO_TID ? view->pid : resource->tid);
}

/* The container of a process, if its row says which. */
static void place(struct tree *tree, struct tree_resource *process, const struct report_row *row)
{
	struct tree_container *container = NULL;

	if (!row->by || row->owner == REPORT_NO_NUMBER) {
		return;
	}
	process->container = row->owner;
	for (size_t i = 0; i < tree->containers.count && !container; i++) {
		container = tree->containers.at[i].number == row->owner ? &tree->containers.at[i]
									: NULL;
	}
	if (!container) {
		container = vec_push(&tree->containers);
		*container = (struct tree_container){ .number = row->owner };
	}
	free(container->name);
	container->name = mem_strdup(row->by);
}

/* Rows of processes, or of threads of these. */
static void add_runs(struct tree *tree, size_t slice, const struct report_table *table)
{
	bool is_process = table->table->scope == SCOPE_PROCESS;

	for (size_t i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];
		struct tree_resource *resource;

		tree->run[slice] += is_process ? row->values[RUN] : 0;
		if (i >= TREE_ROWS || !row->thread || row->values[RUN] == 0 ||
		    (!is_process &&
		     (row->thread->tid < 0 ||
		      !has_slice(resource_of(tree, row->thread->pid, NO_TID, false), slice)))) {
			continue;
		}
		resource = resource_of(tree, row->thread->pid,
				       is_process ? NO_TID : row->thread->tid, true);
		set_name(resource, row->thread);
		if (is_process) {
			place(tree, resource, row);
		}
		spent_in(resource, slice)->ns[RUN] += row->values[RUN];
		resource->ns += row->values[RUN];
	}
}

void tree_report(struct tree *tree, size_t slice, const struct report *report)
{
	assert(slice < tree->room);
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		bool is_cpu = strcmp(table->analysis->name, "cpu") == 0;

		if (is_cpu && table->table->scope == SCOPE_CPU) {
			add_cpus(tree, slice, table);
		} else if (is_cpu && table->table->scope == SCOPE_PROCESS &&
			   tree->kind == TREE_PROCESS) {
			add_runs(tree, slice, table);
		}
	}
	/* A thread counts where its process does, so after the processes. */
	for (size_t i = 0; i < report->table_count && tree->kind == TREE_PROCESS; i++) {
		const struct report_table *table = &report->tables[i];

		if (table->table->scope == SCOPE_THREAD &&
		    strcmp(table->analysis->name, "cpu") == 0) {
			add_runs(tree, slice, table);
		}
	}
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

/* The host: all below it. */
static void add_root(struct tree *tree, const char *host, const char *all)
{
	(void)add_node(tree, 0, host ? mem_printf("%s: %s", host, all) : mem_strdup(all), NULL,
		       NULL);
}

static void add_cpu_nodes(struct tree *tree)
{
	vec_sort(&tree->resources, by_id);
	VEC_EACH(&tree->resources, cpu) {
		double *values = leaf_of(tree);

		lay(tree, cpu, 1, values);
		to_shares(tree, values);
		(void)add_node(tree, 0,
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
static size_t threads_of(const struct tree *tree, const struct tree_resource *process,
			 size_t processes, const struct tree_resource **ret)
{
	size_t count = 0;

	for (size_t i = processes, seen = 0; i < tree->resources.count && seen < TREE_THREADS;
	     i++) {
		const struct tree_resource *thread = &tree->resources.at[i];

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

static void add_process(struct tree *tree, const struct tree_resource *process, size_t processes,
			uint32_t parent)
{
	const struct tree_resource *threads[TREE_THREADS];
	size_t count = threads_of(tree, process, processes, threads);
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
static void add_rest(struct tree *tree, size_t shown, size_t slices)
{
	double *rest = leaf_of(tree), *unknown = leaf_of(tree);

	for (size_t s = 0; s < slices; s++) {
		rest[s / tree->stride] += (double)tree->run[s];
		unknown[2 * tree->slices + s / tree->stride] += (double)tree->unknown[s];
	}
	for (size_t i = 0; i < shown; i++) {
		lay(tree, &tree->resources.at[i], -1, rest);
	}
	if (!is_zero(tree, rest)) {
		to_runs(tree, rest);
		(void)add_node(tree, 0, mem_strdup("other processes"), NULL, rest);
	}
	if (!is_zero(tree, unknown)) {
		to_runs(tree, unknown);
		(void)add_node(tree, 0, mem_strdup("unknown time"), NULL, unknown);
	}
	free(rest);
	free(unknown);
}

/* Whether the processes that are shown, the first ones, are in several containers. */
static bool has_containers(const struct tree *tree, size_t shown)
{
	int64_t first = REPORT_NO_NUMBER;

	for (size_t i = 0; i < shown; i++) {
		int64_t number = tree->resources.at[i].container;

		if (number != REPORT_NO_NUMBER && first != REPORT_NO_NUMBER && number != first) {
			return true;
		}
		first = number != REPORT_NO_NUMBER ? number : first;
	}
	return false;
}

/* With those of its processes that are shown; without any it is no node. */
static void add_container(struct tree *tree, const struct tree_container *container,
			  size_t processes, size_t shown)
{
	uint32_t node = 0;

	for (size_t i = 0; i < shown; i++) {
		if (tree->resources.at[i].container == container->number) {
			node = node > 0
				       ? node
				       : add_node(tree, 0, mem_strdup(container->name), NULL, NULL);
			add_process(tree, &tree->resources.at[i], processes, node);
		}
	}
}

static void add_process_nodes(struct tree *tree, size_t slices)
{
	size_t processes = 0, shown;

	vec_sort(&tree->resources, by_time);
	while (processes < tree->resources.count && tree->resources.at[processes].tid == NO_TID) {
		processes++;
	}
	shown = processes < TREE_PROCESSES ? processes : TREE_PROCESSES;
	for (size_t i = 0; has_containers(tree, shown) && i < tree->containers.count; i++) {
		add_container(tree, &tree->containers.at[i], processes, shown);
	}
	for (size_t i = 0; i < shown; i++) {
		if (!has_containers(tree, shown) ||
		    tree->resources.at[i].container == REPORT_NO_NUMBER) {
			add_process(tree, &tree->resources.at[i], processes, 0);
		}
	}
	add_rest(tree, shown, slices);
}

/* ---- the result ---- */

bool tree_find(struct tree *tree, const char *host, const uint64_t *times, size_t slices, double p)
{
	struct hierarchy_model model = { .series = TREE_STATES };
	struct hierarchy_table *table;
	uint32_t *parents;

	assert(!tree->times && slices <= tree->room);
	if (!tree->has_cpus || slices == 0) {
		return false;
	}
	tree->stride = (slices + HIERARCHY_SLICES_MAX - 1) / HIERARCHY_SLICES_MAX;
	tree->slices = (slices + tree->stride - 1) / tree->stride;
	tree->times = mem_alloc((tree->slices + 1) * sizeof(*tree->times));
	for (size_t s = 0; s < tree->slices; s++) {
		tree->times[s] = times[s * tree->stride];
	}
	tree->times[tree->slices] = times[slices];
	if (tree->kind == TREE_CPU) {
		add_root(tree, host, "all CPUs");
		add_cpu_nodes(tree);
	} else {
		add_root(tree, host, "all processes");
		add_process_nodes(tree, slices);
	}
	if (tree->nodes.count < 2) {
		return false;
	}
	parents = mem_alloc(tree->nodes.count * sizeof(*parents));
	for (size_t i = 0; i < tree->nodes.count; i++) {
		parents[i] = tree->nodes.at[i].parent;
	}
	model.slices = tree->slices;
	model.nodes = tree->nodes.count;
	model.parents = parents;
	model.values = tree->values;
	table = hierarchy_table_new(&model);
	hierarchies_find(table, p, &tree->hierarchies);
	hierarchy_table_free(table);
	free(parents);
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
