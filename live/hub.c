/*
 * hub: see hub.h.
 */
#include "live/hub.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/units.h"

#include "live/capture-write.h"
#include "live/capture.h"
#include "live/control.h"
#include "live/link.h"
#include "live/metrics.h"
#include "live/session.h"
#include "live/watch.h"

#define NS_PER_S     UINT64_C(1000000000)
#define DEFAULT_PORT 5344
#define LIST_NS      (NS_PER_S / 4) /* sessions that live shorter are not seen */
#define RETRY_NS_MIN (NS_PER_S / 4)
#define RETRY_NS_MAX (4 * NS_PER_S)

enum relay_state { RELAY_CONNECTING, RELAY_UP, RELAY_DOWN, RELAY_GIVEN_UP };

/* One relay: the connection that lists its sessions, and the sessions followed. */
struct relay {
	struct hub *hub;
	struct link_address address;
	enum relay_state state;
	struct link *link;
	struct event *timer;
	uint64_t retry_ns, down_since;
	bool said_down;
	VEC(struct session *) sessions;
	VEC(uint64_t) ended; /* ids of sessions that ended, for as long as they are listed */
};

struct hub {
	const struct hub_config *config;
	struct event_base *base;
	struct engine *engine;
	VEC(struct relay *) relays;
	bool *url_seen; /* by URL: a session of that name was attached to */
	bool *url_said; /* waiting for it was said */
	struct event *signals[5];
	struct event *engine_event, *step_event, *duration_event, *input_event, *size_event,
		*watchdog_event;
	struct metrics *metrics;
	struct control *control;
	uint64_t windows;
	bool is_stopping, has_failed;
	struct err err;
	struct run_summary ended; /* of sessions that were freed */
};

static void hub_check(struct hub *hub);
static void on_progress(void *user);
static void relay_connect(struct relay *relay);

/* ---- output ---- */

static void stop(struct hub *hub)
{
	hub->is_stopping = true;
	(void)event_base_loopbreak(hub->base);
}

static void check_output(struct hub *hub)
{
	if (output_check(hub->config->output, &hub->err) < 0) {
		hub->has_failed = true;
		stop(hub);
	}
}

static void on_report(void *user, const struct report *report)
{
	struct live_trace *trace = user;
	struct hub *hub = session_owner_user(trace->session);

	output_report(hub->config->output, &trace->identity, report);
	if (hub->config->watch) {
		watch_report(hub->config->watch, hub->config->output, &trace->identity, report,
			     trace);
	}
	if (hub->metrics) {
		metrics_add(hub->metrics, &trace->identity, report);
	}
	check_output(hub);
	if (report->has_lag && report->lag_ns > 0) {
		session_lags(trace->session, (uint64_t)report->lag_ns);
	}
	if (report->kind == REPORT_WINDOW && ++hub->windows == hub->config->windows) {
		stop(hub);
	}
}

/* ---- captures ---- */

static void on_kept(void *user, const char *stream, struct kept *kept)
{
	struct live_trace *trace = user;

	if (trace->history) {
		history_add(trace->history, stream, kept, trace_closed_until(trace->trace));
	} else {
		kept_unref(kept);
	}
}

static void on_capture(void *context, const struct trace_identity *identity,
		       const struct trigger_event *event, bool reports)
{
	struct live_trace *trace = context;
	struct hub *hub = session_owner_user(trace->session);

	captures_begin(hub->config->captures, trace->session, event->end,
		       &(struct captures_reason){
			       .trace = identity, .event = event, .wants_report = reports });
}

static void say_captured(struct hub *hub, const struct capture_order *order)
{
	char bytes[UNITS_TEXT_MAX];

	if (!order->path) {
		hub->config->say("%s/%s: could not be captured: %s", order->host, order->session,
				 order->err.text);
	} else if (hub->config->verbosity >= 0) {
		hub->config->say(
			"%s/%s: captured %s%s into %s; look at it with: sillage %s %s", order->host,
			order->session, units_bytes(bytes, order->bytes),
			order->is_complete ? "" : " (some is missing, see its capture.json)",
			order->path, order->has_kernel ? "report" : "analyze", order->path);
	}
	output_capture(hub->config->output, order);
	control_captured(hub->control, order);
	check_output(hub);
}

/* @wait: until all are written. */
static void step_captures(struct hub *hub, bool wait)
{
	struct capture_order *order;

	if (!hub->config->captures) {
		return;
	}
	captures_step(hub->config->captures);
	while ((order = captures_done(hub->config->captures, wait))) {
		say_captured(hub, order);
		capture_order_free(order);
	}
}

static void on_finished(void *user, struct session *session)
{
	struct hub *hub = user;

	if (hub->config->captures) {
		captures_session_ends(hub->config->captures, session);
	}
}

/* Now, of everything that is followed. */
static size_t capture_now(void *user, uint64_t *ret_numbers, size_t most)
{
	struct hub *hub = user;
	size_t count = 0;

	for (size_t r = 0; r < hub->relays.count; r++) {
		for (size_t i = 0; i < hub->relays.at[r]->sessions.count && count < most; i++) {
			struct session *session = hub->relays.at[r]->sessions.at[i];
			uint64_t now = session_now(session);

			if (now > 0) {
				ret_numbers[count++] =
					captures_begin(hub->config->captures, session, now, NULL);
			}
		}
	}
	return count;
}

static void on_capture_signal(evutil_socket_t number, short what, void *arg)
{
	struct hub *hub = arg;
	uint64_t numbers[CONTROL_CAPTURES_MAX];

	(void)number;
	(void)what;
	if (!hub->config->captures) {
		hub->config->say("nothing is captured: there is no --history");
	} else if (capture_now(hub, numbers, CONTROL_CAPTURES_MAX) == 0) {
		hub->config->say("there is nothing to capture: no session is followed");
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
	check_output(hub);
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
	check_output(hub);
}

static void on_say(void *user, int verbosity, const char *text)
{
	struct hub *hub = user;

	if (hub->config->verbosity >= verbosity) {
		hub->config->say("%s", text);
	}
}

/* ---- sessions ---- */

static void on_session_change(void *user, struct session *session)
{
	struct hub *hub = user;
	const struct viewer_session *listed = session_listed(session);

	if (session_state(session) == SESSION_RUNNING) {
		for (size_t i = 0; i < hub->config->url_count; i++) {
			hub->url_seen[i] |=
				url_matches(&hub->config->urls[i], listed->host, listed->name);
		}
	}
	if (session_state(session) == SESSION_ENDED) {
		struct timeval now = { 0 };

		(void)event_add(hub->step_event, &now); /* freed from the loop, not from here */
	}
}

static bool same_relay(const struct url *url, const struct link_address *address)
{
	uint16_t port = url->port ? url->port : DEFAULT_PORT;

	return strcmp(url->host, address->host) == 0 && port == address->port &&
	       url->family == address->family;
}

static bool is_wanted(const struct relay *relay, const struct viewer_session *listed)
{
	const struct hub_config *config = relay->hub->config;

	for (size_t i = 0; i < config->url_count; i++) {
		if (same_relay(&config->urls[i], &relay->address) &&
		    url_matches(&config->urls[i], listed->host, listed->name)) {
			return true;
		}
	}
	return false;
}

static bool same_name(const struct viewer_session *a, const struct viewer_session *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->name, b->name) == 0;
}

static struct session *find_session(const struct relay *relay, const struct viewer_session *listed)
{
	for (size_t i = 0; i < relay->sessions.count; i++) {
		struct session *session = relay->sessions.at[i];

		if (session_state(session) != SESSION_AWAY &&
		    session_listed(session)->id == listed->id &&
		    same_name(session_listed(session), listed)) {
			return session;
		}
	}
	return NULL;
}

/* A session of this name whose connection was lost. */
static struct session *find_away(const struct relay *relay, const struct viewer_session *listed)
{
	for (size_t i = 0; i < relay->sessions.count; i++) {
		struct session *session = relay->sessions.at[i];

		if (session_state(session) == SESSION_AWAY &&
		    same_name(session_listed(session), listed)) {
			return session;
		}
	}
	return NULL;
}

static void new_session(struct relay *relay, const struct viewer_session *listed)
{
	struct hub *hub = relay->hub;
	struct session_owner owner = {
		.user = hub,
		.base = hub->base,
		.engine = hub->engine,
		.from_beginning = hub->config->from_beginning,
		.grace_ns = hub->config->grace_ns,
		.lag_limit_ns = hub->config->lag_limit_ns,
		.on_attach = on_attach,
		.say = on_say,
		.on_change = on_session_change,
		.on_progress = on_progress,
		.history = hub->config->captures ? captures_history(hub->config->captures) : NULL,
		.on_finished = on_finished,
	};

	*vec_push(&relay->sessions) = session_new(&owner, listed, &relay->address);
}

static bool has_ended(const struct relay *relay, uint64_t id)
{
	for (size_t i = 0; i < relay->ended.count; i++) {
		if (relay->ended.at[i] == id) {
			return true;
		}
	}
	return false;
}

/* Forgets ended sessions that are no longer listed. */
static void prune_ended(struct relay *relay, const struct viewer_reply *reply)
{
	size_t kept = 0;

	for (size_t i = 0; i < relay->ended.count; i++) {
		uint64_t id = relay->ended.at[i];
		bool is_listed = false;

		for (uint32_t k = 0; k < reply->count; k++) {
			is_listed |= reply->sessions[k].id == id;
		}
		if (is_listed) {
			relay->ended.at[kept++] = id;
		}
	}
	relay->ended.count = kept;
}

static void take_listed(struct relay *relay, const struct viewer_session *listed)
{
	struct session *session = find_session(relay, listed);

	if (has_ended(relay, listed->id)) {
		return; /* not live, or read to its end */
	}
	if (session) {
		session_set_listed(session, true);
		if (session_state(session) == SESSION_WATCHED &&
		    session_retry_at(session) <= monotonic_ns()) {
			session_connect(session, listed);
		}
		return;
	}
	session = find_away(relay, listed);
	if (session) {
		if (session_retry_at(session) <= monotonic_ns()) {
			session_connect(session, listed);
		}
	} else {
		new_session(relay, listed);
	}
}

/* Says once for each URL that names a session that it is not there yet. */
static void say_missing(struct relay *relay)
{
	struct hub *hub = relay->hub;

	for (size_t i = 0; i < hub->config->url_count; i++) {
		const struct url *url = &hub->config->urls[i];
		bool is_there = hub->url_seen[i];

		if (!url->is_exact || !same_relay(url, &relay->address)) {
			continue;
		}
		for (size_t k = 0; k < relay->sessions.count; k++) {
			const struct viewer_session *listed = session_listed(relay->sessions.at[k]);

			is_there |= url_matches(url, listed->host, listed->name);
		}
		if (is_there || hub->url_said[i]) {
			continue;
		}
		hub->url_said[i] = true;
		if (hub->config->retry_ns == 0) {
			(void)err_raise(&hub->err, -ENOENT, "%s: no such session on this relay",
					url->text);
			hub->has_failed = true;
			stop(hub);
		} else if (hub->config->verbosity >= 0) {
			hub->config->say("%s: no such session yet; waiting for it", url->text);
		}
	}
}

static void on_list(struct relay *relay, const struct viewer_reply *reply)
{
	struct timeval again = { .tv_usec = LIST_NS / 1000 };

	for (size_t i = 0; i < relay->sessions.count; i++) {
		session_set_listed(relay->sessions.at[i], false);
	}
	prune_ended(relay, reply);
	for (uint32_t i = 0; i < reply->count; i++) {
		if (is_wanted(relay, &reply->sessions[i])) {
			take_listed(relay, &reply->sessions[i]);
		}
	}
	say_missing(relay);
	(void)event_add(relay->timer, &again);
	hub_check(relay->hub);
}

/* ---- relays ---- */

static void relay_connected(void *user)
{
	struct relay *relay = user;

	viewer_connect(link_viewer(relay->link));
	viewer_list_sessions(link_viewer(relay->link));
	link_send(relay->link);
}

static int relay_reply(void *user, const struct viewer_reply *reply, struct err *err)
{
	struct relay *relay = user;
	struct hub *hub = relay->hub;

	(void)err;
	if (reply->command == VIEWER_CONNECT) {
		relay->state = RELAY_UP;
		relay->retry_ns = 0;
		if (relay->said_down && hub->config->verbosity >= 0) {
			hub->config->say("relay %s:%u is back", relay->address.host,
					 relay->address.port);
		} else if (hub->config->verbosity > 0) {
			hub->config->say("relay %s:%u speaks viewer protocol %u.%u",
					 relay->address.host, relay->address.port, reply->major,
					 reply->minor);
		}
		relay->said_down = false;
	} else if (reply->command == VIEWER_LIST_SESSIONS) {
		on_list(relay, reply);
	}
	return 0;
}

static void give_up(struct relay *relay, const struct err *err)
{
	struct hub *hub = relay->hub;

	relay->state = RELAY_GIVEN_UP;
	(void)err_raise(&hub->err, -EIO, "relay %s:%u: %s", relay->address.host,
			relay->address.port, err->text);
	for (size_t i = 0; i < hub->relays.count; i++) {
		if (hub->relays.at[i]->state != RELAY_GIVEN_UP) {
			hub->config->say("%s", hub->err.text);
			return;
		}
	}
	hub->has_failed = true;
	stop(hub);
}

static void relay_closed(void *user, const struct err *err)
{
	struct relay *relay = user;
	struct hub *hub = relay->hub;
	uint64_t now = monotonic_ns();
	struct timeval wait;
	struct err why = *err;

	link_free(relay->link);
	relay->link = NULL;
	if (relay->state != RELAY_DOWN) {
		relay->down_since = now;
		relay->ended.count = 0; /* another relayd numbers its sessions anew */
	}
	relay->state = RELAY_DOWN;
	/* A relay of another version will not change its mind: err says which. */
	if (now - relay->down_since >= hub->config->retry_ns ||
	    strstr(why.text, "viewer protocol")) {
		give_up(relay, &why);
		return;
	}
	if (!relay->said_down && hub->config->verbosity >= 0) {
		hub->config->say("relay %s:%u: %s; trying again", relay->address.host,
				 relay->address.port, why.text);
	}
	relay->said_down = true;
	relay->retry_ns = relay->retry_ns ? relay->retry_ns * 2 : RETRY_NS_MIN;
	relay->retry_ns = relay->retry_ns > RETRY_NS_MAX ? RETRY_NS_MAX : relay->retry_ns;
	wait.tv_sec = (time_t)(relay->retry_ns / NS_PER_S);
	wait.tv_usec = (suseconds_t)(relay->retry_ns % NS_PER_S / 1000);
	(void)event_add(relay->timer, &wait);
}

static const struct link_events relay_events = {
	.on_connected = relay_connected,
	.on_reply = relay_reply,
	.on_closed = relay_closed,
};

static void relay_connect(struct relay *relay)
{
	assert(!relay->link);
	relay->link = link_new(relay->hub->base, &relay->address, &relay_events, relay);
}

static void on_relay_timer(evutil_socket_t fd, short what, void *arg)
{
	struct relay *relay = arg;

	(void)fd;
	(void)what;
	if (!relay->link) {
		relay_connect(relay);
	} else if (viewer_pending(link_viewer(relay->link)) == 0) {
		viewer_list_sessions(link_viewer(relay->link));
		link_send(relay->link);
	}
}

static void add_relay(struct hub *hub, const struct url *url)
{
	struct relay *relay;

	for (size_t i = 0; i < hub->relays.count; i++) {
		if (same_relay(url, &hub->relays.at[i]->address)) {
			return;
		}
	}
	relay = mem_alloc(sizeof(*relay));
	relay->hub = hub;
	relay->address.host = url->host;
	relay->address.port = url->port ? url->port : DEFAULT_PORT;
	relay->address.family = url->family;
	relay->timer = event_new(hub->base, -1, 0, on_relay_timer, relay);
	*vec_push(&hub->relays) = relay;
	relay_connect(relay);
}

/* ---- the end ---- */

/* Frees what has ended; stops when nothing is left that could still come. */
static void hub_check(struct hub *hub)
{
	bool all_seen = hub->config->url_count > 0, any_left = false;

	for (size_t r = 0; r < hub->relays.count; r++) {
		struct relay *relay = hub->relays.at[r];
		size_t kept = 0;

		for (size_t i = 0; i < relay->sessions.count; i++) {
			struct session *session = relay->sessions.at[i];

			if (session_state(session) != SESSION_ENDED) {
				any_left = true;
				relay->sessions.at[kept++] = session;
				continue;
			}
			*vec_push(&relay->ended) = session_listed(session)->id;
			session_account(session, &hub->ended);
			session_free(session);
		}
		relay->sessions.count = kept;
	}
	for (size_t i = 0; i < hub->config->url_count; i++) {
		all_seen &= hub->config->urls[i].is_exact && hub->url_seen[i];
	}
	if (all_seen && !any_left) {
		stop(hub);
	}
}

static void finish_all(struct hub *hub)
{
	for (size_t r = 0; r < hub->relays.count; r++) {
		for (size_t i = 0; i < hub->relays.at[r]->sessions.count; i++) {
			session_finish(hub->relays.at[r]->sessions.at[i], "stopped");
		}
	}
}

/* ---- loop events ---- */

static void step(struct hub *hub)
{
	engine_step(hub->engine, false, wall_ns());
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

/* Also from time to time: an idle trace closes windows without anything coming. */
static void on_step(evutil_socket_t fd, short what, void *arg)
{
	struct hub *hub = arg;
	struct timeval again = { .tv_usec = 100000 };

	(void)fd;
	(void)what;
	engine_step(hub->engine, false, wall_ns());
	hub_check(hub);
	if (hub->config->watch) {
		watch_poll(hub->config->watch);
	}
	step_captures(hub, false);
	(void)event_add(hub->step_event, &again);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	stop(arg);
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
	check_output(hub);
}

static void on_reopen_signal(evutil_socket_t number, short what, void *arg)
{
	struct hub *hub = arg;

	(void)number;
	(void)what;
	if (output_reopen(hub->config->output, &hub->err) < 0) {
		hub->has_failed = true;
		stop(hub);
	}
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
	struct hub *hub = arg;

	(void)fd;
	(void)what;
	if (!hub->config->on_input(hub->config->input_user)) {
		stop(hub);
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
	stop(arg);
}

static void add_events(struct hub *hub)
{
	static const struct {
		int number;
		event_callback_fn call;
	} signals[] = {
		{ SIGINT, on_stop_signal },     { SIGTERM, on_stop_signal },
		{ SIGUSR1, on_totals_signal },  { SIGHUP, on_reopen_signal },
		{ SIGUSR2, on_capture_signal },
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

	for (size_t r = 0; r < hub->relays.count; r++) {
		struct relay *relay = hub->relays.at[r];

		for (size_t i = 0; i < relay->sessions.count; i++) {
			session_free(relay->sessions.at[i]);
		}
		vec_fini(&relay->sessions);
		vec_fini(&relay->ended);
		link_free(relay->link);
		event_free(relay->timer);
		free(relay);
	}
	vec_fini(&hub->relays);
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
		hub->control = control_new(hub->base, config->control, capture_now, hub, err);
	}
	return (config->metrics && !hub->metrics) || (config->control && !hub->control) ? -EIO : 0;
}

int hub_run(const struct hub_config *config, struct run_summary *summary, struct err *err)
{
	struct hub hub = { .config = config };
	struct engine_config engine = config->engine;

	engine.on_report = on_report;
	engine.on_warning = on_warning;
	engine.expects_beginning = config->from_beginning;
	if (config->captures) {
		engine.on_kept = on_kept;
	}
	if (config->captures && config->watch) {
		watch_on_capture(config->watch, on_capture);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a file too large is an error of write() */
	hub.base = event_base_new();
	if (start_servers(&hub, err) < 0) {
		metrics_free(hub.metrics);
		event_base_free(hub.base);
		return -EIO;
	}
	hub.engine = engine_new(&engine);
	hub.url_seen = mem_alloc(config->url_count + 1);
	hub.url_said = mem_alloc(config->url_count + 1);
	add_events(&hub);
	for (size_t i = 0; i < config->url_count; i++) {
		add_relay(&hub, &config->urls[i]);
	}
	(void)sd_notify(0, "READY=1");
	(void)event_base_dispatch(hub.base);
	(void)sd_notify(0, "STOPPING=1");
	finish_all(&hub);
	step_captures(&hub, true);
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

/* ---- listing, once ---- */

struct lister {
	const struct url *url;
	hub_list_fn *each;
	void *user;
	struct event_base *base;
	struct link *link;
	struct err err;
	int r;
};

static void lister_connected(void *user)
{
	struct lister *lister = user;

	viewer_connect(link_viewer(lister->link));
	viewer_list_sessions(link_viewer(lister->link));
	link_send(lister->link);
}

static int lister_reply(void *user, const struct viewer_reply *reply, struct err *err)
{
	struct lister *lister = user;

	(void)err;
	if (reply->command != VIEWER_LIST_SESSIONS) {
		return 0;
	}
	for (uint32_t i = 0; i < reply->count; i++) {
		const struct viewer_session *session = &reply->sessions[i];
		struct hub_listed listed = { .host = (char *)session->host,
					     .name = (char *)session->name,
					     .live_timer_us = session->live_timer_us,
					     .clients = session->clients,
					     .streams = session->streams };

		if (url_matches(lister->url, session->host, session->name)) {
			lister->each(lister->user, lister->url, &listed);
		}
	}
	(void)event_base_loopbreak(lister->base);
	return 0;
}

static void lister_closed(void *user, const struct err *err)
{
	struct lister *lister = user;

	lister->err = *err;
	lister->r = -EIO;
	(void)event_base_loopbreak(lister->base);
}

int hub_list(const struct url *url, hub_list_fn *each, void *user, struct err *err)
{
	static const struct link_events events = {
		.on_connected = lister_connected,
		.on_reply = lister_reply,
		.on_closed = lister_closed,
	};
	struct lister lister = { .url = url, .each = each, .user = user };
	struct link_address address = { .host = url->host,
					.port = url->port ? url->port : DEFAULT_PORT,
					.family = url->family };

	lister.base = event_base_new();
	lister.link = link_new(lister.base, &address, &events, &lister);
	(void)event_base_dispatch(lister.base);
	link_free(lister.link);
	event_base_free(lister.base);
	if (lister.r < 0) {
		return err_raise(err, lister.r, "relay %s:%u: %s", address.host, address.port,
				 lister.err.text);
	}
	return 0;
}
