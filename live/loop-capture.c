/*
 * hub-capture: what the hub has to do with captures.
 */
#include <string.h>

#include "base/limits.h"
#include "base/units.h"
#include "engine/trace.h"
#include "live/capture/capture-write.h"
#include "live/capture/captures.h"
#include "live/control.h"
#include "live/loop-state.h"
#include "live/trigger/trigger.h"

void loop_on_retained(void *user, const char *stream, struct retained *retained)
{
	struct live_trace *trace = user;
	struct loop *loop = session_owner_user(trace->session);
	int failed =
		loop->config->engine.store ? retained_file_failed(loop->config->engine.store) : 0;

	if (failed != 0) {
		loop->config->say(
			"--history-dir: cannot be written to (%s): packets stay in memory",
			strerror(failed));
	}
	if (trace->history) {
		history_add(trace->history, stream, retained, trace_closed_until(trace->trace));
	} else {
		retained_unref(retained);
	}
}

void loop_on_capture(void *context, const struct trace_identity *identity,
		     const struct trigger_event *event, bool reports)
{
	struct live_trace *trace = context;
	struct loop *loop = session_owner_user(trace->session);

	captures_begin(loop->config->captures, trace->session, event->end,
		       &(struct captures_reason){
			       .trace = identity, .event = event, .wants_report = reports });
}

static void say_captured(struct loop *loop, const struct capture_order *order)
{
	char bytes[UNITS_TEXT_MAX];

	if (!order->path) {
		loop->config->say("%s/%s: could not be captured: %s", order->host, order->session,
				  order->err.text);
	} else if (loop->config->verbosity >= 0) {
		loop->config->say(
			"%s/%s: captured %s%s into %s; look at it with: sillage %s %s", order->host,
			order->session, units_bytes(bytes, order->bytes),
			order->is_complete ? "" : " (some is missing, see its capture.json)",
			order->path, order->has_kernel ? "report" : "analyze", order->path);
	}
	output_capture(loop->config->output, order);
	control_captured(loop->control, order);
	loop_check_output(loop);
}

void loop_step_captures(struct loop *loop, bool wait)
{
	struct capture_order *order;

	if (!loop->config->captures) {
		return;
	}
	captures_step(loop->config->captures);
	while ((order = captures_done(loop->config->captures, wait))) {
		say_captured(loop, order);
		capture_order_free(order);
	}
}

void loop_on_finished(void *user, struct session *session)
{
	struct loop *loop = user;

	if (loop->config->captures) {
		captures_session_ends(loop->config->captures, session);
	}
}

/* Now, of everything that is followed. */
size_t loop_capture_now(void *user, uint64_t *ret_numbers, size_t most)
{
	struct loop *loop = user;
	size_t count = 0;

	for (size_t r = 0; r < loop->relays.count; r++) {
		for (size_t i = 0; i < loop->relays.at[r]->sessions.count && count < most; i++) {
			struct session *session = loop->relays.at[r]->sessions.at[i];
			uint64_t now = session_now(session);

			if (now > 0) {
				ret_numbers[count++] =
					captures_begin(loop->config->captures, session, now, NULL);
			}
		}
	}
	return count;
}

void loop_on_capture_signal(evutil_socket_t number, short what, void *arg)
{
	struct loop *loop = arg;
	uint64_t numbers[CONTROL_CAPTURES_MAX];

	(void)number;
	(void)what;
	if (!loop->config->captures) {
		loop->config->say("nothing is captured: there is no --history");
	} else if (loop_capture_now(loop, numbers, CONTROL_CAPTURES_MAX) == 0) {
		loop->config->say("there is nothing to capture: no session is followed");
	}
}
