/*
 * cpus: see cpus.h.
 */
#include "engine/merger/cpus.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/merger/cpus-running.h"
#include "engine/merger/merger-state.h"
#include "engine/merger/round.h"

static enum run_kind kind_of(const struct cpu *cpu)
{
	if (cpu->state != CPU_KNOWN || cpu->is_doubted) {
		return RUN_UNKNOWN;
	}
	return cpu->tid == 0 ? RUN_IDLE : RUN_THREAD;
}

/* The CPU's state lasts from `since` up to @end.  Time before `since` is accounted for. */
static void add_segment(struct cpu *cpu, uint64_t end, bool is_broken)
{
	end = end > cpu->since ? end : cpu->since;
	if (end > cpu->since || is_broken) {
		*vec_push(&cpu->segments) = (struct segment){ .begin = cpu->since,
							      .end = end,
							      .tid = cpu->tid,
							      .kind = (uint8_t)kind_of(cpu),
							      .is_broken = is_broken };
		cpu->since = end;
	}
}

/* The key of the thread that runs from `since` on. */
static int64_t current_key(const struct cpu *cpu)
{
	if (cpu->state != CPU_KNOWN) {
		return KEY_CPU(cpu->number);
	}
	return cpu->tid == 0 ? KEY_NOBODY : cpu->tid;
}

/* The records before the chunk's first evidence belong to the CPU's current thread. */
static void resolve_initial_records(const struct cpu *cpu, struct partial *partial)
{
	assert(cpu->state != CPU_INITIAL);
	for (size_t i = 0; i < partial->currents.count; i++) {
		cpus_fill_current(partial, i, cpu->state == CPU_KNOWN ? cpu->tid : -1, cpu->serves);
	}
	partial->currents_told = partial->currents.count;
	for (size_t i = 0; i < partial->slices.count; i++) {
		cpus_resolve_groups(partial, &partial->slices.at[i], current_key(cpu),
				    KEY_CPU(cpu->number));
	}
}

/* The initial thread is decided: partials without any evidence were waiting for that. */
static void resolve_waiting(struct cpu *cpu)
{
	for (size_t i = 0; i < cpu->owner->ready.count; i++) {
		struct partial *partial = cpu->owner->ready.at[i];

		if (partial->waits) {
			resolve_initial_records(cpu, partial);
			partial->waits = false;
		}
	}
}

/* ---- the initial thread ---- */

bool cpus_is_awaited(const struct cpu *cpu)
{
	return cpu->state == CPU_INITIAL || cpu->is_unproven;
}

void cpus_give_up(struct merger *merger, struct cpu *cpu)
{
	assert(cpus_is_awaited(cpu));
	assert(merger->initial_count > 0);
	merger->initial_count--;
	cpu->is_unproven = false;
	if (cpu->state == CPU_INITIAL) {
		cpu->state = CPU_UNKNOWN;
		resolve_waiting(cpu);
	}
}

/* What ends the interval that the first switch began comes at @ts.  If that does not fit, events
 * are filtered: neither who left first nor who came was there all the time. */
static void prove(struct merger *merger, struct cpu *cpu, uint64_t ts, bool fits)
{
	assert(cpu->segments_used == 0); /* no round has begun */
	for (size_t i = 0; !fits && ts < cpu->initial_limit && i < cpu->segments.count; i++) {
		cpu->segments.at[i].kind = RUN_UNKNOWN;
	}
	cpus_give_up(merger, cpu);
}

void cpus_find_left(struct merger *merger)
{
	if (!merger->ends_changed) {
		return;
	}
	merger->ends_changed = false;
	merger_each_cpu(merger, cpu, (cpu->has_left = true, cpu->heard_until = 0));
	for (size_t i = 0; i < merger->streams.count; i++) {
		const struct merger_stream *stream = merger->streams.at[i];

		if (stream->cpu && !stream->identity.is_beside) {
			uint64_t until = merger_stream_until(stream);

			stream->cpu->has_left &= stream->is_ended && !stream->is_cut;
			if (stream->cpu->heard_until < until) {
				stream->cpu->heard_until = until;
			}
		}
	}
}

/* Whether the trace goes on for long enough without a CPU that has left at @ts. */
static bool goes_on_without(const struct merger *merger, uint64_t ts)
{
	return merger->last_ts > ts && merger->last_ts - ts > HOLE_NS;
}

bool cpus_are_decided(const struct merger *merger, uint64_t end)
{
	merger_each_cpu(merger, cpu, {
		if (cpu->has_left && cpu->heard_until < end &&
		    !goes_on_without(merger, cpu->heard_until)) {
			return false;
		}
	});
	return true;
}

/* ns: from then on it is absent; UINT64_MAX: it is not.  What was lost at the end may go on. */
static uint64_t absent_from(const struct merger *merger, const struct cpu *cpu)
{
	return cpu->has_left && cpu->state == CPU_KNOWN && goes_on_without(merger, cpu->heard_until)
		       ? cpu->heard_until
		       : UINT64_MAX;
}

void cpus_lose(struct merger *merger, struct cpu *cpu, uint64_t ts)
{
	if (cpus_is_awaited(cpu)) {
		cpus_give_up(merger, cpu);
	}
	if (cpu->since > ts) {
		return; /* it was unknown before, by a gap, and the evidence after that is known */
	}
	if (cpu->has_left && cpu->heard_until <= ts) {
		/* If there is anything behind the hole, it is absent there. */
		add_segment(cpu, cpu->heard_until, false);
		return;
	}
	add_segment(cpu, ts, false);
	cpu->state = CPU_UNKNOWN;
	cpu->is_doubted = false;
}

void cpus_pass_hole(struct cpu *cpu, uint64_t ts)
{
	cpu->unknown_from = ts;
	cpus_add_change(cpu, ts, KEY_CPU(cpu->number), false);
}

/* A new group with @key in the stitched partial, for one record. */
static uint32_t stitched_group(struct merger *merger, int64_t key)
{
	assert(merger->stitched->slices.count == 1); /* round_begin() has emptied it */
	return cpus_new_group(merger->stitched, &merger->stitched->slices.at[0], key);
}

/* Notes what the first evidence says of the initial thread, for add_initial_record(). */
static void note_initial(struct cpu *cpu, const struct partial *partial)
{
	cpu->initial_is_new = cpu->tid != 0;
	cpu->initial_tid = cpu->tid;
	cpu->initial_has_prio = partial->initial_has_prio;
	cpu->initial_prio = partial->initial_prio;
	memcpy(cpu->initial_name, partial->initial_name, NAME_BYTES);
}

/* Nobody knows what was before the stream: it begins late, or the kernel's trace does, beside which
 * a program was traced before. */
static bool begins_late(const struct merger_stream *stream)
{
	const struct merger *merger = stream->merger;

	return stream->identity.misses_start ||
	       (merger->is_joined && merger->kernel_first_ts > merger->first_ts);
}

/* The first evidence of the CPU.  A CPU whose stream begins late is unknown before its first
 * packet, which is no gap. */
static void decide_initial(struct merger_stream *stream, const struct partial *partial)
{
	struct cpu *cpu = stream->cpu;
	bool is_late = begins_late(stream);

	assert(cpu->state == CPU_INITIAL);
	if (partial->initial == INITIAL_GAP || partial->initial_ts >= cpu->initial_limit) {
		cpus_give_up(stream->merger, cpu);
		return;
	}
	cpu->is_unproven = true;
	if (is_late && stream->identity.begin > cpu->since) {
		cpu->state = CPU_UNKNOWN;
		add_segment(cpu, stream->identity.begin, false);
		cpu->segments.at[cpu->segments.count - 1].is_before = true;
	}
	cpu->state = CPU_KNOWN;
	cpu->tid = partial->initial_tid;
	cpu->serves = partial->initial_has_prio && wake_thread_serves(partial->initial_name);
	cpu->initial_since = is_late ? stream->identity.begin : 0;
	cpu->has_initial = true;
	cpus_add_change(cpu, cpu->initial_since, current_key(cpu), cpu->serves);
	resolve_waiting(cpu);
	note_initial(cpu, partial);
}

/* Shows windows before the first switch the initial thread, as that switch describes it. */
static void add_initial_record(struct merger *merger, struct cpu *cpu)
{
	uint32_t index = stitched_group(merger, cpu->initial_tid);
	struct group *group = &merger->stitched->groups.at[index];
	/* Before all other records of the thread in this window. */
	uint64_t ts = merger->window_begin - (merger->window_begin > 0);
	uint32_t record = partial_add_record(merger->stitched, index, ts, RECORD_INITIAL);

	group->is_weak = true;
	group->has_name = cpu->initial_has_prio;
	memcpy(group->name, cpu->initial_name, NAME_BYTES);
	merger->stitched->records.at[record].arg64 = cpu->id;
	merger->stitched->records.at[record].arg32 = cpu->initial_prio;
	merger->stitched->records.at[record].arg16 = cpu->initial_has_prio ? RECORD_PRIO : 0;
	cpu->initial_is_new = false;
}

/* Tells when the CPU began, and what it ran then. */
static void add_initial_cpu_record(struct merger *merger, struct cpu *cpu)
{
	uint32_t index = stitched_group(merger, KEY_CPU(cpu->number));
	uint64_t begin = merger->window_begin - (merger->window_begin > 0);
	uint64_t ts = cpu->initial_since > begin ? cpu->initial_since : begin;
	uint32_t record = partial_add_record(merger->stitched, index, ts, RECORD_INITIAL);

	merger->stitched->records.at[record].arg64 = cpu->id;
	merger->stitched->records.at[record].arg32 = cpu->initial_tid;
	cpu->has_initial = false;
}

/* ---- from chunk to chunk ---- */

/* The chunk's first evidence is a gap.  Its RECORD_GAP is dropped if no known thread ran then. */
static void drop_initial_gap(const struct cpu *cpu, struct partial *partial)
{
	assert(partial->initial_group < partial->groups.count);
	if (cpu->state != CPU_KNOWN || cpu->tid == 0) {
		partial->groups.at[partial->initial_group].first = RECORD_NONE;
	}
}

/* Time that the worker left to the merger, without what is accounted for already.  @fits: the
 * chunk's first switch does. */
static void add_segment_of(struct cpu *cpu, const struct segment *left, bool fits)
{
	struct segment segment = *left;

	segment.end = segment.end > cpu->since ? segment.end : cpu->since;
	if (segment.end > cpu->since || segment.is_broken) {
		segment.begin = segment.begin < cpu->since ? cpu->since : segment.begin;
		segment.kind = segment.is_first && !fits ? RUN_UNKNOWN : segment.kind;
		*vec_push(&cpu->segments) = segment;
		cpu->since = segment.end;
	}
}

/* The partial comes from the stream whose switches decide which thread runs. */
static void take_from_owner(struct merger_stream *stream, struct partial *partial)
{
	struct cpu *cpu = stream->cpu;
	bool is_broken, is_proof, is_first = cpu->state == CPU_INITIAL;

	assert(cpu->owner == stream);
	if (partial->initial != INITIAL_NONE && cpu->state == CPU_INITIAL) {
		decide_initial(stream, partial);
	}
	partial->waits = cpu->state == CPU_INITIAL;
	if (!partial->waits) {
		resolve_initial_records(cpu, partial);
	}
	if (partial->initial == INITIAL_NONE) {
		return;
	}
	is_broken = partial->initial == INITIAL_THREAD && cpu->state == CPU_KNOWN &&
		    cpu->tid != partial->initial_tid;
	if (partial->initial == INITIAL_GAP) {
		drop_initial_gap(cpu, partial);
	}
	add_segment(cpu, partial->initial_ts, is_broken);
	if (cpu->is_unproven && !is_first) {
		prove(stream->merger, cpu, partial->initial_ts, !is_broken);
	}
	is_proof = cpu->is_unproven && partial->segments.count > 0;
	for (size_t i = 0; i < partial->segments.count; i++) {
		add_segment_of(cpu, &partial->segments.at[i], !is_broken);
		if (is_proof && i == 0) {
			prove(stream->merger, cpu, partial->segments.at[0].end,
			      !partial->segments.at[0].is_broken);
		}
	}
	cpu->state = partial->tail == RUN_UNKNOWN ? CPU_UNKNOWN : CPU_KNOWN;
	cpu->is_doubted = partial->tail_is_doubted || (partial->tail_is_first && is_broken);
	cpu->tid = partial->tail == RUN_THREAD ? partial->tail_tid : 0;
	cpu->serves = partial->tail_serves;
	cpu->since = partial->tail_ts > cpu->since ? partial->tail_ts : cpu->since;
}

/* Keeps the list in time order; a rename at the time of others goes behind them. */
static void add_rename(struct merger *merger, const struct rename *rename)
{
	size_t at = merger->renames.count;

	*vec_push(&merger->renames) = *rename;
	for (; at > 0 && merger->renames.at[at - 1].ts > rename->ts; at--) {
		merger->renames.at[at] = merger->renames.at[at - 1];
	}
	merger->renames.at[at] = *rename;
}

/*
 * Which of the chunk's records are of a time in an interrupt, and what is open behind it.  None is
 * where the stream has been silent for longer than any lasts.
 */
static void tell_depths(struct merger_stream *stream, struct partial *partial)
{
	bool is_silent = partial->covered_from - partial->begin > HOLE_NS;

	for (unsigned int kind = 0; kind < WAKE_CONTEXTS; kind++) {
		uint32_t before = is_silent ? 0 : stream->depths[kind];

		for (size_t i = 0; i < partial->currents.count; i++) {
			uint32_t *limit = &partial->currents.at[i].limits[kind];

			*limit = before >= *limit ? 0 : WAKE_NEVER;
		}
		stream->depths[kind] = wake_depth_after(partial->depths[kind], before);
	}
}

void cpus_take(struct merger_stream *stream, struct partial *partial)
{
	assert(stream->merger->has_started);
	tell_depths(stream, partial);
	for (size_t i = 0; i < partial->renames.count; i++) {
		add_rename(stream->merger, &partial->renames.at[i]);
	}
	if (stream->owns_cpu) {
		take_from_owner(stream, partial);
		if (CHECKS_ON) {
			cpus_check(stream->cpu);
		}
	}
}

/* ---- charging ---- */

/* Charges the segment up to @end: at once to the CPU, by a record to the thread. */
static void charge(struct merger *merger, struct cpu *cpu, const struct segment *segment,
		   uint64_t end, enum run_kind kind)
{
	struct shard *shard = &merger->tables.shards[0];
	uint64_t ns = end - segment->begin;
	uint32_t record;

	assert(segment->begin <= end);
	if (ns == 0) {
		return;
	}
	merger->window_has_gap |= kind == RUN_UNKNOWN && !segment->is_before;
	if (merger->tables.layout.selects) {
		shard_select_cpu(shard, cpu->id);
	}
	shard_each_rare_with(shard, on_cpu, (shard, cpu, kind, ns));
	shard->left_out = 0;
	if (kind == RUN_THREAD) {
		record = partial_add_record(merger->stitched, stitched_group(merger, segment->tid),
					    segment->begin, RECORD_RUN);
		merger->stitched->records.at[record].arg64 = ns;
		merger->stitched->records.at[record].arg32 = (int32_t)cpu->number;
	}
}

/* Another thread than the one of the segment leaves at its end. */
static void note_misfit(struct merger *merger, const struct cpu *cpu, const struct segment *segment)
{
	uint32_t record;

	merger->window_has_gap = true;
	round_count(merger, &cpu->owner->identity, &(const struct slice){ .misfits = 1 });
	if (segment->tid != 0) {
		record = partial_add_record(merger->stitched, stitched_group(merger, segment->tid),
					    segment->end, RECORD_GAP);
		merger->stitched->records.at[record].arg32 = (int32_t)cpu->number;
	}
}

/* Whether the segment ends in the round; what is broken at its bound is so in the next one, in
 * which the switch is. */
static bool ends_by(const struct merger *merger, const struct segment *segment, uint64_t bound)
{
	return segment->end <= bound &&
	       !(segment->is_broken && segment->end >= merger->round.bound);
}

/* A broken segment is charged as it was when it began: windows may have closed before the
 * contradiction is known.  The window in which it ends is not complete. */
static void charge_cpu(struct merger *merger, struct cpu *cpu, uint64_t bound, bool closes)
{
	if (cpu->initial_is_new) {
		add_initial_record(merger, cpu);
	}
	if (cpu->has_initial && cpu->initial_since < bound &&
	    merger->setup->callers.on_initial_cpu != 0) {
		add_initial_cpu_record(merger, cpu);
	}
	if (closes && cpu->since < bound) {
		uint64_t from = absent_from(merger, cpu);

		/* No evidence up to the bound says otherwise. */
		add_segment(cpu, bound < from ? bound : from, false);
		cpu->since = bound;
	}
	cpu->absent_from = absent_from(merger, cpu);
	cpu->is_absent = closes && cpu->absent_from <= merger->window_begin;
	assert(cpu->segments_used <= cpu->segments.count);
	while (cpu->segments_used < cpu->segments.count) {
		struct segment *segment = &cpu->segments.at[cpu->segments_used];

		if (!ends_by(merger, segment, bound)) {
			if (closes && segment->begin < bound) {
				charge(merger, cpu, segment, bound, (enum run_kind)segment->kind);
				segment->begin = bound;
			}
			return;
		}
		charge(merger, cpu, segment, segment->end, (enum run_kind)segment->kind);
		if (segment->is_broken) {
			note_misfit(merger, cpu, segment);
		}
		cpu->segments_used++;
	}
	cpu->segments.count = 0;
	cpu->segments_used = 0;
}

void cpus_charge(struct merger *merger, uint64_t bound, bool closes)
{
	assert(merger->tasks_running == 0); /* records are added, and shard 0 is used */
	merger_each_cpu(merger, cpu, charge_cpu(merger, cpu, bound, closes));
	if (CHECKS_ON) {
		merger_each_cpu(merger, cpu, cpus_check(cpu));
	}
}
