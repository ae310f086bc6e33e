/*
 * window: see window.h.
 */
#include "engine/merger/window.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "engine/merger/cpus.h"
#include "engine/merger/holes.h"
#include "engine/merger/merger-state.h"
#include "engine/merger/ordered.h"
#include "engine/merger/spans.h"
#include "engine/stats.h"

/* ---- bounds ---- */

static uint64_t later_by(uint64_t ts, uint64_t ns)
{
	return ts > UINT64_MAX - ns ? UINT64_MAX : ts + ns;
}

uint64_t window_end_of(uint64_t interval_ns, uint64_t ts)
{
	return later_by(ts / interval_ns * interval_ns, interval_ns);
}

/* From the begin of the trace, not the end of a window: the total is the same for any windows. */
uint64_t window_initial_limit(uint64_t begin)
{
	return later_by(begin, INITIAL_WAIT_NS);
}

/* ---- reports ---- */

static bool any_excluded(const struct merger *merger)
{
	for (size_t i = 0; i < merger->streams.count; i++) {
		if (merger->streams.at[i]->is_excluded && !merger->streams.at[i]->is_ended) {
			return true;
		}
	}
	return false;
}

/* ns: where what is read of the stream begins; 0: at its start. */
static uint64_t begin_of(const struct merger *merger, const struct merger_stream *stream)
{
	if (stream->is_identified) {
		return stream->identity.misses_start ? stream->identity.begin : 0;
	}
	return merger->host.may_begin_late && !stream->is_ended ? stream->heard_from : 0;
}

/* Whether some stream may have had events in the open window that are not read. */
static bool any_begins_late(const struct merger *merger)
{
	for (size_t i = 0; i < merger->streams.count; i++) {
		if (begin_of(merger, merger->streams.at[i]) > merger->window_begin) {
			return true;
		}
	}
	return false;
}

static void emit(struct merger *merger, struct report *report)
{
	struct stats *stats = merger->setup->stats;
	uint64_t begin = stats ? now_thread_cpu_ns() : 0;
	struct report_memory memory = { 0 };

	tables_report(&merger->tables, report->kind != REPORT_WINDOW, report, &memory);
	merger->host.emit(merger->host.user, report);
	report_memory_fini(&memory);
	if (stats) {
		stats->emit_ns += now_thread_cpu_ns() - begin;
	}
}

/* Whether anything counts in the open window so far. */
static bool has_any(const struct merger *merger)
{
	const struct slice *applied = &merger->applied;

	return applied->events + applied->discarded + applied->lost_packets + applied->bad_packets +
		       merger->window_late >
	       0;
}

static void emit_window(struct merger *merger, uint64_t end, uint64_t now_ns)
{
	const struct slice *applied = &merger->applied;
	uint64_t unit = merger->setup->shown_ns;
	struct report report = {
		.kind = REPORT_WINDOW,
		.seq = merger->window_seq,
		.begin = merger->window_begin,
		.end = end,
		.complete = !merger->window_has_gap && !any_excluded(merger) &&
			    merger->window_late == 0 && end <= merger->cut_at &&
			    !any_begins_late(merger) &&
			    applied->discarded + applied->lost_packets + applied->bad_packets == 0,
		.has_lag = now_ns != 0,
		.lag_ns = (int64_t)(now_ns - end),
		.events = applied->events,
		.empty = merger->window_is_long && !has_any(merger)
				 ? (end - merger->window_begin) / unit
				 : 0,
		.lost = { { [LOSS_EVENTS] = applied->discarded,
			    [LOSS_PACKETS] = applied->lost_packets,
			    [LOSS_BAD_PACKETS] = applied->bad_packets,
			    [LOSS_LATE] = merger->window_late,
			    [LOSS_ANOMALIES] = applied->anomalies,
			    [LOSS_MISFITS] = applied->misfits } },
	};

	merger->window_seq += merger->window_is_long
				      ? (end - merger->window_begin) / merger->setup->window_ns
				      : 1;
	tables_collect(&merger->tables);
	emit(merger, &report);
	probe_window(report.seq, report.begin, report.end, report.lag_ns);
}

/* What came before the range is dropped: what is reported begins here. */
static void begin_range(struct merger *merger)
{
	merger->is_before_range = false;
	merger->begin = merger->close_at;
}

void window_forget(struct merger *merger)
{
	memset(&merger->applied, 0, sizeof(merger->applied));
	merger->window_late = 0;
	merger->window_has_gap = false;
}

static void close_window(struct merger *merger, uint64_t now_ns)
{
	bool keep = !merger->is_before_range;

	assert(merger->window_begin <= merger->close_at);
	assert(merger->close_at <= merger->window_end);
	tables_end_window(&merger->tables, merger->close_at);
	if (merger->setup->wants_spans) {
		spans_hand_over(merger, merger->close_at);
	}
	if (keep) {
		if (merger->setup->wants_windows) {
			emit_window(merger, merger->close_at, now_ns);
		}
		merger->total_events += merger->applied.events;
	}
	tables_close_window(&merger->tables, keep);
	window_forget(merger);
	assert(merger->closed_end <= merger->close_at); /* windows close in time order */
	merger->closed_end = merger->close_at;
	if (merger->is_before_range) {
		begin_range(merger);
	}
}

/* ---- opening and closing windows ---- */

/* The window of the first slice that the stream has not used; INT64_MAX: none. */
static int64_t next_slice(const struct merger_stream *stream)
{
	for (size_t p = 0; p < stream->ready.count; p++) {
		const struct partial *partial = stream->ready.at[p];

		if (partial->slices_used < partial->slices.count) {
			return partial->slices.at[partial->slices_used].window;
		}
	}
	return INT64_MAX;
}

void window_open(struct merger *merger, uint64_t begin)
{
	const struct setup *setup = merger->setup;

	merger->window_begin = begin;
	merger->window_end = window_end_of(setup->window_ns, begin);
	merger->window = (int64_t)(begin / setup->window_ns);
	merger->window_is_long = false;
	if (begin < setup->range_begin) {
		merger->is_before_range = true;
		merger->window_end = setup->range_begin;
	} else if (merger->window_end > setup->range_end) {
		merger->window_end = setup->range_end;
	}
	assert(begin >= setup->range_end || begin < merger->window_end);
	merger->close_at = merger->window_end;
}

static void end_round(struct merger *merger, uint64_t now_ns)
{
	assert(merger->round.bound == merger->last_bound);
	for (size_t i = 0; i < merger->streams.count; i++) {
		round_forget(merger->streams.at[i], round_last(merger), merger->round.bound,
			     merger->closes);
	}
	merger->bytes_after_round = merger->held_bytes;
	if (merger->hands_spans) {
		spans_hand_over(merger, merger->round.bound);
	}
	if (merger->closes) {
		close_window(merger, now_ns);
	}
	merger->closes = false;
}

/* ---- the start of the trace ---- */

static void start_cpus(struct merger *merger)
{
	HASH_EACH(cpus, &merger->tables.cpus, one) {
		one->value->since = merger->window_begin;
		one->value->initial_limit = window_initial_limit(merger->window_begin);
	}
}

/* A trace begins with its first event.  False: that is not known yet. */
static bool start(struct merger *merger, uint64_t watermark)
{
	if (merger->has_started) {
		return true;
	}
	if (merger->first_ts == UINT64_MAX || watermark <= merger->first_ts) {
		return false;
	}
	merger->has_started = true;
	merger->begin = merger->first_ts;
	window_open(merger, merger->first_ts);
	start_cpus(merger);
	return true;
}

/* Whether the first switches of each CPU are known or given up. */
static bool resolve_initial(struct merger *merger, uint64_t watermark)
{
	if (merger->initial_count == 0) {
		return true;
	}
	HASH_EACH(cpus, &merger->tables.cpus, one) {
		struct cpu *cpu = one->value;

		if (cpu->owner && cpus_is_awaited(cpu) &&
		    (watermark >= cpu->initial_limit ||
		     (cpu->owner->is_ended && cpu->owner->waiting == 0))) {
			cpus_give_up(merger, cpu);
		}
	}
	return merger->initial_count == 0;
}

/* ---- advancing ---- */

/* Whether nothing else comes, or a live trace had no new event for so long that windows close. */
static bool has_no_news(const struct merger *merger, uint64_t now_ns)
{
	return merger->is_over ||
	       (now_ns != 0 && now_monotonic_ns() - merger->taken_ns >= IDLE_CLOSE_NS);
}

/*
 * Whether the window that ends at @end may close, as far as events go.  A trace ends with its last
 * event: a window without an event at its end or later may be the last one, and shorter.  Only a
 * live trace that is idle closes it all the same.
 */
static bool may_close(struct merger *merger, uint64_t end, uint64_t now_ns)
{
	if (merger->account.events != merger->taken_events) {
		merger->taken_events = merger->account.events;
		/* Not the wall clock, which may be set. */
		merger->taken_ns = now_ns == 0 ? 0 : now_monotonic_ns();
	}
	return holes_are_decided(merger, end) &&
	       (has_no_news(merger, now_ns) ||
		(merger->last_ts >= end && cpus_are_decided(merger, end)));
}

/* ns: the begin of the window of the next slice, or the end of the range. */
static uint64_t next_data(const struct merger *merger)
{
	uint64_t window_ns = merger->setup->window_ns, data = merger->setup->range_end;
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < merger->streams.count; i++) {
		int64_t window = next_slice(merger->streams.at[i]);

		next = window < next ? window : next;
	}
	if (next != INT64_MAX && (next < 0 || (uint64_t)next < data / window_ns)) {
		data = next < 0 ? 0 : (uint64_t)next * window_ns;
	}
	return data;
}

/* ns: where a row of windows that nothing falls into up to @until ends; 0: each closes alone. */
static uint64_t row_end(const struct merger *merger, uint64_t until)
{
	uint64_t unit = merger->setup->shown_ns, begin = merger->window_begin;
	uint64_t end = until / unit * unit, count;

	if (begin % unit != 0 || end <= begin) {
		return 0;
	}
	count = (end - begin) / unit;
	return count > WINDOWS_EMPTY_MAX_ANY ||
			       (count > WINDOWS_EMPTY_MAX && end - begin > WINDOWS_EMPTY_MAX_NS)
		       ? end
		       : 0;
}

/* Whether the open window may close.  It becomes a long row of empty ones if that begins with it,
 * whose end is known once the watermark has come there, or the trace is idle. */
static bool closes_now(struct merger *merger, uint64_t watermark, uint64_t now_ns)
{
	uint64_t data, end;

	if (watermark < merger->window_end || !may_close(merger, merger->window_end, now_ns)) {
		return false;
	}
	if (merger->window_is_long || merger->is_before_range || merger->setup->keeps_windows ||
	    has_any(merger)) {
		return true;
	}
	data = next_data(merger);
	end = row_end(merger, data);
	if (end > 0 && data > watermark) {
		if (!has_no_news(merger, now_ns)) {
			return false;
		}
		end = row_end(merger, watermark);
	}
	if (end > 0 && !may_close(merger, end, now_ns)) {
		return false;
	}
	if (end > 0) {
		assert(end > merger->window_end && end <= watermark);
		merger->window_is_long = true;
		merger->window_end = merger->close_at = end;
	}
	return true;
}

static bool in_range(const struct merger *merger)
{
	return merger->window_begin < merger->setup->range_end;
}

/* Whether a round up to @bound has to stop at a rename before. */
static bool rename_is_next(const struct merger *merger, uint64_t bound)
{
	return merger->renames.count > 0 && merger->renames.at[0].ts < bound;
}

static void apply_rename(struct merger *merger)
{
	assert(merger->tasks_running == 0); /* the thread moves from shard to shard */
	assert(merger->renames.count > 0);
	tables_rename_thread(&merger->tables, &merger->renames.at[0]);
	ordered_run(&merger->tables); /* of the threads that end; a checkpoint may come next */
	memmove(merger->renames.at, merger->renames.at + 1,
		--merger->renames.count * sizeof(merger->renames.at[0]));
}

/* Ends the round that was begun, if any; false: its tasks are still running. */
static bool end_open_round(struct merger *merger, uint64_t now_ns)
{
	if (merger->tasks_running > 0) {
		return false;
	}
	if (merger->is_round_open) {
		bool closes = merger->closes;

		merger->is_round_open = false;
		end_round(merger, now_ns);
		if (closes) {
			window_open(merger, merger->closed_end);
		}
	}
	return true;
}

/* Begins a round, and ends it if no tasks run it. */
static void one_round(struct merger *merger, uint64_t bound, bool closes, uint64_t now_ns)
{
	assert(!merger->is_round_open);
	merger->is_round_open = true;
	round_begin(merger, bound, closes);
	(void)end_open_round(merger, now_ns);
}

/* Nothing after the range is needed. */
static void forget_rest(struct merger *merger)
{
	for (size_t i = 0; i < merger->streams.count; i++) {
		round_forget(merger->streams.at[i], INT64_MAX, UINT64_MAX, true);
	}
}

/* Whether to apply what is held up to @bound before the window closes. */
static bool is_round_due(const struct merger *merger, uint64_t bound, enum merger_room room)
{
	size_t fresh = merger->held_bytes - merger->bytes_after_round;
	size_t least = room == ROOM_ENOUGH ? ROUND_BYTES : ROUND_BYTES_MIN;

	if (bound <= merger->last_bound || merger->held_bytes <= merger->bytes_after_round) {
		return false;
	}
	return room == ROOM_NONE || (fresh >= least && fresh >= merger->bytes_after_round);
}

/* How far the next round goes: to the end of the window if that closes, else to the last event or
 * the watermark.  Time after the last event may be after the end of the trace. */
static uint64_t next_bound(const struct merger *merger, uint64_t watermark, bool closes)
{
	uint64_t end = merger->window_end;
	uint64_t bound = watermark < merger->last_ts ? watermark : merger->last_ts;

	return closes || bound > end ? end : bound;
}

/* A round up to the next rename, which is over when this returns. */
static void round_to_rename(struct merger *merger, uint64_t now_ns)
{
	one_round(merger, merger->renames.at[0].ts, false, now_ns);
	merger_wait(merger);
	apply_rename(merger);
	(void)end_open_round(merger, now_ns);
}

/* A round up to the next hole, which is over when this returns. */
static void round_to_hole(struct merger *merger, uint64_t now_ns)
{
	one_round(merger, holes_bound(merger), false, now_ns);
	merger_wait(merger);
	holes_apply(merger);
	(void)end_open_round(merger, now_ns);
}

/* Applies the next rename or hole before @bound; false: there is none. */
static bool stop_before(struct merger *merger, uint64_t bound, uint64_t now_ns)
{
	bool is_hole = holes_is_next(merger, bound);

	if (rename_is_next(merger, is_hole ? merger->holes.at[0] + 1 : bound)) {
		round_to_rename(merger, now_ns);
		return true;
	}
	if (is_hole) {
		round_to_hole(merger, now_ns);
	}
	return is_hole;
}

static bool host_pauses(const struct merger *merger)
{
	return merger->host.must_pause && merger->host.must_pause(merger->host.user);
}

static bool advance(struct merger *merger, enum merger_room room, uint64_t watermark,
		    uint64_t now_ns)
{
	while (in_range(merger) && merger->tasks_running == 0) {
		bool closes = closes_now(merger, watermark, now_ns);
		uint64_t bound = next_bound(merger, watermark, closes);

		if (!closes && !is_round_due(merger, bound, room)) {
			return false;
		}
		if (stop_before(merger, bound, now_ns)) {
			continue;
		}
		/* Not at a hole, which is applied behind its round. */
		merger->hands_spans = merger->setup->wants_spans && !closes &&
				      bound <= merger->last_ts && may_close(merger, bound, now_ns);
		one_round(merger, bound, closes, now_ns);
		if (!closes || host_pauses(merger)) {
			return closes;
		}
	}
	if (!in_range(merger)) {
		forget_rest(merger);
	}
	return false;
}

bool merger_advance(struct merger *merger, enum merger_room room, uint64_t now_ns)
{
	uint64_t watermark = merger_watermark(merger);
	bool pauses = false;

	if (CHECKS_ON) {
		merger_check(merger);
	}
	if (end_open_round(merger, now_ns) && merger->streams.count > 0 &&
	    watermark != UINT64_MAX && start(merger, watermark)) {
		cpus_find_left(merger);
		holes_advance(merger, watermark);
		pauses = resolve_initial(merger, watermark) &&
			 advance(merger, room, watermark, now_ns);
	}
	if (CHECKS_ON) {
		merger_check(merger);
	}
	return pauses;
}

void merger_drain(struct merger *merger, uint64_t now_ns)
{
	do {
		merger_wait(merger);
	} while (merger_advance(merger, ROOM_NONE, now_ns) || merger->tasks_running > 0);
	assert(!merger->is_round_open); /* so that a checkpoint has all of it */
}

/* ---- the end ---- */

/* Rounds up to @bound; the last one closes the window at close_at. */
static void close_now(struct merger *merger, uint64_t bound, uint64_t now_ns)
{
	while (stop_before(merger, bound, now_ns)) {
	}
	one_round(merger, bound, true, now_ns);
	merger_wait(merger);
	(void)end_open_round(merger, now_ns);
}

/* What a trace without an event has lost; false: nothing. */
static bool lose_unstarted(struct merger *merger)
{
	bool any = false;

	for (size_t i = 0; !merger->has_started && i < merger->streams.count; i++) {
		const struct merger_stream *stream = merger->streams.at[i];

		for (size_t k = 0; k < stream->ready.count; k++) {
			const struct partial *partial = stream->ready.at[k];

			for (size_t s = 0; s < partial->slices.count; s++) {
				round_count(merger, &stream->identity, &partial->slices.at[s]);
				any = true;
			}
		}
	}
	return any;
}

/* Adds what no stream can say to the open window; false: nothing. */
static bool lose_unplaced(struct merger *merger)
{
	const struct stream_identity nobody = { .class_id = UINT64_MAX,
						.cpu_id = UINT64_MAX,
						.instance_id = UINT64_MAX };

	if (merger->unplaced == 0) {
		return false;
	}
	round_count(merger, &nobody, &(struct slice){ .lost_packets = merger->unplaced });
	merger->unplaced = 0;
	return true;
}

/* Adds what no window has to the total. */
static void lose_rest(struct merger *merger)
{
	bool any = lose_unstarted(merger);

	if (lose_unplaced(merger) || any) {
		tables_close_window(&merger->tables, true);
	}
}

/* Closes all windows up to the last event: what no stream can say is lost in the last reported. */
static void close_rest(struct merger *merger, uint64_t now_ns)
{
	uint64_t last = merger->last_ts < merger->setup->range_end ? merger->last_ts
								   : merger->setup->range_end;

	while (in_range(merger) && merger->window_end <= last) {
		(void)closes_now(merger, last, now_ns); /* a long row of empty ones is one */
		close_now(merger, merger->window_end, now_ns);
	}
	if (in_range(merger) && last >= merger->window_begin) {
		if (!merger->is_before_range) {
			(void)lose_unplaced(merger);
		}
		merger->close_at = last;
		close_now(merger, UINT64_MAX, now_ns);
	}
}

void merger_finish(struct merger *merger, uint64_t now_ns)
{
	if (CHECKS_ON) {
		merger_check(merger);
	}
	merger_wait(merger);
	(void)end_open_round(merger, now_ns);
	if (start(merger, UINT64_MAX)) {
		cpus_find_left(merger);
		holes_advance(merger, UINT64_MAX);
		(void)resolve_initial(merger, UINT64_MAX);
		assert(merger->initial_count == 0); /* every limit is below that watermark */
		holes_cut(merger);
		merger->is_over = true;
		close_rest(merger, now_ns);
	}
	lose_rest(merger);
	merger_emit_total(merger, false);
	if (CHECKS_ON) {
		merger_check(merger);
	}
}

void merger_emit_total(struct merger *merger, bool so_far)
{
	uint64_t lost = merger->account.discarded + merger->account.lost_packets +
			merger->account.bad_packets + merger->account.late_events +
			merger->account.misfits;
	struct report report = {
		.kind = so_far ? REPORT_SO_FAR : REPORT_TOTAL,
		.begin = merger->begin,
		.end = merger->closed_end > merger->begin ? merger->closed_end : merger->begin,
		.complete = lost == 0 && merger->closed_end <= merger->cut_at,
		.is_cut = merger->closed_end > merger->cut_at,
		.events = merger->total_events,
		.lost = { { [LOSS_EVENTS] = merger->account.discarded,
			    [LOSS_PACKETS] = merger->account.lost_packets,
			    [LOSS_BAD_PACKETS] = merger->account.bad_packets,
			    [LOSS_LATE] = merger->account.late_events,
			    [LOSS_ANOMALIES] = merger->account.anomalies,
			    [LOSS_MISFITS] = merger->account.misfits } },
	};

	merger_wait(merger); /* tasks change names and priorities */
	emit(merger, &report);
}
