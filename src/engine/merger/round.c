/*
 * round: see round.h.
 */
#include "engine/merger/round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "engine/merger/cpus.h"
#include "engine/merger/merger-state.h"
#include "engine/merger/ordered.h"
#include "engine/stats.h"

/* ---- sums of slices ---- */

/* Rows that workers added up, since they need no order. */
static void add_keyed_rows(struct merger *merger, const struct partial *partial,
			   const struct slice *slice)
{
	struct shard *shard = &merger->tables.shards[0];

	assert(slice->keyed_count == 0 ||
	       slice->keyed_first + (size_t)slice->keyed_count <= partial->keyed_rows.count);
	for (uint32_t i = 0; i < slice->keyed_count; i++) {
		const struct slice_row *keyed = &partial->keyed_rows.at[slice->keyed_first + i];
		const struct columns *columns =
			&merger->tables.layout.keyed_columns[keyed->analysis][keyed->table];
		uint64_t *numbers = partial->numbers.at + keyed->numbers;
		struct keyed_row *row;

		shard->running = keyed->analysis;
		row = shard_keyed(shard, keyed->table, &keyed->key);
		columns_add(columns, row->window, numbers);
		/* Beyond the bound it is the row of all others, which has its own name. */
		if (keyed->name > 0 && row_key_equal(&row->key, &keyed->key)) {
			keyed_label(row, (const char *)(partial->numbers.at + keyed->name));
		}
	}
}

/* Adds what a slice counts to the account of the trace and to that of the open window. */
static void account_slice(struct merger *merger, const struct slice *slice, uint64_t late)
{
	merger->applied.events += slice->events;
	merger->applied.discarded += slice->discarded;
	merger->applied.lost_packets += slice->lost_packets;
	merger->applied.bad_packets += slice->bad_packets;
	merger->applied.anomalies += slice->anomalies + slice->misfits;
	merger->applied.misfits += slice->misfits;
	merger->account.discarded += slice->discarded;
	merger->account.lost_packets += slice->lost_packets;
	merger->account.bad_packets += slice->bad_packets;
	merger->account.anomalies += slice->anomalies + slice->misfits;
	merger->account.misfits += slice->misfits;
	merger->account.late_events += late;
	merger->window_late += late;
}

static void apply_slice(struct merger *merger, const struct merger_stream *stream,
			const struct partial *partial, const struct slice *slice)
{
	struct shard *shard = &merger->tables.shards[0];
	bool is_late = slice->window < merger->window;
	/* What the CPU did in a window that is closed was counted there, as it was known then. */
	bool is_owned = stream->owns_cpu && !is_late;
	uint64_t late = is_late ? slice->events : 0;

	if (merger->tables.layout.selects) {
		shard_select_cpu(shard, stream->identity.cpu_id);
	}
	shard_each_rare_with(shard, on_slice, (shard, slice, &stream->identity, late));
	add_keyed_rows(merger, partial, slice);
	for (unsigned int kind = 0; is_owned && kind < RUN_KINDS; kind++) {
		if (slice->cpu_ns[kind] > 0) {
			shard_each_rare_with(
				shard, on_cpu,
				(shard, stream->cpu, (enum run_kind)kind, slice->cpu_ns[kind]));
		}
	}
	shard->left_out = 0;
	merger->window_has_gap |= stream->owns_cpu && slice->has_gap;
	account_slice(merger, slice, late);
}

void round_count(struct merger *merger, const struct stream_identity *stream,
		 const struct slice *slice)
{
	struct shard *shard = &merger->tables.shards[0];

	assert(merger->tasks_running == 0); /* they use the shard */
	assert(slice->events == 0);
	if (merger->tables.layout.selects) {
		shard_select_cpu(shard, stream->cpu_id);
	}
	shard_each_rare_with(shard, on_slice, (shard, slice, stream, 0));
	shard->left_out = 0;
	account_slice(merger, slice, 0);
}

/* ---- the order of streams, which does not depend on their arrival ---- */

ORDER_POINTERS(by_identity, struct merger_stream,
	       UP(identity.class_id) UP(identity.cpu_id) UP(ordinal))

static void order_streams(struct merger *merger)
{
	if (merger->order.count == merger->streams.count) {
		return;
	}
	merger->order.count = 0;
	vec_append(&merger->order, merger->streams.at, merger->streams.count);
	vec_sort(&merger->order, by_identity);
}

/* ---- entries ---- */

static struct record_source source_of(const struct merger_stream *stream)
{
	const struct cpu *cpu = stream->cpu;

	return (struct record_source){ .channel = stream->identity.class_id,
				       .cpu_id = cpu ? cpu->id : UINT64_MAX,
				       .cpu_number = cpu ? cpu->number : UINT32_MAX,
				       .owns_cpu = stream->owns_cpu,
				       .is_beside = stream->identity.is_beside };
}

/* Whether a record of the partial, whose records are in time order, may be in the round. */
static bool is_due(const struct merger *merger, const struct partial *partial)
{
	return partial->made.count > 0 &&
	       partial->records.at[partial->made.at[0]].ts <= merger->round.bound;
}

/* The slice takes part in the round; its sums are added in the first one. */
static void add_entry(struct merger *merger, const struct merger_stream *stream,
		      struct partial *partial, struct slice *slice)
{
	bool counts = !slice->is_counted && slice->window != WINDOW_BEFORE;

	*vec_push(&merger->round.entries) =
		(struct round_entry){ .partial = partial,
				      .slice = slice,
				      .source = source_of(stream),
				      .counts = counts,
				      .is_due = is_due(merger, partial) };
	slice->is_counted = true;
	if (counts) {
		apply_slice(merger, stream, partial, slice);
	}
}

/* The slices that the stream holds of windows up to @last.  What waits to be stitched lies after
 * the round. */
static void add_entries(struct merger *merger, struct merger_stream *stream, int64_t last)
{
	for (size_t p = 0; p + stream->waiting < stream->ready.count; p++) {
		struct partial *partial = stream->ready.at[p];

		for (size_t s = partial->slices_used; s < partial->slices.count; s++) {
			if (partial->slices.at[s].window > last) {
				return;
			}
			add_entry(merger, stream, partial, &partial->slices.at[s]);
		}
	}
}

/* The records that the merger makes come last: at a tie, those of streams are first. */
static void add_stitched(struct merger *merger)
{
	assert(merger->stitched->slices.count == 1);
	*vec_push(&merger->round.entries) = (struct round_entry){
		.partial = merger->stitched,
		.slice = &merger->stitched->slices.at[0],
		.source = { .cpu_id = UINT64_MAX, .cpu_number = UINT32_MAX, .owns_cpu = true },
		.is_due = true,
	};
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

/* ---- tasks ---- */

/* The work of a round, in groups.  Sixteen tallies cost as much as one group. */
static size_t groups_of(const struct round *round)
{
	size_t groups = 0;

	for (size_t i = 0; i < round->entries.count; i++) {
		const struct round_entry *entry = &round->entries.at[i];

		groups += (entry->is_due ? entry->slice->group_count : 0) +
			  (entry->counts ? entry->slice->tally_count / 16 : 0);
	}
	return groups;
}

static void run_shards(const struct merger_task *task)
{
	struct merger *merger = task->merger;
	struct tables *tables = &merger->tables;

	assert(task->shards > 0);
	assert(task->first_shard + task->shards <= SHARDS);
	assert(task->stripe < task->stripes);
	for (unsigned int i = 0; i < task->shards; i++) {
		unsigned int number = task->first_shard + i;

		tables->shards[number].accumulator = task->accumulator;
		round_run_shard(&tables->shards[number], &merger->round, number);
	}
	round_count_shard(&tables->shards[task->first_shard], &merger->round, task->stripe,
			  task->stripes, tables->class_names.at);
}

/* The last task of a round replays the ordered events.  Its acquire pairs with the releases of the
 * others, so that it sees what their shards noted. */
static void run_task(struct job *job, void *scratch)
{
	struct merger_task *task = (struct merger_task *)job;
	unsigned int left;

	run_shards(task);
	left = atomic_fetch_sub_explicit(&task->merger->tasks_left, 1, memory_order_acq_rel);
	assert(left > 0);
	if (left == 1) {
		ordered_run(&task->merger->tables);
	}
}

/* One task for each worker, but none with less than GROUPS_PER_TASK; 0: the coordinator runs it. */
static unsigned int task_count(const struct merger *merger)
{
	size_t by_work = groups_of(&merger->round) / GROUPS_PER_TASK;
	unsigned int limit = merger->host.tasks_max;

	limit = limit > SHARDS ? SHARDS : limit; /* tasks share no shard */
	return by_work < limit ? (unsigned int)by_work : limit;
}

/* Without workers the time counts as that of a worker's job. */
static void run_here(struct merger *merger)
{
	struct stats *stats = merger->host.tasks_max == 0 ? merger->setup->stats : NULL;
	struct merger_task whole = { .merger = merger,
				     .accumulator = accumulator_of_task(&merger->tables, 0),
				     .shards = SHARDS,
				     .stripes = 1 };
	uint64_t begin = stats ? now_thread_cpu_ns() : 0;

	run_shards(&whole);
	ordered_run(&merger->tables);
	if (stats) {
		stats->job_ns[JOB_MERGER] += now_thread_cpu_ns() - begin;
		stats->jobs[JOB_MERGER]++;
	}
}

/* Spreads the shards over the tasks, as evenly as they go. */
static void prepare_tasks(struct merger *merger, unsigned int count)
{
	unsigned int shard = 0;

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
	assert(shard == SHARDS); /* each shard has a task */
}

static void run_round(struct merger *merger)
{
	unsigned int count = task_count(merger);

	assert(merger->tasks_running == 0);
	probe_round(merger->round.bound, merger->round.entries.count, count);
	if (count == 0) {
		run_here(merger);
		return;
	}
	prepare_tasks(merger, count);
	merger->tasks_running = count;
	atomic_store_explicit(&merger->tasks_left, count, memory_order_relaxed);
	for (unsigned int i = 0; i < count; i++) {
		merger->host.submit(merger->host.user, &merger->tasks[i].job);
	}
}

/* ---- rounds ---- */

int64_t round_last(const struct merger *merger)
{
	if (merger->is_before_range) {
		return WINDOW_BEFORE;
	}
	if (merger->close_at < merger->window_end) {
		return INT64_MAX - 1; /* the trace ends in it: all but WINDOW_AFTER */
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
	struct round *round = &merger->round;

	assert(merger->tasks_running == 0);
	assert(merger->is_round_open);
	assert(bound <= merger->window_end || (closes && bound == UINT64_MAX));
	assert(!closes || bound >= merger->last_bound); /* else records before it are applied */
	order_streams(merger);
	merger->closes = closes;
	merger->last_bound = bound;
	round->number++;
	round->bound = bound;
	round->closes = closes;
	round->former = is_for_rename(merger, bound) ? merger->renames.at[0].from : INT64_MIN;
	round->entries.count = 0;
	empty_stitched(merger);
	cpus_resolve(merger, bound);
	cpus_charge(merger, closes ? merger->close_at : bound, closes);
	for (size_t i = 0; i < merger->order.count; i++) {
		add_entries(merger, merger->order.at[i], round_last(merger));
	}
	add_stitched(merger);
	if (CHECKS_ON) {
		round_check(merger);
	}
	run_round(merger);
}

/* ---- partials that are used up ---- */

static bool is_used_up(const struct partial *partial, int64_t last, uint64_t bound)
{
	size_t slices = partial->slices.count;

	return (slices == 0 || partial->slices.at[slices - 1].window <= last) &&
	       (bound == UINT64_MAX || partial->records_until < bound);
}

/* Goes past the slices of windows up to @last, which have closed. */
static void pass_slices(struct partial *partial, int64_t last)
{
	while (partial->slices_used < partial->slices.count &&
	       partial->slices.at[partial->slices_used].window <= last) {
		partial->slices_used++;
	}
}

void round_forget(struct merger_stream *stream, int64_t last, uint64_t bound, bool closed)
{
	struct merger *merger = stream->merger;
	size_t kept = 0, stitched = stream->ready.count - stream->waiting;

	assert(stream->waiting <= stream->ready.count);
	assert(merger->tasks_running == 0); /* tasks read partials */
	for (size_t i = 0; i < stream->ready.count; i++) {
		struct partial *partial = stream->ready.at[i];

		if (closed) {
			pass_slices(partial, last);
		}
		if (is_used_up(partial, last, closed ? UINT64_MAX : bound)) {
			merger_let_go(merger, partial);
			cpus_forget(stream, partial);
			stream->waiting -= i >= stitched;
			stream->merger->waiting -= i >= stitched;
			partial_cache_put(merger->setup->partial_cache, partial);
		} else {
			stream->ready.at[kept++] = partial;
		}
	}
	stream->ready.count = kept;
}

/* ---- checks ---- */

/* Where a stream's next entry may come from. */
struct round_place {
	size_t stream, partial, slice;
};

/* Moves @place to the entry's slice; false: it does not come after the slice before. */
static bool find_entry(const struct merger *merger, const struct round_entry *entry,
		       struct round_place *place)
{
	for (; place->stream < merger->order.count; place->stream++, place->partial = 0) {
		const struct merger_stream *stream = merger->order.at[place->stream];

		for (; place->partial < stream->ready.count; place->partial++, place->slice = 0) {
			const struct partial *partial = stream->ready.at[place->partial];

			for (; place->slice < partial->slices.count; place->slice++) {
				if (entry->slice == &partial->slices.at[place->slice]) {
					return entry->partial == partial;
				}
			}
		}
	}
	return false;
}

static bool streams_in_order(const struct merger *merger)
{
	for (size_t i = 1; i < merger->order.count; i++) {
		if (by_identity(&merger->order.at[i - 1], &merger->order.at[i]) >= 0) {
			return false;
		}
	}
	return merger->order.count == merger->streams.count;
}

void round_check(const struct merger *merger)
{
	const struct round *round = &merger->round;
	size_t last = round->entries.count - 1;
	struct round_place place = { 0 };

	assert(round->number > 0); /* 0: an empty slot (struct slot) */
	assert(round->bound == merger->last_bound);
	assert(round->entries.count > 0);
	assert(streams_in_order(merger));
	for (size_t i = 0; i < last; i++) {
		const struct round_entry *entry = &round->entries.at[i];

		assert(find_entry(merger, entry, &place));
		assert(entry->slice->is_counted);
		assert(entry->slice->window <= round_last(merger));
		assert(!entry->counts || entry->slice->window != WINDOW_BEFORE);
		place.slice++; /* each slice once */
	}
	assert(round->entries.at[last].partial == merger->stitched);
	assert(!round->entries.at[last].counts);
}
