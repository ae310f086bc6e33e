/*
 * browse: `top STORE`: the windows of a store on the full screen.
 */
#pragma once

#include "run/run.h"

/* Whether @arg is a store, not a trace or a URL of a relay. */
bool browse_is_store(const char *arg);
/* -EINVAL: what the options ask for is not in a store, or only there. */
int browse_check(const struct options *options, struct err *err);
/* Until the user quits.  Returns the exit status. */
int browse_store(const struct options *options);
