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

static void held_partial_flat(struct merge *merge, struct flat *flat, struct partial *partial)
{
	const struct partial_rules rules = { .setup = merge->setup,
					     .classes = (uint32_t)merge->rows.class_names.count,
					     .is_of_merger = true };
	struct err err;

	(void)flat_check(flat, partial_flat(flat, partial, &rules, &err) == 0);
}

/* One that the merger took already: who ran at its begin is known, or being waited for. */
static void taken_flat(struct merge *merge, struct flat *flat, struct partial *partial)
{
	size_t used = partial->slices_used;

	if (flat_reads(flat)) {
		held_partial_flat(merge, flat, partial);
	} else {
		struct partial *remains = remains_of(partial);

		held_partial_flat(merge, flat, remains);
		partial_free(remains);
	}
	for (size_t i = flat_reads(flat) ? 0 : used; i < partial->slices.count; i++) {
		flat_bool(flat, &partial->slices.at[i].is_counted);
	}
	flat_bool(flat, &partial->waits);
	flat_u64(flat, &partial->lined_until);
}

static void hold(struct merge *merge, struct partial *partial)
{
	partial->held_bytes = partial_bytes(partial);
	merge->held_bytes += partial->held_bytes;
}

/* ---- streams ---- */

void stream_identity_flat(struct flat *flat, struct stream_identity *identity)
{
	flat_u64(flat, &identity->class_id);
	flat_u64(flat, &identity->cpu_id);
	flat_u64(flat, &identity->instance_id);
	flat_bool(flat, &identity->has_switches);
	flat_bool(flat, &identity->starts_late);
	flat_u64(flat, &identity->begin);
}

static void held_flat(struct merge_stream *stream, struct flat *flat)
{
	struct merge *merge = stream->merge;
	size_t count = flat_count(flat, stream->early.count, 8);

	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		if (flat_reads(flat)) {
			*vec_push(&stream->early) = (struct held){ .partial = partial_new() };
		}
		flat_u64(flat, &stream->early.at[i].seq);
		held_partial_flat(merge, flat, stream->early.at[i].partial);
		if (flat_reads(flat)) {
			hold(merge, stream->early.at[i].partial);
		}
	}
	count = flat_count(flat, stream->ready.count, 8);
	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		if (flat_reads(flat)) {
			*vec_push(&stream->ready) = partial_new();
		}
		if (merge->has_started) {
			taken_flat(merge, flat, stream->ready.at[i]);
		} else {
			held_partial_flat(merge, flat, stream->ready.at[i]);
		}
		if (flat_reads(flat)) {
			hold(merge, stream->ready.at[i]);
		}
	}
}

static void stream_flat(struct merge_stream *stream, struct flat *flat)
{
	stream_identity_flat(flat, &stream->identity);
	flat_bool(flat, &stream->is_identified);
	flat_bool(flat, &stream->is_excluded);
	flat_bool(flat, &stream->is_ended);
	flat_bool(flat, &stream->owns_cpu);
	flat_u64(flat, &stream->next_seq);
	flat_u64(flat, &stream->until);
	flat_bool(flat, &stream->has_until);
	flat_u64(flat, &stream->known_seq);
	flat_u64(flat, &stream->known_ts);
	flat_bool(flat, &stream->has_known);
	flat_u64(flat, &stream->end_seq);
	if (flat_reads(flat) && stream->is_identified && stream->identity.cpu_id != UINT64_MAX) {
		stream->cpu = rows_cpu(&stream->merge->rows, stream->identity.cpu_id);
		if (stream->owns_cpu &&
		    flat_check(flat, stream->identity.has_switches && !stream->cpu->owner)) {
			stream->cpu->owner = stream;
		}
	}
	(void)flat_check(flat, stream->cpu || !stream->owns_cpu);
	/* One of which nothing was known comes anew. */
	stream->is_ended |= flat_reads(flat) && !stream->is_identified;
}

/* ---- CPUs ---- */

static void line_flat(struct flat *flat, struct cpu *cpu)
{
	size_t count = flat_count(flat, cpu->segments.count - cpu->segments_used, 23);

	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		segment_flat(flat, flat_reads(flat) ? vec_push(&cpu->segments)
						    : &cpu->segments.at[cpu->segments_used + i]);
	}
	count = flat_count(flat, cpu->line.count, 16);
	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		struct line_change *change = flat_at(flat, &cpu->line, i);

		flat_u64(flat, &change->ts);
		flat_i64(flat, &change->key);
	}
}

static void cpu_flat(struct merge *merge, struct flat *flat, struct cpu *cpu)
{
	const struct columns *columns = &merge->rows.layout.columns[SCOPE_CPU];
	uint8_t state = (uint8_t)cpu->state;

	flat_u8(flat, &state);
	if (flat_check(flat, state <= CPU_UNKNOWN)) {
		cpu->state = (enum cpu_state)state;
	}
	flat_i32(flat, &cpu->tid);
	flat_u64(flat, &cpu->since);
	flat_u64(flat, &cpu->head_limit);
	flat_bool(flat, &cpu->head_is_new);
	flat_bool(flat, &cpu->head_has_prio);
	flat_i32(flat, &cpu->head_tid);
	flat_i32(flat, &cpu->head_prio);
	flat_bytes(flat, cpu->head_name, NAME_BYTES);
	line_flat(flat, cpu);
	for (uint32_t i = 0; i < columns->count; i++) { /* of sums only: no analysis has others */
		flat_u64(flat, &cpu->sums.window[i]);
		flat_u64(flat, &cpu->sums.total[i]);
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
static void cpus_flat(struct merge *merge, struct flat *flat)
{
	size_t count = flat_count(flat, kh_size(merge->rows.cpus), 40);
	uint64_t from = 0;

	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		uint64_t id = flat_reads(flat) ? 0 : least_cpu(merge, from);

		flat_u64(flat, &id);
		if (flat_check(flat, id >= from && (i == 0 || from > 0))) {
			cpu_flat(merge, flat, rows_cpu(&merge->rows, id));
		}
		from = id + 1;
	}
}

/* ---- the merger ---- */

static void window_flat(struct merge *merge, struct flat *flat)
{
	struct slice *applied = &merge->applied;

	flat_bool(flat, &merge->needs_lines);
	flat_bool(flat, &merge->has_started);
	flat_bool(flat, &merge->is_before_range);
	flat_bool(flat, &merge->window_is_long);
	flat_bool(flat, &merge->window_has_gap);
	flat_u64(flat, &merge->window_begin);
	flat_u64(flat, &merge->window_end);
	flat_u64(flat, &merge->close_at);
	flat_i64(flat, &merge->window);
	flat_u64(flat, &merge->window_seq);
	flat_u64(flat, &merge->begin);
	flat_u64(flat, &merge->first_ts);
	flat_u64(flat, &merge->last_ts);
	flat_u64(flat, &merge->last_bound);
	flat_u64(flat, &merge->closed_end);
	flat_u64(flat, &applied->events);
	flat_u64(flat, &applied->discarded);
	flat_u64(flat, &applied->lost_packets);
	flat_u64(flat, &applied->bad_packets);
	flat_u64(flat, &merge->window_late);
	flat_u64(flat, &merge->total_events);
	(void)flat_check(flat, !merge->has_started || (merge->window_begin <= merge->window_end &&
						       merge->close_at <= merge->window_end));
}

static void account_flat(struct flat *flat, struct merge_account *account)
{
	flat_u64(flat, &account->events);
	flat_u64(flat, &account->packets);
	flat_u64(flat, &account->bytes);
	flat_u64(flat, &account->discarded);
	flat_u64(flat, &account->lost_packets);
	flat_u64(flat, &account->bad_packets);
	flat_u64(flat, &account->late_events);
	flat_u64(flat, &account->anomalies);
}

static void renames_flat(struct merge *merge, struct flat *flat)
{
	size_t count = flat_count(flat, merge->renames.count, 16);

	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		rename_flat(flat, flat_at(flat, &merge->renames, i));
	}
}

static void streams_flat(struct merge *merge, struct flat *flat)
{
	size_t count = flat_count(flat, merge->streams.count, 80);

	for (size_t i = 0; i < count && flat_check(flat, count <= RELAY_STREAMS_MAX); i++) {
		stream_flat(flat_reads(flat) ? merge_stream_new(merge) : merge->streams.at[i],
			    flat);
	}
}

/* CPUs that wait for their first switch; each has a stream that will tell. */
static void count_heads(struct merge *merge)
{
	merge->heads = 0;
	merge_each_cpu(merge, cpu, merge->heads += cpu->state == CPU_HEAD);
}

/* Windows are closed up to the last event: it is in the open one, or there is a slice for it. */
static bool has_last(const struct merge *merge)
{
	int64_t window = map_window(merge->setup, merge->last_ts);

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

void merge_flat(struct merge *merge, struct flat *flat)
{
	const struct carried carried = { .flat = flat, .periods = merge->setup->periods };

	if (!flat_reads(flat)) {
		seam_keep_lines(merge);
	}
	window_flat(merge, flat);
	account_flat(flat, &merge->account);
	renames_flat(merge, flat);
	cpus_flat(merge, flat);
	streams_flat(merge, flat);
	rows_flat(&merge->rows, &carried);
	for (size_t i = 0; i < merge->streams.count && flat_check(flat, true); i++) {
		held_flat(merge->streams.at[i], flat);
	}
	if (flat_reads(flat)) {
		(void)flat_check(flat, has_last(merge));
		count_heads(merge);
		merge->kept_bytes = merge->held_bytes;
	}
}
