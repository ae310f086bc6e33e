/*
 * shard-threads: the life of a shard's threads: memory, keys, CPUs, forks, renames, and their end.
 */
#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/tables/shard.h"
#include "engine/tables/tables.h"
#include "kernel/thread-identity.h"

/* ---- memory ---- */

static void add_threads(struct shard *shard, size_t bytes)
{
	char *block = mem_alloc_lines(THREADS_AT_ONCE * bytes);

	*vec_push(&shard->blocks) = block;
	for (size_t i = THREADS_AT_ONCE; i-- > 0;) {
		*vec_push(&shard->free_threads) = (struct thread *)(block + i * bytes);
	}
}

/* Memory that will be written soon, and is in no cache. */
static void prefetch_for_write(const void *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += LINE_BYTES) {
		__builtin_prefetch((const char *)memory + i, 1);
	}
}

struct thread *shard_thread_alloc(struct shard *shard)
{
	const struct layout *layout = shard->layout;
	size_t bytes = layout->thread_bytes;
	struct thread *thread;

	if (shard->free_threads.count == 0) {
		add_threads(shard, bytes);
	}
	thread = shard->free_threads.at[--shard->free_threads.count];
	if (shard->free_threads.count >= 2) { /* the next one may be wanted before it arrives */
		prefetch_for_write(shard->free_threads.at[shard->free_threads.count - 2], bytes);
	}
	return memset(thread, 0, bytes);
}

/* Gives the thread a row. */
static void add_resident(struct shard *shard, struct thread *thread)
{
	if (shard->resident_free.count > 0) {
		thread->resident_at = shard->resident_free.at[--shard->resident_free.count];
		assert_hot(!shard->resident.at[thread->resident_at]);
		shard->resident.at[thread->resident_at] = thread;
	} else {
		if (shard->resident.count == RESIDENTS_MAX) {
			mem_exhausted(RESIDENTS_MAX * shard->layout->thread_bytes);
		}
		thread->resident_at = (uint32_t)shard->resident.count;
		*vec_push(&shard->resident) = thread;
	}
	while (shard->presence.count <= thread->resident_at / 64) {
		*vec_push(&shard->presence) = (struct presence){ 0 };
	}
	shard->presence.at[thread->resident_at / 64].live |= resident_bit(thread);
	shard->presence.at[thread->resident_at / 64].told &= ~resident_bit(thread);
}

void shard_find_presence(struct shard *shard)
{
	while (shard->presence.count * 64 < shard->resident.count) {
		*vec_push(&shard->presence) = (struct presence){ 0 };
	}
	for (size_t i = 0; i < shard->resident.count; i++) {
		const struct thread *thread = shard->resident.at[i];
		struct presence *presence = &shard->presence.at[i / 64];

		if (thread) {
			*(thread->is_dead ? &presence->ending : &presence->live) |=
				resident_bit(thread);
		}
	}
}

static void remove_resident(struct shard *shard, struct thread *thread)
{
	struct presence *presence = &shard->presence.at[thread->resident_at / 64];

	presence->live &= ~resident_bit(thread);
	presence->ending &= ~resident_bit(thread);
	assert_hot(shard->resident.at[thread->resident_at] == thread);
	shard->resident.at[thread->resident_at] = NULL;
	*vec_push(&shard->resident_free) = thread->resident_at;
}

/* A key that is no tid belongs to an unknown thread or an entity: its low bits, a CPU or the number
 * of the entity, order the rows. */
static struct thread *thread_new(struct shard *shard, int64_t key)
{
	struct thread *thread = shard_thread_alloc(shard);

	if (key >= KEY_INITIAL) {
		thread->view.tid = -1;
		thread->incarnation = key == KEY_NOBODY ? UINT32_MAX : (uint32_t)key;
	} else {
		thread->view.tid = key_tid(key);
		thread->is_user = key_is_user(key);
		thread->incarnation =
			thread->is_user ? (uint32_t)key_user_pid(key) : shard->next_incarnation;
	}
	thread->view.pid = -1;
	thread->cpu = UINT32_MAX;
	add_resident(shard, thread);
	return thread;
}

void shard_thread_fini(const struct layout *layout, struct thread *thread)
{
	const struct columns *columns = &layout->columns[SCOPE_THREAD];

	for (size_t a = 0; a < layout->setup->analysis_count; a++) {
		if (layout->setup->analyses[a]->on_forget) {
			layout->setup->analyses[a]->on_forget((char *)(thread + 1) +
							      layout->thread_state_offsets[a]);
		}
	}
	if (columns->has_histograms) {
		columns_empty(columns, thread_window(layout, thread));
		columns_empty(columns, thread_total(layout, thread));
	}
}

/* ---- keys ---- */

struct slot *shard_add_slot(struct shard *shard, struct slot *slot, int64_t key)
{
	slot = slots_add_at(&shard->slots, NULL, slot, key);
	*slot = (struct slot){ .key = key, .round = UINT32_MAX };
	return slot;
}

struct thread *shard_thread_known(struct shard *shard, int64_t key)
{
	return slots_find(&shard->slots, NULL, key)->thread;
}

static void put_thread(struct shard *shard, int64_t key, struct thread *thread)
{
	shard_slot(shard, key)->thread = thread;
}

struct thread *shard_thread(struct shard *shard, int64_t key)
{
	struct slot *slot = shard_slot(shard, key);

	if (!slot->thread) {
		slot->thread = thread_new(shard, key);
	}
	return slot->thread;
}

/* @is_over: the end of the window does not concern it. */
static inline void end_thread(struct shard *shard, struct thread *thread, uint64_t ts, bool is_over)
{
	struct presence *presence = &shard->presence.at[thread->resident_at / 64];
	uint64_t bit = resident_bit(thread);

	if (!thread->is_dead) {
		thread->is_dead = true;
		presence->live &= ~bit;
		presence->ending |= bit;
		*vec_push(&shard->dead) = (struct dead){ .ts = ts, .thread = thread };
		shard_each_rare_with(shard, on_end, (shard, thread, ts));
	}
	presence->ending &= is_over ? ~bit : UINT64_MAX;
}

void shard_thread_ends(struct shard *shard, struct thread *thread, uint64_t ts)
{
	end_thread(shard, thread, ts, false);
}

void shard_thread_exits(struct shard *shard, struct thread *thread, uint64_t ts)
{
	end_thread(shard, thread, ts, shard->layout->is_over_at_exit);
}

/* ---- containers ---- */

const struct container *shard_container(const struct shard *shard, uint32_t pid_ns)
{
	for (size_t i = 0; i < shard->containers.count; i++) {
		if (shard->containers.at[i].pid_ns == pid_ns) {
			return &shard->containers.at[i];
		}
	}
	return NULL;
}

/* What a statedump says counts more than a fork; then the earlier one. */
bool shard_container_before(const struct container *a, const struct container *b)
{
	if (a->is_first != b->is_first) {
		return a->is_first;
	}
	return a->ts != b->ts ? a->ts < b->ts : a->tid < b->tid;
}

bool shard_container_names(const struct container_named *a, const struct container_named *b)
{
	if (a->tid == 0 || b->tid == 0) {
		return a->tid != 0;
	}
	if (a->is_first != b->is_first) {
		return a->is_first;
	}
	return a->ts != b->ts ? (a->ts > b->ts) == a->is_first : a->tid < b->tid;
}

/* Made when new; NULL: there are too many. */
static struct container *container_put(struct shard *shard, uint32_t number)
{
	for (size_t i = 0; i < shard->containers.count; i++) {
		if (shard->containers.at[i].pid_ns == number) {
			return &shard->containers.at[i];
		}
	}
	if (shard->containers.count >= CONTAINERS_NAMED_MAX) {
		return NULL;
	}
	*vec_push(&shard->containers) = (struct container){ .pid_ns = number };
	return &shard->containers.at[shard->containers.count - 1];
}

/* The thread may be the first process of its container: it is if no better one is known. */
static void note_first(struct shard *shard, const struct thread_view *view,
		       const struct container_record *record)
{
	struct container *known;
	struct container found = { .ts = record->ts,
				   .pid_ns = view->container,
				   .tid = view->tid,
				   .is_first = record->is_first };

	memcpy(found.comm, view->comm, sizeof(found.comm));
	known = container_put(shard, found.pid_ns);
	if (known && (known->tid == 0 || shard_container_before(&found, known))) {
		found.named = known->named;
		*known = found;
	}
}

void shard_contain(struct shard *shard, struct thread *thread,
		   const struct container_record *record)
{
	struct thread_view *view = &thread->view;

	if (record->pid_ns == 0 || record->level <= view->container_level ||
	    selection_by_service(shard->layout->setup->selection)) {
		return;
	}
	view->container = record->pid_ns;
	view->container_level = record->level;
	view->names_container = record->enters;
	if (record->enters) {
		note_first(shard, view, record);
	}
}

static void note_named(struct shard *shard, uint32_t number, int32_t tid,
		       const struct place_record *record)
{
	struct container *known = container_put(shard, number);
	struct container_named found = { .ts = record->ts,
					 .tid = tid,
					 .is_first = record->is_first };

	memcpy(found.name, record_place_name(record->words), sizeof(found.name));
	if (known && shard_container_names(&found, &known->named)) {
		known->named = found;
	}
}

void shard_place(struct shard *shard, struct thread *thread, const struct place_record *record)
{
	struct thread_view *view = &thread->view;

	assert_hot(record_place_is_sound(record->words));
	if (selection_by_service(shard->layout->setup->selection)) {
		report_set_container(view, REPORT_PLACE_ID | (uint32_t)record->words[0]);
		note_named(shard, view->container, view->tid, record);
		return;
	}
	/* A fork behind unshare() looks as if it stayed in the namespace. */
	view->container_level = record->pid_ns != 0 && record->pid_ns != view->container
					? 0
					: view->container_level;
	shard_contain(shard, thread,
		      &(struct container_record){ .ts = record->ts,
						  .pid_ns = record->pid_ns,
						  .level = CONTAINER_LEVEL_FORK,
						  .enters = record->is_first,
						  .is_first = record->is_first });
	if (record->names && record->pid_ns != 0 && record->pid_ns != CONTAINER_HOST) {
		note_named(shard, record->pid_ns, view->tid, record);
	}
}

void shard_rename_container(struct shard *shard, const struct thread *thread)
{
	assert(thread->view.names_container);
	for (size_t i = 0; i < shard->containers.count; i++) {
		struct container *container = &shard->containers.at[i];

		if (container->pid_ns == thread->view.container &&
		    container->tid == thread->view.tid) {
			memcpy(container->comm, thread->view.comm, sizeof(container->comm));
		}
	}
}

/* ---- on-CPU intervals ---- */

static struct open_oncpu *oncpu_on(const struct shard *shard, uint32_t cpu)
{
	for (size_t i = 0; i < shard->oncpus.count; i++) {
		if (shard->oncpus.at[i].cpu == cpu) {
			return &shard->oncpus.at[i];
		}
	}
	return NULL;
}

struct thread *shard_oncpu(const struct shard *shard, uint32_t cpu, int64_t key)
{
	const struct open_oncpu *oncpu = oncpu_on(shard, cpu);

	return oncpu && oncpu->key == key ? oncpu->thread : NULL;
}

void shard_open_oncpu(struct shard *shard, const struct open_oncpu *oncpu)
{
	struct open_oncpu *old = oncpu_on(shard, oncpu->cpu);

	if (!old) {
		*vec_push(&shard->oncpus) = *oncpu;
	} else if (oncpu->ts >= old->ts) {
		*old = *oncpu;
	}
}

void shard_close_oncpu(struct shard *shard, uint32_t cpu, int64_t key)
{
	struct open_oncpu *oncpu = oncpu_on(shard, cpu);

	if (oncpu && oncpu->key == key) {
		*oncpu = shard->oncpus.at[--shard->oncpus.count];
	}
}

/* The thread leaves the shard: no interval may lead to it. */
static void forget_oncpus(struct shard *shard, const struct thread *thread)
{
	size_t kept = 0;

	for (size_t i = 0; i < shard->oncpus.count; i++) {
		if (shard->oncpus.at[i].thread != thread) {
			shard->oncpus.at[kept++] = shard->oncpus.at[i];
		}
	}
	shard->oncpus.count = kept;
}

/* ---- forks and renames ---- */

/* Whether anything is known of the thread.  A fork may be the first record of its key. */
static bool was_seen(const struct thread *thread)
{
	return thread->is_reused || thread->view.comm[0] || thread->view.pid >= 0 ||
	       thread->cpu != UINT32_MAX;
}

struct thread *shard_thread_fork(struct shard *shard, int64_t key, uint64_t ts)
{
	struct thread *thread = thread_new(shard, key);
	struct slot *slot = shard_slot(shard, key);

	assert(slot->thread != thread);
	if (slot->thread) {
		shard_thread_ends(shard, slot->thread, ts);
		thread->incarnation = slot->thread->incarnation + 1;
		thread->is_reused = was_seen(slot->thread);
		slot->thread->is_replaced = true;
	}
	slot->thread = thread;
	return thread;
}

static void forget_touched(struct shard *shard, const struct thread *thread)
{
	size_t kept = 0;

	for (size_t i = 0; i < shard->touched.count; i++) {
		if (shard->touched.at[i] != thread) {
			shard->touched.at[kept++] = shard->touched.at[i];
		}
	}
	shard->touched.count = kept;
}

/* Moves the thread's switch-out that is held back to another shard; NULL: forgets it. */
static void move_held(struct shard *shard, struct shard *to, const struct thread *thread)
{
	size_t kept = 0;

	assert_hot(shard->held.ts == OUT_NONE); /* no record is being applied */
	for (size_t i = 0; i < shard->leaving.count; i++) {
		if (shard->leaving.at[i].thread != thread) {
			shard->leaving.at[kept++] = shard->leaving.at[i];
		} else if (to) {
			*vec_push(&to->leaving) = shard->leaving.at[i];
		}
	}
	shard->leaving.count = kept;
}

static void forget_death(struct shard *shard, struct thread *thread)
{
	size_t kept = 0;

	for (size_t i = 0; i < shard->dead.count; i++) {
		if (shard->dead.at[i].thread != thread) {
			shard->dead.at[kept++] = shard->dead.at[i];
		} else {
			shard->ended_bytes -= shard->dead.at[i].bytes;
			shard->counted -= i < shard->counted;
		}
	}
	shard->dead.count = kept;
	thread->is_dead = false;
}

/* The newest thread of its key leaves the shard, with all that leads to it. */
static void take_out(struct shard *shard, struct thread *thread)
{
	assert_hot(shard_thread_known(shard, thread->view.tid) == thread);
	remove_resident(shard, thread);
	forget_oncpus(shard, thread);
	forget_touched(shard, thread);
	forget_death(shard, thread);
	if (thread->incarnation >= shard->next_incarnation) {
		shard->next_incarnation = thread->incarnation + 1;
	}
	put_thread(shard, thread->view.tid, NULL);
}

/* Whether it is on a CPU, or left it at a time that lies ahead. */
static bool is_on_cpu(const struct shard *shard, const struct thread *thread)
{
	bool leaves = false;

	for (size_t i = 0; i < shard->leaving.count; i++) {
		leaves |= shard->leaving.at[i].thread == thread;
	}
	return leaves || thread->is_in;
}

/* Of a process nothing goes on but @thread, whose exec gave it the leader's tid. */
static void end_others(struct shard *shard, const struct thread *thread, uint64_t ts)
{
	for (size_t word = 0; word < shard->presence.count; word++) {
		uint64_t left = shard->presence.at[word].live;

		for (; left != 0; left &= left - 1) {
			struct thread *other =
				shard->resident.at[word * 64 + (size_t)__builtin_ctzll(left)];

			if (other != thread &&
			    thread_ends_by_exec(other->view.pid, thread->view.pid,
						is_on_cpu(shard, other))) {
				shard_thread_ends(shard, other, ts);
			}
		}
	}
}

void tables_rename_thread(struct tables *tables, const struct rename *rename)
{
	struct shard *from = &tables->shards[key_shard(rename->from)];
	struct shard *to = &tables->shards[key_shard(rename->to)];
	struct thread *thread =
		shard_thread(from, rename->from); /* made when new: events may be missing */
	struct thread *old = shard_thread_known(to, rename->to);
	uint64_t id;

	assert(rename->from != rename->to);
	assert(!from->is_closing && !to->is_closing); /* a round came before */
	id = shard_row_id(thread);
	take_out(from, thread);
	move_held(from, to, thread);
	if (old) {
		shard_thread_ends(to, old, rename->ts);
		thread->incarnation = old->incarnation + 1;
		thread->is_reused = true;
	} else if (to->next_incarnation > 0) {
		thread->incarnation = to->next_incarnation;
	}
	thread->view.tid = rename->to;
	thread->view.pid = rename->to; /* it leads the process now */
	thread->picked = 0;
	add_resident(to, thread);
	longest_rename(tables, thread, id);
	if (thread->is_touched) {
		*vec_push(&to->touched) = thread;
	}
	put_thread(to, rename->to, thread);
	for (size_t s = 0; s < SHARDS; s++) {
		end_others(&tables->shards[s], thread, rename->ts);
	}
}

/* ---- the end of a row ---- */

void shard_thread_forget(struct shard *shard, struct thread *thread)
{
	assert_hot(thread->is_dead);
	assert_hot(!thread->is_touched);
	shard_thread_fini(shard->layout, thread);
	if (shard->layout->pair_columns) { /* no task that adds to pairs runs meanwhile */
		pairs_forget_thread(&((struct tables *)shard->layout->tables)->pairs, thread);
	}
	if (!thread->is_replaced && shard_thread_known(shard, thread_key(thread)) == thread) {
		put_thread(shard, thread_key(thread), NULL);
	}
	remove_resident(shard, thread);
	forget_oncpus(shard, thread);
	move_held(shard, NULL, thread); /* as only a file has it: the window has ended */
	*vec_push(&shard->free_threads) = thread;
}
