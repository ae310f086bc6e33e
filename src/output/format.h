/*
 * cells: figures of reports as people read them; for the text sink and the full screen.
 */
#ifndef SILLAGE_OUTPUT_FORMAT_H
#define SILLAGE_OUTPUT_FORMAT_H

#include "base/histogram.h"
#include "engine/tables/report.h"

#define CELL_MAX 64

/* A column as it is shown, or a part of a spread. */
struct cell {
	const struct column *column;
	unsigned int at;   /* which column */
	unsigned int part; /* of a spread */
};

#define CELL_PARTS 7 /* of a spread, those first that are wanted most */
#define CELLS_MAX  (COLUMNS_MAX * CELL_PARTS)

/* All that a table can show, in order. */
size_t format_parts(const struct table *table, struct cell cells[CELLS_MAX]);
const char *format_title(const struct cell *cell);
void format_cell(char text[CELL_MAX], const struct cell *cell, const struct report_row *row);
/* What rows are sorted by. */
double format_number(const struct cell *cell, const struct report_row *row);

/* What the rows of a table are, and who one of them is, in @width characters: of a path that is
 * longer the end is shown. */
const char *format_rows_title(const struct table *table);
void format_row(char text[CELL_MAX], const struct table *table, const struct report_row *row,
		int width);
/* "comm (id)", whatever is known of it. */
void format_thread(char text[CELL_MAX], const struct thread_view *thread, int64_t id);
void format_value(char text[CELL_MAX], enum unit unit, uint64_t value);
/* Count, mean, 99th percentile and greatest value of a spread, in a line. */
void format_histogram(char *text, size_t size, const char *title,
		      const struct histogram *histogram);

#endif
