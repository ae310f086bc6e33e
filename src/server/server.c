/*
 * server: see server.h.
 *
 *     taken ──► asks ──request──► is checked ──► is answered ──► asks ... ──► closed
 *                 │ too long, or room is needed: dropped                         ▲
 *                 └──────────────────────────────────────────────────────────────┘
 *
 * evhttp shows no connection before its first request.  It lets us make the bufferevent of one, and
 * makes itself the owner of its callbacks: look() finds the connection there, once evhttp has it.
 */
#include "server/server.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/units.h"
#include "base/vec.h"
#include "server/access.h"
#include "server/address.h"
#include "server/listener.h"
#include "server/repeat.h"

enum server_link_state { LINK_ASKS, LINK_IS_CHECKED, LINK_IS_ANSWERED, LINK_IS_KEPT };

/* A connection. */
struct server_link {
	struct server *server;
	struct bufferevent *fresh; /* evhttp had not shown it yet: it has a reference; else NULL */
	struct evhttp_connection *connection; /* NULL: fresh */
	enum server_link_state state;
	uint64_t since_ns; /* monotonic: it is in this state */
	char who[64];      /* the user, if there are users; else the address of the peer */
	struct evhttp_request *request; /* of what is checked or kept; else NULL */
	/* What is kept; on_close: also of what is waited for. */
	const char *last;
	struct event *leaves; /* of what is waited for: its peer has closed; else NULL */
	server_close_fn *on_close;
	void *user;
};

struct server {
	struct server_config config; /* its address is in `address` */
	struct address address;
	bool is_loopback;
	struct evhttp *http;
	struct listener *listeners[ADDRESS_SOCKETS_MAX];
	size_t listener_count;
	struct event *look, *timer;
	VEC(struct server_link *) links;
	size_t most, most_kept; /* connections; answers without an end */
};

/* ---- connections ---- */

static void set_state(struct server_link *link, enum server_link_state state)
{
	link->state = state;
	link->since_ns = now_monotonic_ns();
}

static void remove_link(struct server *server, size_t i)
{
	if (server->links.at[i]->leaves) {
		event_free(server->links.at[i]->leaves);
	}
	free(server->links.at[i]);
	server->links.at[i] = server->links.at[--server->links.count];
}

/* The connection is about to be freed. */
static void on_close(struct evhttp_connection *connection, void *arg)
{
	struct server_link *link = arg;
	struct server *server = link->server;
	size_t i = 0;

	assert(link->connection == connection);
	while (server->links.at[i] != link) {
		i++;
		assert(i < server->links.count);
	}
	if (link->on_close) {
		link->on_close(connection, link->user);
	}
	if (link->request && !evhttp_request_get_connection(link->request)) {
		evhttp_send_reply_end(link->request); /* it is ours, and this frees it */
	}
	remove_link(server, i);
}

/* The one that has to go where there is room for no more: who asks goes before who is answered.
 * SIZE_MAX: all are kept. */
static size_t oldest_of(const struct server *server)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < server->links.count; i++) {
		const struct server_link *link = server->links.at[i];
		const struct server_link *other = found < SIZE_MAX ? server->links.at[found] : NULL;

		if (link->state == LINK_IS_KEPT || !link->connection) {
			continue;
		}
		if (!other || link->state < other->state ||
		    (link->state == other->state && link->since_ns < other->since_ns)) {
			found = i;
		}
	}
	return found;
}

static void make_room(struct server *server)
{
	while (server->links.count > server->most) {
		size_t oldest = oldest_of(server);

		if (oldest == SIZE_MAX) {
			return;
		}
		repeat_say(server->config.name, "there are %zu connections: the oldest is closed",
			   server->most);
		evhttp_connection_free(server->links.at[oldest]->connection);
	}
}

/* Finds the connections of what was taken. */
static void look(struct server *server)
{
	for (size_t i = server->links.count; i-- > 0;) {
		struct server_link *link = server->links.at[i];
		void *owner = NULL;

		if (!link->fresh) {
			continue;
		}
		bufferevent_getcb(link->fresh, NULL, NULL, NULL, &owner);
		(void)bufferevent_decref(link->fresh);
		link->fresh = NULL;
		link->connection = owner;
		if (owner) {
			evhttp_connection_set_closecb(owner, on_close, link);
		} else { /* evhttp has given it up already */
			remove_link(server, i);
		}
	}
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	look(arg);
	make_room(arg);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct server *server = arg;
	uint64_t now = now_monotonic_ns();

	for (size_t i = server->links.count; i-- > 0;) {
		struct server_link *link = server->links.at[i];

		if (link->connection && link->state == LINK_ASKS &&
		    now - link->since_ns >= SERVER_REQUEST_S * NS_PER_S) {
			repeat_say(server->config.name, "no whole request within %d s",
				   SERVER_REQUEST_S);
			evhttp_connection_free(link->connection);
		}
	}
	if (server->links.count > 0) {
		(void)event_add(server->timer, &(struct timeval){ .tv_sec = 1 });
	}
}

/* A connection was accepted. */
static struct bufferevent *on_accept(struct event_base *base, void *arg)
{
	struct server *server = arg;
	struct bufferevent *buffer = server->config.access
					     ? access_connection(server->config.access, base)
					     : bufferevent_socket_new(base, -1, 0);
	struct server_link *link = mem_alloc(sizeof(*link));

	link->server = server;
	link->fresh = buffer;
	bufferevent_incref(buffer);
	set_state(link, LINK_ASKS);
	*vec_push(&server->links) = link;
	event_active(server->look, 0, 0);
	if (!event_pending(server->timer, EV_TIMEOUT, NULL)) {
		(void)event_add(server->timer, &(struct timeval){ .tv_sec = 1 });
	}
	return buffer;
}

/* ---- requests ---- */

static struct server_link *link_of(struct server *server, struct evhttp_request *request)
{
	const struct evhttp_connection *connection = evhttp_request_get_connection(request);

	look(server);
	for (size_t i = 0; i < server->links.count; i++) {
		if (server->links.at[i]->connection == connection) {
			return server->links.at[i];
		}
	}
	assert(false); /* each connection came by on_accept() */
	return NULL;
}

static void on_answered(struct evhttp_request *request, void *arg)
{
	set_state(arg, LINK_ASKS);
}

static const char *header_of(struct evhttp_request *request, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(request), name);
}

static void begin_answer(struct server_link *link, struct evhttp_request *request)
{
	set_state(link, LINK_IS_ANSWERED);
	link->request = NULL;
	evhttp_request_set_on_complete_cb(request, on_answered, link);
}

static void answer(struct server *server, struct server_link *link, struct evhttp_request *request)
{
	begin_answer(link, request);
	server->config.on_request(request, server->config.user);
}

static void answer_nobody(struct server_link *link, struct evhttp_request *request,
			  enum users_answer why)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	begin_answer(link, request);
	if (why == USERS_REFUSED) {
		(void)evhttp_add_header(headers, "Retry-After", "5");
		server_refuse(request, 429, "too many tries");
		return;
	}
	(void)evhttp_add_header(headers, "WWW-Authenticate",
				"Basic realm=\"sillage\", charset=\"UTF-8\"");
	server_refuse(request, 401, "only users are served");
}

static void check(struct server *server, struct server_link *link, struct evhttp_request *request)
{
	const struct access *access = server->config.access;
	const char *name = link->who;
	char *address = NULL;
	ev_uint16_t port = 0;
	enum users_answer found = USERS_KNOWN;

	evhttp_connection_get_peer(link->connection, &address, &port);
	(void)snprintf(link->who, sizeof(link->who), "%s", address ? address : "");
	if (access && access_has_users(access)) {
		found = users_ask(access_users(access), header_of(request, "Authorization"),
				  link->who, &name);
	}
	if (found == USERS_WAITS) {
		set_state(link, LINK_IS_CHECKED);
		link->request = request;
	} else if (found == USERS_KNOWN) {
		if (name != link->who) {
			(void)snprintf(link->who, sizeof(link->who), "%s", name);
		}
		answer(server, link, request);
	} else {
		answer_nobody(link, request, found);
	}
}

static void on_request(struct evhttp_request *request, void *arg)
{
	struct server *server = arg;
	struct server_link *link = link_of(server, request);

	assert(link->state == LINK_ASKS);
	if (server->is_loopback &&
	    !address_is_asked_for(&server->address, header_of(request, "Host"))) {
		begin_answer(link, request);
		server_refuse(request, 403, "this is served to localhost only");
		return;
	}
	check(server, link, request);
}

/* Those that wait are asked for again.  @is_new: who looks has to say again who it is. */
static void on_access(void *arg, bool is_new)
{
	struct server *server = arg;

	for (size_t i = server->links.count; i-- > 0;) {
		struct server_link *link = server->links.at[i];

		if (link->state == LINK_IS_CHECKED) {
			check(server, link, link->request);
		} else if (link->state == LINK_IS_KEPT && is_new) {
			evhttp_connection_free(link->connection);
		}
	}
}

/* ---- answers without an end ---- */

static size_t kept_of(const struct server *server, const char *who)
{
	size_t count = 0;

	for (size_t i = 0; i < server->links.count; i++) {
		const struct server_link *link = server->links.at[i];

		count += link->state == LINK_IS_KEPT && strcmp(link->who, who) == 0;
	}
	return count;
}

/* Of the peer that has most, the oldest; NULL: there is none, or room for one more. */
static struct server_link *last_of_crowd(const struct server *server)
{
	struct server_link *found = NULL;
	size_t of_found = 0, all = 0;

	for (size_t i = 0; i < server->links.count; i++) {
		struct server_link *link = server->links.at[i];
		size_t of_link;

		if (link->state != LINK_IS_KEPT) {
			continue;
		}
		all++;
		of_link = kept_of(server, link->who);
		if (!found || of_link > of_found ||
		    (of_link == of_found && link->since_ns < found->since_ns)) {
			found = link;
			of_found = of_link;
		}
	}
	return all < server->most_kept ? NULL : found;
}

/* Its owner has let it go: the answer ends as any other. */
static void give_way(struct server_link *link)
{
	struct evhttp_request *request = link->request;
	struct evbuffer *last = evbuffer_new();

	assert(link->state == LINK_IS_KEPT);
	link->on_close(link->connection, link->user);
	link->on_close = NULL;
	(void)evbuffer_add(last, link->last, strlen(link->last));
	begin_answer(link, request);
	evhttp_send_reply_chunk(request, last);
	evhttp_send_reply_end(request);
	evbuffer_free(last);
}

void server_keep(struct server *server, struct evhttp_request *request, const char *last,
		 server_close_fn *on_closed, void *user)
{
	struct server_link *link = link_of(server, request), *other = last_of_crowd(server);

	assert(link->state == LINK_IS_ANSWERED && link != other);
	if (other) {
		repeat_say(server->config.name,
			   "%zu look: the oldest of %s has to give way to one of %s",
			   server->most_kept, other->who, link->who);
		give_way(other);
	}
	evhttp_request_set_on_complete_cb(request, NULL, NULL);
	link->request = request;
	link->last = last;
	link->on_close = on_closed;
	link->user = user;
	set_state(link, LINK_IS_KEPT);
}

/* ---- answers that take a while ---- */

static void on_leaves(evutil_socket_t fd, short what, void *arg)
{
	const struct server_link *link = arg;

	evhttp_connection_free(link->connection);
}

void server_wait(struct server *server, struct evhttp_request *request, server_close_fn *on_gone,
		 void *user)
{
	struct server_link *link = link_of(server, request);
	struct bufferevent *buffer = evhttp_connection_get_bufferevent(link->connection);

	assert(link->state == LINK_IS_ANSWERED && !link->on_close && !link->leaves);
	link->on_close = on_gone;
	link->user = user;
	link->leaves = event_new(bufferevent_get_base(buffer), bufferevent_getfd(buffer), EV_CLOSED,
				 on_leaves, link);
	(void)event_add(link->leaves, NULL);
}

void server_waited(struct server *server, struct evhttp_request *request)
{
	struct server_link *link = link_of(server, request);

	assert(link->state == LINK_IS_ANSWERED && link->leaves);
	link->on_close = NULL;
	event_free(link->leaves);
	link->leaves = NULL;
}

void server_add_headers(struct evhttp_request *request, const char *type, const char *policy)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	(void)evhttp_add_header(headers, "Content-Type", type);
	(void)evhttp_add_header(headers, "Content-Security-Policy", policy);
	(void)evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	(void)evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
	(void)evhttp_add_header(headers, "Cross-Origin-Resource-Policy", "same-origin");
	(void)evhttp_add_header(headers, "Cache-Control", "no-store");
}

void server_refuse(struct evhttp_request *request, int status, const char *why)
{
	struct evbuffer *body = evbuffer_new();

	(void)evbuffer_add_printf(body, "%s\n", why);
	server_add_headers(request, "text/plain; charset=utf-8", "default-src 'none'");
	evhttp_send_reply(request, status, NULL, body);
	evbuffer_free(body);
}

void server_write_last(const struct server *server, struct evhttp_request *request)
{
	struct bufferevent *buffer =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
	struct evbuffer *output = bufferevent_get_output(buffer);

	(void)evbuffer_unfreeze(output, 1); /* the connection's own writer holds it */
	if (server->config.access) {
		access_write(buffer, output);
	} else {
		while (evbuffer_get_length(output) > 0 &&
		       evbuffer_write(output, bufferevent_getfd(buffer)) > 0) {
		}
	}
	(void)evbuffer_freeze(output, 1);
}

/* ---- the server ---- */

static size_t most_connections(void)
{
	struct rlimit limit;
	size_t share = SERVER_CONNECTIONS_MAX;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 8 < share) {
		share = (size_t)limit.rlim_cur / 8;
	}
	return share > 0 ? share : 1;
}

static void start_http(struct server *server, struct event_base *base,
		       const struct address_sockets *sockets)
{
	server->http = evhttp_new(base);
	evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(server->http, SERVER_HEADERS_MAX);
	evhttp_set_max_body_size(server->http, 0);
	evhttp_set_timeout(server->http, SERVER_REQUEST_S);
	evhttp_set_bevcb(server->http, on_accept, server);
	evhttp_set_gencb(server->http, on_request, server);
	for (size_t i = 0; i < sockets->count; i++) {
		struct listener *listener =
			listener_new(base, sockets->fds[i], server->config.name, NULL, NULL);

		(void)evhttp_bind_listener(server->http, listener_lend(listener));
		server->listeners[server->listener_count++] = listener;
	}
}

struct server *server_new(struct event_base *base, const struct server_config *config,
			  struct err *err)
{
	struct address_sockets sockets;
	bool has_users = config->access && access_has_users(config->access);
	struct address address;
	struct server *server;

	if ((config->any_port ? address_parse_any : address_parse)(config->name, config->address,
								   &address, err) < 0 ||
	    address_listen(config->name, &address, !has_users && config->reach == SERVER_STAYS,
			   &sockets, err) < 0) {
		return NULL;
	}
	server = mem_alloc(sizeof(*server));
	server->config = *config;
	server->config.address = NULL; /* it need not live on */
	server->address = address;
	server->address.port = sockets.port;
	server->is_loopback = sockets.is_loopback;
	server->most = most_connections();
	server->most_kept = server->most > 1 ? server->most / 2 : 1;
	server->look = event_new(base, -1, 0, on_look, server);
	server->timer = event_new(base, -1, 0, on_timer, server);
	start_http(server, base, &sockets);
	if (config->access) {
		access_add_server(config->access, on_access, server);
	}
	if (!sockets.is_loopback && has_users) {
		access_need_users(config->access);
	}
	if (!sockets.is_loopback && !has_users) {
		repeat_say(config->name,
			   "whoever can connect to port %u can read it: --server-config has TLS "
			   "and users",
			   server->address.port);
	}
	return server;
}

unsigned int server_port(const struct server *server)
{
	return server->address.port;
}

void server_free(struct server *server)
{
	if (!server) {
		return;
	}
	look(server);
	if (server->config.access) {
		access_remove_server(server->config.access, server);
	}
	for (size_t i = 0; i < server->listener_count; i++) {
		listener_free(server->listeners[i]);
	}
	evhttp_free(server->http); /* closes all connections */
	assert(server->links.count == 0);
	vec_fini(&server->links);
	event_free(server->look);
	event_free(server->timer);
	free(server);
}
