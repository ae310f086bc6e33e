/*
 * scratch: a temporary directory for traces that a run makes: copies of what relays have, and of
 * what files of other tools hold.
 *
 * The directory is in $TMPDIR, or /tmp.  A guardian (base/process/guardian.h) removes it whatever
 * ends this process: its return, a signal, or a failed assertion.
 */
#pragma once

#include "base/err.h"

struct scratch;

/* Call it before any thread starts: it forks.  NULL with the reason. */
struct scratch *scratch_new(struct err *err);
/* Returns when the directory is removed. */
void scratch_free(struct scratch *store); /* NULL is fine */

const char *scratch_dir(const struct scratch *store);
