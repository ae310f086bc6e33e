/*
 * check-selection: whether triggers and gates are about what the user selected.
 *
 * --tid, --pid, --comm and --cpu choose what is analysed, for triggers and gates, too.  One that is
 * about something else could never hold, or always would.
 */
#pragma once

#include "base/err.h"

struct actions;
struct options;

/* -EINVAL, with the reason, if the selection leaves out all rows of a figure of a trigger. */
int run_check_selection(const struct options *options, const struct actions *actions,
			struct err *err);
