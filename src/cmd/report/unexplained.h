/*
 * unexplained: what is said of a trace of which a report has nothing to explain.
 */
#pragma once

#include <stdbool.h>

struct recorded_path;

/* A trace without switches has nothing to explain: says who could record them. */
void unexplained_say(const struct recorded_path *path, bool has_job);
