/*
 * executions-slow: what the slow executions of a job had more of than the others
 * (doc/definitions.md, 6.2).
 *
 *     all, longest first:   slow tenth | the rest
 *     each of them          states, threads that had its CPU, calls that it slept in ── sums
 *     the difference of the means of each part, largest first
 */
#pragma once

#include "deep/executions/executions.h"

enum executions_slow_kind {
	EXECUTIONS_SLOW_STATE, /* time in a state */
	EXECUTIONS_SLOW_RIVAL, /* time in which a thread had the CPU that the execution waited for
				*/
	EXECUTIONS_SLOW_CALL,  /* time asleep in a call */
};

struct executions_slow_part {
	uint8_t kind;
	enum state state;          /* EXECUTIONS_SLOW_STATE; STATE_USER stands for all that run */
	uint32_t rival;            /* EXECUTIONS_SLOW_RIVAL: a thread */
	const char *call;          /* EXECUTIONS_SLOW_CALL: its name; NULL: none */
	uint64_t slow_ns, rest_ns; /* sums */
	double more_ns;            /* the mean of the slow ones less that of the rest */
};

struct executions_slow {
	size_t slow, rest;    /* how many; 0: there are too few */
	uint64_t shortest_ns; /* of the slow ones */
	/* Those that the slow ones had more of, most of that first. */
	VEC(struct executions_slow_part) parts;
};

/* Fewer executions than this have no slow tenth. */
#define EXECUTIONS_SLOW_LEAST 10

void executions_slow_find(const struct executions *executions, const struct timeline *timeline,
			  struct executions_slow *slow);
void executions_slow_fini(struct executions_slow *slow);
