/*
 * suggest: see suggest.h.
 */
#include "phases/suggest.h"

#include <assert.h>

#define WEAK_CUT    4    /* while parts still hide changes, which look like noise then */
#define CLEAR_CUT   4.6  /* in standard deviations of the difference of two means */
#define NOISE_LEAST 1e-4 /* bits a slice: a clock's grain, or 1 % of a CPU's time */
#define ROUNDING    1e-9
#define NOISE_PRIOR 4 /* slices that the noise of the range around counts for */

struct suggestion {
	const struct partition_table *table;
	const bool *counts;
	partition_parts *found;
};

/* A range while cuts are taken away. */
struct pruning {
	const struct suggestion *by;
	partition_parts parts;
	const double *prior; /* noise of the range around, by series; NULL: there is none */
	double *within;      /* loss within the parts, by series */
	double *means;       /* [series][part] */
	double *avoided;     /* [series][part]: loss that the cut behind a part avoids */
	size_t *largest;     /* by part: the series that made the cut behind it clear, last time */
	size_t room;         /* of parts */
	size_t slices;
	bool is_weak; /* all cuts that are there may stay, if they are no noise at all */
};

static size_t length_of(const struct part *part)
{
	return (size_t)part->last - part->first + 1;
}

static struct part join_of(const struct part *before, const struct part *after)
{
	return (struct part){ before->first, after->last };
}

/* ---- which cuts are clear ---- */

/* The loss of a series that a cut avoids. */
static double avoided(const struct partition_table *table, size_t series, const struct part *before,
		      const struct part *after)
{
	const struct part both = join_of(before, after);

	return fmax(partition_loss_of(table, series, &both) -
			    partition_loss_of(table, series, before) -
			    partition_loss_of(table, series, after),
		    0);
}

static double avoided_in_all(const struct partition_table *table, const struct part *before,
			     const struct part *after)
{
	return partition_loss(table, before->first, after->last) -
	       partition_loss(table, before->first, before->last) -
	       partition_loss(table, after->first, after->last);
}

/* Slices that say how large noise is. */
static double freedom_of(const struct pruning *pruning)
{
	return (double)(pruning->slices - pruning->parts.count) +
	       (pruning->prior ? NOISE_PRIOR : 0);
}

static bool is_short(const struct part *part)
{
	return length_of(part) < SUGGEST_STAY;
}

static double *cell_of(const struct pruning *pruning, double *cells, size_t series, size_t at)
{
	assert(at < pruning->room);
	return &cells[series * pruning->room + at];
}

/* Of a series that counts, after a change of the part or of the next one. */
static void look_at(struct pruning *pruning, size_t series, size_t at)
{
	const struct partition_table *table = pruning->by->table;
	const struct part *part = &pruning->parts.at[at];

	*cell_of(pruning, pruning->means, series, at) = partition_mean_of(table, series, part);
	*cell_of(pruning, pruning->avoided, series, at) =
		at + 1 < pruning->parts.count ? avoided(table, series, part, part + 1) : INFINITY;
}

/* What a slice loses, if @lost is lost of the series. */
static double noise_of(const struct pruning *pruning, size_t series, double lost)
{
	double known = pruning->prior ? NOISE_PRIOR * pruning->prior[series] : 0;

	return fmax((lost + known) / fmax(freedom_of(pruning), 1), NOISE_LEAST);
}

static bool is_alike(const struct pruning *pruning, size_t series, size_t a, size_t b)
{
	return fabs(*cell_of(pruning, pruning->means, series, a) -
		    *cell_of(pruning, pruning->means, series, b)) < SUGGEST_CHANGE;
}

/*
 * The noise beside the cut behind a part: what a slice loses within the parts.  What is short is
 * no phase if it comes again and again: beside a short part all others like it are noise.
 */
static double noise_at(const struct pruning *pruning, size_t series, size_t at)
{
	const double *avoided = cell_of(pruning, pruning->avoided, series, 0);
	bool first = is_short(&pruning->parts.at[at]),
	     second = is_short(&pruning->parts.at[at + 1]);
	double lost = pruning->within[series];

	for (size_t i = 0; (first || second) && i < pruning->parts.count; i++) {
		if (i != at && i != at + 1 && is_short(&pruning->parts.at[i]) &&
		    ((first && is_alike(pruning, series, i, at)) ||
		     (second && is_alike(pruning, series, i, at + 1)))) {
			lost += fmin(i > 0 ? avoided[i - 1] : INFINITY, avoided[i]);
		}
	}
	return noise_of(pruning, series, lost);
}

/*
 * How often the noise of a slice a cut has to avoid.  For two parts of one law the quotient is the
 * square of a t variable, whose tails are the longer the fewer slices tell the noise: the quantile
 * of t that CLEAR_CUT is of the normal law, by the first terms of its expansion.
 */
static double clear_from(const struct pruning *pruning)
{
	const double z = CLEAR_CUT, z2 = z * z;
	double freedom = freedom_of(pruning), quantile;

	if (pruning->is_weak || freedom <= 0) {
		return pruning->is_weak ? WEAK_CUT : INFINITY;
	}
	quantile = z * (1 + (z2 + 1) / (4 * freedom) +
			((5 * z2 + 16) * z2 + 3) / (96 * freedom * freedom));
	return quantile * quantile;
}

static double clarity_in(const struct pruning *pruning, size_t series, size_t at)
{
	return pruning->by->counts[series] && !is_alike(pruning, series, at, at + 1)
		       ? *cell_of(pruning, pruning->avoided, series, at) /
				 noise_at(pruning, series, at)
		       : 0;
}

/* What the cut behind a part avoids, in what a slice loses; 0: nothing changes enough.  If it is
 * above @limit, anything above that; the series that said so last says it first. */
static double clarity_of(struct pruning *pruning, size_t at, double limit)
{
	const struct part *before = &pruning->parts.at[at], *after = before + 1;
	size_t count = partition_series(pruning->by->table), *largest = &pruning->largest[at];
	double ret;

	if (count == 0 || (pruning->prior && (is_short(before) || is_short(after)))) {
		return 0;
	}
	ret = clarity_in(pruning, *largest, at);
	for (size_t k = 0; k < count && ret <= limit; k++) {
		double clarity = clarity_in(pruning, k, at);

		if (clarity > ret) {
			ret = clarity;
			*largest = k;
		}
	}
	return ret;
}

static void join(struct pruning *pruning, size_t at)
{
	size_t count = partition_series(pruning->by->table);
	size_t left = --pruning->parts.count - at - 1;
	struct part *part = &pruning->parts.at[at];

	part->last = part[1].last;
	memmove(part + 1, part + 2, left * sizeof(*part));
	memmove(&pruning->largest[at + 1], &pruning->largest[at + 2],
		left * sizeof(*pruning->largest));
	for (size_t k = 0; k < count; k++) {
		double *mean, *avoided;

		if (!pruning->by->counts[k]) {
			continue;
		}
		mean = cell_of(pruning, pruning->means, k, at);
		avoided = cell_of(pruning, pruning->avoided, k, at);
		pruning->within[k] += *avoided;
		memmove(mean + 1, mean + 2, left * sizeof(*mean));
		memmove(avoided + 1, avoided + 2, left * sizeof(*avoided));
		for (size_t i = at > 0 ? at - 1 : 0; i <= at; i++) {
			look_at(pruning, k, i);
		}
	}
}

/* Takes away the cut that is the least clear, until all are. */
static void prune(struct pruning *pruning)
{
	const struct partition_table *table = pruning->by->table;

	while (pruning->parts.count > 1) {
		double least = INFINITY, least_avoided = INFINITY;
		size_t found = 0;
		for (size_t i = 0; i + 1 < pruning->parts.count; i++) {
			const struct part *part = &pruning->parts.at[i];
			double clarity = clarity_of(pruning, i, least);
			double all = avoided_in_all(table, part, part + 1);

			if (clarity < least || (clarity <= least && all < least_avoided)) {
				least = clarity;
				least_avoided = all;
				found = i;
			}
		}
		if (least >= clear_from(pruning)) {
			return;
		}
		join(pruning, found);
	}
}

/* @parts are taken over. */
static struct pruning pruning_of(const struct suggestion *by, partition_parts parts,
				 const double *prior)
{
	size_t series = partition_series(by->table), cells = series * parts.count + 1;
	struct pruning ret = { .by = by, .parts = parts, .prior = prior, .room = parts.count };

	ret.within = mem_alloc((series + 1) * sizeof(*ret.within));
	ret.means = mem_alloc(cells * sizeof(*ret.means));
	ret.avoided = mem_alloc(cells * sizeof(*ret.avoided));
	ret.largest = mem_alloc(parts.count * sizeof(*ret.largest));
	for (size_t i = 0; i < parts.count; i++) {
		ret.slices += length_of(&parts.at[i]);
		for (size_t k = 0; k < series; k++) {
			if (by->counts[k]) {
				ret.within[k] += partition_loss_of(by->table, k, &parts.at[i]);
				look_at(&ret, k, i);
			}
		}
	}
	return ret;
}

/* The parts stay. */
static void pruning_fini(struct pruning *pruning)
{
	free(pruning->within);
	free(pruning->means);
	free(pruning->avoided);
	free(pruning->largest);
}

/* ---- the parts ---- */

/* Each level of the recursion cuts its range, so that there are no more levels than slices. */
static void find_in(const struct suggestion *by, const struct part *range, const double *prior)
{
	struct partition nearest;
	struct pruning pruning;

	partition_find_nearest(by->table, range, &nearest);
	pruning = pruning_of(by, nearest.parts, prior);
	pruning.is_weak = true;
	prune(&pruning);
	if (pruning.parts.count == 1) {
		*vec_push(by->found) = pruning.parts.at[0];
	} else {
		double *noise = mem_alloc((partition_series(by->table) + 1) * sizeof(*noise));

		for (size_t k = 0; k < partition_series(by->table); k++) {
			noise[k] = noise_of(&pruning, k, pruning.within[k]);
		}
		VEC_EACH(&pruning.parts, part) {
			find_in(by, part, noise);
		}
		free(noise);
	}
	pruning_fini(&pruning);
	vec_fini(&pruning.parts);
}

static bool differs(const struct pruning *pruning, size_t a, size_t b)
{
	for (size_t k = 0; k < partition_series(pruning->by->table); k++) {
		if (pruning->by->counts[k] && !is_alike(pruning, k, a, b)) {
			return true;
		}
	}
	return false;
}

/* Behaviour seldom changes where a slice ends, or at once: what lies between two phases, and has
 * @most slices, belongs to one of them. */
static void join_transitions(struct pruning *pruning, size_t most)
{
	for (size_t i = 1; i + 1 < pruning->parts.count;) {
		const struct part *part = &pruning->parts.at[i];
		const struct partition_table *table = pruning->by->table;

		if (length_of(part) > most || !differs(pruning, i - 1, i + 1)) {
			i++;
		} else if (avoided_in_all(table, part - 1, part) <=
			   avoided_in_all(table, part, part + 1)) {
			join(pruning, i - 1);
		} else {
			join(pruning, i);
		}
	}
}

static void join_ends(struct pruning *pruning, bool is_over)
{
	while (pruning->parts.count > 1 && is_short(&pruning->parts.at[0])) {
		join(pruning, 0);
	}
	while (is_over && pruning->parts.count > 1 &&
	       is_short(&pruning->parts.at[pruning->parts.count - 1])) {
		join(pruning, pruning->parts.count - 2);
	}
}

/* Of parts that have grown. */
static void join_alike(struct pruning *pruning)
{
	for (size_t i = 0; i + 1 < pruning->parts.count;) {
		if (differs(pruning, i, i + 1)) {
			i++;
		} else {
			join(pruning, i);
		}
	}
}

void suggest_parts(const struct partition_table *table, const bool *counts, bool is_over,
		   partition_parts *ret_maybe, partition_parts *ret)
{
	const struct suggestion by = { .table = table, .counts = counts, .found = ret };
	const struct part all = { 0, (uint32_t)partition_slices(table) - 1 };
	struct pruning pruning;

	assert(ret->count == 0);
	find_in(&by, &all, NULL);
	pruning = pruning_of(&by, *ret, NULL);
	join_transitions(&pruning, 1);
	prune(&pruning);
	join_ends(&pruning, is_over);
	join_transitions(&pruning, SUGGEST_STAY - 1);
	join_alike(&pruning);
	if (ret_maybe) {
		vec_append(ret_maybe, pruning.parts.at, pruning.parts.count);
	}
	prune(&pruning); /* parts have grown, and some differ less clearly */
	pruning_fini(&pruning);
	*ret = pruning.parts;
}

/* ---- among the best partitions ---- */

/* Gain and loss as in a partition of the whole. */
static void measure(const struct partition_table *table, struct partition *partition)
{
	size_t last = partition_slices(table) - 1;
	double gain = partition_gain(table, 0, last), loss = partition_loss(table, 0, last);

	VEC_EACH(&partition->parts, part) {
		partition->gain += partition_gain(table, part->first, part->last);
		partition->loss += partition_loss(table, part->first, part->last);
	}
	partition->gain /= gain > 0 ? gain : 1;
	partition->loss /= loss > 0 ? loss : 1;
}

static bool is_same(const partition_parts *a, const partition_parts *b)
{
	return a->count == b->count && memcmp(a->at, b->at, a->count * sizeof(*a->at)) == 0;
}

void suggest_among(const struct partition_table *table, const bool *counts,
		   struct partitions *partitions)
{
	struct partition own = { 0 };
	size_t at = 0;

	suggest_parts(table, counts, true, NULL, &own.parts);
	measure(table, &own);
	for (size_t i = 0; i < partitions->at.count; i++) {
		if (is_same(&partitions->at.at[i].parts, &own.parts)) {
			partitions->suggested = i;
			partition_fini(&own);
			return;
		}
		at += partitions->at.at[i].gain < own.gain - ROUNDING;
	}
	assert(at < partitions->at.count); /* the last one has the largest gain */
	own.p = partitions->at.at[at].p;
	(void)vec_push(&partitions->at);
	memmove(&partitions->at.at[at + 1], &partitions->at.at[at],
		(partitions->at.count - at - 1) * sizeof(own));
	partitions->at.at[at] = own;
	partitions->suggested = at;
	partitions->nearest += at <= partitions->nearest;
}
