/*
 * report: copies, losses, and the order of rows; see report.h.
 */
#include "engine/tables/report.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "engine/tables/columns.h"

static const char *copy_text(struct arena *arena, const char *text)
{
	return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

/* Adds the bytes of the histograms to *bytes. */
static const uint64_t *copy_values(struct arena *arena, const struct table *table,
				   const uint64_t *values, size_t *bytes)
{
	uint32_t count = column_count(table);
	uint64_t *copy = arena_alloc(arena, count * sizeof(*copy));

	for (uint32_t i = 0; i < count; i++) {
		if (table->columns[i].kind == COLUMN_HISTOGRAM) {
			column_merge(copy, i, column_histogram(values, i));
			*bytes += histogram_bytes(column_histogram(copy, i));
		} else if (table->columns[i].kind != COLUMN_PRIO) {
			copy[i] = values[i];
		}
	}
	return copy;
}

static struct report_row copy_row(struct arena *arena, const struct table *table,
				  const struct report_row *from, size_t *bytes)
{
	struct report_row row = *from;

	row.by = copy_text(arena, row.by);
	row.name = copy_text(arena, row.name);
	row.label = copy_text(arena, row.label);
	row.keyed = copy_text(arena, row.keyed);
	if (row.thread) {
		row.thread = arena_copy(arena, row.thread, sizeof(*row.thread));
	}
	if (row.values) {
		row.values = copy_values(arena, table, row.values, bytes);
	}
	if (row.instance) {
		struct instance *instance = arena_copy(arena, row.instance, sizeof(*row.instance));

		instance->thread = NULL; /* the engine's; row.thread has what is shown of it */
		row.instance = instance;
	}
	return row;
}

static const struct report_row *copy_rows(struct arena *arena, const struct report_table *from,
					  size_t count, size_t *bytes)
{
	struct report_row *rows = arena_alloc(arena, (count + 1) * sizeof(*rows));

	for (size_t i = 0; i < count; i++) {
		rows[i] = copy_row(arena, from->table, &from->rows[i], bytes);
	}
	return rows;
}

static void copy_tables(struct arena *arena, struct report *copy, const struct report *from,
			size_t most, report_wants *wants, size_t *bytes)
{
	struct report_table *tables = arena_alloc(arena, (from->table_count + 1) * sizeof(*tables));
	size_t kept = 0;

	for (size_t i = 0; i < from->table_count; i++) {
		struct report_table *table = &tables[kept];

		if (wants && !wants(&from->tables[i])) {
			continue;
		}
		*table = from->tables[i];
		table->row_count = table->row_count < most ? table->row_count : most;
		table->rows = copy_rows(arena, table, table->row_count, bytes);
		kept++;
	}
	copy->tables = tables;
	copy->table_count = kept;
	assert(kept <= from->table_count);
}

static void copy_missing(struct arena *arena, struct report *copy)
{
	struct missing_event *missing =
		arena_copy(arena, copy->missing, copy->missing_count * sizeof(*missing));

	for (size_t i = 0; i < copy->missing_count; i++) {
		missing[i].event = copy_text(arena, missing[i].event);
	}
	copy->missing = missing;
}

size_t report_copy(struct report *ret, const struct report *from, struct arena *arena, size_t most,
		   report_wants *wants)
{
	size_t bytes = 0;

	assert(ret != from);
	*ret = *from;
	copy_tables(arena, ret, from, most, wants, &bytes);
	copy_missing(arena, ret);
	ret->views = arena_copy(arena, from->views, from->view_count * sizeof(*from->views));
	ret->parts = arena_copy(arena, from->parts, from->part_count * sizeof(*from->parts));
	ret->spans = arena_copy(arena, from->spans, from->span_count * sizeof(*from->spans));
	return bytes;
}

static void free_histograms(const struct table *table, const struct report_row *row)
{
	for (uint32_t i = 0; row->values && i < column_count(table); i++) {
		if (table->columns[i].kind == COLUMN_HISTOGRAM) {
			histogram_free((struct histogram *)column_histogram(row->values, i));
		}
	}
}

void report_copy_fini(struct report *copy)
{
	for (size_t t = 0; t < copy->table_count; t++) {
		for (size_t i = 0; i < copy->tables[t].row_count; i++) {
			free_histograms(copy->tables[t].table, &copy->tables[t].rows[i]);
		}
	}
	copy->table_count = 0;
}

/* ---- losses ---- */

const char *const report_lost_keys[LOSSES] = {
	[LOSS_EVENTS] = "discarded",        [LOSS_PACKETS] = "lost_packets",
	[LOSS_BAD_PACKETS] = "bad_packets", [LOSS_LATE] = "late_events",
	[LOSS_ANOMALIES] = "anomalies",     [LOSS_MISFITS] = "misfits",
};

void report_lost_add(struct losses *to, const struct losses *from)
{
	assert(from->of[LOSS_MISFITS] <= from->of[LOSS_ANOMALIES]);
	for (int i = 0; i < LOSSES; i++) {
		to->of[i] += from->of[i];
	}
}

bool report_lost_any(const struct losses *losses)
{
	uint64_t any = 0;

	for (int i = 0; i < LOSSES; i++) {
		any |= losses->of[i];
	}
	return any != 0;
}

void report_lost_print(FILE *out, const struct losses *losses)
{
	static const char *const words[LOSSES] = {
		[LOSS_EVENTS] = "events discarded",
		[LOSS_PACKETS] = "packets lost",
		[LOSS_BAD_PACKETS] = "bad packets",
		[LOSS_LATE] = "events late",
		[LOSS_MISFITS] = "switches do not fit: filtered, or lost unseen",
	};
	char text[UNITS_TEXT_MAX];
	uint64_t moved = losses->of[LOSS_ANOMALIES] - losses->of[LOSS_MISFITS];

	for (int i = 0; i < LOSSES; i++) {
		if (words[i] && losses->of[i] > 0) {
			(void)fprintf(out, "  ! %s %s", units_count(text, losses->of[i]), words[i]);
		}
	}
	if (moved > 0) {
		(void)fprintf(out, "  ! %s times moved", units_count(text, moved));
	}
}

void report_lost_list(FILE *out, const struct losses *losses)
{
	const uint64_t *of = losses->of;

	(void)fprintf(out,
		      "%" PRIu64 " events discarded, %" PRIu64 " packets lost, %" PRIu64
		      " packets bad, %" PRIu64 " events late",
		      of[LOSS_EVENTS], of[LOSS_PACKETS], of[LOSS_BAD_PACKETS], of[LOSS_LATE]);
	if (of[LOSS_ANOMALIES] > 0) {
		(void)fprintf(out, ", %" PRIu64 " anomalies", of[LOSS_ANOMALIES]);
	}
}

/* ---- order ---- */

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

static bool is_before(const struct report_row *a, const struct report_row *b)
{
	return by_sort(a, b) < 0;
}

VEC_SELECT(select_top, struct report_row, is_before)

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
