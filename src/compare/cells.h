/*
 * cells: a comparison as people read it: sections, and the cells of each change.
 */
#pragma once

#include "compare/compare.h"
#include "output/format.h"

struct cells_section {
	const char *title;
	enum change_kind kind;
	enum unit unit; /* of CHANGE_RATE */
	bool rests;     /* of CHANGE_RATE and CHANGE_SPREAD: change_rests() */
};

#define CELLS_SECTIONS 7
extern const struct cells_section cells_sections[CELLS_SECTIONS];

bool cells_is_in(const struct cells_section *section, const struct change *change);
/* Whether the change tells something: figures differ, and both sides can have them. */
bool cells_tells(const struct change *change);
/* Whether it is of a list that says again what another one says: of processes, that of threads; of
 * the descriptors of processes, that of files. */
bool cells_is_again(const struct change *change);

struct cells_values {
	char a[CELL_MAX], b[CELL_MAX], difference[CELL_MAX + 1], change[CELL_MAX];
};

/* "+12.3 %", "new" for INFINITY, "-" for NAN. */
void cells_change(char text[CELL_MAX], double change);
/* Of a distribution: of its sum. */
void cells_values(const struct change *change, struct cells_values *ret);

/* Of a distribution. */
#define CELLS_PARTS 7
struct cells_spread {
	char parts[2][CELLS_PARTS][CELL_MAX]; /* A, B */
	char distance[CELL_MAX];              /* "D 0.123, p 0.0410" */
};
extern const char *const cells_parts[CELLS_PARTS]; /* "COUNT", ... */

void cells_spread(const struct comparison *comparison, const struct change *change,
		  struct cells_spread *ret);

/* What is said where no row is: that nothing differs, or that nothing was compared. */
const char *cells_nothing(const struct comparison *comparison);
/* Whether it is worth telling: what neither side has can change nothing, unless it was asked for.
 */
bool cells_lacks(const struct comparison *comparison, const struct unmeasured *one);
/* "A", "B", "A and B" */
const char *cells_who_lacks(const struct unmeasured *one);

/* "1 trace from 2026-01-01T00:00:00Z, 3.2 s"; from malloc(). */
char *cells_side(const struct profile *profile);
