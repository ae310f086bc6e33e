/*
 * columns: see columns.h.
 */
#include "engine/tables/columns.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

uint32_t column_count(const struct table *table)
{
	uint32_t count = 0;

	while (count < COLUMNS_MAX && table->columns[count].key) {
		count++;
	}
	return count;
}

/* Of columns here: a sum that ends at UINT64_MAX. */
#define KIND_CAPPED (COLUMN_HISTOGRAM + 1)

static bool is_level(uint8_t kind)
{
	return kind == COLUMN_LAST || kind == COLUMN_LAST_MAX;
}

static bool is_sum(uint8_t kind)
{
	return kind == COLUMN_SUM || kind == COLUMN_PRIO;
}

void columns_append(struct columns *columns, const struct table *table)
{
	uint32_t more = column_count(table);

	assert(columns->count + more <= UINT16_MAX); /* indexes are kept in 16 bits */
	columns->kinds = mem_realloc(columns->kinds, columns->count + more + 1);
	columns->special = mem_realloc(columns->special,
				       (columns->count + more + 1) * sizeof(*columns->special));
	for (uint32_t i = 0; i < more; i++) {
		unsigned int kind = table->columns[i].kind;

		kind = table->columns[i].is_capped ? KIND_CAPPED : kind;
		if (!is_sum((uint8_t)kind)) {
			columns->special[columns->special_count++] = (uint16_t)columns->count;
		}
		columns->has_histograms |= kind == COLUMN_HISTOGRAM;
		columns->level_count += is_level((uint8_t)kind);
		columns->kinds[columns->count++] = (uint8_t)kind;
	}
}

void columns_fini(struct columns *columns)
{
	free(columns->kinds);
	free(columns->special);
}

static void move_histogram(uint64_t *to, uint64_t *from)
{
	struct histogram *sum = (struct histogram *)(uintptr_t)*to;
	struct histogram *part = (struct histogram *)(uintptr_t)*from;

	if (part) {
		histogram_move(&sum, &part);
		*to = (uint64_t)(uintptr_t)sum;
	}
}

static void move_one(uint8_t kind, uint64_t *to, uint64_t *from, bool closes)
{
	switch (kind) {
	case KIND_CAPPED:
		column_add_capped(to, 0, *from);
		break;
	case COLUMN_SUM:
	case COLUMN_PRIO:
		*to += *from;
		break;
	case COLUMN_MAX:
		*to = *from > *to ? *from : *to;
		break;
	case COLUMN_LAST:
		*to = closes ? *from : *to + *from;
		break;
	case COLUMN_LAST_MAX:
		*to = closes || *from > *to ? *from : *to;
		break;
	case COLUMN_HISTOGRAM:
		move_histogram(to, from);
		break;
	}
	*from = 0;
}

/* Special columns come first and leave 0 in @from, so the loop over all adds nothing to them. */
static void move(const struct columns *columns, uint64_t *to, uint64_t *from, bool closes)
{
	assert_hot(to != from);
	if (closes && columns->level_count == columns->count) {
		memcpy(to, from, columns->count * sizeof(*to));
		memset(from, 0, columns->count * sizeof(*from));
		return;
	}
	for (uint32_t i = 0; i < columns->special_count; i++) {
		uint32_t at = columns->special[i];

		move_one(columns->kinds[at], &to[at], &from[at], closes);
	}
	for (uint32_t i = 0; i < columns->count; i++) {
		to[i] += from[i];
		from[i] = 0;
	}
}

void columns_move(const struct columns *columns, uint64_t *to, uint64_t *from)
{
	move(columns, to, from, false);
}

void columns_close(const struct columns *columns, uint64_t *total, uint64_t *window)
{
	move(columns, total, window, true);
}

void columns_end_levels(const struct columns *columns, uint64_t *total)
{
	for (uint32_t i = 0; i < columns->special_count; i++) {
		uint32_t at = columns->special[i];

		total[at] = is_level(columns->kinds[at]) ? 0 : total[at];
	}
}

void columns_add(const struct columns *columns, uint64_t *to, const uint64_t *from)
{
	assert_hot(to != from);
	for (uint32_t i = 0; i < columns->count; i++) {
		uint64_t value = from[i];

		if (columns->kinds[i] == COLUMN_HISTOGRAM) {
			column_merge(to, i, column_histogram(from, i));
		} else {
			move_one(columns->kinds[i], &to[i], &value, false);
		}
	}
}

uint64_t columns_bytes(const struct columns *columns, const uint64_t *row)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; columns->has_histograms && i < columns->special_count; i++) {
		uint32_t at = columns->special[i];

		if (columns->kinds[at] == COLUMN_HISTOGRAM) {
			bytes += histogram_bytes(column_histogram(row, at));
		}
	}
	return bytes;
}

void columns_empty(const struct columns *columns, uint64_t *row)
{
	for (uint32_t i = 0; i < columns->special_count; i++) {
		uint32_t at = columns->special[i];

		if (columns->kinds[at] == COLUMN_HISTOGRAM) {
			histogram_free((struct histogram *)(uintptr_t)row[at]);
		}
	}
	memset(row, 0, columns->count * sizeof(*row));
}

void columns_check(const struct columns *columns)
{
	uint32_t special = 0;
	uint32_t levels = 0;
	bool has_histograms = false;

	for (uint32_t i = 0; i < columns->count; i++) {
		assert(columns->kinds[i] <= KIND_CAPPED);
		has_histograms |= columns->kinds[i] == COLUMN_HISTOGRAM;
		levels += is_level(columns->kinds[i]);
		if (!is_sum(columns->kinds[i])) {
			assert(special < columns->special_count);
			assert(columns->special[special] == i);
			special++;
		}
	}
	assert(special == columns->special_count);
	assert(has_histograms == columns->has_histograms);
	assert(levels == columns->level_count);
}

bool columns_any(const struct columns *columns, const uint64_t *row)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < columns->count; i++) {
		any |= row[i];
	}
	return any != 0;
}
