/*
 * rolling: see rolling.h.
 */
#include "phases/rolling.h"

#include <assert.h>
#include <math.h>

#include "phases/partition.h"

#define TOLERANCE    1e-9  /* of values; sums over many slices are rounded often */
#define GROUPS       100   /* of slices, for the weight: more cost time and change little */
#define SERIES_LEAST 8     /* room for these is there from the beginning */
#define LEAST_WEIGHT 0.005 /* times the sum of all series in a slice */

struct rolling_quality {
	double value, gain, loss;
};

/* A slice that may be the first one of the last part, and that part up to now. */
struct cut_candidate {
	struct rolling_quality before; /* the best up to the slice before */
	uint64_t slices;
	double inner;  /* the sum of f(value) over all series */
	double total;  /* the sum over all series */
	double *sums;  /* of each series */
	double *value; /* of each series in this slice */
};

/* The best partition up to a slice. */
struct best {
	struct rolling_quality quality;
	uint64_t first; /* of its last part */
};

struct rolling {
	size_t room;        /* slices that are held */
	size_t series;      /* used */
	size_t series_room; /* allocated in each candidate */
	uint64_t count;     /* slices that have closed */
	uint64_t first;     /* the oldest one that is held */
	uint64_t left;      /* the first slice of the first part */
	double *head;       /* of each series: the sum from `left` to the slice before `first` */
	double *head_inner; /* the same of f(value) */
	struct cut_candidate at_left;     /* the part from `left` on; it has no value */
	struct cut_candidate *candidates; /* by slice modulo room */
	struct best *best;                /* likewise */
	double weight;
	bool is_fixed;
	uint64_t weighed; /* slices that had closed when the weight was found last */
	bool is_stale;    /* what is held has changed */
	VEC(struct rolling_part) parts;
};

/* ---- memory ---- */

static void grow(double **values, size_t from, size_t to)
{
	double *grown = mem_alloc(to * sizeof(*grown));

	if (from > 0) {
		memcpy(grown, *values, from * sizeof(*grown));
	}
	free(*values);
	*values = grown;
}

static void grow_series(struct rolling *rolling, size_t series)
{
	size_t room = rolling->series_room;

	assert(series >= rolling->series && series <= ROLLING_SERIES_MAX);
	rolling->series = series;
	if (series < room) {
		return;
	}
	rolling->series_room = series < SERIES_LEAST ? SERIES_LEAST : 2 * series;
	grow(&rolling->head, room, rolling->series_room);
	grow(&rolling->head_inner, room, rolling->series_room);
	grow(&rolling->at_left.sums, room, rolling->series_room);
	for (size_t i = 0; i < rolling->room; i++) {
		grow(&rolling->candidates[i].sums, room, rolling->series_room);
		grow(&rolling->candidates[i].value, room, rolling->series_room);
	}
}

struct rolling *rolling_new(size_t slices)
{
	struct rolling *rolling = mem_alloc(sizeof(*rolling));

	assert(slices >= 2);
	rolling->room = slices;
	rolling->candidates = mem_alloc(slices * sizeof(*rolling->candidates));
	rolling->best = mem_alloc(slices * sizeof(*rolling->best));
	grow_series(rolling, 0);
	return rolling;
}

void rolling_free(struct rolling *rolling)
{
	if (!rolling) {
		return;
	}
	for (size_t i = 0; i < rolling->room; i++) {
		free(rolling->candidates[i].sums);
		free(rolling->candidates[i].value);
	}
	free(rolling->at_left.sums);
	free(rolling->head);
	free(rolling->head_inner);
	free(rolling->candidates);
	free(rolling->best);
	vec_fini(&rolling->parts);
	free(rolling);
}

static struct cut_candidate *candidate_of(const struct rolling *rolling, uint64_t slice)
{
	assert(slice >= rolling->first && slice <= rolling->count);
	return &rolling->candidates[slice % rolling->room];
}

/* ---- the recurrence ---- */

static bool is_better(const struct rolling_quality *a, const struct rolling_quality *b)
{
	int by_value = partition_compare(a->value, b->value, TOLERANCE);
	int by_gain = partition_compare(a->gain, b->gain, TOLERANCE);

	return by_value != 0  ? by_value > 0
	       : by_gain != 0 ? by_gain > 0
			      : partition_compare(b->loss, a->loss, TOLERANCE) > 0;
}

/* The partition whose last part is the candidate's. */
static struct rolling_quality quality_of(const struct rolling *rolling,
					 const struct cut_candidate *candidate)
{
	double outer = 0, gain, loss;

	for (size_t i = 0; i < rolling->series; i++) {
		outer += partition_f(candidate->sums[i]);
	}
	gain = candidate->slices > 1 ? outer - candidate->inner : 0;
	loss = candidate->slices > 1 ? candidate->total * log2((double)candidate->slices) - gain
				     : 0;
	gain = fmax(gain, 0);
	loss = fmax(loss, 0);
	return (struct rolling_quality){
		.value = candidate->before.value + rolling->weight * gain - loss,
		.gain = candidate->before.gain + gain,
		.loss = candidate->before.loss + loss,
	};
}

static void extend(const struct rolling *rolling, struct cut_candidate *candidate,
		   const struct cut_candidate *by, double inner, double total)
{
	for (size_t i = 0; i < rolling->series; i++) {
		candidate->sums[i] += by->value[i];
	}
	candidate->inner += inner;
	candidate->total += total;
	candidate->slices++;
}

static struct rolling_quality quality_before(const struct rolling *rolling, uint64_t slice)
{
	struct cut_candidate head = { .sums = rolling->head };

	if (slice <= rolling->left) {
		return (struct rolling_quality){ 0 };
	}
	if (slice > rolling->first) {
		return rolling->best[(slice - 1) % rolling->room].quality;
	}
	head.slices = slice - rolling->left;
	for (size_t i = 0; i < rolling->series; i++) {
		head.inner += rolling->head_inner[i];
		head.total += rolling->head[i];
	}
	return quality_of(rolling, &head);
}

/* The slice, whose values are in place, is the newest one. */
static void step(struct rolling *rolling, uint64_t slice)
{
	struct cut_candidate *own = candidate_of(rolling, slice);
	struct best best;
	double inner = 0, total = 0;

	for (size_t i = 0; i < rolling->series; i++) {
		inner += partition_f(own->value[i]);
		total += own->value[i];
	}
	own->before = quality_before(rolling, slice);
	own->slices = 0;
	own->inner = own->total = 0;
	memset(own->sums, 0, rolling->series_room * sizeof(*own->sums));
	extend(rolling, &rolling->at_left, own, inner, total);
	best = (struct best){ quality_of(rolling, &rolling->at_left), rolling->left };
	for (uint64_t i = rolling->first > rolling->left ? rolling->first : rolling->left + 1;
	     i <= slice; i++) {
		struct cut_candidate *candidate = candidate_of(rolling, i);
		struct rolling_quality quality;

		extend(rolling, candidate, own, inner, total);
		quality = quality_of(rolling, candidate);
		if (is_better(&quality, &best.quality)) {
			best = (struct best){ quality, i };
		}
	}
	rolling->best[slice % rolling->room] = best;
}

/* Begins again with what is held. */
static void redo(struct rolling *rolling)
{
	struct cut_candidate *left = &rolling->at_left;

	left->before = (struct rolling_quality){ 0 };
	left->slices = rolling->first - rolling->left;
	left->inner = left->total = 0;
	memcpy(left->sums, rolling->head, rolling->series_room * sizeof(*left->sums));
	for (size_t i = 0; i < rolling->series; i++) {
		left->inner += rolling->head_inner[i];
		left->total += rolling->head[i];
	}
	for (uint64_t slice = rolling->first; slice < rolling->count; slice++) {
		step(rolling, slice);
	}
	rolling->is_stale = false;
}

static void find_parts(struct rolling *rolling)
{
	uint64_t last = rolling->count - 1;

	rolling->parts.count = 0;
	for (;;) {
		uint64_t first = rolling->best[last % rolling->room].first;
		bool is_end = first <= rolling->left || first < rolling->first;

		*vec_push(&rolling->parts) =
			(struct rolling_part){ is_end ? rolling->left : first, last };
		if (is_end) {
			break;
		}
		last = first - 1;
		if (last < rolling->first) { /* what is before is one part */
			*vec_push(&rolling->parts) = (struct rolling_part){ rolling->left, last };
			break;
		}
	}
	for (size_t i = 0; i < rolling->parts.count / 2; i++) {
		struct rolling_part part = rolling->parts.at[i];

		rolling->parts.at[i] = rolling->parts.at[rolling->parts.count - 1 - i];
		rolling->parts.at[rolling->parts.count - 1 - i] = part;
	}
}

/* ---- the weight ---- */

/* The means of groups of slices, the newest ones; the caller frees them. */
static double *group_means(const struct rolling *rolling, size_t groups, size_t each)
{
	double *means = mem_alloc((groups * rolling->series + 1) * sizeof(*means));
	uint64_t first = rolling->count - groups * each;

	for (size_t g = 0; g < groups; g++) {
		for (size_t k = 0; k < each; k++) {
			const double *value = candidate_of(rolling, first + g * each + k)->value;

			for (size_t i = 0; i < rolling->series; i++) {
				means[i * groups + g] += value[i] / (double)each;
			}
		}
	}
	return means;
}

/*
 * The weight under which partition.h's compromise between two values of p gives the same partition.
 * Its gain and loss are divided by those of the whole.
 */
static double weight_of(const struct partition_table *table, size_t groups, double p)
{
	double gain = partition_gain(table, 0, groups - 1),
	       loss = partition_loss(table, 0, groups - 1);

	return p / (1 - p) * (loss > 0 ? loss : 1) / (gain > 0 ? gain : 1);
}

/* Whether the weight has changed. */
static bool find_weight(struct rolling *rolling)
{
	uint64_t held = rolling->count - rolling->first;
	size_t each = (size_t)((held + GROUPS - 1) / GROUPS), groups = (size_t)held / each;
	double *means = group_means(rolling, groups, each);
	struct partition_model model = { groups, rolling->series, means };
	struct partition_table *table = partition_table_new(&model);
	struct partitions all;
	double sum = 0, least, before = rolling->weight;

	partitions_find(table, &all);
	for (size_t i = 0; i < groups * rolling->series; i++) {
		sum += means[i];
	}
	least = sum > 0 ? LEAST_WEIGHT * (double)groups / sum : LEAST_WEIGHT;
	if (all.suggested + 1 == all.at.count) { /* one part, for any weight */
		rolling->weight = least;
	} else {
		double low = all.at.at[all.suggested].p, high = all.at.at[all.suggested + 1].p;

		if (!(before >= least && before >= weight_of(table, groups, low) &&
		      before * (1 + TOLERANCE) < weight_of(table, groups, high))) {
			rolling->weight = fmax(weight_of(table, groups, (low + high) / 2), least);
		}
	}
	rolling->weighed = rolling->count;
	partitions_fini(&all);
	partition_table_free(table);
	free(means);
	return rolling->weight < before || rolling->weight > before;
}

void rolling_fix_weight(struct rolling *rolling, double weight)
{
	assert(weight >= 0 && isfinite(weight));
	rolling->weight = weight;
	rolling->is_fixed = rolling->is_stale = true;
}

double rolling_weight(const struct rolling *rolling)
{
	return rolling->weight;
}

/* ---- slices ---- */

/* Makes room for another slice. */
static void drop_oldest(struct rolling *rolling)
{
	const struct cut_candidate *oldest = candidate_of(rolling, rolling->first);
	bool begins = false;

	for (size_t i = 0; i < rolling->parts.count; i++) {
		begins |= rolling->parts.at[i].first == rolling->first;
	}
	if (begins && rolling->first > rolling->left) {
		double *sums = rolling->at_left.sums;

		rolling->at_left = *oldest;
		rolling->at_left.value = NULL;
		rolling->at_left.sums =
			memcpy(sums, oldest->sums, rolling->series_room * sizeof(*sums));
		rolling->left = rolling->first;
		memset(rolling->head, 0, rolling->series_room * sizeof(*rolling->head));
		memset(rolling->head_inner, 0, rolling->series_room * sizeof(*rolling->head_inner));
	}
	for (size_t i = 0; i < rolling->series; i++) {
		rolling->head[i] += oldest->value[i];
		rolling->head_inner[i] += partition_f(oldest->value[i]);
	}
	rolling->first++;
}

void rolling_add(struct rolling *rolling, const double *values, size_t series)
{
	uint64_t slice = rolling->count, held;

	grow_series(rolling, series);
	if (slice - rolling->first == rolling->room) {
		drop_oldest(rolling);
	}
	for (size_t i = 0; i < series; i++) {
		assert(values[i] >= 0 && values[i] <= ROLLING_VALUE_MAX);
		candidate_of(rolling, slice)->value[i] = values[i];
	}
	rolling->count++;
	held = rolling->count - rolling->first;
	if (!rolling->is_fixed && (rolling->count - rolling->weighed) * 10 >= held) {
		rolling->is_stale |= find_weight(rolling);
	}
	if (rolling->is_stale) {
		redo(rolling);
	} else {
		step(rolling, slice);
	}
	find_parts(rolling);
	assert(rolling->left <= rolling->first && rolling->first < rolling->count);
}

/* f(c x) = c f(x) + c log2(c) x */
void rolling_scale(struct rolling *rolling, size_t series, double factor)
{
	assert(series < rolling->series && factor > 0 && isfinite(factor));
	rolling->head_inner[series] =
		factor * (rolling->head_inner[series] + log2(factor) * rolling->head[series]);
	rolling->head[series] *= factor;
	for (uint64_t i = rolling->first; i < rolling->count; i++) {
		candidate_of(rolling, i)->value[series] *= factor;
	}
	rolling->is_stale = true;
}

/* ---- results ---- */

uint64_t rolling_count(const struct rolling *rolling)
{
	return rolling->count;
}

uint64_t rolling_first(const struct rolling *rolling)
{
	return rolling->first;
}

const struct rolling_part *rolling_parts(const struct rolling *rolling, size_t *ret_count)
{
	*ret_count = rolling->parts.count;
	return rolling->parts.at;
}

double rolling_sum(const struct rolling *rolling, size_t series, const struct rolling_part *part)
{
	bool has_head = part->first < rolling->first;
	double sum = has_head ? rolling->head[series] : 0;

	assert(!has_head || part->first == rolling->left);
	for (uint64_t i = has_head ? rolling->first : part->first; i <= part->last; i++) {
		sum += candidate_of(rolling, i)->value[series];
	}
	return sum;
}

double rolling_value(const struct rolling *rolling)
{
	assert(rolling->count > 0);
	return rolling->best[(rolling->count - 1) % rolling->room].quality.value;
}

/* ---- checkpoints ---- */

#define SUM_MOST 1e30 /* what is read is beyond that only if somebody wrote it by hand */

static void double_codec(struct codec *codec, double *value, double least, double most)
{
	uint64_t bits;

	memcpy(&bits, value, sizeof(bits));
	codec_u64(codec, &bits);
	memcpy(value, &bits, sizeof(bits));
	if (!codec_check(codec, *value >= least && *value <= most)) { /* false for no number */
		*value = 0;
	}
}

static void quality_codec(struct codec *codec, struct rolling_quality *quality)
{
	double_codec(codec, &quality->value, -SUM_MOST, SUM_MOST);
	double_codec(codec, &quality->gain, 0, SUM_MOST);
	double_codec(codec, &quality->loss, 0, SUM_MOST);
}

static void slice_codec(struct rolling *rolling, struct codec *codec, uint64_t slice)
{
	struct cut_candidate *candidate = candidate_of(rolling, slice);
	struct best *best = &rolling->best[slice % rolling->room];

	for (size_t i = 0; i < rolling->series; i++) {
		double_codec(codec, &candidate->value[i], 0, ROLLING_VALUE_MAX);
	}
	quality_codec(codec, &candidate->before);
	quality_codec(codec, &best->quality);
	codec_u64(codec, &best->first);
	if (!codec_check(codec, best->first <= slice)) {
		best->first = 0;
	}
}

/* Adds the slice that was read to the candidates before it, as step() did. */
static void add_again(struct rolling *rolling, uint64_t slice)
{
	struct cut_candidate *own = candidate_of(rolling, slice);
	double inner = 0, total = 0;

	for (size_t i = 0; i < rolling->series; i++) {
		inner += partition_f(own->value[i]);
		total += own->value[i];
	}
	for (uint64_t i = rolling->first; i <= slice; i++) {
		extend(rolling, candidate_of(rolling, i), own, inner, total);
	}
}

void rolling_codec(struct rolling *rolling, struct codec *codec)
{
	struct cut_candidate *left = &rolling->at_left;
	size_t series = codec_count(codec, rolling->series, 24);

	assert(!codec_reads(codec) || rolling->count == 0);
	codec_u64(codec, &rolling->left);
	codec_u64(codec, &rolling->first);
	codec_u64(codec, &rolling->count);
	codec_u64(codec, &rolling->weighed);
	codec_bool(codec, &rolling->is_fixed);
	codec_bool(codec, &rolling->is_stale);
	double_codec(codec, &rolling->weight, 0, SUM_MOST);
	if (!codec_check(codec, series <= ROLLING_SERIES_MAX && rolling->left <= rolling->first &&
					rolling->first <= rolling->count &&
					rolling->count - rolling->first <= rolling->room &&
					rolling->weighed <= rolling->count &&
					rolling->count < UINT64_MAX / 2 &&
					(rolling->count == 0 || rolling->first < rolling->count))) {
		rolling->left = rolling->first = rolling->count = 0;
		return;
	}
	grow_series(rolling, series);
	double_codec(codec, &left->inner, -SUM_MOST, SUM_MOST);
	double_codec(codec, &left->total, 0, SUM_MOST);
	left->slices = rolling->count - rolling->left;
	for (size_t i = 0; i < series; i++) {
		double_codec(codec, &rolling->head[i], 0, SUM_MOST);
		double_codec(codec, &rolling->head_inner[i], -SUM_MOST, SUM_MOST);
		double_codec(codec, &left->sums[i], 0, SUM_MOST);
	}
	for (uint64_t i = rolling->first; i < rolling->count && codec_check(codec, true); i++) {
		slice_codec(rolling, codec, i);
		if (codec_reads(codec)) {
			add_again(rolling, i);
		}
	}
	if (codec_reads(codec) && rolling->count > 0 && codec_check(codec, true)) {
		find_parts(rolling);
	}
}
