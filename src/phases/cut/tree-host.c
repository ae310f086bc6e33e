/*
 * tree-host: see tree-host.h.
 */
#include "phases/cut/tree-host.h"

#include <assert.h>
#include <inttypes.h>

void tree_host_init(struct tree_host *host, enum tree_kind kind, const char *name, size_t room,
		    size_t cpus_shown)
{
	assert(room > 0 && cpus_shown > 0);
	*host = (struct tree_host){ .kind = kind,
				    .name = name ? mem_strdup(name) : NULL,
				    .room = room,
				    .cpus_shown = cpus_shown,
				    .run = mem_alloc(room * sizeof(*host->run)),
				    .unknown = mem_alloc(room * sizeof(*host->unknown)) };
}

void tree_host_fini(struct tree_host *host)
{
	VEC_EACH(&host->resources, resource) {
		free(resource->name);
		vec_fini(&resource->slices);
	}
	VEC_EACH(&host->containers, container) {
		free(container->name);
	}
	vec_fini(&host->containers);
	vec_fini(&host->resources);
	resource_of_fini(&host->by_key);
	free(host->name);
	free(host->run);
	free(host->unknown);
}

/* NULL: there is none, and @is_wanted is false. */
static struct tree_resource *resource_of(struct tree_host *host, int64_t id, int32_t tid,
					 bool is_wanted)
{
	uint64_t key = (uint64_t)id << 32 ^ (uint32_t)tid;
	struct tree_resource *resource;
	uint32_t *at = resource_of_get(&host->by_key, key);

	if (at) {
		return &host->resources.at[*at];
	}
	if (!is_wanted) {
		return NULL;
	}
	*resource_of_put(&host->by_key, key, NULL) = (uint32_t)host->resources.count;
	resource = vec_push(&host->resources);
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

static void add_cpus(struct tree_host *host, size_t slice, const struct report_table *table)
{
	host->cpus = table->row_count > host->cpus ? table->row_count : host->cpus;
	for (size_t i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];

		host->unknown[slice] += row->values[UNKNOWN];
		if (host->kind == TREE_CPU) {
			bool is_pooled = host->resources.count >= host->cpus_shown - 1 &&
					 !resource_of(host, (int64_t)row->id, NO_TID, false);
			struct spent *spent = spent_in(
				resource_of(host, is_pooled ? -1 : (int64_t)row->id, NO_TID, true),
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
static void place(struct tree_host *host, struct tree_resource *process,
		  const struct report_row *row)
{
	struct tree_container *container = NULL;

	if (!row->by || row->owner == REPORT_NO_NUMBER) {
		return;
	}
	process->container = row->owner;
	for (size_t i = 0; i < host->containers.count && !container; i++) {
		container = host->containers.at[i].number == row->owner ? &host->containers.at[i]
									: NULL;
	}
	if (!container) {
		container = vec_push(&host->containers);
		*container = (struct tree_container){ .number = row->owner };
	}
	free(container->name);
	container->name = mem_strdup(row->by);
}

/* Rows of processes, or of threads of these. */
static void add_runs(struct tree_host *host, size_t slice, const struct report_table *table)
{
	bool is_process = table->table->scope == SCOPE_PROCESS;

	for (size_t i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];
		struct tree_resource *resource;

		host->run[slice] += is_process ? row->values[RUN] : 0;
		if (i >= TREE_ROWS || !row->thread || row->values[RUN] == 0 ||
		    (!is_process &&
		     (row->thread->tid < 0 ||
		      !has_slice(resource_of(host, row->thread->pid, NO_TID, false), slice)))) {
			continue;
		}
		resource = resource_of(host, row->thread->pid,
				       is_process ? NO_TID : row->thread->tid, true);
		set_name(resource, row->thread);
		if (is_process) {
			place(host, resource, row);
		}
		spent_in(resource, slice)->ns[RUN] += row->values[RUN];
		resource->ns += row->values[RUN];
	}
}

void tree_host_report(struct tree_host *host, size_t slice, const struct report *report)
{
	assert(slice < host->room);
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		bool is_cpu = strcmp(table->analysis->name, "cpu") == 0;

		if (is_cpu && table->table->scope == SCOPE_CPU) {
			add_cpus(host, slice, table);
		} else if (is_cpu && table->table->scope == SCOPE_PROCESS &&
			   host->kind == TREE_PROCESS) {
			add_runs(host, slice, table);
		}
	}
	/* A thread counts where its process does, so after the processes. */
	for (size_t i = 0; i < report->table_count && host->kind == TREE_PROCESS; i++) {
		const struct report_table *table = &report->tables[i];

		if (table->table->scope == SCOPE_THREAD &&
		    strcmp(table->analysis->name, "cpu") == 0) {
			add_runs(host, slice, table);
		}
	}
}
