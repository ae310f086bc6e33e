/*
 * setup: what `setup` and `watch` share.
 */
#pragma once

#include "cmd/cmd.h"
#include "setup/wanted.h"

/* Without -a, where all that is asked for is of programs, the kernel is not recorded. */
void setup_choose(struct options *options);
/* What the options have recorded; @wanted is zeroed.  EXIT_USAGE: nothing, which was said. */
int setup_wanted(const struct options *options, struct wanted *wanted);
