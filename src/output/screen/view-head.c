/*
 * view-head: the lines above the lists of a view: the trace, its CPUs, its phases.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"
#include "engine/tables/columns.h"
#include "output/screen/canvas.h"
#include "output/screen/view-state.h"
#include "text/text-table.h"

#define BAR_WIDTH_MIN 22 /* columns of a CPU */
#define BAR_LINES_MAX 8  /* of all CPUs */
#define NAME_ROOM_MIN 12 /* of a trace */
#define BUSIEST_MAX   8  /* CPUs without a bar that are named */
#define PHASES_FROM   28 /* the column where the letters of phases begin */

/* When the window was, and how much was in it. */
static void window_text(char *text, size_t size, const struct report *report, bool has_date)
{
	uint64_t length = report_covered_ns(report);
	uint64_t rate = length > 0 ? (uint64_t)((double)report->events * 1e9 / (double)length) : 0;
	struct units_times times = units_times_of(report->begin, report->end);
	char begin[UNITS_TEXT_MAX], lasts[UNITS_TEXT_MAX], events[UNITS_TEXT_MAX],
		lag[UNITS_TEXT_MAX] = "";

	times.has_day |= has_date;
	if (report->has_lag) {
		(void)units_ns(lag, report->lag_ns > 0 ? (uint64_t)report->lag_ns : 0);
	}
	(void)snprintf(text, size, "  %s + %s  %s events/s%s%s%s",
		       units_time(begin, times, report->begin), units_ns(lasts, length),
		       units_count(events, rate), lag[0] ? "  lag " : "", lag,
		       report->complete ? "" : "  ! incomplete");
}

/* The name of the trace gives way to the figures. */
static void draw_header(const struct view *view, struct canvas *canvas,
			const struct snapshot *snapshot)
{
	char name[VIEW_LINE_MAX], window[VIEW_LINE_MAX], text[2 * VIEW_LINE_MAX], paused[80] = "";
	size_t count = view->traces.at[view->trace]->windows.count;
	size_t at = view->at < count ? view->at : count - 1;
	int room;

	window_text(window, sizeof(window), &snapshot->report, view->browses);
	(void)snprintf(name, sizeof(name), "%s", snapshot->trace);
	if (view->browses) {
		(void)snprintf(paused, sizeof(paused), "%s", view->status);
	} else if (view->at != WINDOW_NEWEST) {
		(void)snprintf(paused, sizeof(paused), " window %zu of %zu, paused ", at + 1,
			       count);
	}
	room = canvas->columns - utf8_columns(window) - utf8_columns(paused);
	text_cut(name, room > NAME_ROOM_MIN ? room : NAME_ROOM_MIN);
	(void)snprintf(text, sizeof(text), "%s%s", name, window);
	canvas_put_line(canvas, STYLE_BOLD, text);
	if (paused[0]) {
		canvas_put_at(canvas, 0, canvas->columns - utf8_columns(paused), STYLE_CHOSEN,
			      paused);
	}
}

uint64_t view_figure(const struct table *table, const struct report_row *row, const char *key)
{
	for (unsigned int c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		if (strcmp(table->columns[c].key, key) == 0) {
			return row->values[c];
		}
	}
	return 0;
}

static const char *fill(char text[VIEW_LINE_MAX], char letter, int count)
{
	assert(count < VIEW_LINE_MAX);
	memset(text, letter, (size_t)count);
	text[count] = '\0';
	return text;
}

/* "|||||    ???": busy, idle, unknown.  The number is the share of the time that is known. */
static void draw_bar(const struct canvas *canvas, int line, int column, int width,
		     const struct table *table, const struct report_row *cpu)
{
	double busy = (double)view_figure(table, cpu, "busy_ns");
	double known = busy + (double)view_figure(table, cpu, "idle_ns");
	double all = known + (double)view_figure(table, cpu, "unknown_ns");
	char text[VIEW_LINE_MAX], share[16] = "     ? ";
	int room = width - 8 - 9, bar, gap;

	room = room < 1 ? 1 : room > VIEW_LINE_MAX / 2 ? VIEW_LINE_MAX / 2 : room;
	gap = all > known ? (int)((all - known) / all * room + 0.999) : 0;
	bar = all > 0 ? (int)(busy / all * room + 0.5) : 0;
	bar = bar < room - gap ? bar : room - gap;
	assert(gap >= 0 && gap <= room && bar >= 0);
	if (known > 0) {
		(void)snprintf(share, sizeof(share), "%6.1f%%", busy / known * 100);
	}
	(void)snprintf(text, sizeof(text), "%4" PRIu64 " [%*s%.7s]", cpu->id, room, "", share);
	canvas_put_at(canvas, line, column, STYLE_PLAIN, text);
	canvas_put_at(canvas, line, column + 6, STYLE_BAR, fill(text, '|', bar));
	canvas_put_at(canvas, line, column + 6 + room - gap, STYLE_DIM, fill(text, '?', gap));
}

ORDER_POINTERS(by_id, struct report_row, UP(id))

/* What has no bar: how many, and the busiest of them.  The line has no more than it has room for.
 */
static void draw_more_cpus(struct canvas *canvas, const struct table *table,
			   const struct report_row **rows, size_t shown, size_t count)
{
	char text[VIEW_LINE_MAX];
	int used = snprintf(text, sizeof(text), "%zu of %zu CPUs have no bar (list: cpu cpus)",
			    count - shown, count);

	assert(shown < count);
	for (size_t k = shown; k < count && k < shown + BUSIEST_MAX; k++) {
		char one[64];
		double known, busy;

		for (size_t i = k + 1; i < count; i++) { /* the busiest of the rest to the front */
			if (view_figure(table, rows[i], "busy_ns") >
			    view_figure(table, rows[k], "busy_ns")) {
				const struct report_row *other = rows[k];

				rows[k] = rows[i];
				rows[i] = other;
			}
		}
		busy = (double)view_figure(table, rows[k], "busy_ns");
		known = busy + (double)view_figure(table, rows[k], "idle_ns");
		(void)snprintf(one, sizeof(one), "%s%" PRIu64 " %.1f%%",
			       k == shown ? "; busiest: " : ", ", rows[k]->id,
			       known > 0 ? busy / known * 100 : 0);
		if (busy == 0 || used + (int)strlen(one) > canvas->columns) {
			break;
		}
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s", one);
	}
	canvas_put_line(canvas, STYLE_DIM, text);
}

/* CPUs side by side, as many as their lines have room for. */
static void draw_cpus(struct canvas *canvas, const struct snapshot *snapshot)
{
	const struct report_table *table = snapshot_table(snapshot, "cpu", SCOPE_CPU);
	const struct report_row **rows;
	int across, lines, width;

	if (!table || table->row_count == 0) {
		return;
	}
	rows = mem_alloc(table->row_count * sizeof(*rows));
	for (size_t i = 0; i < table->row_count; i++) {
		rows[i] = &table->rows[i];
	}
	qsort(rows, table->row_count, sizeof(*rows), by_id);
	lines = canvas->lines / 4 < BAR_LINES_MAX ? canvas->lines / 4 : BAR_LINES_MAX;
	across = ((int)table->row_count + lines - 1) / (lines < 1 ? 1 : lines);
	across = across < 2 ? 2 : across;
	across =
		across > canvas->columns / BAR_WIDTH_MIN ? canvas->columns / BAR_WIDTH_MIN : across;
	across = across < 1 ? 1 : across;
	width = canvas->columns / across;
	for (size_t i = 0; i < table->row_count && (int)i / across < lines; i++) {
		draw_bar(canvas, canvas->line + (int)i / across, (int)i % across * width, width,
			 table->table, rows[i]);
	}
	lines = ((int)table->row_count + across - 1) / across < lines
			? ((int)table->row_count + across - 1) / across
			: lines;
	canvas->line += lines;
	if ((size_t)lines * (size_t)across < table->row_count) {
		draw_more_cpus(canvas, table->table, rows, (size_t)lines * (size_t)across,
			       table->row_count);
	}
	free(rows);
}

/* ---- phases ---- */

enum { PHASE_NUMBER = 1, PHASE_AGE }; /* columns of the table "phase" */

static const uint64_t *phase_of(const struct snapshot *snapshot)
{
	const struct report_table *table = snapshot_table(snapshot, "phase", SCOPE_TRACE);

	return table && table->row_count > 0 ? table->rows[0].values : NULL;
}

/*
 * A letter for each window up to @last, the newest one to the right.  A change becomes known some
 * windows later, so the phase of a window is what the windows after it say.
 */
static void draw_letters(const struct canvas *canvas, const struct view_trace *trace, size_t last,
			 int from)
{
	uint64_t number = 0, begin = UINT64_MAX;
	int room = canvas->columns - from, column;

	for (size_t i = trace->windows.count; i-- > 0 && room > 0;) {
		const struct snapshot *snapshot = trace->windows.at[i];
		const uint64_t *phase = phase_of(snapshot);
		char letter[2] = { 0 };

		if (phase && (snapshot->report.begin < begin || number == 0)) {
			number = phase[PHASE_NUMBER];
			begin = snapshot->report.end - phase[PHASE_AGE];
		}
		if (i > last || last - i >= (size_t)room) {
			continue;
		}
		column = from + (int)(last < (size_t)room ? i : i + (size_t)room - 1 - last);
		letter[0] = phase && number > 0 ? (char)('a' + (number - 1) % 26) : '.';
		canvas_put_at(canvas, canvas->line, column,
			      STYLE_PHASE + (int)(number % (STYLE_PHASE_LAST - STYLE_PHASE + 1)),
			      letter);
	}
}

static void draw_phases(const struct view *view, struct canvas *canvas,
			const struct snapshot *snapshot)
{
	const struct view_trace *trace = view_current(view);
	size_t last = view->at < trace->windows.count ? view->at : trace->windows.count - 1;
	const uint64_t *phase = phase_of(snapshot);
	char text[VIEW_LINE_MAX], lasted[UNITS_TEXT_MAX];

	if (!phase) {
		return;
	}
	(void)snprintf(text, sizeof(text), "phase %" PRIu64 " (%c) for %s", phase[PHASE_NUMBER],
		       (int)('a' + (phase[PHASE_NUMBER] + 25) % 26),
		       units_ns(lasted, phase[PHASE_AGE]));
	canvas_put_at(canvas, canvas->line, 0, STYLE_PLAIN, text);
	draw_letters(canvas, trace, last, PHASES_FROM);
	canvas->line++;
}

void view_draw_head(const struct view *view, struct canvas *canvas, const struct snapshot *snapshot)
{
	draw_header(view, canvas, snapshot);
	draw_cpus(canvas, snapshot);
	draw_phases(view, canvas, snapshot);
}
