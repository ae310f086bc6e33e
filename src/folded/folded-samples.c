/*
 * folded-samples: how many events had each call stack.
 *
 *     cpu-clock;app (12);main;work;inner 40
 *
 * The outermost frame is the event: what a sample of one kind counts, one of another does not.
 * Next is the thread, as the event says, or else the switches of its CPU.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "deep/timeline.h"
#include "folded/folded.h"
#include "perfetto/trace.h"
#include "perfetto/user-spans.h"
#include "symbols/callstack.h"
#include "symbols/symbols.h"

#define NAME_BYTES 96

enum { SWITCH, STACK };
enum { PREV_COMM, PREV_TID, NEXT_COMM, NEXT_TID };
static const struct plan_request requests[] = {
	[SWITCH] = { .event = "sched_switch",
		     .fields = { "@prev_comm", "prev_tid", "@next_comm", "next_tid" } },
	[STACK] = CALLSTACK_REQUEST,
};

struct sampled_thread {
	int64_t tid; /* -1: unknown */
	char name[PERFETTO_NAME];
};

HASH_MAP(threads_of_cpus, struct sampled_thread)

struct folded_samples {
	struct stacks *folded;
	struct symbols *symbols;
	const struct timeline *initial; /* who ran there before the first switch ... */
	size_t initial_put;
	struct threads_of_cpus running; /* ... and since then, as the last one says */
	struct callstack stack;
};

/* ---- names of functions ---- */

int folded_symbols(const struct folded_trace *trace, struct symbols **ret, struct err *err)
{
	struct trace_export range = {
		.setup = trace->setup, .begin = trace->begin, .end = trace->end, .stop = trace->stop
	};
	struct reader *reader = reader_open(trace->setup, NULL, 0, err);
	struct user_spans *spans;
	int r = -EINVAL;

	*ret = symbols_new();
	if (reader) {
		spans = user_spans_new(reader_plan(reader), *ret);
		r = trace_is_kernel(reader_plan(reader)) ? 0 : user_spans_look(spans, &range, err);
		user_spans_free(spans);
	}
	reader_close(reader);
	if (r < 0) {
		symbols_free(*ret);
		*ret = NULL;
	}
	return r;
}

uint32_t folded_callstack(struct stacks *folded, uint32_t within, struct symbols *symbols,
			  const struct callstack *stack, uint64_t ts)
{
	char text[CALLSTACK_TEXT];

	VEC_EACH(&stack->frames, frame) {
		within = folded_frame(folded, within,
				      callstack_name(symbols, stack->pid, ts, frame->address,
						     frame->space, text));
	}
	return within;
}

/* ---- threads ---- */

static void set_sampled(struct sampled_thread *thread, int64_t tid, const struct value *name)
{
	thread->tid = tid;
	thread->name[0] = '\0';
	if (name) {
		trace_name(thread->name, name);
	}
}

/* The thread that a switch leaves, or (@is_next) goes to; false: it does not say. */
static bool thread_of_switch(const struct reader_event *event, bool is_next,
			     struct sampled_thread *ret)
{
	unsigned int tid = is_next ? NEXT_TID : PREV_TID, comm = is_next ? NEXT_COMM : PREV_COMM;

	if (!reader_has(event, tid)) {
		return false;
	}
	set_sampled(ret, event->values[tid].i,
		    reader_has(event, comm) ? &event->values[comm] : NULL);
	return true;
}

static struct sampled_thread sampled_thread_of(const struct folded_samples *samples,
					       const struct reader_event *event)
{
	struct sampled_thread thread, *running, on = { .tid = -1 };
	const struct callstack *stack = &samples->stack;
	struct reader_event as;

	if (reader_as(event, SWITCH, &as) && thread_of_switch(&as, false, &thread)) {
		return thread;
	}
	running = threads_of_cpus_get(&samples->running, event->cpu);
	if (running) {
		on = *running;
	}
	if (stack->tid < 0) {
		return on;
	}
	set_sampled(&thread, stack->tid, stack->name);
	return thread.name[0] || on.tid != thread.tid ? thread : on;
}

/* ---- events ---- */

static void take_stack(struct folded_samples *samples, const struct reader_event *event,
		       const struct reader_event *as)
{
	const struct sampled_thread thread = sampled_thread_of(samples, event);
	uint32_t frame = folded_frame(samples->folded, 0, event->class->class->name);
	char name[NAME_BYTES] = "[thread not known]";

	if (thread.tid >= 0) {
		(void)snprintf(name, sizeof(name), "%s (%lld)",
			       thread.name[0] ? thread.name : "thread", (long long)thread.tid);
	}
	frame = folded_frame(samples->folded, frame, name);
	frame = folded_callstack(samples->folded, frame, samples->symbols, &samples->stack, as->ts);
	folded_add(samples->folded, frame, 1);
}

static void forget_running(struct folded_samples *samples, const struct reader_event *loss)
{
	if (loss->is_hole || loss->cpu == UINT64_MAX) {
		threads_of_cpus_clear(&samples->running);
	} else {
		(void)threads_of_cpus_drop(&samples->running, loss->cpu);
	}
}

static void put_initial_threads(struct folded_samples *samples, uint64_t ts)
{
	const struct cpu_initial *first;

	while ((first = timeline_initial_next(samples->initial, &samples->initial_put, ts))) {
		set_sampled(threads_of_cpus_put(&samples->running, first->cpu, NULL), first->tid,
			    NULL);
	}
}

static void take_sampled(struct folded_samples *samples, const struct reader_event *event,
			 bool is_wanted)
{
	struct sampled_thread next;
	struct reader_event as;

	put_initial_threads(samples, event->ts);

	if (!event->class) {
		forget_running(samples, event);
		return;
	}
	if (is_wanted && reader_as(event, STACK, &as) &&
	    callstack_read(&samples->stack, as.class, as.binding, as.values)) {
		take_stack(samples, event, &as);
	}
	if (event->cpu != UINT64_MAX && reader_as(event, SWITCH, &as) &&
	    thread_of_switch(&as, true, &next)) {
		*threads_of_cpus_put(&samples->running, event->cpu, NULL) = next;
	}
}

int folded_take_samples(struct stacks *folded, const struct folded_trace *trace, struct err *err)
{
	const struct reader_setup quiet = { .path = trace->setup->path };
	struct timeline *initial = timeline_build_initial(&quiet, err);
	struct folded_samples samples = { .folded = folded, .initial = initial };
	struct trace_export range = {
		.setup = trace->setup, .begin = trace->begin, .end = trace->end, .stop = trace->stop
	};
	struct reader *reader = reader_open(trace->setup, requests, ARRAY_COUNT(requests), err);
	int r = reader && initial ? folded_symbols(trace, &samples.symbols, err) : -EINVAL;
	struct reader_event event;

	if (r == 0) {
		symbols_of_kernel(samples.symbols, trace->kernel, reader_plan(reader)->metadata);
	}
	while (r == 0 && trace_next(&range, reader, &event)) {
		take_sampled(&samples, &event, event.ts >= range.begin);
	}
	if (r == 0) {
		symbols_say_faults(samples.symbols, trace->setup->warn, trace->setup->user);
	}
	symbols_free(samples.symbols);
	threads_of_cpus_fini(&samples.running);
	callstack_fini(&samples.stack);
	timeline_free(initial);
	reader_close(reader);
	return r;
}
