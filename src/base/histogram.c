/*
 * spread: see spread.h.
 */
#include "base/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SUB_BITS 6
_Static_assert((64 - SUB_BITS + 1) << SUB_BITS <= UINT16_MAX, "an index fits into spread.few");

static uint32_t index_of(uint64_t value)
{
	unsigned int top;

	if (value < (1u << SUB_BITS)) {
		return (uint32_t)value;
	}
	top = 63 - (unsigned int)__builtin_clzll(value);
	return ((top - SUB_BITS + 1) << SUB_BITS) +
	       (uint32_t)((value >> (top - SUB_BITS)) - (1u << SUB_BITS));
}

/* The largest value of a bucket. */
static uint64_t end_of(uint32_t index)
{
	unsigned int top = (index >> SUB_BITS) + SUB_BITS - 1;
	uint64_t lowest = (index & ((1u << SUB_BITS) - 1)) + (1u << SUB_BITS);

	if (index < (1u << SUB_BITS)) {
		return index;
	}
	return (lowest << (top - SUB_BITS)) + (((uint64_t)1 << (top - SUB_BITS)) - 1);
}

/* ---- few values ---- */

static bool is_few(const struct spread *spread)
{
	return !spread->counts && !spread->buckets;
}

/* Fills @buckets, of which there are SPREAD_FEW, with those of few values, in order; how many. */
static uint32_t sort_few(const struct spread *spread, struct spread_bucket *buckets)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < spread->used; i++) {
		uint32_t at = count;

		while (at > 0 && buckets[at - 1].index > spread->few[i]) {
			at--;
		}
		if (at > 0 && buckets[at - 1].index == spread->few[i]) {
			buckets[at - 1].count++;
			continue;
		}
		memmove(buckets + at + 1, buckets + at, (count - at) * sizeof(*buckets));
		buckets[at] = (struct spread_bucket){ .index = spread->few[i], .count = 1 };
		count++;
	}
	return count;
}

/* ---- buckets by index ---- */

/* From here on an array is not larger than what it takes the place of, as a rule. */
#define FEW_BUCKETS 48

static void to_buckets(struct spread *spread)
{
	spread->room = SPREAD_FEW;
	spread->buckets = mem_alloc(spread->room * sizeof(*spread->buckets));
	spread->used = sort_few(spread, spread->buckets);
}

/* Where @index is, or would be. */
static uint32_t place_of(const struct spread *spread, uint32_t index)
{
	uint32_t low = 0, high = spread->used;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (spread->buckets[middle].index < index) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static void make_room(struct spread *spread)
{
	spread->room *= 2;
	spread->buckets = mem_realloc(spread->buckets, spread->room * sizeof(*spread->buckets));
}

static void insert_bucket(struct spread *spread, uint32_t at, uint32_t index, uint64_t count)
{
	if (spread->used == spread->room) {
		make_room(spread);
	}
	memmove(spread->buckets + at + 1, spread->buckets + at,
		(spread->used - at) * sizeof(*spread->buckets));
	spread->buckets[at] = (struct spread_bucket){ .index = index, .count = count };
	spread->used++;
}

/* ---- all buckets of a range ---- */

/* Makes the range have @index; by whole powers of two, so that it does not happen often. */
static void widen(struct spread *spread, uint32_t index)
{
	uint32_t end = spread->first + spread->used;
	uint32_t first = index < spread->first ? index : spread->first;
	uint64_t *counts;

	end = index >= end ? index + 1 : end;
	first = first >> SUB_BITS << SUB_BITS;
	end = ((end - 1) >> SUB_BITS << SUB_BITS) + (1u << SUB_BITS);
	counts = mem_alloc((end - first) * sizeof(*counts));
	memcpy(counts + (spread->first - first), spread->counts, spread->used * sizeof(*counts));
	free(spread->counts);
	spread->counts = counts;
	spread->first = first;
	spread->used = end - first;
}

static void to_range(struct spread *spread)
{
	struct spread_bucket *buckets = spread->buckets;
	uint32_t used = spread->used;

	spread->first = buckets[0].index;
	spread->used = buckets[used - 1].index - spread->first + 1;
	spread->counts = mem_alloc(spread->used * sizeof(*spread->counts));
	for (uint32_t i = 0; i < used; i++) {
		spread->counts[buckets[i].index - spread->first] = buckets[i].count;
	}
	free(buckets);
	spread->buckets = NULL;
}

/* ---- any ---- */

static void add_to_buckets(struct spread *spread, uint32_t index, uint64_t count)
{
	uint32_t at = place_of(spread, index);

	if (at < spread->used && spread->buckets[at].index == index) {
		spread->buckets[at].count += count;
		return;
	}
	insert_bucket(spread, at, index, count);
	if (spread->used > FEW_BUCKETS) {
		to_range(spread);
	}
}

/* Where there is no counter for it yet; apart, for the usual case to be short. */
static __attribute__((noinline)) void add_elsewhere(struct spread *spread, uint32_t index,
						    uint64_t count)
{
	if (is_few(spread)) {
		if (count <= SPREAD_FEW - spread->used) {
			while (count-- > 0) {
				spread->few[spread->used++] = (uint16_t)index;
			}
			return;
		}
		to_buckets(spread);
	}
	if (spread->counts) {
		widen(spread, index);
		spread->counts[index - spread->first] += count;
	} else {
		add_to_buckets(spread, index, count);
	}
}

static void add_bucket(struct spread *spread, uint32_t index, uint64_t count)
{
	if (spread->counts && index - spread->first < spread->used) {
		spread->counts[index - spread->first] += count;
	} else {
		add_elsewhere(spread, index, count);
	}
}

/* The buckets of few values are in no order, and some of them several times. */
static struct spread_bucket bucket_at(const struct spread *spread, uint32_t i)
{
	if (spread->counts) {
		return (struct spread_bucket){ spread->first + i, spread->counts[i] };
	}
	return spread->buckets ? spread->buckets[i] : (struct spread_bucket){ spread->few[i], 1 };
}

struct sorted {
	struct spread spread; /* only what bucket_at() looks at */
	struct spread_bucket buckets[SPREAD_FEW];
};

/* @spread, or in @sorted what is the same but for the order of its buckets. */
static const struct spread *in_order(const struct spread *spread, struct sorted *sorted)
{
	if (!is_few(spread)) {
		return spread;
	}
	sorted->spread.counts = NULL;
	sorted->spread.buckets = sorted->buckets;
	sorted->spread.used = sort_few(spread, sorted->buckets);
	return &sorted->spread;
}

static struct spread *made(struct spread **spread)
{
	if (!*spread) {
		*spread = mem_alloc(sizeof(**spread));
		(*spread)->min = UINT64_MAX;
	}
	return *spread;
}

void spread_add(struct spread **spread, uint64_t value)
{
	struct spread *s = made(spread);

	s->count++;
	s->sum += value;
	s->squares += (unsigned __int128)value * value;
	s->min = value < s->min ? value : s->min;
	s->max = value > s->max ? value : s->max;
	add_bucket(s, index_of(value), 1);
}

void spread_merge(struct spread **to, const struct spread *from)
{
	struct spread *s;

	if (!from) {
		return;
	}
	s = made(to);
	s->count += from->count;
	s->sum += from->sum;
	s->squares += from->squares;
	s->min = from->min < s->min ? from->min : s->min;
	s->max = from->max > s->max ? from->max : s->max;
	for (uint32_t i = 0; i < from->used; i++) {
		struct spread_bucket bucket = bucket_at(from, i);

		if (bucket.count > 0) {
			add_bucket(s, bucket.index, bucket.count);
		}
	}
}

void spread_move(struct spread **to, struct spread **from)
{
	if (!*to) {
		*to = *from;
	} else {
		spread_merge(to, *from);
		spread_free(*from);
	}
	*from = NULL;
}

uint64_t spread_bytes(const struct spread *spread)
{
	if (!spread) {
		return 0;
	}
	return sizeof(*spread) + (spread->counts    ? spread->used * sizeof(*spread->counts)
				  : spread->buckets ? spread->room * sizeof(*spread->buckets)
						    : 0);
}

void spread_free(struct spread *spread)
{
	if (spread) {
		free(spread->buckets);
		free(spread->counts);
		free(spread);
	}
}

static void read_buckets(struct flat *flat, struct spread *spread)
{
	uint32_t count = (uint32_t)flat_count(flat, 0, 12);
	uint64_t values = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct spread_bucket bucket = { 0 };

		flat_u32(flat, &bucket.index);
		flat_u64(flat, &bucket.count);
		if (!flat_check(flat, bucket.index <= index_of(UINT64_MAX) && bucket.count > 0)) {
			return;
		}
		values += bucket.count;
		add_bucket(spread, bucket.index, bucket.count);
	}
	(void)flat_check(flat, values == spread->count && values > 0 && spread->min <= spread->max);
}

static void write_buckets(struct flat *flat, const struct spread *spread)
{
	struct sorted sorted;
	size_t count = 0;

	spread = in_order(spread, &sorted);
	for (uint32_t i = 0; i < spread->used; i++) {
		count += bucket_at(spread, i).count > 0;
	}
	(void)flat_count(flat, count, 12);
	for (uint32_t i = 0; i < spread->used; i++) {
		struct spread_bucket bucket = bucket_at(spread, i);

		if (bucket.count > 0) {
			flat_u32(flat, &bucket.index);
			flat_u64(flat, &bucket.count);
		}
	}
}

void spread_flat(struct flat *flat, struct spread **spread)
{
	bool is_there = *spread != NULL;
	uint64_t squares[2];
	struct spread *s;

	flat_bool(flat, &is_there);
	if (!is_there) {
		return;
	}
	s = made(spread);
	squares[0] = (uint64_t)s->squares;
	squares[1] = (uint64_t)(s->squares >> 64);
	flat_u64(flat, &s->count);
	flat_u64(flat, &s->sum);
	flat_u64(flat, &s->min);
	flat_u64(flat, &s->max);
	flat_u64(flat, &squares[0]);
	flat_u64(flat, &squares[1]);
	s->squares = (unsigned __int128)squares[1] << 64 | squares[0];
	if (flat_reads(flat)) {
		read_buckets(flat, s);
	} else {
		write_buckets(flat, s);
	}
}

double spread_mean(const struct spread *spread)
{
	return (double)((long double)spread->sum / (long double)spread->count);
}

/* n * squares - sum^2 is a difference of large numbers: exact, unless it needs more than 128 bits.
 */
static long double spread_of_squares(const struct spread *spread)
{
	unsigned __int128 whole, square = (unsigned __int128)spread->sum * spread->sum;
	long double n = (long double)spread->count, sum = (long double)spread->sum;

	if (__builtin_mul_overflow(spread->squares, (unsigned __int128)spread->count, &whole)) {
		return (long double)spread->squares * n - sum * sum;
	}
	return (long double)(whole - square);
}

double spread_deviation(const struct spread *spread)
{
	long double n = (long double)spread->count;
	long double variance = spread_of_squares(spread) / n / (n - 1);

	return variance > 0 ? (double)sqrtl(variance) : 0; /* rounding may end below zero */
}

uint64_t spread_percentile(const struct spread *spread, unsigned int per_mille)
{
	unsigned __int128 whole = (unsigned __int128)spread->count * per_mille;
	uint64_t rank = (uint64_t)((whole + 999) / 1000), seen = 0, end = 0;
	struct sorted sorted;
	const struct spread *ordered = in_order(spread, &sorted);

	for (uint32_t i = 0; i < ordered->used && (seen < rank || seen == 0); i++) {
		struct spread_bucket bucket = bucket_at(ordered, i);

		seen += bucket.count;
		end = end_of(bucket.index);
	}
	end = end < spread->min ? spread->min : end;
	return end > spread->max ? spread->max : end;
}

void spread_powers(const struct spread *spread, uint64_t counts[SPREAD_POWERS])
{
	memset(counts, 0, SPREAD_POWERS * sizeof(*counts));
	for (uint32_t i = 0; i < spread->used; i++) {
		struct spread_bucket bucket = bucket_at(spread, i);
		uint64_t end = end_of(bucket.index);

		counts[end ? 63 - __builtin_clzll(end) : 0] += bucket.count;
	}
}

void spread_bins(const struct spread *spread, uint64_t counts[], uint64_t count)
{
	double width = (double)(spread->max - spread->min) / (double)count;

	memset(counts, 0, count * sizeof(*counts));
	for (uint32_t i = 0; i < spread->used; i++) {
		struct spread_bucket bucket = bucket_at(spread, i);
		uint64_t end = end_of(bucket.index);
		uint64_t above = end <= spread->min  ? 0
				 : end > spread->max ? spread->max - spread->min
						     : end - spread->min;
		uint64_t bin = width > 0 ? (uint64_t)((double)above / width) : 0;

		counts[bin < count ? bin : count - 1] += bucket.count;
	}
}
