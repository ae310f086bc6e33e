/*
 * window: rounds (all records up to a bound) and the windows they make up.
 *
 *     watermark ──► round: seam, shards ──► ... ──► round that closes a window ──► report
 *
 * A round is in several tasks at once; the front goes on meanwhile, and ends the round when
 * the last task is done (merge_task_done).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "engine/facts.h"
#include "engine/merge-state.h"
#include "engine/stats.h"

/* ---- bounds ---- */

uint64_t merge_window_end(uint64_t interval_ns, uint64_t ts)
{
	uint64_t begin = ts / interval_ns * interval_ns;

	return begin > UINT64_MAX - interval_ns ? UINT64_MAX : begin + interval_ns;
}

static uint64_t later_by(uint64_t ts, uint64_t ns)
{
	return ts > UINT64_MAX - ns ? UINT64_MAX : ts + ns;
}

/*
 * By the interval that was asked for, so that it does not matter whether windows are shown, and by
 * that of the shown ones, so that it does not matter what they are put together from.  But
 * triggers, which look at those, do not wait for the end of a first window of an hour.
 */
uint64_t merge_head_limit(const struct merge *merge, uint64_t begin)
{
	uint64_t shown = merge_window_end(merge->setup->shown_interval_ns, begin);
	uint64_t latest =
		later_by(merge_window_end(merge->setup->interval_ns, begin), HEAD_WAIT_NS);

	return later_by(shown < latest ? shown : latest, HEAD_WAIT_NS);
}

/* ---- partials that were used ---- */

/* Whether nothing of the partial is in a window after @last, and no record at @bound or later. */
static bool is_used_up(struct partial *partial, int64_t last, uint64_t bound)
{
	size_t slices = partial->slices.count;

	return (slices == 0 || partial->slices.at[slices - 1].window <= last) &&
	       (bound == UINT64_MAX || partial->records_until < bound);
}

/* Goes past slices of windows up to @last if those have @closed; frees what is used up. */
static void forget_used(struct merge_stream *stream, int64_t last, uint64_t bound, bool closed)
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

		shard_run(&rows->shards[number], &merge->round, number);
	}
	shard_count(&rows->shards[task->first_shard], &merge->round, task->stripe, task->stripes,
		    rows->class_names.at);
}

/* The task that is done last does what comes after all. */
static void run_task(struct job *job, struct map *map)
{
	struct merge_task *task = (struct merge_task *)job;

	(void)map;
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
	struct merge_task whole = { .merge = merge, .shards = SHARDS, .stripes = 1 };
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

/* The number of the last slice that falls into the open window. */
static int64_t last_number(const struct merge *merge)
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

/* Begins the round of all records before @bound. */
static void begin_round(struct merge *merge, uint64_t bound, bool closes)
{
	order_streams(merge);
	merge->closes = closes;
	merge->last_bound = bound;
	merge->round.number++;
	merge->round.bound = bound;
	merge->round.entries.count = 0;
	empty_seam(merge);
	seam_resolve(merge, bound);
	seam_charge(merge, closes ? merge->close_at : bound, closes);
	for (size_t i = 0; i < merge->order.count; i++) {
		add_entries(merge, merge->order.at[i], last_number(merge));
	}
	*vec_push(&merge->round.entries) = (struct round_entry){
		.partial = merge->seam,
		.slice = &merge->seam->slices.at[0],
		.cpu_id = UINT64_MAX,
		.owns_cpu = true,
	};
	run_round(merge);
}

/* ---- windows ---- */

static bool any_excluded(const struct merge *merge)
{
	for (size_t i = 0; i < merge->streams.count; i++) {
		if (merge->streams.at[i]->is_excluded && !merge->streams.at[i]->is_ended) {
			return true;
		}
	}
	return false;
}

static void emit(struct merge *merge, struct report *report)
{
	struct stats *stats = merge->setup->stats;
	uint64_t begin = stats ? stats_now() : 0;
	struct report_memory memory = { 0 };

	rows_report(&merge->rows, report->kind != REPORT_WINDOW, report, &memory);
	merge->host.emit(merge->host.user, report);
	report_memory_fini(&memory);
	if (stats) {
		stats->emit_ns += stats_now() - begin;
	}
}

static void emit_window(struct merge *merge, uint64_t end, uint64_t now_ns)
{
	const struct slice *applied = &merge->applied;
	struct report report = {
		.kind = REPORT_WINDOW,
		.seq = merge->window_seq++,
		.begin = merge->window_begin,
		.end = end,
		.complete = !merge->window_has_gap && !merge->window_is_long &&
			    !any_excluded(merge) && merge->window_late == 0 &&
			    applied->discarded + applied->lost_packets + applied->bad_packets == 0,
		.has_lag = now_ns != 0,
		.lag_ns = (int64_t)(now_ns - end),
		.events = applied->events,
		.discarded = applied->discarded,
		.lost_packets = applied->lost_packets,
		.bad_packets = applied->bad_packets,
		.late_events = merge->window_late,
	};

	rows_gather(&merge->rows);
	emit(merge, &report);
	probe_window(report.seq, report.begin, report.end, report.lag_ns);
}

static void close_window(struct merge *merge, uint64_t now_ns)
{
	bool keep = !merge->is_before_range;

	rows_end_window(&merge->rows, merge->close_at);
	if (keep) {
		if (merge->setup->wants_windows) {
			emit_window(merge, merge->close_at, now_ns);
		}
		merge->total_events += merge->applied.events;
	}
	rows_close_window(&merge->rows, keep);
	memset(&merge->applied, 0, sizeof(merge->applied));
	merge->window_late = 0;
	merge->window_has_gap = false;
	merge->closed_end = merge->close_at;
	if (merge->is_before_range) {
		merge->is_before_range = false;
		merge->begin = merge->close_at;
	}
}

/* The earliest window that anything can still fall into. */
static int64_t next_window_with_data(const struct merge *merge, uint64_t watermark)
{
	int64_t next = watermark == UINT64_MAX ? INT64_MAX
					       : (int64_t)(watermark / merge->setup->window_ns);

	for (size_t i = 0; i < merge->streams.count; i++) {
		const struct merge_stream *stream = merge->streams.at[i];

		for (size_t p = 0; p < stream->ready.count; p++) {
			const struct partial *partial = stream->ready.at[p];

			if (partial->slices_used < partial->slices.count) {
				int64_t window = partial->slices.at[partial->slices_used].window;

				next = window < next ? window : next;
				break;
			}
		}
	}
	return next;
}

/* The window that begins at @begin; one that bridges a jump of the clock is longer. */
static void open_window(struct merge *merge, uint64_t begin, uint64_t watermark)
{
	const struct map_setup *setup = merge->setup;
	int64_t next = next_window_with_data(merge, watermark);

	merge->window_begin = begin;
	merge->window_end = merge_window_end(setup->window_ns, begin);
	merge->window = (int64_t)(begin / setup->window_ns);
	merge->window_is_long = false;
	if (next != INT64_MAX && next - merge->window > WINDOW_JUMP_MAX) {
		merge->window_end = (uint64_t)next * setup->window_ns;
		merge->window_is_long = true;
	}
	if (begin < setup->range_begin) {
		merge->is_before_range = true;
		merge->window_end = setup->range_begin;
	} else if (merge->window_end > setup->range_end) {
		merge->window_end = setup->range_end;
	}
	merge->close_at = merge->window_end;
}

static void end_round(struct merge *merge, uint64_t now_ns)
{
	for (size_t i = 0; i < merge->streams.count; i++) {
		forget_used(merge->streams.at[i], last_number(merge), merge->round.bound,
			    merge->closes);
	}
	merge->kept_bytes = merge->held_bytes;
	if (merge->closes) {
		close_window(merge, now_ns);
	}
	merge->closes = false;
}

void merge_task_done(struct merge *merge)
{
	assert(merge->tasks_running > 0);
	merge->tasks_running--;
}

void merge_wait(struct merge *merge)
{
	while (merge->tasks_running > 0) {
		merge->host.wait(merge->host.user);
	}
}

/* ---- advancing ---- */

static void start_cpus(struct merge *merge)
{
	for (khint_t i = kh_begin(merge->rows.cpus); i != kh_end(merge->rows.cpus); i++) {
		if (kh_exist(merge->rows.cpus, i)) {
			kh_value(merge->rows.cpus, i)->since = merge->window_begin;
			kh_value(merge->rows.cpus, i)->head_limit =
				merge_head_limit(merge, merge->window_begin);
		}
	}
}

/* A trace begins with its first event; before that there is nothing to report. */
static bool start(struct merge *merge, uint64_t watermark)
{
	if (merge->has_started) {
		return true;
	}
	if (merge->first_ts == UINT64_MAX || watermark <= merge->first_ts) {
		return false;
	}
	merge->has_started = true;
	merge->begin = merge->first_ts;
	open_window(merge, merge->first_ts, watermark);
	start_cpus(merge);
	for (size_t i = 0; i < merge->streams.count; i++) {
		struct merge_stream *stream = merge->streams.at[i];

		for (size_t k = 0; k < stream->ready.count; k++) {
			seam_take(stream, stream->ready.at[k]);
		}
	}
	return true;
}

/* Whether all first threads are known, or have been waited for long enough. */
static bool settle_heads(struct merge *merge, uint64_t watermark)
{
	for (khint_t i = kh_begin(merge->rows.cpus);
	     merge->heads > 0 && i != kh_end(merge->rows.cpus); i++) {
		struct cpu *cpu =
			kh_exist(merge->rows.cpus, i) ? kh_value(merge->rows.cpus, i) : NULL;

		if (cpu && cpu->owner && cpu->state == CPU_HEAD &&
		    (watermark >= cpu->head_limit || cpu->owner->is_ended)) {
			seam_give_up(merge, cpu);
		}
	}
	return merge->heads == 0;
}

/*
 * A trace ends with its last event, so a window with none at or beyond its end may be the
 * last one, and not a whole one.  Only a live trace that is idle closes it nevertheless.
 */
static bool may_close(struct merge *merge, uint64_t end, uint64_t now_ns)
{
	if (merge->account.events != merge->taken_events) {
		merge->taken_events = merge->account.events;
		merge->taken_ns = now_ns == 0 ? 0 : monotonic_ns(); /* the wall clock may be set */
	}
	return merge->last_ts >= end ||
	       (now_ns != 0 && monotonic_ns() - merge->taken_ns >= IDLE_CLOSE_NS);
}

static bool in_range(const struct merge *merge)
{
	return merge->window_begin < merge->setup->range_end;
}

/* Threads change their tids in time order, too: a round stops there. */
static bool rename_is_next(const struct merge *merge, uint64_t bound)
{
	return merge->renames.count > 0 && merge->renames.at[0].ts < bound;
}

static void apply_rename(struct merge *merge)
{
	rows_thread_rename(&merge->rows, &merge->renames.at[0]);
	memmove(merge->renames.at, merge->renames.at + 1,
		--merge->renames.count * sizeof(merge->renames.at[0]));
}

/* Ends the round that was begun; false: it is still going on. */
static bool settle_round(struct merge *merge, uint64_t watermark, uint64_t now_ns)
{
	if (merge->tasks_running > 0) {
		return false;
	}
	if (merge->is_round_open) {
		bool closes = merge->closes;

		merge->is_round_open = false;
		end_round(merge, now_ns);
		if (closes) {
			open_window(merge, merge->closed_end, watermark);
		}
	}
	return true;
}

/* One round that is over when this returns, or goes on in tasks. */
static void one_round(struct merge *merge, uint64_t bound, bool closes, uint64_t watermark,
		      uint64_t now_ns)
{
	merge->is_round_open = true;
	begin_round(merge, bound, closes);
	(void)settle_round(merge, watermark, now_ns);
}

/* Beyond the range nothing is kept. */
static void forget_rest(struct merge *merge)
{
	for (size_t i = 0; i < merge->streams.count; i++) {
		forget_used(merge->streams.at[i], INT64_MAX, UINT64_MAX, true);
	}
}

/* Whether what is held should be used up before the window ends. */
static bool is_pressed(const struct merge *merge, uint64_t watermark, enum merge_room room)
{
	size_t fresh = merge->held_bytes - merge->kept_bytes;

	if (room == ROOM_ENOUGH || watermark <= merge->last_bound ||
	    merge->held_bytes <= merge->kept_bytes) {
		return false;
	}
	return room == ROOM_NONE || (fresh >= ROUND_BYTES_MIN && fresh >= merge->kept_bytes);
}

void merge_advance(struct merge *merge, enum merge_room room, uint64_t now_ns)
{
	uint64_t watermark = merge_watermark(merge);

	if (!settle_round(merge, watermark, now_ns) || merge->streams.count == 0 ||
	    watermark == UINT64_MAX || !start(merge, watermark) ||
	    !settle_heads(merge, watermark)) {
		return;
	}
	while (in_range(merge) && merge->tasks_running == 0) {
		uint64_t end = merge->window_end;
		uint64_t bound = watermark < end ? watermark : end;
		bool closes = watermark >= end && may_close(merge, end, now_ns);

		if (!closes && !is_pressed(merge, watermark, room)) {
			return;
		}
		if (rename_is_next(merge, bound)) {
			one_round(merge, merge->renames.at[0].ts, false, watermark, now_ns);
			merge_wait(merge);
			apply_rename(merge);
			(void)settle_round(merge, watermark, now_ns);
			continue;
		}
		one_round(merge, bound, closes, watermark, now_ns);
		if (!closes) {
			return;
		}
	}
	if (!in_range(merge)) {
		forget_rest(merge);
	}
}

void merge_settle(struct merge *merge, uint64_t now_ns)
{
	do {
		merge_wait(merge);
		merge_advance(merge, ROOM_ENOUGH, now_ns);
	} while (merge->tasks_running > 0);
}

/* ---- the end ---- */

/* Rounds up to @bound, the last of which closes the window at close_at. */
static void close_now(struct merge *merge, uint64_t bound, uint64_t now_ns)
{
	while (rename_is_next(merge, bound)) {
		one_round(merge, merge->renames.at[0].ts, false, UINT64_MAX, now_ns);
		merge_wait(merge);
		(void)settle_round(merge, UINT64_MAX, now_ns);
		apply_rename(merge);
	}
	one_round(merge, bound, true, UINT64_MAX, now_ns);
	merge_wait(merge);
	(void)settle_round(merge, UINT64_MAX, now_ns);
}

void merge_finish(struct merge *merge, uint64_t now_ns)
{
	uint64_t last;

	merge_wait(merge);
	(void)settle_round(merge, UINT64_MAX, now_ns);
	if (!start(merge, UINT64_MAX)) {
		merge_emit_total(merge, false);
		return;
	}
	(void)settle_heads(merge, UINT64_MAX);
	last = merge->last_ts < merge->setup->range_end ? merge->last_ts : merge->setup->range_end;
	while (in_range(merge) && merge->window_end <= last) {
		close_now(merge, merge->window_end, now_ns);
	}
	if (in_range(merge) && last >= merge->window_begin) {
		merge->close_at = last;
		close_now(merge, UINT64_MAX, now_ns);
	}
	merge_emit_total(merge, false);
}

void merge_emit_total(struct merge *merge, bool so_far)
{
	struct report report = {
		.kind = so_far ? REPORT_SO_FAR : REPORT_TOTAL,
		.begin = merge->begin,
		.end = merge->closed_end > merge->begin ? merge->closed_end : merge->begin,
		.complete = merge->account.discarded + merge->account.lost_packets +
				    merge->account.bad_packets + merge->account.late_events ==
			    0,
		.events = merge->total_events,
		.discarded = merge->account.discarded,
		.lost_packets = merge->account.lost_packets,
		.bad_packets = merge->account.bad_packets,
		.late_events = merge->account.late_events,
	};

	merge_wait(merge); /* names and priorities are not to change meanwhile */
	emit(merge, &report);
}
