/*
 * histogram: see histogram.h.
 */
#include "base/histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SUB_BITS 6
_Static_assert((64 - SUB_BITS + 1) << SUB_BITS <= UINT16_MAX, "an index fits into histogram.few");

uint32_t histogram_index(uint64_t value)
{
	unsigned int top;

	if (value < (1u << SUB_BITS)) {
		return (uint32_t)value;
	}
	top = 63 - (unsigned int)__builtin_clzll(value);
	return ((top - SUB_BITS + 1) << SUB_BITS) +
	       (uint32_t)((value >> (top - SUB_BITS)) - (1u << SUB_BITS));
}

uint64_t histogram_end(uint32_t index)
{
	unsigned int top = (index >> SUB_BITS) + SUB_BITS - 1;
	uint64_t lowest = (index & ((1u << SUB_BITS) - 1)) + (1u << SUB_BITS);

	if (index < (1u << SUB_BITS)) {
		return index;
	}
	return (lowest << (top - SUB_BITS)) + (((uint64_t)1 << (top - SUB_BITS)) - 1);
}

/* ---- few values ---- */

static bool is_few(const struct histogram *histogram)
{
	return !histogram->counts && !histogram->buckets;
}

/* Form few: fills @buckets (HISTOGRAM_FEW of them) in order.  Returns how many it used. */
static uint32_t sort_few(const struct histogram *histogram, struct histogram_bucket *buckets)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < histogram->used; i++) {
		uint32_t at = count;

		while (at > 0 && buckets[at - 1].index > histogram->few[i]) {
			at--;
		}
		if (at > 0 && buckets[at - 1].index == histogram->few[i]) {
			buckets[at - 1].count++;
			continue;
		}
		memmove(buckets + at + 1, buckets + at, (count - at) * sizeof(*buckets));
		buckets[at] = (struct histogram_bucket){ .index = histogram->few[i], .count = 1 };
		count++;
	}
	return count;
}

/* ---- buckets by index ---- */

/* With more buckets an array of counters is usually no larger. */
#define BUCKETS_MAX 48

static void to_buckets(struct histogram *histogram)
{
	histogram->room = HISTOGRAM_FEW;
	histogram->buckets = mem_alloc(histogram->room * sizeof(*histogram->buckets));
	histogram->used = sort_few(histogram, histogram->buckets);
}

/* The position of the bucket @index, or where it has to be inserted. */
static uint32_t place_of(const struct histogram *histogram, uint32_t index)
{
	uint32_t low = 0, high = histogram->used;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (histogram->buckets[middle].index < index) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static void make_room(struct histogram *histogram)
{
	histogram->room *= 2;
	histogram->buckets =
		mem_realloc(histogram->buckets, histogram->room * sizeof(*histogram->buckets));
}

static void insert_bucket(struct histogram *histogram, uint32_t at, uint32_t index, uint64_t count)
{
	if (histogram->used == histogram->room) {
		make_room(histogram);
	}
	memmove(histogram->buckets + at + 1, histogram->buckets + at,
		(histogram->used - at) * sizeof(*histogram->buckets));
	histogram->buckets[at] = (struct histogram_bucket){ .index = index, .count = count };
	histogram->used++;
}

/* ---- all buckets of a range ---- */

/* Extends the range to @index, by whole powers of two, so that it seldom happens. */
static void widen(struct histogram *histogram, uint32_t index)
{
	uint32_t end = histogram->first + histogram->used;
	uint32_t first = index < histogram->first ? index : histogram->first;
	uint64_t *counts;

	end = index >= end ? index + 1 : end;
	first = first >> SUB_BITS << SUB_BITS;
	end = ((end - 1) >> SUB_BITS << SUB_BITS) + (1u << SUB_BITS);
	counts = mem_alloc((end - first) * sizeof(*counts));
	memcpy(counts + (histogram->first - first), histogram->counts,
	       histogram->used * sizeof(*counts));
	free(histogram->counts);
	histogram->counts = counts;
	histogram->first = first;
	histogram->used = end - first;
}

static void to_range(struct histogram *histogram)
{
	struct histogram_bucket *buckets = histogram->buckets;
	uint32_t used = histogram->used;

	assert(used > 0);
	assert(buckets[used - 1].index >= buckets[0].index);
	histogram->first = buckets[0].index;
	histogram->used = buckets[used - 1].index - histogram->first + 1;
	histogram->counts = mem_alloc(histogram->used * sizeof(*histogram->counts));
	for (uint32_t i = 0; i < used; i++) {
		histogram->counts[buckets[i].index - histogram->first] = buckets[i].count;
	}
	free(buckets);
	histogram->buckets = NULL;
}

/* ---- any form ---- */

static void add_to_buckets(struct histogram *histogram, uint32_t index, uint64_t count)
{
	uint32_t at = place_of(histogram, index);

	if (at < histogram->used && histogram->buckets[at].index == index) {
		histogram->buckets[at].count += count;
		return;
	}
	insert_bucket(histogram, at, index, count);
	if (histogram->used > BUCKETS_MAX) {
		to_range(histogram);
	}
}

/* There is no counter for @index yet.  Not inlined, so that the usual case stays short. */
static __attribute__((noinline)) void add_elsewhere(struct histogram *histogram, uint32_t index,
						    uint64_t count)
{
	if (is_few(histogram)) {
		if (count <= HISTOGRAM_FEW - histogram->used) {
			while (count-- > 0) {
				histogram->few[histogram->used++] = (uint16_t)index;
			}
			return;
		}
		to_buckets(histogram);
	}
	if (histogram->counts) {
		widen(histogram, index);
		histogram->counts[index - histogram->first] += count;
	} else {
		add_to_buckets(histogram, index, count);
	}
}

static void add_bucket(struct histogram *histogram, uint32_t index, uint64_t count)
{
	if (histogram->counts && index - histogram->first < histogram->used) {
		histogram->counts[index - histogram->first] += count;
	} else {
		add_elsewhere(histogram, index, count);
	}
}

/* The bucket number @i.  In form few they are unsorted, and some occur several times. */
static struct histogram_bucket bucket_at(const struct histogram *histogram, uint32_t i)
{
	if (histogram->counts) {
		return (struct histogram_bucket){ histogram->first + i, histogram->counts[i] };
	}
	return histogram->buckets ? histogram->buckets[i]
				  : (struct histogram_bucket){ histogram->few[i], 1 };
}

struct sorted {
	struct histogram histogram; /* only the members that bucket_at() reads */
	struct histogram_bucket buckets[HISTOGRAM_FEW];
};

/* @histogram if its buckets are sorted, else a sorted view of it in @sorted. */
static const struct histogram *in_order(const struct histogram *histogram, struct sorted *sorted)
{
	if (!is_few(histogram)) {
		return histogram;
	}
	sorted->histogram.counts = NULL;
	sorted->histogram.buckets = sorted->buckets;
	sorted->histogram.used = sort_few(histogram, sorted->buckets);
	return &sorted->histogram;
}

static struct histogram *allocated(struct histogram **histogram)
{
	if (!*histogram) {
		*histogram = mem_alloc(sizeof(**histogram));
		(*histogram)->min = UINT64_MAX;
	}
	return *histogram;
}

void histogram_add(struct histogram **histogram, uint64_t value)
{
	struct histogram *s = allocated(histogram);

	s->count++;
	s->sum += value;
	s->squares += (unsigned __int128)value * value;
	s->min = value < s->min ? value : s->min;
	s->max = value > s->max ? value : s->max;
	add_bucket(s, histogram_index(value), 1);
}

_Static_assert(HISTOGRAM_BUCKETS_MAX == (64 - SUB_BITS + 1) << SUB_BITS, "room for all");

uint32_t histogram_list(const struct histogram *histogram,
			struct histogram_bucket ret[HISTOGRAM_BUCKETS_MAX])
{
	struct sorted sorted;
	uint32_t count = 0;

	histogram = histogram ? in_order(histogram, &sorted) : NULL;
	for (uint32_t i = 0; histogram && i < histogram->used; i++) {
		struct histogram_bucket bucket = bucket_at(histogram, i);

		if (bucket.count > 0) {
			ret[count++] = bucket;
		}
	}
	return count;
}

void histogram_add_bucket(struct histogram **histogram, uint64_t value, uint64_t count)
{
	struct histogram *s = allocated(histogram);

	s->count += count;
	add_bucket(s, histogram_index(value), count);
}

static void *copied(const void *from, size_t bytes)
{
	return from ? memcpy(mem_alloc(bytes), from, bytes) : NULL;
}

static struct histogram *copy_of(const struct histogram *from)
{
	struct histogram *copy = copied(from, sizeof(*from));

	copy->room = from->used;
	copy->buckets = copied(from->buckets, from->used * sizeof(*from->buckets));
	copy->counts = copied(from->counts, from->used * sizeof(*from->counts));
	return copy;
}

struct histogram *histogram_of_buckets(const struct histogram_bucket *buckets, uint32_t count)
{
	struct histogram *s;
	uint64_t values = 0;

	for (uint32_t i = 0; i < count; i++) {
		values += buckets[i].count;
		if (buckets[i].count == 0 || (i > 0 && buckets[i].index <= buckets[i - 1].index)) {
			return NULL;
		}
	}
	if (count == 0) {
		return NULL;
	}
	assert(buckets[count - 1].index < HISTOGRAM_BUCKETS_MAX);
	s = mem_alloc(sizeof(*s));
	s->count = values;
	s->used = s->room = count;
	s->buckets = copied(buckets, count * sizeof(*buckets));
	return s;
}

void histogram_merge(struct histogram **to, const struct histogram *from)
{
	struct histogram *s;

	if (!from) {
		return;
	}
	assert(*to != from);
	if (!*to) {
		*to = copy_of(from);
		return;
	}
	s = *to;
	if (s->buckets && s->used > BUCKETS_MAX) {
		to_range(s); /* only a copy has so many */
	}
	s->count += from->count;
	s->sum += from->sum;
	s->squares += from->squares;
	s->min = from->min < s->min ? from->min : s->min;
	s->max = from->max > s->max ? from->max : s->max;
	for (uint32_t i = 0; i < from->used; i++) {
		struct histogram_bucket bucket = bucket_at(from, i);

		if (bucket.count > 0) {
			add_bucket(s, bucket.index, bucket.count);
		}
	}
}

void histogram_move(struct histogram **to, struct histogram **from)
{
	if (!*to) {
		*to = *from;
	} else {
		histogram_merge(to, *from);
		histogram_free(*from);
	}
	*from = NULL;
}

uint64_t histogram_bytes(const struct histogram *histogram)
{
	if (!histogram) {
		return 0;
	}
	return sizeof(*histogram) +
	       (histogram->counts    ? histogram->used * sizeof(*histogram->counts)
		: histogram->buckets ? histogram->room * sizeof(*histogram->buckets)
				     : 0);
}

void histogram_free(struct histogram *histogram)
{
	if (histogram) {
		free(histogram->buckets);
		free(histogram->counts);
		free(histogram);
	}
}

static void read_buckets(struct codec *codec, struct histogram *histogram)
{
	uint32_t count = (uint32_t)codec_count(codec, 0, 12);
	uint64_t values = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct histogram_bucket bucket = { 0 };

		codec_each(codec, &bucket.index, &bucket.count);
		if (!codec_check(codec,
				 bucket.index <= histogram_index(UINT64_MAX) && bucket.count > 0)) {
			return;
		}
		values += bucket.count;
		add_bucket(histogram, bucket.index, bucket.count);
	}
	(void)codec_check(codec, values == histogram->count && values > 0 &&
					 histogram->min <= histogram->max);
}

static void write_buckets(struct codec *codec, const struct histogram *histogram)
{
	struct sorted sorted;
	size_t count = 0;

	histogram = in_order(histogram, &sorted);
	for (uint32_t i = 0; i < histogram->used; i++) {
		count += bucket_at(histogram, i).count > 0;
	}
	(void)codec_count(codec, count, 12);
	for (uint32_t i = 0; i < histogram->used; i++) {
		struct histogram_bucket bucket = bucket_at(histogram, i);

		if (bucket.count > 0) {
			codec_each(codec, &bucket.index, &bucket.count);
		}
	}
}

void histogram_codec(struct codec *codec, struct histogram **histogram)
{
	bool is_there = *histogram != NULL;
	uint64_t squares[2];
	struct histogram *s;

	assert(!codec_reads(codec) || !*histogram);
	codec_bool(codec, &is_there);
	if (!is_there) {
		return;
	}
	s = allocated(histogram);
	squares[0] = (uint64_t)s->squares;
	squares[1] = (uint64_t)(s->squares >> 64);
	codec_each(codec, &s->count, &s->sum, &s->min, &s->max, &squares[0], &squares[1]);
	s->squares = (unsigned __int128)squares[1] << 64 | squares[0];
	if (codec_reads(codec)) {
		read_buckets(codec, s);
	} else {
		write_buckets(codec, s);
	}
}

double histogram_mean(const struct histogram *histogram)
{
	assert(histogram->count > 0);
	return (double)((long double)histogram->sum / (long double)histogram->count);
}

/* n * squares - sum^2 subtracts large numbers: exact in 128 bits, rounded only beyond them. */
static long double squares_difference(const struct histogram *histogram)
{
	unsigned __int128 whole, square = (unsigned __int128)histogram->sum * histogram->sum;
	long double n = (long double)histogram->count, sum = (long double)histogram->sum;

	if (__builtin_mul_overflow(histogram->squares, (unsigned __int128)histogram->count,
				   &whole)) {
		return (long double)histogram->squares * n - sum * sum;
	}
	return (long double)(whole - square);
}

double histogram_deviation(const struct histogram *histogram)
{
	long double n = (long double)histogram->count;
	long double variance = squares_difference(histogram) / n / (n - 1);

	return variance > 0 ? (double)sqrtl(variance) : 0; /* rounding may give less than 0 */
}

uint64_t histogram_percentile(const struct histogram *histogram, unsigned int per_mille)
{
	unsigned __int128 whole = (unsigned __int128)histogram->count * per_mille;
	uint64_t rank = (uint64_t)((whole + 999) / 1000), seen = 0, end = 0;
	struct sorted sorted;
	const struct histogram *ordered = in_order(histogram, &sorted);

	assert(histogram->count > 0);
	assert(per_mille <= 1000);
	for (uint32_t i = 0; i < ordered->used && (seen < rank || seen == 0); i++) {
		struct histogram_bucket bucket = bucket_at(ordered, i);

		seen += bucket.count;
		end = histogram_end(bucket.index);
	}
	end = end < histogram->min ? histogram->min : end;
	return end > histogram->max ? histogram->max : end;
}

enum histogram_part histogram_part_of(const char *name)
{
	static const char *const names[] = {
		[HISTOGRAM_COUNT] = "count", [HISTOGRAM_SUM] = "sum", [HISTOGRAM_MIN] = "min",
		[HISTOGRAM_MEAN] = "mean",   [HISTOGRAM_MAX] = "max", [HISTOGRAM_STDEV] = "stdev",
		[HISTOGRAM_P50] = "p50",     [HISTOGRAM_P95] = "p95", [HISTOGRAM_P99] = "p99",
		[HISTOGRAM_P999] = "p999",
	};

	for (size_t i = HISTOGRAM_COUNT; i < ARRAY_COUNT(names); i++) {
		if (strcmp(names[i], name) == 0) {
			return (enum histogram_part)i;
		}
	}
	return HISTOGRAM_NO_PART;
}

double histogram_part(const struct histogram *histogram, enum histogram_part part)
{
	switch (part) {
	case HISTOGRAM_COUNT:
		return (double)histogram->count;
	case HISTOGRAM_SUM:
		return (double)histogram->sum;
	case HISTOGRAM_MIN:
		return (double)histogram->min;
	case HISTOGRAM_MEAN:
		return histogram_mean(histogram);
	case HISTOGRAM_MAX:
		return (double)histogram->max;
	case HISTOGRAM_STDEV:
		return histogram->count > 1 ? histogram_deviation(histogram) : 0;
	case HISTOGRAM_P50:
		return (double)histogram_percentile(histogram, 500);
	case HISTOGRAM_P95:
		return (double)histogram_percentile(histogram, 950);
	case HISTOGRAM_P99:
		return (double)histogram_percentile(histogram, 990);
	case HISTOGRAM_P999:
		return (double)histogram_percentile(histogram, 999);
	case HISTOGRAM_NO_PART:
		break;
	}
	assert(!"a part of a histogram");
	return 0;
}

void histogram_powers(const struct histogram *histogram, uint64_t counts[HISTOGRAM_POWERS])
{
	memset(counts, 0, HISTOGRAM_POWERS * sizeof(*counts));
	for (uint32_t i = 0; i < histogram->used; i++) {
		struct histogram_bucket bucket = bucket_at(histogram, i);
		uint64_t end = histogram_end(bucket.index);

		counts[end ? 63 - __builtin_clzll(end) : 0] += bucket.count;
	}
}

void histogram_bins(const struct histogram *histogram, uint64_t counts[], uint64_t count)
{
	double width = (double)(histogram->max - histogram->min) / (double)count;

	assert(count > 0 && count <= HISTOGRAM_BINS_MAX);
	memset(counts, 0, count * sizeof(*counts));
	for (uint32_t i = 0; i < histogram->used; i++) {
		struct histogram_bucket bucket = bucket_at(histogram, i);
		uint64_t end = histogram_end(bucket.index);
		uint64_t above = end <= histogram->min  ? 0
				 : end > histogram->max ? histogram->max - histogram->min
							: end - histogram->min;
		uint64_t bin = width > 0 ? (uint64_t)((double)above / width) : 0;

		counts[bin < count ? bin : count - 1] += bucket.count;
	}
}
