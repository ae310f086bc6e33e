/*
 * follow: `history --follow`: the windows of a store, as they land.
 */
#pragma once

#include "run/run.h"

struct output;

/* Until a signal, --until, or nobody reads @output.  Returns the exit status. */
int follow_store(const struct options *options, struct output *output);
