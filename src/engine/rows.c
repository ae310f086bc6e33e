/*
 * rows: see rows.h.
 */
#include "engine/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/shard.h"

/* ---- layout ---- */

static uint32_t column_count(const struct table *table)
{
	uint32_t count = 0;

	while (count < COLUMNS_MAX && table->columns[count].key) {
		count++;
	}
	return count;
}

static void lay_out(struct layout *layout, const struct map_setup *setup)
{
	layout->setup = setup;
	layout->is_direct = !setup->wants_windows && setup->range_begin == 0;
	for (size_t a = 0; a < setup->analysis_count; a++) {
		const struct analysis *analysis = setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX; t++) {
			const struct table *table = &analysis->tables[t];

			layout->offsets[a][t] = layout->columns[table->scope];
			layout->columns[table->scope] += column_count(table);
		}
		layout->thread_state_offsets[a] = layout->thread_state_size;
		layout->thread_state_size += (analysis->thread_state_size + 15) / 16 * 16;
	}
}

static void sums_init(const struct layout *layout, struct sums *sums, enum scope scope)
{
	uint32_t columns = layout->columns[scope] + 1; /* never empty */

	sums->window = mem_alloc(2 * columns * sizeof(uint64_t));
	sums->total = sums->window + columns;
}

static void sums_fini(struct sums *sums)
{
	free(sums->window);
}

/* ---- lifecycle ---- */

static void shard_init(struct shard *shard, const struct layout *layout)
{
	shard->layout = layout;
	shard->trace = mem_alloc((layout->columns[SCOPE_TRACE] + 1) * sizeof(uint64_t));
}

static void shard_fini(struct shard *shard)
{
	for (size_t i = 0; i < shard->blocks.count; i++) {
		free(shard->blocks.at[i]);
	}
	vec_fini(&shard->blocks);
	free(shard->trace);
	free(shard->names);
	free(shard->slots.at);
	vec_fini(&shard->dead);
	vec_fini(&shard->stays);
	vec_fini(&shard->kept_free);
	vec_fini(&shard->names_touched);
	vec_fini(&shard->kept);
	vec_fini(&shard->free_threads);
	vec_fini(&shard->touched);
	vec_fini(&shard->keys);
	vec_fini(&shard->nodes);
	vec_fini(&shard->order);
}

void rows_init(struct rows *rows, const struct map_setup *setup)
{
	memset(rows, 0, sizeof(*rows));
	lay_out(&rows->layout, setup);
	sums_init(&rows->layout, &rows->trace, SCOPE_TRACE);
	rows->cpus = kh_init(cpus);
	rows->name_ids = kh_init(name_ids);
	for (size_t i = 0; i < SHARDS; i++) {
		shard_init(&rows->shards[i], &rows->layout);
	}
}

static void cpu_free(struct cpu *cpu)
{
	sums_fini(&cpu->sums);
	vec_fini(&cpu->segments);
	vec_fini(&cpu->line);
	free(cpu);
}

void rows_fini(struct rows *rows)
{
	sums_fini(&rows->trace);
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			cpu_free(kh_value(rows->cpus, i));
		}
	}
	for (size_t i = 0; i < SHARDS; i++) {
		shard_fini(&rows->shards[i]);
	}
	kh_destroy(cpus, rows->cpus);
	kh_destroy(name_ids, rows->name_ids);
	for (size_t i = 0; i < rows->names.count; i++) {
		sums_fini(&rows->names.at[i]->sums);
		free((char *)rows->names.at[i]->name);
		free(rows->names.at[i]);
	}
	vec_fini(&rows->names);
	vec_fini(&rows->class_names);
}

/* ---- CPUs ---- */

struct cpu *rows_cpu(struct rows *rows, uint64_t id)
{
	int is_new;
	khint_t at = kh_put(cpus, rows->cpus, id, &is_new);

	if (is_new) {
		struct cpu *cpu = mem_alloc(sizeof(*cpu));

		cpu->id = id;
		cpu->number = kh_size(rows->cpus) - 1;
		sums_init(&rows->layout, &cpu->sums, SCOPE_CPU);
		kh_value(rows->cpus, at) = cpu;
	}
	return kh_value(rows->cpus, at);
}

/* ---- threads ---- */

#define THREADS_AT_ONCE 16

static void add_threads(struct shard *shard, size_t bytes)
{
	char *block = mem_alloc(THREADS_AT_ONCE * bytes);

	*vec_push(&shard->blocks) = block;
	for (size_t i = THREADS_AT_ONCE; i-- > 0;) {
		*vec_push(&shard->free_threads) = (struct thread *)(block + i * bytes);
	}
}

/* A thread, its sums and the analyses' states in one piece: forks are frequent. */
static struct thread *thread_alloc(struct shard *shard)
{
	const struct layout *layout = shard->layout;
	uint32_t columns = layout->columns[SCOPE_THREAD] + 1;
	size_t sums_bytes = (layout->is_direct ? 1 : 2) * columns * sizeof(uint64_t);
	size_t bytes = sizeof(struct thread) + layout->thread_state_size + sums_bytes;
	struct thread *thread;

	if (shard->free_threads.count == 0) {
		add_threads(shard, bytes);
	}
	thread = shard->free_threads.at[--shard->free_threads.count];
	memset(thread, 0, bytes);
	thread->sums.window = (uint64_t *)((char *)(thread + 1) + shard->layout->thread_state_size);
	thread->sums.total = thread->sums.window + (layout->is_direct ? 0 : columns);
	return thread;
}

static void keep(struct shard *shard, struct thread *thread)
{
	if (shard->kept_free.count > 0) {
		thread->kept_at = shard->kept_free.at[--shard->kept_free.count];
		shard->kept.at[thread->kept_at] = thread;
	} else {
		thread->kept_at = (uint32_t)shard->kept.count;
		*vec_push(&shard->kept) = thread;
	}
}

static void unkeep(struct shard *shard, struct thread *thread)
{
	shard->kept.at[thread->kept_at] = NULL;
	*vec_push(&shard->kept_free) = thread->kept_at;
}

/* Keys without a tid are of nobody known: what orders their rows is the CPU's number. */
static struct thread *thread_new(struct shard *shard, int64_t key)
{
	struct thread *thread = thread_alloc(shard);

	if (key >= KEY_HEAD) {
		thread->view.tid = -1;
		thread->incarnation = (uint32_t)key;
	} else {
		thread->view.tid = (int32_t)key;
	}
	thread->view.pid = -1;
	thread->cpu = UINT64_MAX;
	keep(shard, thread);
	return thread;
}

#define SLOTS_LEAST 16

static void grow_slots(struct slots *slots)
{
	struct slots old = *slots;
	uint32_t room = old.at ? (old.mask + 1) * 2 : SLOTS_LEAST;

	slots->at = mem_alloc(room * sizeof(*slots->at));
	slots->mask = room - 1;
	slots->used = 0;
	for (uint32_t i = 0; old.at && i <= old.mask; i++) {
		if (old.at[i].round != 0) {
			uint32_t at = map_mix((uint64_t)old.at[i].key) & slots->mask;

			while (slots->at[at].round != 0) {
				at = (at + 1) & slots->mask;
			}
			slots->at[at] = old.at[i];
			slots->used++;
		}
	}
	free(old.at);
}

struct slot *shard_slot(struct shard *shard, int64_t key)
{
	struct slots *slots = &shard->slots;
	uint32_t at;

	if (!slots->at || slots->used > slots->mask / 2) {
		grow_slots(slots);
	}
	at = map_mix((uint64_t)key) & slots->mask;
	while (slots->at[at].round != 0 && slots->at[at].key != key) {
		at = (at + 1) & slots->mask;
	}
	if (slots->at[at].round == 0) {
		slots->at[at] = (struct slot){ .key = key, .round = UINT32_MAX };
		slots->used++;
	}
	return &slots->at[at];
}

struct thread *shard_thread_known(struct shard *shard, int64_t key)
{
	return shard_slot(shard, key)->thread;
}

static void put_thread(struct shard *shard, int64_t key, struct thread *thread)
{
	shard_slot(shard, key)->thread = thread;
}

struct thread *shard_thread(struct shard *shard, int64_t key)
{
	struct thread *thread = shard_thread_known(shard, key);

	if (!thread) {
		thread = thread_new(shard, key);
		put_thread(shard, key, thread);
	}
	return thread;
}

void shard_thread_ends(struct shard *shard, struct thread *thread, uint64_t ts)
{
	if (!thread->is_dead) {
		thread->is_dead = true;
		*vec_push(&shard->dead) = (struct dead){ .ts = ts, .thread = thread };
	}
}

static struct open_stay *stay_on(const struct shard *shard, uint32_t cpu)
{
	for (size_t i = 0; i < shard->stays.count; i++) {
		if (shard->stays.at[i].cpu == cpu) {
			return &shard->stays.at[i];
		}
	}
	return NULL;
}

struct thread *shard_stay(const struct shard *shard, uint32_t cpu, int64_t key)
{
	const struct open_stay *stay = stay_on(shard, cpu);

	return stay && stay->key == key ? stay->thread : NULL;
}

void shard_open_stay(struct shard *shard, const struct open_stay *stay)
{
	struct open_stay *old = stay_on(shard, stay->cpu);

	if (!old) {
		*vec_push(&shard->stays) = *stay;
	} else if (stay->ts >= old->ts) {
		*old = *stay;
	}
}

void shard_close_stay(struct shard *shard, uint32_t cpu, int64_t key)
{
	struct open_stay *stay = stay_on(shard, cpu);

	if (stay && stay->key == key) {
		*stay = shard->stays.at[--shard->stays.count];
	}
}

/* The thread goes from the shard: stays are not to lead to it. */
static void forget_stays(struct shard *shard, const struct thread *thread)
{
	size_t kept = 0;

	for (size_t i = 0; i < shard->stays.count; i++) {
		if (shard->stays.at[i].thread != thread) {
			shard->stays.at[kept++] = shard->stays.at[i];
		}
	}
	shard->stays.count = kept;
}

struct thread *shard_thread_fork(struct shard *shard, int64_t key, uint64_t ts)
{
	struct thread *old = shard_thread_known(shard, key);
	struct thread *thread = thread_new(shard, key);

	if (old) {
		shard_thread_ends(shard, old, ts);
		thread->incarnation = old->incarnation + 1;
	}
	put_thread(shard, key, thread);
	return thread;
}

/* The thread leaves the shard, with all that is about it. */
static void take_out(struct shard *shard, struct thread *thread)
{
	size_t kept = 0;

	unkeep(shard, thread);
	forget_stays(shard, thread);
	for (size_t i = 0; i < shard->touched.count; i++) {
		if (shard->touched.at[i] != thread) {
			shard->touched.at[kept++] = shard->touched.at[i];
		}
	}
	shard->touched.count = kept;
	kept = 0;
	for (size_t i = 0; i < shard->dead.count; i++) {
		if (shard->dead.at[i].thread != thread) {
			shard->dead.at[kept++] = shard->dead.at[i];
		}
	}
	shard->dead.count = kept;
	thread->is_dead = false;
	put_thread(shard, thread->view.tid, NULL);
}

void rows_thread_rename(struct rows *rows, const struct rename *rename)
{
	struct shard *from = &rows->shards[key_shard(rename->from)];
	struct shard *to = &rows->shards[key_shard(rename->to)];
	struct thread *thread = shard_thread_known(from, rename->from);
	struct thread *old = shard_thread_known(to, rename->to);

	if (!thread) {
		return;
	}
	take_out(from, thread);
	if (old) {
		shard_thread_ends(to, old, rename->ts);
		thread->incarnation = old->incarnation + 1;
	}
	thread->view.tid = rename->to;
	keep(to, thread);
	if (thread->sums.is_touched) {
		*vec_push(&to->touched) = thread;
	}
	put_thread(to, rename->to, thread);
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
	sums_init(&rows->layout, &name->sums, SCOPE_EVENT);
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

/* ---- for analyses ---- */

uint64_t *shard_trace_row(struct shard *shard, unsigned int table)
{
	return shard->trace + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_cpu_row(struct shard *shard, struct cpu *cpu, unsigned int table)
{
	return cpu->sums.window + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_thread_row(struct shard *shard, struct thread *thread, unsigned int table)
{
	if (!thread->sums.is_touched && !shard->layout->is_direct) {
		thread->sums.is_touched = true;
		*vec_push(&shard->touched) = thread;
	}
	return thread->sums.window + shard->layout->offsets[shard->running][table];
}

static void grow_names(struct shard *shard, uint32_t event_name)
{
	size_t columns = shard->layout->columns[SCOPE_EVENT];
	size_t room = ((size_t)event_name + 1) * 2;

	shard->names = mem_realloc(shard->names, room * columns * sizeof(uint64_t));
	memset(shard->names + shard->names_room * columns, 0,
	       (room - shard->names_room) * columns * sizeof(uint64_t));
	shard->names_room = room;
}

uint64_t *shard_event_row(struct shard *shard, uint32_t event_name, unsigned int table)
{
	size_t columns = shard->layout->columns[SCOPE_EVENT];
	uint64_t *row;

	if (event_name >= shard->names_room) {
		grow_names(shard, event_name);
	}
	row = shard->names + event_name * columns + shard->layout->offsets[shard->running][table];
	if (row[0] == 0) {
		*vec_push(&shard->names_touched) = event_name; /* perhaps again: harmless */
	}
	return row;
}

void *shard_thread_state(struct shard *shard, struct thread *thread)
{
	return (char *)(thread + 1) + shard->layout->thread_state_offsets[shard->running];
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

static void fold_ended(struct shard *shard, struct thread *thread)
{
	if (!shard->other) {
		shard->other = thread_alloc(shard);
	}
	for (uint32_t c = 0; c < shard->layout->columns[SCOPE_THREAD]; c++) {
		shard->other->sums.total[c] += thread->sums.total[c];
	}
	if (shard_thread_known(shard, thread->view.tid) == thread) {
		put_thread(shard, thread->view.tid, NULL);
	}
	unkeep(shard, thread);
	forget_stays(shard, thread);
	*vec_push(&shard->free_threads) = thread;
}

/* The middle of the time in which threads ended. */
static uint64_t middle_death(const struct shard *shard)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < shard->dead.count; i++) {
		first = shard->dead.at[i].ts < first ? shard->dead.at[i].ts : first;
		last = shard->dead.at[i].ts > last ? shard->dead.at[i].ts : last;
	}
	return first + (last - first) / 2;
}

#define DEAD_AHEAD 8 /* their memory is far */

/* Threads that ended first, and were reported, go into one row when there are too many. */
static void drop_dead(struct shard *shard)
{
	while (shard->kept.count - shard->kept_free.count > THREADS_KEPT_MAX / SHARDS &&
	       shard->dead.count > 0) {
		uint64_t until = middle_death(shard);
		size_t kept = 0;

		for (size_t i = 0; i < shard->dead.count; i++) {
			struct dead *dead = &shard->dead.at[i];

			if (i + DEAD_AHEAD < shard->dead.count) {
				__builtin_prefetch(dead[DEAD_AHEAD].thread);
				__builtin_prefetch((char *)dead[DEAD_AHEAD].thread + 64);
			}
			if (dead->ts <= until) {
				fold_ended(shard, dead->thread);
			} else {
				shard->dead.at[kept++] = *dead;
			}
		}
		shard->dead.count = kept;
	}
}

/* What the shard has of the trace and of event names. */
static void gather(struct rows *rows, struct shard *shard)
{
	const uint32_t *columns = rows->layout.columns;

	for (uint32_t i = 0; i < columns[SCOPE_TRACE]; i++) {
		rows->trace.window[i] += shard->trace[i];
		shard->trace[i] = 0;
	}
	for (size_t i = 0; i < shard->names_touched.count; i++) {
		uint32_t name = shard->names_touched.at[i];
		uint64_t *sums = shard->names + name * columns[SCOPE_EVENT];

		for (uint32_t c = 0; c < columns[SCOPE_EVENT]; c++) {
			rows->names.at[name]->sums.window[c] += sums[c];
			sums[c] = 0;
		}
	}
	shard->names_touched.count = 0;
}

void rows_gather(struct rows *rows)
{
	for (size_t i = 0; i < SHARDS; i++) {
		gather(rows, &rows->shards[i]);
	}
}

void rows_close_window(struct rows *rows, bool keep)
{
	const uint32_t *columns = rows->layout.columns;

	rows_gather(rows);
	fold(&rows->trace, columns[SCOPE_TRACE], keep);
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			fold(&kh_value(rows->cpus, i)->sums, columns[SCOPE_CPU], keep);
		}
	}
	for (size_t i = 0; i < rows->names.count; i++) {
		fold(&rows->names.at[i]->sums, columns[SCOPE_EVENT], keep);
	}
	for (size_t s = 0; s < SHARDS; s++) {
		shard_settle(&rows->shards[s]); /* of the window before */
		rows->shards[s].is_closing = true;
		rows->shards[s].keeps = keep;
	}
}

void shard_settle(struct shard *shard)
{
	const uint32_t columns = shard->layout->columns[SCOPE_THREAD];

	if (!shard->is_closing) {
		return;
	}
	for (size_t i = 0; i < shard->touched.count; i++) {
		fold(&shard->touched.at[i]->sums, columns, shard->keeps);
	}
	shard->touched.count = 0;
	shard->is_closing = false;
	drop_dead(shard);
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

static void list_thread(struct listing *listing, const struct thread *thread)
{
	struct report_row *row = add_row(listing, &thread->sums, false);

	if (row) {
		row->thread = &thread->view;
		row->id = ((uint64_t)(uint32_t)thread->view.tid << 32) | thread->incarnation;
	}
}

/* The ended threads of all shards, in one row. */
static void list_ended(struct rows *rows, struct listing *listing)
{
	const uint32_t columns = rows->layout.columns[SCOPE_THREAD];

	for (size_t s = 0; s < SHARDS; s++) {
		const struct thread *other = rows->shards[s].other;

		if (other && !rows->other) {
			rows->other = thread_alloc(&rows->shards[s]);
			rows->other->view.tid = -1;
			rows->other->view.pid = -1;
			strcpy(rows->other->view.comm, "(ended)");
		}
	}
	if (!rows->other) {
		return;
	}
	memset(rows->other->sums.total, 0, columns * sizeof(uint64_t));
	for (size_t s = 0; s < SHARDS; s++) {
		for (uint32_t c = 0; rows->shards[s].other && c < columns; c++) {
			rows->other->sums.total[c] += rows->shards[s].other->sums.total[c];
		}
	}
	list_thread(listing, rows->other);
}

static void list_threads(struct rows *rows, struct listing *listing)
{
	for (size_t s = 0; s < SHARDS; s++) {
		const struct shard *shard = &rows->shards[s];
		size_t count = listing->total ? shard->kept.count : shard->touched.count;
		struct thread **from = listing->total ? shard->kept.at : shard->touched.at;

		for (size_t i = 0; i < count; i++) {
			if (from[i]) {
				list_thread(listing, from[i]);
			}
		}
	}
	if (listing->total) {
		list_ended(rows, listing);
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

/* Brings the first @top rows to the front, in any order (Hoare's selection). */
static void select_top(struct report_row *rows, size_t count, size_t top)
{
	size_t first = 0, last = count - 1;

	while (first < last) {
		struct report_row pivot = rows[first + (last - first) / 2];
		size_t i = first, k = last;

		for (;;) {
			struct report_row swapped;

			while (by_sort(&rows[i], &pivot) < 0) {
				i++;
			}
			while (by_sort(&rows[k], &pivot) > 0) {
				k--;
			}
			if (i >= k) {
				break;
			}
			swapped = rows[i];
			rows[i++] = rows[k];
			rows[k--] = swapped;
		}
		if (top <= k) {
			last = k;
		} else {
			first = k + 1;
		}
	}
}

static void sort_rows(struct report_row *rows, size_t count, size_t top)
{
	if (top > 0 && top < count / 8) {
		select_top(rows, count, top);
		count = top;
	}
	if (count > 1) {
		qsort(rows, count, sizeof(*rows), by_sort);
	}
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
	sort_rows(listing->rows.at, listing->rows.count, rows->layout.setup->top);
}

void rows_report(struct rows *rows, bool total, struct report *report, struct report_memory *memory)
{
	for (size_t i = 0; total && i < SHARDS; i++) {
		shard_settle(&rows->shards[i]);
	}
	for (size_t a = 0; a < rows->layout.setup->analysis_count; a++) {
		const struct analysis *analysis = rows->layout.setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
			struct listing listing = { .table = &analysis->tables[t],
						   .offset = rows->layout.offsets[a][t],
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
