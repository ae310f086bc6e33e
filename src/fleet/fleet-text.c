/*
 * fleet-text: see fleet-output.h.
 *
 *     fleet  total  10:00:00.000 .. 10:05:00.000  5 hosts
 *       HOST              cpu.busy    io.read_bytes.rate    FAR FROM THE OTHERS IN
 *       web3        93.1 %   +12.1 !   1.2 MiB/s    +0.1    cpu.busy
 *       (median)    40.0 %             1.1 MiB/s
 *       (spread)     4.4 %            12.0 KiB/s
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/contract/row-key.h"
#include "fleet/fleet-output.h"
#include "output/format.h"

#define NAME_WIDTH     40 /* of hosts and containers, at most */
#define VALUE_WIDTH    10 /* at least */
#define DISTANCE_WIDTH 10 /* "  +12.1 !" */
#define FAR_TITLE      "FAR FROM THE OTHERS IN"

struct layout {
	FILE *out;
	const struct fleet_table *table;
	const char *bold, *plain;
	size_t count;                       /* rows that are shown */
	size_t figures;                     /* that fit into the line, from the first on */
	int names;                          /* width */
	bool has_far;                       /* some row is far */
	bool is_unknown[FLEET_FIGURES_MAX]; /* no host has it, so that it has no column */
};

/* Names come from traces: no escape sequence may reach the terminal. */
static void put_text(FILE *out, const char *text, int width)
{
	int used = 0;

	for (; text[used]; used++) {
		(void)fputc(units_letter(text[used]), out);
	}
	(void)fprintf(out, "%*s", width > used ? width - used : 0, "");
}

static void row_name(char text[2 * CELL_MAX], const struct fleet_row *row)
{
	char id[24] = "(unknown)";

	if (row->container && row->container_id != ROW_KEY_NO_ID) {
		(void)snprintf(id, sizeof(id), "%" PRIu64, row->container_id);
	}
	(void)snprintf(text, CELL_MAX, "%.*s", CELL_MAX - 1, row->host);
	if (row->container) {
		(void)snprintf(text + strlen(text), CELL_MAX, "/%s",
			       row->container[0] ? row->container : id);
	}
	format_cut(text, NAME_WIDTH);
}

/* ---- what fits ---- */

static bool is_shown(const struct layout *layout, size_t figure)
{
	return !layout->is_unknown[figure];
}

/* Its title stands over the value and the distance. */
static int value_width(const struct layout *layout, size_t figure)
{
	int width = (int)strlen(fleet_figure_name(layout->table->figures->at.at[figure]));

	width -= DISTANCE_WIDTH - 2;
	return width > VALUE_WIDTH ? width : VALUE_WIDTH;
}

static int far_width(const struct layout *layout, const struct fleet_row *row)
{
	int width = 0;

	for (size_t i = 0; i < layout->table->figures->at.count; i++) {
		width +=
			row->cells[i].is_far
				? (int)strlen(fleet_figure_name(layout->table->figures->at.at[i])) +
					  2
				: 0;
	}
	return width;
}

/* What is far is named even where its column does not fit. */
static void fit(struct layout *layout, const struct output *output)
{
	const struct fleet_table *table = layout->table;
	int far = 0, used;
	char name[2 * CELL_MAX];

	layout->names = (int)strlen("(median)");
	for (size_t i = 0; i < layout->count; i++) {
		int width = far_width(layout, &table->rows[i]);

		far = width > far ? width : far;
		row_name(name, &table->rows[i]);
		layout->names =
			(int)strlen(name) > layout->names ? (int)strlen(name) : layout->names;
	}
	layout->has_far = far > 0;
	used = 2 + layout->names + far;
	for (size_t i = 0; i < table->figures->at.count; i++) {
		if (!is_shown(layout, i)) {
			continue;
		}
		used += 2 + value_width(layout, i) + DISTANCE_WIDTH;
		if (used > (int)output->columns) {
			layout->figures = i;
			return;
		}
	}
	layout->figures = table->figures->at.count;
}

/* ---- lines ---- */

static void put_head(const struct layout *layout)
{
	(void)fprintf(layout->out, "  %s%-*s", layout->bold, layout->names,
		      layout->table->rows[0].container ? "CONTAINER" : "HOST");
	for (size_t i = 0; i < layout->figures; i++) {
		if (is_shown(layout, i)) {
			(void)fprintf(layout->out, "  %*s  ",
				      value_width(layout, i) + DISTANCE_WIDTH - 2,
				      fleet_figure_name(layout->table->figures->at.at[i]));
		}
	}
	(void)fprintf(layout->out, "%s%s\n", layout->has_far ? "  " FAR_TITLE : "", layout->plain);
}

static void put_far(const struct layout *layout, const struct fleet_row *row)
{
	const char *comma = "  ";

	for (size_t i = 0; i < layout->table->figures->at.count; i++) {
		if (row->cells[i].is_far) {
			(void)fprintf(layout->out, "%s%s", comma,
				      fleet_figure_name(layout->table->figures->at.at[i]));
			comma = ", ";
		}
	}
}

static void put_row(const struct layout *layout, const struct fleet_row *row)
{
	char text[2 * CELL_MAX], distance[32];

	row_name(text, row);
	(void)fputs("  ", layout->out);
	put_text(layout->out, text, layout->names);
	for (size_t i = 0; i < layout->figures; i++) {
		const struct fleet_cell *cell = &row->cells[i];

		if (!is_shown(layout, i)) {
			continue;
		}
		(void)snprintf(text, sizeof(text), "-");
		if (cell->is_known) {
			fleet_figure_print(text, layout->table->figures->at.at[i], cell->value);
		}
		distance[0] = '\0';
		if (cell->has_distance) {
			(void)snprintf(distance, sizeof(distance), "%+.1f", cell->distance);
		}
		(void)fprintf(layout->out, "  %*s%*s%s", value_width(layout, i), text,
			      DISTANCE_WIDTH - 2, distance, cell->is_far ? " !" : "  ");
	}
	put_far(layout, row);
	(void)fputc('\n', layout->out);
}

/* The line of all: the medians, or how far apart the others are. */
static void put_others(const struct layout *layout, const char *name, bool is_median)
{
	char text[FIGURE_TEXT_MAX];

	(void)fprintf(layout->out, "  %-*s", layout->names, name);
	for (size_t i = 0; i < layout->figures; i++) {
		const struct robust *column = &layout->table->columns[i];

		if (!is_shown(layout, i)) {
			continue;
		}
		(void)snprintf(text, sizeof(text), "-");
		if (is_median ? column->count > 0 : robust_has_distance(column)) {
			fleet_figure_print(text, layout->table->figures->at.at[i],
					   is_median ? column->median : column->spread);
		}
		(void)fprintf(layout->out, "  %*s%*s", value_width(layout, i), text, DISTANCE_WIDTH,
			      "");
	}
	(void)fputc('\n', layout->out);
}

/* A line of names, if there is one. */
static void put_figures(const struct layout *layout, const char *what, const bool *which)
{
	const char *comma = " ";

	for (size_t i = 0; i < layout->table->figures->at.count; i++) {
		if (!which[i]) {
			continue;
		}
		if (comma[0] == ' ') {
			(void)fprintf(layout->out, "  %s:", what);
		}
		(void)fprintf(layout->out, "%s%s", comma,
			      fleet_figure_name(layout->table->figures->at.at[i]));
		comma = ", ";
	}
	(void)fputs(comma[0] == ' ' ? "" : "\n", layout->out);
}

static void put_absent(const struct layout *layout)
{
	for (size_t i = 0; i < layout->table->absent_count; i++) {
		(void)fputs(i == 0 ? "  no windows: " : ", ", layout->out);
		put_text(layout->out, layout->table->absent[i], 0);
	}
	(void)fputs(layout->table->absent_count > 0 ? "\n" : "", layout->out);
}

static void put_rest(const struct layout *layout)
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

static void put_table(const struct layout *layout)
{
	const struct fleet_table *table = layout->table;

	put_head(layout);
	for (size_t i = 0; i < layout->count; i++) {
		put_row(layout, &table->rows[i]);
	}
	put_rest(layout);
	put_others(layout, "(median)", true);
	put_others(layout, "(spread)", false);
}

void fleet_text(struct output *output, const struct fleet_table *table)
{
	char *text = NULL;
	size_t size = 0;
	struct layout layout = { .out = open_memstream(&text, &size),
				 .table = table,
				 .bold = output->has_colour ? "\033[1m" : "",
				 .plain = output->has_colour ? "\033[0m" : "",
				 .count = output->top > 0 && output->top < table->row_count
						  ? output->top
						  : table->row_count };
	char begin[UNITS_TEXT_MAX], end[UNITS_TEXT_MAX];

	for (size_t i = 0; i < table->figures->at.count; i++) {
		layout.is_unknown[i] = table->columns[i].count == 0;
	}
	(void)fprintf(layout.out, "%sfleet%s  %s%.12s .. %.12s  %zu host%s\n", layout.bold,
		      layout.plain, table->is_total ? "total  " : "",
		      units_clock(begin, table->begin), units_clock(end, table->end),
		      table->host_count, table->host_count == 1 ? "" : "s");
	put_figures(&layout, "not known of any host", layout.is_unknown);
	if (table->row_count > 0) {
		fit(&layout, output);
		put_table(&layout);
	}
	put_figures(&layout, FORMAT_WHOLE, table->is_whole);
	put_absent(&layout);
	(void)fputc('\n', layout.out);
	(void)fclose(layout.out);
	put_trimmed(output->out, text);
	free(text);
}
