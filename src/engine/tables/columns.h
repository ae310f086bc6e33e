/*
 * columns: rows of figures, and how those of each kind are put together.
 *
 * A row is an array of 64 bits for each column.  That of a spread is a pointer, NULL until there
 * is something in it, which the row owns.
 */
#ifndef SILLAGE_ENGINE_TABLES_COLUMNS_H
#define SILLAGE_ENGINE_TABLES_COLUMNS_H

#include <stdint.h>

#include "base/histogram.h"
#include "engine/contract/analysis.h"
#include "engine/contract/row.h"

/* The kinds of a row's columns. */
struct columns {
	uint32_t count;
	uint32_t special_count; /* of those that are no sums */
	bool has_histograms;    /* rows own memory */
	uint8_t *kinds;
	uint16_t *special; /* their indexes */
};

uint32_t column_count(const struct table *table);

void columns_append(struct columns *columns, const struct table *table);
void columns_fini(struct columns *columns);

/* Adds @from to @to, and leaves @from empty. */
void columns_move(const struct columns *columns, uint64_t *to, uint64_t *from);
/* The same, but what only counts at the end of a window takes the place of what was there. */
void columns_close(const struct columns *columns, uint64_t *total, uint64_t *window);
/* Adds @from to @to. */
void columns_add(const struct columns *columns, uint64_t *to, const uint64_t *from);
void columns_empty(const struct columns *columns, uint64_t *row);

#endif
