/*
 * pace: whether times come in regular distances, and in which.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_VARIATION_MAX 0.5

struct pace {
	uint64_t period_ns; /* median of the distances */
	uint64_t jitter_ns; /* median distance from it */
	double variation;   /* standard deviation by mean of the distances */
	/* Three of four distances are a multiple of the period, within an eighth of it; none is so
	 * long that variation passes PACE_VARIATION_MAX; and the period is that of all, too. */
	bool is_regular;
	/* is_regular: the period by all times together, as round as they allow. */
	uint64_t every_ns;
	/* The same whatever the variation; 0: of no steady pace.  A loop whose turns take too long
	 * now and then, and which makes up for it, has one. */
	uint64_t steady_ns;
	/* steady_ns: what was late by a period or more was followed by as many times as it had
	 * missed, until one was on time again; nowhere were times left out. */
	bool catches_up;
};

/* Of two times at least, which ascend. */
struct pace pace_of(const uint64_t *times, size_t count);
