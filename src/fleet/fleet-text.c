/*
 * fleet-text: see fleet-output.h.
 *
 *     fleet  total  10:00:00.000 .. 10:05:00.000  5 hosts
 *       HOST              cpu.busy    io.read_bytes.rate    FAR FROM THE OTHERS IN
 *       web3        93.1 %   +12.1 !   1.2 MiB/s    +0.1    cpu.busy
 *       (median)    40.0 %             1.1 MiB/s
 *       (spread)     4.4 %            12.0 KiB/s
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/contract/row-key.h"
#include "fleet/fleet-output.h"
#include "output/format.h"
#include "text/text-table.h"

#define FLEET_COLUMNS_MAX (FLEET_FIGURES_MAX + 2) /* columns */
#define VALUE_WIDTH       10                      /* at least */
#define DISTANCE_WIDTH    10                      /* "  +12.1 !" */
#define FAR_TITLE         "FAR FROM THE OTHERS IN"
#define CHANGED_TITLE     "CHANGED MORE IN"

struct fleet_layout {
	FILE *out;
	const struct fleet_table *table;
	const char *bold, *plain;
	size_t count;                       /* rows that are shown */
	size_t figures;                     /* that fit into the line, from the first on */
	int names;                          /* width */
	int width, needed;                  /* of the screen; of all columns */
	int values[FLEET_FIGURES_MAX];      /* widths of values */
	bool has_far;                       /* some row is far, and there is room to name it */
	bool is_unknown[FLEET_FIGURES_MAX]; /* no host has it, so that it has no column */
};

static void row_name(char text[2 * CELL_MAX], const struct fleet_row *row)
{
	char id[24] = "(unknown)";

	if (row->container && row->container_id != ROW_KEY_NO_ID) {
		(void)snprintf(id, sizeof(id), "%" PRIu64, row->container_id);
	}
	(void)snprintf(text, CELL_MAX, "%.*s", CELL_MAX - 4, row->host);
	if (row->container) {
		(void)snprintf(text + strlen(text), CELL_MAX, "/%s",
			       row->container[0] ? row->container : id);
	}
	(void)strcat(text, row->is_complete ? "" : " *");
}

/* ---- what fits ---- */

static bool is_shown(const struct fleet_layout *layout, size_t figure)
{
	assert(figure < layout->table->figures->at.count);
	return !layout->is_unknown[figure];
}

static void cell_text(const struct fleet_layout *layout, size_t figure,
		      const struct fleet_cell *cell, char text[CELL_MAX])
{
	const struct figure *of = &layout->table->figures->at.at[figure]->figure;
	char before[CELL_MAX], after[CELL_MAX];

	(void)snprintf(text, CELL_MAX, "-");
	if (cell->is_known && layout->table->before) {
		format_figure(before, of, cell->before);
		format_figure(after, of, cell->value);
		(void)snprintf(text, CELL_MAX, "%.30s > %.30s", before, after);
	} else if (cell->is_known) {
		format_figure(text, of, cell->value);
	}
}

/* As wide as the title, and the widest value. */
static void measure(struct fleet_layout *layout, size_t figure)
{
	int width = (int)strlen(layout->table->figures->at.at[figure]->figure.text) -
		    (DISTANCE_WIDTH - 2);

	width = width > VALUE_WIDTH ? width : VALUE_WIDTH;
	for (size_t i = 0; i < layout->count; i++) {
		char text[CELL_MAX];

		cell_text(layout, figure, &layout->table->rows[i].cells[figure], text);
		width = (int)strlen(text) > width ? (int)strlen(text) : width;
	}
	layout->values[figure] = width;
}

/* A column has room for 7 letters. */
static void distance_text(const struct fleet_cell *cell, char text[32])
{
	text[0] = '\0';
	if (cell->has_distance) {
		(void)snprintf(text, 32, "%+.1f", cell->distance);
		if (strlen(text) > DISTANCE_WIDTH - 3) {
			(void)snprintf(text, 32, "%+.0e", cell->distance);
		}
	}
}

static int far_width(const struct fleet_layout *layout, const struct fleet_row *row)
{
	int width = 0;

	for (size_t i = 0; i < layout->table->figures->at.count; i++) {
		width += row->cells[i].is_far
				 ? (int)strlen(layout->table->figures->at.at[i]->figure.text) + 2
				 : 0;
	}
	return width;
}

static void fit_names(struct fleet_layout *layout)
{
	char name[2 * CELL_MAX];

	layout->names = (int)strlen("(median)");
	for (size_t i = 0; i < layout->count; i++) {
		row_name(name, &layout->table->rows[i]);
		layout->names =
			(int)strlen(name) > layout->names ? (int)strlen(name) : layout->names;
	}
}

/* As many columns as there is room for.  Where there is none for the names of what is far, "!" says
 * it, and those whose column is left out stand below the row. */
static void fit(struct fleet_layout *layout)
{
	const struct fleet_table *table = layout->table;
	int far = 0, used;

	fit_names(layout);
	for (size_t i = 0; i < layout->count; i++) {
		int width = far_width(layout, &table->rows[i]);

		far = width > far ? width : far;
	}
	used = 2 + layout->names;
	for (size_t i = 0; i < table->figures->at.count; i++) {
		measure(layout, i);
		used += is_shown(layout, i) ? 2 + layout->values[i] + DISTANCE_WIDTH : 0;
		layout->figures += used <= layout->width;
	}
	far = far > 0 && far < (int)strlen(FAR_TITLE) + 2 ? (int)strlen(FAR_TITLE) + 2 : far;
	layout->needed = used + far;
	layout->has_far = far > 0 && layout->needed <= layout->width;
}

/* ---- lines ---- */

static void add_column(struct text_table *table, struct text_column *columns, const char *title,
		       int width)
{
	struct text_column *column = &columns[table->count++];

	*column = (struct text_column){ .width = width, .gap = 2, .is_left = width <= 0 };
	(void)snprintf(column->title, sizeof(column->title), "%s", title);
}

/* The title stands over the value and the distance, not over the mark of what is far. */
static void begin_table(const struct fleet_layout *layout, struct text_table *table,
			struct text_column columns[FLEET_COLUMNS_MAX])
{
	*table = (struct text_table){
		.out = layout->out, .bold = layout->bold, .plain = layout->plain, .columns = columns
	};
	add_column(table, columns, layout->table->rows[0].container ? "CONTAINER" : "HOST", 0);
	columns[0].width = layout->names;
	for (size_t i = 0; i < layout->figures; i++) {
		char title[TEXT_TITLE_MAX];

		if (is_shown(layout, i)) {
			(void)snprintf(title, sizeof(title), "%s  ",
				       layout->table->figures->at.at[i]->figure.text);
			add_column(table, columns, title, layout->values[i] + DISTANCE_WIDTH);
		}
	}
	if (layout->has_far) {
		add_column(table, columns, layout->table->before ? CHANGED_TITLE : FAR_TITLE, 0);
	}
	text_head(table);
}

static void put_far(const struct fleet_layout *layout, const struct fleet_row *row)
{
	const char *comma = "  ";

	for (size_t i = 0; layout->has_far && i < layout->table->figures->at.count; i++) {
		if (row->cells[i].is_far) {
			(void)fprintf(layout->out, "%s%s", comma,
				      layout->table->figures->at.at[i]->figure.text);
			comma = ", ";
		}
	}
}

/* Names after each other, with commas, in lines of the width. */
struct names_line {
	const struct fleet_layout *layout;
	const char *first; /* what stands before them */
	int used;          /* letters of the line; 0: there is none yet */
};

static void put_name(struct names_line *names, size_t figure)
{
	const char *name = names->layout->table->figures->at.at[figure]->figure.text;
	FILE *out = names->layout->out;
	int len = (int)strlen(name) + 2;

	if (names->used == 0) {
		names->used = fprintf(out, "%s", names->first);
		if (names->used + len - 2 > names->layout->width) {
			names->used = fprintf(out, "\n      ") - 1;
		}
	} else if (names->used + len > names->layout->width) {
		names->used = fprintf(out, ",\n      ") - 2;
	} else {
		(void)fputs(", ", out);
	}
	names->used += len;
	(void)fputs(name, out);
}

/* What is far, and has no column. */
static void put_far_below(const struct fleet_layout *layout, const struct fleet_row *row)
{
	struct names_line names = { layout, "    ! ", 0 };

	for (size_t i = layout->figures; !layout->has_far && i < layout->table->figures->at.count;
	     i++) {
		if (row->cells[i].is_far) {
			put_name(&names, i);
		}
	}
	(void)fputs(names.used > 0 ? "\n" : "", layout->out);
}

static void put_left_out(const struct fleet_layout *layout)
{
	char *first = mem_printf("  no room (--width %d has all): ", layout->needed);
	struct names_line names = { layout, first, 0 };

	for (size_t i = layout->figures; i < layout->table->figures->at.count; i++) {
		if (is_shown(layout, i)) {
			put_name(&names, i);
		}
	}
	(void)fputs(names.used > 0 ? "\n" : "", layout->out);
	free(first);
}

static void put_row(const struct fleet_layout *layout, struct text_table *table,
		    const struct fleet_row *row)
{
	char text[2 * CELL_MAX], distance[32];

	row_name(text, row);
	text_cell(table, text);
	for (size_t i = 0; i < layout->figures; i++) {
		const struct fleet_cell *cell = &row->cells[i];

		if (is_shown(layout, i)) {
			cell_text(layout, i, cell, text);
			distance_text(cell, distance);
			text_cell_format(table, "%s%*s%s", text, DISTANCE_WIDTH - 2, distance,
					 cell->is_far ? " !" : "  ");
		}
	}
	put_far(layout, row);
	text_end(table);
	put_far_below(layout, row);
}

/* The median of changes has its sign. */
static void other_text(const struct fleet_layout *layout, size_t figure, double value,
		       bool is_median, char text[CELL_MAX])
{
	char plain[CELL_MAX];

	format_figure(plain, &layout->table->figures->at.at[figure]->figure, value);
	(void)snprintf(text, CELL_MAX, "%s%.60s",
		       layout->table->before && is_median && value > 0 ? "+" : "", plain);
}

/* The line of all: the medians, or how far apart the others are. */
static void put_others(const struct fleet_layout *layout, struct text_table *table,
		       const char *name, bool is_median)
{
	char text[CELL_MAX];

	text_cell(table, name);
	for (size_t i = 0; i < layout->figures; i++) {
		const struct robust *column = &layout->table->columns[i];

		if (!is_shown(layout, i)) {
			continue;
		}
		(void)snprintf(text, sizeof(text), "-");
		if (is_median ? column->count > 0 : robust_has_distance(column)) {
			other_text(layout, i, is_median ? column->median : column->spread,
				   is_median, text);
		}
		text_cell_format(table, "%s%*s", text, DISTANCE_WIDTH, "");
	}
	text_end(table);
}

/* Names with what is said of them, if there are any. */
static void put_figures(const struct fleet_layout *layout, const char *what, const bool *which)
{
	char *first = mem_printf("  %s: ", what);
	struct names_line names = { layout, first, 0 };

	for (size_t i = 0; i < layout->table->figures->at.count; i++) {
		if (which[i]) {
			put_name(&names, i);
		}
	}
	(void)fputs(names.used > 0 ? "\n" : "", layout->out);
	free(first);
}

static void put_host_names(const struct fleet_layout *layout, const char *what,
			   const char *const *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(layout->out, i == 0 ? "  %s: " : ", ", what);
		text_put(layout->out, hosts[i], -1);
	}
	(void)fputs(count > 0 ? "\n" : "", layout->out);
}

/* What is said of rows: that something is missing in them, or too much. */
static void put_incomplete(const struct fleet_layout *layout)
{
	const char *comma = "  less than 90 % is known, and not judged: ";
	bool is_any = false;

	for (size_t i = 0; i < layout->count; i++) {
		is_any |= !layout->table->rows[i].is_complete;
	}
	(void)fputs(is_any ? "  * something is missing in it\n" : "", layout->out);
	is_any = false;
	for (size_t i = 0; i < layout->count; i++) {
		const struct fleet_row *row = &layout->table->rows[i];
		char name[2 * CELL_MAX], share[CELL_MAX];

		if (!row->is_judged) {
			row_name(name, row);
			format_share(share, row->known);
			(void)fputs(comma, layout->out);
			text_put(layout->out, name, -1);
			(void)fprintf(layout->out, " (%s)", share);
			comma = ", ";
			is_any = true;
		}
	}
	(void)fputs(is_any ? "\n" : "", layout->out);
}

static void put_rest(const struct fleet_layout *layout)
{
	const struct fleet_table *table = layout->table;
	size_t far = 0;

	for (size_t i = layout->count; i < table->row_count; i++) {
		far += far_width(layout, &table->rows[i]) > 0;
	}
	if (layout->count < table->row_count) {
		(void)fprintf(layout->out, "  ... and %zu more", table->row_count - layout->count);
		(void)fprintf(layout->out, far > 0 ? ", %zu of them far\n" : "\n", far);
	}
}

/* Columns end in blanks, lines do not. */
static void put_trimmed(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n"), used = len;

		while (used > 0 && text[used - 1] == ' ') {
			used--;
		}
		(void)fprintf(out, "%.*s\n", (int)used, text);
		text += len + (text[len] == '\n');
	}
}

static void put_table(const struct fleet_layout *layout)
{
	const struct fleet_table *table = layout->table;
	struct text_column columns[FLEET_COLUMNS_MAX];
	struct text_table to;

	begin_table(layout, &to, columns);
	for (size_t i = 0; i < layout->count; i++) {
		put_row(layout, &to, &table->rows[i]);
	}
	put_rest(layout);
	put_others(layout, &to, "(median)", true);
	put_others(layout, &to, "(spread)", false);
	put_left_out(layout);
	put_incomplete(layout);
}

/* Which time, and of changes which time before. */
static void put_title(const struct fleet_layout *layout)
{
	const struct fleet_table *table = layout->table;
	uint64_t first = table->before ? fleet_before_begin(table->before) : table->begin;
	uint64_t last = table->before ? fleet_before_end(table->before) : table->end;
	const struct units_times times = units_times_of(first < table->begin ? first : table->begin,
							last > table->end ? last : table->end);
	char begin[UNITS_TEXT_MAX], end[UNITS_TEXT_MAX];

	(void)fprintf(layout->out, "%sfleet%s  ", layout->bold, layout->plain);
	if (table->before) {
		(void)fprintf(layout->out, "change  %s .. %s\n    to  ",
			      units_time(begin, times, first), units_time(end, times, last));
	} else {
		(void)fputs(table->is_total ? "total  " : "", layout->out);
	}
	(void)fprintf(layout->out, "%s .. %s  %zu host%s\n", units_time(begin, times, table->begin),
		      units_time(end, times, table->end), table->host_count,
		      table->host_count == 1 ? "" : "s");
}

void fleet_text(struct output *output, const struct fleet_table *table)
{
	char *text = NULL;
	size_t size = 0;
	struct fleet_layout layout = { .out = open_memstream(&text, &size),
				       .table = table,
				       .width = (int)output->columns,
				       .bold = output_bold(output),
				       .plain = output_normal(output),
				       .count = output->top > 0 && output->top < table->row_count
							? output->top
							: table->row_count };

	for (size_t i = 0; i < table->figures->at.count; i++) {
		layout.is_unknown[i] = true;
		for (size_t k = 0; k < table->row_count; k++) {
			layout.is_unknown[i] &= !table->rows[k].cells[i].is_known;
		}
	}
	put_title(&layout);
	put_figures(&layout, "not known of any host", layout.is_unknown);
	if (table->row_count > 0) {
		fit(&layout);
		put_table(&layout);
	}
	put_figures(&layout, FORMAT_WHOLE, table->is_whole);
	put_host_names(&layout, "no windows", table->absent, table->absent_count);
	put_host_names(&layout, "only before", table->gone, table->gone_count);
	put_host_names(&layout, "only after", table->added, table->new_count);
	(void)fputc('\n', layout.out);
	(void)fclose(layout.out);
	put_trimmed(output->out, text);
	free(text);
}
