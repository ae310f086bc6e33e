/*
 * stats: what the engine did, and its cost in CPU time (--stats).
 *
 * Worker and merger jobs run in parallel.  The rest is the coordinator's, one thread: its share
 * limits what more workers can gain.
 */
#pragma once

#include <stdbool.h>

#include "base/histogram.h"
#include "engine/pool.h"

struct stats {
	uint64_t job_ns[JOB_KINDS], jobs[JOB_KINDS]; /* wherever they ran */
	uint64_t coordinator_ns; /* its merging: CPU stitching, small rounds, windows */
	uint64_t emit_ns;        /* reports: sorting, formatting, writing */
	uint64_t windows;
	bool jobs_are_coordinator;   /* no workers: jobs ran there, too */
	uint64_t jobs_max, held_max; /* peaks: jobs in the pool, bytes in memory */
	uint64_t turn_ns;            /* of a live run: the longest turn of its loop; 0: none */
	struct histogram *lag;       /* ns, of live windows; NULL: no window had any */
};

void stats_fini(struct stats *stats);

/* Prints a few lines through @say.  @events, @packets and @bytes: of the run, which took @wall_ns.
 */
void stats_print(const struct stats *stats, uint64_t events, uint64_t packets, uint64_t bytes,
		 uint64_t wall_ns, void (*say)(const char *fmt, ...));
