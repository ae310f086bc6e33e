/*
 * metrics-text: metrics as text.
 *
 * Formats: prometheus.io/docs/instrumenting/exposition_formats and the OpenMetrics specification
 * 1.0.0.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/histogram.h"
#include "live/metrics/metrics-writer.h"
#include "live/metrics/metrics.h"

struct metrics_text {
	struct metrics_writer writer; /* the first */
	FILE *out;
	bool is_open_metrics;
	char name[160]; /* of the family */
	enum metrics_type type;
};

/* Both formats require the type first, then all samples of the family together. */
static void put_family(struct metrics_writer *writer, const char *name, enum metrics_type type,
		       const char *help)
{
	static const char *const types[] = { "counter", "gauge", "histogram", "summary" };
	struct metrics_text *t = (struct metrics_text *)writer;
	const char *suffix = !t->is_open_metrics && type == METRICS_COUNTER ? "_total" : "";

	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	t->type = type;
	(void)fprintf(t->out, "# TYPE %s%s %s\n# HELP %s%s %s\n", name, suffix, types[type], name,
		      suffix, help);
}

static void put_name(const struct metrics_text *t, const char *suffix,
		     const struct metrics_labels *labels, const char *more)
{
	const char *parts[] = { labels->trace, labels->row, more };
	char before = '{';

	(void)fprintf(t->out, "%s%s", t->name, suffix);
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		if (parts[i] && parts[i][0]) {
			(void)fprintf(t->out, "%c%s", before, parts[i]);
			before = ',';
		}
	}
	(void)fputs(before == ',' ? "} " : " ", t->out);
}

static void put_value(const struct metrics_text *t, uint64_t value, bool is_ns)
{
	if (is_ns) {
		(void)fprintf(t->out, "%.9f\n", (double)value / 1e9);
	} else {
		(void)fprintf(t->out, "%" PRIu64 "\n", value);
	}
}

static void put_number(struct metrics_writer *writer, const struct metrics_labels *labels,
		       uint64_t value, bool is_ns)
{
	const struct metrics_text *t = (const struct metrics_text *)writer;

	put_name(t, t->type == METRICS_COUNTER ? "_total" : "", labels, NULL);
	put_value(t, value, is_ns);
}

static void put_real(struct metrics_writer *writer, const struct metrics_labels *labels,
		     double value)
{
	const struct metrics_text *t = (const struct metrics_text *)writer;

	put_name(t, "", labels, NULL);
	(void)fprintf(t->out, "%.9f\n", value);
}

static void put_histogram(struct metrics_writer *writer, const struct metrics_labels *labels,
			  const struct histogram *histogram, const struct metrics_bounds *bounds)
{
	const struct metrics_text *t = (const struct metrics_text *)writer;
	uint64_t counts[METRICS_BOUNDS_MAX], count = histogram ? histogram->count : 0;
	char bound[48];

	assert(!bounds == (t->type == METRICS_SUMMARY));
	if (bounds) {
		metrics_cumulate(histogram, bounds, counts);
		for (unsigned int i = 0; i < bounds->count; i++) {
			(void)snprintf(bound, sizeof(bound), "le=\"%.9f\"",
				       (double)bounds->at[i] / 1e9);
			put_name(t, "_bucket", labels, bound);
			put_value(t, counts[i], false);
		}
		put_name(t, "_bucket", labels, "le=\"+Inf\"");
		put_value(t, count, false);
	}
	put_name(t, "_sum", labels, NULL);
	put_value(t, histogram ? histogram->sum : 0, true);
	put_name(t, "_count", labels, NULL);
	put_value(t, count, false);
}

char *metrics_text(const struct metrics *metrics, bool is_open_metrics, size_t *ret_len)
{
	struct metrics_text t = { .writer = { .family = put_family,
					      .number = put_number,
					      .real = put_real,
					      .histogram = put_histogram },
				  .is_open_metrics = is_open_metrics };
	char *text = NULL;

	t.out = open_memstream(&text, ret_len);
	metrics_families(metrics, &t.writer);
	if (is_open_metrics) {
		(void)fputs("# EOF\n", t.out);
	}
	(void)fclose(t.out);
	return text;
}
