/*
 * helper: the process that records the kernel by ftrace for `watch`.
 *
 * It is a child, so that the analysis does not hinder it.  It gets SIGTERM when this process ends,
 * whatever ends that, and has this process's guardian wait for it: the guardian's pipe stays open
 * in it.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct helper_config {
	/* As watch_config.record. */
	int (*work)(const void *user, const char *relay, const char *session, int ready);
	const void *user;
	const char *relay, *session;
	const char *log; /* what it says; a new file */
};

/* Starts it and waits until it records.  *ret_pid: a child, else -1.  -EINTR: a signal came.  Call
 * it before any thread starts. */
int helper_start(const struct helper_config *config, pid_t *ret_pid, struct err *err);
/* Asks it to end, and kills it if it has not after 5 s, which is said.  -1 is fine. */
void helper_end(pid_t pid, void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
