/*
 * compare: what differs between two profiles.
 *
 *     profile A ──┐
 *     profile B ──┴─► comparison: changes, what is not measured ──► text, JSON, limits
 *
 * Sums are compared per second of covered time.  Maxima, and levels at the end of a window, are
 * compared as they are.  Distributions are compared by their sum per second, their percentiles, and
 * by Kolmogorov and Smirnov's distance.  What costs most time or bytes comes first.
 *
 * A figure that is not known on one side has no value there (NAN), and is never 0.
 */
#pragma once

#include "compare/profile.h"
#include "figure/figure.h"

enum change_kind { CHANGE_RATE, CHANGE_LEVEL, CHANGE_SPREAD };

struct change {
	const struct analysis *analysis;
	const struct table *table;
	unsigned int column;
	const char *name; /* of the row; "": the trace */
	enum change_kind kind;
	bool is_in[2];   /* whether A, and B, have the row */
	double value[2]; /* per second, or the level; of a distribution its sum; NAN: not known */
	const struct spread *spread[2]; /* CHANGE_SPREAD; NULL: not known */
	bool has_distance;
	double distance, probability;
	double cost; /* what is sorted by: the difference of the values, without sign */
};

/* A figure that one side, or none, has. */
struct unmeasured {
	const struct analysis *analysis;
	const struct table *table;
	uint16_t columns; /* bit by bit */
	bool lacks[2];
	const char *why; /* "not recorded" */
};

struct comparison {
	const struct profile *side[2];
	const struct analysis *const *list; /* what is compared; the profiles may have more */
	VEC(struct change) changes;         /* by unit, then by cost */
	VEC(struct unmeasured) unmeasured;
	uint64_t phases[2]; /* the numbers of those that both sides are; 0: they are whole runs */
	bool is_asked;      /* what neither side has is wanted by name */
	size_t compared;    /* figures of lists, and of traces, that both sides have */
};

/* Compares the tables of @list (ends with NULL) that @per shows.  @is_asked: the user
 * named these analyses, so what neither side has of them is not compared, too.  The profiles and
 * the list must outlive the comparison. */
void compare(const struct profile *a, const struct profile *b, const struct analysis *const *list,
	     bool is_asked, enum per per, struct comparison *ret);
void comparison_fini(struct comparison *comparison);
/* Whether the table is compared. */
bool compare_wants(enum per per, const struct table *table);

/* Whether something of it differs. */
bool change_differs(const struct change *change);
/* Whether it is time in which nothing ran, or nothing is known: it costs nothing. */
bool change_rests(const struct change *change);
/* What its values are; of a distribution: of its sum. */
enum unit change_unit(const struct change *change);
/* Of a distribution per second, percentiles as they are; NAN: not known. */
double change_part(const struct comparison *comparison, const struct change *change, int side,
		   enum histogram_part part);
/* The change of B against A, 0.2: a fifth more; NAN: not known, or none: A is 0.  INFINITY: A is 0,
 * B is not. */
double change_relative(double a, double b);
/* A figure of the row of this name: a share, per second, or as it is; NAN: not known. */
double compare_figure(const struct comparison *comparison, const struct figure *figure,
		      const char *name, int side);
/* As limits name it: "cpu.threads[comm=redis].run_ns"; from malloc(). */
char *change_figure(const struct change *change);
