/*
 * relay-connection: one TCP connection to a relay's live port, with the viewer that speaks on it.
 *
 *     RESOLVING ──► CONNECTING ──► CONNECTED ──► closed: on_closed, once
 *         │           │  ▲              on_connected, then on_reply for each reply
 *         │           └──┘ next address
 *         └───────────┴──► closed
 *
 * Owns the socket, its events and the viewer.  The owner makes requests on the viewer and calls
 * relay_connection_send().
 *
 * Promises: callbacks come from the event loop only, never from within a call by the owner.  After
 * on_closed no other callback comes.  The connection may be freed in each callback.  A connection
 * attempt ends after RELAY_CONNECT_S.  A relay that owes a reply may be silent for RELAY_SILENCE_S,
 * however many requests follow; less than RELAY_TRICKLE_BYTES of a reply in that time are silence,
 * too.  A host that is gone is noticed after the same time, also if
 * nothing was requested: TCP asks it for a sign of life.
 *
 * Receiving: small replies are read in blocks of 4 KiB, since several may arrive together.  Packets
 * are read directly to their destination.
 *
 * TCP_QUICKACK is set before every receive: the relay answers with two writes and has Nagle's
 * algorithm on, so that a delayed acknowledgement would cost 40 ms per reply.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "relay/viewer.h"

struct event_base;
struct relay_connection;

struct relay_connection_events {
	void (*on_connected)(void *user);
	/* Negative: drop the connection, with @err as the reason. */
	int (*on_reply)(void *user, const struct viewer_reply *reply, struct err *err);
	/* All replies that are here, or as many as may be taken at once, were passed on.  May be
	 * NULL. */
	void (*on_pause)(void *user);
	/* The connection was lost or could not be made. */
	void (*on_closed)(void *user, const struct err *err);
};

/* Where to connect; resolved again for each connection. */
struct relay_address {
	const char *host;
	uint16_t port;
	int family;
};

/* Starts to connect; the result is reported through @events. */
struct relay_connection *relay_connection_new(struct event_base *base,
					      const struct relay_address *address,
					      const struct relay_connection_events *events,
					      void *user);
void relay_connection_free(struct relay_connection *connection); /* NULL is fine */

/* In on_closed: the relay broke the protocol. */
bool relay_connection_is_wrong(const struct relay_connection *connection);

struct viewer *relay_connection_viewer(struct relay_connection *connection);

/* Sends the requests in the viewer's out buffer. */
void relay_connection_send(struct relay_connection *connection);
