/*
 * arrivals: see arrivals.h.
 */
#include "deep/executions/arrivals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/wake-source.h"

/* Behind those of enum wake_event. */
enum {
	START = WAKE_EVENTS,
	OLD_START,
	ENTRY,
	OLD_ENTRY,
	EXIT,
	OLD_EXIT,
	SIGNAL,
};
enum { WAKE_TID, WAKE_SUCCESS };
enum { START_TIMER, START_EXPIRES, START_SOFT };
enum { ENTRY_TIMER, ENTRY_NOW };
enum { SIGNAL_SIG, SIGNAL_TID, SIGNAL_RESULT };

#define WAKE_REQUEST(event_, wake, ...) [wake] = { .event = event_, .fields = { __VA_ARGS__ } }
#define START_FIELDS                                                                               \
	{                                                                                          \
		"hrtimer", "expires", "softexpires"                                                \
	}
#define ENTRY_FIELDS                                                                               \
	{                                                                                          \
		"hrtimer", "now"                                                                   \
	}

const struct plan_request arrivals_requests[ARRIVALS_REQUESTS] = {
	WAKE_ROWS(WAKE_REQUEST, "tid", "success"),
	[START] = { .event = "timer_hrtimer_start", .fields = START_FIELDS },
	[OLD_START] = { .event = "hrtimer_start", .fields = START_FIELDS },
	[ENTRY] = { .event = "timer_hrtimer_expire_entry", .fields = ENTRY_FIELDS },
	[OLD_ENTRY] = { .event = "hrtimer_expire_entry", .fields = ENTRY_FIELDS },
	[EXIT] = { .event = "timer_hrtimer_expire_exit", .fields = { "hrtimer" } },
	[OLD_EXIT] = { .event = "hrtimer_expire_exit", .fields = { "hrtimer" } },
	[SIGNAL] = { .event = "signal_generate", .fields = { "sig", "pid", "result" } },
};

struct arrivals {
	const struct owners *owners;
	size_t first;
	struct wake_source wakes;
	uint64_t lost_ts; /* begin of the last hole; 0: there was none */
	struct release release;
};

const char *arrivals_name(enum arrival_from from)
{
	static const char *const names[ARRIVALS] = {
		[ARRIVAL_UNKNOWN] = "unknown", [ARRIVAL_TIMER] = "timer",
		[ARRIVAL_SIGNAL] = "signal",   [ARRIVAL_WAKE] = "wake",
		[ARRIVAL_GRID] = "period",
	};

	assert(from < ARRIVALS);
	return names[from];
}

/* ---- events ---- */

static void on_entry(struct arrivals *arrivals, const struct reader_event *event)
{
	int64_t now = reader_i64(event, ENTRY_NOW, 0);

	if (reader_has(event, ENTRY_TIMER)) {
		release_expire(&arrivals->release, event->cpu, event->ts,
			       event->values[ENTRY_TIMER].u,
			       reader_has(event, ENTRY_NOW) ? &now : NULL);
	}
}

static void on_start(struct arrivals *arrivals, const struct reader_event *event)
{
	if (reader_has(event, START_TIMER) && reader_has(event, START_EXPIRES)) {
		release_set(&arrivals->release, event->values[START_TIMER].u,
			    reader_i64(event, START_SOFT, event->values[START_EXPIRES].i));
	}
}

/* Whether the wake-up at @ts ended a sleep. */
static bool was_asleep(const struct arrivals *arrivals, int32_t tid, uint64_t ts)
{
	uint32_t index = owners_at(arrivals->owners, tid, NULL, ts, ts);
	const struct deep_thread *thread;
	size_t at;

	if (index == NOBODY) {
		return false;
	}
	thread = arrivals->owners->timeline->threads.at[index];
	at = timeline_thread_before(thread, ts + 1);
	return at != SIZE_MAX && thread->intervals.at[at].state == STATE_WAIT &&
	       thread->intervals.at[at].begin == ts;
}

static void on_wake(struct arrivals *arrivals, const struct reader_event *event)
{
	int32_t tid = (int32_t)reader_i64(event, WAKE_TID, 0);

	/* In the expiry of a timer whose time had come already: the thread was about to sleep. */
	if (wake_source_wakes(tid, reader_u64(event, WAKE_SUCCESS, 1)) &&
	    release_woken(&arrivals->release, event->cpu, event->ts, tid) &&
	    was_asleep(arrivals, tid, event->ts)) {
		release_slept(&arrivals->release, tid, event->ts);
	}
}

static void on_signal(struct arrivals *arrivals, const struct reader_event *event)
{
	int32_t tid = (int32_t)reader_i64(event, SIGNAL_TID, 0);

	if (reader_has(event, SIGNAL_SIG) && tid > 0 && reader_i64(event, SIGNAL_RESULT, 0) == 0) {
		release_signal(&arrivals->release, event->cpu, event->ts, tid,
			       (int32_t)event->values[SIGNAL_SIG].i);
	}
}

void arrivals_take(struct arrivals *arrivals, const struct reader_event *event)
{
	size_t request;

	if (!event->class) {
		release_lose_cpu(&arrivals->release, event->cpu);
		return;
	}
	request = event->binding->request - arrivals->first;
	if (request < WAKE_EVENTS) {
		enum wake_kind kind = wake_source_kind(&arrivals->wakes, (uint32_t)request);

		if (kind == WAKE_SOURCE || kind == WAKE_NEW) {
			on_wake(arrivals, event);
		}
		return;
	}
	switch (request) {
	case START:
	case OLD_START:
		on_start(arrivals, event);
		break;
	case ENTRY:
	case OLD_ENTRY:
		on_entry(arrivals, event);
		break;
	case EXIT:
	case OLD_EXIT:
		release_expired(&arrivals->release, event->cpu, event->ts);
		break;
	case SIGNAL:
		on_signal(arrivals, event);
		break;
	default:
		break;
	}
}

/* ---- executions ---- */

/* The end of the thread's last sleep in [@since, @ts]; 0: it did not sleep.  @first_wake_ts: of its
 * first wake-up, which may be the first that the trace shows of it. */
static uint64_t sleep_end(const struct deep_thread *thread, uint64_t since, uint64_t ts,
			  uint64_t first_wake_ts, size_t *hint)
{
	/* At the very end of its life there is no interval that begins then. */
	size_t i = timeline_thread_near(thread, ts < thread->end ? ts + 1 : ts, hint);

	for (; i != SIZE_MAX && i > 0 && thread->intervals.at[i].begin >= since; i--) {
		unsigned int before = thread->intervals.at[i - 1].state;

		/* It waits for a CPU, and does not go on waiting for another one. */
		if (thread->intervals.at[i].state == STATE_WAIT && before != STATE_WAIT &&
		    before != STATE_PREEMPTED) {
			return thread->intervals.at[i].begin;
		}
	}
	return i == 0 && thread->intervals.at[0].state == STATE_WAIT &&
			       thread->intervals.at[0].begin == first_wake_ts &&
			       first_wake_ts >= since
		       ? first_wake_ts
		       : 0;
}

struct arrival arrivals_begin(struct arrivals *arrivals, int32_t tid,
			      const struct deep_thread *thread, uint64_t ts, size_t *hint)
{
	uint64_t first_wake, since = release_since(&arrivals->release, tid, 0, &first_wake);

	since = since > arrivals->lost_ts ? since : arrivals->lost_ts;
	return release_begin(&arrivals->release, tid, 0, ts,
			     sleep_end(thread, since, ts, first_wake, hint));
}

void arrivals_end(struct arrivals *arrivals, int32_t tid, uint64_t ts)
{
	release_end(&arrivals->release, tid, 0, ts);
}

void arrivals_forget(struct arrivals *arrivals, int32_t tid)
{
	release_forget(&arrivals->release, tid);
}

void arrivals_rename(struct arrivals *arrivals, int32_t from, int32_t to)
{
	release_rename(&arrivals->release, from, to, UINT64_MAX);
}

/* ---- lifecycle ---- */

struct arrivals *arrivals_new(const struct owners *owners, const struct plan *plan, size_t first)
{
	struct arrivals *arrivals = mem_alloc(sizeof(*arrivals));

	arrivals->owners = owners;
	arrivals->first = first;
	arrivals->wakes = wake_source_of(plan);
	arrivals->release.jobs = 1;
	arrivals->release.least = owners->timeline->begin;
	return arrivals;
}

void arrivals_lose(struct arrivals *arrivals, uint64_t ts)
{
	release_lose(&arrivals->release);
	arrivals->lost_ts = ts;
}

void arrivals_free(struct arrivals *arrivals)
{
	release_fini(&arrivals->release);
	free(arrivals);
}
