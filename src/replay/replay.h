/*
 * replay: sends recorded traces to a relay, where they are live sessions.
 *
 * Packets go out at the times of the trace, divided by the speed.  A packet's time is its end: that
 * is when a tracer has it complete.
 *
 * One thread and one session (publish/publish.h) per trace; all calls block.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "recorded/recorded.h"
#include "relay/url.h"

struct replay_config {
	const struct url *relay;    /* port: control (5342), second_port: data (control + 1) */
	const char *session, *host; /* NULL: each trace's own */
	double speed;               /* 0: as fast as possible */
	uint64_t loops;             /* how often each trace is replayed */
	uint64_t live_timer_ns;
	uint64_t linger_ns; /* how long the session stays open after the last packet */
	bool wait_viewer;   /* start when a viewer has attached */
	bool as_now;        /* move the trace's clock so that it begins now */
	int verbosity;
	const atomic_bool *stop;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/* Replays all of @traces at the same time.  Negative if any failed; failures were reported. */
int replay_run(const struct replay_config *config, const struct recorded_paths *traces);
