/*
 * history: what a store has, as the run that stored it printed it.
 */
#pragma once

#include "options/options.h"
#include "output/sink.h"

/* Shows the windows that the options ask for, of one trace after the other.  Returns the exit
 * status, and has said what fails. */
int history_past(const struct options *options, struct output *output);
