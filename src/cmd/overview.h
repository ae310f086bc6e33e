/*
 * overview: the phases of a recorded trace, for the commands that need them.
 */
#pragma once

#include "options/options.h"
#include "phases/overview.h"
#include "recorded/recorded.h"

/*
 * Analyses the trace, or those of several hosts (recorded_beside()), within --begin and --end, as
 * the options say.  Their begin and end are filled in in @config.  -ENODATA: nothing in it changes
 * with time, or has a time; -EINTR: a signal came. The caller frees *ret.
 */
int overview_of(const struct options *options, const struct recorded_paths *paths, const char *name,
		struct overview_config *config, struct overview **ret, struct err *err);
