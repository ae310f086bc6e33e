/*
 * report-sort: the order of rows in a report; see report.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tables/columns.h"
#include "engine/tables/report.h"

/* What a column adds to the figure that rows are sorted by; a histogram adds its sum. */
static uint64_t value_of(const struct column *column, uint64_t value)
{
	const struct histogram *histogram = (const struct histogram *)(uintptr_t)value;

	if (column->kind == COLUMN_HISTOGRAM) {
		return histogram ? histogram->sum : 0;
	}
	return value;
}

uint64_t report_sort_value(const struct table *table, uint32_t mask, const uint64_t *values)
{
	uint64_t sum = 0;

	for (; mask != 0; mask &= mask - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(mask);

		sum += value_of(&table->columns[i], values[i]);
	}
	return sum;
}

static int by_sort(const void *left, const void *right)
{
	const struct report_row *a = left, *b = right;

	if (a->sort != b->sort) {
		return a->sort > b->sort ? -1 : 1;
	}
	if (a->name && b->name && !a->instance && strcmp(a->name, b->name) != 0) {
		return strcmp(a->name, b->name);
	}
	if (a->owner != b->owner) {
		return a->owner < b->owner ? -1 : 1;
	}
	if (a->id != b->id) {
		return a->id < b->id ? -1 : 1;
	}
	return a->by && b->by ? strcmp(a->by, b->by) : 0;
}

/* Brings the first @top rows to the front, in any order (Hoare's selection). */
static void select_top(struct report_row *rows, size_t count, size_t top)
{
	size_t first = 0, last = count - 1;

	assert(top > 0 && top < count);
	while (first < last) {
		struct report_row pivot = rows[first + (last - first) / 2];
		size_t i = first, k = last;

		for (;;) {
			struct report_row swapped;

			while (by_sort(&rows[i], &pivot) < 0) {
				i++;
			}
			while (by_sort(&rows[k], &pivot) > 0) {
				k--;
			}
			if (i >= k) {
				break;
			}
			swapped = rows[i];
			rows[i++] = rows[k];
			rows[k--] = swapped;
		}
		if (top <= k) {
			last = k;
		} else {
			first = k + 1;
		}
	}
}

void report_sort_rows(struct report_row *rows, size_t count, size_t top)
{
	if (top > 0 && top < count / 8) {
		select_top(rows, count, top);
		count = top;
	}
	if (count > 1) {
		qsort(rows, count, sizeof(*rows), by_sort);
	}
}

uint32_t report_sort_mask(const struct table *table, const struct selection *selection)
{
	const char *key = selection ? selection->sort : NULL;
	uint32_t columns = column_count(table);

	assert(table->sort_mask < 1u << columns);
	for (uint32_t i = 0; key && i < columns; i++) {
		if (strcmp(table->columns[i].key, key) == 0) {
			return 1u << i;
		}
	}
	return table->sort_mask;
}

void report_sort(const struct table *table, const struct selection *selection,
		 struct report_row *rows, size_t count, size_t top)
{
	uint32_t mask = report_sort_mask(table, selection);

	for (size_t i = 0; i < count; i++) {
		rows[i].sort = report_sort_value(table, mask, rows[i].values);
	}
	report_sort_rows(rows, count, top);
}
