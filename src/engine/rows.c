/*
 * rows: see rows.h.
 */
#include "engine/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/facts.h"
#include "engine/shard.h"

/* ---- layout ---- */

static void lay_out_table(struct layout *layout, size_t a, size_t t)
{
	const struct table *table = &layout->setup->analyses[a]->tables[t];

	switch (table->scope) {
	case SCOPE_TRACE:
	case SCOPE_CPU:
	case SCOPE_THREAD:
	case SCOPE_EVENT:
		layout->offsets[a][t] = layout->columns[table->scope].count;
		columns_append(&layout->columns[table->scope], table);
		break;
	case SCOPE_LONGEST:
		layout->offsets[a][t] = layout->longest_count++;
		break;
	case SCOPE_ITEM:
	case SCOPE_PROCESS:
		columns_append(&layout->item_columns[a][t], table);
		break;
	}
}

static void lay_out(struct layout *layout, const struct map_setup *setup, const struct rows *rows)
{
	layout->setup = setup;
	layout->rows = rows;
	layout->is_direct = !setup->wants_windows && setup->range_begin == 0;
	layout->longest_shown = longest_shown(setup->top);
	/* Whether they are wanted is known when they are shown. */
	layout->longest_room = setup->selection && selection_picks(setup->selection)
				       ? LONGEST_MAX
				       : layout->longest_shown;
	for (size_t a = 0; a < setup->analysis_count; a++) {
		const struct analysis *analysis = setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
			lay_out_table(layout, a, t);
		}
		layout->thread_state_offsets[a] = layout->thread_state_size;
		layout->thread_state_size += (analysis->thread_state_size + 7) / 8 * 8;
	}
}

static void layout_fini(struct layout *layout)
{
	for (size_t s = 0; s < SCOPES_FIXED; s++) {
		columns_fini(&layout->columns[s]);
	}
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			columns_fini(&layout->item_columns[a][t]);
		}
	}
}

static void sums_init(const struct layout *layout, struct sums *sums, enum scope scope)
{
	uint32_t columns = layout->columns[scope].count + 1; /* never empty */

	sums->window = mem_alloc(2 * columns * sizeof(uint64_t));
	sums->total = sums->window + columns;
}

static void sums_fini(const struct layout *layout, struct sums *sums, enum scope scope)
{
	columns_empty(&layout->columns[scope], sums->window);
	columns_empty(&layout->columns[scope], sums->total);
	free(sums->window);
}

static struct longest *longest_new(const struct layout *layout)
{
	struct longest *longest = mem_alloc((layout->longest_count + 1) * sizeof(*longest));

	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest[i].room = layout->longest_room;
		longest[i].min_ns = layout->setup->selection ? layout->setup->selection->min_ns : 0;
		longest[i].max_ns =
			layout->setup->selection ? layout->setup->selection->max_ns : UINT64_MAX;
	}
	return longest;
}

static void longest_free(const struct layout *layout, struct longest *longest)
{
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		vec_fini(&longest[i].all);
	}
	free(longest);
}

/* ---- lifecycle ---- */

static void shard_init(struct shard *shard, const struct layout *layout)
{
	shard->layout = layout;
	shard->trace = mem_alloc((layout->columns[SCOPE_TRACE].count + 1) * sizeof(uint64_t));
	shard->items = mem_alloc(sizeof(*shard->items));
	items_init(shard->items, false);
	shard->longest = longest_new(layout);
}

/* What a thread has beside its memory. */
static void thread_fini(const struct layout *layout, struct thread *thread)
{
	const struct columns *columns = &layout->columns[SCOPE_THREAD];

	for (size_t a = 0; a < layout->setup->analysis_count; a++) {
		if (layout->setup->analyses[a]->on_forget) {
			layout->setup->analyses[a]->on_forget((char *)(thread + 1) +
							      layout->thread_state_offsets[a]);
		}
	}
	if (columns->special_count > 0) {
		columns_empty(columns, thread->sums.window);
		columns_empty(columns, thread->sums.total);
	}
}

/* Threads that were renamed lie in memory of another shard: all of these come before any of
 * shard_fini(). */
static void threads_fini(struct shard *shard)
{
	for (size_t i = 0; i < shard->kept.count; i++) {
		if (shard->kept.at[i]) {
			thread_fini(shard->layout, shard->kept.at[i]);
		}
	}
	if (shard->other) {
		thread_fini(shard->layout, shard->other);
	}
}

static void shard_fini(struct shard *shard)
{
	const struct layout *layout = shard->layout;

	columns_empty(&layout->columns[SCOPE_TRACE], shard->trace);
	items_fini(shard->items, layout->item_columns);
	free(shard->items);
	longest_free(layout, shard->longest);
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		vec_fini(&shard->indexed[a]);
	}
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
	vec_fini(&shard->settled);
	vec_fini(&shard->names_touched);
	vec_fini(&shard->kept);
	vec_fini(&shard->free_threads);
	vec_fini(&shard->touched);
	vec_fini(&shard->keys);
	vec_fini(&shard->nodes);
	vec_fini(&shard->order);
	vec_fini(&shard->facts);
}

void rows_init(struct rows *rows, const struct map_setup *setup)
{
	memset(rows, 0, sizeof(*rows));
	lay_out(&rows->layout, setup, rows);
	sums_init(&rows->layout, &rows->trace, SCOPE_TRACE);
	items_init(&rows->items, true);
	rows->longest = longest_new(&rows->layout);
	rows->longest_total = longest_new(&rows->layout);
	rows->cpus = kh_init(cpus);
	rows->name_ids = kh_init(name_ids);
	for (size_t i = 0; i < SHARDS; i++) {
		shard_init(&rows->shards[i], &rows->layout);
	}
	rows->whole.layout = &rows->layout;
	rows->whole.items = &rows->items;
	rows->whole.trace = rows->trace.window;
	rows->whole.longest = longest_new(&rows->layout);
	facts_init(rows);
}

static void cpu_free(const struct layout *layout, struct cpu *cpu)
{
	sums_fini(layout, &cpu->sums, SCOPE_CPU);
	vec_fini(&cpu->segments);
	vec_fini(&cpu->line);
	free(cpu);
}

void rows_fini(struct rows *rows)
{
	const struct layout *layout = &rows->layout;

	facts_fini(rows);
	longest_free(layout, rows->whole.longest);
	if (rows->other) {
		thread_fini(layout, rows->other); /* its memory is a shard's */
	}
	sums_fini(layout, &rows->trace, SCOPE_TRACE);
	items_fini(&rows->items, layout->item_columns);
	longest_free(layout, rows->longest);
	longest_free(layout, rows->longest_total);
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			cpu_free(layout, kh_value(rows->cpus, i));
		}
	}
	for (size_t i = 0; i < SHARDS; i++) {
		threads_fini(&rows->shards[i]);
	}
	for (size_t i = 0; i < SHARDS; i++) {
		shard_fini(&rows->shards[i]);
	}
	kh_destroy(cpus, rows->cpus);
	kh_destroy(name_ids, rows->name_ids);
	for (size_t i = 0; i < rows->names.count; i++) {
		sums_fini(layout, &rows->names.at[i]->sums, SCOPE_EVENT);
		free((char *)rows->names.at[i]->name);
		free(rows->names.at[i]);
	}
	vec_fini(&rows->names);
	vec_fini(&rows->class_names);
	layout_fini(&rows->layout);
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
struct thread *shard_thread_alloc(struct shard *shard)
{
	const struct layout *layout = shard->layout;
	uint32_t columns = layout->columns[SCOPE_THREAD].count + 1;
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
	shard_unsettle(shard, thread);
}

static void unkeep(struct shard *shard, struct thread *thread)
{
	shard->kept.at[thread->kept_at] = NULL;
	*vec_push(&shard->kept_free) = thread->kept_at;
}

/* Keys without a tid are of nobody known: what orders their rows is the CPU's number. */
static struct thread *thread_new(struct shard *shard, int64_t key)
{
	struct thread *thread = shard_thread_alloc(shard);

	if (key >= KEY_HEAD) {
		thread->view.tid = -1;
		thread->incarnation = key == KEY_NOBODY ? UINT32_MAX : (uint32_t)key;
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

void rows_add_class(struct rows *rows, const char *name)
{
	*vec_push(&rows->class_names) = name_id(rows, name);
}

void rows_set_classes(struct rows *rows, const struct plan *plan)
{
	for (size_t i = rows->class_names.count; i < plan->class_count; i++) {
		rows_add_class(rows, plan->classes[i]->class->name);
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
	size_t columns = shard->layout->columns[SCOPE_EVENT].count;
	size_t room = ((size_t)event_name + 1) * 2;

	shard->names = mem_realloc(shard->names, room * columns * sizeof(uint64_t));
	memset(shard->names + shard->names_room * columns, 0,
	       (room - shard->names_room) * columns * sizeof(uint64_t));
	shard->names_room = room;
}

uint64_t *shard_names_row(struct shard *shard, uint32_t event_name)
{
	if (event_name >= shard->names_room) {
		grow_names(shard, event_name);
	}
	return shard->names + event_name * shard->layout->columns[SCOPE_EVENT].count;
}

uint64_t *shard_event_row(struct shard *shard, uint32_t event_name, unsigned int table)
{
	uint64_t *row =
		shard_names_row(shard, event_name) + shard->layout->offsets[shard->running][table];

	if (row[0] == 0) {
		*vec_push(&shard->names_touched) = event_name; /* perhaps again: harmless */
	}
	return row;
}

struct item *shard_item(struct shard *shard, unsigned int table, const struct item_key *key)
{
	return items_find(shard->items, &shard->layout->item_columns[shard->running][table],
			  (unsigned int)shard->running, table, key);
}

/* What does not fit into a key is there as its end and a hash of all. */
static struct item_key key_of_name(uint64_t id, const char *name)
{
	size_t len = strlen(name);
	char text[ITEM_NAME_BYTES];

	if (len < ITEM_NAME_BYTES) {
		return item_key_of(id, name, len);
	}
	(void)snprintf(text, sizeof(text), "%016" PRIx64 "%s", map_hash(0, name), name + len - 15);
	return item_key_of(id, text, sizeof(text));
}

struct item *shard_item_named(struct shard *shard, unsigned int table, uint64_t id,
			      const char *name)
{
	struct item_key key = key_of_name(id, name);
	struct item *item = shard_item(shard, table, &key);

	/* Beyond the bound it is one for all others. */
	if (strlen(name) >= ITEM_NAME_BYTES && item_equal(&item->key, &key)) {
		item_label(item, name);
	}
	return item;
}

uint64_t *shard_item_row(struct shard *shard, unsigned int table, const struct item_key *key)
{
	return shard_item(shard, table, key)->window;
}

uint64_t *shard_item_again(struct shard *shard, struct item *item)
{
	items_touch(shard->items, item);
	return item->window;
}

struct fact *shard_fact(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int kind)
{
	struct fact *fact = vec_push(&shard->facts);

	*fact = (struct fact){ .ts = ts,
			       .thread = thread,
			       .shard = shard,
			       .owner = (uint8_t)shard->running,
			       .kind = (uint8_t)kind };
	return fact;
}

void shard_longest(struct shard *shard, unsigned int table, const struct instance *instance)
{
	longest_add(&shard->longest[shard->layout->offsets[shard->running][table]], instance);
}

uint64_t *shard_row_at(struct shard *shard, unsigned int table, uint32_t index,
		       struct item_key (*key_of)(const struct shard *shard, uint32_t index))
{
	struct indexed_items *known = &shard->indexed[shard->running];
	struct item_key key;

	while (known->count <= index) {
		*vec_push(known) = NULL;
	}
	if (!known->at[index]) {
		key = key_of(shard, index);
		known->at[index] = shard_item(shard, table, &key);
	}
	return shard_item_again(shard, known->at[index]);
}

const char *shard_event_name(const struct shard *shard, uint32_t class_index)
{
	const struct rows *rows = shard->layout->rows;

	return class_index < rows->class_names.count
		       ? rows->names.at[rows->class_names.at[class_index]]->name
		       : "";
}

void *shard_thread_state(struct shard *shard, struct thread *thread)
{
	return (char *)(thread + 1) + shard->layout->thread_state_offsets[shard->running];
}

/* ---- closing windows ---- */

static void fold(const struct columns *columns, struct sums *sums, bool keep)
{
	if (keep) {
		columns_close(columns, sums->total, sums->window);
	} else {
		columns_empty(columns, sums->window);
	}
	sums->is_touched = false;
}

static void fold_ended(struct shard *shard, struct thread *thread)
{
	if (!shard->other) {
		shard->other = shard_thread_alloc(shard);
	}
	columns_move(&shard->layout->columns[SCOPE_THREAD], shard->other->sums.total,
		     thread->sums.total);
	thread_fini(shard->layout, thread);
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

/* What the shard has of the trace, of event names, and of items. */
static void gather(struct rows *rows, struct shard *shard)
{
	const struct layout *layout = &rows->layout;
	const struct columns *of_names = &layout->columns[SCOPE_EVENT];

	columns_move(&layout->columns[SCOPE_TRACE], rows->trace.window, shard->trace);
	for (size_t i = 0; i < shard->names_touched.count; i++) {
		uint32_t name = shard->names_touched.at[i];

		columns_move(of_names, rows->names.at[name]->sums.window,
			     shard->names + name * of_names->count);
	}
	shard->names_touched.count = 0;
	items_gather(&rows->items, shard->items, layout->item_columns);
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest_gather(&rows->longest[i], &shard->longest[i]);
	}
}

void rows_gather(struct rows *rows)
{
	for (size_t i = 0; i < SHARDS; i++) {
		gather(rows, &rows->shards[i]);
	}
	for (uint32_t i = 0; i < rows->layout.longest_count; i++) {
		longest_gather(&rows->longest[i], &rows->whole.longest[i]);
	}
}

static void end_window_of(struct shard *shard, struct thread *thread, uint64_t end)
{
	const struct map_setup *setup = shard->layout->setup;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (setup->analyses[a]->on_window_end) {
			shard->running = a;
			setup->analyses[a]->on_window_end(shard, thread, end);
		}
	}
	if (thread->is_dead) {
		shard->settled.at[thread->kept_at / 64] |= (uint64_t)1 << thread->kept_at % 64;
	}
}

/* Most threads that are kept died long ago, and their memory is far. */
static void end_window_in(struct shard *shard, uint64_t end)
{
	while (shard->settled.count * 64 < shard->kept.count) {
		*vec_push(&shard->settled) = 0;
	}
	for (size_t word = 0; word * 64 < shard->kept.count; word++) {
		uint64_t left = ~shard->settled.at[word];

		for (; left != 0; left &= left - 1) {
			size_t i = word * 64 + (size_t)__builtin_ctzll(left);

			if (i < shard->kept.count && shard->kept.at[i]) {
				end_window_of(shard, shard->kept.at[i], end);
			}
		}
	}
}

void rows_end_window(struct rows *rows, uint64_t end)
{
	const struct map_setup *setup = rows->layout.setup;
	bool is_wanted = false;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		is_wanted |= setup->analyses[a]->on_window_end != NULL;
	}
	for (size_t s = 0; is_wanted && s < SHARDS; s++) {
		shard_settle(&rows->shards[s]);
		end_window_in(&rows->shards[s], end);
	}
}

void rows_close_window(struct rows *rows, bool keep)
{
	const struct columns *columns = rows->layout.columns;

	rows_gather(rows);
	fold(&columns[SCOPE_TRACE], &rows->trace, keep);
	items_close(&rows->items, rows->layout.item_columns, keep);
	for (uint32_t i = 0; i < rows->layout.longest_count; i++) {
		if (keep) {
			longest_move(&rows->longest_total[i], &rows->longest[i]);
		}
		rows->longest[i].all.count = 0;
	}
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			fold(&columns[SCOPE_CPU], &kh_value(rows->cpus, i)->sums, keep);
		}
	}
	for (size_t i = 0; i < rows->names.count; i++) {
		fold(&columns[SCOPE_EVENT], &rows->names.at[i]->sums, keep);
	}
	for (size_t s = 0; s < SHARDS; s++) {
		shard_settle(&rows->shards[s]); /* of the window before */
		rows->shards[s].is_closing = true;
		rows->shards[s].keeps = keep;
	}
}

void shard_settle(struct shard *shard)
{
	const struct columns *columns = &shard->layout->columns[SCOPE_THREAD];

	if (!shard->is_closing) {
		return;
	}
	for (size_t i = 0; i < shard->touched.count; i++) {
		fold(columns, &shard->touched.at[i]->sums, shard->keeps);
	}
	shard->touched.count = 0;
	shard->is_closing = false;
	drop_dead(shard);
}
