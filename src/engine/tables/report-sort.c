/*
 * report-sort: the order of rows in a report; see report.h.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tables/columns.h"
#include "engine/tables/report.h"

/* What a column adds to the figure that rows are sorted by. */
static uint64_t value_of(const struct column *column, enum histogram_part part, uint64_t value)
{
	const struct histogram *histogram = (const struct histogram *)(uintptr_t)value;

	if (column->kind != COLUMN_HISTOGRAM) {
		return value;
	}
	if (!histogram) {
		return 0;
	}
	return part == HISTOGRAM_NO_PART ? histogram->sum
					 : (uint64_t)(histogram_part(histogram, part) + 0.5);
}

/* A smaller number is more urgent; an unknown priority comes last. */
static uint64_t urgency(const struct thread_view *thread)
{
	return thread && thread->has_prio ? (uint64_t)(UINT32_MAX - (int64_t)thread->prio) : 0;
}

static uint64_t sum_of(const struct table *table, uint32_t columns, enum histogram_part part,
		       const struct report_row *row)
{
	uint64_t sum = 0;

	for (uint32_t mask = columns; mask != 0; mask &= mask - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(mask);

		sum += value_of(&table->columns[i], part, row->values[i]);
	}
	return sum;
}

/* Of quotients the first 20 binary digits behind the point count; 0 / 0 comes last. */
uint64_t report_sort_value(const struct table *table, struct report_order order,
			   const struct report_row *row)
{
	uint64_t sum = sum_of(table, order.mask, order.part, row), per;
	double scaled;

	if (order.by_prio) {
		return urgency(row->thread);
	}
	if (order.per == 0) {
		return sum;
	}
	per = sum_of(table, order.per, order.per_part, row);
	scaled = per > 0 ? ldexp((double)sum / (double)per, 20) : 0;
	return scaled < 1.8e19 ? (uint64_t)scaled : UINT64_MAX;
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
	if (a->by && b->by && strcmp(a->by, b->by) != 0) {
		return strcmp(a->by, b->by);
	}
	return a->thread && b->thread ? strcmp(a->thread->comm, b->thread->comm) : 0;
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

/* Without a key a part is that of the first distribution by which the table is sorted, or else of
 * its first one. */
static bool is_chosen(const struct table *table, uint32_t column, const struct display *display)
{
	const struct column *of = &table->columns[column];

	if (display->sort_part != HISTOGRAM_NO_PART && of->kind != COLUMN_HISTOGRAM) {
		return false;
	}
	return !display->sort || strcmp(of->key, display->sort) == 0;
}

struct report_order report_order(const struct table *table, const struct display *display)
{
	struct report_order order = { .mask = 0 };
	uint32_t columns = column_count(table), chosen = 0, per = 0;

	assert(table->sort_mask < 1u << columns);
	if (!display || (!display->sort && display->sort_part == HISTOGRAM_NO_PART) ||
	    (display->sort_of && display->sort_of != table)) {
		order.mask = table->sort_mask;
		return order;
	}
	for (uint32_t i = 0; i < columns; i++) {
		chosen |= (uint32_t)is_chosen(table, i, display) << i;
		per |= (uint32_t)(display->sort_per &&
				  strcmp(table->columns[i].key, display->sort_per) == 0)
		       << i;
	}
	chosen = chosen & table->sort_mask ? chosen & table->sort_mask : chosen;
	order.mask = chosen ? chosen & -chosen : table->sort_mask;
	order.part = chosen ? display->sort_part : HISTOGRAM_NO_PART;
	order.per = per;
	order.per_part = display->sort_per_part;
	if (chosen && table->columns[__builtin_ctz(chosen)].kind == COLUMN_PRIO) {
		order = (struct report_order){ .by_prio = true };
	}
	return order;
}

void report_sort(const struct table *table, const struct display *display, struct report_row *rows,
		 size_t count, size_t top)
{
	struct report_order order = report_order(table, display);

	for (size_t i = 0; i < count; i++) {
		rows[i].sort = report_sort_value(table, order, &rows[i]);
	}
	report_sort_rows(rows, count, top);
}
