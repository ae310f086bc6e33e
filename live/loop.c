/*
 * loop: see loop.h.
 */
#include "live/loop.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "base/process/service.h"
#include "capture/captures.h"
#include "engine/exchange/checkpoint-file.h"
#include "live/control.h"
#include "live/loop-signals.h"
#include "live/loop-state.h"
#include "live/metrics-server.h"
#include "live/metrics/metrics.h"
#include "live/session/turn.h"
#include "live/web/web.h"
#include "query/period.h"
#include "rollup/rollup.h"
#include "server/access.h"
#include "server/repeat.h"
#include "trigger/actions.h"
#include "trigger/flow.h"

/* ---- lines for people ---- */

/* How many lines of a kind a minute may have. */
static size_t lines_max(const struct loop *loop)
{
	size_t sessions = 0;

	for (size_t r = 0; r < loop->relays.count; r++) {
		sessions += 1 + loop->relays.at[r]->sessions.count;
	}
	return loop->config->verbosity > 0       ? SIZE_MAX
	       : sessions <= REPEAT_FEW_SESSIONS ? REPEAT_LINES_MAX
						 : 1;
}

static void say_kind(const struct loop *loop, const char *kind, const char *text)
{
	assert(kind[0] != '\0' && text[0] != '\0');
	repeat_say_kind(kind, lines_max(loop), text);
}

void loop_say(const struct loop *loop, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	assert(strchr(fmt, '%')); /* a kind, and not a name */
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	say_kind(loop, fmt, text);
}

/* ---- output ---- */

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct live_trace *trace = user;
	struct loop *loop = session_owner_user(trace->session);
	char text[1024];

	if (loop->config->verbosity >= 0) {
		(void)snprintf(text, sizeof(text), "%s/%s: %s", trace->identity.host,
			       trace->identity.session, warning->message);
		say_kind(loop, warning->what, text);
	}
	output_warning(loop->config->output, &trace->identity, warning);
	loop_check_output(loop);
}

/* ---- names ---- */

static void warn_of_name(void *user, const char *text)
{
	struct engine_warning warning = { .what = "names", .packet = -1 };

	(void)snprintf(warning.message, sizeof(warning.message), "%s", text);
	on_warning(user, &warning);
}

/* Once a trace has a window, most of the others are attached, too. */
static void check_names(struct loop *loop, struct live_trace *trace)
{
	VEC(const struct metadata *) all = { 0 };

	if (!loop->config->check_names || trace->has_window) {
		return;
	}
	trace->has_window = true;
	for (size_t r = 0; r < loop->relays.count; r++) {
		for (size_t i = 0; i < loop->relays.at[r]->sessions.count; i++) {
			struct live_trace *const *traces;
			size_t count;

			traces = session_traces(loop->relays.at[r]->sessions.at[i], &count);
			for (size_t t = 0; t < count; t++) {
				const struct plan *plan =
					traces[t]->trace ? trace_plan(traces[t]->trace) : NULL;

				if (plan && traces[t]->part == 0) {
					*vec_push(&all) = plan->metadata;
				}
			}
		}
	}
	loop->config->check_names(loop->config->names_user, all.at, all.count, warn_of_name, trace);
	vec_fini(&all);
}

/* ---- reports ---- */

static void note_store(struct loop *loop)
{
	struct loop_store_windows windows;

	if (loop->config->store && loop->metrics) {
		loop->config->on_store(loop->config->store, &windows);
		metrics_own_set(loop->metrics, METRICS_STORE_WINDOWS, "closed", windows.closed);
		metrics_own_set(loop->metrics, METRICS_STORE_WINDOWS, "stored", windows.stored);
		metrics_own_set(loop->metrics, METRICS_STORE_WINDOWS, "spooled", windows.spooled);
		metrics_own_set(loop->metrics, METRICS_STORE_WINDOWS, "lost", windows.lost);
	}
}

static void on_shown(void *user, const struct report *report)
{
	struct live_trace *trace = user;
	struct loop *loop = session_owner_user(trace->session);

	note_store(loop);
	if (report->kind == REPORT_WINDOW && ++loop->windows == loop->config->windows) {
		loop_stop(loop);
	}
}

static void on_report(void *user, const struct report *report)
{
	struct live_trace *trace = user;
	struct loop *loop = session_owner_user(trace->session);
	const struct loop_config *config = loop->config;

	if (config->engine.shown_interval_ns != config->engine.interval_ns && !trace->rollup) {
		trace->rollup = rollup_new(config->engine.shown_interval_ns, config->engine.top,
					   config->engine.selection, config->engine.wants_places);
	}
	if (report->kind == REPORT_WINDOW) {
		check_names(loop, trace);
	}
	if (config->actions) {
		loop_restore_triggers(loop, trace);
	}
	flow_report(&(struct flow){ .trace = &trace->identity,
				    .output = config->output,
				    .actions = config->actions,
				    .rollup = trace->rollup,
				    .phases = trace->phases,
				    .hides_windows =
					    config->windows > 0 && loop->windows >= config->windows,
				    .on_shown = on_shown,
				    .user = trace },
		    report);
	loop_check_output(loop);
	if (report->has_lag && report->lag_ns > 0) {
		session_lags(trace->session, (uint64_t)report->lag_ns);
	}
}

static void on_attach(void *user, const struct trace_identity *trace, bool is_attach,
		      const char *reason)
{
	struct loop *loop = user;

	if (is_attach && loop->config->verbosity >= 0) {
		loop_say(loop, "%s/%s: attached to %s", trace->host, trace->session,
			 trace->path ? trace->path : "its trace");
	}
	output_attach(loop->config->output, trace, is_attach, reason);
	loop_check_output(loop);
}

static void on_say(void *user, int verbosity, const char *kind, const char *text)
{
	struct loop *loop = user;

	if (loop->config->verbosity >= verbosity) {
		say_kind(loop, kind, text);
	}
}

static void finish_all(struct loop *loop)
{
	session_joins_step(loop->joins, true);
	for (unsigned int parts = 0; parts < 2;
	     parts++) { /* those that are joined to others first */
		for (size_t r = 0; r < loop->relays.count; r++) {
			VEC_EACH_OF(&loop->relays.at[r]->sessions, session) {
				if (session_has_parts(session) == parts) {
					session_finish(session, "stopped", false);
				}
			}
		}
	}
}

/* ---- loop events ---- */

static void on_progress(void *user)
{
	struct loop *loop = user;
	struct timeval now = { 0 };

	(void)event_add(loop->step_event, &now); /* one step for all events of this turn */
}

/* What does not fit into this turn goes on in the next one. */
static void step_engine(struct loop *loop)
{
	engine_step(loop->engine, false, now_wall_ns());
	if (loop->config->captures) {
		history_give_way(captures_history(loop->config->captures));
	}
	if (engine_has_more(loop->engine)) {
		on_progress(loop);
	}
}

static void step(struct loop *loop)
{
	step_engine(loop);
	for (size_t r = 0; r < loop->relays.count && !loop->is_stopping; r++) {
		for (size_t i = 0; i < loop->relays.at[r]->sessions.count; i++) {
			session_tick_starved(loop->relays.at[r]->sessions.at[i]);
		}
	}
}

static void on_engine(evutil_socket_t fd, short what, void *arg)
{
	step(arg);
}

/* Runs periodically, too: windows of idle traces close by time, and captures and commands of
 * triggers end on their own. */
static void on_step(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	bool has_triggers = loop->config->actions || loop->config->captures;
	struct timeval again = { .tv_usec = has_triggers ? 100000 : 500000 };

	if (loop->engine_event) {
		step_engine(loop);
	} else {
		step(loop); /* without workers no event reports that room is free */
	}
	session_joins_step(loop->joins, false);
	loop_check(loop);
	repeat_look();
	if (loop->config->actions) {
		actions_poll(loop->config->actions);
	}
	loop_step_captures(loop, false);
	if (!event_pending(loop->step_event, EV_TIMEOUT, NULL)) { /* it goes on at once */
		(void)event_add(loop->step_event, &again);
	}
}

static void on_stop_signal(evutil_socket_t fd, short what, void *arg)
{
	loop_stop(arg);
}

static void on_totals_signal(evutil_socket_t number, short what, void *arg)
{
	struct loop *loop = arg;

	for (size_t r = 0; r < loop->relays.count; r++) {
		for (size_t i = 0; i < loop->relays.at[r]->sessions.count; i++) {
			session_totals_so_far(loop->relays.at[r]->sessions.at[i]);
		}
	}
	loop_check_output(loop);
}

static void on_reopen_signal(evutil_socket_t number, short what, void *arg)
{
	struct loop *loop = arg;
	struct err err;

	if (loop->access && access_read_again(loop->access, &err) < 0) {
		loop->config->say("%s: all is served as before", err.text);
	}
	if (output_reopen(loop->config->output, &loop->err) < 0) {
		loop->has_failed = true;
		loop_stop(loop);
	}
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;

	assert(loop->config->on_input);
	if (!loop->config->on_input(loop->config->input_user, loop)) {
		loop_stop(loop);
	}
}

static void add_input(struct loop *loop)
{
	loop->input_event =
		event_new(loop->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, loop);
	loop->size_event = evsignal_new(loop->base, SIGWINCH, on_input, loop);
	(void)event_add(loop->input_event, NULL);
	(void)event_add(loop->size_event, NULL);
}

/* Tells systemd that the loop is running; it restarts a service that stops telling so. */
static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
	service_notify("WATCHDOG=1");
}

static void add_watchdog(struct loop *loop)
{
	uint64_t us = service_watchdog_us();
	struct timeval half;

	if (us > 0) {
		half.tv_sec = (time_t)(us / 2 / 1000000);
		half.tv_usec = (suseconds_t)(us / 2 % 1000000);
		loop->watchdog_event = event_new(loop->base, -1, EV_PERSIST, on_watchdog, loop);
		(void)event_add(loop->watchdog_event, &half);
	}
}

static void on_duration(evutil_socket_t fd, short what, void *arg)
{
	loop_stop(arg);
}

static void add_events(struct loop *loop)
{
	static const struct {
		int number;
		event_callback_fn call;
	} signals[] = {
		{ SIGUSR1, on_totals_signal },
		{ SIGHUP, on_reopen_signal },
		{ SIGUSR2, loop_on_capture_signal },
	};
	struct timeval soon = { .tv_usec = 20000 };
	struct timeval duration = {
		.tv_sec = (time_t)(loop->config->duration_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(loop->config->duration_ns % NS_PER_S / 1000),
	};

	assert(!loop->step_event && !loop->stop_signals);
	for (size_t i = 0; i < ARRAY_COUNT(signals); i++) {
		loop->signals[i] =
			evsignal_new(loop->base, signals[i].number, signals[i].call, loop);
		(void)event_add(loop->signals[i], NULL);
	}
	loop->stop_signals = loop_signals_new(loop->base, on_stop_signal, loop);
	loop->step_event = event_new(loop->base, -1, 0, on_step, loop);
	(void)event_add(loop->step_event, &soon);
	if (engine_event_fd(loop->engine) >= 0) {
		loop->engine_event = event_new(loop->base, engine_event_fd(loop->engine),
					       EV_READ | EV_PERSIST, on_engine, loop);
		(void)event_add(loop->engine_event, NULL);
	}
	add_watchdog(loop);
	loop_start_checkpoints(loop);
	if (loop->config->on_input) {
		add_input(loop);
	}
	if (loop->config->duration_ns > 0) {
		loop->duration_event = event_new(loop->base, -1, 0, on_duration, loop);
		(void)event_add(loop->duration_event, &duration);
	}
}

static void loop_fini(struct loop *loop)
{
	struct event *events[] = { loop->engine_event, loop->step_event, loop->duration_event,
				   loop->input_event,  loop->size_event, loop->watchdog_event,
				   loop->state_event,  loop->kept_event };

	loop_free_relays(loop);
	loop_free_dumps(loop);
	loop_signals_free(loop->stop_signals);
	for (size_t i = 0; i < ARRAY_COUNT(loop->signals); i++) {
		if (loop->signals[i]) {
			event_free(loop->signals[i]);
		}
	}
	for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
		if (events[i]) {
			event_free(events[i]);
		}
	}
	engine_free(loop->engine);
	besides_fini(&loop->besides);
	session_joins_free(loop->joins);
	loop->config->output->also.count -= loop->output_count; /* they were added last */
	metrics_server_free(loop->metrics_server);
	metrics_free(loop->metrics);
	web_free(loop->web);
	access_free(loop->access);
	control_free(loop->control);
	free(loop->url_seen);
	free(loop->url_said);
	event_base_free(loop->base);
	repeat_say_to(NULL);
}

/* The server gets what the output gets, until loop_fini().  @display: what is shown of it; NULL:
 * all of it. */
static void add_output(struct loop *loop, const struct sink *sink, void *state,
		       const struct display *display)
{
	struct output *output = &loop->outputs[loop->output_count++];

	assert(loop->output_count <= ARRAY_COUNT(loop->outputs));
	*output = (struct output){ .sink = sink, .state = state, .display = display };
	*vec_push(&loop->config->output->also) = output;
}

/* Starts the servers that others may connect to. */
static int start_servers(struct loop *loop, struct err *err)
{
	const struct loop_config *config = loop->config;

	repeat_say_to(config->say);
	if (config->server_config) {
		loop->access = access_new(loop->base, config->server_config, err);
		if (!loop->access) {
			return -EIO;
		}
	}
	if (config->metrics) {
		loop->metrics =
			metrics_new(config->has_small_metrics ? METRICS_SMALL : METRICS_FULL);
		loop->metrics_server =
			metrics_server_new(loop->base, config->metrics, loop->access, loop->metrics,
					   engine_account(loop->engine), err);
		if (!loop->metrics_server) {
			return -EIO;
		}
		add_output(loop, &sink_metrics, loop->metrics, NULL);
		metrics_own_add(loop->metrics, METRICS_CAPTURES_WRITTEN, "", 0);
		metrics_own_add(loop->metrics, METRICS_CAPTURES_FAILED, "", 0);
		for (size_t i = 0; config->actions && i < actions_count(config->actions); i++) {
			metrics_own_add(loop->metrics, METRICS_TRIGGERS_FIRED,
					trigger_name(actions_trigger(config->actions, i)), 0);
		}
	}
	if (config->web) {
		const struct web_config web = { .address = config->web,
						.access = loop->access,
						.is_insecure = config->is_insecure };

		loop->web = web_new(loop->base, &web, err);
		if (!loop->web) {
			return -EIO;
		}
		add_output(loop, &sink_web, loop->web, config->output->display);
	}
	if (config->control) {
		loop->control =
			control_new(loop->base, config->control, loop_capture_now, loop, err);
		if (!loop->control) {
			return -EIO;
		}
		add_output(loop, &sink_control, loop->control, NULL);
	}
	return 0;
}

static void set_owner(struct loop *loop)
{
	const struct loop_config *config = loop->config;

	loop->owner = (struct session_owner){
		.user = loop,
		.base = loop->base,
		.engine = loop->engine,
		.besides = &loop->besides,
		.joins = loop->joins,
		/* A resumed trace also needs what was traced since the checkpoint. */
		.from_beginning =
			config->from_beginning ||
			(config->checkpoint_file && checkpoint_file_any(config->checkpoint_file)),
		.from_ns = config->from_ns,
		.checkpoint_file = config->checkpoint_file,
		.wants_phases = config->wants_phases,
		.has_calls = config->engine.periods && config->engine.periods->calls.count > 0,
		.grace_ns = config->grace_ns,
		.lag_limit_ns = config->lag_limit_ns,
		.on_attach = on_attach,
		.on_late = loop_on_late,
		.say = on_say,
		.on_change = loop_on_session_change,
		.on_progress = on_progress,
		.find_away = loop_find_away,
		.was_read = loop_was_read,
		.history = config->captures ? captures_history(config->captures) : NULL,
		.on_recalled = loop_on_recalled,
		.on_save = loop_on_save,
		.on_finished = loop_on_finished,
	};
}

/* Without precise timers libevent's clock has steps of 4 ms: it wakes up too early, repeatedly. */
static struct event_base *new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	(void)event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int loop_run(const struct loop_config *config, struct run_summary *summary, struct err *err)
{
	struct loop loop = { .config = config };
	struct engine_config engine = config->engine;

	engine.on_report = on_report;
	engine.on_warning = on_warning;
	engine.expects_beginning = config->from_beginning;
	if (config->captures && !config->recalls) {
		engine.on_retained = loop_on_retained;
	}
	if (config->captures && config->actions) {
		actions_on_capture(config->actions, loop_on_capture);
	}
	if (config->actions) {
		actions_on_fired(config->actions, loop_on_fired);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* write() reports a file that is too large */
	loop.base = new_base();
	loop.engine = engine_new(&engine);
	loop.joins = config->joins && !config->checkpoint_file ? session_joins_new() : NULL;
	set_owner(&loop);
	loop.url_seen = mem_alloc(config->url_count + 1);
	loop.url_said = mem_alloc(config->url_count + 1);
	add_events(&loop);
	output_start(config->output); /* after add_events(): a reader of this may send signals */
	if (start_servers(&loop, err) < 0) {
		loop_fini(&loop);
		return -EIO;
	}
	for (size_t i = 0; i < config->url_count; i++) {
		loop_add_relay(&loop, &config->urls[i]);
	}
	service_notify("READY=1");
	while (!loop.is_stopping) {
		int r;

		turn_begin();
		r = event_base_loop(loop.base, EVLOOP_ONCE);
		turn_end();
		if (r != 0) {
			break;
		}
	}
	service_notify("STOPPING=1");
	finish_all(&loop);
	loop_step_captures(&loop, true);
	for (size_t r = 0; r < loop.relays.count; r++) {
		for (size_t i = 0; i < loop.relays.at[r]->sessions.count; i++) {
			session_account(loop.relays.at[r]->sessions.at[i], &loop.ended);
		}
	}
	*summary = loop.ended;
	summary->is_live = true;
	summary->turn_ns = turn_longest_ns();
	*err = loop.err;
	loop_fini(&loop);
	return loop.has_failed ? -EIO : 0;
}
