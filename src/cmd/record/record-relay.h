/*
 * record-relay: a recording as a live session at a relay.
 *
 *     convert ── metadata, packets ──► record-relay ──► publish ──► relay
 *
 * A CPU without events has an empty packet first, since a relay ignores beacons before that, and
 * beacons from then on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ftrace/convert.h"
#include "relay/url.h"

struct record_relay;

struct record_relay_config {
	const struct url *relay;
	const char *session, *host;
	uint64_t live_timer_ns;
	const uint8_t *uuid; /* of the trace; read when metadata comes */
	uint32_t cpus;
	bool is_bounded; /* the relay keeps only the last packets of each CPU */
};

/* -errno with the reason: nobody listens there, or it refuses the session. */
int record_relay_new(const struct record_relay_config *config, struct record_relay **ret,
		     struct err *err);
void record_relay_free(struct record_relay *to); /* NULL is fine */

/* The sink's functions.  After a failure what comes is counted, and is not sent, so that the
 * account is whole: the next beacons, or the end, tell the failure. */
int record_relay_metadata(void *user, const char *text, size_t len, struct err *err);
int record_relay_packet(void *user, const struct convert_packet *packet, struct err *err);
/* Nothing older than @time will come of any CPU. */
int record_relay_beacons(void *user, uint64_t time, struct err *err);
/* Ends the session once the relay has all. */
int record_relay_close(struct record_relay *to, struct err *err);

/* Events that the relay has said that it has; those that were given beyond these may be there or
 * not. */
struct record_relay_account {
	uint64_t given, taken;
	uint64_t packets, bytes; /* taken */
};
struct record_relay_account record_relay_account(struct record_relay *to);
