/*
 * stats: what the engine did, and what it cost (--stats).
 *
 * Times are processor time.  `map` and `merge` are spread over the workers; the rest is the
 * front's, which is one thread: its share bounds what more workers can give.
 */
#ifndef SILLAGE_ENGINE_STATS_H
#define SILLAGE_ENGINE_STATS_H

#include <stdbool.h>

#include "base/histogram.h"
#include "engine/pool.h"

struct stats {
	uint64_t job_ns[JOB_KINDS], jobs[JOB_KINDS]; /* of workers, or in their place */
	uint64_t coordinator_ns; /* the front's part of merging: seams, small rounds, windows */
	uint64_t emit_ns;        /* reports: sorting, formatting, writing */
	uint64_t windows;
	bool jobs_are_coordinator;   /* there are no workers */
	uint64_t jobs_max, held_max; /* jobs not done, bytes held: the most there ever were */
	struct histogram *lag;       /* of live windows, ns; NULL: none */
};

void stats_fini(struct stats *stats);

/* Prints a few lines through @say; @wall_ns of the run, @events and @bytes of it. */
void stats_print(const struct stats *stats, uint64_t events, uint64_t packets, uint64_t bytes,
		 uint64_t wall_ns, void (*say)(const char *fmt, ...));

#endif
