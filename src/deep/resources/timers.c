/*
 * timers: see resources.h; high-resolution timers.
 *
 *              start            expire_entry    expire_exit
 *     (none) ────────► SET ───────────► EXPIRED ───────► (none), or SET if it was started again
 *                       └── cancel ──► (none)
 *
 * Most kernels write a cancel just before each expire_entry of the same timer, on the same CPU.
 * That is no cancellation: a timer that was cancelled cannot expire before it is started again.
 */
#include "deep/resources/timers.h"
#include "deep/resources/rows.h"

void timers_lose(struct resource *timer)
{
	timer->state = RESOURCE_STATES;
	timer->has_expires = timer->is_cancelled = timer->was_set_again = false;
	timer->last_expiry = 0;
}

/* The cancel that was held back is one. */
static void settle_cancel(struct track *track, uint32_t index)
{
	struct resource *timer = track_at(track, index);

	if (!timer->is_cancelled) {
		return;
	}
	timer->is_cancelled = false;
	if (timer->state == TIMER_SET) {
		rows_interval(track, index,
			      (struct resource_interval){ .begin = timer->since,
							  .end = timer->cancel_ts,
							  .who = timer->setter,
							  .by = NOBODY,
							  .state = TIMER_SET });
	}
	rows_interval(track, index,
		      (struct resource_interval){ .begin = timer->cancel_ts,
						  .end = timer->cancel_ts,
						  .who = NOBODY,
						  .by = NOBODY,
						  .state = TIMER_CANCELLED });
	timer->state = RESOURCE_STATES;
	timer->has_expires = false;
	timer->cancelled += track_counts(track, timer->cancel_ts);
}

/* The thread that starts or cancels a timer; NOBODY: an interrupt does, or a timer's callback. */
static uint32_t caller_of(struct track *track, const struct reader_event *event, uint32_t index)
{
	const struct cpu_track *cpu = track_cpu(track, event->cpu);
	uint32_t thread = cpu->tid > 0 ? track_thread(track, cpu->tid, event->ts) : NOBODY;
	const struct deep_thread *of;
	size_t at;

	if (thread == NOBODY || cpu->expiring != NOBODY || cpu->expired == index) {
		return NOBODY;
	}
	of = track->timeline->threads.at[thread];
	at = timeline_thread_before(of, event->ts + 1);
	if (at != SIZE_MAX && (of->intervals.at[at].state == STATE_IRQ ||
			       of->intervals.at[at].state == STATE_SOFTIRQ)) {
		return NOBODY;
	}
	return thread;
}

static void on_start(struct track *track, const struct reader_event *event, uint32_t index)
{
	struct resource *timer = track_at(track, index);
	bool counts = track_counts(track, event->ts);
	uint32_t setter = caller_of(track, event, index);

	settle_cancel(track, index);
	timer->starts += counts;
	timer->has_expires = reader_has(event, TIMER_EXPIRES);
	timer->expires = timer->has_expires ? event->values[TIMER_EXPIRES].i : 0;
	if (timer->state == TIMER_SET || (timer->state == TIMER_EXPIRED && timer->was_set_again)) {
		timer->rearmed += counts;
	}
	if (track_cpu(track, event->cpu)->expired == index) {
		track_cpu(track, event->cpu)->expired = NOBODY;
	}
	rows_touch(track, index, setter, event->ts);
	timer->setter = setter;
	if (timer->state == TIMER_EXPIRED) {
		timer->was_set_again = true;
		timer->again_since = event->ts;
		return;
	}
	if (timer->state == TIMER_SET) {
		rows_interval(track, index,
			      (struct resource_interval){ .begin = timer->since,
							  .end = event->ts,
							  .who = setter,
							  .by = NOBODY,
							  .state = TIMER_SET });
	}
	timer->state = TIMER_SET;
	timer->since = event->ts;
}

static void add_lateness(struct resource *timer, int64_t now)
{
	int64_t late = (int64_t)((uint64_t)now - (uint64_t)timer->expires);

	timer->late_min = timer->late_count == 0 || late < timer->late_min ? late : timer->late_min;
	timer->late_max = timer->late_count == 0 || late > timer->late_max ? late : timer->late_max;
	timer->late_count++;
	timer->late_total += (double)late;
}

static void on_entry(struct track *track, const struct reader_event *event, uint32_t index)
{
	struct resource *timer = track_at(track, index);

	if (timer->is_cancelled && timer->cancel_cpu != event->cpu) {
		settle_cancel(track, index);
	}
	timer->is_cancelled = false;
	if (timer->state == TIMER_SET) {
		rows_interval(track, index,
			      (struct resource_interval){ .begin = timer->since,
							  .end = event->ts,
							  .who = timer->setter,
							  .by = NOBODY,
							  .state = TIMER_SET });
	}
	if (track_counts(track, event->ts)) {
		timer->expiries++;
		if (timer->last_expiry != 0) {
			rows_sum(&timer->period, event->ts - timer->last_expiry);
		}
		if (timer->has_expires && reader_has(event, TIMER_NOW)) {
			add_lateness(timer, event->values[TIMER_NOW].i);
		}
	}
	timer->last_expiry = event->ts;
	timer->has_expires = timer->was_set_again = false;
	timer->state = TIMER_EXPIRED;
	timer->since = event->ts;
	track_cpu(track, event->cpu)->expiring = index;
	rows_touch(track, index, NOBODY, event->ts);
}

static void on_exit_of_timer(struct track *track, const struct reader_event *event, uint32_t index)
{
	struct resource *timer = track_at(track, index);
	struct cpu_track *cpu = track_cpu(track, event->cpu);

	cpu->expiring = NOBODY;
	cpu->expired = index;
	if (timer->state != TIMER_EXPIRED) {
		return;
	}
	rows_interval(track, index,
		      (struct resource_interval){ .begin = timer->since,
						  .end = event->ts,
						  .who = NOBODY,
						  .by = NOBODY,
						  .state = TIMER_EXPIRED });
	if (track_counts(track, timer->since)) {
		rows_sum(&timer->callback, event->ts - timer->since);
	}
	timer->state = timer->was_set_again ? TIMER_SET : RESOURCE_STATES;
	timer->since = timer->again_since;
}

static void on_cancel(struct track *track, const struct reader_event *event, uint32_t index)
{
	struct resource *timer = track_at(track, index);

	settle_cancel(track, index);
	rows_touch(track, index, caller_of(track, event, index), event->ts);
	if (timer->state == TIMER_EXPIRED) {
		timer->was_set_again = timer->has_expires = false;
		timer->cancelled += track_counts(track, event->ts);
		rows_interval(track, index,
			      (struct resource_interval){ .begin = event->ts,
							  .end = event->ts,
							  .who = NOBODY,
							  .by = NOBODY,
							  .state = TIMER_CANCELLED });
		return;
	}
	timer->is_cancelled = true;
	timer->cancel_ts = event->ts;
	timer->cancel_cpu = event->cpu;
}

void timers_take(struct track *track, const struct reader_event *event, unsigned int kind)
{
	uint32_t index;
	struct resource *timer;

	if (!reader_has(event, TIMER_FIELD)) {
		return;
	}
	index = rows_resource(track, RESOURCE_TIMER, -1, event->values[TIMER_FIELD].u, NULL);
	if (index == NOBODY) {
		return;
	}
	timer = track_at(track, index);
	if (reader_has(event, TIMER_FUNCTION) && event->values[TIMER_FUNCTION].u != 0) {
		timer->function = event->values[TIMER_FUNCTION].u;
	}
	switch (kind) {
	case ON_TIMER_INIT:
		settle_cancel(track, index);
		timers_lose(timer);
		break;
	case ON_TIMER_START:
		on_start(track, event, index);
		break;
	case ON_TIMER_CANCEL:
		on_cancel(track, event, index);
		break;
	case ON_TIMER_ENTRY:
		on_entry(track, event, index);
		break;
	default:
		on_exit_of_timer(track, event, index);
		break;
	}
}

void timers_wake(struct track *track, uint32_t index, int32_t tid, uint64_t ts)
{
	uint32_t thread = track_thread(track, tid, ts);

	if (!track_counts(track, ts)) {
		return;
	}
	rows_touch(track, index, thread, ts);
	track_at(track, index)->woken++;
	rows_pair(track, index, (struct resource_pair){ .by = NOBODY, .who = thread }, 0);
}

void timers_finish(struct track *track)
{
	for (uint32_t i = 0; i < track->resources->all.count; i++) {
		const struct resource *timer = track_at(track, i);

		if (timer->kind != RESOURCE_TIMER || timer->epoch != track->epoch) {
			continue;
		}
		settle_cancel(track, i);
		if (timer->state != RESOURCE_STATES && timer->since <= track->timeline->end) {
			rows_interval(track, i,
				      (struct resource_interval){ .begin = timer->since,
								  .end = track->timeline->end,
								  .who = timer->state == TIMER_SET
										 ? timer->setter
										 : NOBODY,
								  .by = NOBODY,
								  .state = timer->state });
		}
	}
}
