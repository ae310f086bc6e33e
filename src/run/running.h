/*
 * running: a `sillage live` that runs, as a source: what it has kept of the last seconds.
 *
 *     SOCKET (--control) ── "capture" ──► captures, one a session ──► their directories
 *
 * Only the user that runs it may connect (live/control.h).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct recorded_paths;

/* Whether it is a socket. */
bool running_is(const char *path);
/* Asks for captures now, waits until they are written, and adds their traces; @says: where they
 * are.  -errno; -EINTR: a signal came.  Those that are made stay, as all captures of that run do.
 */
int running_find(const char *path, bool says, struct recorded_paths *paths, struct err *err);
