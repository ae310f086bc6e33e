/*
 * text sink: tables for people, a screen for each window.
 *
 *   testhost/kernel  14:03:07.000000000 .. 14:03:08.000000000  31,204 events/s
 *
 *   cpu   busy 54.2 %  idle 45.8 %  unknown 0.0 %
 *     CPU           BUSY    ...
 *       0  ||||||||  81.3 %
 */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "engine/columns.h"
#include "engine/engine.h"
#include "engine/item.h"
#include "live/sink.h"

#define CELL_MAX   64
#define NAME_WIDTH 25 /* "comm (tid)", event names are cut to this */
#define BAR_WIDTH  16
#define WHO_WIDTH  40  /* of who an instance was, and when it ended */
#define WIDE       100 /* columns from which bars are shown */

static const char *bold(const struct output *output)
{
	return output->has_colour ? "\033[1m" : "";
}

static const char *plain(const struct output *output)
{
	return output->has_colour ? "\033[0m" : "";
}

/* Names come from traces: nothing in them may reach the terminal as a command. */
static void put_name(FILE *out, const char *name, int width)
{
	int used = 0;

	for (const unsigned char *at = (const unsigned char *)name; *at && used < width; at++) {
		(void)fputc(*at < 0x20 || *at >= 0x7F ? '?' : *at, out);
		used++;
	}
	(void)fprintf(out, "%*s", width - used, "");
}

static void put_value(char text[CELL_MAX], enum unit unit, uint64_t value)
{
	char number[UNITS_TEXT_MAX];

	switch (unit) {
	case UNIT_COUNT:
		(void)units_count(number, value);
		break;
	case UNIT_BYTES:
		(void)units_bytes(number, value);
		break;
	case UNIT_NS:
		(void)units_ns(number, value);
		break;
	}
	(void)snprintf(text, CELL_MAX, "%s", number);
}

/* What a share is a share of: the window's length for time, the sum of rows otherwise. */
static uint64_t whole_of(const struct report *report, const struct report_table *table,
			 size_t column)
{
	uint64_t sum = 0;

	if (table->table->columns[column].unit == UNIT_NS) {
		return report->end - report->begin;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		sum += table->rows[i].values[column];
	}
	return sum;
}

static void put_share(FILE *out, const struct output *output, uint64_t value, uint64_t whole)
{
	double share = whole > 0 ? (double)value / (double)whole : 0;
	int filled = (int)(share * BAR_WIDTH + 0.5);

	(void)fprintf(out, " %6.1f %%", share * 100);
	if (output->columns >= WIDE) {
		(void)fputs("  ", out);
		for (int i = 0; i < BAR_WIDTH; i++) {
			(void)fputc(i < filled ? '|' : ' ', out);
		}
	}
}

/* What of a spread is shown, in as many columns as fit. */
static const struct {
	const char *title;
	unsigned int per_mille; /* 0: something else */
} spread_parts[] = { { "COUNT", 0 }, { "MEAN", 0 }, { "P99", 990 }, { "MAX", 0 },
		     { "P50", 500 }, { "MIN", 0 },  { "STDEV", 0 } };

enum { PART_COUNT, PART_MEAN, PART_P99, PART_MAX, PART_P50, PART_MIN, PART_STDEV, PARTS };

static void put_part(char text[CELL_MAX], const struct spread *spread, unsigned int part)
{
	if (!spread || (part == PART_STDEV && spread->count < 2)) {
		(void)snprintf(text, CELL_MAX, "%s", part == PART_COUNT ? "0" : "-");
	} else if (part == PART_COUNT) {
		put_value(text, UNIT_COUNT, spread->count);
	} else if (part == PART_MEAN) {
		put_value(text, UNIT_NS, (uint64_t)(spread_mean(spread) + 0.5));
	} else if (part == PART_STDEV) {
		put_value(text, UNIT_NS, (uint64_t)(spread_deviation(spread) + 0.5));
	} else if (part == PART_MAX || part == PART_MIN) {
		put_value(text, UNIT_NS, part == PART_MAX ? spread->max : spread->min);
	} else {
		put_value(text, UNIT_NS, spread_percentile(spread, spread_parts[part].per_mille));
	}
}

/* ---- figures of the trace ---- */

static void put_figure_spread(FILE *out, const struct column *column, const struct spread *spread)
{
	char mean[CELL_MAX], high[CELL_MAX], max[CELL_MAX], count[CELL_MAX];

	put_part(count, spread, PART_COUNT);
	put_part(mean, spread, PART_MEAN);
	put_part(high, spread, PART_P99);
	put_part(max, spread, PART_MAX);
	(void)fprintf(out, "\n  %-10s %s", column->title, count);
	if (spread) {
		(void)fprintf(out, "  mean %s  p99 %s  max %s", mean, high, max);
	}
}

/* Times of CPUs are shares of each other; other times are themselves. */
static bool is_share_of_time(const struct column *column)
{
	return column->unit == UNIT_NS && column->kind == COLUMN_SUM && column->is_share;
}

static void put_figures(FILE *out, const struct report_table *table)
{
	const uint64_t *values = table->rows[0].values;
	uint64_t time = 0;

	for (size_t i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		time += is_share_of_time(&table->table->columns[i]) ? values[i] : 0;
	}
	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];
		char text[CELL_MAX];

		if (!column->title) {
			continue;
		}
		if (column->kind == COLUMN_SPREAD) {
			put_figure_spread(out, column, column_spread(values, i));
			continue;
		}
		if (is_share_of_time(column)) { /* of all CPUs together */
			(void)snprintf(text, sizeof(text), "%.1f %%",
				       time ? 100.0 * (double)values[i] / (double)time : 0.0);
		} else {
			put_value(text, column->unit, values[i]);
		}
		(void)fprintf(out, "  %s %s", column->title, text);
	}
}

/* ---- tables ---- */

static int name_width(const struct report_table *table)
{
	return table->table->scope == SCOPE_CPU ? 4 : NAME_WIDTH;
}

/* A column as it is shown, or a part of a spread. */
struct cell {
	const struct column *column;
	unsigned int at, part;
};

#define CELLS_MAX (COLUMNS_MAX * PARTS)

static int cell_width(const struct output *output, const struct column *column)
{
	int share = output->columns >= WIDE ? 9 + 2 + BAR_WIDTH : 9;

	return 11 + (column->is_share ? share : 0);
}

/* Which columns fit beside the names: nothing is wrapped, the last ones are left out. */
static size_t choose_cells(const struct output *output, const struct report_table *table,
			   struct cell cells[CELLS_MAX])
{
	int used = 2 + name_width(table) + (table->table->scope == SCOPE_LONGEST ? WHO_WIDTH : 0);
	size_t count = 0;

	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];
		unsigned int part_count = column->kind == COLUMN_SPREAD ? PARTS : 1;

		if (column->kind == COLUMN_PRIO && table->table->scope == SCOPE_PROCESS) {
			continue;
		}

		for (unsigned int part = 0; column->title && part < part_count; part++) {
			used += cell_width(output, column);
			if (used > (int)output->columns) {
				return count;
			}
			cells[count++] = (struct cell){ column, i, part };
		}
	}
	return count;
}

static void put_head(FILE *out, const struct output *output, const struct report_table *table,
		     const struct cell *cells, size_t count)
{
	static const char *const titles[] = {
		[SCOPE_TRACE] = "",
		[SCOPE_CPU] = "CPU",
		[SCOPE_THREAD] = "THREAD (TID)",
		[SCOPE_EVENT] = "EVENT",
		[SCOPE_ITEM] = "NAME",
		[SCOPE_PROCESS] = "PROCESS (PID)",
		[SCOPE_LONGEST] = "LONGEST",
	};
	const char *title = table->table->title;

	(void)fprintf(out, "  %s", bold(output));
	(void)fprintf(out, "%-*s", name_width(table), title ? title : titles[table->table->scope]);
	for (size_t i = 0; i < count; i++) {
		const struct column *column = cells[i].column;
		bool is_spread = column->kind == COLUMN_SPREAD;

		(void)fprintf(out, " %10s",
			      is_spread && (cells[i].part > 0 || !column->is_share)
				      ? spread_parts[cells[i].part].title
				      : column->title);
		if (column->is_share) {
			(void)fprintf(out, " %8s", "SHARE");
			if (output->columns >= WIDE) {
				(void)fprintf(out, "  %*s", BAR_WIDTH, "");
			}
		}
	}
	if (table->table->scope == SCOPE_LONGEST) {
		(void)fprintf(out, "  %-*s", WHO_WIDTH - 2, "ENDED         THREAD (TID)");
	}
	(void)fprintf(out, "%s\n", plain(output));
}

static void thread_text(char text[CELL_MAX], const struct thread_view *thread, int64_t id)
{
	if (id < 0) {
		(void)snprintf(text, CELL_MAX, "%s",
			       thread->comm[0] ? thread->comm : "(not known)");
	} else {
		(void)snprintf(text, CELL_MAX, "%s (%" PRId64 ")",
			       thread->comm[0] ? thread->comm : "?", id);
	}
}

/* A number, its name, a name, or some of these. */
static void item_text(char text[CELL_MAX], const struct table *table, uint64_t id, const char *name)
{
	const char *id_name = table->id_name ? table->id_name(id) : NULL;
	bool has_id = table->id_key && id != ITEM_NO_ID;
	char number[24] = "";

	if (has_id && !id_name) {
		(void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)id);
		id_name = number;
	}
	if (!table->name_key || !name[0]) {
		(void)snprintf(text, CELL_MAX, "%s", id_name ? id_name : "?");
	} else {
		(void)snprintf(text, CELL_MAX, "%s%s%s", id_name ? id_name : "", id_name ? " " : "",
			       name);
	}
}

static void put_row_name(FILE *out, const struct report_table *table, const struct report_row *row)
{
	char name[CELL_MAX] = "";

	switch (table->table->scope) {
	case SCOPE_TRACE:
		return;
	case SCOPE_CPU:
		(void)fprintf(out, "  %-4" PRIu64, row->id);
		return;
	case SCOPE_EVENT:
		(void)snprintf(name, sizeof(name), "%s", row->name);
		break;
	case SCOPE_THREAD:
		thread_text(name, row->thread, row->thread->tid);
		break;
	case SCOPE_PROCESS:
		thread_text(name, row->thread, row->thread->pid);
		break;
	case SCOPE_ITEM:
		item_text(name, table->table, row->id, row->name);
		break;
	case SCOPE_LONGEST:
		item_text(name, table->table, row->instance->item.id, row->name);
		break;
	}
	(void)fputs("  ", out);
	put_name(out, name, NAME_WIDTH);
}

static void put_cell(FILE *out, const struct cell *cell, const struct report_row *row)
{
	char text[CELL_MAX];

	if (row->instance && cell->at > 0 && cell->column->unit == UNIT_BYTES) {
		put_value(text, UNIT_BYTES, (uint64_t)row->instance->more);
	} else if (row->instance && cell->at > 0) {
		(void)snprintf(text, sizeof(text), "%" PRId64, row->instance->more);
	} else if (row->instance) {
		put_value(text, cell->column->unit, row->instance->ns);
	} else if (cell->column->kind == COLUMN_PRIO) {
		(void)snprintf(text, sizeof(text), row->thread->has_prio ? "%" PRId32 : "?",
			       row->thread->prio);
	} else if (cell->column->kind == COLUMN_SPREAD) {
		put_part(text, column_spread(row->values, cell->at), cell->part);
	} else {
		put_value(text, cell->column->unit, row->values[cell->at]);
	}
	(void)fprintf(out, " %10s", text);
}

static void put_who(FILE *out, const struct report_row *row)
{
	char text[CELL_MAX] = "", ended[UNITS_TEXT_MAX];

	if (row->thread) {
		thread_text(text, row->thread, row->thread->tid);
	} else if (row->instance->cpu != UINT64_MAX) {
		(void)snprintf(text, sizeof(text), "CPU %" PRIu64, row->instance->cpu);
	}
	(void)fprintf(out, "  %.12s  ", units_clock(ended, row->instance->end));
	put_name(out, text, WHO_WIDTH - 16);
}

static void put_rows(FILE *out, const struct output *output, const struct report *report,
		     const struct report_table *table)
{
	size_t count =
		output->top > 0 && output->top < table->row_count ? output->top : table->row_count;
	struct cell cells[CELLS_MAX];
	size_t shown = choose_cells(output, table, cells);

	if (count == 0) {
		return;
	}
	put_head(out, output, table, cells, shown);
	for (size_t r = 0; r < count; r++) {
		const struct report_row *row = &table->rows[r];

		put_row_name(out, table, row);
		for (size_t i = 0; i < shown; i++) {
			put_cell(out, &cells[i], row);
			if (cells[i].column->is_share) {
				put_share(out, output, row->values[cells[i].at],
					  whole_of(report, table, cells[i].at));
			}
		}
		if (row->instance) {
			put_who(out, row);
		}
		(void)fputc('\n', out);
	}
	if (count < table->row_count) {
		(void)fprintf(out, "  ... and %zu more\n", table->row_count - count);
	}
}

static void put_losses(FILE *out, const struct report *report)
{
	char text[UNITS_TEXT_MAX];

	if (report->discarded > 0) {
		(void)fprintf(out, "  ! %s events discarded", units_count(text, report->discarded));
	}
	if (report->lost_packets > 0) {
		(void)fprintf(out, "  ! %s packets lost", units_count(text, report->lost_packets));
	}
	if (report->bad_packets > 0) {
		(void)fprintf(out, "  ! %s bad packets", units_count(text, report->bad_packets));
	}
	if (report->late_events > 0) {
		(void)fprintf(out, "  ! %s events late", units_count(text, report->late_events));
	}
}

static void put_trace_name(FILE *out, const struct trace_identity *trace)
{
	const char *parts[] = { trace->host, trace->session, trace->domain };
	bool is_first = true;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i]) {
			(void)fprintf(out, is_first ? "" : "/");
			put_name(out, parts[i], (int)strlen(parts[i]));
			is_first = false;
		}
	}
	if (is_first) {
		(void)fputs(trace->path ? trace->path : "trace", out);
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
	uint64_t length = report->end - report->begin;
	char begin[UNITS_TEXT_MAX], end[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX], lag[UNITS_TEXT_MAX];

	(void)fputs(bold(output), out);
	put_trace_name(out, trace);
	/* Milliseconds are enough to read; JSON has all digits. */
	(void)fprintf(out, "%s  %s%.12s .. %.12s  %s events/s", plain(output), kinds[report->kind],
		      units_clock(begin, report->begin), units_clock(end, report->end),
		      units_count(rate, length > 0 ? (uint64_t)((double)report->events * 1e9 /
								(double)length)
						   : 0));
	if (report->has_lag && report->lag_ns >= 0) {
		(void)fprintf(out, "  lag %s", units_ns(lag, (uint64_t)report->lag_ns));
	}
	if (!report->complete) {
		(void)fputs("  ! incomplete", out);
	}
	put_losses(out, report);
	(void)fputc('\n', out);
}

static void report_tables(struct output *output, const struct trace_identity *trace,
			  const struct report *report)
{
	const struct analysis *analysis = NULL;
	FILE *out = output->out;

	put_header(out, output, trace, report);
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (table->analysis != analysis) {
			analysis = table->analysis;
			(void)fprintf(out, "\n%s%s%s", bold(output), analysis->name, plain(output));
			if (table->table->scope != SCOPE_TRACE) {
				(void)fputc('\n', out);
			}
		}
		if (table->table->scope == SCOPE_TRACE) {
			if (table->table->columns[0].title) {
				put_figures(out, table);
				(void)fputc('\n', out);
			}
		} else {
			put_rows(out, output, report, table);
		}
	}
	(void)fputc('\n', out);
}

/* What is not a report the commands say on standard error. */
const struct sink sink_text = {
	.name = "text",
	.report = report_tables,
};
