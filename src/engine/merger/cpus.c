/*
 * seam: who runs on each CPU, where a chunk alone does not tell.
 *
 * A worker accounts for the time between the first and the last evidence in its chunk.
 * The rest is put in between two chunks, and segments are cut at the bounds of windows:
 *
 *     chunk 0           chunk 1                     chunk 2
 *     ... tail: tid 7 | .......... head: 7 left ... | ...
 *               '------- segment of 7 ------'
 *
 * Time that no evidence covers is charged to "unknown", never to somebody.
 */
#include <assert.h>
#include <string.h>

#include "engine/merger/merger-state.h"

static enum run_kind kind_of(const struct cpu *cpu)
{
	if (cpu->state != CPU_KNOWN) {
		return RUN_UNKNOWN;
	}
	return cpu->tid == 0 ? RUN_IDLE : RUN_THREAD;
}

/* What the CPU was in from where it is known up to @end; what was charged before stays so. */
static void add_segment(struct cpu *cpu, uint64_t end, bool is_broken)
{
	if (end > cpu->since) {
		*vec_push(&cpu->segments) = (struct segment){ .begin = cpu->since,
							      .end = end,
							      .tid = cpu->tid,
							      .kind = (uint8_t)kind_of(cpu),
							      .is_broken = is_broken };
		cpu->since = end;
	}
}

/* ---- whose records ---- */

/* A new group of @key in one of the partial's slices. */
static uint32_t new_group(struct partial *partial, struct slice *slice, int64_t key)
{
	uint32_t group = partial_add_group(partial, key);

	partial_chain_group(partial, slice, group);
	return group;
}

/* All records of the slice's unresolved groups are of @head or @lost. */
static void resolve_groups(struct partial *partial, struct slice *slice, int64_t initial,
			   int64_t lost)
{
	for (uint32_t i = slice->shards[SHARDS]; i < slice->shards[SHARDS + 1]; i++) {
		struct group *group = &partial->groups.at[i];

		group->key = group->key == KEY_INITIAL ? initial : lost;
		partial_chain_group(partial, slice, i);
	}
	slice->shards[SHARDS + 1] = slice->shards[SHARDS]; /* none is unresolved any more */
}

static int64_t current_key(const struct cpu *cpu)
{
	if (cpu->state != CPU_KNOWN) {
		return KEY_CPU(cpu->number);
	}
	return cpu->tid == 0 ? KEY_NOBODY : cpu->tid;
}

/*
 * From @ts on it is @key.  Changes come in order, if not of partials that somebody made up; of
 * those at one time the last is the one.
 */
static void add_change(struct cpu *cpu, uint64_t ts, int64_t key)
{
	uint64_t last = cpu->running.count == 0 ? 0 : cpu->running.at[cpu->running.count - 1].ts;

	*vec_push(&cpu->running) =
		(struct running_change){ .ts = ts > last ? ts : last, .key = key };
}

/* The records of the chunk that came before its first evidence are of who ran then. */
static void resolve_head(const struct cpu *cpu, struct partial *partial)
{
	for (size_t i = 0; i < partial->currents.count; i++) {
		partial_made(partial, partial->currents.at[i])->arg32 =
			cpu->state == CPU_KNOWN ? cpu->tid : -1;
	}
	partial->currents_told = partial->currents.count;
	for (size_t i = 0; i < partial->slices.count; i++) {
		resolve_groups(partial, &partial->slices.at[i], current_key(cpu),
			       KEY_CPU(cpu->number));
	}
}

/* Now it is known who ran at first: chunks without any evidence were waiting for that. */
static void resolve_waiting(struct cpu *cpu)
{
	for (size_t i = 0; i < cpu->owner->ready.count; i++) {
		struct partial *partial = cpu->owner->ready.at[i];

		if (partial->waits) {
			resolve_head(cpu, partial);
			partial->waits = false;
		}
	}
}

/* ---- the first thread of a CPU ---- */

void cpus_give_up(struct merger *merger, struct cpu *cpu)
{
	assert(cpu->state == CPU_INITIAL);
	assert(merger->initial_count > 0);
	merger->initial_count--;
	cpu->state = CPU_UNKNOWN;
	resolve_waiting(cpu);
}

/* The seam's group of @key, for one record. */
static uint32_t stitched_group(struct merger *merger, int64_t key)
{
	return new_group(merger->stitched, &merger->stitched->slices.at[0], key);
}

/* A CPU whose stream begins late is unknown before its first packet. */
static void decide_initial(struct merger_stream *stream, const struct partial *partial)
{
	struct cpu *cpu = stream->cpu;

	if (partial->initial == INITIAL_GAP || partial->initial_ts >= cpu->initial_limit) {
		cpus_give_up(stream->merger, cpu);
		return;
	}
	stream->merger->initial_count--;
	if (stream->identity.misses_start && stream->identity.begin > cpu->since) {
		cpu->state = CPU_UNKNOWN;
		add_segment(cpu, stream->identity.begin, false);
		cpu->segments.at[cpu->segments.count - 1].is_before = true;
	}
	cpu->state = CPU_KNOWN;
	cpu->tid = partial->initial_tid;
	add_change(cpu, stream->identity.misses_start ? stream->identity.begin : 0,
		   current_key(cpu));
	resolve_waiting(cpu);
	cpu->initial_is_new = cpu->tid != 0;
	cpu->initial_tid = cpu->tid;
	cpu->initial_has_prio = partial->initial_has_prio;
	cpu->initial_prio = partial->initial_prio;
	memcpy(cpu->initial_name, partial->initial_name, NAME_BYTES);
}

/* Windows before the first switch know the thread by what that will say. */
static void show_head(struct merger *merger, struct cpu *cpu)
{
	uint32_t index = stitched_group(merger, cpu->initial_tid);
	struct group *group = &merger->stitched->groups.at[index];
	uint64_t ts =
		merger->window_begin - (merger->window_begin > 0); /* before all that was seen */
	uint32_t record = partial_add_record(merger->stitched, index, ts, RECORD_INITIAL);

	group->is_weak = true;
	group->has_name = cpu->initial_has_prio;
	memcpy(group->name, cpu->initial_name, NAME_BYTES);
	merger->stitched->records.at[record].arg64 = cpu->id;
	merger->stitched->records.at[record].arg32 = cpu->initial_prio;
	merger->stitched->records.at[record].arg16 = cpu->initial_has_prio ? RECORD_PRIO : 0;
	cpu->initial_is_new = false;
}

/* ---- from chunk to chunk ---- */

/* The worker found a gap before it knew who runs: it may be nobody. */
static void initial_gap(const struct cpu *cpu, struct partial *partial)
{
	if (cpu->state != CPU_KNOWN || cpu->tid == 0) {
		partial->groups.at[partial->initial_group].first = RECORD_NONE;
	}
}

static void take_of_owner(struct merger_stream *stream, struct partial *partial)
{
	struct merger *merger = stream->merger;
	struct cpu *cpu = stream->cpu;
	bool is_broken;

	if (partial->initial != INITIAL_NONE && cpu->state == CPU_INITIAL) {
		decide_initial(stream, partial);
	}
	partial->waits = cpu->state == CPU_INITIAL;
	if (!partial->waits) {
		resolve_head(cpu, partial);
	}
	if (partial->initial == INITIAL_NONE) {
		return;
	}
	is_broken = partial->initial == INITIAL_THREAD && cpu->state == CPU_KNOWN &&
		    cpu->tid != partial->initial_tid;
	merger->account.anomalies += is_broken;
	if (partial->initial == INITIAL_GAP) {
		initial_gap(cpu, partial);
	}
	add_segment(cpu, partial->initial_ts, is_broken);
	for (size_t i = 0; i < partial->segments.count; i++) {
		struct segment segment = partial->segments.at[i];

		if (segment.end > cpu->since) {
			segment.begin = segment.begin < cpu->since ? cpu->since : segment.begin;
			*vec_push(&cpu->segments) = segment;
		}
	}
	cpu->state = partial->tail == RUN_UNKNOWN ? CPU_UNKNOWN : CPU_KNOWN;
	cpu->tid = partial->tail == RUN_THREAD ? partial->tail_tid : 0;
	cpu->since = partial->tail_ts > cpu->since ? partial->tail_ts : cpu->since;
}

void cpus_take(struct merger_stream *stream, struct partial *partial)
{
	for (size_t i = 0; i < partial->renames.count; i++) {
		size_t at = stream->merger->renames.count;

		*vec_push(&stream->merger->renames) = partial->renames.at[i];
		for (; at > 0 && stream->merger->renames.at[at - 1].ts > partial->renames.at[i].ts;
		     at--) {
			stream->merger->renames.at[at] = stream->merger->renames.at[at - 1];
		}
		stream->merger->renames.at[at] = partial->renames.at[i];
	}
	if (stream->owns_cpu) {
		stream->merger->account.anomalies += partial->broken;
		take_of_owner(stream, partial);
	}
}

/* ---- streams that do not tell who runs ---- */

/* Puts the owner's records before @bound on the CPU's line. */
static void extend_running(struct cpu *cpu, struct partial *partial, uint64_t bound)
{
	for (size_t i = 0; i < partial->made.count; i++) {
		const struct record *record = partial_made(partial, i);

		if (record->ts < partial->running_until || record->ts >= bound) {
			continue;
		}
		if (record->kind == RECORD_IN || record->kind == RECORD_ON) {
			add_change(cpu, record->ts, partial->groups.at[record->group].key);
			if (record->arg16 & RECORD_LEFT) {
				add_change(cpu, record->ts + record->arg64, KEY_NOBODY);
			}
		} else if (record->kind == RECORD_OUT) {
			add_change(cpu, record->ts, KEY_NOBODY);
		} else if (record->kind ==
			   RECORD_RESET_UNKNOWN) { /* at each gap, also while it is idle */
			add_change(cpu, record->ts, KEY_CPU(cpu->number));
		}
	}
	partial->running_until = bound > partial->running_until ? bound : partial->running_until;
}

/* Who is there at @ts; @at goes on from one to the next, which is not before it. */
static int64_t key_at(const struct cpu *cpu, size_t *at, uint64_t ts)
{
	while (*at < cpu->running.count && cpu->running.at[*at].ts <= ts) {
		(*at)++;
	}
	return *at > 0 ? cpu->running.at[*at - 1].key : KEY_CPU(cpu->number);
}

/* Gives the records before @bound of one unresolved group to who ran then. */
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
			key = key_at(cpu, &at, partial->records.at[i].ts);
		}
		if (to == RECORD_NONE || partial->groups.at[to].key != key) {
			to = new_group(partial, slice, key);
		}
		partial_chain(partial, to, i);
		i = next;
	}
	partial->groups.at[from].first = i;
}

/* Tells the records before @bound that ask for it who ran then. */
static void tell_currents(const struct cpu *cpu, struct partial *partial, uint64_t bound)
{
	size_t at = 0;

	for (; partial->currents_told < partial->currents.count; partial->currents_told++) {
		struct record *record =
			partial_made(partial, partial->currents.at[partial->currents_told]);
		int64_t key;

		if (record->ts >= bound) {
			return;
		}
		key = cpu && cpu->owner ? key_at(cpu, &at, record->ts) : KEY_INITIAL;
		record->arg32 = key == KEY_NOBODY ? 0 : key < KEY_INITIAL ? (int32_t)key : -1;
	}
}

static void resolve_slice(struct merger_stream *stream, struct partial *partial,
			  struct slice *slice, uint64_t bound)
{
	int64_t nobody = stream->cpu ? KEY_CPU(stream->cpu->number) : KEY_NOBODY;

	if (!stream->cpu || !stream->cpu->owner) {
		resolve_groups(partial, slice, nobody, nobody);
		return;
	}
	for (uint32_t i = slice->shards[SHARDS]; i < slice->shards[SHARDS + 1]; i++) {
		resolve_by_running(stream, partial, slice, i, bound);
	}
}

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
		tell_currents(stream->cpu, partial, bound);
	}
}

void cpus_forget(struct merger_stream *stream, const struct partial *partial)
{
	struct cpu *cpu = stream->cpu;

	if (stream->owns_cpu && !stream->merger->needs_running &&
	    partial->initial != INITIAL_NONE) {
		cpu->running.count = 0;
		add_change(cpu, partial->tail_ts,
			   partial->tail == RUN_THREAD ? partial->tail_tid
			   : partial->tail == RUN_IDLE ? KEY_NOBODY
						       : KEY_CPU(cpu->number));
	}
}

/* Of a line only who runs at @bound is needed on, and what is known of later. */
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

/* Lines are kept from the first stream on that needs one. */
static void extend_all_running(struct merger *merger, uint64_t bound)
{
	for (size_t i = 0; i < merger->streams.count; i++) {
		struct merger_stream *stream = merger->streams.at[i];

		for (size_t p = 0; stream->owns_cpu && p < stream->ready.count; p++) {
			extend_running(stream->cpu, stream->ready.at[p], bound);
		}
	}
}

void cpus_note_running(struct merger *merger)
{
	extend_all_running(merger, merger->last_bound);
}

void cpus_resolve(struct merger *merger, uint64_t bound)
{
	bool any = false;

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

/* ---- charging ---- */

static void charge(struct merger *merger, struct cpu *cpu, const struct segment *segment,
		   uint64_t end, enum run_kind kind)
{
	struct shard *shard = &merger->tables.shards[0];
	uint64_t ns = end - segment->begin;
	uint32_t record;

	if (ns == 0) {
		return;
	}
	merger->window_has_gap |= kind == RUN_UNKNOWN && !segment->is_before;
	shard_each_with(shard, on_cpu, (shard, cpu, kind, ns));
	if (kind == RUN_THREAD) {
		record = partial_add_record(merger->stitched, stitched_group(merger, segment->tid),
					    segment->begin, RECORD_RUN);
		merger->stitched->records.at[record].arg64 = ns;
		merger->stitched->records.at[record].arg32 = (int32_t)cpu->number;
	}
}

static void charge_cpu(struct merger *merger, struct cpu *cpu, uint64_t bound, bool closes)
{
	if (cpu->initial_is_new) {
		show_head(merger, cpu);
	}
	if (closes && cpu->since < bound) {
		add_segment(cpu, bound, false); /* who is there now stays at least so long */
	}
	while (cpu->segments_used < cpu->segments.count) {
		struct segment *segment = &cpu->segments.at[cpu->segments_used];
		bool is_broken = segment->is_broken && segment->end < merger->window_end;

		if (segment->end > bound) {
			if (closes && segment->begin < bound) {
				charge(merger, cpu, segment, bound, (enum run_kind)segment->kind);
				segment->begin = bound;
			}
			return;
		}
		charge(merger, cpu, segment, segment->end,
		       is_broken ? RUN_UNKNOWN : (enum run_kind)segment->kind);
		cpu->segments_used++;
	}
	cpu->segments.count = 0;
	cpu->segments_used = 0;
}

void cpus_charge(struct merger *merger, uint64_t bound, bool closes)
{
	merger_each_cpu(merger, cpu, charge_cpu(merger, cpu, bound, closes));
}
