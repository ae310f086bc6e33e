/*
 * text-freq: see text-freq.h.
 */
#include "output/sinks/text-freq.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "engine/tables/columns.h"
#include "output/format.h"

#define FREQ_WIDTH 40 /* columns of the longest line */

/* A line of a distribution: @count values; the longest line has @most. */
static void put_bar(FILE *out, uint64_t begin, uint64_t end, uint64_t count, uint64_t most)
{
	char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX], text[UNITS_TEXT_MAX];
	int filled = (int)((double)count / (double)most * FREQ_WIDTH + 0.5);

	(void)fprintf(out, "  %9s .. %-9s %10s  ", units_ns(low, begin),
		      end > begin ? units_ns(high, end) : "", units_count(text, count));
	for (int k = 0; k < filled; k++) {
		(void)fputc('|', out);
	}
	(void)fputc('\n', out);
}

static uint64_t most_of(const uint64_t *counts, uint64_t count)
{
	uint64_t most = 0;

	for (uint64_t i = 0; i < count; i++) {
		most = counts[i] > most ? counts[i] : most;
	}
	return most;
}

static void put_powers(FILE *out, const struct histogram *histogram)
{
	uint64_t powers[HISTOGRAM_POWERS], most;
	unsigned int first = HISTOGRAM_POWERS, last = 0;

	histogram_powers(histogram, powers);
	most = most_of(powers, HISTOGRAM_POWERS);
	for (unsigned int i = 0; i < HISTOGRAM_POWERS; i++) {
		first = powers[i] > 0 && i < first ? i : first;
		last = powers[i] > 0 ? i : last;
	}
	for (unsigned int i = first; i <= last; i++) {
		put_bar(out, (uint64_t)1 << i, i < 63 ? (uint64_t)2 << i : 0, powers[i], most);
	}
}

static void put_bins(FILE *out, const struct histogram *histogram, uint64_t count)
{
	uint64_t counts[HISTOGRAM_BINS_MAX], most;
	double width = (double)(histogram->max - histogram->min) / (double)count;

	histogram_bins(histogram, counts, count);
	most = most_of(counts, count);
	for (uint64_t i = 0; i < count; i++) {
		put_bar(out, histogram->min + (uint64_t)(width * (double)i),
			histogram->min + (uint64_t)(width * (double)(i + 1)), counts[i], most);
	}
}

void text_freq_put(FILE *out, const struct output *output, const struct report_table *table,
		   size_t rows)
{
	char name[CELL_MAX], title[2 * CELL_MAX];

	for (size_t r = 0; r < rows; r++) {
		for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
			const struct column *column = &table->table->columns[i];
			const struct histogram *histogram =
				column->kind == COLUMN_HISTOGRAM
					? column_histogram(table->rows[r].values, i)
					: NULL;

			if (histogram) {
				format_row(name, table->table, &table->rows[r], FORMAT_WHOLE_NAME);
				(void)snprintf(title, sizeof(title), "%s%s%s", column->key,
					       name[0] ? " of " : "", name);
				(void)fprintf(out, "  %s\n", title);
				if (output->bins > 0) {
					put_bins(out, histogram, output->bins);
				} else {
					put_powers(out, histogram);
				}
			}
		}
	}
}
