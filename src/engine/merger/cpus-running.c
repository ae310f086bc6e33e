/*
 * cpus-running: who ran at a time, for records that do not say; see cpus-running.h.
 */
#include "engine/merger/cpus-running.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "engine/merger/cpus.h"
#include "engine/merger/merger-state.h"

/* ---- groups of records without a thread ---- */

/* Keys that stand for a thread as yet unknown belong to no shard. */
static bool key_has_shard(int64_t key)
{
	return key != KEY_INITIAL && key != KEY_LOST;
}

uint32_t cpus_new_group(struct partial *partial, struct slice *slice, int64_t key)
{
	uint32_t group = partial_add_group(partial, key);

	partial_chain_group(partial, slice, group);
	return group;
}

void cpus_resolve_groups(struct partial *partial, struct slice *slice, int64_t initial,
			 int64_t lost)
{
	assert(key_has_shard(initial));
	assert(key_has_shard(lost));
	for (uint32_t i = slice->shards[SHARDS]; i < slice->shards[SHARDS + 1]; i++) {
		struct group *group = &partial->groups.at[i];

		group->key = group->key == KEY_INITIAL ? initial : lost;
		partial_chain_group(partial, slice, i);
	}
	slice->shards[SHARDS + 1] = slice->shards[SHARDS]; /* no group is unresolved now */
}

void cpus_add_change(struct cpu *cpu, uint64_t ts, int64_t key, bool serves)
{
	uint64_t last = cpu->running.count == 0 ? 0 : cpu->running.at[cpu->running.count - 1].ts;

	*vec_push(&cpu->running) = (struct running_change){ .ts = ts > last ? ts : last,
							    .key = key,
							    .serves = serves };
}

void cpus_fill_current(struct partial *partial, size_t i, int32_t tid, bool serves)
{
	const struct current *current = &partial->currents.at[i];

	partial_made(partial, current->number)->arg32 = wake_context_waker(
		current->limits[WAKE_HARD] == 0, current->limits[WAKE_SOFT] == 0, tid, serves);
}

/* ---- streams whose records name no thread ---- */

/* The changes that one record of the owner means. */
static void note_change(struct cpu *cpu, const struct partial *partial, const struct record *record)
{
	const struct group *group = &partial->groups.at[record->group];

	switch (record->kind) {
	case RECORD_IN:
	case RECORD_ON:
		cpus_add_change(cpu, record->ts, group->key,
				group->has_name && wake_thread_serves(group->name));
		if (record->arg16 & RECORD_LEFT) {
			cpus_add_change(cpu, record->ts + record->arg64, KEY_NOBODY, false);
		}
		break;
	case RECORD_OUT:
		cpus_add_change(cpu, record->ts, KEY_NOBODY, false);
		break;
	case RECORD_RESET_UNKNOWN: /* one at each gap, whether a thread ran or not */
		cpus_add_change(cpu, record->ts, KEY_CPU(cpu->number), false);
		break;
	default:
		break;
	}
}

/* Extends the CPU's changes by the owner's records before @bound. */
static void extend_running(struct cpu *cpu, struct partial *partial, uint64_t bound)
{
	for (size_t i = 0; i < partial->made.count; i++) {
		const struct record *record = partial_made(partial, i);

		if (record->ts >= partial->running_until && record->ts < bound) {
			note_change(cpu, partial, record);
		}
	}
	partial->running_until = bound > partial->running_until ? bound : partial->running_until;
}

/* Who runs at @ts.  @at is where the search for the time before ended; times come in order. */
static struct running_change running_at(const struct cpu *cpu, size_t *at, uint64_t ts)
{
	assert_hot(*at <= cpu->running.count);
	while (*at < cpu->running.count && cpu->running.at[*at].ts <= ts) {
		(*at)++;
	}
	return *at > 0 ? cpu->running.at[*at - 1]
		       : (struct running_change){ .key = KEY_CPU(cpu->number) };
}

/* Moves the records before @bound of one unresolved group to groups of the threads that ran. */
static void resolve_by_running(struct merger_stream *stream, struct partial *partial,
			       struct slice *slice, uint32_t from, uint64_t bound)
{
	const struct cpu *cpu = stream->cpu;
	uint32_t to = RECORD_NONE, i = partial->groups.at[from].first;
	size_t at = 0;

	while (i != RECORD_NONE && partial->records.at[i].ts < bound) {
		uint32_t next = partial->records.at[i].next;
		int64_t key = KEY_CPU(cpu->number);

		if (partial->groups.at[from].key == KEY_INITIAL) {
			key = running_at(cpu, &at, partial->records.at[i].ts).key;
		}
		if (to == RECORD_NONE || partial->groups.at[to].key != key) {
			to = cpus_new_group(partial, slice, key);
		}
		partial_chain(partial, to, i);
		i = next;
	}
	partial->groups.at[from].first = i;
}

/* Fills the thread that ran into the records before @bound that ask for it. */
static void fill_currents(const struct cpu *cpu, struct partial *partial, uint64_t bound)
{
	size_t at = 0;

	assert(partial->currents_told <= partial->currents.count);
	for (; partial->currents_told < partial->currents.count; partial->currents_told++) {
		size_t i = partial->currents_told;
		uint64_t ts = partial_made(partial, partial->currents.at[i].number)->ts;
		struct running_change who = { .key = KEY_INITIAL };

		if (ts >= bound) {
			return;
		}
		if (cpu && cpu->owner) {
			who = running_at(cpu, &at, ts);
		}
		cpus_fill_current(partial, i,
				  who.key == KEY_NOBODY   ? 0
				  : who.key < KEY_INITIAL ? (int32_t)who.key
							  : -1,
				  who.serves);
	}
}

/* Where the CPU has no owner, no thread is ever known. */
static void resolve_slice(struct merger_stream *stream, struct partial *partial,
			  struct slice *slice, uint64_t bound)
{
	int64_t unknown = stream->cpu ? KEY_CPU(stream->cpu->number) : KEY_NOBODY;

	if (!stream->cpu || !stream->cpu->owner) {
		cpus_resolve_groups(partial, slice, unknown, unknown);
		return;
	}
	for (uint32_t i = slice->shards[SHARDS]; i < slice->shards[SHARDS + 1]; i++) {
		resolve_by_running(stream, partial, slice, i, bound);
	}
}

/* Whether the stream holds a record without a thread. */
static bool is_unresolved(const struct merger_stream *stream)
{
	for (size_t p = 0; !stream->owns_cpu && p < stream->ready.count; p++) {
		const struct partial *partial = stream->ready.at[p];

		if (partial->currents_told < partial->currents.count) {
			return true;
		}
		for (size_t s = partial->slices_used; s < partial->slices.count; s++) {
			const struct slice *slice = &partial->slices.at[s];

			if (slice->shards[SHARDS] < slice->shards[SHARDS + 1]) {
				return true;
			}
		}
	}
	return false;
}

static void resolve_stream(struct merger_stream *stream, uint64_t bound)
{
	for (size_t p = 0; p < stream->ready.count; p++) {
		struct partial *partial = stream->ready.at[p];

		for (size_t s = partial->slices_used; s < partial->slices.count; s++) {
			resolve_slice(stream, partial, &partial->slices.at[s], bound);
		}
		fill_currents(stream->cpu, partial, bound);
	}
}

/* Drops all changes before the one that holds at @bound. */
static void cut_running(struct cpu *cpu, uint64_t bound)
{
	size_t first = 0;

	while (first + 1 < cpu->running.count && cpu->running.at[first + 1].ts < bound) {
		first++;
	}
	if (first == 0) {
		return;
	}
	cpu->running.count -= first;
	memmove(cpu->running.at, cpu->running.at + first,
		cpu->running.count * sizeof(cpu->running.at[0]));
}

static void extend_all_running(struct merger *merger, uint64_t bound)
{
	for (size_t i = 0; i < merger->streams.count; i++) {
		struct merger_stream *stream = merger->streams.at[i];

		for (size_t p = 0; stream->owns_cpu && p < stream->ready.count; p++) {
			extend_running(stream->cpu, stream->ready.at[p], bound);
		}
	}
}

/* While no stream needs the list of changes, it only has the state at the end of what was used. */
void cpus_forget(struct merger_stream *stream, const struct partial *partial)
{
	struct cpu *cpu = stream->cpu;
	int64_t key;

	if (!stream->owns_cpu || stream->merger->needs_running ||
	    partial->initial == INITIAL_NONE ||
	    (cpu->unknown_from > 0 && partial->tail_ts <= cpu->unknown_from)) {
		return;
	}
	key = partial->tail == RUN_THREAD ? partial->tail_tid
	      : partial->tail == RUN_IDLE ? KEY_NOBODY
					  : KEY_CPU(cpu->number);
	cpu->running.count = 0;
	cpus_add_change(cpu, partial->tail_ts, key, partial->tail_serves);
}

void cpus_note_running(struct merger *merger)
{
	extend_all_running(merger, merger->last_bound);
}

void cpus_resolve(struct merger *merger, uint64_t bound)
{
	bool any = false;

	assert(merger->is_round_open);
	for (size_t i = 0; merger->setup->uses_threads && i < merger->streams.count; i++) {
		any |= is_unresolved(merger->streams.at[i]);
	}
	merger->needs_running |= any;
	if (merger->needs_running) {
		extend_all_running(merger, bound);
	}
	for (size_t i = 0; any && i < merger->streams.count; i++) {
		if (!merger->streams.at[i]->owns_cpu) {
			resolve_stream(merger->streams.at[i], bound);
		}
	}
	if (merger->needs_running) {
		merger_each_cpu(merger, cpu, cut_running(cpu, bound));
	}
}
