/*
 * metrics: the sums of all windows reported so far, as Prometheus and others read them.
 *
 * Per trace and row it adds windows up to counters; distributions become histograms whose buckets
 * are powers of two.  Threads come and go, so they are not added up: the text shows the first
 * METRICS_THREADS of each list of the last window, as gauges.
 *
 * Memory is bounded, and so are the series that a client has to store.  Beyond METRICS_TRACES_MAX
 * traces, one that has ended is removed; windows of traces for which there is no room are counted.
 * Beyond METRICS_SERIES_MAX series of a table, further rows are added to one row {other="all"}.
 * Rows of paths are left out.
 *
 * Besides, it says what the program does: triggers that fired, captures, relays.
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

/* Adds windows, and counts triggers and captures; the state is a struct metrics. */
extern const struct sink sink_metrics;

/* What the program does, by family; `of` is a trigger's name, a relay or a state;
 * "": the family has one. */
enum metrics_own {
	METRICS_TRIGGERS_FIRED,
	METRICS_CAPTURES_WRITTEN,
	METRICS_CAPTURES_FAILED,
	METRICS_RELAY_UP,
	METRICS_STORE_WINDOWS,
	METRICS_LEFT_OUT,
	METRICS_OWN_FAMILIES
};
/* The second does nothing if @metrics is NULL.  Adding 0 shows the counter. */
void metrics_own_add(struct metrics *metrics, enum metrics_own family, const char *of, uint64_t by);
void metrics_own_set(struct metrics *metrics, enum metrics_own family, const char *of,
		     uint64_t value);

/* Windows of traces for which there is no room; 0 for NULL. */
uint64_t metrics_left_out(const struct metrics *metrics);

/* All figures, from malloc(): the text format 0.0.4, or OpenMetrics 1.0.0. */
char *metrics_text(const struct metrics *metrics, bool is_open_metrics, size_t *ret_len);
/* The same as messages of io.prometheus.client.MetricFamily, each behind its length as a varint.
 * Histograms have native buckets, too (metrics-protobuf.c). */
char *metrics_protobuf(const struct metrics *metrics, size_t *ret_len);

#endif
