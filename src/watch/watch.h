/*
 * watch: a live session of our own on this host, with a relay of its own, for as long as a run
 * lasts.
 *
 *     this process ── lttng ──► session daemon ── packets ──► relay on loopback ──► viewer (live/)
 *          │                        ▲
 *          └── pipe ──► guardian: ends the session, the relay and their directory (place.h)
 *
 * Where ftrace records the kernel (setup/kernel-source.h), a child of ours does: it sends what it
 * records to the same relay, and goes with this process, whatever ends that.  Events of programs
 * are LTTng's anyhow.
 *
 * A session daemon that runs is used and left as it is.  If none does, one is started; it ends with
 * the last session.
 */
#pragma once

#include "setup/kernel-source.h"
#include "setup/wanted.h"

struct watch;

struct watch_config {
	struct wanted *wanted; /* what ftrace records is dropped from it */
	enum kernel_source kernel;
	uint64_t live_timer_ns;
	/* By ftrace: records the kernel in a process of its own, until SIGTERM; returns its exit
	 * status.  @relay: net://HOST:CONTROL:DATA.  It writes a byte to
	 * @ready once it records. */
	int (*record)(const void *user, const char *relay, const char *session, int ready);
	const void *record_user;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	int verbosity; /* 1: also the commands, as they run */
};

/*
 * Starts the session.  What cannot be recorded of the kernel is said, if something else is left.
 * Call it before any thread starts.  NULL with the reason; then nothing is left.
 */
struct watch *watch_new(const struct watch_config *config, struct err *err);
/* Of the session, for viewers. */
const char *watch_url(const struct watch *watch);
/* Ends all of it.  NULL is fine. */
void watch_free(struct watch *watch);
