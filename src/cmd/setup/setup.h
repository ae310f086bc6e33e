/*
 * setup: what `setup` and `watch` share.
 */
#pragma once

#include "cmd/cmd.h"
#include "setup/wanted.h"

/* What the options have recorded; @wanted is zeroed.  EXIT_USAGE: nothing, which was said. */
int setup_wanted(const struct options *options, struct wanted *wanted);
