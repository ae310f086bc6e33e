/*
 * top: the full screen of `top`, for `watch`.
 */
#pragma once

#include "cmd/cmd.h"

/* Whether standard input and output are a terminal. */
bool top_has_terminal(void);
/* As live_follow(), on the full screen, where @note stands until a key is pressed; "": nothing. */
int top_follow(const struct options *options, const char **args, const char *note);
