/*
 * record-check: whether what is to be recorded is there, before anything is set up.
 */
#pragma once

#include "base/err.h"
#include "options/options.h"

/* The exit status of what is wrong, with the reason; 0: nothing is.  Of a command as of a shell:
 * 127: it is not found, 126: it may not be executed. */
int record_check(const struct options *options, struct err *err);
