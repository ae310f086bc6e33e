/*
 * rows: see rows.h.
 */
#include "engine/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* ---- layout ---- */

static uint32_t column_count(const struct table *table)
{
	uint32_t count = 0;

	while (count < COLUMNS_MAX && table->columns[count].key) {
		count++;
	}
	return count;
}

static void lay_out(struct rows *rows)
{
	for (size_t a = 0; a < rows->setup->analysis_count; a++) {
		const struct analysis *analysis = rows->setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX; t++) {
			const struct table *table = &analysis->tables[t];

			rows->offsets[a][t] = rows->columns[table->scope];
			rows->columns[table->scope] += column_count(table);
		}
		rows->thread_state_offsets[a] = rows->thread_state_size;
		rows->thread_state_size += (analysis->thread_state_size + 15) / 16 * 16;
	}
}

static void sums_init(const struct rows *rows, struct sums *sums, enum scope scope)
{
	uint32_t columns = rows->columns[scope] + 1; /* never empty */

	sums->window = mem_alloc(2 * columns * sizeof(uint64_t));
	sums->total = sums->window + columns;
}

static void sums_fini(struct sums *sums)
{
	free(sums->window);
}

/* A thread, its sums and the analyses' states in one piece: forks are frequent. */
static struct thread *thread_alloc(struct rows *rows)
{
	uint32_t columns = rows->columns[SCOPE_THREAD] + 1;
	size_t sums_bytes = 2 * columns * sizeof(uint64_t);
	size_t head_bytes = (sizeof(struct thread) + 15) / 16 * 16;
	size_t bytes = head_bytes + rows->thread_state_size + sums_bytes;
	struct thread *thread;
	char *memory;

	if (rows->free_threads.count > 0) {
		memory = (char *)rows->free_threads.at[--rows->free_threads.count];
		memset(memory, 0, bytes);
	} else {
		memory = mem_alloc(bytes);
	}
	thread = (struct thread *)memory;

	thread->states = memory + head_bytes;
	thread->sums.window = (uint64_t *)(memory + head_bytes + rows->thread_state_size);
	thread->sums.total = thread->sums.window + columns;
	return thread;
}

void rows_init(struct rows *rows, const struct map_setup *setup)
{
	memset(rows, 0, sizeof(*rows));
	rows->setup = setup;
	lay_out(rows);
	sums_init(rows, &rows->trace, SCOPE_TRACE);
	rows->cpus = kh_init(cpus);
	rows->live_odd = kh_init(threads);
	rows->name_ids = kh_init(name_ids);
}

void rows_fini(struct rows *rows)
{
	sums_fini(&rows->trace);
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			sums_fini(&kh_value(rows->cpus, i)->sums);
			free(kh_value(rows->cpus, i));
		}
	}
	kh_destroy(cpus, rows->cpus);
	kh_destroy(threads, rows->live_odd);
	for (size_t i = 0; i < TID_PAGES; i++) {
		free(rows->live_pages[i]);
	}
	kh_destroy(name_ids, rows->name_ids);
	for (size_t i = 0; i < rows->kept.count; i++) {
		free(rows->kept.at[i]);
	}
	for (size_t i = 0; i < rows->free_threads.count; i++) {
		free(rows->free_threads.at[i]);
	}
	vec_fini(&rows->free_threads);
	free(rows->other);
	for (size_t i = 0; i < rows->names.count; i++) {
		sums_fini(&rows->names.at[i]->sums);
		free((char *)rows->names.at[i]->name);
		free(rows->names.at[i]);
	}
	vec_fini(&rows->kept);
	vec_fini(&rows->touched);
	vec_fini(&rows->names);
	vec_fini(&rows->names_touched);
	vec_fini(&rows->class_names);
}

/* ---- CPUs and threads ---- */

struct cpu *rows_cpu(struct rows *rows, uint64_t id)
{
	int is_new;
	khint_t at = kh_put(cpus, rows->cpus, id, &is_new);

	if (is_new) {
		struct cpu *cpu = mem_alloc(sizeof(*cpu));

		cpu->id = id;
		sums_init(rows, &cpu->sums, SCOPE_CPU);
		kh_value(rows->cpus, at) = cpu;
	}
	return kh_value(rows->cpus, at);
}

static struct thread *thread_new(struct rows *rows, int32_t tid)
{
	struct thread *thread = thread_alloc(rows);

	thread->view.tid = tid;
	thread->view.pid = -1;
	thread->cpu = UINT64_MAX;
	return thread;
}

/* The place for a tid of Linux, NULL if its page is not there and not @make. */
static struct thread **live_place(struct rows *rows, int32_t tid, bool make)
{
	struct thread ***page = &rows->live_pages[(uint32_t)tid / TID_PAGE_SIZE];

	if (!*page && make) {
		*page = mem_alloc(TID_PAGE_SIZE * sizeof(**page));
	}
	return *page ? &(*page)[(uint32_t)tid % TID_PAGE_SIZE] : NULL;
}

static bool is_usual(int32_t tid)
{
	return tid >= 0 && tid < TID_PAGES * TID_PAGE_SIZE;
}

struct thread *rows_thread_known(struct rows *rows, int32_t tid)
{
	if (is_usual(tid)) {
		struct thread **place = live_place(rows, tid, false);

		return place ? *place : NULL;
	} else {
		khint_t at = kh_get(threads, rows->live_odd, (uint32_t)tid);

		return at == kh_end(rows->live_odd) ? NULL : kh_value(rows->live_odd, at);
	}
}

static struct thread *put_thread(struct rows *rows, int32_t tid, struct thread *thread)
{
	if (is_usual(tid)) {
		*live_place(rows, tid, true) = thread;
	} else {
		int is_new;
		khint_t at = kh_put(threads, rows->live_odd, (uint32_t)tid, &is_new);

		kh_value(rows->live_odd, at) = thread;
	}
	return thread;
}

struct thread *rows_thread(struct rows *rows, int32_t tid)
{
	struct thread *thread = rows_thread_known(rows, tid);

	if (!thread) {
		thread = thread_new(rows, tid);
		*vec_push(&rows->kept) = thread;
		(void)put_thread(rows, tid, thread);
	}
	return thread;
}

struct thread *rows_thread_nobody(struct rows *rows, uint64_t cpu_id)
{
	struct thread *thread = thread_new(rows, -1);

	thread->incarnation = (uint32_t)cpu_id; /* orders the rows */
	*vec_push(&rows->kept) = thread;
	return thread;
}

struct thread *rows_thread_fork(struct rows *rows, int32_t tid)
{
	struct thread *old = rows_thread_known(rows, tid);
	struct thread *thread = thread_new(rows, tid);

	if (old) {
		old->is_dead = true;
		thread->incarnation = old->incarnation + 1;
	}
	*vec_push(&rows->kept) = thread;
	return put_thread(rows, tid, thread);
}

struct thread *rows_thread_rename(struct rows *rows, int32_t from, int32_t tid)
{
	struct thread *thread = rows_thread(rows, from);
	struct thread *old = rows_thread_known(rows, tid);

	if (from == tid) {
		return thread;
	}
	if (old) {
		old->is_dead = true;
		thread->incarnation = old->incarnation + 1;
	}
	(void)put_thread(rows, from, NULL);
	thread->view.tid = tid;
	return put_thread(rows, tid, thread);
}

void rows_touch_thread(struct rows *rows, struct thread *thread)
{
	if (!thread->sums.is_touched) {
		thread->sums.is_touched = true;
		*vec_push(&rows->touched) = thread;
	}
}

void rows_touch_name(struct rows *rows, struct event_name *name)
{
	if (!name->sums.is_touched) {
		name->sums.is_touched = true;
		*vec_push(&rows->names_touched) = name;
	}
}

/* ---- event names ---- */

static uint32_t name_id(struct rows *rows, const char *text)
{
	khint_t at = kh_get(name_ids, rows->name_ids, text);
	struct event_name *name;
	int is_new;

	if (at != kh_end(rows->name_ids)) {
		return kh_value(rows->name_ids, at);
	}
	name = mem_alloc(sizeof(*name));
	name->name = mem_strdup(text);
	sums_init(rows, &name->sums, SCOPE_EVENT);
	at = kh_put(name_ids, rows->name_ids, name->name, &is_new);
	kh_value(rows->name_ids, at) = (uint32_t)rows->names.count;
	*vec_push(&rows->names) = name;
	return (uint32_t)(rows->names.count - 1);
}

void rows_set_classes(struct rows *rows, const struct plan *plan)
{
	for (size_t i = rows->class_names.count; i < plan->class_count; i++) {
		*vec_push(&rows->class_names) = name_id(rows, plan->classes[i]->class->name);
	}
}

/* ---- closing windows ---- */

static void fold(struct sums *sums, uint32_t columns, bool keep)
{
	for (uint32_t i = 0; i < columns; i++) {
		sums->total[i] += keep ? sums->window[i] : 0;
		sums->window[i] = 0;
	}
	sums->is_touched = false;
}

/* Threads that ended and were reported go into one row when there are too many. */
static void drop_dead(struct rows *rows)
{
	size_t kept = 0, excess;

	if (rows->kept.count <= THREADS_KEPT_MAX) {
		return;
	}
	if (!rows->other) {
		rows->other = thread_new(rows, -1);
		strcpy(rows->other->view.comm, "(ended)");
	}
	excess = rows->kept.count - THREADS_KEPT_MAX * 3 / 4;
	for (size_t i = 0; i < rows->kept.count; i++) {
		struct thread *thread = rows->kept.at[i];

		if (excess == 0 || !thread->is_dead || thread->cpus_current > 0) {
			rows->kept.at[kept++] = thread;
			continue;
		}
		for (uint32_t c = 0; c < rows->columns[SCOPE_THREAD]; c++) {
			rows->other->sums.total[c] += thread->sums.total[c];
		}
		if (rows_thread_known(rows, thread->view.tid) == thread) {
			(void)put_thread(rows, thread->view.tid, NULL);
		}
		*vec_push(&rows->free_threads) = thread;
		excess--;
	}
	rows->kept.count = kept;
}

void rows_close_window(struct rows *rows, bool keep)
{
	fold(&rows->trace, rows->columns[SCOPE_TRACE], keep);
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			fold(&kh_value(rows->cpus, i)->sums, rows->columns[SCOPE_CPU], keep);
		}
	}
	for (size_t i = 0; i < rows->touched.count; i++) {
		fold(&rows->touched.at[i]->sums, rows->columns[SCOPE_THREAD], keep);
	}
	for (size_t i = 0; i < rows->names_touched.count; i++) {
		fold(&rows->names_touched.at[i]->sums, rows->columns[SCOPE_EVENT], keep);
	}
	rows->touched.count = 0;
	rows->names_touched.count = 0;
	drop_dead(rows);
}

/* ---- reports ---- */

struct listing {
	const struct table *table;
	uint32_t offset, columns;
	bool total;
	VEC(struct report_row) rows;
};

static const uint64_t *values_of(const struct listing *listing, const struct sums *sums)
{
	return (listing->total ? sums->total : sums->window) + listing->offset;
}

/* Adds a row unless all its columns are zero (CPUs and the trace always have one). */
static struct report_row *add_row(struct listing *listing, const struct sums *sums, bool always)
{
	const uint64_t *values = values_of(listing, sums);
	struct report_row *row;
	uint64_t any = 0, sort = 0;

	for (uint32_t i = 0; i < listing->columns; i++) {
		any |= values[i];
		sort += listing->table->sort_mask >> i & 1 ? values[i] : 0;
	}
	if (any == 0 && !always) {
		return NULL;
	}
	row = vec_push(&listing->rows);
	*row = (struct report_row){ .sort = sort, .values = values };
	return row;
}

static void list_threads(struct rows *rows, struct listing *listing)
{
	size_t count = listing->total ? rows->kept.count : rows->touched.count;
	struct thread **from = listing->total ? rows->kept.at : rows->touched.at;

	for (size_t i = 0; i <= count; i++) {
		struct thread *thread = i < count ? from[i] : rows->other;
		struct report_row *row;

		if (!thread || (i == count && !listing->total)) {
			continue;
		}
		row = add_row(listing, &thread->sums, false);
		if (row) {
			row->thread = &thread->view;
			row->id =
				((uint64_t)(uint32_t)thread->view.tid << 32) | thread->incarnation;
		}
	}
}

static void list_cpus(struct rows *rows, struct listing *listing)
{
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i) && kh_value(rows->cpus, i)->owner) {
			struct cpu *cpu = kh_value(rows->cpus, i);

			add_row(listing, &cpu->sums, true)->id = cpu->id;
		}
	}
}

static void list_names(struct rows *rows, struct listing *listing)
{
	for (size_t i = 0; i < rows->names.count; i++) {
		struct report_row *row = add_row(listing, &rows->names.at[i]->sums, false);

		if (row) {
			row->name = rows->names.at[i]->name;
		}
	}
}

static int by_sort(const void *left, const void *right)
{
	const struct report_row *a = left, *b = right;

	if (a->sort != b->sort) {
		return a->sort > b->sort ? -1 : 1;
	}
	if (a->name && b->name) {
		return strcmp(a->name, b->name);
	}
	return a->id < b->id ? -1 : a->id > b->id;
}

static void list_table(struct rows *rows, struct listing *listing)
{
	switch (listing->table->scope) {
	case SCOPE_TRACE:
		(void)add_row(listing, &rows->trace, true);
		break;
	case SCOPE_CPU:
		list_cpus(rows, listing);
		break;
	case SCOPE_THREAD:
		list_threads(rows, listing);
		break;
	case SCOPE_EVENT:
		list_names(rows, listing);
		break;
	}
	if (listing->rows.count > 1) {
		qsort(listing->rows.at, listing->rows.count, sizeof(*listing->rows.at), by_sort);
	}
}

void rows_report(struct rows *rows, bool total, struct report *report, struct report_memory *memory)
{
	for (size_t a = 0; a < rows->setup->analysis_count; a++) {
		const struct analysis *analysis = rows->setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
			struct listing listing = { .table = &analysis->tables[t],
						   .offset = rows->offsets[a][t],
						   .columns = column_count(&analysis->tables[t]),
						   .total = total };

			list_table(rows, &listing);
			*vec_push(&memory->lists) = listing.rows.at;
			*vec_push(&memory->tables) =
				(struct report_table){ .analysis = analysis,
						       .table = listing.table,
						       .rows = listing.rows.at,
						       .row_count = listing.rows.count };
		}
	}
	report->tables = memory->tables.at;
	report->table_count = memory->tables.count;
}

void report_memory_fini(struct report_memory *memory)
{
	for (size_t i = 0; i < memory->lists.count; i++) {
		free(memory->lists.at[i]);
	}
	vec_fini(&memory->lists);
	vec_fini(&memory->tables);
}
