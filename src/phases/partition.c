/*
 * partition: see partition.h.
 */
#include "phases/partition.h"

#include <assert.h>
#include <stdbool.h>

#define TOLERANCE 1e-12

/* Of an interval, or summed over the parts of a partition. */
struct quality {
	double gain, loss;
};

struct partition_table {
	size_t slices;
	struct quality whole; /* the divisors: those of the whole range, or 1 */
	struct quality *at;   /* of the interval [first, last]: row first, then last - first */
};

static size_t place(const struct partition_table *table, size_t first, size_t last)
{
	assert(first <= last);
	assert(last < table->slices);
	return first * table->slices - first * (first + 1) / 2 + last;
}

/* ---- gain and loss ---- */

/* A difference of numbers of the size of @scale; 0 if it is no more than rounding. */
static double difference(double a, double b, double scale)
{
	return a - b > TOLERANCE * scale ? a - b : 0;
}

/* Adds one series to all intervals. */
static void add_series(struct partition_table *table, const double *values)
{
	for (size_t first = 0; first < table->slices; first++) {
		double sum = 0, inner = 0;

		for (size_t last = first; last < table->slices; last++) {
			struct quality *quality = &table->at[place(table, first, last)];
			double even, entropy;

			assert(values[last] >= 0 && isfinite(values[last]));
			sum += values[last];
			inner += partition_f(values[last]);
			if (last == first) {
				continue;
			}
			entropy = difference(partition_f(sum), inner,
					     fabs(partition_f(sum)) + fabs(inner));
			even = sum * log2((double)(last - first + 1));
			quality->gain += entropy;
			quality->loss += difference(even, entropy, even + fabs(partition_f(sum)));
		}
	}
}

struct partition_table *partition_table_new(const struct partition_model *model)
{
	struct partition_table *table = mem_alloc(sizeof(*table));
	size_t last = model->slices - 1;

	assert(model->slices >= 1 && model->slices <= PARTITION_SLICES_MAX);
	table->slices = model->slices;
	table->at = mem_alloc(model->slices * (model->slices + 1) / 2 * sizeof(*table->at));
	for (size_t i = 0; i < model->series; i++) {
		add_series(table, &model->values[i * model->slices]);
	}
	table->whole.gain = partition_gain(table, 0, last);
	table->whole.loss = partition_loss(table, 0, last);
	table->whole.gain = table->whole.gain > 0 ? table->whole.gain : 1;
	table->whole.loss = table->whole.loss > 0 ? table->whole.loss : 1;
	return table;
}

void partition_table_free(struct partition_table *table)
{
	if (table) {
		free(table->at);
		free(table);
	}
}

double partition_gain(const struct partition_table *table, size_t first, size_t last)
{
	return table->at[place(table, first, last)].gain;
}

double partition_loss(const struct partition_table *table, size_t first, size_t last)
{
	return table->at[place(table, first, last)].loss;
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
	int by_value = partition_compare(a->value, b->value, TOLERANCE);
	int by_gain = partition_compare(a->quality.gain, b->quality.gain, TOLERANCE);
	int by_loss = partition_compare(b->quality.loss, a->quality.loss, TOLERANCE);

	return by_value != 0  ? by_value > 0
	       : by_gain != 0 ? by_gain > 0
	       : by_loss != 0 ? by_loss > 0
			      : a->last > b->last;
}

/* From right to left: the best first part of each tail, before what is best after it. */
static void find_tails(const struct partition_table *table, double p, struct tail *tails)
{
	tails[table->slices] = (struct tail){ .last = 0 };
	for (size_t first = table->slices; first-- > 0;) {
		for (size_t last = first; last < table->slices; last++) {
			const struct quality *quality = &table->at[place(table, first, last)];
			const struct tail *rest = &tails[last + 1];
			double gain = quality->gain / table->whole.gain;
			double loss = quality->loss / table->whole.loss;
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

void partition_find(const struct partition_table *table, double p, struct partition *ret)
{
	struct tail *tails = mem_alloc((table->slices + 1) * sizeof(*tails));

	assert(p >= 0 && p <= 1);
	find_tails(table, p, tails);
	*ret = (struct partition){ .p = p,
				   .gain = tails[0].quality.gain,
				   .loss = tails[0].quality.loss };
	for (uint32_t first = 0; first < table->slices; first = tails[first].last + 1) {
		*vec_push(&ret->parts) = (struct part){ .first = first, .last = tails[first].last };
	}
	free(tails);
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
	partition_find(table, p, &middle);
	if (partition_compare(value_at(&middle, p), value_at(low, p), TOLERANCE) <= 0 ||
	    partition_compare(middle.gain, high->gain, TOLERANCE) >= 0) {
		partition_fini(&middle);
		high->p = p;
		*vec_push(&ret->at) = *high;
		return;
	}
	copy = (struct partition){ .gain = middle.gain, .loss = middle.loss };
	find_between(table, low, &middle, ret);
	find_between(table, &copy, high, ret);
}

static void choose(struct partitions *partitions)
{
	double nearest = INFINITY;

	for (size_t i = 0; i < partitions->at.count; i++) {
		const struct partition *partition = &partitions->at.at[i];
		double far = (partition->gain - 1) * (partition->gain - 1) +
			     partition->loss * partition->loss;

		if (far < nearest - TOLERANCE) {
			nearest = far;
			partitions->nearest = i;
		}
		if (partition->loss <= PARTITION_LOSS_SUGGESTED) {
			partitions->suggested = i;
		}
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
