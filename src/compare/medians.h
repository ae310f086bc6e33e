/*
 * medians: what figures usually are, from the same hour of several days.
 *
 *     the hour of a day, as one report ──► a value of each figure and row ──► their median
 *
 * Rows are found by name (figure/fold.h).  A sum is per second, or a share.  A row that a day
 * does not have has the sum 0 there, and no maximum, level or percentile.
 */
#pragma once

#include "engine/tables/report.h"
#include "figure/figure.h"

struct medians;

/* Of these figures, which outlive it. */
struct medians *medians_new(const struct figure_list *figures);
void medians_free(struct medians *medians); /* NULL is fine */

/* Adds a day, of BASELINE_DAYS_MAX at most.  @hour: all of it, with begin and end as far apart as
 * the time that is covered. */
void medians_add_day(struct medians *medians, const struct report *hour);
/* When all are added. */
void medians_end(struct medians *medians);

/* The days that have the figure at all. */
unsigned int medians_days(const struct medians *medians, const struct figure *figure);
/* The days whose values of the row count, and their median; NAN: they are less than
 * BASELINE_DAYS_MIN. */
unsigned int medians_find(const struct medians *medians, const struct figure *figure,
			  const char *name, double *ret);
/* Rows that were left out, because there are more than BASELINE_ROWS_MAX. */
uint64_t medians_left_out(const struct medians *medians, const struct figure *figure);
