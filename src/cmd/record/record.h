/*
 * record: the kernel of this host to a relay, for `watch`.
 */
#pragma once

#include "cmd/cmd.h"

/* Until SIGTERM: the events of the analyses, into a session that the relay keeps the end of.
 * Writes a byte to @ready once it records, and closes it; returns the exit status. */
int record_into(const struct options *options, const char *relay, const char *session, int ready);
