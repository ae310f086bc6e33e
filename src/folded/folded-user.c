/*
 * folded-user: time in calls of programs and in none of their inner ones, by thread.
 *
 *     shop (12);worker (14);shop:request;shop:query 4000000
 *
 * Calls are those of `-a calls`.  One that overlaps others of its thread has a stack of its own,
 * with all its time: it does not take the thread's.  Open calls count up to the end, or to a loss.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "folded/folded.h"
#include "perfetto/trace.h"
#include "perfetto/user-spans.h"
#include "symbols/symbols.h"

#define NAME_BYTES 96

struct folded_user {
	struct stacks *folded;
	struct user_spans *spans;
	uint64_t ts; /* where open calls end */
};

/* The frame of the thread, within that of its process. */
static uint32_t base_frame(const struct folded_user *user, const struct span_thread *thread,
			   const struct reader_event *event)
{
	const char *process = user_spans_process(user->spans, thread->pid);
	char name[NAME_BYTES], of[PERFETTO_NAME] = "thread";
	uint32_t frame = 0;

	if (thread->pid >= 0) {
		(void)snprintf(name, sizeof(name), "%s (%d)", process ? process : "process",
			       (int)thread->pid);
		frame = folded_frame(user->folded, frame, name);
	}
	if (thread->tid < 0) {
		return folded_frame(user->folded, frame, "[threads not known]");
	}
	if (reader_has(event, SPAN_PROCNAME)) {
		trace_name(of, &event->values[SPAN_PROCNAME]);
	}
	(void)snprintf(name, sizeof(name), "%s (%d)", of, (int)thread->tid);
	return folded_frame(user->folded, frame, name);
}

/* The frame of the innermost call that nests; of none: the thread's. */
static uint32_t current_frame(const struct span_thread *thread)
{
	for (size_t i = thread->open.count; i-- > 0;) {
		if (!user_spans_are_apart(thread->open.at[i])) {
			return (uint32_t)thread->open.at[i]->track;
		}
	}
	return (uint32_t)thread->track;
}

/* The thread was in its innermost call until now. */
static void add_self_time(const struct folded_user *user, struct span_thread *thread, uint64_t ts)
{
	uint32_t frame = current_frame(thread);

	assert(ts >= thread->since);
	if (frame != (uint32_t)thread->track) {
		folded_add(user->folded, frame, ts - thread->since);
	}
	thread->since = ts;
}

static void fold_end(const struct folded_user *user, struct user_span *span, uint64_t ts)
{
	struct span_thread *thread = span->thread;

	if (user_spans_are_apart(span)) {
		folded_add(user->folded, (uint32_t)span->track, ts - span->begin);
	} else {
		add_self_time(user, thread, ts);
		for (size_t i = thread->open.count; i-- > 0 && thread->open.at[i] != span;) {
			if (!user_spans_are_apart(thread->open.at[i])) {
				user_spans_drop(user->spans, thread->open.at[i]);
			}
		}
	}
	user_spans_drop(user->spans, span);
}

static void take(const struct folded_user *user, const struct reader_event *event)
{
	struct span_thread *thread = user_spans_thread(user->spans, event);
	struct span_step step;
	uint32_t frame;

	if (thread->track == 0) {
		thread->track = base_frame(user, thread, event);
	}
	add_self_time(user, thread, event->ts);
	frame = current_frame(thread);
	user_spans_take(user->spans, event, &step);
	if (step.role == SPAN_BEGINS) {
		frame = user_spans_are_apart(step.span) ? (uint32_t)thread->track : frame;
		step.span->track = folded_frame(user->folded, frame, step.name);
	} else if (step.role == SPAN_ENDS) {
		fold_end(user, step.span, event->ts);
	}
}

static void cut_call(void *user_, struct user_span *span)
{
	struct folded_user *user = user_;

	if (user_spans_are_apart(span)) {
		folded_add(user->folded, (uint32_t)span->track, user->ts - span->begin);
	} else {
		add_self_time(user, span->thread, user->ts);
	}
}

int folded_take_user(struct stacks *folded, const struct folded_trace *trace, struct err *err)
{
	struct symbols *symbols = symbols_new();
	struct trace_export range = {
		.setup = trace->setup, .begin = trace->begin, .end = trace->end, .stop = trace->stop
	};
	struct reader *reader =
		reader_open(trace->setup, user_spans_requests, user_spans_request_count, err);
	struct folded_user user = { .folded = folded };
	struct reader_event event;
	int r = -EINVAL;

	if (reader) {
		symbols_of_kernel(symbols, trace->kernel, reader_plan(reader)->metadata);
		user.spans = user_spans_new(reader_plan(reader), symbols);
		r = user_spans_look(user.spans, &range, err);
	}
	while (r == 0 && trace_next(&range, reader, &event)) {
		user.ts = event.ts;
		if (event.ts >= range.begin && event.class) {
			take(&user, &event);
		} else if (event.ts >= range.begin) {
			user_spans_forget(user.spans, cut_call, &user);
		}
	}
	if (reader) {
		user_spans_forget(user.spans, cut_call, &user);
		user_spans_free(user.spans);
	}
	reader_close(reader);
	symbols_free(symbols);
	return r;
}
