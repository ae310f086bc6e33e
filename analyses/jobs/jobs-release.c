/*
 * jobs-release: see jobs.h; what released a thread (doc/definitions.md, 6.2).
 *
 *     timer   expires                      thread   sleeps ──── woken ── runs: execution begins
 *             └─ arrival                            └─ the wake-up says what released it
 *
 *     timer   expires                      thread   executes ──────── begins the next one at once
 *             └─ arrival: it was not asleep, so the expiry waited for it
 *
 * Of a wake-up by a timer it shows only later whether the thread slept: NOTE_SLEPT of the thread
 * comes after NOTE_WOKEN of the CPU.  Until then it is in doubt.
 */
#include "analyses/jobs/jobs.h"

#include "base/limits.h"
#include "engine/contract/untrusted.h"

/* What has come for a job while its thread was not asleep. */
struct waiting {
	struct jobs_expiry pending; /* the first of ... */
	uint32_t pending_count;
	VEC(uint64_t) signals; /* its times, from index `taken` on */
	size_t taken;
	int32_t signal; /* the one that released it before; 0: none */
	bool is_executing;
	uint64_t since;   /* when its last execution ended, or began */
	uint64_t arrival; /* of its last execution */
};

/* What may release a thread. */
struct jobs_release {
	/* Its last wake-up. */
	uint64_t wake_ts;
	bool is_timer;
	struct jobs_expiry expiry; /* is_timer */
	int32_t wake_signal;       /* 0: without a signal */
	/* It may not have slept at wake_ts: then the expiry waits for it. */
	bool is_in_doubt;
	uint64_t seen_ts; /* when something last came of it */
	struct waiting jobs[];
};

/* ---- tables ---- */

/* Valid until the next call. */
static struct jobs_timer *timer_at(struct jobs_trace *trace, uint64_t address)
{
	if (trace->timers.used >= JOBS_TIMERS_MAX) {
		jobs_timers_clear(&trace->timers);
	}
	return jobs_timers_put(&trace->timers, address, NULL);
}

/* Valid until the next call. */
static struct jobs_cpu *cpu_at(struct jobs_trace *trace, uint64_t cpu)
{
	return jobs_cpus_put(&trace->cpus, cpu, NULL);
}

static void free_release(struct jobs_release *release, size_t count)
{
	for (size_t j = 0; j < count; j++) {
		vec_fini(&release->jobs[j].signals);
	}
	free(release);
}

/* Forgets what has not been seen for more than half of the time: threads that have ended, mostly.
 */
static void sweep(struct jobs_trace *trace, uint64_t now)
{
	uint64_t first = now;
	struct jobs_releases_entry *one;

	HASH_EACH(jobs_releases, &trace->releases, each) {
		if (each->value->seen_ts < first) {
			first = each->value->seen_ts;
		}
	}
	one = jobs_releases_next(&trace->releases, NULL, NULL);
	while (one) {
		struct jobs_release *release = one->value;

		if (release->seen_ts <= first + (now - first) / 2) {
			one = jobs_releases_remove(&trace->releases, NULL, one);
			free_release(release, trace->jobs);
		} else {
			one = jobs_releases_next(&trace->releases, NULL, one);
		}
	}
}

static struct jobs_release *release_of(struct jobs_trace *trace, size_t count, int32_t tid,
				       uint64_t ts)
{
	bool is_new;
	struct jobs_release **at;

	if (trace->releases.used >= JOBS_RELEASES_MAX) {
		sweep(trace, ts);
	}
	at = jobs_releases_put(&trace->releases, (uint64_t)(uint32_t)tid, &is_new);
	if (is_new) {
		*at = mem_alloc(sizeof(struct jobs_release) + count * sizeof(struct waiting));
	}
	(*at)->seen_ts = ts;
	return *at;
}

/* NULL: nothing is known. */
static struct jobs_release *known_release(const struct jobs_trace *trace, int32_t tid)
{
	struct jobs_release **at = jobs_releases_get(&trace->releases, (uint64_t)(uint32_t)tid);

	return at ? *at : NULL;
}

static void forget(struct jobs_trace *trace, size_t count, int32_t tid)
{
	struct jobs_release **at = jobs_releases_get(&trace->releases, (uint64_t)(uint32_t)tid);

	if (at) {
		free_release(*at, count);
		(void)jobs_releases_drop(&trace->releases, (uint64_t)(uint32_t)tid);
	}
}

static void forget_all(struct jobs_trace *trace, size_t count)
{
	HASH_EACH(jobs_releases, &trace->releases, one) {
		free_release(one->value, count);
	}
	jobs_releases_clear(&trace->releases);
	jobs_timers_clear(&trace->timers);
	jobs_cpus_clear(&trace->cpus);
}

/* ---- what waits for a thread ---- */

static void add_pending(struct waiting *waiting, const struct jobs_expiry *expiry)
{
	if (waiting->pending_count == 0) {
		waiting->pending = *expiry;
	}
	waiting->pending_count += waiting->pending_count < UINT32_MAX;
}

/* The thread did not sleep when the timer woke it. */
static void settle(struct jobs_release *release, size_t count)
{
	for (size_t j = 0; release->is_in_doubt && j < count; j++) {
		if (!release->jobs[j].is_executing) {
			add_pending(&release->jobs[j], &release->expiry);
		}
	}
	release->is_in_doubt = false;
}

/* ---- what happens on CPUs ---- */

static void on_set(struct jobs_trace *trace, const uint64_t *words)
{
	struct jobs_timer *timer = timer_at(trace, words[0]);

	timer->is_set = true;
	timer->expires = (int64_t)words[1];
}

static void on_expire(struct jobs_trace *trace, const struct ordered *ordered, uint64_t id)
{
	const uint64_t *words = ordered->words;
	struct jobs_timer *timer = timer_at(trace, words[0]);
	struct jobs_cpu *cpu = cpu_at(trace, id);

	*cpu = (struct jobs_cpu){ .is_in_expiry = true,
				  .timer = words[0],
				  .expiry.ts = ordered->ts };
	if (timer->is_set && words[2] && (int64_t)words[1] > timer->expires) {
		cpu->expiry.late_ns = words[1] - (uint64_t)timer->expires;
	}
	timer->is_set = false;
}

/* A timer of a thread that is not asleep wakes nobody. */
static void on_expired(struct jobs_trace *trace, size_t count, const struct ordered *ordered,
		       uint64_t id)
{
	struct jobs_cpu *cpu = cpu_at(trace, id);
	struct jobs_release *release;
	int32_t tid;

	if (!cpu->is_in_expiry) {
		return;
	}
	cpu->is_in_expiry = false;
	tid = timer_at(trace, cpu->timer)->tid;
	if (!cpu->has_woken && tid != 0) {
		release = release_of(trace, count, tid, ordered->ts);
		settle(release, count);
		for (size_t j = 0; j < count; j++) {
			add_pending(&release->jobs[j], &cpu->expiry);
		}
	}
}

static void on_woken(struct jobs_trace *trace, size_t count, const struct ordered *ordered,
		     uint64_t id)
{
	int32_t tid = (int32_t)ordered->words[0];
	struct jobs_cpu *cpu = cpu_at(trace, id);
	struct jobs_release *release = release_of(trace, count, tid, ordered->ts);
	struct jobs_timer *timer;

	settle(release, count);
	release->wake_ts = ordered->ts;
	release->wake_signal = 0;
	release->is_timer = cpu->is_in_expiry;
	release->expiry = cpu->expiry;
	cpu->woken = tid;
	if (!cpu->is_in_expiry) {
		return;
	}
	cpu->has_woken = true;
	timer = timer_at(trace, cpu->timer);
	timer->is_shared |= timer->tid != 0 && timer->tid != tid;
	timer->tid = timer->is_shared ? 0 : tid;
	release->is_in_doubt = true;
}

static void on_signal(struct jobs_trace *trace, size_t count, const struct ordered *ordered,
		      uint64_t id)
{
	int32_t tid = (int32_t)ordered->words[0], signal = (int32_t)ordered->words[1];
	struct jobs_cpu *cpu = cpu_at(trace, id);
	struct jobs_release *release = release_of(trace, count, tid, ordered->ts);

	if (cpu->woken == tid) {
		release->wake_signal = signal; /* it follows its wake-up */
		cpu->woken = 0;
		return;
	}
	for (size_t j = 0; j < count; j++) {
		struct waiting *waiting = &release->jobs[j];

		if (signal == waiting->signal && signal != 0 &&
		    waiting->signals.count - waiting->taken < JOBS_SIGNALS_MAX) {
			*vec_push(&waiting->signals) = ordered->ts;
		}
	}
}

/* ---- the life of threads ---- */

/* What was said of the new tid is of the thread that had it, but for a wake-up at this very time:
 * of one time, events come by tid. */
static void rename_release(struct jobs_trace *trace, size_t count, int32_t from, int32_t to,
			   uint64_t ts)
{
	struct jobs_release *moved = known_release(trace, from), *old = known_release(trace, to);
	bool is_woken = old && old->wake_ts == ts;

	if (!moved && !is_woken) {
		forget(trace, count, to);
		return;
	}
	if (!moved) {
		moved = release_of(trace, count, from, ts);
		old = known_release(trace, to); /* it may be gone */
	}
	if (old && is_woken && moved->wake_ts < ts) {
		settle(moved, count);
		moved->wake_ts = old->wake_ts;
		moved->is_timer = old->is_timer;
		moved->expiry = old->expiry;
		moved->wake_signal = old->wake_signal;
		moved->is_in_doubt = old->is_in_doubt;
	}
	(void)jobs_releases_drop(&trace->releases, (uint64_t)(uint32_t)from);
	forget(trace, count, to);
	*jobs_releases_put(&trace->releases, (uint64_t)(uint32_t)to, NULL) = moved;
}

static void on_thread(struct jobs_trace *trace, size_t count, const struct ordered *ordered)
{
	int32_t tid = shard_tid(ordered->thread);
	struct jobs_release *release = known_release(trace, tid);

	switch (ordered->kind) {
	case NOTE_SLEPT:
		if (release && release->wake_ts == ordered->ts) {
			release->is_in_doubt = false;
		}
		break;
	case NOTE_FORKED:
		forget(trace, count, tid);
		break;
	case NOTE_RENAMED:
		rename_release(trace, count, (int32_t)ordered->words[0], tid, ordered->ts);
		break;
	default:
		break;
	}
}

void jobs_release_take(struct jobs_trace *trace, size_t count, const struct ordered *ordered)
{
	uint64_t id = shard_entity_id(ordered->thread);

	trace->jobs = count;
	switch (ordered->kind) {
	case NOTE_SET:
		on_set(trace, ordered->words);
		break;
	case NOTE_EXPIRE:
		on_expire(trace, ordered, id);
		break;
	case NOTE_EXPIRED:
		on_expired(trace, count, ordered, id);
		break;
	case NOTE_WOKEN:
		on_woken(trace, count, ordered, id);
		break;
	case NOTE_SIGNAL:
		on_signal(trace, count, ordered, id);
		break;
	case NOTE_LOST:
		*cpu_at(trace, id) = (struct jobs_cpu){ 0 };
		break;
	case NOTE_LOSE:
		forget_all(trace, count);
		break;
	default:
		on_thread(trace, count, ordered);
		break;
	}
}

/* ---- executions ---- */

/* When the timer should have expired, or when it did if that is no release: before the last one. */
static uint64_t due(const struct waiting *waiting, const struct jobs_expiry *expiry)
{
	return expiry->late_ns < expiry->ts && expiry->ts - expiry->late_ns > waiting->arrival
		       ? expiry->ts - expiry->late_ns
		       : expiry->ts;
}

/* The wake-up that ended its sleep at @slept released it. */
static struct jobs_arrival of_wake(const struct jobs_release *release, struct waiting *waiting,
				   uint64_t slept)
{
	struct jobs_arrival arrival = { .ts = slept, .from = FROM_WAKE };

	if (release->wake_ts > slept || release->wake_ts < waiting->since) {
		return arrival; /* another one came since */
	}
	arrival.ts = release->wake_ts;
	if (release->is_timer) {
		arrival.from = FROM_TIMER;
		arrival.ts = due(waiting, &release->expiry);
	} else if (release->wake_signal != 0) {
		arrival.from = FROM_SIGNAL;
		waiting->signal = release->wake_signal;
	}
	waiting->taken = waiting->signals.count = 0;
	return arrival;
}

/* What has come while it was not asleep released it. */
static struct jobs_arrival of_pending(struct waiting *waiting, uint64_t ts)
{
	struct jobs_arrival arrival = { .ts = ts, .from = FROM_NOTHING };

	if (waiting->pending_count > 0) {
		arrival.from = FROM_TIMER;
		arrival.ts = due(waiting, &waiting->pending);
		arrival.skipped = waiting->pending_count - 1;
	} else if (waiting->taken < waiting->signals.count) {
		arrival.from = FROM_SIGNAL;
		arrival.ts = waiting->signals.at[waiting->taken++];
	}
	if (waiting->taken == waiting->signals.count) {
		waiting->taken = waiting->signals.count = 0;
	}
	return arrival;
}

struct jobs_arrival jobs_release_begin(struct jobs_trace *trace, size_t count,
				       const struct ordered *ordered)
{
	uint64_t ts = ordered->ts, slept = ordered->words[1];
	struct jobs_release *release;
	struct jobs_arrival arrival;
	struct waiting *waiting;
	bool has_slept;

	trace->jobs = count;
	release = release_of(trace, count, shard_tid(ordered->thread), ordered->ts);
	settle(release, count);
	waiting = &release->jobs[NOTE_JOB(ordered->words[0])];
	/* What was swept has no wake-up. */
	has_slept = slept != 0 && slept >= waiting->since && release->wake_ts != 0;
	arrival = has_slept ? of_wake(release, waiting, slept) : of_pending(waiting, ts);
	arrival.ts = arrival.ts < ts ? arrival.ts : ts;
	waiting->pending_count = 0;
	waiting->is_executing = true;
	waiting->since = ts;
	waiting->arrival = arrival.ts;
	return arrival;
}

void jobs_release_end(struct jobs_trace *trace, size_t count, const struct ordered *ordered)
{
	struct jobs_release *release;
	struct waiting *waiting;

	trace->jobs = count;
	release = release_of(trace, count, shard_tid(ordered->thread), ordered->ts);
	settle(release, count);
	waiting = &release->jobs[NOTE_JOB(ordered->words[0])];
	waiting->is_executing = false;
	waiting->since = ordered->ts;
}

/* ---- lifecycle ---- */

static void expiry_codec(struct codec *codec, struct jobs_expiry *expiry)
{
	codec_each(codec, &expiry->ts, &expiry->late_ns);
}

static void waiting_codec(struct codec *codec, struct waiting *waiting)
{
	size_t signals =
		codec_count(codec, waiting->signals.count - waiting->taken, sizeof(uint64_t));

	for (size_t i = 0; i < signals; i++) {
		if (codec_reads(codec)) {
			*vec_push(&waiting->signals) = 0;
		}
		codec_u64(codec, &waiting->signals.at[waiting->taken + i]);
	}
	expiry_codec(codec, &waiting->pending);
	codec_each(codec, &waiting->pending_count, &waiting->signal, &waiting->is_executing,
		   &waiting->since, &waiting->arrival);
}

static void release_codec(struct codec *codec, struct jobs_release *release, size_t count)
{
	codec_each(codec, &release->wake_ts, &release->is_timer);
	expiry_codec(codec, &release->expiry);
	codec_each(codec, &release->wake_signal, &release->is_in_doubt, &release->seen_ts);
	for (size_t j = 0; j < count; j++) {
		waiting_codec(codec, &release->jobs[j]);
	}
}

static void timer_codec(struct codec *codec, struct jobs_timer *timer)
{
	codec_each(codec, &timer->is_set, &timer->expires, &timer->tid, &timer->is_shared);
}

static void cpu_codec(struct codec *codec, struct jobs_cpu *cpu)
{
	codec_each(codec, &cpu->is_in_expiry, &cpu->timer);
	expiry_codec(codec, &cpu->expiry);
	codec_each(codec, &cpu->has_woken, &cpu->woken);
}

/* Bytes of one at least. */
#define TIMER_BYTES   22
#define CPU_BYTES     38
#define RELEASE_BYTES 49

static void read_all(struct codec *codec, struct jobs_trace *trace, size_t jobs)
{
	size_t count = codec_count(codec, 0, TIMER_BYTES);
	uint64_t key = 0;

	for (size_t i = 0; i < count && codec_check(codec, count <= JOBS_TIMERS_MAX); i++) {
		codec_u64(codec, &key);
		timer_codec(codec, timer_at(trace, key));
	}
	count = codec_count(codec, 0, CPU_BYTES);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		codec_u64(codec, &key);
		cpu_codec(codec, cpu_at(trace, key));
	}
	count = codec_count(codec, 0, RELEASE_BYTES);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		codec_u64(codec, &key);
		if (codec_check(codec, i < JOBS_RELEASES_MAX && key <= INT32_MAX &&
					       !known_release(trace, (int32_t)key))) {
			release_codec(codec, release_of(trace, jobs, (int32_t)key, 0), jobs);
		}
	}
}

void jobs_release_checkpoint(const struct checkpoint *checkpoint, struct jobs_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	size_t jobs = checkpoint->periods ? checkpoint->periods->jobs.count : 0;

	trace->jobs = jobs;
	if (codec_reads(codec)) {
		read_all(codec, trace, jobs);
		return;
	}
	(void)codec_count(codec, trace->timers.used, TIMER_BYTES);
	HASH_EACH(jobs_timers, &trace->timers, one) {
		codec_u64(codec, &one->key);
		timer_codec(codec, &one->value);
	}
	(void)codec_count(codec, trace->cpus.used, CPU_BYTES);
	HASH_EACH(jobs_cpus, &trace->cpus, one) {
		codec_u64(codec, &one->key);
		cpu_codec(codec, &one->value);
	}
	(void)codec_count(codec, trace->releases.used, RELEASE_BYTES);
	HASH_EACH(jobs_releases, &trace->releases, one) {
		codec_u64(codec, &one->key);
		release_codec(codec, one->value, jobs);
	}
}

void jobs_release_forget(struct jobs_trace *trace)
{
	forget_all(trace, trace->jobs);
	jobs_timers_fini(&trace->timers);
	jobs_cpus_fini(&trace->cpus);
	jobs_releases_fini(&trace->releases);
}
