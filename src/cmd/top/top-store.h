/*
 * top-store: `top STORE`: the windows of a store on the full screen.
 */
#ifndef SILLAGE_CMD_TOP_TOP_STORE_H
#define SILLAGE_CMD_TOP_TOP_STORE_H

#include "cmd/cmd.h"

/* Whether @arg is a store, not a trace or a URL of a relay. */
bool top_is_store(const char *arg);
/* -EINVAL: what the options ask for is not in a store, or only there. */
int top_check_store(const struct options *options, struct err *err);
/* Until the user quits.  Returns the exit status. */
int top_store(const struct options *options);

#endif
