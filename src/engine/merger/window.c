/*
 * window: which rounds there are, and the windows they make up.
 *
 *     watermark ──► round: seam, shards ──► ... ──► round that closes a window ──► report
 *
 * A round is in several tasks at once; the front goes on meanwhile, and ends the round when
 * the last task is done (merge_task_done).
 */
#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "engine/merger/merger-state.h"
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
uint64_t merger_initial_limit(const struct merge *merge, uint64_t begin)
{
	uint64_t shown = merge_window_end(merge->setup->shown_interval_ns, begin);
	uint64_t latest =
		later_by(merge_window_end(merge->setup->interval_ns, begin), INITIAL_WAIT_NS);

	return later_by(shown < latest ? shown : latest, INITIAL_WAIT_NS);
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
	const struct setup *setup = merge->setup;
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
		round_forget(merge->streams.at[i], round_last(merge), merge->round.bound,
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
			kh_value(merge->rows.cpus, i)->initial_limit =
				merger_initial_limit(merge, merge->window_begin);
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
static bool resolve_initial(struct merge *merge, uint64_t watermark)
{
	for (khint_t i = kh_begin(merge->rows.cpus);
	     merge->initial_count > 0 && i != kh_end(merge->rows.cpus); i++) {
		struct cpu *cpu =
			kh_exist(merge->rows.cpus, i) ? kh_value(merge->rows.cpus, i) : NULL;

		if (cpu && cpu->owner && cpu->state == CPU_INITIAL &&
		    (watermark >= cpu->initial_limit || cpu->owner->is_ended)) {
			seam_give_up(merge, cpu);
		}
	}
	return merge->initial_count == 0;
}

/*
 * A trace ends with its last event, so a window with none at or beyond its end may be the
 * last one, and not a whole one.  Only a live trace that is idle closes it nevertheless.
 */
static bool may_close(struct merge *merge, uint64_t end, uint64_t now_ns)
{
	if (merge->account.events != merge->taken_events) {
		merge->taken_events = merge->account.events;
		merge->taken_ns =
			now_ns == 0 ? 0 : now_monotonic_ns(); /* the wall clock may be set */
	}
	return merge->last_ts >= end ||
	       (now_ns != 0 && now_monotonic_ns() - merge->taken_ns >= IDLE_CLOSE_NS);
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
	round_begin(merge, bound, closes);
	(void)settle_round(merge, watermark, now_ns);
}

/* Beyond the range nothing is kept. */
static void forget_rest(struct merge *merge)
{
	for (size_t i = 0; i < merge->streams.count; i++) {
		round_forget(merge->streams.at[i], INT64_MAX, UINT64_MAX, true);
	}
}

/* Whether what is held should be used up before the window ends. */
static bool is_round_due(const struct merge *merge, uint64_t bound, enum merge_room room)
{
	size_t fresh = merge->held_bytes - merge->kept_bytes;
	size_t least = room == ROOM_ENOUGH ? ROUND_BYTES : ROUND_BYTES_MIN;

	if (bound <= merge->last_bound || merge->held_bytes <= merge->kept_bytes) {
		return false;
	}
	return room == ROOM_NONE || (fresh >= least && fresh >= merge->kept_bytes);
}

void merge_advance(struct merge *merge, enum merge_room room, uint64_t now_ns)
{
	uint64_t watermark = merge_watermark(merge);

	if (!settle_round(merge, watermark, now_ns) || merge->streams.count == 0 ||
	    watermark == UINT64_MAX || !start(merge, watermark) ||
	    !resolve_initial(merge, watermark)) {
		return;
	}
	while (in_range(merge) && merge->tasks_running == 0) {
		uint64_t end = merge->window_end;
		bool closes = watermark >= end && may_close(merge, end, now_ns);
		/* What is behind the last event may be behind the trace's end. */
		uint64_t open_until = watermark < merge->last_ts ? watermark : merge->last_ts;
		uint64_t bound = closes || open_until > end ? end : open_until;

		if (!closes && !is_round_due(merge, bound, room)) {
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
	(void)resolve_initial(merge, UINT64_MAX);
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
