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
struct link;
struct sockaddr;

struct link_events {
	void (*on_connected)(void *user);
	/* Negative: drop the connection, with @err as the reason. */
	int (*on_reply)(void *user, const struct viewer_reply *reply, struct err *err);
	/* The connection is gone (also: never came).  The link may be freed here. */
	void (*on_closed)(void *user, const struct err *err);
};

/* Where to connect; resolved anew at each attempt. */
struct link_address {
	const char *host;
	uint16_t port;
	int family;
};

/* Starts to connect; the outcome is an event, never an immediate call. */
struct link *link_new(struct event_base *base, const struct link_address *address,
		      const struct link_events *events, void *user);
void link_free(struct link *link);

struct viewer *link_viewer(struct link *link);

/* Sends what the viewer has in its out buffer. */
void link_send(struct link *link);

#endif
