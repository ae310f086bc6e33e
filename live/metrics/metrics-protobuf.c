/*
 * metrics-protobuf: metrics as messages of io.prometheus.client (prometheus.proto), each behind its
 * length.
 *
 * Histograms have the classic buckets of the text and Prometheus' native ones: 2^METRICS_SCHEMA for
 * each power of two, in seconds.  The bounds of both kinds of buckets differ, so all values of one
 * of sillage's buckets count where its end does, or the maximum if that is less.  A quantile is
 * therefore in the native bucket that has the percentile which sillage prints, at most 4.5 % from
 * it.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/histogram.h"
#include "base/mem.h"
#include "base/vec.h"
#include "live/metrics/metrics-writer.h"
#include "live/metrics/metrics.h"
#include "prometheus.pb-c.h"

#define METRICS_SCHEMA 4
#define ZERO_UNTIL     0x1p-128 /* seconds; it also says that the histogram is a native one */

typedef Io__Prometheus__Client__MetricFamily family_message;
typedef Io__Prometheus__Client__Metric metric_message;
typedef Io__Prometheus__Client__Histogram histogram_message;
typedef Io__Prometheus__Client__Summary summary_message;
typedef Io__Prometheus__Client__LabelPair label_message;
typedef Io__Prometheus__Client__Bucket bucket_message;
typedef Io__Prometheus__Client__BucketSpan span_message;

struct protobuf {
	struct metrics_writer writer; /* the first */
	FILE *out;
	struct arena arena; /* has all messages of the family */
	bool has_family;
	family_message family;
	VEC(metric_message *) metrics;
};

/* ---- families ---- */

static void put_length(FILE *out, size_t length)
{
	for (; length >= 0x80; length >>= 7) {
		(void)fputc((int)(length & 0x7F) | 0x80, out);
	}
	(void)fputc((int)length, out);
}

/* One without samples is left out. */
static void end_family(struct protobuf *p)
{
	const ProtobufCMessage *message = &p->family.base;

	if (p->has_family && p->metrics.count > 0) {
		size_t size;
		uint8_t *bytes;

		p->family.metric = p->metrics.at;
		p->family.n_metric = p->metrics.count;
		size = protobuf_c_message_get_packed_size(message);
		bytes = mem_alloc(size);
		(void)protobuf_c_message_pack(message, bytes);
		put_length(p->out, size);
		(void)fwrite(bytes, 1, size, p->out);
		free(bytes);
	}
	p->has_family = false;
	p->metrics.count = 0;
	arena_reset(&p->arena);
}

static void put_family(struct metrics_writer *writer, const char *name, enum metrics_type type,
		       const char *help)
{
	static const Io__Prometheus__Client__MetricType types[] = {
		[METRICS_COUNTER] = IO__PROMETHEUS__CLIENT__METRIC_TYPE__COUNTER,
		[METRICS_GAUGE] = IO__PROMETHEUS__CLIENT__METRIC_TYPE__GAUGE,
		[METRICS_HISTOGRAM] = IO__PROMETHEUS__CLIENT__METRIC_TYPE__HISTOGRAM,
		[METRICS_SUMMARY] = IO__PROMETHEUS__CLIENT__METRIC_TYPE__SUMMARY,
	};
	struct protobuf *p = (struct protobuf *)writer;
	char full[192];
	int len =
		snprintf(full, sizeof(full), "%s%s", name, type == METRICS_COUNTER ? "_total" : "");

	end_family(p);
	p->has_family = true;
	p->family = (family_message)IO__PROMETHEUS__CLIENT__METRIC_FAMILY__INIT;
	p->family.name = arena_strndup(&p->arena, full, (size_t)len);
	p->family.help = arena_strndup(&p->arena, help, strlen(help));
	p->family.has_type = true;
	p->family.type = types[type];
}

/* ---- labels ---- */

/* Takes name="value" apart, in which \ is before " and \.  Returns what follows. */
static const char *take_label(struct protobuf *p, const char *text, label_message *ret)
{
	size_t name = strcspn(text, "="), len = 0;
	const char *at = text + name + 2;
	char *value = arena_alloc(&p->arena, strlen(text) + 1);

	for (; *at != '"'; at++) {
		assert(*at);
		at += *at == '\\';
		value[len++] = *at;
	}
	*ret = (label_message)IO__PROMETHEUS__CLIENT__LABEL_PAIR__INIT;
	ret->name = arena_strndup(&p->arena, text, name);
	ret->value = value;
	return at + 1;
}

static metric_message *add_metric(struct protobuf *p, const struct metrics_labels *labels)
{
	const char *parts[] = { labels->trace, labels->row };
	metric_message *metric = arena_alloc(&p->arena, sizeof(*metric));
	VEC(label_message *) all = { 0 };

	*metric = (metric_message)IO__PROMETHEUS__CLIENT__METRIC__INIT;
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		for (const char *at = parts[i]; at && *at; at += *at == ',') {
			label_message *label = arena_alloc(&p->arena, sizeof(*label));

			at = take_label(p, at, label);
			*vec_push(&all) = label;
		}
	}
	metric->n_label = all.count;
	metric->label = arena_copy(&p->arena, all.at, all.count * sizeof(all.at[0]));
	vec_fini(&all);
	*vec_push(&p->metrics) = metric;
	return metric;
}

/* ---- numbers ---- */

static void put_real(struct metrics_writer *writer, const struct metrics_labels *labels,
		     double value)
{
	struct protobuf *p = (struct protobuf *)writer;
	metric_message *metric = add_metric(p, labels);

	if (p->family.type == IO__PROMETHEUS__CLIENT__METRIC_TYPE__COUNTER) {
		Io__Prometheus__Client__Counter *counter = arena_alloc(&p->arena, sizeof(*counter));

		*counter = (Io__Prometheus__Client__Counter)IO__PROMETHEUS__CLIENT__COUNTER__INIT;
		counter->has_value = true;
		counter->value = value;
		metric->counter = counter;
	} else {
		Io__Prometheus__Client__Gauge *gauge = arena_alloc(&p->arena, sizeof(*gauge));

		*gauge = (Io__Prometheus__Client__Gauge)IO__PROMETHEUS__CLIENT__GAUGE__INIT;
		gauge->has_value = true;
		gauge->value = value;
		metric->gauge = gauge;
	}
}

static void put_number(struct metrics_writer *writer, const struct metrics_labels *labels,
		       uint64_t value, bool is_ns)
{
	put_real(writer, labels, is_ns ? (double)value / 1e9 : (double)value);
}

/* ---- histograms ---- */

static void put_classic(struct protobuf *p, const struct histogram *from,
			const struct metrics_bounds *bounds, histogram_message *to)
{
	uint64_t counts[METRICS_BOUNDS_MAX];

	metrics_cumulate(from, bounds, counts);
	to->bucket = arena_alloc(&p->arena, bounds->count * sizeof(*to->bucket));
	to->n_bucket = bounds->count; /* that of all is the count */
	for (unsigned int i = 0; i < bounds->count; i++) {
		bucket_message *bucket = arena_alloc(&p->arena, sizeof(*bucket));

		*bucket = (bucket_message)IO__PROMETHEUS__CLIENT__BUCKET__INIT;
		bucket->has_cumulative_count = bucket->has_upper_bound = true;
		bucket->cumulative_count = counts[i];
		bucket->upper_bound = (double)bounds->at[i] / 1e9;
		to->bucket[i] = bucket;
	}
}

/* The native bucket of a time in ns, above 0. */
static int32_t native_index(uint64_t ns)
{
	return (int32_t)ceil(log2((double)ns / 1e9) * (1 << METRICS_SCHEMA));
}

struct native {
	int32_t index;
	uint64_t count;
};

/* The buckets that have values, by index, at most HISTOGRAM_BUCKETS_MAX; zeros are left out. */
static size_t list_native(const struct histogram *from, struct native *ret, uint64_t *ret_zeros)
{
	struct histogram_bucket *buckets = mem_alloc(HISTOGRAM_BUCKETS_MAX * sizeof(*buckets));
	uint32_t used = histogram_list(from, buckets);
	size_t count = 0;

	assert(from || used == 0);
	*ret_zeros = 0;
	for (uint32_t i = 0; i < used; i++) {
		uint64_t end = histogram_end(buckets[i].index);
		uint64_t ns = end < from->max ? end : from->max;
		int32_t index = ns > 0 ? native_index(ns) : 0;

		if (ns == 0) {
			*ret_zeros = buckets[i].count;
		} else if (count > 0 && ret[count - 1].index == index) {
			ret[count - 1].count += buckets[i].count;
		} else {
			assert(count == 0 || ret[count - 1].index < index);
			ret[count++] = (struct native){ index, buckets[i].count };
		}
	}
	free(buckets);
	return count;
}

static void put_native(struct protobuf *p, const struct histogram *from, histogram_message *to)
{
	struct native *list = mem_alloc(HISTOGRAM_BUCKETS_MAX * sizeof(*list));
	size_t count = list_native(from, list, &to->zero_count);
	span_message *span = NULL;

	to->has_schema = to->has_zero_threshold = to->has_zero_count = true;
	to->schema = METRICS_SCHEMA;
	to->zero_threshold = ZERO_UNTIL;
	to->positive_delta = arena_alloc(&p->arena, (count + 1) * sizeof(*to->positive_delta));
	to->positive_span = arena_alloc(&p->arena, (count + 1) * sizeof(*to->positive_span));
	for (size_t i = 0; i < count; i++) {
		int32_t expected = i > 0 ? list[i - 1].index + 1 : 0;

		if (!span || list[i].index != expected) {
			span = arena_alloc(&p->arena, sizeof(*span));
			*span = (span_message)IO__PROMETHEUS__CLIENT__BUCKET_SPAN__INIT;
			span->has_offset = span->has_length = true;
			span->offset = list[i].index - expected;
			to->positive_span[to->n_positive_span++] = span;
		}
		span->length++;
		to->positive_delta[to->n_positive_delta++] =
			(int64_t)(list[i].count - (i > 0 ? list[i - 1].count : 0));
	}
	free(list);
}

static void put_summary(struct protobuf *p, metric_message *metric, const struct histogram *from)
{
	summary_message *to = arena_alloc(&p->arena, sizeof(*to));

	*to = (summary_message)IO__PROMETHEUS__CLIENT__SUMMARY__INIT;
	to->has_sample_count = to->has_sample_sum = true;
	to->sample_count = from ? from->count : 0;
	to->sample_sum = from ? (double)from->sum / 1e9 : 0;
	metric->summary = to;
}

static void put_histogram(struct metrics_writer *writer, const struct metrics_labels *labels,
			  const struct histogram *histogram, const struct metrics_bounds *bounds)
{
	struct protobuf *p = (struct protobuf *)writer;
	metric_message *metric = add_metric(p, labels);
	histogram_message *to = arena_alloc(&p->arena, sizeof(*to));

	if (!bounds) {
		put_summary(p, metric, histogram);
		return;
	}
	*to = (histogram_message)IO__PROMETHEUS__CLIENT__HISTOGRAM__INIT;
	to->has_sample_count = to->has_sample_sum = true;
	to->sample_count = histogram ? histogram->count : 0;
	to->sample_sum = histogram ? (double)histogram->sum / 1e9 : 0;
	put_classic(p, histogram, bounds, to);
	put_native(p, histogram, to);
	metric->histogram = to;
}

/* ---- all ---- */

char *metrics_protobuf(const struct metrics *metrics, size_t *ret_len)
{
	struct protobuf p = { .writer = { .family = put_family,
					  .number = put_number,
					  .real = put_real,
					  .histogram = put_histogram } };
	char *bytes = NULL;

	p.out = open_memstream(&bytes, ret_len);
	metrics_families(metrics, &p.writer);
	end_family(&p);
	(void)fclose(p.out);
	arena_fini(&p.arena);
	vec_fini(&p.metrics);
	return bytes;
}
