/*
 * metrics: what was reported so far, for Prometheus and what else reads its format.
 *
 * Figures of windows are added up to counters; distributions are histograms with powers of two
 * for buckets.  Threads, which come and go, are only shown as they were in the last window, the
 * first METRICS_THREADS of each list.  Served on /metrics, in the text format 0.0.4 or as
 * OpenMetrics 1.0.0, whichever the client prefers.
 */
#ifndef SILLAGE_LIVE_METRICS_SERVER_H
#define SILLAGE_LIVE_METRICS_SERVER_H

#include "base/err.h"
#include "engine/tables/report.h"
#include "output/sink.h"

struct event_base;
struct metrics;

/* Listens on "[HOST]:PORT" (HOST empty: loopback; "[::1]:9100").  NULL with the reason. */
struct metrics *metrics_new(struct event_base *base, const char *address, struct err *err);
void metrics_free(struct metrics *metrics); /* NULL is fine */

void metrics_add(struct metrics *metrics, const struct trace_identity *trace,
		 const struct report *report);

/* The whole text, as it would be served: malloc'ed, to be freed. */
char *metrics_text(const struct metrics *metrics, bool is_open_metrics);

#endif
