/*
 * found: jobs that the threads of a trace execute again and again, for `report` and `top`.
 *
 *     report --discover   of a recorded trace, with its report
 *     top                 of the last packets of a live session, which a capture holds
 */
#pragma once

#include "cmd/cmd.h"
#include "deep/report/report.h"
#include "discovery/discovery.h"
#include "options/options.h"
#include "output/sink.h"

/* Finds the jobs of a report's trace (--discover): of --thread, or of those that discovery chooses.
 * -errno with the reason. */
int found_search(const struct options *options, const struct reader_setup *setup,
		 const struct timeline *timeline, struct discovery *ret, struct err *err);

/* Whether the trace is no kernel's. */
bool found_is_of_programs(const struct recorded_path *path);
/* The same of the loops and requests of a trace that is no kernel's, printed as text or JSON.
 * Returns the exit status; EXIT_USAGE: the trace is a kernel's, or the format has no place for it.
 */
int found_programs(const struct options *options, const struct recorded_path *path,
		   const struct output *output);

/* The rows of a page; the caller frees them.  They borrow from @discovery.  @top: of each thread;
 * 0: all. */
struct report_found *found_rows(const struct discovery *discovery, size_t top, size_t *ret_count);

/* What the traces in the directory show, as text for people, which the caller frees.  It takes
 * seconds at most; it ends early once @stop is set. */
char *found_in_capture(const char *path, const atomic_bool *stop);
