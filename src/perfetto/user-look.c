/*
 * user-look: the first pass of user-spans.h.  It reads nothing but what is asked for.
 */
#include <errno.h>

#include "perfetto/trace.h"
#include "perfetto/user-spans.h"
#include "symbols/symbols.h"

static void take_image(struct user_spans *spans, size_t request, const struct reader_event *event)
{
	struct symbols_event image;

	if (symbols_read(request, event->binding->present, event->values, event->ts, &image)) {
		symbols_take(user_spans_symbols(spans), &image);
	}
}

/* What the event says of where programs are, in any time. */
static void take_symbols(struct user_spans *spans, const struct reader_event *event)
{
	struct reader_event as;

	for (size_t i = 0; event->class->binding_count > 1 && i < symbols_request_count; i++) {
		if (reader_as(event, user_spans_request_count + i, &as)) {
			take_image(spans, i, &as);
		}
	}
}

/* A process is called as its first thread, or as the state dump says. */
static void take_process_names(struct user_spans *spans, const struct reader_event *event)
{
	int64_t pid = reader_i64(event, SPAN_VPID, -1);
	struct reader_event dump;

	if (reader_as(event, SPAN_STATEDUMP, &dump) && reader_has(&dump, 0)) {
		user_spans_name(spans, (int32_t)pid, &dump.values[0]);
	}
	if (pid >= 0 && reader_has(event, SPAN_PROCNAME) &&
	    reader_i64(event, SPAN_VTID, -1) == pid) {
		user_spans_name(spans, (int32_t)pid, &event->values[SPAN_PROCNAME]);
	}
}

static void look_at_event(struct user_spans *spans, const struct reader_event *event)
{
	struct span_step step;

	if (!event->class) {
		user_spans_forget(spans, NULL, NULL);
		return;
	}
	user_spans_take(spans, event, &step);
	if (step.role == SPAN_ENDS) {
		user_spans_drop(spans, step.span);
	}
}

int user_spans_look(struct user_spans *spans, const struct trace_export *range, struct err *err)
{
	const struct reader_setup quiet = { .path = range->setup->path };
	VEC(struct plan_request) requests = { 0 };
	struct trace_export first = *range;
	struct reader_event event;
	struct reader *reader;

	vec_append(&requests, user_spans_requests, user_spans_request_count);
	vec_append(&requests, symbols_requests, symbols_request_count);
	reader = reader_open(&quiet, requests.at, requests.count, err);
	while (reader && trace_next(&first, reader, &event)) {
		if (event.class) {
			take_symbols(spans, &event);
			take_process_names(spans, &event);
		}
		if (event.ts >= range->begin) {
			look_at_event(spans, &event);
		}
	}
	user_spans_looked(spans);
	reader_close(reader);
	vec_fini(&requests);
	return reader ? 0 : -EINVAL;
}
