/*
 * checkpoint: the merger; see checkpoint.h.
 */
#include "engine/exchange/checkpoint.h"

#include <assert.h>

#include "base/limits.h"
#include "engine/contract/untrusted.h"
#include "engine/exchange/partial-codec.h"
#include "engine/merger/cpus.h"
#include "engine/merger/merger-state.h"
#include "engine/tables/columns.h"

/* ---- partials that are not used up ---- */

/* Copies the groups of one slice that still have records, in order.  @groups: the new group of each
 * record. */
static void copy_groups(const struct partial *from, const uint32_t *slices, uint32_t slice,
			struct partial *to, uint32_t *groups)
{
	for (size_t g = 0; g < from->groups.count; g++) {
		const struct group *group = &from->groups.at[g];
		uint32_t at;

		if (slices[g] != slice || group->first == RECORD_NONE) {
			continue;
		}
		at = partial_add_group(to, group->key);
		to->groups.at[at] = *group;
		to->groups.at[at].first = RECORD_NONE;
		to->groups.at[at].next = RECORD_NONE;
		for (uint32_t i = group->first; i != RECORD_NONE; i = from->records.at[i].next) {
			groups[i] = at;
		}
	}
}

/* Copies the records of copied groups, in the order they were made.  @numbers: the new group of
 * each record; afterwards its new number. */
static void copy_records(const struct partial *from, struct partial *to, uint32_t *numbers)
{
	for (size_t i = 0; i < from->made.count; i++) {
		uint32_t at = from->made.at[i], made = (uint32_t)to->records.count;

		if (numbers[at] != RECORD_NONE) {
			assert(numbers[at] < to->groups.count);
			*vec_push_in_line(&to->records) = from->records.at[at];
			*vec_push(&to->made) = made;
			partial_chain(to, numbers[at], made);
			numbers[at] = made;
		}
	}
}

/* The slice of each group.  Groups that the merger added are only in chains, in no order. */
static void find_slices(const struct partial *partial, uint32_t *slices)
{
	memset(slices, 0xFF, (partial->groups.count + 1) * sizeof(*slices));
	for (uint32_t s = 0; s < partial->slices.count; s++) {
		const struct slice *slice = &partial->slices.at[s];

		assert(slice->shards[0] <= slice->shards[SHARDS + 1]);
		assert(slice->shards[SHARDS + 1] <= partial->groups.count);
		for (uint32_t i = slice->shards[0]; i < slice->shards[SHARDS + 1]; i++) {
			slices[i] = s;
		}
		for (unsigned int k = 0; slice->chains != RECORD_NONE && k < SHARDS; k++) {
			uint32_t g = partial->chains.at[slice->chains].first[k];

			for (; g != RECORD_NONE; g = partial->groups.at[g].next) {
				slices[g] = s;
			}
		}
	}
}

/* Copies a slice, with its sums unless they are counted already. */
static void copy_slice(const struct partial *from, const struct slice *slice, struct partial *to)
{
	struct slice *copy = vec_push(&to->slices);

	assert(slice->tally_first + (size_t)slice->tally_count <= from->tallies.count);
	assert(slice->keyed_first + (size_t)slice->keyed_count <= from->keyed_rows.count);
	*copy = *slice;
	copy->chains = RECORD_NONE;
	copy->tally_first = (uint32_t)to->tallies.count;
	copy->keyed_first = (uint32_t)to->keyed_rows.count;
	if (slice->is_counted) {
		copy->tally_count = 0;
		copy->keyed_count = 0;
		return;
	}
	for (uint32_t i = 0; i < slice->tally_count; i++) {
		*vec_push(&to->tallies) = from->tallies.at[slice->tally_first + i];
	}
	for (uint32_t i = 0; i < slice->keyed_count; i++) {
		*vec_push(&to->keyed_rows) = from->keyed_rows.at[slice->keyed_first + i];
	}
}

/* What is left of a partial that the merger works on, in the form of a worker's partial. */
static struct partial *remains_of(const struct partial *from)
{
	struct partial *to = partial_new();
	uint32_t *slices = mem_alloc((from->groups.count + 1) * sizeof(*slices));
	uint32_t *numbers = mem_alloc((from->records.count + 1) * sizeof(*numbers));

	assert(from->slices_used <= from->slices.count);
	assert(from->currents_told <= from->currents.count);
	memcpy(to, from, offsetof(struct partial, slices));
	to->records_until = from->records_until;
	memset(numbers, 0xFF, (from->records.count + 1) * sizeof(*numbers));
	find_slices(from, slices);
	for (size_t s = from->slices_used; s < from->slices.count; s++) {
		size_t before = to->groups.count;

		copy_slice(from, &from->slices.at[s], to);
		copy_groups(from, slices, (uint32_t)s, to, numbers);
		to->slices.at[to->slices.count - 1].group_count =
			(uint32_t)(to->groups.count - before);
	}
	copy_records(from, to, numbers);
	for (size_t i = from->currents_told; i < from->currents.count; i++) {
		struct current current = from->currents.at[i];
		uint32_t at = from->made.at[current.number];

		if (numbers[at] != RECORD_NONE) {
			current.number = numbers[at];
			*vec_push(&to->currents) = current;
		}
	}
	assert(to->made.count == to->records.count);
	vec_append(&to->numbers, from->numbers.at, from->numbers.count);
	free(slices);
	free(numbers);
	return to;
}

static void held_partial_codec(struct merger *merger, struct codec *codec, struct partial *partial)
{
	const struct partial_rules rules = { .setup = merger->setup,
					     .classes = (uint32_t)merger->tables.class_names.count,
					     .is_of_merger = true };
	struct err err;

	(void)codec_check(codec, partial_codec(codec, partial, &rules, &err) == 0);
}

/* A partial whose start is stitched to the previous one, or waits for that. */
static void taken_codec(struct merger *merger, struct codec *codec, struct partial *partial)
{
	size_t used = partial->slices_used;

	if (codec_reads(codec)) {
		held_partial_codec(merger, codec, partial);
	} else {
		struct partial *remains = remains_of(partial);

		held_partial_codec(merger, codec, remains);
		partial_free(remains);
	}
	for (size_t i = codec_reads(codec) ? 0 : used; i < partial->slices.count; i++) {
		codec_bool(codec, &partial->slices.at[i].is_counted);
	}
	codec_each(codec, &partial->waits, &partial->running_until);
}

/* Counts the memory of a partial that was read. */
static void hold(struct merger *merger, struct partial *partial)
{
	assert(partial->held_bytes == 0); /* counted once */
	partial->held_bytes = partial_bytes(partial);
	merger_hold(merger, partial);
}

/* ---- streams ---- */

void partial_codec_identity(struct codec *codec, struct stream_identity *identity)
{
	codec_each(codec, &identity->class_id, &identity->cpu_id, &identity->instance_id,
		   &identity->has_switches, &identity->misses_start, &identity->begin,
		   &identity->is_beside);
}

static void held_codec(struct merger_stream *stream, struct codec *codec)
{
	struct merger *merger = stream->merger;
	size_t count = codec_count(codec, stream->early.count, 8);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		if (codec_reads(codec)) {
			*vec_push(&stream->early) = (struct held){ .partial = partial_new() };
		}
		codec_u64(codec, &stream->early.at[i].seq);
		held_partial_codec(merger, codec, stream->early.at[i].partial);
		if (codec_reads(codec)) {
			hold(merger, stream->early.at[i].partial);
		}
	}
	count = codec_count(codec, stream->ready.count, 8);
	stream->waiting = codec_count(codec, stream->waiting, 8);
	merger->waiting += codec_reads(codec) ? stream->waiting : 0;
	for (size_t i = 0; i < count && codec_check(codec, stream->waiting <= count); i++) {
		if (codec_reads(codec)) {
			*vec_push(&stream->ready) = partial_new();
		}
		if (i + stream->waiting < count) {
			taken_codec(merger, codec, stream->ready.at[i]);
		} else {
			held_partial_codec(merger, codec, stream->ready.at[i]);
		}
		if (codec_reads(codec)) {
			hold(merger, stream->ready.at[i]);
		}
	}
}

static void stream_codec(struct merger_stream *stream, struct codec *codec)
{
	assert(!stream->owns_cpu || stream->cpu->owner == stream);
	partial_codec_identity(codec, &stream->identity);
	codec_each(codec, &stream->is_identified, &stream->is_excluded, &stream->is_ended,
		   &stream->owns_cpu, &stream->next_seq, &stream->until, &stream->has_until,
		   &stream->known_seq);
	codec_each(codec, &stream->known_ts, &stream->has_known, &stream->end_seq,
		   &stream->has_stitched, &stream->depths[WAKE_HARD], &stream->depths[WAKE_SOFT]);
	if (codec_reads(codec) && stream->identity.is_beside) {
		merger_note_joined(stream->merger);
	}
	if (codec_reads(codec) && stream->is_identified && stream->identity.cpu_id != UINT64_MAX) {
		stream->cpu = tables_cpu(&stream->merger->tables, stream->identity.cpu_id);
		if (stream->owns_cpu &&
		    codec_check(codec, stream->identity.has_switches && !stream->cpu->owner)) {
			stream->cpu->owner = stream;
		}
	}
	(void)codec_check(codec, stream->cpu || !stream->owns_cpu);
	/* Also in a checkpoint that is refused: the merger's invariants hold until it is freed. */
	stream->owns_cpu = stream->owns_cpu && stream->cpu && stream->cpu->owner == stream;
	/* A stream without a packet comes again as a new one. */
	stream->is_ended |= codec_reads(codec) && !stream->is_identified;
	stream->merger->lowest = NULL;
	stream->merger->ends_changed = true;
}

/* ---- CPUs ---- */

static void running_codec(struct codec *codec, struct cpu *cpu)
{
	size_t count;

	assert(cpu->segments_used <= cpu->segments.count);
	count = codec_count(codec, cpu->segments.count - cpu->segments_used, 24);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		partial_codec_segment(codec, codec_reads(codec)
						     ? vec_push(&cpu->segments)
						     : &cpu->segments.at[cpu->segments_used + i]);
	}
	count = codec_count(codec, cpu->running.count, 16);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct running_change *change = codec_at(codec, &cpu->running, i);

		codec_each(codec, &change->ts, &change->key, &change->serves);
	}
}

static void cpu_codec(struct merger *merger, struct codec *codec, struct cpu *cpu)
{
	const struct columns *columns = &merger->tables.layout.columns[SCOPE_CPU];
	uint8_t state = (uint8_t)cpu->state;

	codec_u8(codec, &state);
	if (codec_check(codec, state <= CPU_UNKNOWN)) {
		cpu->state = (enum cpu_state)state;
	}
	codec_each(codec, &cpu->tid, &cpu->since, &cpu->unknown_from, &cpu->initial_limit,
		   &cpu->initial_since, &cpu->has_initial, &cpu->initial_is_new,
		   &cpu->initial_has_prio);
	codec_each(codec, &cpu->initial_tid, &cpu->initial_prio, &cpu->is_doubted, &cpu->serves,
		   &cpu->is_absent, &cpu->was_present, &cpu->is_unproven);
	codec_bytes(codec, cpu->initial_name, NAME_BYTES);
	running_codec(codec, cpu);
	for (uint32_t i = 0; i < columns->count;
	     i++) { /* only sums: analyses have no other columns of CPUs */
		codec_each(codec, &cpu->sums.window[i], &cpu->sums.total[i]);
	}
}

/* The least id of a CPU that is not below @from. */
static uint64_t least_cpu(const struct merger *merger, uint64_t from)
{
	uint64_t found = UINT64_MAX;

	HASH_EACH(cpus, &merger->tables.cpus, one) {
		if (one->key >= from && one->key < found) {
			found = one->key;
		}
	}
	return found;
}

/* In the order of their ids, so that none comes twice. */
static void cpus_codec(struct merger *merger, struct codec *codec)
{
	size_t count = codec_count(codec, merger->tables.cpus.used, 40);
	uint64_t from = 0;

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		uint64_t id = codec_reads(codec) ? 0 : least_cpu(merger, from);

		assert(id != UINT64_MAX); /* least_cpu() found as many as there are */
		codec_u64(codec, &id);
		if (codec_check(codec, id >= from && (i == 0 || from > 0))) {
			cpu_codec(merger, codec, tables_cpu(&merger->tables, id));
		}
		from = id + 1;
	}
}

/* ---- the merger ---- */

static void window_codec(struct merger *merger, struct codec *codec)
{
	struct slice *applied = &merger->applied;

	codec_each(codec, &merger->needs_running, &merger->has_started, &merger->is_before_range,
		   &merger->window_is_long, &merger->window_has_gap, &merger->window_begin,
		   &merger->window_end, &merger->close_at);
	codec_each(codec, &merger->window, &merger->window_seq, &merger->begin, &merger->first_ts,
		   &merger->last_ts, &merger->last_bound, &merger->closed_end, &applied->events);
	codec_u64(codec, &merger->kernel_first_ts);
	codec_each(codec, &applied->discarded, &applied->lost_packets, &applied->bad_packets,
		   &applied->anomalies, &applied->misfits, &merger->window_late,
		   &merger->total_events);
	(void)codec_check(codec,
			  !merger->has_started || (merger->window_begin <= merger->window_end &&
						   merger->close_at <= merger->window_end));
}

static void account_codec(struct codec *codec, struct merger_account *account)
{
	codec_each(codec, &account->events, &account->packets, &account->bytes, &account->discarded,
		   &account->lost_packets, &account->bad_packets, &account->late_events,
		   &account->anomalies);
	codec_u64(codec, &account->misfits);
}

static void renames_codec(struct merger *merger, struct codec *codec)
{
	size_t count = codec_count(codec, merger->renames.count, 16);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		partial_codec_rename(codec, codec_at(codec, &merger->renames, i));
	}
}

static void holes_codec(struct merger *merger, struct codec *codec)
{
	struct coverage *coverage = &merger->coverage;
	size_t count;

	codec_each(codec, &coverage->has_any, &coverage->is_open, &coverage->since,
		   &coverage->until);
	count = codec_count(codec, coverage->ahead.count, 16);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct coverage_interval interval = { 0 };

		if (!codec_reads(codec)) {
			interval = coverage->ahead.at[i];
		}
		codec_each(codec, &interval.begin, &interval.end);
		if (codec_reads(codec) && codec_check(codec, interval.begin <= interval.end)) {
			coverage_add(coverage, interval.begin, interval.end);
		}
	}
	count = codec_count(codec, merger->holes.count, 8);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		uint64_t *begin = codec_at(codec, &merger->holes, i);

		codec_u64(codec, begin);
	}
}

static void streams_codec(struct merger *merger, struct codec *codec)
{
	size_t count = codec_count(codec, merger->streams.count, 80);

	for (size_t i = 0; i < count && codec_check(codec, count <= RELAY_STREAMS_MAX); i++) {
		stream_codec(codec_reads(codec) ? merger_stream_new(merger) : merger->streams.at[i],
			     codec);
	}
}

/* Counts CPUs that wait for their first switch. */
static void count_initial(struct merger *merger)
{
	merger->initial_count = 0;
	merger_each_cpu(merger, cpu, merger->initial_count += cpus_is_awaited(cpu));
}

/* Windows close up to the last event: it must be in the open window, or have a slice. */
static bool has_last(const struct merger *merger)
{
	int64_t window = setup_window(merger->setup, merger->last_ts);

	if (merger->has_started ? merger->last_ts < merger->window_end : merger->last_ts == 0) {
		return true;
	}
	for (size_t i = 0; i < merger->streams.count; i++) {
		const struct merger_stream *stream = merger->streams.at[i];

		for (size_t p = 0; p < stream->ready.count; p++) {
			const struct partial *partial = stream->ready.at[p];
			size_t slices = partial->slices.count;

			if (slices > 0 && partial->slices.at[slices - 1].window >= window) {
				return true;
			}
		}
	}
	return false;
}

void checkpoint_merger(struct merger *merger, struct codec *codec)
{
	const struct checkpoint checkpoint = { .codec = codec, .periods = merger->setup->periods };

	assert(merger->tasks_running == 0);
	assert(!merger->is_round_open);
	assert(!codec_reads(codec) || merger->streams.count == 0);
	if (!codec_reads(codec)) {
		assert(merger_is_sound(merger)); /* the reader refuses any other */
		cpus_note_running(merger);
	}
	window_codec(merger, codec);
	account_codec(codec, &merger->account);
	renames_codec(merger, codec);
	holes_codec(merger, codec);
	cpus_codec(merger, codec);
	streams_codec(merger, codec);
	checkpoint_tables(&merger->tables, &checkpoint);
	for (size_t i = 0; i < merger->streams.count && codec_check(codec, true); i++) {
		held_codec(merger->streams.at[i], codec);
	}
	if (codec_reads(codec)) {
		(void)codec_check(codec, has_last(merger));
		count_initial(merger);
		merger->bytes_after_round = merger->held_bytes;
		(void)codec_check(codec, merger_is_sound(merger));
	}
}
