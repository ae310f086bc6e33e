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

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

/* Names and values as metrics_add_label() writes them; NULL or "": none. */
struct metrics_labels {
	const char *trace, *row;
};

/* Histograms in powers of two: the bounds of 2^10 ns (1 us) to 2^35 ns (34 s), less 1 ns. */
#define METRICS_POWER_FIRST 10
#define METRICS_POWERS      26

struct metrics_writer {
	/* All samples up to the next family belong to it.  @name: without "_total". */
	void (*family)(struct metrics_writer *writer, const char *name, enum metrics_type type,
		       const char *help);
	/* @is_ns: shown in seconds. */
	void (*number)(struct metrics_writer *writer, const struct metrics_labels *labels,
		       uint64_t value, bool is_ns);
	void (*real)(struct metrics_writer *writer, const struct metrics_labels *labels,
		     double value);
	/* @histogram: of nanoseconds; NULL: empty. */
	void (*histogram)(struct metrics_writer *writer, const struct metrics_labels *labels,
			  const struct histogram *histogram);
};

/* Writes all figures. */
void metrics_families(const struct metrics *metrics, struct metrics_writer *writer);

/* The values up to each bound, METRICS_POWERS of them; larger ones are in no bucket.  NULL: all
 * are 0. */
void metrics_powers(const struct histogram *histogram, uint64_t ret[METRICS_POWERS]);
/* The bound number @i, in seconds. */
double metrics_power_bound(unsigned int i);
