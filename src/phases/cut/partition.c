/*
 * partition: see partition.h.
 */
#include "phases/cut/partition.h"

#include <assert.h>
#include <stdbool.h>

#include "base/now.h"

#define TOLERANCE 1e-12

/* Of an interval, or summed over the parts of a partition. */
struct quality {
	double gain, loss;
};

struct partition_table {
	size_t room, slices, series;
	struct quality *at;   /* of the interval [first, last]: row last, then first */
	double *sums, *inner; /* [first][series]: from that slice to the newest one */
	double *values, *f;   /* [series][slice]: values and f(value) */
};

static size_t place(const struct partition_table *table, size_t first, size_t last)
{
	assert(first <= last);
	assert(last < table->slices);
	return last * (last + 1) / 2 + first;
}

/* ---- gain and loss ---- */

/* A difference of numbers of the size of @scale; 0 if it is no more than rounding. */
static double difference(double a, double b, double scale)
{
	return a - b > TOLERANCE * scale ? a - b : 0;
}

static struct quality quality_of(double sum, double inner, size_t slices)
{
	double f, entropy, even;

	if (slices == 1) {
		return (struct quality){ 0 };
	}
	f = partition_f(sum);
	entropy = difference(f, inner, fabs(f) + fabs(inner));
	even = sum * log2((double)slices);
	return (struct quality){ entropy, difference(even, entropy, even + fabs(f)) };
}

struct partition_table *partition_table_empty(size_t room, size_t series)
{
	struct partition_table *table = mem_alloc(sizeof(*table));
	size_t cells = room * series + 1;

	assert(room >= 1 && room <= PARTITION_SLICES_MAX);
	table->room = room;
	table->series = series;
	table->at = mem_alloc(room * (room + 1) / 2 * sizeof(*table->at));
	table->sums = mem_alloc(cells * sizeof(double));
	table->inner = mem_alloc(cells * sizeof(double));
	table->values = mem_alloc(cells * sizeof(double));
	table->f = mem_alloc(cells * sizeof(double));
	return table;
}

void partition_table_free(struct partition_table *table)
{
	if (table) {
		free(table->at);
		free(table->sums);
		free(table->inner);
		free(table->values);
		free(table->f);
		free(table);
	}
}

void partition_table_add(struct partition_table *table, const double *values)
{
	size_t last = table->slices++, series = table->series;
	double *sum = table->sums, *inner = table->inner;

	assert(last < table->room);
	for (size_t k = 0; k < series; k++) {
		assert(values[k] >= 0 && isfinite(values[k]));
		sum[last * series + k] = inner[last * series + k] = 0;
		table->values[k * table->room + last] = values[k];
		table->f[k * table->room + last] = partition_f(values[k]);
	}
	for (size_t first = 0; first <= last; first++) {
		struct quality *at = &table->at[place(table, first, last)];

		*at = (struct quality){ 0 };
		for (size_t k = 0; k < series; k++, sum++, inner++) {
			struct quality one;

			*sum += values[k];
			*inner += table->f[k * table->room + last];
			one = quality_of(*sum, *inner, last - first + 1);
			at->gain += one.gain;
			at->loss += one.loss;
		}
	}
}

void partition_table_drop(struct partition_table *table)
{
	size_t series = table->series, cells = --table->slices * series;

	for (size_t last = 0; last < table->slices; last++) {
		memmove(&table->at[place(table, 0, last)],
			&table->at[(last + 1) * (last + 2) / 2 + 1],
			(last + 1) * sizeof(*table->at));
	}
	memmove(table->sums, table->sums + series, cells * sizeof(double));
	memmove(table->inner, table->inner + series, cells * sizeof(double));
	for (size_t k = 0; k < series; k++) {
		double *value = &table->values[k * table->room], *f = &table->f[k * table->room];

		memmove(value, value + 1, table->slices * sizeof(*value));
		memmove(f, f + 1, table->slices * sizeof(*f));
	}
}

struct partition_table *partition_table_new(const struct partition_model *model)
{
	struct partition_table *table = partition_table_empty(model->slices, model->series);
	double *values = mem_alloc((model->series + 1) * sizeof(*values));

	for (size_t i = 0; i < model->slices; i++) {
		for (size_t k = 0; k < model->series; k++) {
			values[k] = model->values[k * model->slices + i];
		}
		partition_table_add(table, values);
	}
	free(values);
	return table;
}

size_t partition_slices(const struct partition_table *table)
{
	return table->slices;
}

size_t partition_series(const struct partition_table *table)
{
	return table->series;
}

double partition_gain(const struct partition_table *table, size_t first, size_t last)
{
	return table->at[place(table, first, last)].gain;
}

double partition_loss(const struct partition_table *table, size_t first, size_t last)
{
	return table->at[place(table, first, last)].loss;
}

/* Of a series, over the slices of a part. */
static double sum_over(const struct partition_table *table, const double *of, size_t series,
		       const struct part *part)
{
	double sum = 0;

	assert(part->first <= part->last && part->last < table->slices && series < table->series);
	for (uint32_t i = part->first; i <= part->last; i++) {
		sum += of[series * table->room + i];
	}
	return sum;
}

double partition_loss_of(const struct partition_table *table, size_t series,
			 const struct part *part)
{
	return quality_of(sum_over(table, table->values, series, part),
			  sum_over(table, table->f, series, part), part->last - part->first + 1)
		.loss;
}

double partition_mean_of(const struct partition_table *table, size_t series,
			 const struct part *part)
{
	return sum_over(table, table->values, series, part) / (part->last - part->first + 1);
}

/* ---- the best partition for one p ---- */

/* The best partition of the slices from one on. */
struct tail {
	struct quality quality; /* normalised */
	double value;
	uint32_t last; /* of its first part */
};

static bool is_better(const struct tail *a, const struct tail *b)
{
	int order = partition_compare(a->value, b->value, TOLERANCE);

	/* Values are seldom equal, and this is where the time goes. */
	order = order != 0 ? order : partition_compare(a->quality.gain, b->quality.gain, TOLERANCE);
	order = order != 0 ? order : partition_compare(b->quality.loss, a->quality.loss, TOLERANCE);
	return order != 0 ? order > 0 : a->last > b->last;
}

/* From right to left: the best first part of each tail, before what is best after it. */
static void find_tails(const struct partition_table *table, const struct part *range, double p,
		       struct tail *tails)
{
	struct quality whole = table->at[place(table, range->first, range->last)];

	whole.gain = whole.gain > 0 ? whole.gain : 1;
	whole.loss = whole.loss > 0 ? whole.loss : 1;
	tails[range->last + 1] = (struct tail){ .last = 0 };
	for (size_t first = (size_t)range->last + 1; first-- > range->first;) {
		for (size_t last = first; last <= range->last; last++) {
			const struct quality *quality = &table->at[place(table, first, last)];
			const struct tail *rest = &tails[last + 1];
			double gain = quality->gain / whole.gain;
			double loss = quality->loss / whole.loss;
			struct tail tail = {
				.quality = { gain + rest->quality.gain, loss + rest->quality.loss },
				.value = p * gain - (1 - p) * loss + rest->value,
				.last = (uint32_t)last,
			};

			if (last == first || is_better(&tail, &tails[first])) {
				tails[first] = tail;
			}
		}
	}
}

static void find_in(const struct partition_table *table, const struct part *range, double p,
		    struct partition *ret)
{
	struct tail *tails = mem_alloc((table->slices + 1) * sizeof(*tails));

	assert(p >= 0 && p <= 1);
	find_tails(table, range, p, tails);
	*ret = (struct partition){ .p = p,
				   .gain = tails[range->first].quality.gain,
				   .loss = tails[range->first].quality.loss };
	for (uint32_t first = range->first; first <= range->last; first = tails[first].last + 1) {
		*vec_push(&ret->parts) = (struct part){ .first = first, .last = tails[first].last };
	}
	free(tails);
}

void partition_find(const struct partition_table *table, double p, struct partition *ret)
{
	const struct part all = { 0, (uint32_t)table->slices - 1 };

	find_in(table, &all, p, ret);
}

void partition_fini(struct partition *partition)
{
	vec_fini(&partition->parts);
}

/* ---- all partitions ---- */

static double value_at(const struct partition *partition, double p)
{
	return p * partition->gain - (1 - p) * partition->loss;
}

/* Whether @middle, the best at the p where its neighbours have the same value, is better there. */
static bool is_between(const struct partition *low, const struct partition *middle,
		       const struct partition *high)
{
	return partition_compare(value_at(middle, middle->p), value_at(low, middle->p), TOLERANCE) >
		       0 &&
	       partition_compare(middle->gain, high->gain, TOLERANCE) < 0;
}

/*
 * Adds the partitions that are best for some p after that of @low, up to @high, which is the best
 * at a larger p.  Where both have the same value, either they meet, or a third one is better. Takes
 * @high over.
 */
static void find_between(const struct partition_table *table, const struct partition *low,
			 struct partition *high, struct partitions *ret)
{
	double gain = high->gain - low->gain, loss = high->loss - low->loss;
	struct partition middle, copy;
	double p;

	if (gain <= TOLERANCE || loss < 0) { /* the same one, or one of equal quality */
		partition_fini(high);
		return;
	}
	p = loss / (gain + loss);
	if (now_is_leaving()) {
		now_has_left = true; /* those between are not looked for */
		high->p = p;
		*vec_push(&ret->at) = *high;
		return;
	}
	partition_find(table, p, &middle);
	if (!is_between(low, &middle, high)) {
		partition_fini(&middle);
		high->p = p;
		*vec_push(&ret->at) = *high;
		return;
	}
	copy = (struct partition){ .gain = middle.gain, .loss = middle.loss };
	find_between(table, low, &middle, ret);
	find_between(table, &copy, high, ret);
}

/* The square of the way to gain 1 and loss 0. */
static double way_of(const struct partition *partition)
{
	return (partition->gain - 1) * (partition->gain - 1) + partition->loss * partition->loss;
}

static void choose(struct partitions *partitions)
{
	double nearest = INFINITY;

	for (size_t i = 0; i < partitions->at.count; i++) {
		double way = way_of(&partitions->at.at[i]);

		if (way < nearest - TOLERANCE) {
			nearest = way;
			partitions->nearest = i;
		}
	}
}

/*
 * (gain, loss) of all partitions that are best for some p lie on a convex curve.  Of one that is
 * best at p the way to the corner is that of a p of its own, (1 - gain) to loss.  If that p is
 * larger, all that are best for a smaller p lie on the far side; else those for a larger one.  So
 * each step leaves out what cannot be the nearest.
 */
void partition_find_nearest(const struct partition_table *table, const struct part *range,
			    struct partition *ret)
{
	struct partition low, high, middle;

	find_in(table, range, 0, &low);
	find_in(table, range, 1, &high);
	for (;;) {
		double gain = high.gain - low.gain, loss = fmax(high.loss - low.loss, 0), p;

		if (gain <= TOLERANCE) {
			break;
		}
		p = loss / (gain + loss);
		find_in(table, range, p, &middle);
		if (!is_between(&low, &middle, &high)) {
			partition_fini(&middle);
			break;
		}
		if (1 - middle.gain > p * (1 - middle.gain + middle.loss)) {
			partition_fini(&low);
			low = middle;
		} else {
			partition_fini(&high);
			high = middle;
		}
	}
	if (way_of(&high) < way_of(&low) - TOLERANCE) {
		partition_fini(&low);
		*ret = high;
	} else {
		partition_fini(&high);
		*ret = low;
	}
}

static double area(const struct partitions *partitions)
{
	double lost = 0;

	for (size_t i = 1; i < partitions->at.count; i++) {
		const struct partition *a = &partitions->at.at[i - 1], *b = a + 1;

		lost += (b->gain - a->gain) * (b->loss + a->loss) / 2;
	}
	return 1 - lost;
}

void partitions_find(const struct partition_table *table, struct partitions *ret)
{
	struct partition low, high;

	*ret = (struct partitions){ .nearest = 0 };
	partition_find(table, 0, &low);
	partition_find(table, 1, &high);
	*vec_push(&ret->at) = low;
	find_between(table, &low, &high, ret);
	choose(ret);
	ret->auc = area(ret);
}

void partitions_fini(struct partitions *partitions)
{
	vec_fini_each(&partitions->at, partition_fini);
}

const struct partition *partitions_at(const struct partitions *partitions, double p)
{
	size_t at = partitions->at.count - 1;

	assert(partitions->at.count > 0);
	while (at > 0 && partitions->at.at[at].p > p) {
		at--;
	}
	return &partitions->at.at[at];
}
