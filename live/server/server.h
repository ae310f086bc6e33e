/*
 * server: HTTP for those who look: the page and the metrics.
 *
 * What libevent does not bound is bounded here, for whoever connects may be anybody on the host:
 *
 *     connections    SERVER_CONNECTIONS_MAX, and an eighth of the descriptors at most: then the
 *                    one that has been without a whole request for longest has to go
 *     a request      SERVER_HEADERS_MAX bytes, and all of it within SERVER_REQUEST_S
 *     descriptors    see listener.h
 *     messages       one a minute of each kind (repeat.h)
 *
 * Everything runs in the thread of the event loop.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct event_base;
struct evhttp_connection;
struct evhttp_request;
struct server;

typedef void server_request_fn(struct evhttp_request *request, void *user);
typedef void server_close_fn(struct evhttp_connection *connection, void *user);

/* Serves requests of GET and HEAD.  @name: the option, for messages.  NULL with the reason. */
struct server *server_new(struct event_base *base, const char *name, const char *host,
			  uint16_t port, server_request_fn *on_request, void *user,
			  struct err *err);
void server_free(struct server *server); /* closes all connections; NULL is fine */

/* The answer to this request has no end: its connection stays as long as its owner wants, who is
 * told before it is freed. */
void server_keep(struct server *server, struct evhttp_request *request, server_close_fn *on_close,
		 void *user);
