/*
 * text: see text.h.
 */
#include "output/sinks/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/engine.h"
#include "engine/tables/columns.h"
#include "output/format.h"
#include "output/notice.h"
#include "output/shown.h"
#include "output/sinks/text-freq.h"
#include "output/sinks/text-trigger.h"
#include "phases/phases.h"
#include "text/text-table.h"

/* In columns. */
#define PAIR_WIDTH  46 /* of both names of a pair */
#define NAME_WIDTH  25 /* "comm (tid)" and other names; longer ones are cut on a terminal ... */
#define LEVEL_WIDTH 16 /* of calls that are open, which leaves room for what they wait for */
#define CELLS_LEAST 36 /* ... but not to the same text, as long as so much is left */
#define PATH_WIDTH  52 /* paths, on a wide terminal */
#define BAR_WIDTH   16
#define WHO_WIDTH   25  /* "comm (tid)" */
#define WIDER       140 /* here lists of instances say when each began, to the microsecond */
#define WIDE        100 /* terminals at least this wide show bars */
#define PROSE_WIDTH 120

/* The whole of a share: the window's length for times, else the sum of all rows. */
static uint64_t whole_of(const struct report *report, const struct report_table *table,
			 size_t column)
{
	uint64_t sum = 0;

	if (table->table->columns[column].unit == UNIT_NS) {
		return (uint64_t)report_known_ns(report, table->analysis);
	}
	for (size_t i = 0; i < table->row_count; i++) {
		sum += table->rows[i].values[column];
	}
	return sum;
}

static void put_share(struct text_table *table, const struct output *output, uint64_t value,
		      uint64_t whole)
{
	double share = whole > 0 ? (double)value / (double)whole : 0;
	char bar[BAR_WIDTH + 1] = "";
	int filled = (int)(share * BAR_WIDTH + 0.5);

	text_share(table, share, 1);
	if (output->columns >= WIDE) {
		(void)memset(bar, '|', (size_t)(filled < BAR_WIDTH ? filled : BAR_WIDTH));
		text_cell(table, bar);
	}
}

/* ---- figures of the trace ---- */

/* Times of CPUs are printed as shares of their sum, other times as they are. */
static bool is_share_of_time(const struct column *column)
{
	return column->unit == UNIT_NS && column->kind == COLUMN_SUM && column->is_share;
}

static void put_figures(FILE *out, const struct output *output, const struct report_table *table)
{
	const uint64_t *values = table->rows[0].values;
	size_t used =
		strlen(table->analysis->name) + (table->is_whole ? strlen(FORMAT_WHOLE) + 4 : 0);
	uint64_t time = 0;

	if (table->is_whole) {
		(void)fputs("  (" FORMAT_WHOLE ")", out);
	}
	for (size_t i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		time += is_share_of_time(&table->table->columns[i]) ? values[i] : 0;
	}
	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];
		char text[2 * CELL_MAX];

		if (!column->title) {
			continue;
		}
		if (column->kind == COLUMN_HISTOGRAM) {
			(void)snprintf(text, sizeof(text), "%-8s -", column->title);
			if (!report_is_unknown(table, i)) {
				format_histogram(text, sizeof(text), column->title,
						 column_histogram(values, i));
			}
			(void)fprintf(out, "\n  %s", text);
			continue;
		}
		if (report_is_unknown(table, i)) {
			(void)snprintf(text, sizeof(text), "-");
		} else if (is_share_of_time(column) || column->of_shares) {
			(void)snprintf(text, sizeof(text), "%.1f %%",
				       time ? 100.0 * (double)values[i] / (double)time : 0.0);
		} else {
			format_value(text, column->unit, values[i]);
		}
		used = text_item(out, used, output->columns, column->title, text);
	}
}

/* ---- tables ---- */

#define LABELS_LOOKED_AT 10 /* rows: a table may have thousands */

/* The usual width of the names' column; wide terminals have room for paths and labels. */
static int usual_width(const struct output *output, const struct report_table *of)
{
	const struct table *table = of->table;
	bool is_path = table->name_key && strcmp(table->name_key, "path") == 0;

	for (size_t i = 0; i < of->row_count && i < LABELS_LOOKED_AT; i++) {
		is_path |= of->rows[i].label != NULL;
	}
	if (table->scope == SCOPE_CPU) {
		return 4;
	}
	if (table->is_level && table->name_key) {
		return LEVEL_WIDTH;
	}
	if (scope_is_of_pairs(table->scope) || format_names_containers(of)) {
		return PAIR_WIDTH;
	}
	return is_path && output->columns >= WIDE ? PATH_WIDTH : NAME_WIDTH;
}

static int name_width(const struct output *output, const struct report_table *of, size_t count)
{
	const struct report_row **rows = mem_alloc((count + 1) * sizeof(*rows));
	int usual = usual_width(output, of), width;
	unsigned int most = output->columns > CELLS_LEAST ? output->columns - CELLS_LEAST : 0;

	for (size_t i = 0; i < count; i++) {
		rows[i] = &of->rows[i];
	}
	width = format_names_width(of->table, rows, count, usual,
				   output->columns == OUTPUT_COLUMNS_ALL ? UINT_MAX : most);
	free(rows);
	return width;
}

static int cell_width(const struct output *output, const struct column *column)
{
	int share = output->columns >= WIDE ? 9 + 2 + BAR_WIDTH : 9;

	return 11 + (column->is_share ? share : 0);
}

static bool shows_begin(const struct output *output)
{
	return output->columns >= WIDER;
}

/* How the times of a report are written. */
static struct units_times times_of(const struct output *output, const struct report *report)
{
	struct units_times times = units_times_of(report->begin, report->end);

	times.has_us = shows_begin(output);
	return times;
}

/* Whether rows are called as their threads: the column of these says on which CPU they are. */
static bool names_thread(const struct table *table)
{
	return table->is_level && !table->name_key && !table->id_key;
}

/* When an instance was, and its thread.  All levels are at the end of the window. */
static int moment_width(const struct output *output, const struct report *report,
			const struct table *table)
{
	int time = 2 + units_time_width(times_of(output, report));

	return (table->is_level ? 0 : time * (shows_begin(output) ? 2 : 1)) + 2 + WHO_WIDTH;
}

/* How many cells fit beside the names.  Lines are not wrapped; the last cells are left out. */
static size_t cells_shown(const struct output *output, const struct report *report,
			  const struct report_table *table, int names, const struct cell *cells,
			  size_t count)
{
	int used =
		2 + names +
		(table->table->scope == SCOPE_LONGEST ? moment_width(output, report, table->table)
						      : 0);

	for (size_t i = 0; i < count; i++) {
		used += cell_width(output, cells[i].column);
		if (used > (int)output->columns) {
			return i;
		}
	}
	return count;
}

typedef VEC(struct text_column) text_columns;

/* What is left of the line for the keys of an instance. */
static int by_width(const struct output *output, const struct report *report,
		    const struct table *table, int names, size_t cells)
{
	int used = 2 + names + (int)cells * 11 + moment_width(output, report, table) + 2;

	return used < (int)output->columns ? (int)output->columns - used : 0;
}

static void add_column(text_columns *columns, const char *title, int width, int gap, bool is_left)
{
	struct text_column *column = vec_push(columns);

	*column = (struct text_column){ .width = width, .gap = gap, .is_left = is_left };
	(void)snprintf(column->title, sizeof(column->title), "%s", title);
}

/* Of pairs many threads wait at a time: their shares are of the window, and may be above 100 %. */
static void add_cells(text_columns *columns, const struct output *output, const struct table *table,
		      const struct cell *cells, size_t count)
{
	const char *share = scope_is_of_pairs(table->scope) ? "OF TIME" : "SHARE";

	for (size_t i = 0; i < count; i++) {
		add_column(columns, format_title(&cells[i]), 10, 1, false);
		if (cells[i].column->is_share) {
			add_column(columns, share, 8, 1, false);
			if (output->columns >= WIDE) {
				add_column(columns, "", BAR_WIDTH, 2, true);
			}
		}
	}
}

static void add_columns(text_columns *columns, const struct output *output,
			const struct report *report, const struct report_table *table, int names,
			const struct cell *cells, size_t count)
{
	add_column(columns, format_title_of(table), names, 2, true);
	add_cells(columns, output, table->table, cells, count);
	if (table->table->scope == SCOPE_LONGEST) {
		const struct table *of = table->table;
		int width = units_time_width(times_of(output, report));

		if (shows_begin(output) && !of->is_level) {
			add_column(columns, "BEGAN", width, 2, true);
		}
		if (!of->is_level) {
			add_column(columns, "ENDED", width, 2, true);
		}
		add_column(columns, names_thread(of) ? "CPU" : "THREAD (TID)", WHO_WIDTH, 2, true);
		if (of->by_key) {
			add_column(columns, of->is_level ? "ON" : "BY",
				   by_width(output, report, of, names, count), 2, true);
		}
	}
	if (table->is_whole) {
		add_column(columns, "(" FORMAT_WHOLE ")", 0, 2, true);
	}
}

static void put_who(struct text_table *table, const struct output *output,
		    const struct report *report, const struct table *of,
		    const struct report_row *row)
{
	const struct units_times times = times_of(output, report);
	const struct instance *one = row->instance;
	char text[CELL_MAX] = "", time[UNITS_TEXT_MAX];

	if (row->thread && !names_thread(of)) {
		format_thread(text, row->thread, row->thread->tid);
	} else if (one->cpu != UINT64_MAX) {
		(void)snprintf(text, sizeof(text), "CPU %" PRIu64, one->cpu);
	}
	if (shows_begin(output) && !of->is_level) {
		text_cell(table, units_time(time, times, one->end - one->ns));
	}
	if (!of->is_level) {
		text_cell(table, units_time(time, times, one->end));
	}
	text_cut(text, WHO_WIDTH);
	text_cell(table, text);
	if (one->by[0]) {
		text_cell(table, one->by);
	}
}

static void put_row(struct text_table *to, const struct output *output, const struct report *report,
		    const struct report_table *table, const struct report_row *row,
		    const struct cell *cells, size_t count)
{
	char text[CELL_MAX];

	format_row(text, table->table, row, to->columns[0].width);
	text_cell(to, text);
	for (size_t i = 0; i < count; i++) {
		const struct cell *cell = &cells[i];

		format_cell(text, cell, row);
		text_cell(to, text);
		if (cell->is_unknown && cell->column->is_share) {
			text_cell(to, "");
			if (output->columns >= WIDE) {
				text_cell(to, "");
			}
		} else if (cell->column->is_share) {
			put_share(to, output, row->values[cell->at],
				  whole_of(report, table, cell->at));
		}
	}
	if (row->instance) {
		put_who(to, output, report, table->table, row);
	}
	text_end(to);
}

static void put_rows(FILE *out, const struct output *output, const struct report *report,
		     const struct report_table *table)
{
	size_t count = shown_rows(output, report, table);
	struct cell cells[CELLS_MAX];
	int names = name_width(output, table, count);
	size_t all = format_parts(table, cells);
	size_t shown = cells_shown(output, report, table, names, cells, all);
	struct text_table to = { .out = out,
				 .bold = output_bold(output),
				 .plain = output_normal(output) };
	text_columns columns = { 0 };
	char text[UNITS_TEXT_MAX];
	uint64_t unnamed;

	if (table->row_count == 0) {
		return;
	}
	format_keep_order(table, output->display, cells, all, shown);
	add_columns(&columns, output, report, table, names, cells, shown);
	to.columns = columns.at;
	to.count = columns.count;
	text_head(&to);
	for (size_t r = 0; r < count; r++) {
		put_row(&to, output, report, table, &table->rows[r], cells, shown);
	}
	text_more(out, shown_all(report, table, count, &unnamed), count);
	if (unnamed > 0) {
		(void)fprintf(out, "  %s thread%s of which no call is known\n",
			      units_count(text, unnamed), unnamed == 1 ? "" : "s");
	}
	vec_fini(&columns);
}

/* A range that is no longer is a point in time (report --at): it has no events per second. */
#define INSTANT_NS 1

static void put_events(FILE *out, const struct report *report)
{
	uint64_t length = report_covered_ns(report);
	char rate[UNITS_TEXT_MAX];

	if (report->empty > 0) {
		(void)fprintf(out, "  %" PRIu64 " windows without an event", report->empty);
	} else if (length > INSTANT_NS) {
		(void)fprintf(out, "  %s events/s",
			      units_count(rate, (uint64_t)((double)report->events * 1e9 /
							   (double)length)));
	}
}

static void put_header(FILE *out, const struct output *output, const struct trace_identity *trace,
		       const struct report *report)
{
	static const char *const kinds[] = {
		[REPORT_WINDOW] = "",
		[REPORT_TOTAL] = "total  ",
		[REPORT_SO_FAR] = "total so far  ",
	};
	const struct units_times times = units_times_of(report->begin, report->end);
	bool is_instant = report_has_time(report) && report->end - report->begin <= INSTANT_NS;
	char begin[UNITS_TEXT_MAX], end[UNITS_TEXT_MAX], lag[UNITS_TEXT_MAX];

	(void)fputs(output_bold(output), out);
	text_trace_name(out, trace);
	(void)fprintf(out, "%s  %s", output_normal(output),
		      is_instant && report->kind == REPORT_TOTAL ? "at " : kinds[report->kind]);
	/* People need milliseconds; JSON has all digits. */
	if (report_has_time(report)) {
		if (!is_instant) {
			(void)fprintf(out, "%s .. ", units_time(begin, times, report->begin));
		}
		(void)fputs(units_time(end, times, report->end), out);
		put_events(out, report);
	} else {
		(void)fputs("no events", out);
	}
	if (report->has_lag && report->lag_ns >= 0) {
		(void)fprintf(out, "  lag %s", units_ns(lag, (uint64_t)report->lag_ns));
	}
	if (report->is_interrupted) {
		(void)fputs("  ! interrupted", out);
	}
	if (!report->complete) {
		(void)fputs("  ! incomplete", out);
	}
	if (report->span_count > 0) {
		(void)fprintf(out, "  ! only %s of %s", units_ns(begin, report_covered_ns(report)),
			      units_ns(end, report->end - report->begin));
	}
	if (report->summed_threads > 0) {
		(void)fprintf(out, "  (ended): %s threads",
			      units_count(lag, report->summed_threads));
	}
	report_lost_print(out, &report->lost);
	(void)fputc('\n', out);
}

/* Of sentences and commands: nobody reads lines without end. */
static size_t prose_width(const struct output *output)
{
	return output->columns < PROSE_WIDTH ? output->columns : PROSE_WIDTH;
}

/* One line names what is missing for which analyses.  The first window and the total also say how
 * to record it. */
static void put_missing(FILE *out, const struct output *output, const struct report *report)
{
	char *text;

	if (report->missing_count == 0) {
		return;
	}
	text = missing_text(report->missing, report->missing_count, true);
	text_wrapped(out, "not recorded:", text, prose_width(output));
	free(text);
	if (report->kind != REPORT_WINDOW || report->seq == 0) {
		text = missing_commands(report->tracer, report->missing, report->missing_count,
					"\n  ", prose_width(output) - 2);
		if (text[0]) {
			(void)fprintf(out, "to record it:\n  %s\n", text);
		}
		free(text);
	}
}

/* What only a part of the time has: a store may have it of some runs. */
static void put_parts(FILE *out, const struct output *output, const struct report *report)
{
	char *text = NULL, known[UNITS_TEXT_MAX], of[UNITS_TEXT_MAX];
	size_t size;
	FILE *words = open_memstream(&text, &size);

	for (size_t i = 0; i < report->part_count; i++) {
		const struct report_part *part = &report->parts[i];

		if (!report_part_is_short(part) || !output_wants(output, part->analysis)) {
			continue;
		}
		(void)fprintf(words, "%s%s", ftell(words) > 0 ? ", " : "", part->analysis->name);
		if (part->known_ns > 0) {
			(void)fprintf(words, " (only %s of %s is)", units_ns(known, part->known_ns),
				      units_ns(of, part->of_ns));
		}
	}
	(void)fclose(words);
	if (*text) {
		text_wrapped(out, "not stored:", text, prose_width(output));
	}
	free(text);
}

/* Whether something is known of the analysis whose first table is @tables[0]. */
static bool is_any_known(const struct report_table *tables, size_t count)
{
	for (size_t i = 0; i < count && tables[i].analysis == tables[0].analysis; i++) {
		if (!missing_is_whole(tables[i].table, tables[i].unknown)) {
			return true;
		}
	}
	return false;
}

/* What is of other traces, such as calls of programs of the kernel's: nothing of it is 0. */
static void put_nothing_of(FILE *out, const struct output *output, const struct report *report)
{
	const struct analysis *analysis = NULL;
	char *text = NULL;
	size_t size;
	FILE *words = open_memstream(&text, &size);

	for (size_t i = 0; i < report->table_count; i++) {
		if (report->tables[i].analysis != analysis) {
			(void)fprintf(words, "%s%s", analysis ? ", " : "",
				      report->tables[i].analysis->name);
		}
		analysis = report->tables[i].analysis;
	}
	(void)fclose(words);
	if (*text) {
		text_wrapped(out, "not of this trace, which has no such events:", text,
			     prose_width(output));
	}
	free(text);
}

static void report_tables(struct output *output, const struct trace_identity *trace,
			  const struct report *report)
{
	const struct analysis *analysis = NULL;
	bool is_shown = false, is_any_shown = false;
	FILE *out = output->out;

	put_header(out, output, trace, report);
	if (report->empty > 0) {
		(void)fputc('\n', out);
		return;
	}
	put_missing(out, output, report);
	put_parts(out, output, report);
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (table->analysis != analysis) {
			is_shown = is_any_known(table, report->table_count - i);
			is_any_shown |= is_shown;
		}
		if (!is_shown || shown_leaves_out(output, report, table)) {
			analysis = is_shown ? analysis : table->analysis;
			continue;
		}
		if (table->analysis != analysis) {
			analysis = table->analysis;
			(void)fprintf(out, "\n%s%s%s", output_bold(output), analysis->name,
				      output_normal(output));
			if (table->table->scope != SCOPE_TRACE) {
				(void)fputc('\n', out);
			}
		}
		if (table->table->scope == SCOPE_TRACE) {
			if (table->table->columns[0].title) {
				put_figures(out, output, table);
				(void)fputc('\n', out);
			}
		} else {
			put_rows(out, output, report, table);
		}
		if (output->shows_freq && table->table->scope != SCOPE_LONGEST) {
			text_freq_put(out, output, table, shown_rows(output, report, table));
		}
	}
	if (!is_any_shown && report->missing_count == 0 && report->part_count == 0) {
		put_nothing_of(out, output, report);
	}
	(void)fputc('\n', out);
}

#define MEANS_SHOWN 4

static void put_mean(FILE *out, const struct phase_mean *series, double mean)
{
	char text[UNITS_TEXT_MAX];

	if (series->is_share) {
		(void)fprintf(out, "%.1f %%", 100 * mean);
	} else {
		(void)fputs(series_text(text, series->is_level, series->unit, mean), out);
	}
}

/* Its figures, those that are not 0; if all are, what says the opposite: CPUs that are idle. */
static void put_means(FILE *out, const struct phase_record *phase)
{
	size_t shown = 0;
	bool is_idle = true;

	for (size_t i = 0; i < phase->mean_count; i++) {
		is_idle &= phase->means[i].is_counterpart || phase->means[i].mean < 0.0005;
	}
	for (size_t i = 0; i < phase->mean_count; i++) {
		const struct phase_mean *mean = &phase->means[i];

		if (mean->is_counterpart != is_idle || mean->mean < 0.0005) {
			continue;
		}
		if (shown++ < MEANS_SHOWN) {
			(void)fprintf(out, "%s%s ", shown > 1 ? ", " : ": ", mean->series);
			put_mean(out, mean, mean->mean);
		}
	}
	if (shown > MEANS_SHOWN) {
		(void)fprintf(out, ", and %zu more", shown - MEANS_SHOWN);
	}
}

/* A phase that is over, with its figures; one that has begun, with what changed. */
static void put_phase(struct output *output, const struct trace_identity *trace,
		      const struct phase_record *phase)
{
	char begin[UNITS_TEXT_MAX], lasted[UNITS_TEXT_MAX];
	FILE *out = output->out;

	(void)fprintf(out, "%s~ phase %" PRIu64 "%s  ", output_bold(output), phase->number,
		      output_normal(output));
	text_trace_name(out, trace);
	(void)fprintf(out, "  %s %s, %s %s", phase->is_open ? "since" : "from",
		      units_time(begin, units_times_of(phase->begin, phase->end), phase->begin),
		      phase->is_open ? "so far" : "for",
		      units_ns(lasted, phase->end - phase->begin));
	if (phase->is_open && phase->change) {
		(void)fprintf(out, ": %s ", phase->change->series);
		put_mean(out, phase->change, phase->before);
		(void)fputs(" -> ", out);
		put_mean(out, phase->change, phase->change->mean);
	} else {
		put_means(out, phase);
	}
	(void)fputs("\n\n", out);
}

/* Warnings, attaching and captures go to standard error; the commands print them. */
const struct sink sink_text = {
	.name = "text",
	.report = report_tables,
	.trigger = text_trigger,
	.budget = text_budget,
	.phase = put_phase,
};
