/*
 * timeline: see timeline.h; timeline-build.c makes one.
 */
#include "deep/timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/plan/plan.h"
#include "kernel/thread-list.h"
#include "kernel/wake-source.h"

void timeline_fini_cpu(struct deep_cpu *cpu)
{
	vec_fini(&cpu->oncpus);
	free(cpu->contexts);
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline) {
		return;
	}
	for (size_t i = 0; i < timeline->threads.count; i++) {
		vec_fini(&timeline->threads.at[i]->intervals);
		vec_fini(&timeline->threads.at[i]->prios);
		vec_fini(&timeline->threads.at[i]->sleeps);
		free(timeline->threads.at[i]->contexts);
		free(timeline->threads.at[i]);
	}
	VEC_EACH(&timeline->cpus, cpu) {
		timeline_fini_cpu(cpu);
	}
	vec_fini(&timeline->threads);
	vec_fini(&timeline->cpus);
	vec_fini(&timeline->initial);
	for (size_t i = 0; i < timeline->calls.count; i++) {
		free(timeline->calls.at[i].name);
	}
	vec_fini(&timeline->calls);
	free(timeline);
}

const char *timeline_state_name(enum state state)
{
	static const char *const names[STATES] = {
		[STATE_UNKNOWN] = "unknown", [STATE_NEW] = "new",
		[STATE_USER] = "user",       [STATE_SYSCALL] = "syscall",
		[STATE_IRQ] = "irq",         [STATE_SOFTIRQ] = "softirq",
		[STATE_WAIT] = "wait",       [STATE_PREEMPTED] = "preempted",
		[STATE_BLOCKED] = "blocked", [STATE_DEAD] = "dead",
	};

	assert(state < STATES);
	return names[state];
}

const char *timeline_cause_name(enum cause cause)
{
	static const char *const names[CAUSES] = {
		[CAUSE_NONE] = "unknown", [CAUSE_TASK] = "thread",
		[CAUSE_TIMER] = "timer",  [CAUSE_DISK] = "disk",
		[CAUSE_NET] = "network",  [CAUSE_IPI] = "another CPU",
		[CAUSE_IRQ] = "irq",      [CAUSE_UNTRACED] = "untraced",
	};

	assert(cause < CAUSES);
	return names[cause];
}

VEC_FIRST(first_from, struct interval, uint64_t, one->begin < wanted)

size_t timeline_thread_before(const struct deep_thread *thread, uint64_t ts)
{
	size_t count = thread->intervals.count;

	if (count == 0 || ts > thread->end || ts <= thread->intervals.at[0].begin) {
		return SIZE_MAX;
	}
	return first_from(thread->intervals.at, count, ts) - 1;
}

#define NEAR 8 /* intervals to look at before a search */

size_t timeline_thread_near(const struct deep_thread *thread, uint64_t ts, size_t *hint)
{
	size_t count = thread->intervals.count, at;

	if (*hint < count && thread->intervals.at[*hint].begin < ts && ts <= thread->end) {
		for (at = *hint; at < *hint + NEAR; at++) {
			if (at + 1 == count || thread->intervals.at[at + 1].begin >= ts) {
				*hint = at;
				return at;
			}
		}
	}
	at = timeline_thread_before(thread, ts);
	*hint = at == SIZE_MAX ? 0 : at;
	return at;
}

uint64_t timeline_thread_until(const struct deep_thread *thread, size_t interval)
{
	assert(interval < thread->intervals.count);
	return interval + 1 < thread->intervals.count ? thread->intervals.at[interval + 1].begin
						      : thread->end;
}

const struct prio_change *timeline_thread_prio(const struct deep_thread *thread, uint64_t ts)
{
	size_t low = 0, high = thread->prios.count;

	if (high == 0) {
		return NULL;
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (thread->prios.at[middle].ts <= ts) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return thread->prios.at[low].is_unknown ? NULL : &thread->prios.at[low];
}

const struct deep_call *timeline_thread_call(const struct timeline *timeline,
					     const struct deep_thread *thread, uint64_t ts)
{
	size_t at = timeline_thread_before(thread, ts + 1), low = 0, high = thread->sleeps.count;

	if (at != SIZE_MAX && at > 0 && thread->intervals.at[at].state == STATE_WAIT) {
		at--;
	}
	if (at == SIZE_MAX || thread->intervals.at[at].state != STATE_BLOCKED) {
		return NULL;
	}
	while (low < high) { /* finds the first sleep that does not begin before the interval */
		size_t middle = low + (high - low) / 2;

		if (thread->sleeps.at[middle].ts < thread->intervals.at[at].begin) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (low == thread->sleeps.count ||
	    thread->sleeps.at[low].ts != thread->intervals.at[at].begin) {
		return NULL;
	}
	return &timeline->calls.at[thread->sleeps.at[low].call];
}

void timeline_thread_sums(const struct deep_thread *thread, uint64_t begin, uint64_t end,
			  uint64_t ret_ns[STATES])
{
	size_t hint = 0;

	timeline_thread_sums_near(thread, begin, end, ret_ns, &hint);
}

void timeline_thread_sums_near(const struct deep_thread *thread, uint64_t begin, uint64_t end,
			       uint64_t ret_ns[STATES], size_t *hint)
{
	size_t first = timeline_thread_near(thread, begin + 1, hint);

	assert(begin <= end);
	memset(ret_ns, 0, STATES * sizeof(*ret_ns));
	for (size_t i = first == SIZE_MAX ? 0 : first;
	     i < thread->intervals.count && thread->intervals.at[i].begin < end; i++) {
		*hint = i;
		uint64_t from = thread->intervals.at[i].begin,
			 until = timeline_thread_until(thread, i);

		from = from < begin ? begin : from;
		until = until > end ? end : until;
		if (until > from) {
			ret_ns[thread->intervals.at[i].state] += until - from;
		}
	}
}

bool timeline_thread_is(const struct deep_thread *thread, const char *who)
{
	return thread_list_has(who, thread->tid, thread->comm);
}

static void check_thread(const struct timeline *timeline, const struct deep_thread *thread)
{
	assert(thread->parent == NOBODY || thread->parent < timeline->threads.count);
	for (size_t i = 0; i < thread->intervals.count; i++) {
		const struct interval *interval = &thread->intervals.at[i];

		assert(i == 0 || thread->intervals.at[i - 1].begin < interval->begin);
		assert(interval->state < STATES);
		assert(interval->cause < CAUSES);
		if (interval->cause == CAUSE_TASK) {
			assert(interval->who < timeline->threads.count);
		} else {
			assert(interval->who == NOBODY);
		}
	}
	for (size_t i = 0; i < thread->sleeps.count; i++) {
		assert(thread->sleeps.at[i].call < timeline->calls.count);
		assert(i == 0 || thread->sleeps.at[i - 1].ts <= thread->sleeps.at[i].ts);
	}
}

void timeline_check(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->threads.count; i++) {
		check_thread(timeline, timeline->threads.at[i]);
	}
	for (size_t i = 0; i < timeline->cpus.count; i++) {
		const struct deep_cpu *cpu = &timeline->cpus.at[i];

		assert(i == 0 || timeline->cpus.at[i - 1].id < cpu->id);
		assert(cpu->oncpus.count > 0);
		for (size_t k = 0; k < cpu->oncpus.count; k++) {
			assert(cpu->oncpus.at[k].thread < timeline->threads.count ||
			       cpu->oncpus.at[k].thread >= CPU_NOBODY);
		}
	}
}

/* ---- what is not recorded ---- */

const struct lacks_event timeline_events[LACKS] = {
	[LACKS_SWITCHES] = { { "sched_switch" },
			     "sched_switch",
			     "lttng enable-event -k sched_switch",
			     "nothing can be explained" },
	[LACKS_WAKEUPS] = { { WAKE_SOURCES },
			    "sched_waking",
			    "lttng enable-event -k sched_waking",
			    "waits after a wake-up count as sleep" },
	[LACKS_CALLS] = { { "syscall_entry_*", "compat_syscall_entry_*", "sys_*", "compat_sys_*" },
			  "syscall_*",
			  "lttng enable-event -k --syscall --all",
			  "system calls count as user code" },
	[LACKS_IRQS] = { { "irq_handler_entry" },
			 "irq_handler_entry",
			 "lttng enable-event -k irq_handler_entry,irq_handler_exit",
			 "hard interrupts count as what they interrupt" },
	[LACKS_SOFTIRQS] = { { "irq_softirq_entry", "softirq_entry" },
			     "irq_softirq_entry",
			     "lttng enable-event -k irq_softirq_entry,irq_softirq_exit",
			     "soft interrupts count as what they interrupt" },
};

const char *timeline_command(const struct timeline *timeline, const char *lttng)
{
	/* It records what reports explain with unless it is told otherwise. */
	return timeline->is_of_record ? "sudo sillage record" : lttng;
}

static bool has_any(const struct plan *plan, const char *const *any)
{
	for (uint32_t c = 0; c < plan->class_count; c++) {
		const char *name = plan->classes[c]->name;

		for (size_t i = 0; any[i]; i++) {
			if (plan_takes(any[i], name)) {
				return true;
			}
		}
	}
	return false;
}

uint32_t timeline_lacks(const struct plan *plan)
{
	uint32_t found = 0;

	for (unsigned int i = 0; i < LACKS; i++) {
		found |= has_any(plan, timeline_events[i].any) ? 0 : UINT32_C(1) << i;
	}
	return found;
}
