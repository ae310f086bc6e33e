/*
 * player: plays recorded traces into a relay as live sessions.
 *
 * It does what a consumer daemon does: creates a session, announces streams, sends
 * metadata, packets and indexes at the times the trace says, beacons in between, and
 * closes everything in order.  One thread and one pair of connections per trace.
 */
#ifndef SILLAGE_LIVE_REPLAY_REPLAY_H
#define SILLAGE_LIVE_REPLAY_REPLAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "live/url.h"
#include "recorded/recorded.h"

struct replay_config {
	const struct url *relay;    /* port: control (5342), second_port: data (control + 1) */
	const char *session, *host; /* NULL: each trace's own */
	double speed;               /* 0: as fast as possible */
	uint64_t loops;
	uint64_t live_timer_ns;
	uint64_t linger_ns; /* keep the session after the last packet */
	bool wait_viewer;
	bool as_now; /* move the trace's clock so that it begins now */
	int verbosity;
	const atomic_bool *stop;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/* Plays all of @traces at the same time.  Negative if any failed; that was said. */
int replay_run(const struct replay_config *config, const struct recorded_paths *traces);

#endif
