/*
 * report-threads: tables of threads, of processes and of containers.
 *
 * A thread is looked at once, for all these tables.  Processes and containers have no figures of
 * their own: a row is the sum of the rows of its threads.
 */
#include <assert.h>
#include <string.h>

#include "engine/tables/report-listing.h"

HASH_MAP(process_numbers, uint32_t)

struct pass {
	const struct listings *listings;
	struct process_numbers numbers;
};

static const uint64_t *values_of_thread(const struct tables *tables, const struct listing *listing,
					struct thread *thread)
{
	return (listing->total ? thread_total(&tables->layout, thread)
			       : thread_window(&tables->layout, thread)) +
	       listing->offset;
}

/* ---- processes ---- */

/* Processes are numbered as they are met.  Threads of unknown processes share one. */
static uint32_t process_number(struct pass *pass, const struct thread_view *view)
{
	bool is_new;
	uint32_t *at = process_numbers_put(&pass->numbers, (uint64_t)view->pid, &is_new);

	if (is_new) {
		*at = pass->numbers.used - 1;
	}
	assert(*at < pass->numbers.used);
	return *at;
}

static struct process_row *process_new(const struct tables *tables, struct listing *listing,
				       const struct thread_view *view)
{
	struct process_row *process = mem_alloc(sizeof(*process));

	process->view = (struct thread_view){ .tid = -1, .pid = view->pid };
	process->named.rank = PROCESS_UNNAMED;
	*vec_push(&listing->memory->processes) = (struct report_process){
		.row = process->values,
		.memory = process,
		.columns = &tables->layout.keyed_columns[listing->a][listing->t],
	};
	return process;
}

static struct process_row *process_at(const struct tables *tables, struct pass *pass,
				      struct listing *listing, const struct thread_view *view)
{
	uint32_t number = process_number(pass, view);

	while (listing->processes.count <= number) {
		*vec_push(&listing->processes) = NULL;
	}
	if (!listing->processes.at[number]) {
		listing->processes.at[number] = process_new(tables, listing, view);
	}
	return listing->processes.at[number];
}

const struct thread *report_leader(struct tables *tables, int32_t pid)
{
	struct shard *shard = &tables->shards[key_shard(pid)];
	const struct thread *leader = pid > 0 ? shard_thread_known(shard, pid) : NULL;

	if (!leader && pid > 0) {
		leader = shard_thread_known(shard, KEY_USER(pid, pid));
	}
	/* Who has the process' number as its tid leads it, if it says so or not. */
	return leader && leader->view.comm[0] && (leader->view.pid == pid || leader->view.pid < 0)
		       ? leader
		       : NULL;
}

/* The thread that names the process also says which container it is in. */
static void take_name(struct process_row *process, const struct thread *thread)
{
	report_set_container(&process->view, report_container_id(&thread->view));
	memcpy(process->view.comm, thread->view.comm, sizeof(process->view.comm));
}

/* Until it is known what its leader is called. */
static void name_process(struct process_row *process, const struct thread *thread)
{
	const struct thread_view *view = &thread->view;

	assert(process->view.pid == view->pid);
	if (view->comm[0] &&
	    process_name_by(&process->named, view->tid, view->pid, shard_row_id(thread))) {
		take_name(process, thread);
	}
}

/* In every window: also where the leader does nothing.  Returns whose name it is, 0: the leader's.
 */
static int32_t name_by_leader(struct tables *tables, struct process_row *process)
{
	const struct thread *leader = report_leader(tables, process->view.pid);

	if (leader) {
		take_name(process, leader);
	}
	return leader || process->named.rank <= 0 || process->named.rank == PROCESS_UNNAMED
		       ? 0
		       : process->named.rank;
}

static void add_to_process(const struct tables *tables, struct pass *pass, struct listing *listing,
			   struct thread *thread)
{
	const uint64_t *values = values_of_thread(tables, listing, thread);
	struct process_row *process;

	if (!report_has_value(listing, values)) {
		return;
	}
	process = process_at(tables, pass, listing, &thread->view);
	columns_add(&tables->layout.keyed_columns[listing->a][listing->t], process->values, values);
	if (process->view.pid >= 0) {
		name_process(process, thread);
	}
}

static void place_process(const struct tables *tables, const struct listing *listing,
			  struct process_row *process, struct report_row *row)
{
	uint32_t pid_ns = process->view.container;

	row->by = report_container_name(tables, listing->selection, pid_ns, process->container);
	row->owner = pid_ns != 0 ? (int64_t)selection_container_id(listing->selection, pid_ns)
				 : REPORT_NO_NUMBER;
}

static void list_processes(struct tables *tables, struct listing *listing)
{
	bool by_container = listing->table->has_containers && tables->layout.setup->wants_places;

	for (size_t i = 0; i < listing->processes.count; i++) {
		struct process_row *process = listing->processes.at[i];
		struct report_row *row =
			process ? report_add_row(listing, process->values, false) : NULL;

		if (row) {
			row->thread = &process->view;
			row->id = (uint64_t)process->view.pid;
			row->name = process->view.pid < 0 ? process->view.comm : NULL;
			row->named_by = name_by_leader(tables, process);
		}
		if (row && by_container) {
			place_process(tables, listing, process, row);
		}
	}
	vec_fini(&listing->processes);
}

/* ---- containers ---- */

/* Namespaces are few, and threads of one come together: the last one is looked at first. */
static struct container_row *container_at(const struct tables *tables, struct listing *listing,
					  uint32_t pid_ns, bool is_ended)
{
	struct container_row *row;

	for (size_t i = listing->containers.count; i-- > 0;) {
		row = listing->containers.at[i];
		if (row->pid_ns == pid_ns && row->is_ended == is_ended) {
			return row;
		}
	}
	row = mem_alloc(sizeof(*row));
	row->pid_ns = pid_ns;
	row->is_ended = is_ended;
	*vec_push(&listing->containers) = row;
	*vec_push(&listing->memory->processes) = (struct report_process){
		.row = row->values,
		.memory = row,
		.columns = &tables->layout.keyed_columns[listing->a][listing->t],
	};
	return row;
}

static void add_to_container(const struct tables *tables, struct listing *listing,
			     struct thread *thread)
{
	const uint64_t *values = values_of_thread(tables, listing, thread);

	if (report_has_value(listing, values)) {
		columns_add(&tables->layout.keyed_columns[listing->a][listing->t],
			    container_at(tables, listing, thread->view.container,
					 thread == tables->other)
				    ->values,
			    values);
	}
}

const char *report_container_name(const struct tables *tables, const struct selection *selection,
				  uint32_t pid_ns, char room[CONTAINER_NAME_BYTES])
{
	const char *name = selection_container(selection, pid_ns);
	const struct container *first = NULL, *named = NULL;
	bool by_service = selection_by_service(selection);

	if (name) {
		return name;
	}
	if (pid_ns == (by_service ? PLACE_NONE : CONTAINER_HOST)) {
		return by_service ? PLACE_NONE_NAME : CONTAINER_HOST_NAME;
	}
	for (size_t s = 0; pid_ns != 0 && s < SHARDS; s++) {
		const struct container *known = shard_container(&tables->shards[s], pid_ns);

		if (known && known->tid != 0 && (!first || shard_container_before(known, first))) {
			first = known;
		}
		if (known && known->named.tid != 0 &&
		    (!named || shard_container_names(&known->named, &named->named))) {
			named = known;
		}
	}
	memset(room, 0, CONTAINER_NAME_BYTES);
	if (named) {
		memcpy(room, named->named.name, sizeof(named->named.name));
	} else if (pid_ns != 0 && !by_service && tables->host_containers &&
		   tables->host_containers->name(pid_ns, room)) {
		return room;
	} else if (first) {
		memcpy(room, first->comm, sizeof(first->comm));
	}
	return room;
}

static const char *name_container(const struct tables *tables, const struct listing *listing,
				  struct container_row *row)
{
	return row->is_ended
		       ? "(ended)"
		       : report_container_name(tables, listing->selection, row->pid_ns, row->name);
}

static void list_containers(const struct tables *tables, struct listing *listing)
{
	for (size_t i = 0; i < listing->containers.count; i++) {
		struct container_row *container = listing->containers.at[i];
		struct report_row *row = report_add_row(listing, container->values, false);

		if (row) {
			row->id = selection_container_id(listing->selection, container->pid_ns);
			row->name = name_container(tables, listing, container);
			row->keyed = container->is_ended ? row->name : "";
		}
	}
	vec_fini(&listing->containers);
}

/* ---- threads ---- */

static void list_thread(const struct tables *tables, struct pass *pass, struct thread *thread)
{
	for (size_t i = 0; i < pass->listings->all.count; i++) {
		struct listing *listing = pass->listings->all.at[i];
		struct report_row *row;

		if (listing->table->scope == SCOPE_PROCESS) {
			add_to_process(tables, pass, listing, thread);
			continue;
		}
		if (listing->table->scope == SCOPE_CONTAINER) {
			add_to_container(tables, listing, thread);
			continue;
		}
		row = report_add_row(listing, values_of_thread(tables, listing, thread), false);
		if (row) {
			row->thread = &thread->view;
			row->id = shard_row_id(thread);
		}
	}
}

/* The thread that is the sum of all shards' others; NULL: they have none. */
static struct thread *others_sum(struct tables *tables)
{
	const struct columns *columns = &tables->layout.columns[SCOPE_THREAD];

	for (size_t s = 0; s < SHARDS && !tables->other; s++) {
		if (tables->shards[s].other) {
			tables->other = shard_thread_alloc(&tables->shards[s]);
			tables->other->view.tid = -1;
			tables->other->view.pid = -1;
			strcpy(tables->other->view.comm, "(ended)");
		}
	}
	if (!tables->other) {
		return NULL;
	}
	columns_empty(columns, thread_total(&tables->layout, tables->other));
	for (size_t s = 0; s < SHARDS; s++) {
		if (tables->shards[s].other) {
			columns_add(columns, thread_total(&tables->layout, tables->other),
				    thread_total(&tables->layout, tables->shards[s].other));
		}
	}
	return tables->other;
}

static void list_shard(const struct tables *tables, struct pass *pass, const struct shard *shard,
		       bool total)
{
	size_t count = total ? shard->resident.count : shard->touched.count;
	struct thread **from = total ? shard->resident.at : shard->touched.at;

	for (size_t i = 0; i < count; i++) {
		if (i + THREADS_AHEAD < count && from[i + THREADS_AHEAD]) {
			thread_prefetch_all(&tables->layout, from[i + THREADS_AHEAD]);
		}
		if (from[i]) {
			list_thread(tables, pass, from[i]);
		}
	}
}

void report_threads(struct tables *tables, const struct listings *listings, bool total)
{
	struct pass pass = { .listings = listings };
	struct thread *others = total ? others_sum(tables) : NULL;

	for (size_t s = 0; s < SHARDS; s++) {
		list_shard(tables, &pass, &tables->shards[s], total);
	}
	if (others) {
		list_thread(tables, &pass, others);
	}
	for (size_t i = 0; i < listings->all.count; i++) {
		list_processes(tables, listings->all.at[i]);
		list_containers(tables, listings->all.at[i]);
	}
	process_numbers_fini(&pass.numbers);
}

/* ---- what is known of threads ---- */

static void report_view(const struct layout *layout, struct thread *thread,
			struct report_memory *memory)
{
	struct thread_told *told = thread_told(layout, thread);
	uint64_t id = shard_row_id(thread);
	uint64_t hash = hash_bytes(0, &thread->view, sizeof(thread->view));
	uint32_t now = hash_mix(hash ^ id) | 1;

	if (told->hash == now && told->id == id) {
		return;
	}
	*vec_push(&memory->views) = (struct report_view){
		.id = id, .was = told->id, .is_reused = thread->is_reused, .view = thread->view
	};
	*told = (struct thread_told){ .id = id, .hash = now };
}

/* A tid below 0: an entity, or a thread of which nothing can become known. */
void report_views(struct tables *tables, struct report_memory *memory)
{
	for (size_t s = 0; s < SHARDS; s++) {
		const struct shard *shard = &tables->shards[s];

		for (size_t i = 0; i < shard->resident.count; i++) {
			if (shard->resident.at[i] && shard->resident.at[i]->view.tid >= 0) {
				report_view(&tables->layout, shard->resident.at[i], memory);
			}
		}
	}
}
