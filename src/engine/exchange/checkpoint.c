/*
 * rolling: see rolling.h.
 */
#include "engine/exchange/checkpoint.h"

#include <errno.h>

#include "base/limits.h"
#include "engine/exchange/partial-codec.h"
#include "engine/merger/merger-state.h"
#include "engine/tables/columns.h"

/* ---- partials that are not used up ---- */

/* The groups of one slice that still have something, in their order; @groups: of each record. */
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

/* What the groups have, in the order it was made; @numbers: the new group of each, and then the new
 * number. */
static void copy_records(const struct partial *from, struct partial *to, uint32_t *numbers)
{
	for (size_t i = 0; i < from->made.count; i++) {
		uint32_t at = from->made.at[i], made = (uint32_t)to->records.count;

		if (numbers[at] != RECORD_NONE) {
			*vec_push_in_line(&to->records) = from->records.at[at];
			*vec_push(&to->made) = made;
			partial_chain(to, numbers[at], made);
			numbers[at] = made;
		}
	}
}

/* Which slice each group is of: those that the merger added are in no order. */
static void find_slices(const struct partial *partial, uint32_t *slices)
{
	memset(slices, 0xFF, (partial->groups.count + 1) * sizeof(*slices));
	for (uint32_t s = 0; s < partial->slices.count; s++) {
		const struct slice *slice = &partial->slices.at[s];

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

/* What of the sums of a slice is still to be added. */
static void copy_slice(const struct partial *from, const struct slice *slice, struct partial *to)
{
	struct slice *copy = vec_push(&to->slices);

	*copy = *slice;
	copy->chains = RECORD_NONE;
	copy->tally_first = (uint32_t)to->tallies.count;
	copy->item_first = (uint32_t)to->items.count;
	if (slice->is_counted) {
		copy->tally_count = 0;
		copy->item_count = 0;
		return;
	}
	for (uint32_t i = 0; i < slice->tally_count; i++) {
		*vec_push(&to->tallies) = from->tallies.at[slice->tally_first + i];
	}
	for (uint32_t i = 0; i < slice->item_count; i++) {
		*vec_push(&to->items) = from->items.at[slice->item_first + i];
	}
}

/* A partial as a worker might have made it, of what is left of one that the merger works on. */
static struct partial *remains_of(const struct partial *from)
{
	struct partial *to = partial_new();
	uint32_t *slices = mem_alloc((from->groups.count + 1) * sizeof(*slices));
	uint32_t *numbers = mem_alloc((from->records.count + 1) * sizeof(*numbers));

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
		uint32_t at = from->made.at[from->currents.at[i]];

		if (numbers[at] != RECORD_NONE) {
			*vec_push(&to->currents) = numbers[at];
		}
	}
	vec_append(&to->numbers, from->numbers.at, from->numbers.count);
	free(slices);
	free(numbers);
	return to;
}

static void held_partial_codec(struct merge *merge, struct codec *codec, struct partial *partial)
{
	const struct partial_rules rules = { .setup = merge->setup,
					     .classes = (uint32_t)merge->rows.class_names.count,
					     .is_of_merger = true };
	struct err err;

	(void)codec_check(codec, partial_codec(codec, partial, &rules, &err) == 0);
}

/* One that the merger took already: who ran at its begin is known, or being waited for. */
static void taken_codec(struct merge *merge, struct codec *codec, struct partial *partial)
{
	size_t used = partial->slices_used;

	if (codec_reads(codec)) {
		held_partial_codec(merge, codec, partial);
	} else {
		struct partial *remains = remains_of(partial);

		held_partial_codec(merge, codec, remains);
		partial_free(remains);
	}
	for (size_t i = codec_reads(codec) ? 0 : used; i < partial->slices.count; i++) {
		codec_bool(codec, &partial->slices.at[i].is_counted);
	}
	codec_bool(codec, &partial->waits);
	codec_u64(codec, &partial->lined_until);
}

static void hold(struct merge *merge, struct partial *partial)
{
	partial->held_bytes = partial_bytes(partial);
	merge->held_bytes += partial->held_bytes;
}

/* ---- streams ---- */

void stream_identity_codec(struct codec *codec, struct stream_identity *identity)
{
	codec_u64(codec, &identity->class_id);
	codec_u64(codec, &identity->cpu_id);
	codec_u64(codec, &identity->instance_id);
	codec_bool(codec, &identity->has_switches);
	codec_bool(codec, &identity->starts_late);
	codec_u64(codec, &identity->begin);
}

static void held_codec(struct merge_stream *stream, struct codec *codec)
{
	struct merge *merge = stream->merge;
	size_t count = codec_count(codec, stream->early.count, 8);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		if (codec_reads(codec)) {
			*vec_push(&stream->early) = (struct held){ .partial = partial_new() };
		}
		codec_u64(codec, &stream->early.at[i].seq);
		held_partial_codec(merge, codec, stream->early.at[i].partial);
		if (codec_reads(codec)) {
			hold(merge, stream->early.at[i].partial);
		}
	}
	count = codec_count(codec, stream->ready.count, 8);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		if (codec_reads(codec)) {
			*vec_push(&stream->ready) = partial_new();
		}
		if (merge->has_started) {
			taken_codec(merge, codec, stream->ready.at[i]);
		} else {
			held_partial_codec(merge, codec, stream->ready.at[i]);
		}
		if (codec_reads(codec)) {
			hold(merge, stream->ready.at[i]);
		}
	}
}

static void stream_codec(struct merge_stream *stream, struct codec *codec)
{
	stream_identity_codec(codec, &stream->identity);
	codec_bool(codec, &stream->is_identified);
	codec_bool(codec, &stream->is_excluded);
	codec_bool(codec, &stream->is_ended);
	codec_bool(codec, &stream->owns_cpu);
	codec_u64(codec, &stream->next_seq);
	codec_u64(codec, &stream->until);
	codec_bool(codec, &stream->has_until);
	codec_u64(codec, &stream->known_seq);
	codec_u64(codec, &stream->known_ts);
	codec_bool(codec, &stream->has_known);
	codec_u64(codec, &stream->end_seq);
	if (codec_reads(codec) && stream->is_identified && stream->identity.cpu_id != UINT64_MAX) {
		stream->cpu = rows_cpu(&stream->merge->rows, stream->identity.cpu_id);
		if (stream->owns_cpu &&
		    codec_check(codec, stream->identity.has_switches && !stream->cpu->owner)) {
			stream->cpu->owner = stream;
		}
	}
	(void)codec_check(codec, stream->cpu || !stream->owns_cpu);
	/* One of which nothing was known comes anew. */
	stream->is_ended |= codec_reads(codec) && !stream->is_identified;
}

/* ---- CPUs ---- */

static void line_codec(struct codec *codec, struct cpu *cpu)
{
	size_t count = codec_count(codec, cpu->segments.count - cpu->segments_used, 23);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		segment_codec(codec, codec_reads(codec)
					     ? vec_push(&cpu->segments)
					     : &cpu->segments.at[cpu->segments_used + i]);
	}
	count = codec_count(codec, cpu->line.count, 16);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct line_change *change = codec_at(codec, &cpu->line, i);

		codec_u64(codec, &change->ts);
		codec_i64(codec, &change->key);
	}
}

static void cpu_codec(struct merge *merge, struct codec *codec, struct cpu *cpu)
{
	const struct columns *columns = &merge->rows.layout.columns[SCOPE_CPU];
	uint8_t state = (uint8_t)cpu->state;

	codec_u8(codec, &state);
	if (codec_check(codec, state <= CPU_UNKNOWN)) {
		cpu->state = (enum cpu_state)state;
	}
	codec_i32(codec, &cpu->tid);
	codec_u64(codec, &cpu->since);
	codec_u64(codec, &cpu->initial_limit);
	codec_bool(codec, &cpu->initial_is_new);
	codec_bool(codec, &cpu->initial_has_prio);
	codec_i32(codec, &cpu->initial_tid);
	codec_i32(codec, &cpu->initial_prio);
	codec_bytes(codec, cpu->initial_name, NAME_BYTES);
	line_codec(codec, cpu);
	for (uint32_t i = 0; i < columns->count; i++) { /* of sums only: no analysis has others */
		codec_u64(codec, &cpu->sums.window[i]);
		codec_u64(codec, &cpu->sums.total[i]);
	}
}

/* The least id of a CPU from @from on. */
static uint64_t least_cpu(const struct merge *merge, uint64_t from)
{
	uint64_t found = UINT64_MAX;

	for (khint_t i = kh_begin(merge->rows.cpus); i != kh_end(merge->rows.cpus); i++) {
		if (kh_exist(merge->rows.cpus, i) && kh_key(merge->rows.cpus, i) >= from &&
		    kh_key(merge->rows.cpus, i) < found) {
			found = kh_key(merge->rows.cpus, i);
		}
	}
	return found;
}

/* By their ids: no CPU is there twice. */
static void cpus_codec(struct merge *merge, struct codec *codec)
{
	size_t count = codec_count(codec, kh_size(merge->rows.cpus), 40);
	uint64_t from = 0;

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		uint64_t id = codec_reads(codec) ? 0 : least_cpu(merge, from);

		codec_u64(codec, &id);
		if (codec_check(codec, id >= from && (i == 0 || from > 0))) {
			cpu_codec(merge, codec, rows_cpu(&merge->rows, id));
		}
		from = id + 1;
	}
}

/* ---- the merger ---- */

static void window_codec(struct merge *merge, struct codec *codec)
{
	struct slice *applied = &merge->applied;

	codec_bool(codec, &merge->needs_lines);
	codec_bool(codec, &merge->has_started);
	codec_bool(codec, &merge->is_before_range);
	codec_bool(codec, &merge->window_is_long);
	codec_bool(codec, &merge->window_has_gap);
	codec_u64(codec, &merge->window_begin);
	codec_u64(codec, &merge->window_end);
	codec_u64(codec, &merge->close_at);
	codec_i64(codec, &merge->window);
	codec_u64(codec, &merge->window_seq);
	codec_u64(codec, &merge->begin);
	codec_u64(codec, &merge->first_ts);
	codec_u64(codec, &merge->last_ts);
	codec_u64(codec, &merge->last_bound);
	codec_u64(codec, &merge->closed_end);
	codec_u64(codec, &applied->events);
	codec_u64(codec, &applied->discarded);
	codec_u64(codec, &applied->lost_packets);
	codec_u64(codec, &applied->bad_packets);
	codec_u64(codec, &merge->window_late);
	codec_u64(codec, &merge->total_events);
	(void)codec_check(codec, !merge->has_started || (merge->window_begin <= merge->window_end &&
							 merge->close_at <= merge->window_end));
}

static void account_codec(struct codec *codec, struct merge_account *account)
{
	codec_u64(codec, &account->events);
	codec_u64(codec, &account->packets);
	codec_u64(codec, &account->bytes);
	codec_u64(codec, &account->discarded);
	codec_u64(codec, &account->lost_packets);
	codec_u64(codec, &account->bad_packets);
	codec_u64(codec, &account->late_events);
	codec_u64(codec, &account->anomalies);
}

static void renames_codec(struct merge *merge, struct codec *codec)
{
	size_t count = codec_count(codec, merge->renames.count, 16);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		rename_codec(codec, codec_at(codec, &merge->renames, i));
	}
}

static void streams_codec(struct merge *merge, struct codec *codec)
{
	size_t count = codec_count(codec, merge->streams.count, 80);

	for (size_t i = 0; i < count && codec_check(codec, count <= RELAY_STREAMS_MAX); i++) {
		stream_codec(codec_reads(codec) ? merge_stream_new(merge) : merge->streams.at[i],
			     codec);
	}
}

/* CPUs that wait for their first switch; each has a stream that will tell. */
static void count_initial(struct merge *merge)
{
	merge->initial_count = 0;
	merge_each_cpu(merge, cpu, merge->initial_count += cpu->state == CPU_INITIAL);
}

/* Windows are closed up to the last event: it is in the open one, or there is a slice for it. */
static bool has_last(const struct merge *merge)
{
	int64_t window = setup_window(merge->setup, merge->last_ts);

	if (merge->has_started ? merge->last_ts < merge->window_end : merge->last_ts == 0) {
		return true;
	}
	for (size_t i = 0; i < merge->streams.count; i++) {
		const struct merge_stream *stream = merge->streams.at[i];

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

void merge_codec(struct merge *merge, struct codec *codec)
{
	const struct carried carried = { .codec = codec, .periods = merge->setup->periods };

	if (!codec_reads(codec)) {
		seam_keep_lines(merge);
	}
	window_codec(merge, codec);
	account_codec(codec, &merge->account);
	renames_codec(merge, codec);
	cpus_codec(merge, codec);
	streams_codec(merge, codec);
	rows_codec(&merge->rows, &carried);
	for (size_t i = 0; i < merge->streams.count && codec_check(codec, true); i++) {
		held_codec(merge->streams.at[i], codec);
	}
	if (codec_reads(codec)) {
		(void)codec_check(codec, has_last(merge));
		count_initial(merge);
		merge->kept_bytes = merge->held_bytes;
	}
}
