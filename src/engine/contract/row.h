/*
 * row: the figures of a row, an array of 64 bits for each column of its table.
 *
 * A sum is the number itself.  A histogram is a pointer that the row owns, NULL until it has a
 * value.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_ROW_H
#define SILLAGE_ENGINE_CONTRACT_ROW_H

#include <stdint.h>

#include "base/histogram.h"

/* The spread in a column of a row, NULL: there is nothing in it. */
static inline const struct histogram *column_histogram(const uint64_t *row, unsigned int column)
{
	return (const struct histogram *)(uintptr_t)row[column];
}

/* Adds a value to the spread in a column of a row. */
static inline void column_add(uint64_t *row, unsigned int column, uint64_t value)
{
	struct histogram *histogram = (struct histogram *)(uintptr_t)row[column];

	histogram_add(&histogram, value);
	row[column] = (uint64_t)(uintptr_t)histogram;
}

/* Adds all of @from, which may be NULL. */
static inline void column_merge(uint64_t *row, unsigned int column, const struct histogram *from)
{
	struct histogram *histogram = (struct histogram *)(uintptr_t)row[column];

	histogram_merge(&histogram, from);
	row[column] = (uint64_t)(uintptr_t)histogram;
}

static inline void column_raise(uint64_t *row, unsigned int column, uint64_t value)
{
	row[column] = value > row[column] ? value : row[column];
}

#endif
