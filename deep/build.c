/*
 * build: a timeline from a trace; see build.h.
 */
#include "deep/build.h"

#include <stdlib.h>
#include <string.h>

#include "engine/sched.h"

static unsigned int env_number(const struct metadata *metadata, const char *name)
{
	const struct env_entry *entry = metadata_env(metadata, name);

	return entry && !entry->text ? (unsigned int)entry->number : 0;
}

/* Until lttng-modules 2.7.1 wake-ups told the kernel's priority as it is (0.4). */
static int32_t wake_prio_offset(const struct metadata *metadata)
{
	unsigned int version = env_number(metadata, "tracer_major") * 10000 +
			       env_number(metadata, "tracer_minor") * 100 +
			       env_number(metadata, "tracer_patchlevel");

	return version > 0 && version < 20701 ? 100 : 0;
}

/*
 * Who ran on each CPU at first is told by its first switch, which is looked for before
 * anything else.  What cannot be read is said when all is.
 */
static bool find_heads(struct build *build, const struct reader_setup *setup, struct err *err)
{
	enum { PREV_COMM, PREV_TID };
	static const struct plan_request head_requests[] = {
		{ .event = "sched_switch", .fields = { "@prev_comm", "prev_tid" } },
	};
	const struct reader_setup quiet = { .path = setup->path, .threads = setup->threads };
	struct reader *reader = reader_open(&quiet, head_requests, 1, err);
	struct reader_event event;
	struct reader_seen seen;
	size_t missing;

	if (!reader) {
		return false;
	}
	missing = reader_cpu_count(reader);
	reader_seen(reader, &seen);
	build->timeline->begin = seen.events > 0 ? seen.first : 0;
	while (missing > 0 && reader_next(reader, &event)) {
		struct deep_cpu *cpu;

		if (!event.class || !reader_has(&event, PREV_TID)) {
			continue;
		}
		cpu = build_cpu(build, event.cpu);
		if (cpu_current(cpu) == CPU_NOBODY) {
			int32_t tid = (int32_t)event.values[PREV_TID].i;
			uint32_t index = tid == 0 ? CPU_IDLE : build_thread(build, tid);

			cpu->stays.at[0].thread = index;
			if (tid != 0) {
				build_put_running(build, build_thread_at(build, index),
						  build->timeline->begin, cpu);
			}
			missing--;
		}
	}
	reader_close(reader);
	return true;
}

static int by_id(const void *left, const void *right)
{
	const struct deep_cpu *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Intervals end with the trace, and begin with the range. */
static void clip(struct build *build, uint64_t end)
{
	struct timeline *timeline = build->timeline;

	timeline->end = end;
	if (timeline->cpus.count > 0) {
		qsort(timeline->cpus.at, timeline->cpus.count, sizeof(*timeline->cpus.at), by_id);
	}
	if (build->range_begin > timeline->begin) {
		timeline->begin = build->range_begin;
	}
	for (size_t i = 0; i < timeline->threads.count; i++) {
		struct deep_thread *thread = timeline->threads.at[i];

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

static void read_all(struct build *build, struct reader *reader, uint64_t end)
{
	struct reader_event event;
	struct reader_seen seen;
	bool goes_on;

	while ((goes_on = reader_next(reader, &event)) && event.ts < end) {
		build_take(build, &event);
	}
	reader_seen(reader, &seen);
	build->timeline->events = seen.events;
	clip(build, goes_on || seen.last > end ? end : seen.last);
}

struct timeline *timeline_build(const struct reader_setup *setup, uint64_t begin, uint64_t end,
				struct err *err)
{
	struct build build = { .range_begin = begin };
	const struct plan *plan;
	struct reader *reader = NULL;
	bool is_done = false;

	build.timeline = mem_alloc(sizeof(*build.timeline));
	build.by_tid = kh_init(indexes);
	build.by_cpu = kh_init(indexes);
	build.by_call = kh_init(indexes);
	if (find_heads(&build, setup, err)) {
		reader = reader_open(setup, build_requests, build_request_count, err);
	}
	if (reader) {
		plan = reader_plan(reader);
		build.states = sched_states_of(plan->metadata);
		build.wake_prio_offset = wake_prio_offset(plan->metadata);
		build.has_wakeup = plan_has_event(plan, "sched_wakeup");
		build.source = plan_has_event(plan, "sched_ttwu")     ? EVENT_TTWU
			       : plan_has_event(plan, "sched_waking") ? EVENT_WAKING
								      : EVENT_WAKEUP;
		read_all(&build, reader, end);
		is_done = true;
	}
	reader_close(reader);
	kh_destroy(indexes, build.by_tid);
	kh_destroy(indexes, build.by_cpu);
	kh_destroy(indexes, build.by_call);
	if (!is_done) {
		timeline_free(build.timeline);
		return NULL;
	}
	return build.timeline;
}
