/*
 * follow: `history --follow`: the windows of a store, as they land.
 */
#ifndef SILLAGE_CMD_HISTORY_FOLLOW_H
#define SILLAGE_CMD_HISTORY_FOLLOW_H

#include "cmd/cmd.h"

struct output;

/* Until a signal, --until, or nobody reads @output.  Returns the exit status. */
int follow_store(const struct options *options, struct output *output);

#endif
