/*
 * range-store: a temporary directory for what was fetched from relays.
 *
 * The directory is in $TMPDIR, or /tmp.  A guardian (base/process/guardian.h) removes it whatever
 * ends this process: its return, a signal, or a failed assertion.
 */
#pragma once

#include "base/err.h"

struct range_store;

/* Call it before any thread starts: it forks.  NULL with the reason. */
struct range_store *range_store_new(struct err *err);
/* Returns when the directory is removed. */
void range_store_free(struct range_store *store); /* NULL is fine */

const char *range_store_dir(const struct range_store *store);
