/*
 * asked: what a run measures and of whom, as the words of a command line that does so again.
 */
#pragma once

#include "options/options.h"

/* "-a periods --period 'r = a; b' --comm web", for a shell; from malloc(). */
char *asked_text(const struct options *options);
