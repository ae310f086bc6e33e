/*
 * timeline-build: see build.h.
 */
#include "deep/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "kernel/task-state.h"
#include "kernel/thread-identity.h"
#include "kernel/tracer.h"

ORDER(by_since, struct cpu_initial, UP(since) UP(cpu))

/* Indexes of the requests; build_sees_switches() needs the switch first. */
enum { INITIAL_SWITCH, INITIAL_EXEC };

/* Whether the event names the thread that ran before it: a switch, or an exec that takes its
 * leader's tid.  And the one that runs behind it. */
static bool names_initial(const struct reader_event *event, int32_t *ret_tid, int32_t *ret_next)
{
	enum { PREV_COMM, PREV_TID, NEXT_TID };
	enum { TID, OLD_TID };
	const struct value *values = event->values;

	if (event->binding->request == INITIAL_SWITCH) {
		*ret_tid = (int32_t)values[PREV_TID].i;
		*ret_next = (int32_t)values[NEXT_TID].i;
		return reader_has(event, PREV_TID) && reader_has(event, NEXT_TID);
	}
	*ret_tid = (int32_t)values[OLD_TID].i;
	*ret_next = (int32_t)values[TID].i;
	return thread_takes_tid(reader_i64(event, TID, 0), reader_i64(event, OLD_TID, 0));
}

/* CPUs of which the first switch was not seen, and of which the second one was not.  From the limit
 * on that one does not matter, as in windows, which do not wait for it. */
struct initial_search {
	struct timeline *timeline;
	uint64_t limit; /* ns */
	size_t awaited, unproven;
};

/* The first event that tells who ran on the CPU, or the second one, which has to fit. */
static void take_initial(struct initial_search *search, struct deep_cpu *cpu,
			 const struct reader_event *event)
{
	struct timeline *timeline = search->timeline;
	int32_t tid = 0, next = 0;

	if (cpu->initial == INITIAL_DECIDED ||
	    (event->class && !names_initial(event, &tid, &next))) {
		return;
	}
	if (cpu->initial == INITIAL_UNPROVEN) {
		search->unproven--;
		cpu->initial = INITIAL_DECIDED;
		cpu->is_doubted = event->class && tid != cpu->doubted && event->ts < search->limit;
		cpu->doubted = -1; /* whom its first switch names does not fit */
		return;
	}
	search->awaited--;
	cpu->initial = event->class ? INITIAL_UNPROVEN : INITIAL_DECIDED;
	if (event->class) {
		search->unproven++;
		cpu->doubted = next;
		*vec_push(&timeline->initial) = (struct cpu_initial){
			.since = event->since < timeline->begin ? timeline->begin : event->since,
			.cpu = event->cpu,
			.tid = tid
		};
	}
}

/* Forgets the initial threads of CPUs whose second switch did not fit. */
static void drop_doubted(const struct build *build)
{
	struct timeline *timeline = build->timeline;
	size_t kept = 0;

	VEC_EACH(&timeline->initial, initial) {
		if (!build_cpu(build, initial->cpu)->is_doubted) {
			timeline->initial.at[kept++] = *initial;
		}
	}
	timeline->initial.count = kept;
}

/*
 * Finds the initial thread of each CPU: its first switch names it, unless events are missing before
 * that, or the second one shows that events are filtered (doc/definitions.md, 2.1).  This reads the
 * start of the trace without reports; the second reading reports.
 */
static bool find_initial(struct build *build, const struct reader_setup *setup, struct err *err)
{
	static const struct plan_request initial_requests[] = {
		[INITIAL_SWITCH] = { .event = "sched_switch",
				     .fields = { "@prev_comm", "prev_tid", "next_tid" } },
		[INITIAL_EXEC] = { .event = "sched_process_exec", .fields = { "tid", "old_tid" } },
	};
	const struct reader_setup quiet = { .path = setup->path };
	struct timeline *timeline = build->timeline;
	struct initial_search search = { .timeline = timeline };
	struct reader *reader = reader_open(&quiet, initial_requests, 2, err);
	struct reader_event event = { 0 };
	struct reader_seen seen;

	if (!reader) {
		return false;
	}
	search.awaited = reader_cpu_count(reader);
	reader_seen(reader, &seen);
	timeline->begin = timeline->first = seen.events > 0 ? seen.first : 0;
	search.limit = timeline->begin + INITIAL_WAIT_NS;
	/* A switch after a hole does not tell who ran before it. */
	while ((search.awaited > 0 || (search.unproven > 0 && event.ts < search.limit)) &&
	       reader_next(reader, &event) && !event.is_hole) {
		struct deep_cpu *cpu = build_cpu(build, event.cpu);

		if (build_sees_switches(&event)) {
			take_initial(&search, cpu, &event);
		}
	}
	reader_close(reader);
	drop_doubted(build);
	vec_sort(&timeline->initial, by_since);
	return true;
}

/* Puts on their CPUs the initial threads that were there at @ts. */
static void put_initial(struct build *build, uint64_t ts)
{
	const struct cpu_initial *first;
	const struct timeline *timeline = build->timeline;

	while ((first = timeline_initial_next(timeline, &build->initial_put, ts))) {
		struct deep_cpu *cpu = build_cpu(build, first->cpu);
		uint32_t thread;

		build->now = first->since;
		thread = first->tid == 0 ? CPU_IDLE : build_thread(build, first->tid);
		build_oncpu(cpu, first->since, thread);
		if (first->tid != 0) {
			build_put_running(build, build_thread_at(build, thread), first->since, cpu);
		}
	}
}

ORDER(by_id, struct deep_cpu, UP(id))

static int32_t urgency_of(const struct deep_thread *thread)
{
	int32_t prio = 0;

	for (size_t i = 0; i < thread->prios.count; i++) {
		if (!thread->prios.at[i].is_unknown && !thread->prios.at[i].is_boost &&
		    thread->prios.at[i].prio < prio) {
			prio = thread->prios.at[i].prio;
		}
	}
	return prio;
}

/* Those that were absent all the time are not listed. */
static void drop_absent(struct timeline *timeline)
{
	size_t kept = 0;

	VEC_EACH(&timeline->cpus, cpu) {
		if (cpu->left > timeline->begin) {
			timeline->cpus.at[kept++] = *cpu;
		} else {
			timeline_fini_cpu(cpu);
		}
	}
	timeline->cpus.count = kept;
}

/* Cuts the timeline to the range: it ends at @end. */
static void clip(struct build *build, uint64_t end)
{
	struct timeline *timeline = build->timeline;

	timeline->end = end;
	vec_sort(&timeline->cpus, by_id);
	if (build->range_begin > timeline->begin) {
		timeline->begin = build->range_begin;
	}
	drop_absent(timeline);
	VEC_EACH_OF(&timeline->threads, thread) {
		thread->urgency = urgency_of(thread);
		if (thread->end > timeline->end) {
			thread->end = timeline->end;
		}
		if (thread->intervals.count > 0 &&
		    thread->intervals.at[0].begin < timeline->begin) {
			thread->intervals.at[0].begin = timeline->begin;
		}
		if (thread->birth < timeline->begin) {
			thread->birth = timeline->begin;
		}
	}
}

/* So often, in events, memory is looked at. */
#define MEMORY_EVERY 65536

/* Bytes of the timeline. */
static uint64_t bytes_of(const struct timeline *timeline)
{
	uint64_t bytes = timeline->threads.room * sizeof(*timeline->threads.at) +
			 timeline->calls.room * sizeof(*timeline->calls.at);

	VEC_EACH_OF(&timeline->threads, thread) {
		bytes += sizeof(*thread) + thread->intervals.room * sizeof(*thread->intervals.at) +
			 thread->prios.room * sizeof(*thread->prios.at) +
			 thread->sleeps.room * sizeof(*thread->sleeps.at);
	}
	for (size_t i = 0; i < timeline->cpus.count; i++) {
		bytes += timeline->cpus.at[i].oncpus.room * sizeof(*timeline->cpus.at[i].oncpus.at);
	}
	return bytes;
}

/* Forgets what lies before the range: threads that have ended at @ts, and all but the last of each
 * list, which lasts. */
static void forget(const struct timeline *timeline, uint64_t ts)
{
	VEC_EACH(&timeline->cpus, cpu) {
		cpu->oncpus.at[0] = cpu->oncpus.at[cpu->oncpus.count - 1];
		cpu->oncpus.count = 1;
	}
	VEC_EACH_OF(&timeline->threads, thread) {
		if (thread->end <= ts) {
			vec_fini(&thread->intervals);
			vec_fini(&thread->prios);
			vec_fini(&thread->sleeps);
		} else if (thread->sleeps.count > 1) {
			thread->sleeps.at[0] = thread->sleeps.at[thread->sleeps.count - 1];
			thread->sleeps.count = 1;
		}
	}
}

/* At @now it is known of these CPUs that they have left.  Behind @end that is no matter. */
static void take_departures(const struct build *build, struct reader *reader, uint64_t now,
			    uint64_t end)
{
	uint64_t cpu, ts;

	while (reader_left(reader, now, &cpu, &ts)) {
		if (ts < end) {
			build_leave(build, cpu, ts);
		}
	}
}

/* Whether a CPU has left shortly before @end, what comes behind it tells. */
static void take_last_departures(const struct build *build, struct reader *reader, uint64_t end,
				 bool has_more)
{
	struct reader_event event = { .ts = end };
	struct reader_seen seen;

	while (has_more && event.ts <= reader_left_bound(reader, end)) {
		has_more = reader_next(reader, &event);
	}
	reader_seen(reader, &seen);
	take_departures(build, reader, has_more ? event.ts : seen.last, end);
}

/* Returns the end of what has room in @max_bytes; at most @end. */
static uint64_t take_all(struct build *build, struct reader *reader, uint64_t end,
			 uint64_t max_bytes, bool *ret_has_more)
{
	struct reader_event event;
	uint64_t taken = 0;

	while ((*ret_has_more = reader_next(reader, &event)) && event.ts < end) {
		if (max_bytes < UINT64_MAX && ++taken % MEMORY_EVERY == 0) {
			if (event.ts <= build->range_begin) {
				forget(build->timeline, event.ts);
			} else if (bytes_of(build->timeline) > max_bytes) {
				build->timeline->is_cut = true;
				return event.ts;
			}
		}
		put_initial(build, event.ts);
		take_departures(build, reader, reader_known_until(&event), end);
		build_take(build, &event);
	}
	return end;
}

static void read_all(struct build *build, struct reader *reader, uint64_t end, uint64_t max_bytes)
{
	struct reader_seen seen;
	bool has_more;

	end = take_all(build, reader, end, max_bytes, &has_more);
	put_initial(build, end - 1);
	reader_seen(reader, &seen);
	build->timeline->events = seen.events;
	build->timeline->last = has_more ? UINT64_MAX : seen.last;
	take_last_departures(build, reader, end, has_more);
	clip(build, has_more || seen.last > end ? end : seen.last);
}

struct timeline *timeline_build_initial(const struct reader_setup *setup, struct err *err)
{
	struct indexes cpus = { 0 };
	struct build build = { .timeline = mem_alloc(sizeof(*build.timeline)), .by_cpu = &cpus };

	if (!find_initial(&build, setup, err)) {
		timeline_free(build.timeline);
		build.timeline = NULL;
	}
	indexes_fini(&cpus);
	return build.timeline;
}

struct timeline *timeline_build(const struct reader_setup *setup, uint64_t begin, uint64_t end,
				struct err *err)
{
	return timeline_build_within(setup, begin, end, UINT64_MAX, err);
}

struct timeline *timeline_build_within(const struct reader_setup *setup, uint64_t begin,
				       uint64_t end, uint64_t max_bytes, struct err *err)
{
	const struct reader_setup alone = { .path = setup->path,
					    .warn = setup->warn,
					    .user = setup->user };
	struct indexes indexes[4] = { 0 };
	struct build build = { .by_tid = &indexes[0],
			       .by_cpu = &indexes[1],
			       .by_call = &indexes[2],
			       .by_lock = &indexes[3],
			       .range_begin = begin };
	const struct plan *plan;
	struct reader *reader = NULL;
	bool is_done = false;

	build.timeline = mem_alloc(sizeof(*build.timeline));
	if (find_initial(&build, setup, err)) {
		build.reader = reader =
			reader_open(&alone, build_requests, build_request_count, err);
	}
	if (reader) {
		plan = reader_plan(reader);
		build.timeline->lacks = timeline_lacks(plan);
		build.timeline->is_of_record =
			metadata_is_of_record(metadata_other_tracer(plan->metadata));
		build.states = task_state_encoding(plan->metadata);
		build.is_rt = task_state_is_rt(plan->metadata);
		build.wake_prio_offset = tracer_wake_prio_offset(plan->metadata);
		build.wakes = wake_source_of(plan);
		read_all(&build, reader, end, max_bytes);
		if (CHECKS_ON) {
			timeline_check(build.timeline);
		}
		is_done = true;
	}
	reader_close(reader);
	for (size_t i = 0; i < 4; i++) {
		indexes_fini(&indexes[i]);
	}
	if (!is_done) {
		timeline_free(build.timeline);
		return NULL;
	}
	return build.timeline;
}
