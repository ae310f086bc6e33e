/*
 * record-events: which events of the kernel a recording needs.
 */
#pragma once

#include "ftrace/host/recorder.h"
#include "options/options.h"

/* Enables what -a and --event ask for, or what reports explain with.  What analyses want and this
 * kernel does not have is left out.  -ENOENT: an --event is not there, or nothing is. */
int record_events_enable(struct recorder *recorder, const struct options *options, struct err *err);
