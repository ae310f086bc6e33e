/*
 * unexplained: what is said of a trace of which a report has nothing to explain.
 */
#pragma once

struct options;
struct recorded_path;

/* A trace without switches has nothing to explain: says who could record them, and what there is
 * instead. */
void unexplained_say(const struct recorded_path *path, const struct options *options);
