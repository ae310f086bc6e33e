/*
 * arrivals: see arrivals.h.
 */
#include "deep/jobs/arrivals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/wake-source.h"

/* Signals that wait for a thread: more are not kept. */
#define SIGNALS_MAX 1024

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

/* The expiry of a timer. */
struct expiry {
	uint64_t ts;
	uint64_t late_ns; /* after the time that the timer was set to, if that is known */
};

struct timer {
	bool is_set;
	int64_t expires; /* is_set: the earliest time, by the timer's own clock */
	int32_t tid;     /* the thread that it wakes; 0: none was seen, or several */
	bool is_shared;  /* it woke several */
};

struct cpu_now {
	bool is_in_expiry;
	uint64_t timer;
	struct expiry expiry;
	bool has_woken; /* the expiry woke a thread */
	int32_t woken;  /* the last thread woken here; 0: a signal for it was seen, too */
};

/* What may release a thread. */
struct release {
	uint64_t first_wake_ts;
	/* Its last wake-up. */
	uint64_t wake_ts;
	bool is_timer;
	struct expiry expiry; /* is_timer */
	int32_t wake_signal;  /* 0: without a signal */
	/* What has come while it was not asleep. */
	struct expiry pending; /* the first of ... */
	uint32_t pending_count;
	VEC(uint64_t) signals; /* its times, from index `taken` on */
	size_t taken;

	int32_t signal; /* the one that released it before; 0: none */
	bool is_executing;
	uint64_t since;   /* when its last execution ended, or began */
	uint64_t arrival; /* of its last execution */
	size_t hint;      /* where that one began in the timeline (timeline_thread_near) */
};

HASH_MAP(timers, struct timer)
HASH_MAP(cpus_now, struct cpu_now)
HASH_MAP(releases, struct release *)

struct arrivals {
	const struct owners *owners;
	size_t first;
	struct wake_source wakes;
	uint64_t lost_ts; /* begin of the last hole; 0: there was none */
	struct timers timers;
	struct cpus_now cpus;
	struct releases releases; /* by tid */
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

/* ---- tables ---- */

/* Valid until the next call. */
static struct timer *timer_at(struct arrivals *arrivals, uint64_t address)
{
	return timers_put(&arrivals->timers, address, NULL);
}

/* Valid until the next call. */
static struct cpu_now *cpu_at(struct arrivals *arrivals, uint64_t cpu)
{
	return cpus_now_put(&arrivals->cpus, cpu, NULL);
}

static struct release *release_of(struct arrivals *arrivals, int32_t tid)
{
	bool is_new;
	struct release **at = releases_put(&arrivals->releases, (uint64_t)(uint32_t)tid, &is_new);

	if (is_new) {
		*at = mem_alloc(sizeof(**at));
	}
	return *at;
}

static void free_release(struct release *release)
{
	vec_fini(&release->signals);
	free(release);
}

void arrivals_forget(struct arrivals *arrivals, int32_t tid)
{
	struct release **at = releases_get(&arrivals->releases, (uint64_t)(uint32_t)tid);

	if (at) {
		free_release(*at);
		(void)releases_drop(&arrivals->releases, (uint64_t)(uint32_t)tid);
	}
}

void arrivals_rename(struct arrivals *arrivals, int32_t from, int32_t to)
{
	struct release **at = releases_get(&arrivals->releases, (uint64_t)(uint32_t)from);
	struct release *moved = at ? *at : NULL;

	arrivals_forget(arrivals, to);
	if (moved) {
		(void)releases_drop(&arrivals->releases, (uint64_t)(uint32_t)from);
		*releases_put(&arrivals->releases, (uint64_t)(uint32_t)to, NULL) = moved;
	}
}

/* ---- events ---- */

static void on_entry(struct arrivals *arrivals, const struct reader_event *event)
{
	const struct value *v = event->values;
	struct cpu_now *cpu = cpu_at(arrivals, event->cpu);
	struct timer *timer;

	if (!reader_has(event, ENTRY_TIMER)) {
		return;
	}
	timer = timer_at(arrivals, v[ENTRY_TIMER].u);
	*cpu = (struct cpu_now){ .is_in_expiry = true,
				 .timer = v[ENTRY_TIMER].u,
				 .expiry.ts = event->ts };
	if (timer->is_set && reader_has(event, ENTRY_NOW) && v[ENTRY_NOW].i > timer->expires) {
		cpu->expiry.late_ns = (uint64_t)v[ENTRY_NOW].i - (uint64_t)timer->expires;
	}
	timer->is_set = false;
}

static void on_start(struct arrivals *arrivals, const struct reader_event *event)
{
	const struct value *v = event->values;
	struct timer *timer;

	if (reader_has(event, START_TIMER) && reader_has(event, START_EXPIRES)) {
		timer = timer_at(arrivals, v[START_TIMER].u);
		timer->is_set = true;
		timer->expires = v[reader_has(event, START_SOFT) ? START_SOFT : START_EXPIRES].i;
	}
}

static void add_pending(struct release *release, const struct expiry *expiry)
{
	if (release->pending_count == 0) {
		release->pending = *expiry;
	}
	release->pending_count += release->pending_count < UINT32_MAX;
}

/* A timer of a thread, which is not asleep, wakes nobody. */
static void on_exit_of_timer(struct arrivals *arrivals, const struct reader_event *event)
{
	struct cpu_now *cpu = cpu_at(arrivals, event->cpu);
	const struct timer *timer;

	if (!cpu->is_in_expiry) {
		return;
	}
	timer = timer_at(arrivals, cpu->timer);
	if (!cpu->has_woken && timer->tid != 0) {
		add_pending(release_of(arrivals, timer->tid), &cpu->expiry);
	}
	cpu->is_in_expiry = false;
}

/* Whether the wake-up at @ts ended a sleep. */
static bool was_asleep(struct arrivals *arrivals, int32_t tid, uint64_t ts)
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
	const struct value *v = event->values;
	struct cpu_now *cpu = cpu_at(arrivals, event->cpu);
	struct release *release;
	struct timer *timer;
	int32_t tid;

	if (!wake_source_wakes(reader_i64(event, WAKE_TID, 0),
			       reader_u64(event, WAKE_SUCCESS, 1))) {
		return;
	}
	tid = (int32_t)v[WAKE_TID].i;
	release = release_of(arrivals, tid);
	release->first_wake_ts = release->first_wake_ts != 0 ? release->first_wake_ts : event->ts;
	release->wake_ts = event->ts;
	release->wake_signal = 0;
	release->is_timer = cpu->is_in_expiry;
	release->expiry = cpu->expiry;
	cpu->woken = tid;
	if (!cpu->is_in_expiry) {
		return;
	}
	cpu->has_woken = true;
	timer = timer_at(arrivals, cpu->timer);
	timer->is_shared |= timer->tid != 0 && timer->tid != tid;
	timer->tid = timer->is_shared ? 0 : tid;
	/* A sleep whose time had come already: the thread was about to sleep. */
	if (!release->is_executing && !was_asleep(arrivals, tid, event->ts)) {
		add_pending(release, &cpu->expiry);
	}
}

static void on_signal(struct arrivals *arrivals, const struct reader_event *event)
{
	const struct value *v = event->values;
	struct cpu_now *cpu = cpu_at(arrivals, event->cpu);
	struct release *release;
	int32_t signal;

	if (!reader_has(event, SIGNAL_SIG) || !reader_has(event, SIGNAL_TID) ||
	    (reader_has(event, SIGNAL_RESULT) && v[SIGNAL_RESULT].i != 0)) {
		return;
	}
	signal = (int32_t)v[SIGNAL_SIG].i;
	release = release_of(arrivals, (int32_t)v[SIGNAL_TID].i);
	if (cpu->woken == v[SIGNAL_TID].i && cpu->woken != 0) {
		release->wake_signal = signal; /* it follows its wake-up */
		cpu->woken = 0;
	} else if (signal == release->signal && signal != 0 &&
		   release->signals.count - release->taken < SIGNALS_MAX) {
		*vec_push(&release->signals) = event->ts;
	}
}

void arrivals_take(struct arrivals *arrivals, const struct reader_event *event)
{
	size_t request;

	if (!event->class) {
		*cpu_at(arrivals, event->cpu) = (struct cpu_now){ 0 };
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
		on_exit_of_timer(arrivals, event);
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

/* When the timer should have expired, or when it did if that is no release: before the last one. */
static uint64_t due(const struct release *release, const struct expiry *expiry, uint64_t least)
{
	uint64_t after = release->arrival > least ? release->arrival : least;

	return expiry->late_ns < expiry->ts && expiry->ts - expiry->late_ns > after
		       ? expiry->ts - expiry->late_ns
		       : expiry->ts;
}

/* The wake-up that ended its sleep at @end released it. */
static struct arrival of_wake(struct release *release, uint64_t end, uint64_t least)
{
	struct arrival arrival = { .ts = end, .from = ARRIVAL_WAKE };

	if (release->wake_ts > end || release->wake_ts < release->since) {
		return arrival; /* another one came since */
	}
	arrival.ts = release->wake_ts;
	if (release->is_timer) {
		arrival.from = ARRIVAL_TIMER;
		arrival.ts = due(release, &release->expiry, least);
	} else if (release->wake_signal != 0) {
		arrival.from = ARRIVAL_SIGNAL;
		release->signal = release->wake_signal;
	}
	release->taken = release->signals.count = 0;
	return arrival;
}

/* What has come while it was not asleep released it. */
static struct arrival of_pending(struct release *release, uint64_t ts, uint64_t least)
{
	struct arrival arrival = { .ts = ts, .from = ARRIVAL_UNKNOWN };

	if (release->pending_count > 0) {
		arrival.from = ARRIVAL_TIMER;
		arrival.ts = due(release, &release->pending, least);
		arrival.skipped = release->pending_count - 1;
	} else if (release->taken < release->signals.count) {
		arrival.from = ARRIVAL_SIGNAL;
		arrival.ts = release->signals.at[release->taken++];
	}
	if (release->taken == release->signals.count) {
		release->taken = release->signals.count = 0;
	}
	return arrival;
}

struct arrival arrivals_begin(struct arrivals *arrivals, int32_t tid,
			      const struct deep_thread *thread, uint64_t ts)
{
	struct release *release = release_of(arrivals, tid);
	uint64_t least = arrivals->owners->timeline->begin;
	uint64_t since = release->since > arrivals->lost_ts ? release->since : arrivals->lost_ts;
	uint64_t end = sleep_end(thread, since, ts, release->first_wake_ts, &release->hint);
	struct arrival arrival =
		end != 0 ? of_wake(release, end, least) : of_pending(release, ts, least);

	arrival.ts = arrival.ts < ts ? arrival.ts : ts;
	release->pending_count = 0;
	release->is_executing = true;
	release->since = ts;
	release->arrival = arrival.ts;
	return arrival;
}

void arrivals_end(struct arrivals *arrivals, int32_t tid, uint64_t ts)
{
	struct release *release = release_of(arrivals, tid);

	release->is_executing = false;
	release->since = ts;
}

/* ---- lifecycle ---- */

struct arrivals *arrivals_new(const struct owners *owners, const struct plan *plan, size_t first)
{
	struct arrivals *arrivals = mem_alloc(sizeof(*arrivals));

	arrivals->owners = owners;
	arrivals->first = first;
	arrivals->wakes = wake_source_of(plan);
	return arrivals;
}

static void forget_all(struct arrivals *arrivals)
{
	HASH_EACH(releases, &arrivals->releases, one) {
		free_release(one->value);
	}
	timers_clear(&arrivals->timers);
	cpus_now_clear(&arrivals->cpus);
	releases_clear(&arrivals->releases);
}

void arrivals_lose(struct arrivals *arrivals, uint64_t ts)
{
	forget_all(arrivals);
	arrivals->lost_ts = ts;
}

void arrivals_free(struct arrivals *arrivals)
{
	forget_all(arrivals);
	timers_fini(&arrivals->timers);
	cpus_now_fini(&arrivals->cpus);
	releases_fini(&arrivals->releases);
	free(arrivals);
}
