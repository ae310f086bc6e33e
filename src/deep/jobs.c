/*
 * jobs: see jobs.h.
 */
#include "deep/jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "deep/reader.h"
#include "query/pattern.h"

const struct jobs_model jobs_models[] = {
	{ "run", "sched_in; sched_out", "a stay on a CPU" },
	{ "run-to-sleep", "sched_in; sched_switch prev_tid=$tid, prev_state&207!=0",
	  "from the first stay to sleep" },
	{ "wake-to-sleep",
	  "sched_waking tid=$tid; sched_in; sched_switch prev_tid=$tid, prev_state&207!=0",
	  "from the wake-up to sleep" },
	{ "sleep", "sched_switch prev_tid=$tid, prev_state&207!=0; sched_in", "a sleep" },
	{ "periodic", "syscall_exit_clock_nanosleep; syscall_entry_clock_nanosleep",
	  "between two sleeps of a periodic thread" },
	{ "timerfd", "syscall_exit_read; syscall_entry_read", "between two reads, of a timer too" },
	{ "mq", "syscall_exit_mq_timedreceive; syscall_entry_mq_timedreceive",
	  "from a message to the next wait for one" },
	{ "signal", "syscall_exit_rt_sigtimedwait; syscall_entry_rt_sigtimedwait",
	  "from a signal to the next wait for one" },
	{ "", NULL, NULL },
};

/* ---- patterns ---- */

#define DEFINITIONS_MAX 16

/* An event of the pattern. */
struct part {
	struct definition is;
	size_t request;                 /* whose binding has it */
	uint8_t fields[CONDITIONS_MAX]; /* of the request, by condition */
	uint8_t tid_field;              /* of the context that tells who runs */
};

struct pattern {
	struct part at[DEFINITIONS_MAX];
	size_t count;
	bool is_across; /* from one thread to another */
};

static int parse(const char *text, struct pattern *pattern, struct err *err)
{
	struct pattern_parser parser = { .text = text, .at = text, .err = err };
	int r = 0;

	for (size_t i = 0; jobs_models[i].name[0]; i++) {
		if (strcmp(jobs_models[i].name, text) == 0) {
			parser.text = parser.at = jobs_models[i].pattern;
		}
	}
	memset(pattern, 0, sizeof(*pattern));
	pattern_blanks(&parser);
	do {
		if (pattern->count == DEFINITIONS_MAX) {
			return pattern_expected(&parser, "no more than sixteen events");
		}
		r = pattern_definition(&parser, &pattern->at[pattern->count++].is);
		if (r == 0 && *parser.at == ';') {
			parser.at++;
			pattern_blanks(&parser);
		}
	} while (r == 0 && *parser.at);
	if (r == 0 && pattern->count < 2) {
		return pattern_expected(&parser,
					"; and another event: an execution has a begin and an end");
	}
	for (size_t i = 0; r == 0 && i < pattern->count; i++) {
		pattern->is_across |= pattern->at[i].is.who[0] != '\0';
	}
	if (r == 0 && pattern->is_across && pattern->count > 2) {
		return pattern_expected(&parser, "two events: from one thread to another (@)");
	}
	return r;
}

int jobs_check(const char *pattern, struct err *err)
{
	struct pattern parsed;

	return parse(pattern, &parsed, err);
}

/* ---- what is asked of the trace ---- */

/* The first requests are those that tell who runs, and whose a tid is. */
enum { REQUEST_SWITCH, REQUEST_EXEC, REQUEST_FORK, REQUESTS_OWN };
enum { SWITCH_PREV, SWITCH_NEXT };
enum { EXEC_TID, EXEC_OLD_TID };
enum { FORK_TID };

struct asked {
	struct plan_request requests[REQUESTS_OWN + DEFINITIONS_MAX];
	size_t count;
};

static size_t request_of(struct asked *asked, const char *event)
{
	size_t i = 0;

	while (i < asked->count && strcmp(asked->requests[i].event, event) != 0) {
		i++;
	}
	if (i == asked->count) {
		asked->requests[asked->count].event = event;
		asked->requests[asked->count].group = (uint16_t)asked->count; /* each has its own */
		asked->count++;
	}
	return i;
}

static int field_of(struct plan_request *request, const char *field, struct err *err)
{
	for (uint8_t i = 0; i < PLAN_FIELDS_MAX; i++) {
		if (!request->fields[i]) {
			request->fields[i] = field;
		}
		if (strcmp(request->fields[i], field) == 0) {
			return i;
		}
	}
	return err_raise(err, -EINVAL, "%s: conditions on more than %d fields", request->event,
			 PLAN_FIELDS_MAX);
}

static int ask(struct pattern *pattern, struct asked *asked, struct err *err)
{
	memset(asked, 0, sizeof(*asked));
	(void)request_of(asked, "sched_switch");
	asked->requests[REQUEST_SWITCH].fields[SWITCH_PREV] = "prev_tid";
	asked->requests[REQUEST_SWITCH].fields[SWITCH_NEXT] = "next_tid";
	(void)request_of(asked, "sched_process_exec");
	asked->requests[REQUEST_EXEC].fields[EXEC_TID] = "tid";
	asked->requests[REQUEST_EXEC].fields[EXEC_OLD_TID] = "old_tid";
	(void)request_of(asked, "sched_process_fork");
	asked->requests[REQUEST_FORK].fields[FORK_TID] = "child_tid";
	for (size_t d = 0; d < pattern->count; d++) {
		struct part *part = &pattern->at[d];
		int tid;

		part->request = request_of(asked, part->is.event);
		for (size_t i = 0; i < part->is.count; i++) {
			int field = field_of(&asked->requests[part->request],
					     part->is.conditions[i].field, err);

			if (field < 0) {
				return field;
			}
			part->fields[i] = (uint8_t)field;
		}
		tid = field_of(&asked->requests[part->request], "context.tid", err);
		if (tid < 0) {
			return tid;
		}
		part->tid_field = (uint8_t)tid;
	}
	return 0;
}

/* ---- matching ---- */

/* How far a thread's execution is. */
struct machine {
	size_t next;
	uint64_t begin;
};

#define TID_UNKNOWN (-1)

HASH_DECLARE(machines, struct machine)
HASH_DECLARE(running, int32_t)
HASH_DECLARE(newest, uint32_t)

struct matcher {
	const struct pattern *pattern;
	const struct timeline *timeline;
	const struct jobs_config *config;
	khash_t(machines) * machines; /* by tid */
	khash_t(running) * running;   /* the tid by CPU */
	size_t initial_put;           /* of the timeline's */
	khash_t(newest) * newest;     /* thread by tid, and ... */
	uint32_t *before;             /* ... the one before that had its tid, by thread */
	VEC(uint32_t) renamed;        /* threads that had another tid first */
	uint64_t taken_ts;            /* when a thread last took another's tid, ... */
	int32_t taken;                /* ... and which */
	bool is_open; /* is_across: one has begun, there (NOBODY: the CPU was idle) and then */
	uint32_t from;
	uint64_t from_ts;
	struct jobs *jobs;
};

static bool matches(const struct part *part, const struct reader_event *event, int32_t tid,
		    int32_t current)
{
	struct reader_event as;

	if ((!part->is.has_tid && tid != current) || !reader_as(event, part->request, &as)) {
		return false;
	}
	for (size_t i = 0; i < part->is.count; i++) {
		if (!reader_has(&as, part->fields[i]) ||
		    !pattern_condition_holds(&part->is.conditions[i], &as.values[part->fields[i]],
					     tid)) {
			return false;
		}
	}
	return true;
}

static bool is_meant(const struct deep_thread *thread, const char *who)
{
	return !who || !who[0] || timeline_thread_is(thread, who);
}

/* Whether it has its last tid then: in the very ns in which it took that from another, if that has
 * been seen. */
static bool has_tid(const struct matcher *matcher, const struct deep_thread *thread, uint64_t ts)
{
	if (matcher->taken == thread->tid && matcher->taken_ts == ts) {
		return thread->renamed_ts == ts;
	}
	return thread->renamed_ts == 0 || thread->renamed_ts < ts;
}

/* The thread with this tid that lives then; NOBODY: none that is meant by @who, if that is said. */
static uint32_t thread_at(const struct matcher *matcher, int32_t tid, const char *who,
			  uint64_t begin, uint64_t end)
{
	khint_t at = kh_get(newest, matcher->newest, (uint64_t)(uint32_t)tid);
	uint32_t i = at == kh_end(matcher->newest) ? NOBODY : kh_value(matcher->newest, at);

	for (size_t r = 0; r < matcher->renamed.count; r++) {
		const struct deep_thread *thread =
			matcher->timeline->threads.at[matcher->renamed.at[r]];

		if (thread->former_tid == tid && thread->birth <= begin &&
		    thread->renamed_ts >= end && is_meant(thread, who)) {
			return matcher->renamed.at[r];
		}
	}
	for (; i != NOBODY; i = matcher->before[i]) {
		const struct deep_thread *thread = matcher->timeline->threads.at[i];

		if (has_tid(matcher, thread, end) && thread->birth <= begin && thread->end >= end &&
		    is_meant(thread, who)) {
			return i;
		}
	}
	return NOBODY;
}

/* Chains threads of one tid. */
static void index_threads(struct matcher *matcher)
{
	const struct timeline *timeline = matcher->timeline;

	matcher->newest = kh_init(newest);
	matcher->before = mem_alloc((timeline->threads.count + 1) * sizeof(*matcher->before));
	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		int is_new;
		khint_t at = kh_put(newest, matcher->newest,
				    (uint64_t)(uint32_t)timeline->threads.at[i]->tid, &is_new);

		matcher->before[i] = is_new ? NOBODY : kh_value(matcher->newest, at);
		kh_value(matcher->newest, at) = i;
		if (timeline->threads.at[i]->renamed_ts != 0) {
			*vec_push(&matcher->renamed) = i;
		}
	}
}

static void add_execution(struct matcher *matcher, int32_t tid, uint64_t begin, uint64_t end)
{
	struct execution *one;
	uint32_t thread;

	if (begin < matcher->timeline->begin || end > matcher->timeline->end) {
		return;
	}
	thread = thread_at(matcher, tid, matcher->config->who, begin, end);
	if (thread != NOBODY) {
		one = vec_push(&matcher->jobs->all);
		*one = (struct execution){
			.thread = thread, .last = thread, .begin = begin, .end = end
		};
		timeline_thread_sums(matcher->timeline->threads.at[thread], begin, end, one->ns);
	}
}

static void try_thread(struct matcher *matcher, const struct reader_event *event, int32_t tid,
		       int32_t current)
{
	khint_t at = kh_get(machines, matcher->machines, (uint64_t)(uint32_t)tid);
	struct machine machine = { 0 };
	int is_new;

	if (tid == 0) {
		return;
	}
	if (at != kh_end(matcher->machines)) {
		machine = kh_value(matcher->machines, at);
	}
	if (!matches(&matcher->pattern->at[machine.next], event, tid, current)) {
		return;
	}
	if (machine.next == 0) {
		machine.begin = event->ts;
	}
	if (++machine.next == matcher->pattern->count) {
		add_execution(matcher, tid, machine.begin, event->ts);
		machine.next = 0;
	}
	at = kh_put(machines, matcher->machines, (uint64_t)(uint32_t)tid, &is_new);
	kh_value(matcher->machines, at) = machine;
}

/* One that goes from a thread to another. */
static void add_across(struct matcher *matcher, uint32_t last, uint64_t end)
{
	const struct timeline *timeline = matcher->timeline;
	uint64_t begin = matcher->from_ts;
	struct execution *one;

	if (begin < timeline->begin || end > timeline->end) {
		return;
	}
	one = vec_push(&matcher->jobs->all);
	*one = (struct execution){
		.thread = matcher->from, .last = last, .begin = begin, .end = end
	};
	if (one->thread != NOBODY) {
		timeline_thread_sums(timeline->threads.at[one->thread], begin, end, one->ns);
	}
	timeline_thread_sums(timeline->threads.at[last], begin, end, one->last_ns);
}

/* True: the event begins or ends one; it does not do both. */
static bool try_across(struct matcher *matcher, const struct reader_event *event, int32_t tid,
		       int32_t current)
{
	const struct part *part = &matcher->pattern->at[matcher->is_open ? 1 : 0];
	uint32_t thread = NOBODY;

	if (!matches(part, event, tid, current)) {
		return false;
	}
	if (tid != 0) {
		thread = thread_at(matcher, tid, part->is.who, event->ts, event->ts);
	}
	/* An interrupt of an idle CPU may begin one. */
	if (thread == NOBODY && (tid != 0 || matcher->is_open || part->is.who[0])) {
		return false;
	}
	if (matcher->is_open) {
		add_across(matcher, thread, event->ts);
	} else {
		matcher->from = thread;
		matcher->from_ts = event->ts;
	}
	matcher->is_open = !matcher->is_open;
	return true;
}

/* Dies with the next call. */
static int32_t *running_on(struct matcher *matcher, uint64_t cpu)
{
	int is_new;
	khint_t at = kh_put(running, matcher->running, cpu, &is_new);

	if (is_new) {
		kh_value(matcher->running, at) = TID_UNKNOWN;
	}
	return &kh_value(matcher->running, at);
}

/* What is open of a thread will not end. */
static void forget_machine(struct matcher *matcher, int32_t tid)
{
	khint_t at = kh_get(machines, matcher->machines, (uint64_t)(uint32_t)tid);

	if (at != kh_end(matcher->machines)) {
		kh_del(machines, matcher->machines, at);
	}
}

/* An execution that is open goes on under the thread's new tid. */
static void rename_machine(struct matcher *matcher, int32_t from, int32_t to)
{
	khint_t at = kh_get(machines, matcher->machines, (uint64_t)(uint32_t)from);
	struct machine machine;
	int is_new;

	forget_machine(matcher, to);
	if (at != kh_end(matcher->machines)) {
		machine = kh_value(matcher->machines, at);
		kh_del(machines, matcher->machines, at);
		at = kh_put(machines, matcher->machines, (uint64_t)(uint32_t)to, &is_new);
		kh_value(matcher->machines, at) = machine;
	}
}

/* Puts those on their CPUs that were there at @ts. */
static void put_initial(struct matcher *matcher, uint64_t ts)
{
	const struct timeline *timeline = matcher->timeline;

	while (matcher->initial_put < timeline->initial.count &&
	       timeline->initial.at[matcher->initial_put].since <= ts) {
		const struct cpu_initial *first = &timeline->initial.at[matcher->initial_put++];

		*running_on(matcher, first->cpu) = first->tid;
	}
}

/* Events are missing: what was open there may have ended unseen. */
static void cut(struct matcher *matcher, const struct reader_event *event, int32_t *tid)
{
	forget_machine(matcher, *tid);
	if (reader_sees(event, REQUEST_SWITCH)) {
		*tid = TID_UNKNOWN;
	}
}

/* Who runs where the event is, after it. */
static int32_t follow(struct matcher *matcher, const struct reader_event *event)
{
	int32_t *tid;

	put_initial(matcher, event->ts);
	tid = running_on(matcher, event->cpu);
	if (!event->class) {
		cut(matcher, event, tid);
	} else if (event->binding->request == REQUEST_SWITCH && reader_has(event, SWITCH_NEXT) &&
		   reader_sees(event, REQUEST_SWITCH)) {
		*tid = (int32_t)event->values[SWITCH_NEXT].i;
	} else if (event->binding->request == REQUEST_EXEC && reader_has(event, EXEC_TID) &&
		   reader_has(event, EXEC_OLD_TID) &&
		   event->values[EXEC_OLD_TID].i != event->values[EXEC_TID].i) {
		*tid = (int32_t)event->values[EXEC_TID].i;
		rename_machine(matcher, (int32_t)event->values[EXEC_OLD_TID].i, *tid);
		matcher->taken = *tid;
		matcher->taken_ts = event->ts;
	} else if (event->binding->request == REQUEST_FORK && reader_has(event, FORK_TID)) {
		forget_machine(matcher, (int32_t)event->values[FORK_TID].i);
	}
	return *tid;
}

/* Who the event is of: in a channel without switches its context knows, if it is traced. */
static int32_t current_of(const struct matcher *matcher, const struct reader_event *event,
			  int32_t runs)
{
	bool is_told = reader_sees(event, REQUEST_SWITCH);

	for (size_t d = 0; d < matcher->pattern->count && !is_told; d++) {
		const struct part *part = &matcher->pattern->at[d];
		struct reader_event as;

		if (reader_as(event, part->request, &as) && reader_has(&as, part->tid_field)) {
			return (int32_t)as.values[part->tid_field].i;
		}
	}
	return runs;
}

/* The event may be of who runs there, and of threads that its fields name. */
static void take(struct matcher *matcher, const struct reader_event *event)
{
	int32_t tried[DEFINITIONS_MAX * CONDITIONS_MAX + 1];
	int32_t current = follow(matcher, event);
	size_t count = 0;

	if (!event->class) {
		return;
	}
	current = current_of(matcher, event, current);
	tried[count++] = current;
	for (size_t d = 0; d < matcher->pattern->count; d++) {
		const struct part *part = &matcher->pattern->at[d];
		struct reader_event as;

		for (size_t i = 0; part->is.has_tid && i < part->is.count; i++) {
			if (part->is.conditions[i].is_tid && reader_as(event, part->request, &as) &&
			    reader_has(&as, part->fields[i])) {
				tried[count++] = (int32_t)as.values[part->fields[i]].i;
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		bool is_again = false;

		for (size_t k = 0; k < i; k++) {
			is_again |= tried[k] == tried[i];
		}
		if (is_again) {
			continue;
		}
		if (!matcher->pattern->is_across) {
			try_thread(matcher, event, tried[i], current);
		} else if (try_across(matcher, event, tried[i], current)) {
			return;
		}
	}
}

/* ---- all of it ---- */

static int find_all(const struct reader_setup *setup, const struct timeline *timeline,
		    const struct jobs_config *config, struct jobs *jobs, struct err *err)
{
	const struct reader_setup quiet = { .path = setup->path, .threads = setup->threads };
	struct matcher matcher = { .timeline = timeline, .config = config, .jobs = jobs };
	struct reader_event event;
	struct pattern pattern;
	struct reader *reader;
	struct asked asked;
	int r = parse(config->pattern, &pattern, err);

	r = r < 0 ? r : ask(&pattern, &asked, err);
	if (r < 0) {
		return r;
	}
	reader = reader_open(&quiet, asked.requests, asked.count, err);
	if (!reader) {
		return -EIO;
	}
	matcher.pattern = &pattern;
	matcher.machines = kh_init(machines);
	matcher.running = kh_init(running);
	index_threads(&matcher);
	while (reader_next(reader, &event) && event.ts <= timeline->end) {
		take(&matcher, &event);
	}
	kh_destroy(machines, matcher.machines);
	kh_destroy(running, matcher.running);
	kh_destroy(newest, matcher.newest);
	free(matcher.before);
	vec_fini(&matcher.renamed);
	reader_close(reader);
	return 0;
}

static int by_place(const void *left, const void *right)
{
	const struct execution *a = left, *b = right;

	if (a->thread != b->thread) {
		return a->thread < b->thread ? -1 : 1;
	}
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Keeps those that lie in one of @outer of the same thread; both are brought in order. */
static void keep_within(struct jobs *jobs, struct jobs *outer)
{
	size_t kept = 0, at = 0;

	if (jobs->all.count > 0) {
		qsort(jobs->all.at, jobs->all.count, sizeof(*jobs->all.at), by_place);
	}
	if (outer->all.count > 0) {
		qsort(outer->all.at, outer->all.count, sizeof(*outer->all.at), by_place);
	}
	for (size_t i = 0; i < jobs->all.count; i++) {
		struct execution one = jobs->all.at[i];

		while (at + 1 < outer->all.count && by_place(&outer->all.at[at + 1], &one) <= 0) {
			at++;
		}
		if (at < outer->all.count && outer->all.at[at].thread == one.thread &&
		    outer->all.at[at].begin <= one.begin && outer->all.at[at].end >= one.end) {
			one.outer_begin = outer->all.at[at].begin;
			jobs->all.at[kept++] = one;
		}
	}
	jobs->all.count = kept;
}

int jobs_find(const struct reader_setup *setup, const struct timeline *timeline,
	      const struct jobs_config *config, struct jobs *jobs, struct err *err)
{
	const struct jobs_config of_outer = { .pattern = config->within, .who = config->who };
	struct jobs outer = { 0 };
	int r;

	memset(jobs, 0, sizeof(*jobs));
	jobs->config = config;
	r = find_all(setup, timeline, config, jobs, err);
	if (r == 0 && config->within) {
		r = find_all(setup, timeline, &of_outer, &outer, err);
		keep_within(jobs, &outer);
		vec_fini(&outer.all);
	}
	if (r == 0) {
		jobs_add_up(jobs);
	}
	return r;
}

void jobs_fini(struct jobs *jobs)
{
	vec_fini(&jobs->all);
}
