/*
 * release: see release.h.
 */
#include "kernel/release.h"

#include <assert.h>

#include "base/limits.h"

/* What has come for a job while its thread was not asleep. */
struct waiting {
	struct expiry pending; /* the first of ... */
	uint32_t pending_count;
	VEC(uint64_t) signals; /* its times, from index `taken` on */
	size_t taken;
	int32_t signal; /* the one that released it before; 0: none */
	bool is_executing;
	uint64_t since;   /* when its last execution ended, or began */
	uint64_t arrival; /* of its last execution */
};

struct release_thread {
	uint64_t first_wake_ts;
	/* Its last wake-up; 0: none. */
	uint64_t wake_ts;
	bool is_timer;
	struct expiry expiry; /* is_timer */
	int32_t wake_signal;  /* 0: without a signal */
	/* It may not have slept at wake_ts: then the expiry waits for it. */
	bool is_in_doubt;
	uint64_t seen_ts; /* when something last came of it */
	struct waiting jobs[];
};

/* ---- tables ---- */

static uint64_t key_of(int32_t tid)
{
	return (uint32_t)tid;
}

/* Valid until the next call. */
static struct release_timer *timer_at(struct release *release, uint64_t address)
{
	if (release->timers.used >= RELEASE_TIMERS_MAX) {
		release_timers_clear(&release->timers);
	}
	return release_timers_put(&release->timers, address, NULL);
}

/* Valid until the next call. */
static struct release_cpu *cpu_at(struct release *release, uint64_t cpu)
{
	return release_cpus_put(&release->cpus, cpu, NULL);
}

static void free_thread(struct release_thread *thread, size_t jobs)
{
	for (size_t j = 0; j < jobs; j++) {
		vec_fini(&thread->jobs[j].signals);
	}
	free(thread);
}

/* Forgets what has not been seen for more than half of the time: threads that have ended, mostly.
 */
static void sweep(struct release *release, uint64_t now)
{
	struct release_threads *threads = &release->threads;
	struct release_threads_entry *entry = NULL;
	uint64_t first = now;

	HASH_EACH(release_threads, threads, one) {
		first = one->value->seen_ts < first ? one->value->seen_ts : first;
	}
	entry = release_threads_next(threads, NULL, NULL);
	while (entry) {
		if (entry->value->seen_ts > first + (now - first) / 2) {
			entry = release_threads_next(threads, NULL, entry);
		} else {
			free_thread(entry->value, release->jobs);
			entry = release_threads_remove(threads, NULL, entry);
		}
	}
}

/* NULL: nothing is known. */
static struct release_thread *known(const struct release *release, int32_t tid)
{
	struct release_thread *const *thread = release_threads_get(&release->threads, key_of(tid));

	return thread ? *thread : NULL;
}

static struct release_thread *thread_at(struct release *release, int32_t tid, uint64_t ts)
{
	struct release_thread **thread;

	if (release->threads.used >= RELEASE_THREADS_MAX) {
		sweep(release, ts);
	}
	thread = release_threads_put(&release->threads, key_of(tid), NULL);
	if (!*thread) {
		*thread = mem_alloc(sizeof(**thread) + release->jobs * sizeof(struct waiting));
	}
	(*thread)->seen_ts = ts;
	return *thread;
}

/* ---- what waits for a thread ---- */

static void add_pending(struct waiting *waiting, const struct expiry *expiry)
{
	if (waiting->pending_count == 0) {
		waiting->pending = *expiry;
	}
	waiting->pending_count += waiting->pending_count < UINT32_MAX;
}

/* If it was in doubt whether the thread slept when a timer woke it: it did not. */
static void settle(const struct release *release, struct release_thread *thread)
{
	for (size_t j = 0; thread->is_in_doubt && j < release->jobs; j++) {
		if (!thread->jobs[j].is_executing) {
			add_pending(&thread->jobs[j], &thread->expiry);
		}
	}
	thread->is_in_doubt = false;
}

/* Something else comes of the thread. */
static struct release_thread *settled(struct release *release, int32_t tid, uint64_t ts)
{
	struct release_thread *thread = thread_at(release, tid, ts);

	settle(release, thread);
	return thread;
}

/* ---- what happens on CPUs ---- */

void release_set(struct release *release, uint64_t timer, int64_t expires)
{
	struct release_timer *set = timer_at(release, timer);

	set->is_set = true;
	set->expires = expires;
}

void release_expire(struct release *release, uint64_t cpu, uint64_t ts, uint64_t timer,
		    const int64_t *now)
{
	struct release_timer *set = timer_at(release, timer);
	struct release_cpu *at = cpu_at(release, cpu);

	*at = (struct release_cpu){ .is_in_expiry = true, .timer = timer, .expiry.ts = ts };
	if (set->is_set && now && *now > set->expires) {
		at->expiry.late_ns = (uint64_t)*now - (uint64_t)set->expires;
	}
	set->is_set = false;
}

/* A timer of a thread that is not asleep wakes nobody. */
void release_expired(struct release *release, uint64_t cpu, uint64_t ts)
{
	struct release_cpu *at = cpu_at(release, cpu);
	struct release_thread *thread;
	int32_t tid;

	if (!at->is_in_expiry) {
		return;
	}
	at->is_in_expiry = false;
	tid = timer_at(release, at->timer)->tid;
	if (!at->has_woken && tid != 0) {
		thread = settled(release, tid, ts);
		for (size_t j = 0; j < release->jobs; j++) {
			add_pending(&thread->jobs[j], &at->expiry);
		}
	}
}

bool release_woken(struct release *release, uint64_t cpu, uint64_t ts, int32_t tid)
{
	struct release_cpu *at = cpu_at(release, cpu);
	struct release_thread *thread = settled(release, tid, ts);
	struct release_timer *timer;

	thread->first_wake_ts = thread->first_wake_ts != 0 ? thread->first_wake_ts : ts;
	thread->wake_ts = ts;
	thread->wake_signal = 0;
	thread->is_timer = at->is_in_expiry;
	thread->expiry = at->expiry;
	at->woken = tid;
	if (!at->is_in_expiry) {
		return false;
	}
	at->has_woken = true;
	timer = timer_at(release, at->timer);
	timer->is_shared |= timer->tid != 0 && timer->tid != tid;
	timer->tid = timer->is_shared ? 0 : tid;
	thread->is_in_doubt = true;
	return true;
}

void release_signal(struct release *release, uint64_t cpu, uint64_t ts, int32_t tid, int32_t signal)
{
	struct release_cpu *at = cpu_at(release, cpu);
	struct release_thread *thread = thread_at(release, tid, ts);

	if (at->woken == tid) {
		thread->wake_signal = signal; /* it follows its wake-up */
		at->woken = 0;
		return;
	}
	for (size_t j = 0; j < release->jobs; j++) {
		struct waiting *waiting = &thread->jobs[j];

		if (signal == waiting->signal && signal != 0 &&
		    waiting->signals.count - waiting->taken < RELEASE_SIGNALS_MAX) {
			*vec_push(&waiting->signals) = ts;
		}
	}
}

void release_lose_cpu(struct release *release, uint64_t cpu)
{
	*cpu_at(release, cpu) = (struct release_cpu){ 0 };
}

void release_lose(struct release *release)
{
	HASH_EACH(release_threads, &release->threads, entry) {
		free_thread(entry->value, release->jobs);
	}
	release_threads_clear(&release->threads);
	release_timers_clear(&release->timers);
	release_cpus_clear(&release->cpus);
}

/* ---- threads ---- */

void release_slept(struct release *release, int32_t tid, uint64_t ts)
{
	struct release_thread *thread = known(release, tid);

	if (thread && thread->wake_ts == ts) {
		thread->is_in_doubt = false;
	}
}

void release_forget(struct release *release, int32_t tid)
{
	struct release_thread *thread = known(release, tid);

	if (thread) {
		free_thread(thread, release->jobs);
		(void)release_threads_drop(&release->threads, key_of(tid));
	}
}

/* The last wake-up of @old is in fact one of @thread. */
static void take_wake(struct release_thread *thread, const struct release_thread *old)
{
	thread->wake_ts = old->wake_ts;
	thread->is_timer = old->is_timer;
	thread->expiry = old->expiry;
	thread->wake_signal = old->wake_signal;
	thread->is_in_doubt = old->is_in_doubt;
}

void release_rename(struct release *release, int32_t from, int32_t to, uint64_t at)
{
	struct release_thread *moved = known(release, from), *old = known(release, to);

	if (!moved && !(old && old->wake_ts == at)) {
		release_forget(release, to);
		return;
	}
	if (!moved) {
		moved = thread_at(release, from, at);
		old = known(release, to); /* it may be gone */
	}
	if (old && old->wake_ts == at && moved->wake_ts < at) {
		settle(release, moved);
		take_wake(moved, old);
	}
	release_forget(release, to);
	(void)release_threads_drop(&release->threads, key_of(from));
	*release_threads_put(&release->threads, key_of(to), NULL) = moved;
}

/* ---- executions ---- */

uint64_t release_since(const struct release *release, int32_t tid, size_t job,
		       uint64_t *ret_first_wake)
{
	const struct release_thread *thread = known(release, tid);

	assert(job < release->jobs);
	*ret_first_wake = thread ? thread->first_wake_ts : 0;
	return thread ? thread->jobs[job].since : 0;
}

/* When the timer should have expired, or when it did if that is no release: before the last one. */
static uint64_t due(const struct release *release, const struct waiting *waiting,
		    const struct expiry *expiry)
{
	uint64_t after = waiting->arrival > release->least ? waiting->arrival : release->least;

	return expiry->late_ns < expiry->ts && expiry->ts - expiry->late_ns > after
		       ? expiry->ts - expiry->late_ns
		       : expiry->ts;
}

/* The wake-up that ended its sleep at @slept released it. */
static struct arrival of_wake(const struct release *release, const struct release_thread *thread,
			      struct waiting *waiting, uint64_t slept)
{
	struct arrival arrival = { .ts = slept, .from = ARRIVAL_WAKE };

	if (thread->wake_ts > slept || thread->wake_ts < waiting->since) {
		return arrival; /* another one came since */
	}
	arrival.ts = thread->wake_ts;
	if (thread->is_timer) {
		arrival.from = ARRIVAL_TIMER;
		arrival.ts = due(release, waiting, &thread->expiry);
	} else if (thread->wake_signal != 0) {
		arrival.from = ARRIVAL_SIGNAL;
		waiting->signal = thread->wake_signal;
	}
	waiting->taken = waiting->signals.count = 0;
	return arrival;
}

/* What has come while it was not asleep released it. */
static struct arrival of_pending(const struct release *release, struct waiting *waiting,
				 uint64_t ts)
{
	struct arrival arrival = { .ts = ts, .from = ARRIVAL_UNKNOWN };

	if (waiting->pending_count > 0) {
		arrival.from = ARRIVAL_TIMER;
		arrival.ts = due(release, waiting, &waiting->pending);
		arrival.skipped = waiting->pending_count - 1;
	} else if (waiting->taken < waiting->signals.count) {
		arrival.from = ARRIVAL_SIGNAL;
		arrival.ts = waiting->signals.at[waiting->taken++];
	}
	if (waiting->taken == waiting->signals.count) {
		waiting->taken = waiting->signals.count = 0;
	}
	return arrival;
}

struct arrival release_begin(struct release *release, int32_t tid, size_t job, uint64_t ts,
			     uint64_t slept)
{
	struct release_thread *thread = settled(release, tid, ts);
	struct waiting *waiting = &thread->jobs[job];
	struct arrival arrival;

	assert(job < release->jobs);
	/* What was swept has no wake-up. */
	arrival = slept != 0 && slept >= waiting->since && thread->wake_ts != 0
			  ? of_wake(release, thread, waiting, slept)
			  : of_pending(release, waiting, ts);
	arrival.ts = arrival.ts < ts ? arrival.ts : ts;
	waiting->pending_count = 0;
	waiting->is_executing = true;
	waiting->since = ts;
	waiting->arrival = arrival.ts;
	return arrival;
}

void release_end(struct release *release, int32_t tid, size_t job, uint64_t ts)
{
	struct waiting *waiting = &settled(release, tid, ts)->jobs[job];

	assert(job < release->jobs);
	waiting->is_executing = false;
	waiting->since = ts;
}

void release_point(struct arrival *arrival, const uint64_t *before, uint64_t period,
		   bool is_doubted)
{
	uint64_t since = before && arrival->ts > *before ? arrival->ts - *before : 0, late = 0;

	assert(period > 0);
	if (arrival->from == ARRIVAL_TIMER || arrival->from == ARRIVAL_SIGNAL) {
		return;
	}
	if (is_doubted) {
		late = since % period;
		late = late >= period - period / RELEASE_PARTS ? 0 : late;
	} else if (since > period) {
		late = since - period;
	}
	arrival->ts -= late;
	if (late > 0 || arrival->from == ARRIVAL_UNKNOWN) {
		arrival->from = ARRIVAL_GRID;
	}
}

/* ---- lifecycle ---- */

void release_fini(struct release *release)
{
	release_lose(release);
	release_timers_fini(&release->timers);
	release_cpus_fini(&release->cpus);
	release_threads_fini(&release->threads);
}

static void timer_codec(struct codec *codec, struct release_timer *timer)
{
	codec_each(codec, &timer->expires, &timer->tid, &timer->is_set, &timer->is_shared);
}

static void cpu_codec(struct codec *codec, struct release_cpu *cpu)
{
	codec_each(codec, &cpu->timer, &cpu->expiry.ts, &cpu->expiry.late_ns, &cpu->woken,
		   &cpu->is_in_expiry, &cpu->has_woken);
}

static void thread_codec(struct codec *codec, struct release_thread *thread, size_t jobs)
{
	codec_each(codec, &thread->first_wake_ts, &thread->wake_ts, &thread->is_timer,
		   &thread->expiry.ts, &thread->expiry.late_ns, &thread->wake_signal,
		   &thread->is_in_doubt, &thread->seen_ts);
	for (size_t j = 0; j < jobs; j++) {
		struct waiting *waiting = &thread->jobs[j];
		size_t signals = codec_count(codec, waiting->signals.count - waiting->taken,
					     sizeof(uint64_t));

		for (size_t i = 0; i < signals; i++) {
			if (codec_reads(codec)) {
				*vec_push(&waiting->signals) = 0;
			}
			codec_u64(codec, &waiting->signals.at[waiting->taken + i]);
		}
		codec_each(codec, &waiting->pending.ts, &waiting->pending.late_ns,
			   &waiting->pending_count, &waiting->signal, &waiting->is_executing,
			   &waiting->since, &waiting->arrival);
	}
}

/* Bytes of a key and a value at least. */
#define TIMER_BYTES  22
#define CPU_BYTES    38
#define THREAD_BYTES 57

static void read_all(struct codec *codec, struct release *release)
{
	size_t count = codec_count(codec, 0, TIMER_BYTES);
	uint64_t key = 0;

	for (size_t i = 0; i < count && codec_check(codec, count <= RELEASE_TIMERS_MAX); i++) {
		codec_u64(codec, &key);
		timer_codec(codec, timer_at(release, key));
	}
	count = codec_count(codec, 0, CPU_BYTES);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		codec_u64(codec, &key);
		cpu_codec(codec, cpu_at(release, key));
	}
	count = codec_count(codec, 0, THREAD_BYTES);
	for (size_t i = 0; i < count && codec_check(codec, i < RELEASE_THREADS_MAX); i++) {
		codec_u64(codec, &key);
		if (codec_check(codec, key <= INT32_MAX && !known(release, (int32_t)key))) {
			thread_codec(codec, thread_at(release, (int32_t)key, 0), release->jobs);
		}
	}
}

void release_codec(struct codec *codec, struct release *release)
{
	if (codec_reads(codec)) {
		read_all(codec, release);
		return;
	}
	(void)codec_count(codec, release->timers.used, TIMER_BYTES);
	HASH_EACH(release_timers, &release->timers, entry) {
		codec_u64(codec, &entry->key);
		timer_codec(codec, &entry->value);
	}
	(void)codec_count(codec, release->cpus.used, CPU_BYTES);
	HASH_EACH(release_cpus, &release->cpus, entry) {
		codec_u64(codec, &entry->key);
		cpu_codec(codec, &entry->value);
	}
	(void)codec_count(codec, release->threads.used, THREAD_BYTES);
	HASH_EACH(release_threads, &release->threads, entry) {
		codec_u64(codec, &entry->key);
		thread_codec(codec, entry->value, release->jobs);
	}
}
