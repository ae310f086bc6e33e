/*
 * folded-kernel: time that threads were off their CPU, by why.
 *
 *     app (12);futex;db (7);worker (9);timer 4000000
 *
 * Where switches have call stacks, the one with which the thread left its CPU comes first.  A
 * sleep's frames are the call that the thread sleeps in, and what ended it.  If that is a thread,
 * that one's last sleep before comes next, as who woke it is why it could; up to WAKERS_MAX
 * threads.  Time in which a thread waits for a CPU is that from its wake-up, preemption or fork to
 * the switch to it, as the analysis of scheduling has it.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deep/timeline.h"
#include "folded/folded-switches.h"

#define WAKERS_MAX 4
#define LOOK_MAX   1024 /* intervals in which a waker's last sleep is looked for */
#define NAME_BYTES 64

struct off_cpu {
	struct stacks *folded;
	const struct timeline *timeline;
	const struct switch_stacks *stacks; /* NULL: no switch has one */
};

static void name_of_thread(const struct off_cpu *off, uint32_t thread, char name[NAME_BYTES])
{
	const struct deep_thread *of = off->timeline->threads.at[thread];

	(void)snprintf(name, NAME_BYTES, "%s (%d)", of->comm[0] ? of->comm : "?", (int)of->tid);
}

static uint32_t add_cause(const struct off_cpu *off, uint32_t frame, const struct interval *sleep)
{
	char name[NAME_BYTES];

	if (sleep->cause == CAUSE_TASK && sleep->who != NOBODY) {
		name_of_thread(off, sleep->who, name);
		return folded_frame(off->folded, frame, name);
	}
	return folded_frame(off->folded, frame,
			    sleep->cause == CAUSE_NONE
				    ? "[not known to be woken]"
				    : timeline_cause_name((enum cause)sleep->cause));
}

/* The last sleep of the thread that ended by @ts; NULL: none. */
static const struct interval *sleep_before(const struct deep_thread *thread, uint64_t ts)
{
	size_t at = timeline_thread_before(thread, ts);

	for (size_t turns = 0; at != SIZE_MAX && turns < LOOK_MAX; turns++) {
		if (thread->intervals.at[at].state == STATE_BLOCKED &&
		    timeline_thread_until(thread, at) <= ts) {
			return &thread->intervals.at[at];
		}
		at = at > 0 ? at - 1 : SIZE_MAX;
	}
	return NULL;
}

/* The frames of a sleep: who ended it, and what had kept that one. */
static uint32_t add_wakers(const struct off_cpu *off, uint32_t frame, const struct interval *sleep,
			   uint64_t end)
{
	for (unsigned int i = 0; sleep && i < WAKERS_MAX; i++) {
		const struct deep_thread *waker;

		frame = add_cause(off, frame, sleep);
		if (sleep->cause != CAUSE_TASK || sleep->who == NOBODY) {
			break;
		}
		waker = off->timeline->threads.at[sleep->who];
		sleep = sleep_before(waker, end);
		if (sleep) {
			end = timeline_thread_until(waker, (size_t)(sleep - waker->intervals.at));
		}
	}
	return frame;
}

/* Whether the thread runs behind this interval, in the range: one that waits may be moved to
 * another CPU's queue, and go on to wait there. */
static bool runs_then(const struct off_cpu *off, const struct deep_thread *thread, size_t at)
{
	do {
		at++;
	} while (at < thread->intervals.count &&
		 timeline_state_waits(thread->intervals.at[at].state));
	return at < thread->intervals.count &&
	       thread->intervals.at[at].begin <= off->timeline->end &&
	       timeline_state_runs(thread->intervals.at[at].state);
}

static uint32_t frame_of(const struct off_cpu *off, uint32_t within,
			 const struct deep_thread *thread, size_t at, uint64_t begin, uint64_t end)
{
	const struct interval *interval = &thread->intervals.at[at];
	const struct deep_call *call;

	if (timeline_state_waits(interval->state) && !runs_then(off, thread, at)) {
		return folded_frame(off->folded, within, "[waits for a CPU: not seen to run]");
	}
	switch (interval->state) {
	case STATE_WAIT:
		return folded_frame(off->folded, within, "[waits for a CPU: woken]");
	case STATE_PREEMPTED:
		return folded_frame(off->folded, within, "[waits for a CPU: preempted]");
	case STATE_NEW:
		return folded_frame(off->folded, within, "[waits for a CPU: new]");
	default:
		assert(interval->state == STATE_BLOCKED);
		call = timeline_thread_call(off->timeline, thread, begin);
		within = folded_frame(off->folded, within, call ? call->name : "[in no call]");
		return add_wakers(off, within, interval, end);
	}
}

static bool is_off_cpu(const struct interval *interval)
{
	return interval->state == STATE_BLOCKED || timeline_state_waits(interval->state);
}

/* The frame of the thread's call stack, for all the time up to when it runs again. */
static uint32_t stack_frame(const struct off_cpu *off, const struct deep_thread *thread,
			    const struct interval *interval, uint32_t base, uint32_t before)
{
	uint32_t stack;

	if (!off->stacks ||
	    !switch_stacks_find(off->stacks, (int32_t)thread->tid, interval->begin, &stack)) {
		return before;
	}
	return switch_stacks_frame(off->stacks, stack, off->folded, base);
}

static void fold_thread(const struct off_cpu *off, uint32_t index)
{
	const struct timeline *timeline = off->timeline;
	const struct deep_thread *thread = timeline->threads.at[index];
	char name[NAME_BYTES];
	uint32_t base = 0, frame = 0;

	for (size_t i = 0; i < thread->intervals.count; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		uint64_t begin = interval->begin, end = timeline_thread_until(thread, i);

		if (!is_off_cpu(interval)) {
			frame = base;
			continue;
		}
		begin = begin < timeline->begin ? timeline->begin : begin;
		end = end > timeline->end ? timeline->end : end;
		if (begin < end && base == 0) {
			name_of_thread(off, index, name);
			base = frame = folded_frame(off->folded, 0, name);
		}
		if (begin < end) {
			frame = stack_frame(off, thread, interval, base, frame);
			folded_add(off->folded, frame_of(off, frame, thread, i, begin, end),
				   end - begin);
		}
	}
}

int folded_take_kernel(struct stacks *folded, const struct folded_trace *trace, struct err *err)
{
	struct timeline *timeline = timeline_build(trace->setup, trace->begin, trace->end, err);
	struct off_cpu off = { .folded = folded, .timeline = timeline };
	struct switch_stacks *stacks = NULL;

	if (!timeline) {
		return -EINVAL;
	}
	if (timeline->lacks >> LACKS_SWITCHES & 1) {
		(void)err_raise(
			err, -ENODATA, "%s is not recorded, which tells who is off its CPU: %s",
			timeline_events[LACKS_SWITCHES].event,
			timeline_command(timeline, timeline_events[LACKS_SWITCHES].command));
		timeline_free(timeline);
		return -ENODATA;
	}
	if (trace->has_stacks) {
		off.stacks = stacks = switch_stacks_read(trace, err);
	}
	for (uint32_t i = 0; i < timeline->threads.count && (stacks || !trace->has_stacks); i++) {
		fold_thread(&off, i);
	}
	timeline_free(timeline);
	switch_stacks_free(stacks);
	return stacks || !trace->has_stacks ? 0 : -EINVAL;
}
