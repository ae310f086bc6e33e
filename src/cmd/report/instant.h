/*
 * instant: how all threads are at one time: report --at.
 */
#pragma once

#include "options/options.h"

/* Prints it; the exit status. */
int instant_report(const struct options *options);
