/*
 * round: all records up to a bound, in tasks for workers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/probe.h"
#include "engine/merger/merger-state.h"
#include "engine/merger/ordered.h"
#include "engine/stats.h"

/* ---- slices ---- */

/* What workers added up without an order. */
static void add_items(struct merge *merge, const struct partial *partial, const struct slice *slice)
{
	struct shard *shard = &merge->rows.shards[0];

	for (uint32_t i = 0; i < slice->item_count; i++) {
		const struct slice_item *item = &partial->items.at[slice->item_first + i];
		const struct columns *columns =
			&merge->rows.layout.item_columns[item->analysis][item->table];
		uint64_t *numbers = partial->numbers.at + item->numbers;

		shard->running = item->analysis;
		columns_add(columns, shard_item_row(shard, item->table, &item->key), numbers);
	}
}

static void apply_slice(struct merge *merge, const struct merge_stream *stream,
			const struct partial *partial, const struct slice *slice)
{
	struct shard *shard = &merge->rows.shards[0];
	uint64_t late = slice->window < merge->window ? slice->events : 0;

	shard_each_with(shard, on_slice, (shard, slice, &stream->identity, late));
	add_items(merge, partial, slice);
	for (unsigned int kind = 0; stream->owns_cpu && kind < RUN_KINDS; kind++) {
		if (slice->cpu_ns[kind] > 0) {
			shard_each_with(
				shard, on_cpu,
				(shard, stream->cpu, (enum run_kind)kind, slice->cpu_ns[kind]));
		}
	}
	merge->window_has_gap |= stream->owns_cpu && slice->has_gap;
	merge->applied.events += slice->events;
	merge->applied.discarded += slice->discarded;
	merge->applied.lost_packets += slice->lost_packets;
	merge->applied.bad_packets += slice->bad_packets;
	merge->account.discarded += slice->discarded;
	merge->account.lost_packets += slice->lost_packets;
	merge->account.bad_packets += slice->bad_packets;
	merge->account.anomalies += slice->anomalies;
	merge->account.late_events += late;
	merge->window_late += late;
}

/* ---- the streams in an order that does not depend on their arrival ---- */

static int by_identity(const void *left, const void *right)
{
	const struct merge_stream *a = *(struct merge_stream *const *)left;
	const struct merge_stream *b = *(struct merge_stream *const *)right;

	if (a->identity.class_id != b->identity.class_id) {
		return a->identity.class_id < b->identity.class_id ? -1 : 1;
	}
	if (a->identity.cpu_id != b->identity.cpu_id) {
		return a->identity.cpu_id < b->identity.cpu_id ? -1 : 1;
	}
	return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static void order_streams(struct merge *merge)
{
	if (merge->order.count == merge->streams.count) {
		return;
	}
	merge->order.count = 0;
	vec_append(&merge->order, merge->streams.at, merge->streams.count);
	qsort(merge->order.at, merge->order.count, sizeof(merge->order.at[0]), by_identity);
}

/* ---- rounds ---- */

static void add_entries(struct merge *merge, struct merge_stream *stream, int64_t last)
{
	for (size_t p = 0; p < stream->ready.count; p++) {
		struct partial *partial = stream->ready.at[p];

		for (size_t s = partial->slices_used; s < partial->slices.count; s++) {
			struct slice *slice = &partial->slices.at[s];
			bool counts = !slice->is_counted && slice->window != WINDOW_BEFORE;

			if (slice->window > last) {
				return;
			}
			*vec_push(&merge->round.entries) = (struct round_entry){
				.partial = partial,
				.slice = slice,
				.channel = stream->identity.class_id,
				.cpu_id = stream->cpu ? stream->cpu->id : UINT64_MAX,
				.cpu_number = stream->cpu ? stream->cpu->number : UINT32_MAX,
				.owns_cpu = stream->owns_cpu,
				.counts = counts,
			};
			slice->is_counted = true;
			if (counts) {
				apply_slice(merge, stream, partial, slice);
			}
		}
	}
}

static void empty_seam(struct merge *merge)
{
	struct partial *seam = merge->seam;

	seam->groups.count = 0;
	seam->records.count = 0;
	seam->slices.count = 0;
	seam->chains.count = 0;
	memset(vec_push(&seam->slices), 0, sizeof(struct slice));
	seam->slices.at[0].chains = RECORD_NONE;
}

static size_t groups_of(const struct round *round)
{
	size_t groups = 0;

	for (size_t i = 0; i < round->entries.count; i++) {
		groups += round->entries.at[i].slice->group_count +
			  round->entries.at[i].slice->tally_count / 16;
	}
	return groups;
}

static void run_whole(struct merge_task *task)
{
	struct merge *merge = task->merge;
	struct rows *rows = &merge->rows;

	for (unsigned int i = 0; i < task->shards; i++) {
		unsigned int number = task->first_shard + i;

		rows->shards[number].lane = task->lane;
		shard_run(&rows->shards[number], &merge->round, number);
	}
	shard_count(&rows->shards[task->first_shard], &merge->round, task->stripe, task->stripes,
		    rows->class_names.at);
}

/* The task that is done last does what comes after all. */
static void run_task(struct job *job, struct worker *worker)
{
	struct merge_task *task = (struct merge_task *)job;

	(void)worker;
	run_whole(task);
	if (atomic_fetch_sub_explicit(&task->merge->tasks_left, 1, memory_order_acq_rel) == 1) {
		facts_run(&task->merge->rows);
	}
}

/* As many tasks as there are workers to do them, but none for next to nothing. */
static unsigned int task_count(const struct merge *merge)
{
	size_t by_work = groups_of(&merge->round) / GROUPS_PER_TASK;
	unsigned int most = merge->host.tasks_max;

	most = most > SHARDS ? SHARDS : most;
	return by_work < most ? (unsigned int)by_work : most;
}

/* Without workers this is what they would do; else it is too little for them. */
static void run_here(struct merge *merge)
{
	struct stats *stats = merge->host.tasks_max == 0 ? merge->setup->stats : NULL;
	struct merge_task whole = {
		.merge = merge, .lane = rows_lane(&merge->rows, 0), .shards = SHARDS, .stripes = 1
	};
	uint64_t begin = stats ? stats_now() : 0;

	run_whole(&whole);
	facts_run(&merge->rows);
	if (stats) {
		stats->job_ns[JOB_MERGE] += stats_now() - begin;
		stats->jobs[JOB_MERGE]++;
	}
}

static void run_round(struct merge *merge)
{
	unsigned int count = task_count(merge), shard = 0;

	probe_round(merge->round.bound, merge->round.entries.count, count);
	if (count == 0) {
		run_here(merge);
		return;
	}
	merge->tasks_running = count;
	atomic_store_explicit(&merge->tasks_left, count, memory_order_relaxed);
	for (unsigned int i = 0; i < count; i++) {
		struct merge_task *task = &merge->tasks[i];

		*task = (struct merge_task){
			.job = { .run = run_task, .kind = JOB_MERGE, .user = merge },
			.merge = merge,
			.lane = rows_lane(&merge->rows, i),
			.first_shard = shard,
			.shards = (SHARDS - shard) / (count - i),
			.stripe = i,
			.stripes = count,
		};
		shard += task->shards;
	}
	for (unsigned int i = 0; i < count; i++) {
		merge->host.submit(merge->host.user, &merge->tasks[i].job);
	}
}

int64_t round_last(const struct merge *merge)
{
	if (merge->is_before_range) {
		return WINDOW_BEFORE;
	}
	if (merge->close_at < merge->window_end) {
		return INT64_MAX - 1; /* the trace ends in it */
	}
	return merge->window_is_long ? (int64_t)(merge->window_end / merge->setup->window_ns) - 1
				     : merge->window;
}

static bool is_for_rename(const struct merge *merge, uint64_t bound)
{
	return !merge->closes && merge->renames.count > 0 && merge->renames.at[0].ts == bound;
}

void round_begin(struct merge *merge, uint64_t bound, bool closes)
{
	order_streams(merge);
	merge->closes = closes;
	merge->last_bound = bound;
	merge->round.number++;
	merge->round.bound = bound;
	merge->round.former = is_for_rename(merge, bound) ? merge->renames.at[0].from : INT64_MIN;
	merge->round.entries.count = 0;
	empty_seam(merge);
	seam_resolve(merge, bound);
	seam_charge(merge, closes ? merge->close_at : bound, closes);
	for (size_t i = 0; i < merge->order.count; i++) {
		add_entries(merge, merge->order.at[i], round_last(merge));
	}
	*vec_push(&merge->round.entries) = (struct round_entry){
		.partial = merge->seam,
		.slice = &merge->seam->slices.at[0],
		.cpu_id = UINT64_MAX,
		.owns_cpu = true,
	};
	run_round(merge);
}

/* ---- partials that were used ---- */

/* Whether nothing of the partial is in a window after @last, and no record at @bound or later. */
static bool is_used_up(struct partial *partial, int64_t last, uint64_t bound)
{
	size_t slices = partial->slices.count;

	return (slices == 0 || partial->slices.at[slices - 1].window <= last) &&
	       (bound == UINT64_MAX || partial->records_until < bound);
}

void round_forget(struct merge_stream *stream, int64_t last, uint64_t bound, bool closed)
{
	size_t kept = 0;

	for (size_t i = 0; i < stream->ready.count; i++) {
		struct partial *partial = stream->ready.at[i];

		while (closed && partial->slices_used < partial->slices.count &&
		       partial->slices.at[partial->slices_used].window <= last) {
			partial->slices_used++;
		}
		if (is_used_up(partial, last, closed ? UINT64_MAX : bound)) {
			stream->merge->held_bytes -= partial->held_bytes;
			seam_forget(stream, partial);
			shelf_put(stream->merge->setup->shelf, partial);
		} else {
			stream->ready.at[kept++] = partial;
		}
	}
	stream->ready.count = kept;
}
