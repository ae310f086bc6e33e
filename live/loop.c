/*
 * hub: see hub.h.
 */
#include "live/loop.h"
#include "output/rollup.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/now.h"
#include "engine/exchange/checkpoint-file.h"
#include "live/capture/captures.h"
#include "live/control.h"
#include "live/loop-state.h"
#include "live/metrics-server.h"
#include "live/trigger/actions.h"

static void on_progress(void *user);

/* ---- output ---- */

void hub_stop(struct hub *hub)
{
	hub->is_stopping = true;
	(void)event_base_loopbreak(hub->base);
}

void hub_check_output(struct hub *hub)
{
	if (output_check(hub->config->output, &hub->err) < 0) {
		hub->has_failed = true;
		hub_stop(hub);
	}
}

static void show(void *user, const struct report *report)
{
	struct live_trace *trace = user;
	struct hub *hub = session_owner_user(trace->session);

	output_report(hub->config->output, &trace->identity, report);
	if (hub->metrics) {
		metrics_add(hub->metrics, &trace->identity, report);
	}
	if (report->kind == REPORT_WINDOW && ++hub->windows == hub->config->windows) {
		hub_stop(hub);
	}
}

static void on_report(void *user, const struct report *report)
{
	struct live_trace *trace = user;
	struct hub *hub = session_owner_user(trace->session);
	const struct hub_config *config = hub->config;

	if (config->engine.shown_interval_ns != config->engine.interval_ns && !trace->gather) {
		trace->gather = gather_new(config->engine.shown_interval_ns, config->engine.top,
					   config->engine.selection);
	}
	gather_report(trace->gather, report, show, trace);
	if (config->watch) {
		watch_report(config->watch, config->output, &trace->identity, report, trace);
	}
	hub_check_output(hub);
	if (report->has_lag && report->lag_ns > 0) {
		session_lags(trace->session, (uint64_t)report->lag_ns);
	}
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct live_trace *trace = user;
	struct hub *hub = session_owner_user(trace->session);

	if (hub->config->verbosity >= 0) {
		hub->config->say("%s/%s: %s", trace->identity.host, trace->identity.session,
				 warning->message);
	}
	output_warning(hub->config->output, &trace->identity, warning);
	hub_check_output(hub);
}

static void on_attach(void *user, const struct trace_identity *trace, bool is_attach,
		      const char *reason)
{
	struct hub *hub = user;

	if (is_attach && hub->config->verbosity >= 0) {
		hub->config->say("%s/%s: attached to %s", trace->host, trace->session,
				 trace->path ? trace->path : "its trace");
	}
	output_attach(hub->config->output, trace, is_attach, reason);
	hub_check_output(hub);
}

static void on_say(void *user, int verbosity, const char *text)
{
	struct hub *hub = user;

	if (hub->config->verbosity >= verbosity) {
		hub->config->say("%s", text);
	}
}

/* ---- the end ---- */

void hub_check(struct hub *hub)
{
	bool all_seen = hub->config->url_count > 0, any_left = false;

	for (size_t r = 0; r < hub->relays.count; r++) {
		struct relay *relay = hub->relays.at[r];
		size_t retained = 0;

		for (size_t i = 0; i < relay->sessions.count; i++) {
			struct session *session = relay->sessions.at[i];

			if (session_state(session) != SESSION_ENDED) {
				any_left = true;
				relay->sessions.at[retained++] = session;
				continue;
			}
			*vec_push(&relay->ended) = session_listed(session)->id;
			relay->asks_last = relay->has_listed = false;
			session_account(session, &hub->ended);
			session_free(session);
		}
		relay->sessions.count = retained;
	}
	for (size_t i = 0; i < hub->config->url_count; i++) {
		all_seen &= hub->config->urls[i].is_exact && hub->url_seen[i];
	}
	/* A session has one of each domain, kernel and user space: the other may just have come. */
	for (size_t r = 0; r < hub->relays.count && all_seen && !any_left; r++) {
		all_seen = hub_has_listed(hub->relays.at[r]);
	}
	if (all_seen && !any_left) {
		hub_stop(hub);
	}
}

static void finish_all(struct hub *hub)
{
	for (size_t r = 0; r < hub->relays.count; r++) {
		for (size_t i = 0; i < hub->relays.at[r]->sessions.count; i++) {
			session_finish(hub->relays.at[r]->sessions.at[i], "stopped", false);
		}
	}
}

/* ---- loop events ---- */

static void step(struct hub *hub)
{
	engine_step(hub->engine, false, now_wall_ns());
	for (size_t r = 0; r < hub->relays.count && !hub->is_stopping; r++) {
		for (size_t i = 0; i < hub->relays.at[r]->sessions.count; i++) {
			session_tick(hub->relays.at[r]->sessions.at[i]); /* there may be room now */
		}
	}
}

static void on_engine(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	step(arg);
}

static void on_progress(void *user)
{
	struct hub *hub = user;
	struct timeval now = { 0 };

	(void)event_add(hub->step_event, &now); /* once for all that happens in this turn */
}

/* Also from time to time: an idle trace closes windows without anything coming, and captures and
 * the commands of triggers come to an end. */
static void on_step(evutil_socket_t fd, short what, void *arg)
{
	struct hub *hub = arg;
	bool is_watched = hub->config->watch || hub->config->captures;
	struct timeval again = { .tv_usec = is_watched ? 100000 : 500000 };

	(void)fd;
	(void)what;
	if (hub->engine_event) {
		engine_step(hub->engine, false, now_wall_ns());
	} else {
		step(hub); /* there are no workers, who would tell that there is room */
	}
	hub_check(hub);
	if (hub->config->watch) {
		watch_poll(hub->config->watch);
	}
	hub_step_captures(hub, false);
	(void)event_add(hub->step_event, &again);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	hub_stop(arg);
}

static void on_totals_signal(evutil_socket_t number, short what, void *arg)
{
	struct hub *hub = arg;

	(void)number;
	(void)what;
	for (size_t r = 0; r < hub->relays.count; r++) {
		for (size_t i = 0; i < hub->relays.at[r]->sessions.count; i++) {
			session_totals_so_far(hub->relays.at[r]->sessions.at[i]);
		}
	}
	hub_check_output(hub);
}

static void on_reopen_signal(evutil_socket_t number, short what, void *arg)
{
	struct hub *hub = arg;

	(void)number;
	(void)what;
	if (output_reopen(hub->config->output, &hub->err) < 0) {
		hub->has_failed = true;
		hub_stop(hub);
	}
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
	struct hub *hub = arg;

	(void)fd;
	(void)what;
	if (!hub->config->on_input(hub->config->input_user)) {
		hub_stop(hub);
	}
}

static void add_input(struct hub *hub)
{
	hub->input_event = event_new(hub->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, hub);
	hub->size_event = evsignal_new(hub->base, SIGWINCH, on_input, hub);
	(void)event_add(hub->input_event, NULL);
	(void)event_add(hub->size_event, NULL);
}

/* The loop goes round: systemd restarts a service that does not say so. */
static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	(void)sd_notify(0, "WATCHDOG=1");
}

static void add_watchdog(struct hub *hub)
{
	struct timeval half;
	uint64_t us;

	if (sd_watchdog_enabled(0, &us) > 0) {
		half.tv_sec = (time_t)(us / 2 / 1000000);
		half.tv_usec = (suseconds_t)(us / 2 % 1000000);
		hub->watchdog_event = event_new(hub->base, -1, EV_PERSIST, on_watchdog, hub);
		(void)event_add(hub->watchdog_event, &half);
	}
}

static void on_duration(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	hub_stop(arg);
}

static void add_events(struct hub *hub)
{
	static const struct {
		int number;
		event_callback_fn call;
	} signals[] = {
		{ SIGINT, on_stop_signal },         { SIGTERM, on_stop_signal },
		{ SIGUSR1, on_totals_signal },      { SIGHUP, on_reopen_signal },
		{ SIGUSR2, hub_on_capture_signal },
	};
	struct timeval soon = { .tv_usec = 20000 };
	struct timeval duration = {
		.tv_sec = (time_t)(hub->config->duration_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(hub->config->duration_ns % NS_PER_S / 1000),
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		hub->signals[i] = evsignal_new(hub->base, signals[i].number, signals[i].call, hub);
		(void)event_add(hub->signals[i], NULL);
	}
	hub->step_event = event_new(hub->base, -1, 0, on_step, hub);
	(void)event_add(hub->step_event, &soon);
	if (engine_event_fd(hub->engine) >= 0) {
		hub->engine_event = event_new(hub->base, engine_event_fd(hub->engine),
					      EV_READ | EV_PERSIST, on_engine, hub);
		(void)event_add(hub->engine_event, NULL);
	}
	add_watchdog(hub);
	if (hub->config->on_input) {
		add_input(hub);
	}
	if (hub->config->duration_ns > 0) {
		hub->duration_event = event_new(hub->base, -1, 0, on_duration, hub);
		(void)event_add(hub->duration_event, &duration);
	}
}

static void hub_fini(struct hub *hub)
{
	struct event *events[] = { hub->engine_event, hub->step_event, hub->duration_event,
				   hub->input_event,  hub->size_event, hub->watchdog_event };

	hub_free_relays(hub);
	for (size_t i = 0; i < sizeof(hub->signals) / sizeof(hub->signals[0]); i++) {
		if (hub->signals[i]) {
			event_free(hub->signals[i]);
		}
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i]) {
			event_free(events[i]);
		}
	}
	engine_free(hub->engine);
	metrics_free(hub->metrics);
	control_free(hub->control);
	free(hub->url_seen);
	free(hub->url_said);
	event_base_free(hub->base);
}

/* What others may connect to. */
static int start_servers(struct hub *hub, struct err *err)
{
	const struct hub_config *config = hub->config;

	if (config->metrics) {
		hub->metrics = metrics_new(hub->base, config->metrics, err);
	}
	if (config->control && (hub->metrics || !config->metrics)) {
		hub->control = control_new(hub->base, config->control, hub_capture_now, hub, err);
	}
	return (config->metrics && !hub->metrics) || (config->control && !hub->control) ? -EIO : 0;
}

/* What sessions need of the hub. */
static void set_owner(struct hub *hub)
{
	const struct hub_config *config = hub->config;

	hub->owner = (struct session_owner){
		.user = hub,
		.base = hub->base,
		.engine = hub->engine,
		/* What came meanwhile is there, too. */
		.from_beginning =
			config->from_beginning ||
			(config->checkpoint_file && checkpoint_file_any(config->checkpoint_file)),
		.checkpoint_file = config->checkpoint_file,
		.grace_ns = config->grace_ns,
		.lag_limit_ns = config->lag_limit_ns,
		.on_attach = on_attach,
		.say = on_say,
		.on_change = hub_on_session_change,
		.on_progress = on_progress,
		.history = config->captures ? captures_history(config->captures) : NULL,
		.on_finished = hub_on_finished,
	};
}

/* Without precise timers libevent's clock has steps of 4 ms: it wakes up too early, several times.
 */
static struct event_base *new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	(void)event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int hub_run(const struct hub_config *config, struct run_summary *summary, struct err *err)
{
	struct hub hub = { .config = config };
	struct engine_config engine = config->engine;

	engine.on_report = on_report;
	engine.on_warning = on_warning;
	engine.expects_beginning = config->from_beginning;
	if (config->captures) {
		engine.on_retained = loop_on_retained;
	}
	if (config->captures && config->watch) {
		watch_on_capture(config->watch, hub_on_capture);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a file too large is an error of write() */
	hub.base = new_base();
	hub.engine = engine_new(&engine);
	set_owner(&hub);
	hub.url_seen = mem_alloc(config->url_count + 1);
	hub.url_said = mem_alloc(config->url_count + 1);
	add_events(&hub);
	output_start(config->output); /* who reads that may send signals */
	if (start_servers(&hub, err) < 0) {
		hub_fini(&hub);
		return -EIO;
	}
	for (size_t i = 0; i < config->url_count; i++) {
		hub_add_relay(&hub, &config->urls[i]);
	}
	(void)sd_notify(0, "READY=1");
	(void)event_base_dispatch(hub.base);
	(void)sd_notify(0, "STOPPING=1");
	finish_all(&hub);
	hub_step_captures(&hub, true);
	for (size_t r = 0; r < hub.relays.count; r++) {
		for (size_t i = 0; i < hub.relays.at[r]->sessions.count; i++) {
			session_account(hub.relays.at[r]->sessions.at[i], &hub.ended);
		}
	}
	summary->events = hub.ended.events;
	summary->packets = hub.ended.packets;
	summary->bytes = hub.ended.bytes;
	*err = hub.err;
	hub_fini(&hub);
	return hub.has_failed ? -EIO : 0;
}
