/*
 * executions: see executions.h.
 */
#include "deep/executions/executions.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "deep/executions/executions-across.h"
#include "deep/executions/executions-named.h"
#include "deep/executions/executions-pattern.h"
#include "deep/executions/owners.h"
#include "deep/executions/user-threads.h"
#include "deep/reader.h"
#include "kernel/task-state.h"
#include "kernel/thread-identity.h"

/* The state of a thread's next execution. */
struct follower {
	size_t next;     /* the definition to match; 0: not begun */
	bool is_doubted; /* how many began since the last execution did is not known ... */
	bool is_behind;  /* ... or since the one before this one did */
	uint64_t begin;
	struct arrival arrival;
	struct executions_items items;
	struct diff_begin counters;
};

#define TID_UNKNOWN (-1) /* of a CPU: its running thread is unknown */

HASH_MAP(machines, struct follower)
HASH_MAP(running, int32_t)

struct matcher {
	const struct executions_pattern *pattern;
	const struct timeline *timeline;
	const struct executions_config *config;
	struct machines machines; /* by tid */
	struct running running;   /* the running tid, by CPU */
	size_t initial_put;       /* how many of timeline.initial are in `running` */
	uint16_t states;          /* encoding of prev_state */
	struct owners owners;
	struct arrivals *arrivals;
	size_t reached; /* how many definitions of the pattern a thread matched, at most */
	size_t *hints;  /* by thread: where the last execution ended (timeline_thread_near) */
	struct executions_named named;
	struct executions_across across; /* is_across */
	bool is_of_kernel;               /* the pattern has events of the kernel */
	struct user_threads users;
	struct executions *executions;
};

/* ---- matching ---- */

static void add_execution(struct matcher *matcher, int32_t tid, const struct follower *machine,
			  uint64_t end, const struct diff_begin *counters)
{
	uint64_t begin = machine->begin;
	struct execution *one;
	uint32_t thread;

	if (begin < matcher->timeline->begin || end > matcher->timeline->end) {
		return;
	}
	assert(begin <= end);
	thread = owners_at(&matcher->owners, tid, matcher->config->who, begin, end);
	if (thread != NOBODY) {
		one = vec_push(&matcher->executions->all);
		*one = (struct execution){ .thread = thread,
					   .last = thread,
					   .group = thread,
					   .begin = begin,
					   .end = end,
					   .is_doubted = machine->is_behind,
					   .row = executions_named_row(&matcher->named,
								       &machine->items),
					   .arrival = machine->arrival };
		one->urgency = matcher->timeline->threads.at[thread]->urgency;
		timeline_thread_sums_near(matcher->timeline->threads.at[thread], begin, end,
					  one->ns, &matcher->hints[thread]);
		executions_add_differences(matcher->executions, one, &machine->counters, counters,
					   true);
	}
}

/* The tid's execution, if one has begun, does not end; its thread had the tid before @until. */
static void leave_open(struct matcher *matcher, int32_t tid, uint64_t until)
{
	const struct timeline *timeline = matcher->timeline;
	struct follower *at = machines_get(&matcher->machines, (uint64_t)(uint32_t)tid);
	struct execution one = { 0 };

	if (!at || at->next == 0) {
		return;
	}
	one.begin = at->begin;
	one.is_doubted = at->is_behind;
	one.arrival = at->arrival;
	one.thread = one.last =
		owners_since(&matcher->owners, tid, matcher->config->who, one.begin, until);
	if (one.thread == NOBODY || one.begin < timeline->begin || one.begin > timeline->end) {
		return;
	}
	one.row = executions_named_row(&matcher->named, &at->items);
	one.group = one.thread;
	one.urgency = timeline->threads.at[one.thread]->urgency;
	one.is_open = true;
	one.is_abandoned = until != UINT64_MAX;
	one.end = timeline->threads.at[one.thread]->end;
	one.end = one.end < timeline->end ? one.end : timeline->end;
	timeline_thread_sums(timeline->threads.at[one.thread], one.begin, one.end, one.ns);
	*vec_push(&matcher->executions->open) = one;
}

/* Of the execution that begins now. */
static struct arrival arrival_of(struct matcher *matcher, int32_t tid, uint64_t ts)
{
	uint32_t thread = owners_at(&matcher->owners, tid, matcher->config->who, ts, ts);

	if (thread == NOBODY) {
		return (struct arrival){ .ts = ts };
	}
	return arrivals_begin(matcher->arrivals, tid, matcher->timeline->threads.at[thread], ts,
			      &matcher->hints[thread]);
}

/* The event would begin an execution, but for the one that has begun. */
static void count_overlap(struct matcher *matcher, const struct reader_event *event, int32_t tid,
			  struct follower *machine)
{
	machine->is_doubted = true;
	if (event->ts >= matcher->timeline->begin && event->ts <= matcher->timeline->end &&
	    owners_at(&matcher->owners, tid, matcher->config->who, machine->begin, event->ts) !=
		    NOBODY) {
		matcher->executions->overlapped++;
	}
}

/* Adds what the event, which is part @at of the pattern, says of the rows. */
static void add_items(struct matcher *matcher, const struct reader_event *event, size_t at,
		      struct follower *machine)
{
	struct reader_event as;
	struct fields_event of;

	if (matcher->config->job->group.count > 0 && machine->begin >= matcher->timeline->begin &&
	    executions_pattern_fields(&matcher->pattern->at[at], event, &as, &of)) {
		executions_named_add(&matcher->named, at, &of, &machine->items);
	}
}

static void begin_at(struct matcher *matcher, const struct reader_event *event, int32_t tid,
		     int32_t current, struct follower *machine)
{
	machine->next = 1;
	machine->begin = event->ts;
	machine->is_behind = machine->is_doubted;
	machine->is_doubted = false;
	machine->arrival = arrival_of(matcher, tid, event->ts);
	machine->items = (struct executions_items){ 0 };
	add_items(matcher, event, 0, machine);
	machine->counters = executions_pattern_counters(&matcher->pattern->at[0], event, current);
}

/* Advances the thread's machine if the event is its next definition's. */
static void try_thread(struct matcher *matcher, const struct reader_event *event, int32_t tid,
		       int32_t current)
{
	struct follower *at = machines_get(&matcher->machines, (uint64_t)(uint32_t)tid);
	struct follower machine = { 0 };

	if (tid == 0) {
		return;
	}
	if (at) {
		machine = *at;
	}
	if (!executions_pattern_matches(&matcher->pattern->at[machine.next], event, tid, current)) {
		if (machine.next > 0 &&
		    executions_pattern_matches(&matcher->pattern->at[0], event, tid, current)) {
			count_overlap(matcher, event, tid, at);
		}
		return;
	}
	if (machine.next == 0) {
		begin_at(matcher, event, tid, current, &machine);
	} else {
		add_items(matcher, event, machine.next++, &machine);
	}
	matcher->reached = machine.next > matcher->reached ? machine.next : matcher->reached;
	if (machine.next == matcher->pattern->count) {
		const struct diff_begin counters = executions_pattern_counters(
			&matcher->pattern->at[machine.next - 1], event, current);

		add_execution(matcher, tid, &machine, event->ts, &counters);
		arrivals_end(matcher->arrivals, tid, event->ts);
		machine.next = 0;
		if (executions_pattern_matches(&matcher->pattern->at[0], event, tid, current)) {
			begin_at(matcher, event, tid, current,
				 &machine); /* an end that is a begin */
		}
	}
	*machines_put(&matcher->machines, (uint64_t)(uint32_t)tid, NULL) = machine;
}

/* Valid until the next call. */
static int32_t *running_on(struct matcher *matcher, uint64_t cpu)
{
	bool is_new;
	int32_t *at = running_put(&matcher->running, cpu, &is_new);

	if (is_new) {
		*at = TID_UNKNOWN;
	}
	return at;
}

/* Events are missing: what is open of it is dropped, and others may have come. */
static const struct follower doubted = { .is_doubted = true };

/* Drops what is open of the thread. */
static void forget_machine(struct matcher *matcher, int32_t tid)
{
	(void)machines_drop(&matcher->machines, (uint64_t)(uint32_t)tid);
}

/* The thread that had the tid up to @ts is over: another one has it from there on. */
static void end_machine(struct matcher *matcher, int32_t tid, uint64_t ts)
{
	leave_open(matcher, tid, ts);
	forget_machine(matcher, tid);
	arrivals_forget(matcher->arrivals, tid);
}

/* Of the process nothing but who takes its leader's tid goes on. */
static void end_others(struct matcher *matcher, int32_t pid, uint64_t ts)
{
	const struct timeline *timeline = matcher->timeline;

	for (size_t i = 0; i < timeline->threads.count; i++) {
		const struct deep_thread *thread = timeline->threads.at[i];

		if (thread->pid == pid && thread->end == ts && thread->tid != pid) {
			end_machine(matcher, thread->tid, ts);
		}
	}
}

/* An open execution continues under the thread's new tid, whose thread ends at @ts. */
static void rename_machine(struct matcher *matcher, int32_t from, int32_t to, uint64_t ts)
{
	const struct follower *open = machines_get(&matcher->machines, (uint64_t)(uint32_t)from);
	struct follower machine = open ? *open : (struct follower){ 0 };

	leave_open(matcher, to, ts);
	forget_machine(matcher, to);
	arrivals_rename(matcher->arrivals, from, to);
	if (machines_drop(&matcher->machines, (uint64_t)(uint32_t)from)) {
		*machines_put(&matcher->machines, (uint64_t)(uint32_t)to, NULL) = machine;
	}
}

/* Puts on their CPUs the initial threads that were there at @ts. */
static void put_initial(struct matcher *matcher, uint64_t ts)
{
	const struct cpu_initial *first;
	const struct timeline *timeline = matcher->timeline;

	while ((first = timeline_initial_next(timeline, &matcher->initial_put, ts))) {
		*running_on(matcher, first->cpu) = first->tid;
	}
}

/* Counts as cut what is open of the thread that has the tid at @ts. */
static void count_cut(struct matcher *matcher, int32_t tid, uint64_t ts)
{
	struct follower *at = machines_get(&matcher->machines, (uint64_t)(uint32_t)tid);

	if (at && at->next > 0 &&
	    owners_at(&matcher->owners, tid, matcher->config->who, at->begin, ts) != NOBODY) {
		matcher->executions->cut++;
	}
}

/* Events of the kernel are missing: an open execution there may have ended in the gap, unless it
 * ends in user space. */
static void cut(struct matcher *matcher, const struct reader_event *event, int32_t *tid)
{
	if (matcher->is_of_kernel) {
		count_cut(matcher, *tid, event->ts);
		*machines_put(&matcher->machines, (uint64_t)(uint32_t)*tid, NULL) = doubted;
		executions_across_cut(&matcher->across);
	}
	if (reader_sees(event, REQUEST_SWITCH)) {
		*tid = TID_UNKNOWN;
	}
}

/* Whatever is open may have ended. */
static void cut_all(struct matcher *matcher, uint64_t ts)
{
	HASH_EACH(machines, &matcher->machines, one) {
		count_cut(matcher, (int32_t)one->key, ts);
		one->value = doubted;
	}
	executions_across_cut(&matcher->across);
}

/* The kernel traced nothing for a while. */
static void lose_all(struct matcher *matcher, uint64_t ts)
{
	if (matcher->is_of_kernel) {
		cut_all(matcher, ts);
	}
	arrivals_lose(matcher->arrivals, ts);
	HASH_EACH(running, &matcher->running, one) {
		one->value = TID_UNKNOWN;
	}
}

/* Once the event was taken: the thread that it shows to leave its CPU has ended. */
static void end_dead(struct matcher *matcher, const struct reader_event *event)
{
	if (event->class && event->trace == 0 && event->binding->request == REQUEST_SWITCH &&
	    reader_has(event, SWITCH_STATE) && reader_has(event, SWITCH_PREV) &&
	    reader_sees(event, REQUEST_SWITCH) && event->values[SWITCH_PREV].i != 0 &&
	    task_state_is_dead(event->values[SWITCH_STATE].u, matcher->states)) {
		end_machine(matcher, (int32_t)event->values[SWITCH_PREV].i, event->ts + 1);
	}
}

/* The tid that runs on the event's CPU after the event. */
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
	} else if (event->binding->request == REQUEST_EXEC &&
		   thread_takes_tid(reader_i64(event, EXEC_TID, 0),
				    reader_i64(event, EXEC_OLD_TID, 0))) {
		*tid = (int32_t)event->values[EXEC_TID].i;
		rename_machine(matcher, (int32_t)event->values[EXEC_OLD_TID].i, *tid, event->ts);
		end_others(matcher, *tid, event->ts);
		owners_taken(&matcher->owners, *tid, event->ts);
	} else if (event->binding->request == REQUEST_FORK && reader_has(event, FORK_TID)) {
		end_machine(matcher, (int32_t)event->values[FORK_TID].i, event->ts);
	}
	return *tid;
}

/* The tid that the event happened on.  In a channel without switches that is the context tid, if it
 * was recorded; else @runs. */
static int32_t current_of(const struct matcher *matcher, const struct reader_event *event,
			  int32_t runs)
{
	bool sees_switches = reader_sees(event, REQUEST_SWITCH);

	for (size_t d = 0; d < matcher->pattern->count && !sees_switches; d++) {
		const struct executions_part *part = &matcher->pattern->at[d];
		struct reader_event as;

		if (reader_as(event, part->request, &as) &&
		    reader_has(&as, part->of->running.tid)) {
			return (int32_t)as.values[part->of->running.tid].i;
		}
	}
	return runs;
}

/* The tid that an event of user space happened on. */
static int32_t user_thread_of(struct matcher *matcher, const struct reader_event *event)
{
	struct user_thread_event of = {
		.ts = event->ts, .trace = event->trace, .vpid = -1, .vtid = -1, .cpu = event->cpu
	};

	for (size_t d = 0; d < matcher->pattern->count; d++) {
		const struct executions_part *part = &matcher->pattern->at[d];
		struct reader_event as;

		if (reader_as(event, part->request, &as)) {
			of.vtid = reader_i64(&as, part->of->running.vtid, -1);
			of.vpid = part->of->running.vpid == FIELD_NONE
					  ? -1
					  : reader_i64(&as, part->of->running.vpid, -1);
			break;
		}
	}
	return user_threads_of(&matcher->users, &of);
}

/* The tid that the event happened on, after what it says of who runs. */
static int32_t tid_behind(struct matcher *matcher, const struct reader_event *event)
{
	int32_t runs;

	if (event->trace > 0) {
		if (!event->class) {
			cut_all(matcher, event->ts);
		}
		return event->class ? user_thread_of(matcher, event) : TID_UNKNOWN;
	}
	runs = follow(matcher, event);
	arrivals_take(matcher->arrivals, event);
	return event->class ? current_of(matcher, event, runs) : runs;
}

/* Tries the event for the running thread and for the threads that its fields name. */
static void take(struct matcher *matcher, const struct reader_event *event)
{
	int32_t tried[EXECUTIONS_DEFINITIONS_MAX + 1];
	int32_t current;
	size_t count = 0;

	if (event->is_hole) {
		put_initial(matcher, event->ts);
		lose_all(matcher, event->ts);
		return;
	}
	current = tid_behind(matcher, event);
	if (!event->class) {
		return;
	}
	executions_named_take(&matcher->named, event);
	if (matcher->pattern->is_across) {
		executions_across_take(&matcher->across, event, current);
		return;
	}
	tried[count++] = current;
	for (size_t d = 0; d < matcher->pattern->count; d++) {
		tried[count++] = executions_pattern_tid(&matcher->pattern->at[d], event, current);
	}
	for (size_t i = 0; i < count; i++) {
		bool is_again = false;

		for (size_t k = 0; k < i; k++) {
			is_again |= tried[k] == tried[i];
		}
		if (!is_again) {
			try_thread(matcher, event, tried[i], current);
		}
	}
}

/* ---- a whole trace ---- */

/* What is open when the range ends. */
static void leave_all_open(struct matcher *matcher)
{
	HASH_EACH(machines, &matcher->machines, machine) {
		leave_open(matcher, (int32_t)machine->key, UINT64_MAX);
	}
	executions_across_end(&matcher->across);
	if (matcher->across.reached > matcher->reached) {
		matcher->reached = matcher->across.reached;
	}
}

/* What the kernel did before and after its trace is not known. */
static void count_outside(struct matcher *matcher, const struct reader_event *event)
{
	const struct executions_part *first = &matcher->pattern->at[0];

	if ((event->ts < matcher->timeline->first || event->ts > matcher->timeline->last) &&
	    event->trace > 0 && event->class) {
		int32_t tid = executions_pattern_tid(first, event, 1);

		matcher->executions->outside += executions_pattern_matches(first, event, tid, 1);
	}
}

static int find_all(const struct reader_setup *setup, const struct timeline *timeline,
		    const struct executions_config *config, struct executions *executions,
		    struct err *err)
{
	struct reader_setup again = *setup;
	struct matcher matcher = { .timeline = timeline,
				   .config = config,
				   .named = { config->labels, config->job, executions },
				   .executions = executions };
	struct reader_event event;
	struct executions_pattern pattern;
	struct reader *reader;
	bool has_more;
	struct executions_requests requests;

	executions_pattern_init(&pattern, config->job);
	executions_pattern_request(&pattern, config->labels, &requests);
	again.is_again = true;
	if (pattern.is_across && !config->job->has_names) {
		/* Who runs is in the timeline, and nothing else is asked of the kernel's events. */
		again.needed.first = REQUESTS_OWN;
		again.needed.count = requests.count - REQUESTS_OWN;
	}
	reader = reader_open(&again, requests.at, requests.count, err);
	if (!reader) {
		return -EIO;
	}
	matcher.pattern = &pattern;
	matcher.is_of_kernel = reader_is_asked(reader, false, REQUESTS_OWN, pattern.count);
	matcher.across = (struct executions_across){ .pattern = &pattern,
						     .timeline = timeline,
						     .owners = &matcher.owners,
						     .executions = executions,
						     .named = &matcher.named,
						     .job = config->job };
	matcher.hints = mem_alloc((timeline->threads.count + 1) * sizeof(*matcher.hints));
	owners_init(&matcher.owners, timeline);
	matcher.users.owners = &matcher.owners;
	matcher.states = task_state_encoding(reader_plan(reader)->metadata);
	matcher.arrivals = arrivals_new(&matcher.owners, reader_plan(reader), REQUEST_ARRIVALS);
	while ((has_more = reader_next(reader, &event)) && event.ts <= timeline->end) {
		count_outside(&matcher, &event);
		take(&matcher, &event);
		end_dead(&matcher, &event);
	}
	for (; has_more && event.trace > 0 && timeline->last < UINT64_MAX;
	     has_more = reader_next(reader, &event)) {
		count_outside(&matcher, &event);
	}
	leave_all_open(&matcher);
	if (matcher.reached < pattern.count) {
		executions->missing = matcher.reached + 1;
		executions->missing_event = mem_strdup(pattern.at[matcher.reached].is->event);
	}
	executions_named_end(&matcher.named);
	machines_fini(&matcher.machines);
	running_fini(&matcher.running);
	user_threads_fini(&matcher.users);
	arrivals_free(matcher.arrivals);
	owners_fini(&matcher.owners);
	free(matcher.hints);
	reader_close(reader);
	return 0;
}

ORDER(by_end, struct execution, UP(end) UP(thread))

/* Leaves out what ends behind the first @most, and with it what has not ended. */
static void keep_first(struct executions *executions, uint64_t most)
{
	if (most > 0 && executions->all.count > most) {
		vec_sort(&executions->all, by_end);
		executions->all.count = most;
		executions->open.count = 0;
	}
}

int executions_find(const struct reader_setup *setup, const struct timeline *timeline,
		    const struct executions_config *config, struct executions *executions,
		    struct err *err)
{
	const struct executions_config of_outer = { .job = config->within, .who = config->who };
	struct executions outer = { .config = &of_outer };
	int r;

	memset(executions, 0, sizeof(*executions));
	executions->config = config;
	r = find_all(setup, timeline, config, executions, err);
	if (r == 0 && config->within) {
		r = find_all(setup, timeline, &of_outer, &outer, err);
		executions_within(executions, &outer, timeline->end);
		if (executions->missing == 0) {
			executions->missing = outer.missing;
			executions->missing_event = outer.missing_event;
			outer.missing_event = NULL;
			executions->is_missing_within = true;
		}
		executions_fini(&outer);
	}
	if (r == 0) {
		keep_first(executions, config->most);
		executions_add_up(executions);
	}
	return r;
}

VEC_FIRST(first_of, struct executions_span, uint32_t, one->thread < wanted)

void executions_spans(const struct executions *executions, uint32_t thread,
		      struct path_spans *spans)
{
	for (size_t i = first_of(executions->spans.at, executions->spans.count, thread);
	     i < executions->spans.count && executions->spans.at[i].thread == thread; i++) {
		struct path_span next = executions->spans.at[i].is;
		size_t count = spans->at.count;

		if (count > 0 && next.begin <= spans->at.at[count - 1].end) {
			struct path_span *last = &spans->at.at[count - 1];

			last->end = last->end > next.end ? last->end : next.end;
		} else {
			*vec_push(&spans->at) = next;
		}
	}
}

void executions_fini(struct executions *executions)
{
	free(executions->missing_event);
	arena_fini(&executions->texts);
	vec_fini(&executions->all);
	vec_fini(&executions->open);
	vec_fini(&executions->of_last);
	vec_fini(&executions->differences);
	vec_fini(&executions->worst);
	vec_fini(&executions->worst_open);
	vec_fini(&executions->groups);
	vec_fini(&executions->spans);
	vec_fini(&executions->outer);
	VEC_EACH_OF(&executions->rows, row) {
		free(row->name);
		free(row);
	}
	vec_fini(&executions->rows);
}
