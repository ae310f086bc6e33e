/*
 * row: the columns of a row, an array of one 64-bit word per column of its table.
 *
 * A sum is the word itself.  For a histogram the word is a pointer that the row owns, NULL while
 * the histogram has no value.
 */
#pragma once

#include <stdint.h>

#include "base/histogram.h"

/* The histogram in a column of a row, NULL: it is empty. */
static inline const struct histogram *column_histogram(const uint64_t *row, unsigned int column)
{
	return (const struct histogram *)(uintptr_t)row[column];
}

/* Adds a value to the histogram in a column of a row. */
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

/* Adds to a sum that ends at UINT64_MAX: it is that, or more. */
static inline void column_add_capped(uint64_t *row, unsigned int column, uint64_t value)
{
	row[column] = row[column] > UINT64_MAX - value ? UINT64_MAX : row[column] + value;
}

/* Keeps the maximum of the column and @value. */
static inline void column_raise(uint64_t *row, unsigned int column, uint64_t value)
{
	row[column] = value > row[column] ? value : row[column];
}
