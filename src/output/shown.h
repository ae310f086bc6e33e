/*
 * shown: what of a report is shown, and how.
 *
 * The engine makes all lists of the analyses, in their own order.  What the user wants to see of
 * that (-a, --per, --sort) is chosen here, on the way to a sink, so that no trigger, gate, metric
 * or store sees less for it.
 *
 *     report ──► shown ──► sink
 *        └─────► triggers, metrics, stores, phases
 */
#pragma once

#include "base/arena.h"
#include "figure/by-name.h"
#include "output/sink.h"

struct shown_sums {
	const struct table *table;
	struct by_name rows;
};

struct shown {
	struct report report; /* points into the given one, and into what follows */
	VEC(struct report_table) tables;
	VEC(struct missing_event) missing;
	VEC(struct shown_sums) sums; /* rows that are added up by name */
	struct arena arena; /* rows that the given report does not have as they are shown */
};

/* @shown is zeroed; it is valid as long as @report. */
void shown_init(struct shown *shown, const struct output *output, const struct report *report);
void shown_fini(struct shown *shown);

/* Of text: how many rows of a list are shown, and whether it is left out since nobody asked for
 * it: processes beside their threads, the names of events beside what happened. */
size_t shown_rows(const struct output *output, const struct report *report,
		  const struct report_table *table);
/* Of the same list, of which @shown rows are shown: how many there were.  A list of levels is cut
 * where it is made, so figures of the trace tell (table.counted_by), also of those that have no
 * name, which are not shown. */
size_t shown_all(const struct report *report, const struct report_table *table, size_t shown,
		 uint64_t *ret_unnamed);
bool shown_leaves_out(const struct output *output, const struct report *report,
		      const struct report_table *table);
