/*
 * link: one TCP connection to a relay's live port, and the viewer that speaks on it.
 *
 * TCP_QUICKACK is set before every receive: the relay answers with two writes and has
 * Nagle's algorithm on, so that a delayed acknowledgement costs 40 ms a reply.
 */
#ifndef SILLAGE_LIVE_SESSION_RELAY_CONNECTION_H
#define SILLAGE_LIVE_SESSION_RELAY_CONNECTION_H

#include <stdint.h>

#include "base/err.h"
#include "relay/viewer.h"

struct event_base;
struct relay_connection;
struct sockaddr;

struct relay_connection_events {
	void (*on_connected)(void *user);
	/* Negative: drop the connection, with @err as the reason. */
	int (*on_reply)(void *user, const struct viewer_reply *reply, struct err *err);
	/* The connection is gone (also: never came).  The link may be freed here. */
	void (*on_closed)(void *user, const struct err *err);
};

/* Where to connect; resolved anew at each attempt. */
struct relay_address {
	const char *host;
	uint16_t port;
	int family;
};

/* Starts to connect; the outcome is an event, never an immediate call. */
struct relay_connection *relay_connection_new(struct event_base *base,
					      const struct relay_address *address,
					      const struct relay_connection_events *events,
					      void *user);
void relay_connection_free(struct relay_connection *connection);

struct viewer *relay_connection_viewer(struct relay_connection *connection);

/* Sends what the viewer has in its out buffer. */
void relay_connection_send(struct relay_connection *connection);

#endif
