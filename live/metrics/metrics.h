/*
 * metrics: the sums of all windows reported so far, as Prometheus and others read them.
 *
 * Per trace and row it adds windows up to counters.  Distributions of a trace are histograms whose
 * classic buckets are at most 25 % wide, those of rows have powers of two.  Threads come and go, so
 * rows of processes are added up by name, their distributions as sum and count.
 *
 * Memory is bounded, and so are the series that a client has to store.  Of traces that are not
 * followed any more the METRICS_ENDED_MAX with the newest windows stay.  Beyond METRICS_SERIES_MAX
 * series of a table, or METRICS_NAMES_MAX names, further rows are added to one row {other="all"}.
 * Of names those are shown that had most lately; the others keep their sums.  Rows of paths are
 * left out.
 *
 *     full     all of that
 *     small    figures that text shows: those of traces, one distribution with its buckets, and the
 *              first rows of few lists; a trace has at most METRICS_SMALL_SERIES series
 *
 * Besides, it says what the program does: triggers that fired, captures, relays.
 */
#pragma once

#include "engine/tables/report.h"
#include "output/sink.h"

struct metrics;

enum metrics_profile { METRICS_FULL, METRICS_SMALL };

struct metrics *metrics_new(enum metrics_profile profile);
void metrics_free(struct metrics *metrics); /* NULL is fine */

/* Adds a window; other reports are ignored. */
void metrics_add(struct metrics *metrics, const struct trace_identity *trace,
		 const struct report *report);
/* The trace is followed from now on, or not any more. */
void metrics_follow(struct metrics *metrics, const struct trace_identity *trace, bool is_followed);

/* Adds windows, and counts triggers and captures; the state is a struct metrics. */
extern const struct sink sink_metrics;

/* What the program does, by family; `of` is a trigger's name, a relay or a state;
 * "": the family has one. */
enum metrics_own {
	METRICS_TRIGGERS_FIRED,
	METRICS_OBJECTIVE_WINDOWS,
	METRICS_OBJECTIVE_BAD,
	METRICS_OBJECTIVE_SHARE, /* in 1e-9 */
	METRICS_CAPTURES_WRITTEN,
	METRICS_CAPTURES_FAILED,
	METRICS_RELAY_UP,
	METRICS_STORE_WINDOWS,
	METRICS_OWN_FAMILIES
};
/* The second does nothing if @metrics is NULL.  Adding 0 shows the counter. */
void metrics_own_add(struct metrics *metrics, enum metrics_own family, const char *of, uint64_t by);
void metrics_own_set(struct metrics *metrics, enum metrics_own family, const char *of,
		     uint64_t value);

/* All figures, from malloc(): the text format 0.0.4, or OpenMetrics 1.0.0. */
char *metrics_text(const struct metrics *metrics, bool is_open_metrics, size_t *ret_len);
/* The same as messages of io.prometheus.client.MetricFamily, each behind its length as a varint.
 * Histograms have native buckets, too (metrics-protobuf.c). */
char *metrics_protobuf(const struct metrics *metrics, size_t *ret_len);
