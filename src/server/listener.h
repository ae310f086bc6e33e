/*
 * listener: a socket that takes connections, and waits when there are no descriptors for them.
 *
 * A connection that cannot be taken stays in the kernel's queue, so libevent would try without end:
 * a whole CPU, and a line for each try.  Here the listener pauses for SERVER_PAUSE_MS then, and
 * says so (repeat.h).
 */
#pragma once

#include <event2/listener.h>

struct listener;

/* Takes @fd, which listens, and calls @on_accept with @user.  @name: what it serves, for messages;
 * it must outlive the listener. */
struct listener *listener_new(struct event_base *base, evutil_socket_t fd, const char *name,
			      evconnlistener_cb on_accept, void *user);
void listener_free(struct listener *listener); /* closes the socket; NULL is fine */

/* Lends the socket to evhttp_bind_listener(), which sets a function of its own and frees it at its
 * end: then listener_free() has to come before. */
struct evconnlistener *listener_lend(struct listener *listener);
