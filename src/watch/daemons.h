/*
 * daemons: finds and ends daemons that this user's runs have started, and starts relays.
 *
 * A daemon is found by its program and a text in its command line, which nobody else's has: a
 * process number that was written down may be somebody else's by now.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Whether such a process of this user runs.  @mark: what one of its arguments contains. */
bool daemons_run(const char *program, const char *mark);
/* Asks them to end, and kills those that have not after 5 s.  Returns when none is left, or after
 * 10 s. */
void daemons_end(const char *program, const char *mark);

/* Ports of a relay on loopback. */
struct relay_ports {
	uint16_t control, data, live;
};

/* Starts a relay that keeps its data in @dir, and waits until it listens.  *ret_pid: a child; -1 if
 * there is none.  -EINTR: a signal came (base/now.h). */
int daemons_start_relay(const char *dir, struct relay_ports *ports, pid_t *ret_pid,
			struct err *err);
