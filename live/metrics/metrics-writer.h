/*
 * metrics-writer: how figures become bytes: text (metrics-text.c) or protobuf messages
 * (metrics-protobuf.c).  metrics-families.c says which figures there are.
 *
 *     family, its samples, family, its samples, ...
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct histogram;
struct metrics;

/* A summary has no quantiles: it is a sum and a count. */
enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM, METRICS_SUMMARY };

/* Names and values as metrics_add_label() writes them; NULL or "": none. */
struct metrics_labels {
	const char *trace, *row;
};

/* The largest values of classic buckets, in ns, from 1 us to 34 s.  Each is that of one of
 * sillage's buckets, so that counts are exact. */
#define METRICS_BOUNDS_MAX 100
struct metrics_bounds {
	unsigned int count;
	uint64_t at[METRICS_BOUNDS_MAX];
};

struct metrics_writer {
	/* All samples up to the next family belong to it.  @name: without "_total". */
	void (*family)(struct metrics_writer *writer, const char *name, enum metrics_type type,
		       const char *help);
	/* @is_ns: shown in seconds. */
	void (*number)(struct metrics_writer *writer, const struct metrics_labels *labels,
		       uint64_t value, bool is_ns);
	void (*real)(struct metrics_writer *writer, const struct metrics_labels *labels,
		     double value);
	/* @histogram: of nanoseconds; NULL: empty.  @bounds: of a histogram's family; of a
	 * summary's NULL. */
	void (*histogram)(struct metrics_writer *writer, const struct metrics_labels *labels,
			  const struct histogram *histogram, const struct metrics_bounds *bounds);
};

/* Writes all figures. */
void metrics_families(const struct metrics *metrics, struct metrics_writer *writer);

/* How many values are not above each bound; larger ones are in no bucket.  NULL: all are 0. */
void metrics_cumulate(const struct histogram *histogram, const struct metrics_bounds *bounds,
		      uint64_t ret[METRICS_BOUNDS_MAX]);
