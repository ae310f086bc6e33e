/*
 * format: figures and names of reports, as people read them.  For the text sink, the full screen,
 * LAMI and triggers.
 *
 * A table shows cells.  A column is one cell, but a histogram is several: its parts.
 *
 *     column   key "run_ns"       one cell     803 ms
 *     column   key "latency"      parts        COUNT  MEAN  P99  MAX  TOTAL  P50  MIN  STDEV
 *
 * Widths are columns of a terminal.  Names come from traces and may hold any bytes; whoever prints
 * them makes them harmless (base/text/utf8.h).
 */
#pragma once

#include "base/histogram.h"
#include "engine/tables/report.h"
#include "figure/figure.h"

#define CELL_MAX 320 /* bytes; each name fits */

/* A column, or one part of it if it is a histogram. */
struct cell {
	const struct column *column;
	unsigned int at;          /* the column's index */
	enum histogram_part part; /* of a histogram; else HISTOGRAM_NO_PART */
	bool is_unknown;          /* its events are not recorded: it has no number */
	const char *title;
};

#define CELL_PARTS 8 /* of a histogram, the most useful first */
#define CELLS_MAX  (COLUMNS_MAX * CELL_PARTS)

/* All cells that a table can show: the single column that rows are sorted by, then the others in
 * their order.  Returns how many. */
size_t format_parts(const struct report_table *table, struct cell cells[CELLS_MAX]);
/* Where only the first @shown of @count cells have room: the one that rows are sorted by is one of
 * them, in the place of the last.  No other cell says why rows are in that order. */
void format_keep_order(const struct report_table *table, const struct display *display,
		       struct cell *cells, size_t count, size_t shown);
const char *format_title(const struct cell *cell);
void format_cell(char text[CELL_MAX], const struct cell *cell, const struct report_row *row);
/* The value of a cell, to sort rows by. */
double format_number(const struct cell *cell, const struct report_row *row);

/* The title of the column of names, "THREAD (TID)". */
const char *format_rows_title(const struct table *table);
/* Of these rows, "PROCESS (PID) IN CONTAINER": by container, processes say which one. */
const char *format_title_of(const struct report_table *rows);
bool format_names_containers(const struct report_table *rows);
/* What is written beside figures that a selection does not concern (report_table.is_whole). */
#define FORMAT_WHOLE "whole system"
/* The name of a row, at most @width columns.  A longer name is cut, which two dots show; of a path
 * they stand before its end. */
void format_row(char text[CELL_MAX], const struct table *table, const struct report_row *row,
		int width);
#define FORMAT_WHOLE_NAME (CELL_MAX - 1) /* a width that cuts no name */
/*
 * The width of a column for the names of these rows: @usual, or more if names would be cut to the
 * same text, at most @most; UINT_MAX: no name is cut at all.
 */
int format_names_width(const struct table *table, const struct report_row *const *rows,
		       size_t count, int usual, unsigned int most);
/* "comm (id)"; with what is known if not all is. */
void format_thread(char text[CELL_MAX], const struct thread_view *thread, int64_t id);
void format_value(char text[CELL_MAX], enum unit unit, uint64_t value);
/* "1.2 ms", "-3.4 KiB/s", of a small number "0.25"; NAN: "-". */
void format_real(char text[CELL_MAX], enum unit unit, double value, bool is_per_second);
/* "12.3 %" */
void format_share(char text[CELL_MAX], double share);
/* A value of a figure, as a share, per second, or as it is. */
void format_figure(char text[CELL_MAX], const struct figure *figure, double value);
/* A histogram in a line: count, mean, 99th percentile and maximum. */
void format_histogram(char *text, size_t size, const char *title,
		      const struct histogram *histogram);
