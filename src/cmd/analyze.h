/*
 * analyze: the work of `sillage analyze`, which top and lami share.
 */
#pragma once

#include "options/options.h"

struct output;

/* Analyses all traces of options->args into @output, which is open.  Returns the exit status. */
int analyze_into(const struct options *options, struct output *output);
