/*
 * usual: which analyses are usual for recorded traces, where -a names none.
 */
#pragma once

#include "options/options.h"
#include "recorded/recorded.h"

/* Traces of the kernel begin with CPUs, those of programs with their calls. */
void usual_choose(struct options *options, const struct recorded_paths *paths);
