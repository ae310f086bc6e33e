/*
 * web-server: the HTTP side of web; see web.h.
 *
 * GET / and its script and style, /events (the state, for ever), /capture/N (the report of a
 * capture of this run).  All else gets 404.
 */
#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "base/units.h"
#include "live/web/web-state.h"
#include "server/repeat.h"
#include "server/server.h"

/* Only what this server has, and nothing written into the page runs. */
#define PAGE_POLICY                                                                                \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/* A report has all it needs within, and may not reach this server. */
#define REPORT_POLICY                                                                              \
	"sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "                  \
	"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

struct web_viewer {
	struct web_server *server;
	struct evhttp_request *request;
	uint64_t sent;    /* the number of the last item */
	uint64_t refused; /* that of the last one for which there was no room; 0: there was */
	size_t pending;   /* bytes that waited for it when it was last looked at */
	uint64_t took_ns; /* monotonic: when it was seen to take some, or to have all */
	bool is_slow;     /* it missed a window, which was noted */
};

struct web_server {
	struct server *server;
	const struct web *web;
	struct event *timer; /* pending while a viewer lacks items */
	VEC(struct web_viewer *) viewers;
};

/* ---- viewers ---- */

static struct evbuffer *output_of(const struct web_viewer *viewer)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(viewer->request);

	return bufferevent_get_output(evhttp_connection_get_bufferevent(connection));
}

/* The address of the viewer, or a word.  It lasts as long as the connection. */
static const char *address_of(const struct web_viewer *viewer)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(viewer->request);
	char *address = NULL;
	ev_uint16_t port = 0;

	if (connection) {
		evhttp_connection_get_peer(connection, &address, &port);
	}
	return address ? address : "an unknown host";
}

void web_server_misses(struct web_server *server, uint64_t number)
{
	for (size_t i = 0; i < server->viewers.count; i++) {
		struct web_viewer *viewer = server->viewers.at[i];

		/* What came since then it was not offered yet: short windows are sampled. */
		if (viewer->sent < number && number <= viewer->refused && !viewer->is_slow) {
			viewer->is_slow = true;
			repeat_say("--web", "a viewer on %s reads too slowly: it misses windows",
				   address_of(viewer));
		}
	}
}

/* Gives what it lacks, as far as there is room.  True: it has all. */
static bool feed(struct web_viewer *viewer)
{
	const struct web *web = viewer->server->web;
	size_t pending = evbuffer_get_length(output_of(viewer));
	struct evbuffer *more = evbuffer_new();

	assert(viewer->sent <= web->last);
	if (pending < viewer->pending || pending == 0) {
		viewer->took_ns = now_monotonic_ns();
	}
	for (size_t i = 0; i < web->items.count; i++) {
		const struct web_item *item = &web->items.at[i];

		if (item->number <= viewer->sent) {
			continue;
		}
		if (pending > 0 && pending + item->len > WEB_PENDING_MAX) {
			break;
		}
		(void)evbuffer_add(more, item->text, item->len);
		pending += item->len;
		viewer->sent = item->number;
	}
	if (evbuffer_get_length(more) > 0) {
		evhttp_send_reply_chunk(viewer->request, more);
	}
	evbuffer_free(more);
	viewer->pending = evbuffer_get_length(output_of(viewer));
	viewer->refused = viewer->sent != web->last ? web->last : 0;
	return viewer->sent == web->last;
}

/* libevent's own time begins again with each write, also of what only waits then. */
static bool is_stuck(const struct web_viewer *viewer)
{
	return viewer->pending > 0 &&
	       now_monotonic_ns() - viewer->took_ns >= WEB_STUCK_S * NS_PER_S;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct web_server *server = arg;
	bool has_all = true;

	for (size_t i = server->viewers.count; i-- > 0;) {
		struct web_viewer *viewer = server->viewers.at[i];

		has_all &= feed(viewer);
		if (is_stuck(viewer)) {
			repeat_say("--web", "a viewer on %s took nothing for too long: it is left",
				   address_of(viewer));
			evhttp_connection_free(evhttp_request_get_connection(viewer->request));
		}
	}
	if (!has_all) {
		web_server_changed(server);
	}
}

void web_server_changed(struct web_server *server)
{
	const struct timeval soon = { .tv_usec = WEB_PERIOD_US };

	if (server->viewers.count > 0 && !event_pending(server->timer, EV_TIMEOUT, NULL)) {
		(void)event_add(server->timer, &soon);
	}
}

/* The connection is about to be freed. */
static void on_close(struct evhttp_connection *connection, void *arg)
{
	struct web_viewer *viewer = arg;
	struct web_server *server = viewer->server;
	size_t left = 0;

	for (size_t i = 0; i < server->viewers.count; i++) {
		if (server->viewers.at[i] != viewer) {
			server->viewers.at[left++] = server->viewers.at[i];
		}
	}
	assert(left + 1 == server->viewers.count);
	server->viewers.count = left;
	free(viewer);
}

/* ---- answers ---- */

static void send_text(struct evhttp_request *request, const char *type, const unsigned char *text)
{
	struct evbuffer *body = evbuffer_new();

	(void)evbuffer_add(body, text, strlen((const char *)text));
	server_add_headers(request, type, PAGE_POLICY);
	evhttp_send_reply(request, HTTP_OK, NULL, body);
	evbuffer_free(body);
}

/* The state, and all that follows. */
static void send_events(struct web_server *server, struct evhttp_request *request)
{
	const struct timeval stuck = { .tv_sec = 2 * (time_t)WEB_STUCK_S };
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	struct bufferevent *buffer = evhttp_connection_get_bufferevent(connection);
	const int kept = WEB_KERNEL_MAX;
	struct web_viewer *viewer;

	if (evhttp_request_get_command(request) != EVHTTP_REQ_GET) {
		server_refuse(request, HTTP_BADMETHOD, "only GET");
		return;
	}
	viewer = mem_alloc(sizeof(*viewer));
	viewer->server = server;
	viewer->request = request;
	/* An older one may give way, which is heard of by on_close(). */
	server_keep(server->server, request, "event: away\ndata: {}\n\n", on_close, viewer);
	*vec_push(&server->viewers) = viewer;
	/* It says nothing more, and what it says all the same is not kept.  If nothing comes that
	 * it lacks, the time of libevent holds. */
	bufferevent_setwatermark(buffer, EV_READ, 0, SERVER_HEADERS_MAX);
	(void)bufferevent_set_timeouts(buffer, NULL, &stuck);
	(void)setsockopt(bufferevent_getfd(buffer), SOL_SOCKET, SO_SNDBUF, &kept, sizeof(kept));
	server_add_headers(request, "text/event-stream", PAGE_POLICY);
	evhttp_send_reply_start(request, HTTP_OK, NULL);
	if (!feed(viewer)) {
		web_server_changed(server);
	}
}

static const char *report_of(const struct web *web, const char *number)
{
	char *past;
	unsigned long long wanted = strtoull(number, &past, 10);

	for (size_t i = 0; i < web->reports.count && *number >= '0' && *number <= '9'; i++) {
		if (!*past && web->reports.at[i].number == wanted) {
			return web->reports.at[i].path;
		}
	}
	return NULL;
}

static void send_capture(const struct web *web, struct evhttp_request *request, const char *number)
{
	const char *path = report_of(web, number);
	struct err ignored;
	int fd = path ? foreign_open(path, O_NOFOLLOW, &ignored) : -1;
	struct evbuffer *body;
	struct stat found;

	if (fd < 0 || fstat(fd, &found) < 0 || !S_ISREG(found.st_mode) || found.st_size == 0) {
		server_refuse(request, HTTP_NOTFOUND,
			      path ? "the report is gone"
				   : "no capture of this run has a report of it");
		if (fd >= 0) {
			(void)close(fd);
		}
		return;
	}
	body = evbuffer_new();
	if (evbuffer_add_file(body, fd, 0, found.st_size) < 0) {
		server_refuse(request, HTTP_INTERNAL, "the report cannot be read");
	} else {
		server_add_headers(request, "text/html; charset=utf-8", REPORT_POLICY);
		evhttp_send_reply(request, HTTP_OK, NULL, body);
	}
	evbuffer_free(body);
}

static void on_request(struct evhttp_request *request, void *arg)
{
	static const struct {
		const char *path, *type;
		const unsigned char *text;
	} files[] = {
		{ "/", "text/html; charset=utf-8", web_page },
		{ "/page.js", "text/javascript; charset=utf-8", web_script },
		{ "/page.css", "text/css; charset=utf-8", web_style },
	};
	static const char capture[] = "/capture/";
	struct web_server *server = arg;
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

	for (size_t i = 0; path && i < ARRAY_COUNT(files); i++) {
		if (strcmp(path, files[i].path) == 0) {
			send_text(request, files[i].type, files[i].text);
			return;
		}
	}
	if (path && strcmp(path, "/events") == 0) {
		send_events(server, request);
	} else if (path && strncmp(path, capture, strlen(capture)) == 0) {
		send_capture(server->web, request, path + strlen(capture));
	} else {
		server_refuse(request, HTTP_NOTFOUND, "there is nothing here; the page is /");
	}
}

/* ---- the server ---- */

struct web_server *web_server_new(struct event_base *base, const struct web_config *config,
				  const struct web *web, struct err *err)
{
	struct web_server *server = mem_alloc(sizeof(*server));
	const struct server_config http = {
		.name = "--web",
		.address = config->address,
		.on_request = on_request,
		.user = server,
		.access = config->access,
		.reach = config->is_insecure ? SERVER_IS_OPEN : SERVER_STAYS,
	};

	server->web = web;
	server->timer = event_new(base, -1, 0, on_timer, server);
	server->server = server_new(base, &http, err);
	if (!server->server) {
		web_server_free(server);
		return NULL;
	}
	return server;
}

/* The last windows close when the loop is over: what its socket takes now is written. */
static void finish(struct web_viewer *viewer)
{
	(void)feed(viewer);
	server_write_last(viewer->server->server, viewer->request);
}

void web_server_free(struct web_server *server)
{
	if (!server) {
		return;
	}
	for (size_t i = 0; i < server->viewers.count; i++) {
		finish(server->viewers.at[i]);
	}
	server_free(server->server); /* closes all connections */
	assert(server->viewers.count == 0);
	event_free(server->timer);
	vec_fini(&server->viewers);
	free(server);
}
