/*
 * round-shard: one shard's part of a round; see round.h.
 *
 *     collect        groups of the shard with records in the round ─► nodes
 *     chain_by_key   nodes of one key ─► a list, its key            ─► keys
 *     for each key   apply the records of its nodes, in one order
 *
 * This is the hot path of merging: it runs once for each record.  The threads of a large trace do
 * not fit in caches, so each step prefetches what the next one reads.
 */
#include "engine/merger/round.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* The records of one group are being applied to the thread of one key. */
struct applying {
	struct shard *shard;
	const struct round_entry *entry;
	const struct group *group;
	struct shard_key *key;
	bool selects; /* what counts is decided record by record */
};

/* ---- names and processes ---- */

/* The name that all records of the group have for their thread. */
static void apply_name(struct shard *shard, struct thread *thread, const struct group *group)
{
	bool is_new = !group->is_weak || !thread->view.comm[0];

	if (group->has_name && is_new && memcmp(thread->view.comm, group->name, NAME_BYTES) != 0) {
		memcpy(thread->view.comm, group->name, NAME_BYTES);
		shard_pick_again(thread);
		if (thread->view.names_container) {
			shard_rename_container(shard, thread);
		}
	}
}

/* At the record that carries the process: a later record of the group may belong to another thread
 * with the same tid. */
static void apply_pid(struct thread *thread, const struct group *group)
{
	if (group->pid != INT32_MIN) {
		thread->view.pid = group->pid;
		shard_pick_again(thread);
	}
}

/* The CPU on which the record happened; UINT64_MAX: none. */
static uint64_t cpu_of(const struct applying *at, const struct record *record)
{
	return record->kind == RECORD_RUN ? (uint32_t)record->arg32 : at->entry->source.cpu_id;
}

/* Whether what the thread does in this record counts. */
static inline void select_thread(struct applying *at, struct thread *thread,
				 const struct record *record)
{
	if (!at->selects || record->kind == RECORD_PROCESS ||
	    record->kind == RECORD_CONTAINER || /* which tells first whose it is */
	    (record->kind == RECORD_INITIAL && thread->view.tid < 0)) {
		return;
	}
	if (record->kind == RECORD_IN || record->kind == RECORD_ON ||
	    record->kind == RECORD_INITIAL) {
		shard_pick(at->shard, thread);
	}
	shard_select(at->shard, thread, cpu_of(at, record));
}

/* ---- records ---- */

static void run_for(struct shard *shard, struct thread *thread, uint32_t cpu,
		    const struct record *record)
{
	if (record->arg64 > 0) {
		const struct run_part part = { .ts = record->ts,
					       .ns = record->arg64,
					       .cpu_number = cpu };

		shard_each_rare_with(shard, on_run, (shard, thread, &part));
	}
}

static void set_prio(struct thread *thread, int32_t prio)
{
	thread->view.prio = prio;
	thread->view.has_prio = true;
}

/* @has_left: on_switch_out() said that it left the CPU. */
static void note_death(struct shard *shard, struct thread *thread, const struct record *record,
		       bool has_left)
{
	if (record->arg16 & RECORD_DEAD) {
		(has_left ? shard_thread_exits : shard_thread_ends)(shard, thread,
								    record->ts + record->arg64);
	}
}

/* The thread's on-CPU interval goes on beyond the record, or ends there. */
static void note_oncpu(struct applying *at, struct thread *thread, const struct record *record,
		       bool is_open)
{
	if (is_open) {
		shard_open_oncpu(at->shard,
				 &(struct open_oncpu){ .ts = record->ts,
						       .cpu = at->entry->source.cpu_number,
						       .key = at->key->key,
						       .thread = thread });
	} else if (at->shard->oncpus.count > 0) {
		shard_close_oncpu(at->shard, at->entry->source.cpu_number, at->key->key);
	}
}

/*
 * An on-CPU interval is charged window by window, always to the thread that was switched in.  Where
 * events are lost, that thread may have ended in between, and another one have its tid.
 */
static void run_on(struct applying *at, struct thread *thread, const struct record *record)
{
	uint32_t cpu = (uint32_t)record->arg32;
	struct thread *switched_in = shard_oncpu(at->shard, cpu, at->key->key);

	if (switched_in) {
		thread = switched_in;
		select_thread(at, thread, record);
	} else {
		shard_open_oncpu(at->shard, &(struct open_oncpu){ .ts = record->ts,
								  .cpu = cpu,
								  .key = at->key->key,
								  .thread = thread });
	}
	run_for(at->shard, thread, cpu, record);
}

/* Whether the thread that leaves its CPU at @ts was switched in on another one in the same ns, and
 * that record came first. */
static bool is_tie(const struct applying *at, const struct thread *thread, uint64_t ts)
{
	return thread->cpu != at->entry->source.cpu_number && thread->in_ts == ts && ts != 0;
}

/* The thread leaves its CPU at @ts, with the flags of @record.  With a tie, the interval that ends
 * is the one before: false. */
static bool switch_out_at(struct applying *at, struct thread *thread, const struct record *record,
			  uint64_t ts)
{
	bool is_here = thread->cpu == at->entry->source.cpu_number;
	struct switch_out out = { .ts = ts,
				  .known_ts = record->ts,
				  .flags = record->arg16,
				  .is_tie = is_tie(at, thread, ts) };

	if (out.is_tie) {
		out.in_ts = shard_before_ts(at->shard, thread);
		shard_set_before(at->shard, thread, 0);
	} else {
		out.in_ts = is_here && thread->is_in ? thread->in_ts : 0;
		thread->is_in = false;
	}
	if (!at->group->is_weak) { /* else a RECORD_PROCESS of the group carries the pid */
		apply_pid(thread, at->group);
	}

	shard_each_with(at->shard, on_switch_out, (at->shard, thread, &out));
	return !out.is_tie;
}

static void switch_in(struct applying *at, struct thread *thread, const struct record *record)
{
	struct shard *shard = at->shard;
	struct switch_in in = { .ts = record->ts,
				.cpu = at->entry->source.cpu_id,
				.cpu_number = at->entry->source.cpu_number,
				.prio = (int8_t)(record->arg16 >> RECORD_PRIO_SHIFT) };
	bool has_left;

	set_prio(thread, record->arg32);
	in.is_migration = thread->cpu != UINT32_MAX && thread->cpu != in.cpu_number;
	if (record->arg16 & RECORD_PRIO) {
		in.out_ts = record->ts + record->arg64;
		in.out_flags = record->arg16;
	}
	shard_each_with(shard, on_switch_in, (shard, thread, &in));
	thread->cpu = in.cpu_number;
	shard_set_before(shard, thread, thread->is_in ? thread->in_ts : 0);
	thread->in_ts = record->ts;
	thread->is_in = true;
	if (record->arg16 & (RECORD_NO_OPEN_CALLS | RECORD_NO_OPEN_CALLS_EXIT)) {
		shard_each_rare_with(shard, on_no_open_calls, (shard, thread));
	}
	run_for(shard, thread, at->entry->source.cpu_number, record);
	has_left = record->arg16 & RECORD_PRIO &&
		   switch_out_at(at, thread, record, record->ts + record->arg64);
	note_oncpu(at, thread, record, !(record->arg16 & RECORD_LEFT));
	note_death(at->shard, thread, record, has_left);
}

/* The on-CPU interval of a thread goes on under another tid. */
static void continue_on(struct applying *at, struct thread *thread, const struct record *record)
{
	bool has_left;

	if (record->arg16 & RECORD_PRIO) {
		set_prio(thread, record->arg32);
	}
	thread->cpu = at->entry->source.cpu_number;
	shard_each_with(at->shard, on_seen, (at->shard, thread, record->ts));
	run_for(at->shard, thread, at->entry->source.cpu_number, record);
	has_left = record->arg16 & RECORD_PRIO &&
		   switch_out_at(at, thread, record, record->ts + record->arg64);
	note_oncpu(at, thread, record, !(record->arg16 & RECORD_LEFT));
	note_death(at->shard, thread, record, has_left);
}

static void switch_out(struct applying *at, struct thread *thread, const struct record *record)
{
	bool has_left;

	if (!is_tie(at, thread, record->ts)) { /* else that record has a later one */
		set_prio(thread, record->arg32);
	}
	if (thread->cpu == UINT32_MAX) {
		thread->cpu = at->entry->source.cpu_number; /* its switch-in was not traced */
	}
	has_left = switch_out_at(at, thread, record, record->ts);
	note_oncpu(at, thread, record, false);
	note_death(at->shard, thread, record, has_left);
}

/* The initial thread of a CPU, as the first switch there describes it (cpus.c). */
static void initial_thread(struct shard *shard, struct thread *thread, const struct record *record)
{
	if (thread->view.tid < 0) { /* about the CPU: arg32 says which thread it is (cpus.c) */
		shard_each_rare_with(shard, on_initial_cpu,
				     (shard, thread, record->arg64, record->arg32, record->ts));
		return;
	}
	if (!thread->view.has_prio && (record->arg16 & RECORD_PRIO)) {
		set_prio(thread, record->arg32);
	}
	if (thread->cpu == UINT32_MAX) {
		thread->cpu = (uint32_t)record->arg64;
	}
	shard_each_with(shard, on_initial_thread, (shard, thread, record->arg64));
}

static void fork_thread(struct applying *at, const struct record *record)
{
	at->key->thread = shard_thread_fork(at->shard, at->key->key, record->ts);
	apply_name(at->shard, at->key->thread, at->group);
	if (record->arg64 <= INT32_MAX) {
		at->key->thread->view.pid = (int32_t)record->arg64;
	}
	shard_contain(at->shard, at->key->thread,
		      &(struct container_record){ .pid_ns = (uint32_t)record->arg32,
						  .level = CONTAINER_LEVEL_FORK,
						  .enters = record->arg16 & RECORD_ENTERS,
						  .ts = record->ts });
	select_thread(at, at->key->thread, record);
	shard_each_with(at->shard, on_fork, (at->shard, at->key->thread, record->ts));
}

static void own_record(struct applying *at, const struct record *record)
{
	struct shard *shard = at->shard;

	shard->running = record->owner;
	shard->layout->setup->analyses[record->owner]->on_record(
		shard, record, at->entry->partial->numbers.at, at->key->thread);
}

static inline void gap(struct applying *at, struct thread *thread, const struct record *record)
{
	if (at->entry->source.owns_cpu) {
		note_oncpu(at, thread, record, false);
		thread->is_in = false;
	}
	shard_doubt(at->shard, thread, record->ts,
		    at->entry->source.owns_cpu ? DOUBT_EVENTS | DOUBT_SWITCHES : DOUBT_EVENTS);
}

static void apply(struct applying *at, const struct record *record)
{
	struct thread *thread = at->key->thread;

	switch ((enum record_kind)record->kind) {
	case RECORD_IN:
		switch_in(at, thread, record);
		break;
	case RECORD_ON:
		continue_on(at, thread, record);
		break;
	case RECORD_OUT:
		switch_out(at, thread, record);
		break;
	case RECORD_GAP:
		gap(at, thread, record);
		break;
	case RECORD_RUN:
		run_on(at, thread, record);
		break;
	case RECORD_INITIAL:
		initial_thread(at->shard, thread, record);
		break;
	case RECORD_RESET_UNKNOWN:
		shard_doubt(at->shard, thread, record->ts, DOUBT_THREAD);
		break;
	case RECORD_FORK:
		fork_thread(at, record);
		break;
	case RECORD_PROCESS:
		apply_pid(thread, at->group);
		thread->view.container_level = 0; /* what the statedump says next counts */
		if (at->selects) {
			shard_select(at->shard, thread, at->entry->source.cpu_id);
		}
		break;
	case RECORD_CONTAINER:
		shard_contain(at->shard, thread,
			      &(struct container_record){ .pid_ns = (uint32_t)record->arg32,
							  .level = container_level(record->arg64),
							  .enters = record->arg16 & RECORD_ENTERS,
							  .is_first = record->arg16 & RECORD_ENTERS,
							  .ts = record->ts });
		break;
	case RECORD_EXEC: /* the group has the name */
		break;
	case RECORD_OWN:
	default:
		own_record(at, record);
		break;
	}
}

/* ---- order ---- */

static bool node_before(const struct shard_node *a, const struct shard_node *b)
{
	if (a->ts != b->ts) {
		return a->ts < b->ts;
	}
	if (a->entry != b->entry) {
		return a->entry < b->entry;
	}
	return a->made < b->made;
}

/* A chunk may end at the very time at which the next one begins with a rename: records of the
 * former tid at the bound belong to this round. */
static inline bool is_beyond(const struct round *round, int64_t key, uint64_t ts)
{
	return ts >= round->bound && (ts > round->bound || key != round->former);
}

/* Whether the thread is called as its group when the record is made.  Others may have gone to a
 * group without a name, which got one later: perhaps of another thread with the same tid. */
static inline bool carries_name(const struct record *record)
{
	return record->kind <= RECORD_OUT || record->kind == RECORD_INITIAL ||
	       record->kind == RECORD_EXEC || record->kind == RECORD_PROCESS;
}

/* Applies one record; @is_fresh: the group's name has not been applied. */
static inline void use_record(struct applying *at, const struct record *record, bool *is_fresh)
{
	struct shard_key *key = at->key;

	if (!key->thread) {
		if (record->kind == RECORD_FORK) { /* it is about a new thread, not one before */
			fork_thread(at, record);
			return;
		}
		key->thread = shard_thread(at->shard, key->key);
	}
	if (*is_fresh && carries_name(record)) {
		apply_name(at->shard, key->thread, at->group);
		*is_fresh = false;
	}
	if (key->thread->is_dead && record->kind != RECORD_FORK) {
		shard_reopen(at->shard, key->thread);
	}
	select_thread(at, key->thread, record);
	apply(at, record);
}

/*
 * Applies a group's records up to the bound, or up to the next record of @other.  True: the node
 * has another record before the bound.
 */
static bool use_node(struct shard *shard, const struct round *round, struct shard_key *key,
		     struct shard_node *node, const struct shard_node *other)
{
	const struct round_entry *entry = &round->entries.at[node->entry];
	struct group *group = &entry->partial->groups.at[node->group];
	struct applying at = { shard, entry, group, key, shard->layout->selects != 0 };
	bool is_fresh = true;
	uint32_t i = group->first;

	assert_hot(i != RECORD_NONE);
	assert_hot(group->key == key->key);
	shard->source = &entry->source;
	do {
		const struct record *record = &entry->partial->records.at[i];

		assert_hot(record->group == node->group);
		node->ts = record->ts;
		if (is_beyond(round, key->key, record->ts) || (other && node_before(other, node))) {
			break;
		}
		/* Which thread runs, only the CPU's owner decides. */
		if (record->kind >= RECORD_GAP || entry->source.owns_cpu) {
			use_record(&at, record, &is_fresh);
		}
		i = record->next;
	} while (i != RECORD_NONE);
	group->first = i;
	if (i != RECORD_NONE) {
		group->ts = node->ts;
	}
	return i != RECORD_NONE && !is_beyond(round, key->key, node->ts);
}

/* Moves the first node to its place among the others, which are sorted. */
static void place(struct shard_node **order, size_t first, size_t count)
{
	struct shard_node *moved = order[first];
	size_t to = first;

	assert_hot(first < count);
	while (to + 1 < count && node_before(order[to + 1], moved)) {
		order[to] = order[to + 1];
		to++;
	}
	order[to] = moved;
}

static int by_order(const void *left, const void *right)
{
	return node_before(*(struct shard_node *const *)left, *(struct shard_node *const *)right)
		       ? -1
		       : 1;
}

#define FEW_NODES 32 /* so many are sorted faster by insertion */

/* The nodes of a key, sorted by the next record of each. */
static struct shard_node **sort_nodes(struct accumulator *accumulator, const struct shard_key *key)
{
	struct shard_node **order;
	size_t count = key->count, at = count;

	vec_reserve(&accumulator->order, count);
	order = accumulator->order.at;
	for (uint32_t i = key->first; i != RECORD_NONE; i = accumulator->nodes.at[i].next) {
		order[--at] = &accumulator->nodes.at[i];
		if (count <= FEW_NODES) {
			place(order, at, count);
		}
	}
	assert(at == 0); /* the list has as many nodes as were counted */
	if (count > FEW_NODES) {
		qsort(order, count, sizeof(*order), by_order);
	}
	return order;
}

/* Applies the records of several groups.  `order` stays sorted from @i on. */
static void use_nodes(struct shard *shard, const struct round *round, struct shard_key *key)
{
	struct shard_node **order = sort_nodes(shard->accumulator, key);
	size_t count = key->count;

	for (size_t i = 0; i < count;) {
		const struct shard_node *other = i + 1 < count ? order[i + 1] : NULL;

		if (use_node(shard, round, key, order[i], other)) {
			place(order, i, count);
		} else {
			i++;
		}
	}
}

/* ---- nodes ---- */

/* A shard's groups in a slice are adjacent, but too few for hardware prefetching. */
#define GROUPS_AHEAD 8

/* Adds a group if it has records in the round; prefetches its first record and its key's slot. */
static inline void add_node(struct shard *shard, const struct round *round, size_t entry,
			    uint32_t g)
{
	const struct partial *partial = round->entries.at[entry].partial;
	const struct group *group = &partial->groups.at[g];
	struct accumulator *accumulator = shard->accumulator;

	__builtin_prefetch(group + GROUPS_AHEAD);
	if (group->first == RECORD_NONE || is_beyond(round, group->key, group->ts)) {
		return;
	}
	assert_hot(group->first < partial->records.count);
	assert_hot(accumulator->nodes.count < accumulator->nodes.room); /* collect() reserves */
	__builtin_prefetch(&partial->records.at[group->first]);
	accumulator->nodes.at[accumulator->nodes.count++] =
		(struct shard_node){ .key = group->key,
				     .ts = group->ts,
				     .entry = (uint32_t)entry,
				     .group = g,
				     .made = group->made,
				     .next = RECORD_NONE };
	__builtin_prefetch(&shard->slots.at[hash_mix((uint64_t)group->key) & shard->slots.mask]);
}

/* Makes a node of each group of the shard that has records in the round. */
static void collect(struct shard *shard, const struct round *round, unsigned int number)
{
	struct accumulator *accumulator = shard->accumulator;

	accumulator->nodes.count = 0;
	for (size_t e = 0; e < round->entries.count; e++) {
		const struct slice *slice = round->entries.at[e].slice;
		const struct partial *partial = round->entries.at[e].partial;

		vec_reserve_more(&accumulator->nodes,
				 slice->shards[number + 1] - slice->shards[number]);
		for (uint32_t g = slice->shards[number]; g < slice->shards[number + 1]; g++) {
			assert_hot(key_shard(partial->groups.at[g].key) == number);
			add_node(shard, round, e, g);
		}
		if (slice->chains != RECORD_NONE) {
			uint32_t g = partial->chains.at[slice->chains].first[number];

			for (; g != RECORD_NONE; g = partial->groups.at[g].next) {
				assert_hot(key_shard(partial->groups.at[g].key) == number);
				vec_reserve_more(&accumulator->nodes, 1);
				add_node(shard, round, e, g);
			}
		}
	}
}

/* Links the nodes of each key, in the order of entries. */
static void chain_by_key(struct shard *shard, uint32_t round)
{
	struct accumulator *accumulator = shard->accumulator;

	accumulator->keys.count = 0;
	for (size_t i = 0; i < accumulator->nodes.count; i++) {
		const struct shard_node *node = &accumulator->nodes.at[i];
		struct slot *slot = shard_slot(shard, node->key);
		struct shard_key *key;

		if (slot->round == round) {
			assert_hot(slot->at < accumulator->keys.count);
			key = &accumulator->keys.at[slot->at];
			assert_hot(key->key == node->key);
			accumulator->nodes.at[key->last].next = (uint32_t)i;
			key->last = (uint32_t)i;
			key->count++;
			continue;
		}
		slot->round = round;
		slot->at = (uint32_t)accumulator->keys.count;
		*vec_push(&accumulator->keys) = (struct shard_key){ .key = node->key,
								    .thread = slot->thread,
								    .first = (uint32_t)i,
								    .last = (uint32_t)i,
								    .count = 1 };
		if (slot->thread) {
			thread_prefetch(shard->layout, slot->thread);
		}
	}
}

/* ---- a worker's part ---- */

void round_run_shard(struct shard *shard, const struct round *round, unsigned int number)
{
	const struct accumulator *accumulator = shard->accumulator;

	assert(number < SHARDS);
	shard_close_window(shard);
	collect(shard, round, number);
	chain_by_key(shard, round->number);
	for (size_t i = 0; i < accumulator->keys.count; i++) {
		struct shard_key *key = &accumulator->keys.at[i];

		if (key->count == 1) {
			(void)use_node(shard, round, key, &accumulator->nodes.at[key->first], NULL);
		} else {
			use_nodes(shard, round, key);
		}
	}
	shard->left_out = 0;
}

static void count_slice(struct shard *shard, const struct round_entry *entry,
			const uint32_t *class_names)
{
	const struct slice *slice = entry->slice;

	assert(slice->tally_count == 0 ||
	       slice->tally_first + (size_t)slice->tally_count <= entry->partial->tallies.count);
	if (shard->layout->selects) {
		shard_select_cpu(shard, entry->source.cpu_id);
	}
	for (uint32_t i = 0; i < slice->tally_count; i++) {
		const struct tally *tally = &entry->partial->tallies.at[slice->tally_first + i];

		shard_each_rare_with(shard, on_tally,
				     (shard, class_names[tally->class_index], tally->count));
	}
}

void round_count_shard(struct shard *shard, const struct round *round, size_t first, size_t step,
		       const uint32_t *class_names)
{
	assert(step > 0);
	for (size_t e = first; e < round->entries.count; e += step) {
		if (round->entries.at[e].counts) {
			count_slice(shard, &round->entries.at[e], class_names);
		}
	}
	shard->left_out = 0;
}
