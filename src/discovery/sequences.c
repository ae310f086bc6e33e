/*
 * sequences: see sequences.h.
 */
#include "discovery/sequences.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "deep/reader.h"
#include "discovery/pace.h"
#include "kernel/task-state.h"

/* Events that belong to no thread, or to whatever runs. */
static const char *const noise[] = { "irq_",   "softirq_",   "sched_",  "rcu_",       "timer_",
				     "kmem_",  "mm_",        "x86_",    "hrtimer_",   "lttng_",
				     "power_", "writeback_", "block_",  "workqueue_", "napi_",
				     "net_",   "skb_",       "random_", "module_" };

enum { REQUEST_SWITCH, REQUEST_WAKING, REQUEST_ALL, REQUEST_ARGS, REQUESTS = REQUEST_ARGS + 12 };
enum { SWITCH_PREV, SWITCH_NEXT, SWITCH_STATE };
enum { WAKING_TID };
enum { ALL_TID };
enum { ARGS_ARG };

/* Calls that wait on what their argument names: a thread may call one for several things.  Of most
 * the exit does not repeat it. */
#define WAITS_ON(call, arg)                                                                        \
	{                                                                                          \
		"syscall_" call, { arg }, .group = 3                                               \
	}

static const struct plan_request requests[REQUESTS] = {
	[REQUEST_SWITCH] = { "sched_switch", { "prev_tid", "next_tid", "prev_state" }, .group = 0 },
	[REQUEST_WAKING] = { "sched_waking", { "tid" }, .group = 1 },
	[REQUEST_ALL] = { "*", { "context.tid" }, .group = 2 },
	[REQUEST_ARGS] = WAITS_ON("entry_read", "fd"),
	WAITS_ON("entry_readv", "fd"),
	WAITS_ON("entry_recvfrom", "fd"),
	WAITS_ON("entry_recvmsg", "fd"),
	WAITS_ON("entry_accept", "fd"),
	WAITS_ON("entry_accept4", "fd"),
	WAITS_ON("entry_ioctl", "fd"),
	WAITS_ON("entry_futex", "uaddr"),
	WAITS_ON("exit_futex", "uaddr"),
	WAITS_ON("entry_epoll_wait", "epfd"),
	WAITS_ON("entry_epoll_pwait", "epfd"),
	WAITS_ON("entry_mq_timedreceive", "mqdes"),
};

HASH_MAP(sequence_of, uint32_t)
HASH_MAP(runs_on, int32_t)
HASH_MAP(type_of, uint32_t)

struct sequencer {
	const struct timeline *timeline;
	const struct discovery_config *config;
	struct sequences *ret;
	struct sequence_of by_tid;
	struct runs_on runs; /* the tid, by CPU */
	size_t initial_put;
	struct type_of types; /* by class of the plan */
	uint16_t states;      /* of the kernel: kernel/task-state.h */
};

/* ---- which threads ---- */

struct thread_run {
	uint32_t thread;
	uint64_t ns;
	unsigned int rank; /* rank_of() */
};

ORDER(by_rank, struct thread_run, DOWN(rank) DOWN(ns) UP(thread))
ORDER(by_ns, struct thread_run, DOWN(ns) UP(thread))

#define PRIO_STOP (-100) /* of the threads that stop a CPU for the kernel */

/* Whether something other than threads wakes it in regular distances. */
static bool is_periodic(const struct deep_thread *thread)
{
	VEC(uint64_t) wakes = { 0 };
	bool is;

	for (size_t i = 1; i < thread->intervals.count; i++) {
		const struct interval *slept = &thread->intervals.at[i - 1];

		if (slept->state == STATE_BLOCKED && slept->cause != CAUSE_NONE &&
		    slept->cause != CAUSE_TASK) {
			*vec_push(&wakes) = thread->intervals.at[i].begin;
		}
	}
	is = wakes.count >= DISCOVERY_EXECUTIONS && pace_of(wakes.at, wakes.count).is_regular;
	vec_fini(&wakes);
	return is;
}

/* Real-time, then periodic. */
static unsigned int rank_of(const struct deep_thread *thread)
{
	return (thread->urgency < 0 && thread->urgency > PRIO_STOP ? 2 : 0) +
	       (is_periodic(thread) ? 1 : 0);
}

bool discovery_is_likely(const struct deep_thread *thread)
{
	return rank_of(thread) > 0;
}

/* Of the threads that had one tid, one after the other, the first: the others often are the same
 * program, run again. */
static void choose_some(struct sequencer *s, const struct thread_run *runners, size_t count,
			size_t max, unsigned int rank_min)
{
	for (size_t i = 0; i < count && s->ret->at.count < max; i++) {
		const struct deep_thread *thread = s->timeline->threads.at[runners[i].thread];
		bool is_new;
		uint32_t *at;

		if (runners[i].rank < rank_min) {
			continue;
		}
		at = sequence_of_put(&s->by_tid, (uint32_t)thread->tid, &is_new);
		if (is_new) {
			*at = (uint32_t)s->ret->at.count;
			*vec_push(&s->ret->at) = (struct sequence){ .thread = runners[i].thread };
		}
	}
}

static void choose_threads(struct sequencer *s)
{
	const struct timeline *timeline = s->timeline;
	VEC(struct thread_run) runners = { 0 };

	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		const struct deep_thread *thread = timeline->threads.at[i];
		struct thread_run runner = {
			i, discovery_run_ns(timeline, i, timeline->begin, timeline->end), 0
		};

		if (thread->tid == 0 || runner.ns == 0 ||
		    (s->config->who && !timeline_thread_is(thread, s->config->who))) {
			continue;
		}
		runner.rank = rank_of(thread);
		*vec_push(&runners) = runner;
	}
	s->ret->threads = runners.count;
	vec_sort(&runners, by_rank);
	choose_some(s, runners.at, runners.count, s->config->threads_max / 2, 1);
	vec_sort(&runners, by_ns);
	choose_some(s, runners.at, runners.count, s->config->threads_max, 0);
	vec_fini(&runners);
}

/* ---- types ---- */

static bool is_noise(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(noise); i++) {
		if (strncmp(name, noise[i], strlen(noise[i])) == 0) {
			return true;
		}
	}
	return false;
}

const char *discovery_start(const char *start)
{
	if (strcmp(start, "sched_in") == 0 || strcmp(start, "sched_out") == 0 ||
	    strcmp(start, "sched_switch") == 0) {
		return "sched_switch";
	}
	return strcmp(start, "sched_waking") == 0 || !is_noise(start) ? start : NULL;
}

/* What is behind the prefix; NULL: the name begins otherwise. */
static const char *behind(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 ? name + len : NULL;
}

/* Joins the entry and the exit of one call. */
static void join_call(struct sequences *s, uint32_t type)
{
	const char *entry = behind(s->types.at[type].pattern, "syscall_entry_");
	const char *call = entry ? entry : behind(s->types.at[type].pattern, "syscall_exit_");

	s->types.at[type].is_entry = entry;
	for (uint32_t i = TYPES_OWN; call && i < type; i++) {
		const char *other =
			behind(s->types.at[i].pattern, entry ? "syscall_exit_" : "syscall_entry_");

		if (other && strcmp(other, call) == 0) {
			s->types.at[type].partner = i;
			s->types.at[i].partner = type;
		}
	}
}

static void add_type(struct sequences *s, char *pattern)
{
	*vec_push(&s->types) =
		(struct sequence_type){ .pattern = pattern, .partner = SEQUENCE_NO_TYPE };
}

/* The type of a class; SEQUENCE_NO_TYPE: noise.  Classes of one name, in several channels, are one.
 */
static uint32_t type_of(struct sequencer *s, const struct plan_event *class)
{
	bool is_new;
	uint32_t *at = type_of_put(&s->types, (uint64_t)(uintptr_t) class, &is_new);
	struct sequences *ret = s->ret;
	uint32_t type = SEQUENCE_NO_TYPE;

	if (!is_new) {
		return *at;
	}
	assert(ret->types.count >= TYPES_OWN);
	for (uint32_t i = TYPES_OWN; i < ret->types.count; i++) {
		type = strcmp(ret->types.at[i].pattern, class->class->name) == 0 ? i : type;
	}
	if (type == SEQUENCE_NO_TYPE && !is_noise(class->class->name)) {
		type = (uint32_t)ret->types.count;
		add_type(ret, mem_strdup(class->class->name));
		join_call(ret, type);
	}
	*at = type;
	return type;
}

/* The types that have no class of their own. */
static void add_own_types(struct sequencer *s, const struct metadata *metadata)
{
	unsigned int bits;

	s->states = task_state_encoding(metadata);
	bits = (unsigned int)task_state_sleep_bits(s->states);
	add_type(s->ret, mem_strdup("sched_in"));
	add_type(s->ret, mem_printf("sched_switch prev_tid=$tid, prev_state&%u!=0", bits));
	add_type(s->ret, mem_printf("sched_switch prev_tid=$tid, prev_state&%u=0", bits));
	add_type(s->ret, mem_strdup("sched_waking tid=$tid"));
	assert(s->ret->types.count == TYPES_OWN);
}

/* ---- events ---- */

static void add_event(struct sequencer *s, int32_t tid, uint64_t ts, uint32_t type, uint64_t arg)
{
	uint32_t *at = sequence_of_get(&s->by_tid, (uint64_t)(uint32_t)tid);
	const struct deep_thread *thread;
	struct sequence *sequence;

	if (!at || ts < s->timeline->begin) {
		return;
	}
	assert(*at < s->ret->at.count);
	sequence = &s->ret->at.at[*at];
	thread = s->timeline->threads.at[sequence->thread];
	if (ts < thread->birth || ts > thread->end) {
		return; /* of another thread with this tid */
	}
	if (sequence->types.count >= s->config->events_max) {
		s->ret->is_cut = true;
		return;
	}
	*vec_push(&sequence->types) = type;
	*vec_push(&sequence->times) = ts;
	*vec_push(&sequence->args) = arg;
}

/* The tid on the CPU, to be changed; -1: unknown.  Valid until the next call. */
static int32_t *runs_on(struct sequencer *s, uint64_t cpu)
{
	bool is_new;
	int32_t *at = runs_on_put(&s->runs, cpu, &is_new);

	if (is_new) {
		*at = -1;
	}
	return at;
}

static void put_initial(struct sequencer *s, uint64_t ts)
{
	const struct cpu_initial *first;

	while ((first = timeline_initial_next(s->timeline, &s->initial_put, ts))) {
		*runs_on(s, first->cpu) = first->tid;
	}
}

static void take_switch(struct sequencer *s, const struct reader_event *event, int32_t *runs)
{
	const char *start = s->config->start;
	bool has_preempted = start && strcmp(start, "sched_out") == 0;

	if (reader_has(event, SWITCH_PREV) && reader_has(event, SWITCH_STATE)) {
		bool sleeps = task_state_sleeps(event->values[SWITCH_STATE].u, s->states);

		if (sleeps || has_preempted) {
			add_event(s, (int32_t)event->values[SWITCH_PREV].i, event->ts,
				  sleeps ? TYPE_SLEEP : TYPE_PREEMPTED, SEQUENCE_ANY);
		}
	}
	if (reader_has(event, SWITCH_NEXT)) {
		*runs = (int32_t)event->values[SWITCH_NEXT].i;
		add_event(s, *runs, event->ts, TYPE_IN, SEQUENCE_ANY);
	}
}

/* What the call waits on. */
static uint64_t arg_of(struct sequencer *s, const struct reader_event *event, uint32_t type)
{
	struct reader_event as;

	for (size_t i = REQUEST_ARGS; i < REQUESTS; i++) {
		if (reader_as(event, i, &as) && reader_has(&as, ARGS_ARG)) {
			s->ret->types.at[type].arg = requests[i].fields[ARGS_ARG];
			return as.values[ARGS_ARG].u;
		}
	}
	return SEQUENCE_ANY;
}

static void take(struct sequencer *s, const struct reader_event *event)
{
	int32_t *runs, tid;
	struct reader_event as;
	uint32_t type;

	put_initial(s, event->ts);
	runs = runs_on(s, event->cpu);
	if (!event->class) {
		*runs = -1;
		return;
	}
	if (reader_as(event, REQUEST_SWITCH, &as)) {
		take_switch(s, &as, runs);
		return;
	}
	if (reader_as(event, REQUEST_WAKING, &as) && reader_has(&as, WAKING_TID)) {
		add_event(s, (int32_t)as.values[WAKING_TID].i, event->ts, TYPE_WOKEN, SEQUENCE_ANY);
	}
	type = type_of(s, event->class);
	if (type == SEQUENCE_NO_TYPE) {
		return;
	}
	tid = *runs;
	if (reader_as(event, REQUEST_ALL, &as) && reader_has(&as, ALL_TID)) {
		tid = (int32_t)as.values[ALL_TID].i;
	}
	if (tid > 0) {
		add_event(s, tid, event->ts, type, arg_of(s, event, type));
	}
}

int sequences_read(const struct reader_setup *setup, const struct timeline *timeline,
		   const struct discovery_config *config, struct sequences *ret, struct err *err)
{
	const struct reader_setup quiet = { .path = setup->path };
	struct reader *reader = reader_open(&quiet, requests, REQUESTS, err);
	struct sequencer s = { .timeline = timeline, .config = config, .ret = ret };
	struct reader_event event;

	*ret = (struct sequences){ .threads = 0 };
	if (!reader) {
		return -EIO;
	}
	choose_threads(&s);
	add_own_types(&s, reader_plan(reader)->metadata);
	while (reader_next(reader, &event) && event.ts <= timeline->end) {
		take(&s, &event);
	}
	reader_close(reader);
	sequence_of_fini(&s.by_tid);
	runs_on_fini(&s.runs);
	type_of_fini(&s.types);
	return 0;
}

void sequences_fini(struct sequences *sequences)
{
	VEC_EACH(&sequences->at, one) {
		vec_fini(&one->types);
		vec_fini(&one->times);
		vec_fini(&one->args);
	}
	VEC_EACH(&sequences->types, one) {
		free(one->pattern);
	}
	vec_fini(&sequences->at);
	vec_fini(&sequences->types);
}

/* ---- what --job finds in it ---- */

void sequence_match(const struct sequence *sequence, const struct sequence_part *parts,
		    size_t count, episode_windows *ret)
{
	size_t next = 0;
	uint32_t first = 0;

	assert(count >= 2);
	ret->count = 0;
	for (uint32_t i = 0; i < sequence->types.count; i++) {
		if (sequence->types.at[i] != parts[next].type ||
		    (parts[next].arg != SEQUENCE_ANY && parts[next].arg != sequence->args.at[i])) {
			continue;
		}
		first = next == 0 ? i : first;
		next++;
		if (next == count) {
			*vec_push(ret) = (struct episode_window){ .first = first, .last = i };
			next = 0;
		}
	}
}
