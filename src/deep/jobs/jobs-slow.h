/*
 * jobs-slow: what the slow executions of a job had more of than the others (doc/definitions.md,
 * 6.2).
 *
 *     all, longest first:   slow tenth | the rest
 *     each of them          states, threads that had its CPU, calls that it slept in ── sums
 *     the difference of the means of each part, largest first
 */
#ifndef SILLAGE_DEEP_JOBS_SLOW_H
#define SILLAGE_DEEP_JOBS_SLOW_H

#include "deep/jobs/jobs.h"

enum jobs_slow_kind {
	JOBS_SLOW_STATE, /* time in a state */
	JOBS_SLOW_RIVAL, /* time in which a thread had the CPU that the execution waited for */
	JOBS_SLOW_CALL,  /* time asleep in a call */
};

struct jobs_slow_part {
	uint8_t kind;
	enum state state;          /* JOBS_SLOW_STATE; STATE_USER stands for all that run */
	uint32_t rival;            /* JOBS_SLOW_RIVAL: a thread */
	const char *call;          /* JOBS_SLOW_CALL: its name; NULL: none */
	uint64_t slow_ns, rest_ns; /* sums */
	double more_ns;            /* the mean of the slow ones less that of the rest */
};

struct jobs_slow {
	size_t slow, rest;    /* how many; 0: there are too few */
	uint64_t shortest_ns; /* of the slow ones */
	/* Those that the slow ones had more of, most of that first. */
	VEC(struct jobs_slow_part) parts;
};

/* Fewer executions than this have no slow tenth. */
#define JOBS_SLOW_LEAST 10

void jobs_slow_find(const struct jobs *jobs, const struct timeline *timeline,
		    struct jobs_slow *slow);
void jobs_slow_fini(struct jobs_slow *slow);

#endif
