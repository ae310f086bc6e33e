/*
 * phases-state: what phases.c and phases-codec.c share.
 */
#pragma once

#include "base/mem.h"
#include "phases/phases.h"
#include "phases/rolling.h"

#define PHASES_COLUMNS 3
#define PHASES_ENDS    (ROLLING_SLICES + 1)

struct phases_series {
	char *name;
	bool is_share, is_counterpart;
	enum unit unit; /* of a rate */
	double scale;   /* a power of two that its values are divided by; 0: none came */
	double sum;     /* over the phase that goes on, of divided values */
	double value;   /* in the window that is being taken */
};

/* A begin of a suggested part, and how often it was one, slice after slice. */
struct phases_cut {
	uint64_t slice, stayed;
};

struct phases {
	struct rolling *rolling;
	VEC(struct phases_series) series;
	/* ns: of the slices held and the one before, by their number. */
	uint64_t ends[PHASES_ENDS];
	VEC(struct phases_cut) cuts;
	bool has_cpus;
	uint64_t number;     /* of the phase that goes on; 0: no window came */
	uint64_t first;      /* its first slice */
	uint64_t begin, end; /* ns: since when it goes on, and the end of the last window */
	uint64_t change;     /* what changed most when it began: a series and 1; 0: nothing */
	double before;       /* its mean before */
	uint64_t changes;    /* known so far */
	uint64_t known;      /* of them those since phases_rest() */
	VEC(struct phase_record) records; /* of the last report; each owns its means */
	size_t told;                      /* of them, before the one of phases_kept() */
	uint64_t figures[PHASES_COLUMNS];
	struct report_row row; /* has the figures */
};
