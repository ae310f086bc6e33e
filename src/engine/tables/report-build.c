/*
 * rows-report: rows as a report shows them: those with something in them, in order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tables/tables.h"

struct process_row {
	struct thread_view view;
	int32_t leader_tid; /* of whom the name is; INT32_MAX: nobody yet */
	uint64_t leader_id; /* of its row: which of those that had the tid */
	uint64_t values[COLUMNS_MAX];
};

struct listing {
	const struct analysis *analysis;
	const struct table *table;
	size_t a, t;     /* which table of which analysis it is */
	uint32_t offset; /* SCOPE_PROCESS: of the table of its threads */
	uint32_t columns;
	bool total;
	uint32_t sort_mask;
	const struct selection *selection; /* NULL: all */
	VEC(struct report_row) rows;
	VEC(struct process_row *) processes; /* by number; NULL: nothing of it */
	struct report_memory *memory;
};

static const uint64_t *values_of(const struct listing *listing, const struct sums *sums)
{
	return (listing->total ? sums->total : sums->window) + listing->offset;
}

static const uint64_t *values_of_thread(const struct tables *tables, const struct listing *listing,
					struct thread *thread)
{
	return (listing->total ? thread_total(&tables->layout, thread)
			       : thread_window(&tables->layout, thread)) +
	       listing->offset;
}

static bool has_any(const struct listing *listing, const uint64_t *values)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < listing->columns; i++) {
		any |= values[i];
	}
	return any != 0;
}

/* Adds a row unless all its columns are zero (CPUs and the trace always have one). */
static struct report_row *add_row(struct listing *listing, const uint64_t *values, bool always)
{
	struct report_row *row;

	if (!always && !has_any(listing, values)) {
		return NULL;
	}
	row = vec_push(&listing->rows);
	*row = (struct report_row){ .sort = report_sort_value(listing->table, listing->sort_mask,
							      values),
				    .values = values };
	return row;
}

static bool has(const int64_t *at, size_t count, int64_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (at[i] == value) {
			return true;
		}
	}
	return count == 0;
}

static bool is_cpu_wanted(const struct listing *listing, uint64_t cpu)
{
	const struct selection *s = listing->selection;

	return !s || has(s->cpus.at, s->cpus.count, (int64_t)cpu);
}

static bool is_thread_wanted(const struct listing *listing, const struct thread_view *view)
{
	const struct selection *s = listing->selection;

	if (!s) {
		return true;
	}
	for (size_t i = 0; i < s->comms.count; i++) {
		if (strcmp(s->comms.at[i], view->comm) == 0) {
			break;
		}
		if (i + 1 == s->comms.count) {
			return false;
		}
	}
	return has(s->pids.at, s->pids.count, view->pid) &&
	       (listing->table->scope == SCOPE_PROCESS ||
		has(s->tids.at, s->tids.count, view->tid));
}

/* The number of an interrupt, or its name. */
static bool is_irq_wanted(const struct listing *listing, uint64_t id, const char *name)
{
	const struct selection *s = listing->selection;
	const struct table *table = listing->table;
	const char *id_name = table->id_name ? table->id_name(id) : NULL;
	char number[24];

	if (!s || s->irqs.count == 0 || !table->lami_class ||
	    strcmp(table->lami_class, "irq") != 0) {
		return true;
	}
	(void)snprintf(number, sizeof(number), "%" PRIu64, id);
	for (size_t i = 0; i < s->irqs.count; i++) {
		const char *wanted = s->irqs.at[i];

		if (strcmp(wanted, number) == 0 || strcmp(wanted, name) == 0 ||
		    (id_name && strcmp(wanted, id_name) == 0)) {
			return true;
		}
	}
	return false;
}

/* Whether the table is one of those that --per asks for. */
static bool is_list_wanted(const struct listing *listing)
{
	const struct table *table = listing->table;
	const char *id_key = table->id_key ? table->id_key : "";

	switch (listing->selection ? listing->selection->per : PER_ALL) {
	case PER_ALL:
		return true;
	case PER_CPU:
		return table->scope == SCOPE_CPU || strcmp(id_key, "cpu") == 0;
	case PER_TID:
		return table->scope == SCOPE_THREAD;
	case PER_PID:
	case PER_COMM:
		return table->scope == SCOPE_PROCESS;
	case PER_PRIO:
		return strcmp(id_key, "prio") == 0;
	}
	return true;
}

static bool selects_threads(const struct selection *s)
{
	return s && s->tids.count + s->pids.count + s->comms.count > 0;
}

static void list_cpus(struct tables *tables, struct listing *listing)
{
	for (khint_t i = kh_begin(tables->cpus); i != kh_end(tables->cpus); i++) {
		if (kh_exist(tables->cpus, i) && kh_value(tables->cpus, i)->owner) {
			struct cpu *cpu = kh_value(tables->cpus, i);

			if (!is_cpu_wanted(listing, cpu->id)) {
				continue;
			}
			add_row(listing, values_of(listing, &cpu->sums), true)->id = cpu->id;
		}
	}
}

static void list_names(struct tables *tables, struct listing *listing)
{
	for (size_t i = 0; i < tables->names.count; i++) {
		struct report_row *row =
			add_row(listing, values_of(listing, &tables->names.at[i]->sums), false);

		if (row) {
			row->name = tables->names.at[i]->name;
		}
	}
}

/* ---- items ---- */

/* Items of a process. */
static bool is_owner_wanted(const struct listing *listing, const struct row_key *key)
{
	const struct selection *s = listing->selection;

	return !s || !listing->table->owner_key || s->pids.count == 0 ||
	       (key->id != ROW_KEY_NO_ID &&
		has(s->pids.at, s->pids.count, (int32_t)(key->id >> 32)));
}

static void list_keyed(struct tables *tables, struct listing *listing)
{
	const struct keyed_rows *keyed_rows = &tables->keyed_rows;
	size_t count = listing->total ? keyed_rows->all.count : keyed_rows->touched.count;
	struct keyed_row **from = listing->total ? keyed_rows->all.at : keyed_rows->touched.at;
	const char *id_key = listing->table->id_key;
	bool is_of_cpus = id_key && strcmp(id_key, "cpu") == 0;

	for (size_t i = 0; i < count; i++) {
		const struct keyed_row *keyed = from[i];
		struct report_row *row;

		if (keyed->analysis != listing->a || keyed->table != listing->t ||
		    (is_of_cpus && !is_cpu_wanted(listing, keyed->key.id)) ||
		    !is_owner_wanted(listing, &keyed->key) ||
		    !is_irq_wanted(listing, keyed->key.id,
				   keyed->label ? keyed->label : keyed->key.name)) {
			continue;
		}
		row = add_row(listing, listing->total ? keyed->total : keyed->window, false);
		if (row) {
			row->id = keyed->key.id;
			if (listing->table->owner_key && keyed->key.id != ROW_KEY_NO_ID) {
				row->id = (uint64_t)(int32_t)keyed->key.id;
				row->owner = (int32_t)(keyed->key.id >> 32);
			}
			row->name = keyed->label ? keyed->label : keyed->key.name;
			row->keyed = keyed->key.name;
		}
	}
}

/* ---- longest ---- */

static void list_longest(struct tables *tables, struct listing *listing)
{
	const struct longest *longest =
		&(listing->total ? tables->longest_total : tables->longest)[listing->offset];

	for (size_t i = 0;
	     i < longest->all.count && listing->rows.count < tables->layout.longest_shown; i++) {
		const struct shown_instance *shown = &longest->all.at[i];

		if (!is_irq_wanted(listing, shown->instance.keyed.id, shown->instance.keyed.name)) {
			continue;
		}
		if ((shown->has_view ? !is_thread_wanted(listing, &shown->view)
				     : selects_threads(listing->selection)) ||
		    (shown->instance.cpu != UINT64_MAX &&
		     !is_cpu_wanted(listing, shown->instance.cpu))) {
			continue;
		}
		*vec_push(&listing->rows) = (struct report_row){
			.sort = shown->instance.ns,
			.id = i,
			.name = shown->instance.keyed.name,
			.thread = shown->has_view ? &shown->view : NULL,
			.instance = &shown->instance,
		};
	}
}

/* ---- threads and processes ---- */

HASH_DECLARE(process_numbers, uint32_t)

/* All tables of threads and processes, which are listed in one go: threads are far apart. */
struct crowd {
	VEC(struct listing *) listings;
	khash_t(process_numbers) * numbers;
	bool by_name; /* processes are put together by their threads' names */
};

static uint64_t id_of(const struct thread *thread)
{
	return ((uint64_t)(uint32_t)thread->view.tid << 32) | thread->incarnation;
}

/* Threads whose process is not known are one row. */
static uint32_t process_number(struct crowd *crowd, const struct thread_view *view)
{
	uint64_t key = crowd->by_name ? hash_text(0, view->comm) : (uint64_t)view->pid;
	int is_new;
	khint_t at = kh_put(process_numbers, crowd->numbers, key, &is_new);

	if (is_new) {
		kh_value(crowd->numbers, at) = kh_size(crowd->numbers) - 1;
	}
	return kh_value(crowd->numbers, at);
}

static struct process_row *process_at(const struct tables *tables, struct crowd *crowd,
				      struct listing *listing, const struct thread_view *view)
{
	uint32_t number = process_number(crowd, view);
	struct process_row *process;

	while (listing->processes.count <= number) {
		*vec_push(&listing->processes) = NULL;
	}
	process = listing->processes.at[number];
	if (!process) {
		process = mem_alloc(sizeof(*process));
		process->view = (struct thread_view){ .tid = -1, .pid = view->pid };
		process->leader_tid = INT32_MAX;
		if (crowd->by_name) {
			process->view.pid = -1;
			memcpy(process->view.comm, view->comm, sizeof(view->comm));
		}
		listing->processes.at[number] = process;
		*vec_push(&listing->memory->processes) = (struct report_process){
			.row = process->values,
			.memory = process,
			.columns = &tables->layout.keyed_columns[listing->a][listing->t],
		};
	}
	return process;
}

/* The name is that of the leader, or else of the thread with the smallest tid; of several that had
 * the tid, of the newest. */
static void name_process(struct process_row *process, const struct thread *thread)
{
	const struct thread_view *view = &thread->view;
	bool leads = view->tid == view->pid, has_leader = process->leader_tid == view->pid;

	if (!view->comm[0]) {
		return;
	}
	if (view->tid == process->leader_tid
		    ? id_of(thread) > process->leader_id
		    : leads || (!has_leader && view->tid < process->leader_tid)) {
		process->leader_tid = view->tid;
		process->leader_id = id_of(thread);
		memcpy(process->view.comm, view->comm, sizeof(view->comm));
	}
}

static void add_to_process(const struct tables *tables, struct crowd *crowd,
			   struct listing *listing, struct thread *thread)
{
	const uint64_t *values = values_of_thread(tables, listing, thread);
	struct process_row *process;

	if (!has_any(listing, values)) {
		return;
	}
	process = process_at(tables, crowd, listing, &thread->view);
	columns_add(&tables->layout.keyed_columns[listing->a][listing->t], process->values, values);
	if (process->view.pid >= 0) {
		name_process(process, thread);
	}
}

static void list_thread(const struct tables *tables, struct crowd *crowd, struct thread *thread)
{
	for (size_t i = 0; i < crowd->listings.count; i++) {
		struct listing *listing = crowd->listings.at[i];
		struct report_row *row;

		if (!is_thread_wanted(listing, &thread->view)) {
			continue;
		}
		if (listing->table->scope == SCOPE_PROCESS) {
			add_to_process(tables, crowd, listing, thread);
			continue;
		}
		row = add_row(listing, values_of_thread(tables, listing, thread), false);
		if (row) {
			row->thread = &thread->view;
			row->id = id_of(thread);
		}
	}
}

/* The ended threads of all shards, in one row. */
static void list_ended(struct tables *tables, struct crowd *crowd)
{
	const struct columns *columns = &tables->layout.columns[SCOPE_THREAD];

	for (size_t s = 0; s < SHARDS; s++) {
		const struct thread *other = tables->shards[s].other;

		if (other && !tables->other) {
			tables->other = shard_thread_alloc(&tables->shards[s]);
			tables->other->view.tid = -1;
			tables->other->view.pid = -1;
			strcpy(tables->other->view.comm, "(ended)");
		}
	}
	if (!tables->other) {
		return;
	}
	columns_empty(columns, thread_total(&tables->layout, tables->other));
	for (size_t s = 0; s < SHARDS; s++) {
		if (tables->shards[s].other) {
			columns_add(columns, thread_total(&tables->layout, tables->other),
				    thread_total(&tables->layout, tables->shards[s].other));
		}
	}
	list_thread(tables, crowd, tables->other);
}

static void list_processes(struct listing *listing)
{
	for (size_t i = 0; i < listing->processes.count; i++) {
		struct process_row *process = listing->processes.at[i];
		struct report_row *row = process ? add_row(listing, process->values, false) : NULL;

		if (row) {
			row->thread = &process->view;
			row->id = (uint64_t)process->view.pid;
			row->name = process->view.pid < 0 ? process->view.comm : NULL;
		}
	}
	vec_fini(&listing->processes);
}

static void list_crowd(struct tables *tables, struct crowd *crowd, bool total)
{
	crowd->numbers = kh_init(process_numbers);
	for (size_t s = 0; s < SHARDS; s++) {
		const struct shard *shard = &tables->shards[s];
		size_t count = total ? shard->resident.count : shard->touched.count;
		struct thread **from = total ? shard->resident.at : shard->touched.at;

		for (size_t i = 0; i < count; i++) {
			if (from[i]) {
				list_thread(tables, crowd, from[i]);
			}
		}
	}
	if (total) {
		list_ended(tables, crowd);
	}
	for (size_t i = 0; i < crowd->listings.count; i++) {
		list_processes(crowd->listings.at[i]);
	}
	kh_destroy(process_numbers, crowd->numbers);
}

/* ---- all ---- */

static void list_table(struct tables *tables, struct listing *listing, struct crowd *crowd)
{
	if (listing->table->scope != SCOPE_TRACE && !is_list_wanted(listing)) {
		return;
	}
	switch (listing->table->scope) {
	case SCOPE_TRACE:
		(void)add_row(listing, values_of(listing, &tables->trace), true);
		break;
	case SCOPE_CPU:
		list_cpus(tables, listing);
		break;
	case SCOPE_EVENT:
		list_names(tables, listing);
		break;
	case SCOPE_KEYED:
		list_keyed(tables, listing);
		break;
	case SCOPE_LONGEST:
		list_longest(tables, listing);
		break;
	case SCOPE_THREAD:
	case SCOPE_PROCESS:
		*vec_push(&crowd->listings) = listing;
		break;
	}
}

/* Which of the analysis' tables has what @table is about: that of processes has no sums. */
static size_t source_of(const struct analysis *analysis, size_t table)
{
	if (analysis->tables[table].scope == SCOPE_PROCESS) {
		for (table = 0; analysis->tables[table].scope != SCOPE_THREAD;) {
			table++;
		}
	}
	return table;
}

static struct listing *new_listing(const struct tables *tables, size_t a, size_t t, bool total,
				   struct report_memory *memory)
{
	const struct analysis *analysis = tables->layout.setup->analyses[a];
	struct listing *listing = mem_alloc(sizeof(*listing));

	*listing = (struct listing){
		.analysis = analysis,
		.table = &analysis->tables[t],
		.a = a,
		.t = t,
		.offset = tables->layout.offsets[a][source_of(analysis, t)],
		.columns = column_count(&analysis->tables[t]),
		.total = total,
		.selection = tables->layout.setup->selection,
		.memory = memory,
	};
	listing->sort_mask = report_sort_mask(listing->table, listing->selection);
	return listing;
}

static void take_listing(const struct tables *tables, struct listing *listing)
{
	struct report_memory *memory = listing->memory;

	report_sort_rows(listing->rows.at, listing->rows.count, tables->layout.setup->top);
	*vec_push(&memory->lists) = listing->rows.at;
	*vec_push(&memory->tables) = (struct report_table){ .analysis = listing->analysis,
							    .table = listing->table,
							    .rows = listing->rows.at,
							    .row_count = listing->rows.count };
}

void tables_report(struct tables *tables, bool total, struct report *report,
		   struct report_memory *memory)
{
	const struct selection *selection = tables->layout.setup->selection;
	struct crowd crowd = { .by_name = selection && selection->per == PER_COMM };
	VEC(struct listing *) listings = { 0 };

	for (size_t i = 0; total && i < SHARDS; i++) {
		shard_close_window(&tables->shards[i]);
	}
	for (size_t a = 0; a < tables->layout.setup->analysis_count; a++) {
		const struct analysis *analysis = tables->layout.setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
			struct listing *listing = new_listing(tables, a, t, total, memory);

			*vec_push(&listings) = listing;
			list_table(tables, listing, &crowd);
		}
	}
	list_crowd(tables, &crowd, total);
	for (size_t i = 0; i < listings.count; i++) {
		take_listing(tables, listings.at[i]);
		free(listings.at[i]);
	}
	vec_fini(&listings);
	vec_fini(&crowd.listings);
	report->tables = memory->tables.at;
	report->table_count = memory->tables.count;
}

void report_memory_fini(struct report_memory *memory)
{
	for (size_t i = 0; i < memory->lists.count; i++) {
		free(memory->lists.at[i]);
	}
	for (size_t i = 0; i < memory->processes.count; i++) {
		columns_empty(memory->processes.at[i].columns, memory->processes.at[i].row);
		free(memory->processes.at[i].memory);
	}
	vec_fini(&memory->processes);
	vec_fini(&memory->lists);
	vec_fini(&memory->tables);
}
