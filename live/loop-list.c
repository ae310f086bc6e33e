/*
 * loop-list: lists the sessions of a relay once.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>

#include "base/limits.h"
#include "live/loop.h"
#include "live/session/relay-connection.h"

struct lister {
	const struct url *url;
	loop_list_fn *each;
	void (*on_quiet)(const struct url *url);
	const atomic_bool *stop;
	void *user;
	struct event_base *base;
	struct relay_connection *connection;
	struct err err;
	int r;
};

static void lister_connected(void *user)
{
	struct lister *lister = user;

	viewer_connect(relay_connection_viewer(lister->connection));
	viewer_list_sessions(relay_connection_viewer(lister->connection));
	relay_connection_send(lister->connection);
}

static int lister_reply(void *user, const struct viewer_reply *reply, struct err *err)
{
	struct lister *lister = user;

	if (reply->command != VIEWER_LIST_SESSIONS) {
		return 0;
	}
	assert(lister->connection);
	for (uint32_t i = 0; i < reply->count; i++) {
		const struct viewer_session *session = &reply->sessions[i];
		struct loop_listed listed = { .id = session->id,
					      .host = (char *)session->host,
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

static void on_quiet(evutil_socket_t fd, short what, void *arg)
{
	const struct lister *lister = arg;

	lister->on_quiet(lister->url);
}

/* The signal's handler belongs to the command, so the loop looks from time to time. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct lister *lister = arg;

	if (atomic_load(lister->stop)) {
		(void)err_raise(&lister->err, -EINTR, "interrupted");
		lister->r = -EINTR;
		(void)event_base_loopbreak(lister->base);
	}
}

int loop_list(const struct url *url, loop_list_fn *each, void (*on_quiet_)(const struct url *url),
	      const atomic_bool *stop, void *user, struct err *err)
{
	static const struct relay_connection_events events = {
		.on_connected = lister_connected,
		.on_reply = lister_reply,
		.on_closed = lister_closed,
	};
	struct lister lister = {
		.url = url, .each = each, .on_quiet = on_quiet_, .stop = stop, .user = user
	};
	struct timeval quiet = { .tv_sec = RELAY_QUIET_S }, often = { .tv_usec = 100000 };
	struct event *timer, *look;
	struct relay_address address = { .host = url->host,
					 .port = url->port ? url->port : URL_PORT_LIVE,
					 .family = url->family };

	lister.base = event_base_new();
	lister.connection = relay_connection_new(lister.base, &address, &events, &lister);
	timer = event_new(lister.base, -1, 0, on_quiet, &lister);
	look = event_new(lister.base, -1, EV_PERSIST, on_look, &lister);
	if (lister.on_quiet) {
		(void)event_add(timer, &quiet);
	}
	if (stop) {
		(void)event_add(look, &often);
	}
	(void)event_base_dispatch(lister.base);
	event_free(timer);
	event_free(look);
	relay_connection_free(lister.connection);
	event_base_free(lister.base);
	if (lister.r < 0) {
		return err_raise(err, lister.r, "relay %s:%u: %s", address.host, address.port,
				 lister.err.text);
	}
	return 0;
}
