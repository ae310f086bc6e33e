/*
 * metrics: the sums of all windows reported so far, as Prometheus and others read them.
 *
 * Per trace and row it adds windows up to counters; distributions become histograms whose buckets
 * are powers of two.  Threads come and go, so they are not added up: the text shows the first
 * METRICS_THREADS of each list of the last window, as gauges.
 *
 * Memory is bounded.  Beyond METRICS_TRACES_MAX traces, the one without a window for the longest
 * time is removed.  Beyond METRICS_ROWS_MAX rows of a table, further rows are added to one row
 * {other="all"}.
 */
#ifndef SILLAGE_LIVE_METRICS_H
#define SILLAGE_LIVE_METRICS_H

#include "engine/tables/report.h"
#include "output/sink.h"

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics); /* NULL is fine */

/* Adds a window; other reports are ignored. */
void metrics_add(struct metrics *metrics, const struct trace_identity *trace,
		 const struct report *report);

/* The whole text, from malloc(), in the text format 0.0.4 or as OpenMetrics 1.0.0. */
char *metrics_text(const struct metrics *metrics, bool is_open_metrics);

#endif
