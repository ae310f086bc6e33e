/*
 * medians: see medians.h.
 */
#include "compare/medians.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "figure/by-name.h"
#include "figure/fold.h"

struct median {
	unsigned int count;
	double values[BASELINE_DAYS_MAX];
};

struct medians_of {
	const struct figure *figure;
	unsigned int days;
	uint64_t left_out;
	struct by_name rows; /* of struct median */
};

struct medians {
	VEC(struct medians_of) all;
};

struct medians *medians_new(const struct figure_list *figures)
{
	struct medians *medians = mem_alloc(sizeof(*medians));

	for (size_t i = 0; i < figures->at.count; i++) {
		*vec_push(&medians->all) = (struct medians_of){ .figure = figures->at.at[i] };
	}
	return medians;
}

void medians_free(struct medians *medians)
{
	if (!medians) {
		return;
	}
	for (size_t i = 0; i < medians->all.count; i++) {
		by_name_fini(&medians->all.at[i].rows);
	}
	vec_fini(&medians->all);
	free(medians);
}

static const struct medians_of *find_of(const struct medians *medians, const struct figure *figure)
{
	for (size_t i = 0; i < medians->all.count; i++) {
		if (medians->all.at[i].figure == figure) {
			return &medians->all.at[i];
		}
	}
	assert(false);
	return NULL;
}

/* The row, made if it is new and there is room. */
static struct median *row_of(struct medians_of *of, const char *name)
{
	if (of->rows.all.count >= BASELINE_ROWS_MAX && !by_name_find(&of->rows, name)) {
		of->left_out++;
		return NULL;
	}
	return by_name_add(&of->rows, name, sizeof(struct median));
}

static void add_rows(struct medians_of *of, const struct report *hour,
		     const struct report_table *table)
{
	const struct figure *figure = of->figure;
	struct fold *fold = fold_new(figure, table);
	const struct report_table *by_name = fold_table(fold);

	for (size_t i = 0; i < by_name->row_count; i++) {
		double value = figure_value(figure, hour, &by_name->rows[i]);
		struct median *row = NULL;

		if (figure_has_value(figure, &by_name->rows[i]) && isfinite(value)) {
			row = row_of(of, fold_name(fold, i));
		}
		if (row) {
			assert(row->count < BASELINE_DAYS_MAX);
			row->values[row->count++] = value;
		}
	}
	fold_free(fold);
}

void medians_add_day(struct medians *medians, const struct report *hour)
{
	assert(hour->end > hour->begin);
	VEC_EACH(&medians->all, of) {
		const struct report_table *table = figure_table(of->figure, hour);

		if (table && !figure_is_unknown(of->figure, hour)) {
			assert(of->days < BASELINE_DAYS_MAX);
			of->days++;
			add_rows(of, hour, table);
		}
	}
}

ORDER_VALUES(by_value, double)

void medians_end(struct medians *medians)
{
	VEC_EACH(&medians->all, of) {
		for (size_t k = 0; k < of->rows.all.count; k++) {
			struct median *row = of->rows.all.at[k].row;

			while (figure_is_sum(of->figure) && row->count < of->days) {
				row->values[row->count++] = 0;
			}
			qsort(row->values, row->count, sizeof(row->values[0]), by_value);
		}
	}
}

unsigned int medians_days(const struct medians *medians, const struct figure *figure)
{
	return find_of(medians, figure)->days;
}

uint64_t medians_left_out(const struct medians *medians, const struct figure *figure)
{
	return find_of(medians, figure)->left_out;
}

unsigned int medians_find(const struct medians *medians, const struct figure *figure,
			  const char *name, double *ret)
{
	const struct medians_of *of = find_of(medians, figure);
	const struct median *row = by_name_find(&of->rows, name);

	*ret = NAN;
	if (!row) {
		return 0;
	}
	if (row->count >= BASELINE_DAYS_MIN) {
		*ret = (row->values[(row->count - 1) / 2] + row->values[row->count / 2]) / 2;
	}
	return row->count;
}
