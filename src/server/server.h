/*
 * server: HTTP for those who look: the page and the metrics.
 *
 * A server that only programs of this host can reach answers those who ask for loopback, or for the
 * host as it was given (address.h).  With an access.h it speaks TLS, and where that has users, it
 * answers none but these.
 *
 * What libevent does not bound is bounded here, for whoever connects may be anybody on the host:
 *
 *     connections    SERVER_CONNECTIONS_MAX, and an eighth of the descriptors at most: then the
 *                    one that has been without a whole request for longest has to go
 *     answers        half of that without an end: then the oldest of the peer that has most gives
 *                    way, so that nobody is kept out by others
 *     a request      SERVER_HEADERS_MAX bytes, and all of it within SERVER_REQUEST_S
 *     descriptors    see listener.h
 *     messages       one a minute of each kind (repeat.h)
 *
 * Everything runs in the thread of the event loop.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct access;
struct evbuffer;
struct event_base;
struct evhttp_connection;
struct evhttp_request;
struct server;

typedef void server_request_fn(struct evhttp_request *request, void *user);
typedef void server_close_fn(struct evhttp_connection *connection, void *user);

/* Where nobody has to say who he is, and others than this host can connect: */
enum server_reach {
	SERVER_STAYS,  /* it is refused */
	SERVER_IS_OPEN /* it is served; once, a line says so */
};

struct server_config {
	const char *name;    /* the option, for messages; it must outlive the server */
	const char *address; /* [HOST]:PORT, see address.h */
	bool any_port;       /* PORT may be 0 (server_port()) */
	server_request_fn *on_request;
	void *user;
	struct access *access; /* TLS and users; NULL: neither.  It must outlive the server */
	enum server_reach reach;
};

/* Serves requests of GET and HEAD.  NULL with the reason. */
struct server *server_new(struct event_base *base, const struct server_config *config,
			  struct err *err);
void server_free(struct server *server); /* closes all connections; NULL is fine */

/* Where it listens: the port that was asked for, or for 0 the one that was free. */
unsigned int server_port(const struct server *server);

/* The headers of all answers; @policy: of Content-Security-Policy. */
void server_add_headers(struct evhttp_request *request, const char *type, const char *policy);

/* Answers with @status and a line of text. */
void server_refuse(struct evhttp_request *request, int status, const char *why);

/* The answer takes a while: @on_gone is called if the connection ends before, and the request with
 * it.  Who says no more has gone: a request has an end of its own.  server_waited() ends that, and
 * the answer can be given. */
void server_wait(struct server *server, struct evhttp_request *request, server_close_fn *on_gone,
		 void *user);
void server_waited(struct server *server, struct evhttp_request *request);

/* The loop is over: writes what the socket of a kept answer takes now. */
void server_write_last(const struct server *server, struct evhttp_request *request);

/* The answer to this request has no end: its connection stays as long as its owner wants, who is
 * told before it is freed, or gives way: then @last, a string that must outlive it, ends it. */
void server_keep(struct server *server, struct evhttp_request *request, const char *last,
		 server_close_fn *on_close, void *user);
