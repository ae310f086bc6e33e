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
#include "engine/engine.h"
#include "live/sink.h"

#define CELL_MAX   64
#define NAME_WIDTH 25 /* "comm (tid)", event names are cut to this */
#define BAR_WIDTH  16
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

static void put_figures(FILE *out, const struct report_table *table)
{
	const uint64_t *values = table->rows[0].values;
	uint64_t time = 0;

	for (size_t i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		time += table->table->columns[i].unit == UNIT_NS ? values[i] : 0;
	}
	for (size_t i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];
		char text[CELL_MAX];

		if (!column->title) {
			continue;
		}
		if (column->unit == UNIT_NS) { /* of all CPUs together */
			(void)snprintf(text, sizeof(text), "%.1f %%",
				       time ? 100.0 * (double)values[i] / (double)time : 0.0);
		} else {
			put_value(text, column->unit, values[i]);
		}
		(void)fprintf(out, "  %s %s", column->title, text);
	}
}

static int name_width(const struct report_table *table)
{
	return table->table->scope == SCOPE_CPU ? 4 : NAME_WIDTH;
}

static int column_width(const struct output *output, const struct column *column)
{
	int share = output->columns >= WIDE ? 9 + 2 + BAR_WIDTH : 9;

	return 11 + (column->is_share ? share : 0);
}

/* How many columns fit beside the names: nothing is wrapped, the last ones are left out. */
static size_t columns_shown(const struct output *output, const struct report_table *table)
{
	int used = 2 + name_width(table);
	size_t count = 0;

	while (count < COLUMNS_MAX && table->table->columns[count].key) {
		used += column_width(output, &table->table->columns[count]);
		if (used > (int)output->columns) {
			break;
		}
		count++;
	}
	return count;
}

static void put_head(FILE *out, const struct output *output, const struct report_table *table)
{
	static const char *const titles[] = {
		[SCOPE_TRACE] = "",
		[SCOPE_CPU] = "CPU",
		[SCOPE_THREAD] = "THREAD (TID)",
		[SCOPE_EVENT] = "EVENT",
	};

	(void)fprintf(out, "  %s", bold(output));
	(void)fprintf(out, "%-*s", name_width(table), titles[table->table->scope]);
	for (size_t i = 0; i < columns_shown(output, table); i++) {
		const struct column *column = &table->table->columns[i];

		(void)fprintf(out, " %10s", column->title);
		if (column->is_share) {
			(void)fprintf(out, " %8s", "SHARE");
			if (output->columns >= WIDE) {
				(void)fprintf(out, "  %*s", BAR_WIDTH, "");
			}
		}
	}
	(void)fprintf(out, "%s\n", plain(output));
}

static void put_row_name(FILE *out, const struct report_table *table, const struct report_row *row)
{
	char name[CELL_MAX];

	switch (table->table->scope) {
	case SCOPE_CPU:
		(void)fprintf(out, "  %-4" PRIu64, row->id);
		return;
	case SCOPE_EVENT:
		(void)fputs("  ", out);
		put_name(out, row->name, NAME_WIDTH);
		return;
	case SCOPE_THREAD:
		if (row->thread->tid < 0) {
			(void)snprintf(name, sizeof(name), "%s",
				       row->thread->comm[0] ? row->thread->comm : "(not known)");
		} else {
			(void)snprintf(name, sizeof(name), "%s (%" PRId32 ")",
				       row->thread->comm[0] ? row->thread->comm : "?",
				       row->thread->tid);
		}
		(void)fputs("  ", out);
		put_name(out, name, NAME_WIDTH);
		return;
	case SCOPE_TRACE:
		return;
	}
}

static void put_cell(FILE *out, const struct column *column, const struct report_row *row, size_t i)
{
	char text[CELL_MAX];

	if (column->kind == COLUMN_PRIO) {
		(void)snprintf(text, sizeof(text), row->thread->has_prio ? "%" PRId32 : "?",
			       row->thread->prio);
	} else {
		put_value(text, column->unit, row->values[i]);
	}
	(void)fprintf(out, " %10s", text);
}

static void put_rows(FILE *out, const struct output *output, const struct report *report,
		     const struct report_table *table)
{
	size_t count =
		output->top > 0 && output->top < table->row_count ? output->top : table->row_count;

	size_t shown = columns_shown(output, table);

	if (count == 0) {
		return;
	}
	put_head(out, output, table);
	for (size_t r = 0; r < count; r++) {
		const struct report_row *row = &table->rows[r];

		put_row_name(out, table, row);
		for (size_t i = 0; i < shown; i++) {
			const struct column *column = &table->table->columns[i];

			put_cell(out, column, row, i);
			if (column->is_share) {
				put_share(out, output, row->values[i], whole_of(report, table, i));
			}
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
