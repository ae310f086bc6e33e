/*
 * medians: see medians.h.
 */
#include "compare/medians.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "trigger/fold.h"

struct median {
	const char *name; /* the key in the table */
	unsigned int count;
	double values[BASELINE_DAYS_MAX];
};

KHASH_MAP_INIT_STR(medians_rows, struct median *)

/* Of one comparison. */
struct medians_of {
	const struct condition *condition;
	unsigned int days;
	uint64_t left_out;
	khash_t(medians_rows) * rows;
};

struct medians {
	VEC(struct medians_of) all;
};

struct medians *medians_new(const struct condition_list *conditions)
{
	struct medians *medians = mem_alloc(sizeof(*medians));

	for (size_t i = 0; i < conditions->at.count; i++) {
		*vec_push(&medians->all) = (struct medians_of){ .condition = conditions->at.at[i],
								.rows = kh_init(medians_rows) };
	}
	return medians;
}

void medians_free(struct medians *medians)
{
	if (!medians) {
		return;
	}
	for (size_t i = 0; i < medians->all.count; i++) {
		struct median *row;

		kh_foreach_value(medians->all.at[i].rows, row, {
			free((char *)row->name);
			free(row);
		});
		kh_destroy(medians_rows, medians->all.at[i].rows);
	}
	vec_fini(&medians->all);
	free(medians);
}

static const struct medians_of *find_of(const struct medians *medians, const struct condition *c)
{
	for (size_t i = 0; i < medians->all.count; i++) {
		if (medians->all.at[i].condition == c) {
			return &medians->all.at[i];
		}
	}
	assert(false);
	return NULL;
}

/* The row, made if it is new and there is room. */
static struct median *row_of(struct medians_of *of, const char *name)
{
	khint_t at = kh_get(medians_rows, of->rows, name);
	struct median *row;
	int is_new;

	if (at != kh_end(of->rows)) {
		return kh_value(of->rows, at);
	}
	if (kh_size(of->rows) >= BASELINE_ROWS_MAX) {
		of->left_out++;
		return NULL;
	}
	row = mem_alloc(sizeof(*row));
	row->name = mem_strdup(name);
	at = kh_put(medians_rows, of->rows, row->name, &is_new);
	kh_value(of->rows, at) = row;
	return row;
}

static void add_rows(struct medians_of *of, const struct report *hour,
		     const struct report_table *table)
{
	const struct figure *figure = &of->condition->figure;
	struct fold *fold = fold_new(figure, table);
	const struct report_table *by_name = fold_table(fold);

	for (size_t i = 0; i < by_name->row_count; i++) {
		double value = trigger_figure(of->condition, hour, by_name, &by_name->rows[i]);
		struct median *row = NULL;

		if (baseline_has_value(figure, &by_name->rows[i]) && isfinite(value)) {
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
	for (size_t i = 0; i < medians->all.count; i++) {
		struct medians_of *of = &medians->all.at[i];
		const struct figure *figure = &of->condition->figure;
		const struct report_table *table = trigger_table(hour, figure->table);

		if (table && !report_is_unknown(table, figure->column)) {
			assert(of->days < BASELINE_DAYS_MAX);
			of->days++;
			add_rows(of, hour, table);
		}
	}
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

void medians_end(struct medians *medians)
{
	for (size_t i = 0; i < medians->all.count; i++) {
		struct medians_of *of = &medians->all.at[i];
		bool is_sum = baseline_is_sum(&of->condition->figure);
		struct median *row;

		kh_foreach_value(of->rows, row, {
			while (is_sum && row->count < of->days) {
				row->values[row->count++] = 0;
			}
			qsort(row->values, row->count, sizeof(row->values[0]), by_value);
		});
	}
}

unsigned int medians_days(const struct medians *medians, const struct condition *c)
{
	return find_of(medians, c)->days;
}

uint64_t medians_left_out(const struct medians *medians, const struct condition *c)
{
	return find_of(medians, c)->left_out;
}

unsigned int medians_find(const struct medians *medians, const struct condition *c,
			  const char *name, double *ret)
{
	const struct medians_of *of = find_of(medians, c);
	khint_t at = kh_get(medians_rows, of->rows, name);
	const struct median *row;

	*ret = NAN;
	if (at == kh_end(of->rows)) {
		return 0;
	}
	row = kh_value(of->rows, at);
	if (row->count >= BASELINE_DAYS_MIN) {
		*ret = (row->values[(row->count - 1) / 2] + row->values[row->count / 2]) / 2;
	}
	return row->count;
}
