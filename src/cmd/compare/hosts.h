/*
 * hosts: `compare --per host`: which hosts of stores changed, each beside what it was.
 */
#pragma once

#include "options/options.h"
#include "output/sink.h"

/* For run_output(). */
int compare_hosts(const struct options *options, struct output *output);
