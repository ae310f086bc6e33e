/*
 * round: all records up to a bound, in tasks for workers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "engine/merger/merger-state.h"
#include "engine/merger/ordered.h"
#include "engine/stats.h"

/* ---- slices ---- */

/* What workers added up without an order. */
static void add_keyed_rows(struct merger *merger, const struct partial *partial,
			   const struct slice *slice)
{
	struct shard *shard = &merger->tables.shards[0];

	for (uint32_t i = 0; i < slice->keyed_count; i++) {
		const struct slice_row *keyed = &partial->keyed_rows.at[slice->keyed_first + i];
		const struct columns *columns =
			&merger->tables.layout.keyed_columns[keyed->analysis][keyed->table];
		uint64_t *numbers = partial->numbers.at + keyed->numbers;

		shard->running = keyed->analysis;
		columns_add(columns, shard_keyed_row(shard, keyed->table, &keyed->key), numbers);
	}
}

static void apply_slice(struct merger *merger, const struct merger_stream *stream,
			const struct partial *partial, const struct slice *slice)
{
	struct shard *shard = &merger->tables.shards[0];
	uint64_t late = slice->window < merger->window ? slice->events : 0;

	shard_each_with(shard, on_slice, (shard, slice, &stream->identity, late));
	add_keyed_rows(merger, partial, slice);
	for (unsigned int kind = 0; stream->owns_cpu && kind < RUN_KINDS; kind++) {
		if (slice->cpu_ns[kind] > 0) {
			shard_each_with(
				shard, on_cpu,
				(shard, stream->cpu, (enum run_kind)kind, slice->cpu_ns[kind]));
		}
	}
	merger->window_has_gap |= stream->owns_cpu && slice->has_gap;
	merger->applied.events += slice->events;
	merger->applied.discarded += slice->discarded;
	merger->applied.lost_packets += slice->lost_packets;
	merger->applied.bad_packets += slice->bad_packets;
	merger->account.discarded += slice->discarded;
	merger->account.lost_packets += slice->lost_packets;
	merger->account.bad_packets += slice->bad_packets;
	merger->account.anomalies += slice->anomalies;
	merger->account.late_events += late;
	merger->window_late += late;
}

/* ---- the streams in an order that does not depend on their arrival ---- */

static int by_identity(const void *left, const void *right)
{
	const struct merger_stream *a = *(struct merger_stream *const *)left;
	const struct merger_stream *b = *(struct merger_stream *const *)right;

	if (a->identity.class_id != b->identity.class_id) {
		return a->identity.class_id < b->identity.class_id ? -1 : 1;
	}
	if (a->identity.cpu_id != b->identity.cpu_id) {
		return a->identity.cpu_id < b->identity.cpu_id ? -1 : 1;
	}
	return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static void order_streams(struct merger *merger)
{
	if (merger->order.count == merger->streams.count) {
		return;
	}
	merger->order.count = 0;
	vec_append(&merger->order, merger->streams.at, merger->streams.count);
	qsort(merger->order.at, merger->order.count, sizeof(merger->order.at[0]), by_identity);
}

/* ---- rounds ---- */

static void add_entries(struct merger *merger, struct merger_stream *stream, int64_t last)
{
	for (size_t p = 0; p < stream->ready.count; p++) {
		struct partial *partial = stream->ready.at[p];

		for (size_t s = partial->slices_used; s < partial->slices.count; s++) {
			struct slice *slice = &partial->slices.at[s];
			bool counts = !slice->is_counted && slice->window != WINDOW_BEFORE;

			if (slice->window > last) {
				return;
			}
			*vec_push(&merger->round.entries) = (struct round_entry){
				.partial = partial,
				.slice = slice,
				.source = { .channel = stream->identity.class_id,
					    .cpu_id = stream->cpu ? stream->cpu->id : UINT64_MAX,
					    .cpu_number =
						    stream->cpu ? stream->cpu->number : UINT32_MAX,
					    .owns_cpu = stream->owns_cpu },
				.counts = counts,
			};
			slice->is_counted = true;
			if (counts) {
				apply_slice(merger, stream, partial, slice);
			}
		}
	}
}

static void empty_stitched(struct merger *merger)
{
	struct partial *stitched = merger->stitched;

	stitched->groups.count = 0;
	stitched->records.count = 0;
	stitched->slices.count = 0;
	stitched->chains.count = 0;
	memset(vec_push(&stitched->slices), 0, sizeof(struct slice));
	stitched->slices.at[0].chains = RECORD_NONE;
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

static void run_whole(struct merger_task *task)
{
	struct merger *merger = task->merger;
	struct tables *tables = &merger->tables;

	for (unsigned int i = 0; i < task->shards; i++) {
		unsigned int number = task->first_shard + i;

		tables->shards[number].accumulator = task->accumulator;
		round_run_shard(&tables->shards[number], &merger->round, number);
	}
	round_count_shard(&tables->shards[task->first_shard], &merger->round, task->stripe,
			  task->stripes, tables->class_names.at);
}

/* The task that is done last does what comes after all. */
static void run_task(struct job *job, void *scratch)
{
	struct merger_task *task = (struct merger_task *)job;

	(void)scratch;
	run_whole(task);
	if (atomic_fetch_sub_explicit(&task->merger->tasks_left, 1, memory_order_acq_rel) == 1) {
		ordered_run(&task->merger->tables);
	}
}

/* As many tasks as there are workers to do them, but none for next to nothing. */
static unsigned int task_count(const struct merger *merger)
{
	size_t by_work = groups_of(&merger->round) / GROUPS_PER_TASK;
	unsigned int most = merger->host.tasks_max;

	most = most > SHARDS ? SHARDS : most;
	return by_work < most ? (unsigned int)by_work : most;
}

/* Without workers this is what they would do; else it is too little for them. */
static void run_here(struct merger *merger)
{
	struct stats *stats = merger->host.tasks_max == 0 ? merger->setup->stats : NULL;
	struct merger_task whole = { .merger = merger,
				     .accumulator = accumulator_of_task(&merger->tables, 0),
				     .shards = SHARDS,
				     .stripes = 1 };
	uint64_t begin = stats ? now_thread_cpu_ns() : 0;

	run_whole(&whole);
	ordered_run(&merger->tables);
	if (stats) {
		stats->job_ns[JOB_MERGER] += now_thread_cpu_ns() - begin;
		stats->jobs[JOB_MERGER]++;
	}
}

static void run_round(struct merger *merger)
{
	unsigned int count = task_count(merger), shard = 0;

	probe_round(merger->round.bound, merger->round.entries.count, count);
	if (count == 0) {
		run_here(merger);
		return;
	}
	merger->tasks_running = count;
	atomic_store_explicit(&merger->tasks_left, count, memory_order_relaxed);
	for (unsigned int i = 0; i < count; i++) {
		struct merger_task *task = &merger->tasks[i];

		*task = (struct merger_task){
			.job = { .run = run_task, .kind = JOB_MERGER, .user = merger },
			.merger = merger,
			.accumulator = accumulator_of_task(&merger->tables, i),
			.first_shard = shard,
			.shards = (SHARDS - shard) / (count - i),
			.stripe = i,
			.stripes = count,
		};
		shard += task->shards;
	}
	for (unsigned int i = 0; i < count; i++) {
		merger->host.submit(merger->host.user, &merger->tasks[i].job);
	}
}

int64_t round_last(const struct merger *merger)
{
	if (merger->is_before_range) {
		return WINDOW_BEFORE;
	}
	if (merger->close_at < merger->window_end) {
		return INT64_MAX - 1; /* the trace ends in it */
	}
	return merger->window_is_long ? (int64_t)(merger->window_end / merger->setup->window_ns) - 1
				      : merger->window;
}

static bool is_for_rename(const struct merger *merger, uint64_t bound)
{
	return !merger->closes && merger->renames.count > 0 && merger->renames.at[0].ts == bound;
}

void round_begin(struct merger *merger, uint64_t bound, bool closes)
{
	order_streams(merger);
	merger->closes = closes;
	merger->last_bound = bound;
	merger->round.number++;
	merger->round.bound = bound;
	merger->round.former =
		is_for_rename(merger, bound) ? merger->renames.at[0].from : INT64_MIN;
	merger->round.entries.count = 0;
	empty_stitched(merger);
	cpus_resolve(merger, bound);
	cpus_charge(merger, closes ? merger->close_at : bound, closes);
	for (size_t i = 0; i < merger->order.count; i++) {
		add_entries(merger, merger->order.at[i], round_last(merger));
	}
	*vec_push(&merger->round.entries) = (struct round_entry){
		.partial = merger->stitched,
		.slice = &merger->stitched->slices.at[0],
		.source = { .cpu_id = UINT64_MAX, .owns_cpu = true },
	};
	run_round(merger);
}

/* ---- partials that were used ---- */

/* Whether nothing of the partial is in a window after @last, and no record at @bound or later. */
static bool is_used_up(struct partial *partial, int64_t last, uint64_t bound)
{
	size_t slices = partial->slices.count;

	return (slices == 0 || partial->slices.at[slices - 1].window <= last) &&
	       (bound == UINT64_MAX || partial->records_until < bound);
}

void round_forget(struct merger_stream *stream, int64_t last, uint64_t bound, bool closed)
{
	size_t kept = 0;

	for (size_t i = 0; i < stream->ready.count; i++) {
		struct partial *partial = stream->ready.at[i];

		while (closed && partial->slices_used < partial->slices.count &&
		       partial->slices.at[partial->slices_used].window <= last) {
			partial->slices_used++;
		}
		if (is_used_up(partial, last, closed ? UINT64_MAX : bound)) {
			stream->merger->held_bytes -= partial->held_bytes;
			cpus_forget(stream, partial);
			partial_cache_put(stream->merger->setup->partial_cache, partial);
		} else {
			stream->ready.at[kept++] = partial;
		}
	}
	stream->ready.count = kept;
}
