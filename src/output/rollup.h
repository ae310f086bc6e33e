/*
 * gather: windows put together to longer ones: triggers are looked at in windows that are shorter
 * than those that are printed (--trigger-interval).
 *
 * Sums, greatest values, distributions and the longest are exact.  Names, priorities and figures as
 * of the end of a window are those of the last short window that has them; so a process that
 * becomes known within a window is two rows in it.
 */
#ifndef SILLAGE_OUTPUT_ROLLUP_H
#define SILLAGE_OUTPUT_ROLLUP_H

#include "engine/tables/report.h"

/* Of one trace. */
struct rollup;

/* @interval_ns of the long windows; @top rows of each list will be looked at, 0: all. */
struct rollup *rollup_new(uint64_t interval_ns, size_t top, const struct selection *selection);
void rollup_free(struct rollup *rollup); /* NULL is fine */

/* Calls @show with what @report completes: a long window, or a total and what was begun before.  A
 * @gather of NULL has none to put together: all are shown as they come. */
typedef void rollup_show(void *user, const struct report *report);
void rollup_report(struct rollup *rollup, const struct report *report, rollup_show *show,
		   void *user);

#endif
