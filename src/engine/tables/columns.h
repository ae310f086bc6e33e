/*
 * columns: rows of figures, and how each kind of column is added up.
 *
 * A row is an array of 64 bits for each column.  The column of a histogram is a pointer that the
 * row owns; it is NULL while the histogram is empty.
 *
 * Most columns are sums, so all columns of a row are added in one loop that vectorises.  The others
 * (maximum, last value, histogram) are listed in `special` and come first; they leave 0 behind, so
 * that the loop adds nothing for them.
 */
#pragma once

#include <stdint.h>

#include "base/histogram.h"
#include "engine/contract/analysis.h"
#include "engine/contract/row.h"

/* The kinds of a row's columns. */
struct columns {
	uint32_t count;
	uint32_t special_count; /* columns that are not sums */
	bool has_histograms;    /* rows own memory */
	uint32_t level_count;   /* COLUMN_LAST, COLUMN_LAST_MAX */
	uint8_t *kinds;
	uint16_t *special; /* indexes of the special columns, ascending */
};

uint32_t column_count(const struct table *table);

void columns_append(struct columns *columns, const struct table *table);
void columns_fini(struct columns *columns);

/* Adds @from to @to, and leaves @from empty. */
void columns_move(const struct columns *columns, uint64_t *to, uint64_t *from);
/* The same, but a column that only counts at the end of a window replaces the one in @total. */
void columns_close(const struct columns *columns, uint64_t *total, uint64_t *window);
/* The same of a row that is not in the last window: its levels are 0. */
void columns_end_levels(const struct columns *columns, uint64_t *total);
/* Adds @from to @to. */
void columns_add(const struct columns *columns, uint64_t *to, const uint64_t *from);
/* The memory that the row owns. */
uint64_t columns_bytes(const struct columns *columns, const uint64_t *row);
void columns_empty(const struct columns *columns, uint64_t *row);
/* Whether any figure of it is not 0. */
bool columns_any(const struct columns *columns, const uint64_t *row);

/* Asserts that the counts, the kinds and the list of special columns agree. */
void columns_check(const struct columns *columns);
