/*
 * loop-capture: connects captures with sessions, triggers, signals and the control socket.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/shell.h"
#include "base/units.h"
#include "capture/capture-write.h"
#include "capture/captures.h"
#include "engine/trace.h"
#include "live/loop-state.h"
#include "query/period.h"
#include "trigger/trigger.h"

void loop_on_retained(void *user, const char *stream, struct retained *retained)
{
	struct live_trace *trace = user;
	struct loop *loop = session_owner_user(trace->session);
	int failed =
		loop->config->engine.store ? retained_file_failed(loop->config->engine.store) : 0;

	if (failed != 0) {
		loop_say(loop, "--history-dir: cannot write (%s): packets stay in memory",
			 strerror(failed));
	}
	if (trace->history) {
		history_add(trace->history, stream, retained, trace_closed_until(trace->trace));
	} else {
		retained_unref(retained);
	}
}

void loop_on_recalled(void *user, struct live_trace *trace, const char *stream,
		      struct retained *retained)
{
	const struct loop *loop = user;

	if (loop->config->engine.store) {
		retained_spill(retained, loop->config->engine.store);
	}
	loop_on_retained(trace, stream, retained);
}

/* Captures begin before what is kept: the relay's disk has it, of the session and of those that are
 * one with it. */
static void recall(struct loop *loop, struct session *session,
		   const struct captures_session *described)
{
	uint64_t begin, end;
	bool is_awaited = captures_awaited(loop->config->captures, described->key, &begin, &end);

	for (size_t r = 0; loop->config->recalls && r < loop->relays.count; r++) {
		VEC_EACH_OF(&loop->relays.at[r]->sessions, other) {
			if (session_one(other) != described->key) {
				continue;
			}
			if (is_awaited &&
			    (other == session || session_state(other) == SESSION_RUNNING)) {
				session_recall(other, begin, end);
			} else if (!is_awaited && session_recalls(other)) {
				session_recall_end(other);
			}
		}
	}
}

/* Adds what a session has of it. */
static void describe_one(const struct session *session, struct captures_session *described)
{
	size_t count;
	struct live_trace *const *traces = session_traces(session, &count);

	described->recalls |= session_recalls(session) && !session_has_recalled(session) &&
			      session_state(session) != SESSION_READ &&
			      session_state(session) != SESSION_ENDED;
	for (size_t i = 0; i < count; i++) {
		const struct live_trace *trace = traces[i];
		bool is_followed = trace->trace && !trace->is_away && !trace->has_failed;

		if (trace->history) {
			*vec_push(&described->traces) = (struct captures_trace){
				.history = trace->history,
				.path = trace->identity.path,
				.is_kernel = trace->identity.domain &&
					     strcmp(trace->identity.domain, "kernel") == 0,
				.known_until =
					is_followed ? trace_watermark(trace->trace) : UINT64_MAX,
			};
		}
	}
}

/* Describes to captures a session with those that are one with it; to be freed with
 * vec_fini(&traces). */
static struct captures_session describe(const struct loop *loop, const struct session *session)
{
	struct captures_session described = { .key = session_one(session),
					      .host = session_listed(session)->host,
					      .name = session_listed(session)->name };

	describe_one(session, &described);
	for (size_t r = 0; r < loop->relays.count; r++) {
		VEC_EACH_OF(&loop->relays.at[r]->sessions, other) {
			if (other != session && session_one(other) == described.key) {
				describe_one(other, &described);
			}
		}
	}
	return described;
}

/* Whether none before it is one with it: a capture is of all of them. */
static bool is_first_of_one(const struct loop *loop, const struct session *session)
{
	for (size_t r = 0; r < loop->relays.count; r++) {
		VEC_EACH_OF(&loop->relays.at[r]->sessions, other) {
			if (session_one(other) == session_one(session)) {
				return other == session;
			}
		}
	}
	return true;
}

static uint64_t begin_capture(struct loop *loop, struct session *session, uint64_t at,
			      const struct captures_reason *reason)
{
	struct captures_session described = describe(loop, session);
	uint64_t number = captures_begin(loop->config->captures, &described, at, reason);

	assert(loop->config->captures);
	recall(loop, session, &described);
	vec_fini(&described.traces);
	return number;
}

static void step_session(struct loop *loop, struct session *session, bool is_ending)
{
	struct captures_session described = describe(loop, session);

	assert(loop->config->captures);
	if (session_recalls(session) && (is_ending || session_has_recalled(session))) {
		session_recall_note_gone(session);
	}
	captures_step(loop->config->captures, &described, is_ending);
	recall(loop, session, &described);
	vec_fini(&described.traces);
}

/* Where the output is a file, perhaps /dev/null, the journal has a line all the same. */
void loop_on_fired(void *context, const struct trace_identity *identity,
		   const struct trigger_event *event)
{
	struct live_trace *trace = context;
	struct loop *loop = session_owner_user(trace->session);
	char says[1024], *name;

	if (loop->config->output->path) {
		notice_trigger_text(event, says, sizeof(says));
		name = output_trace_text(identity, false);
		loop->config->say("trigger %s fired in %s: %s", event->name, name, says);
		free(name);
	}
}

/* Whether the value is of one of these lists ("jobs."), in a row of this name, and perhaps what
 * divides it. */
static bool is_row_of(const struct trigger_value *value, const char *lists, const char *name)
{
	size_t len = strlen(name);

	return strncmp(value->figure, lists, strlen(lists)) == 0 &&
	       strncmp(value->row, name, len) == 0 &&
	       (value->row[len] == '\0' || value->row[len] == ' ');
}

/* What the row is of, as --job has it: a job, or what may be one, too; from malloc(), NULL: none.
 */
static char *job_of(const struct period_set *asked, const struct trigger_value *value)
{
	char *job = NULL;

	VEC_EACH_OF(&asked->jobs, one) {
		if (is_row_of(value, "jobs.", one->name)) {
			return mem_strdup(one->text);
		}
	}
	for (size_t i = 0; !job && i < period_set_measures(asked); i++) {
		const struct period *one = period_set_measure(asked, i);

		if (is_row_of(value, one->is_call ? "calls." : "periods.", one->name)) {
			job = period_as_job(one);
		}
	}
	return job;
}

/* The same of what the event is about: that of a row, or the first job, of which a thread may be,
 * or all. */
static char *executed(const struct period_set *asked, const struct trigger_event *event)
{
	const struct job_spec *first = asked ? period_set_first_job(asked) : NULL;
	bool is_of_jobs = false;
	char *job = NULL;

	for (size_t i = 0; asked && !job && i < event->count; i++) {
		job = job_of(asked, &event->values[i]);
		is_of_jobs |= strncmp(event->values[i].figure, "jobs.", 5) == 0;
	}
	return !job && is_of_jobs && first ? mem_strdup(first->text) : job;
}

void loop_on_capture(void *context, const struct trace_identity *identity,
		     const struct trigger_event *event, unsigned int extras)
{
	struct live_trace *trace = context;
	struct loop *loop = session_owner_user(trace->session);
	char *line = NULL, *job = executed(loop->config->engine.periods, event);
	size_t len = 0;
	FILE *out = open_memstream(&line, &len);

	json_trigger(out, identity, event);
	(void)fclose(out);
	line[strcspn(line, "\n")] = '\0';
	(void)begin_capture(
		loop, trace->session, event->end,
		&(struct captures_reason){
			.name = event->name, .json = line, .extras = extras, .job = job });
	free(line);
	free(job);
}

/* What was wanted of it and is not there. */
static void say_lacking(const struct loop *loop, const struct capture_order *order)
{
	unsigned int lacks = order->extras & ~order->has_extras;

	if ((lacks & CAPTURE_REPORT) && !(order->has_extras & CAPTURE_SPANS)) {
		loop->config->say(
			"%s/%s: no report of this capture: %s", order->host, order->session,
			order->has_kernel ? "it has nothing that could be explained"
			: order->has_spans
				? "its periods and jobs are not in it"
				: "only a trace of the kernel says what threads wait for, "
				  "and no period or job was measured");
	}
	if (lacks & CAPTURE_PERFETTO) {
		loop_say(loop,
			 "%s/%s: no file for Perfetto of this capture: it has nothing "
			 "that could be drawn",
			 order->host, order->session);
	}
}

static void say_captured(struct loop *loop, const struct capture_order *order)
{
	const struct capture_result result = capture_order_result(order);
	char bytes[UNITS_TEXT_MAX], *path;

	if (loop->config->on_captured) {
		loop->config->on_captured(loop->config->input_user, order);
		return;
	}
	if (!order->path) {
		loop_say(loop, "%s/%s: could not be captured: %s", order->host, order->session,
			 order->err.text);
	} else {
		path = shell_path(order->path);
		loop->config->say(
			"%s/%s: captured %s%s into %s; look at it with: sillage %s%s%s %s",
			order->host, order->session, units_bytes(bytes, order->bytes),
			order->is_complete ? "" : " (some is missing: see its capture.json)", path,
			order->has_kernel ? "report" : "analyze",
			order->has_kernel || !order->asked ? "" : " ",
			order->has_kernel || !order->asked ? "" : order->asked, path);
		free(path);
		say_lacking(loop, order);
	}
	output_capture(loop->config->output, &result);
	loop_check_output(loop);
}

void loop_step_captures(struct loop *loop, bool wait)
{
	struct capture_order *order;

	if (!loop->config->captures) {
		return;
	}
	for (size_t r = 0; r < loop->relays.count; r++) {
		for (size_t i = 0; i < loop->relays.at[r]->sessions.count; i++) {
			step_session(loop, loop->relays.at[r]->sessions.at[i], false);
		}
	}
	while ((order = captures_done(loop->config->captures, wait))) {
		say_captured(loop, order);
		capture_order_free(order);
	}
}

void loop_on_finished(void *user, struct session *session)
{
	struct loop *loop = user;

	if (loop->config->captures) {
		step_session(loop, session, true);
	}
}

size_t loop_capture_now(void *user, uint64_t *ret_numbers, size_t most)
{
	struct loop *loop = user;
	size_t count = 0;

	for (size_t r = 0; r < loop->relays.count; r++) {
		for (size_t i = 0; i < loop->relays.at[r]->sessions.count && count < most; i++) {
			struct session *session = loop->relays.at[r]->sessions.at[i];
			uint64_t now = session_now(session);

			if (now > 0 && is_first_of_one(loop, session)) {
				ret_numbers[count++] = begin_capture(loop, session, now, NULL);
			}
		}
	}
	return count;
}

static bool has_kernel(const struct captures_session *described)
{
	for (size_t i = 0; i < described->traces.count; i++) {
		if (described->traces.at[i].is_kernel) {
			return true;
		}
	}
	return false;
}

bool loop_capture(struct loop *loop, const char *host, const char *name)
{
	bool has_begun = false;

	for (size_t r = 0; r < loop->relays.count; r++) {
		for (size_t i = 0; i < loop->relays.at[r]->sessions.count; i++) {
			struct session *session = loop->relays.at[r]->sessions.at[i];
			struct captures_session described = describe(loop, session);

			if (is_first_of_one(loop, session) && strcmp(described.host, host) == 0 &&
			    strcmp(described.name, name) == 0 && has_kernel(&described) &&
			    session_now(session) > 0) {
				(void)begin_capture(loop, session, session_now(session), NULL);
				has_begun = true;
			}
			vec_fini(&described.traces);
		}
	}
	return has_begun;
}

void loop_on_capture_signal(evutil_socket_t number, short what, void *arg)
{
	struct loop *loop = arg;
	uint64_t numbers[CONTROL_CAPTURES_MAX];

	if (!loop->config->captures) {
		loop->config->say("nothing is captured: neither --history nor --before is given");
	} else if (loop_capture_now(loop, numbers, CONTROL_CAPTURES_MAX) == 0) {
		loop->config->say("there is nothing to capture: no session is followed");
	}
}
