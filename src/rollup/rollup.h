/*
 * rollup: adds up short windows to long ones.
 *
 * With --trigger-interval the engine's windows are shorter than those that are printed, since
 * triggers are evaluated more often.
 *
 *     engine    | w0 | w1 | w2 | w3 | w4 | w5 | total
 *     shown     |      W0      |      W1      | total
 *
 * Sums, maxima, histograms and the longest instances of a long window are exact.  Priorities and
 * figures at the end of a window are those of the last short window that has them.  Names and
 * processes are what is known at the end, if the short windows have report_view; else those of the
 * last short window in which the row is, and a process whose pid becomes known within a long window
 * has two rows in it.
 *
 * A rollup serves one trace, or joins windows of several traces.  Reports that it shows point into
 * it, and are valid until the next call.
 */
#pragma once

#include "base/account.h"
#include "engine/tables/report.h"

struct rollup;

/* @interval_ns: of the long windows, for rollup_report().  @top: rows of each list that are shown;
 * 0: all.  @places: rows of processes say which container they are in. */
struct rollup *rollup_new(uint64_t interval_ns, size_t top, const struct selection *selection,
			  bool places);
void rollup_free(struct rollup *rollup); /* NULL is fine */

/* Adds @report and calls @show for each report that is complete: a long window; with a total, the
 * window that was begun, then the total.  A @rollup of NULL shows each report as it comes. */
typedef void rollup_show(void *user, const struct report *report);
void rollup_report(struct rollup *rollup, const struct report *report, rollup_show *show,
		   void *user);

/* ---- the same step by step, where the caller knows which windows belong together ---- */

/* From now on windows are of several traces at one time.  Rows of threads, processes, containers
 * and CPUs stay apart; those of names and numbers are added up. */
void rollup_join(struct rollup *rollup);
/* From now on rows are taken from the account (ACCOUNT_ROWS), which must outlive the rollup.  When
 * it is full, threads that did nothing for longest have no rows of their own any more: there is one
 * for each name and container, without a tid and a pid.  Reports have no views. */
void rollup_bound(struct rollup *rollup, struct account *account);
/* How many rows were put together so. */
uint64_t rollup_ended(const struct rollup *rollup);
/* Adds a window.  @source: the number of its trace from 1, when joining; else 0. */
void rollup_add(struct rollup *rollup, const struct report *window, uint32_t source);
/* The long window, which is over; NULL: none was begun. */
const struct report *rollup_take(struct rollup *rollup);
