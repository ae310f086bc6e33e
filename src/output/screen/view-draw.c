/*
 * view-draw: draws a view.
 *
 *     header    the trace, the window's time, its rate
 *     CPUs      a bar each, side by side
 *     phases    the one that goes on, and a letter for each of the last windows
 *     groups    the analyses, each with the key that shows it
 *     tabs      the lists of the shown one
 *     figures   of the trace as a whole
 *     table     titles, then rows            (or: help, all about one thread, or jobs)
 *     foot      a message, the filter, or the keys
 *
 * Nothing is drawn beyond the surface, however small it is.
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
#include "output/screen/tabs.h"
#include "output/screen/view-state.h"
#include "text/text-table.h"

#define NAME_WIDTH    25 /* of names, usually */
#define CELL_WIDTH    11
#define CELLS_LEAST   3  /* that names leave room for */
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

/* The figure of a row that has this key; 0: the table has none. */
static uint64_t figure_of(const struct table *table, const struct report_row *row, const char *key)
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
	double busy = (double)figure_of(table, cpu, "busy_ns");
	double known = busy + (double)figure_of(table, cpu, "idle_ns");
	double all = known + (double)figure_of(table, cpu, "unknown_ns");
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
			if (figure_of(table, rows[i], "busy_ns") >
			    figure_of(table, rows[k], "busy_ns")) {
				const struct report_row *other = rows[k];

				rows[k] = rows[i];
				rows[i] = other;
			}
		}
		busy = (double)figure_of(table, rows[k], "busy_ns");
		known = busy + (double)figure_of(table, rows[k], "idle_ns");
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

static void tab_text(char text[CELL_MAX], const struct report_table *table)
{
	(void)snprintf(text, CELL_MAX, "%s %s", table->analysis->name, table->table->key);
}

/* The shown analysis' figures of the trace as a whole. */
static void draw_figures(struct canvas *canvas, const struct snapshot *snapshot,
			 const struct analysis *analysis)
{
	const struct report_table *table = snapshot_table(snapshot, analysis->name, SCOPE_TRACE);
	char text[VIEW_LINE_MAX] = "", value[2 * CELL_MAX];

	if (table && table->is_whole) {
		(void)snprintf(text, sizeof(text), "(%s)", FORMAT_WHOLE);
	}
	for (unsigned int i = 0; table && i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];
		size_t len = strlen(text);

		if (!column->title || column->kind == COLUMN_HISTOGRAM) {
			continue;
		}
		if (report_is_unknown(table, i)) {
			(void)snprintf(value, sizeof(value), "-");
		} else {
			format_value(value, column->unit, table->rows[0].values[i]);
		}
		(void)snprintf(text + len, sizeof(text) - len, "%s%s %s", len ? "  " : "",
			       column->title, value);
	}
	canvas_put_line(canvas, STYLE_PLAIN, text);
}

/* Sets the width of the names of the listing; returns how many cells fit beside them. */
static size_t fit_columns(const struct canvas *canvas, struct view_listing *listing)
{
	int room = canvas->columns - CELLS_LEAST * CELL_WIDTH;

	listing->names =
		format_names_width(listing->table->table, listing->rows.at, listing->rows.count,
				   NAME_WIDTH, room > NAME_WIDTH ? (unsigned int)room : 0);
	room = (canvas->columns - listing->names) / CELL_WIDTH;
	room = room < 0 ? 0 : room;
	return listing->cell_count < (size_t)room ? listing->cell_count : (size_t)room;
}

/* The first cell on the screen: the user's, else so that the one that rows are sorted by is there.
 */
static size_t first_cell(struct view *view, const struct view_listing *listing, size_t fit)
{
	size_t last = listing->cell_count > fit ? listing->cell_count - fit : 0;

	assert(listing->cell_count <= CELLS_MAX);
	view->first = view->first < last ? view->first : last;
	if (view->first > 0) {
		return view->first;
	}
	return view->sort < listing->cell_count && view->sort >= fit ? view->sort - fit + 1 : 0;
}

static void draw_row(const struct canvas *canvas, int line, const struct view_listing *listing,
		     const struct report_row *row, size_t first, size_t fit, enum view_style style)
{
	char text[VIEW_LINE_MAX], value[CELL_MAX];
	int used, blanks;

	assert(first + fit <= listing->cell_count);
	format_row(value, listing->table->table, row, listing->names);
	blanks = listing->names - utf8_columns(value);
	used = snprintf(text, sizeof(text), "%s%*s", value, blanks > 0 ? blanks : 0, "");
	for (size_t i = first; i < first + fit && used < (int)sizeof(text) - CELL_MAX; i++) {
		format_cell(value, &listing->cells[i], row);
		used += snprintf(text + used, sizeof(text) - (size_t)used, " %10s", value);
	}
	if (row->instance && row->thread && used < (int)sizeof(text) - CELL_MAX) {
		format_thread(value, row->thread, row->thread->tid);
		used += snprintf(text + used, sizeof(text) - (size_t)used, "  %s", value);
	}
	if (row->instance && used < (int)sizeof(text) - INSTANCE_BY_BYTES - 2) {
		used += snprintf(text + used, sizeof(text) - (size_t)used, "  %s",
				 row->instance->by);
	}
	blanks = canvas->columns - utf8_columns(text);
	(void)snprintf(text + used, sizeof(text) - (size_t)used, "%*s", blanks > 0 ? blanks : 0,
		       "");
	canvas_put_at(canvas, line, 0, style, text);
}

/* @sort: the cell that rows are sorted by, which gets @mark. */
static void draw_head(struct canvas *canvas, const struct view_listing *listing, size_t first,
		      size_t fit, size_t sort, char mark)
{
	char text[VIEW_LINE_MAX];

	(void)snprintf(text, sizeof(text), "%s%s", format_title_of(listing->table),
		       listing->table->is_whole ? " (" FORMAT_WHOLE ")" : "");
	text_cut(text, listing->names);
	canvas_put_at(canvas, canvas->line, 0, STYLE_BOLD, text);
	for (size_t i = first; i < first + fit; i++) {
		(void)snprintf(text, sizeof(text), " %9s%c", format_title(&listing->cells[i]),
			       i == sort ? mark : ' ');
		canvas_put_at(canvas, canvas->line, listing->names + (int)(i - first) * CELL_WIDTH,
			      i == sort ? STYLE_CHOSEN : STYLE_BOLD, text);
	}
	canvas->line++;
}

/* In place of rows: the events that would make them, and how to record those. */
static void draw_missing(struct canvas *canvas, const struct analysis *analysis,
			 const struct snapshot *snapshot)
{
	const struct missing_event *events = snapshot->report.missing;
	size_t first = 0, count = 0;
	char text[VIEW_LINE_MAX], *says;

	while (first < snapshot->report.missing_count && events[first].analysis != analysis) {
		first++;
	}
	while (first + count < snapshot->report.missing_count &&
	       events[first + count].analysis == analysis) {
		count++;
	}
	if (count == 0) {
		canvas_put_line(
			canvas, STYLE_DIM,
			analysis_rare(analysis)->missing_of
				? "nothing was asked for, or another trace of the session has it"
				: "another trace of the session has it");
		return;
	}
	says = missing_text(events + first, count, false);
	(void)snprintf(text, sizeof(text), "not recorded: %s", says);
	canvas_put_line(canvas, STYLE_WARNING, text);
	free(says);
	says = missing_commands(snapshot->report.tracer, events + first, count, "\n",
				(size_t)canvas->columns);
	for (char *line = says, *rest = says; line; line = rest) {
		(void)strsep(&rest, "\n");
		canvas_put_line(canvas, STYLE_PLAIN, line);
	}
	free(says);
}

static void draw_table(struct view *view, struct canvas *canvas, const struct snapshot *snapshot,
		       const struct report_table *table)
{
	struct view_listing listing;
	int room = canvas->lines - canvas->line - 2;
	size_t fit, first;

	view_list(view, table, &listing);
	fit = fit_columns(canvas, &listing);
	first = first_cell(view, &listing, fit);
	draw_head(canvas, &listing, first, fit, view->sort, view->is_reversed ? '^' : 'v');
	room = room < 1 ? 1 : room;
	view->shown_rows = (size_t)room;
	if (listing.rows.count > 0 && view->chosen >= listing.rows.count) {
		view->chosen = listing.rows.count - 1;
	}
	view->top = view->chosen < view->top ? view->chosen : view->top;
	if (view->chosen >= view->top + (size_t)room) {
		view->top = view->chosen - (size_t)room + 1;
	}
	for (size_t i = view->top; i < listing.rows.count && i < view->top + (size_t)room; i++) {
		draw_row(canvas, canvas->line++, &listing, listing.rows.at[i], first, fit,
			 i == view->chosen ? STYLE_CHOSEN : STYLE_PLAIN);
	}
	if (missing_is_whole(table->table, table->unknown)) {
		draw_missing(canvas, table->analysis, snapshot);
	} else if (listing.rows.count == 0) {
		canvas_put_line(canvas, STYLE_DIM,
				view->filter[0] ? "nothing matches" : "nothing in this window");
	}
	vec_fini(&listing.rows);
}

/* ---- one thread ---- */

/* Whether a row is about the thread; rows of descriptors, about its process. */
static bool is_about(const struct view *view, const struct report_table *table,
		     const struct report_row *row)
{
	if (table->table->owner_key) {
		return view->detail_pid >= 0 && row->owner == view->detail_pid;
	}
	return row->thread && row->thread->tid == view->detail_tid;
}

static void draw_thread_rows(const struct view *view, struct canvas *canvas,
			     const struct report_table *table)
{
	struct view_listing listing = { .table = table };
	char text[CELL_MAX];
	size_t fit;

	listing.cell_count = format_parts(table, listing.cells);
	for (size_t i = 0; i < table->row_count; i++) {
		if (is_about(view, table, &table->rows[i])) {
			*vec_push(&listing.rows) = &table->rows[i];
		}
	}
	fit = fit_columns(canvas, &listing);
	if (listing.rows.count > 0 && canvas->line < canvas->lines - 1) {
		tab_text(text, table);
		canvas_put_line(canvas, STYLE_DIM, text);
		draw_head(canvas, &listing, 0, fit, SIZE_MAX, ' ');
	}
	for (size_t i = 0; i < listing.rows.count && canvas->line < canvas->lines - 1; i++) {
		draw_row(canvas, canvas->line++, &listing, listing.rows.at[i], 0, fit, STYLE_PLAIN);
	}
	vec_fini(&listing.rows);
}

/* All that the window's tables have about the thread.  Single instances may be many, so they come
 * last. */
static void draw_detail(const struct view *view, struct canvas *canvas,
			const struct snapshot *snapshot)
{
	static const enum scope scopes[] = { SCOPE_THREAD, SCOPE_KEYED, SCOPE_LONGEST };

	canvas_put_line(canvas, STYLE_BOLD, view->detail_name);
	for (size_t s = 0; s < ARRAY_COUNT(scopes); s++) {
		for (size_t t = 0; t < snapshot->report.table_count; t++) {
			const struct report_table *table = &snapshot->report.tables[t];

			if (table->table->scope == scopes[s] &&
			    (scopes[s] != SCOPE_KEYED || table->table->owner_key)) {
				draw_thread_rows(view, canvas, table);
			}
		}
	}
}

/* The next line of a text, in pieces of the canvas's width; @rest goes on behind it. */
static void next_piece(const struct canvas *canvas, const char **rest, char piece[VIEW_LINE_MAX])
{
	size_t len = strcspn(*rest, "\n");
	size_t room = canvas->columns > 1 ? (size_t)canvas->columns : 1;

	room = utf8_fit(*rest, (int)room, VIEW_LINE_MAX - 1);
	len = len < room ? len : room;
	memcpy(piece, *rest, len);
	piece[len] = '\0';
	*rest += len;
	*rest += **rest == '\n';
}

/* A --job option is longer than a line: it is cut into lines, so that it can be copied. */
static void draw_jobs(struct view *view, struct canvas *canvas)
{
	int room = canvas->lines - canvas->line - 2;
	char piece[VIEW_LINE_MAX];
	size_t count = 0, line = 0;

	if (!view->jobs) {
		canvas_put_line(canvas, STYLE_DIM,
				"looking for what threads execute again and again ...");
		return;
	}
	view->shown_rows = room < 1 ? 1 : (size_t)room;
	for (const char *rest = view->jobs; *rest; count++) {
		next_piece(canvas, &rest, piece);
	}
	if (view->jobs_top + view->shown_rows > count) {
		view->jobs_top = count > view->shown_rows ? count - view->shown_rows : 0;
	}
	for (const char *rest = view->jobs; *rest; line++) {
		next_piece(canvas, &rest, piece);
		if (line >= view->jobs_top && line < view->jobs_top + view->shown_rows) {
			canvas_put_line(canvas, STYLE_PLAIN, piece);
		}
	}
}

static void draw_help(const struct view *view, struct canvas *canvas)
{
	static const char *const lines[] = {
		"j                  jobs: what threads execute again and again (Esc: back)",
		"up, down, page     choose a row",
		"Enter              all about the thread of this row; again, or Esc: back",
		"1 to 9, 0          the lists of an analysis",
		"Tab, Shift-Tab     the next list, the one before",
		"[ ]                more columns: to the left, to the right",
		"< >                sort by the column to the left, to the right",
		"r                  the other way round",
		"/                  show only names that contain a text (Esc: all)",
		"space              pause, go on",
		"left, right        a window back, a window on; Home, End: the oldest, the newest",
		"t, T               the next trace, the one before",
		"h                  to a trace by its host or session: a part of the name",
		"q                  quit",
	};
	static const char *const more[] = {
		"{ }                60 windows back, on",
		"g                  to a time: 14:03:07, 2026-11-24T14:03:07, -10m from the end",
	};

	canvas->line++;
	for (size_t i = view->browses; i < ARRAY_COUNT(lines); i++) {
		canvas_put_line(canvas, STYLE_PLAIN, lines[i]);
	}
	for (size_t i = 0; view->browses && i < ARRAY_COUNT(more); i++) {
		canvas_put_line(canvas, STYLE_PLAIN, more[i]);
	}
}

static void draw_foot(const struct view *view, struct canvas *canvas)
{
	char text[VIEW_LINE_MAX];
	int line = canvas->lines - 1;

	if (view->mode == MODE_FILTER) {
		(void)snprintf(text, sizeof(text), "show names with: %s_", view->filter);
		canvas_put_at(canvas, line, 0, STYLE_BOLD, text);
	} else if (view->mode == MODE_TIME) {
		(void)snprintf(text, sizeof(text), "go to time: %s_", view->typed);
		canvas_put_at(canvas, line, 0, STYLE_BOLD, text);
	} else if (view->mode == MODE_FIND) {
		(void)snprintf(text, sizeof(text), "go to host or session: %s_", view->typed);
		canvas_put_at(canvas, line, 0, STYLE_BOLD, text);
	} else if (view->message[0]) {
		canvas_put_at(canvas, line, 0, STYLE_WARNING, view->message);
	} else {
		size_t traces = view->browses ? view->browsed : view->traces.count;
		char trace[64] = "";

		if (traces > 1) {
			(void)snprintf(trace, sizeof(trace), "t h trace %zu/%zu  ",
				       (view->browses ? view->browsed_at : view->trace) + 1,
				       traces);
		}
		(void)snprintf(text, sizeof(text),
			       "q quit  ? help  %s/ filter%s%s  1-9 Tab list  < > sort  "
			       "space pause%s  [ ] columns",
			       trace, view->filter[0] ? ": " : "", view->filter,
			       view->browses ? "  g time" : "");
		canvas_put_at(canvas, line, 0, STYLE_DIM, text);
	}
}

void view_draw(struct view *view, int lines, int columns, view_put *put, void *user)
{
	struct canvas canvas = { .put = put, .user = user, .lines = lines, .columns = columns };
	const struct snapshot *snapshot = view_shown(view);
	const struct report_table *table;
	size_t count;

	if (!snapshot) {
		canvas_put_line(&canvas, STYLE_PLAIN, view->waiting);
		draw_foot(view, &canvas);
		return;
	}
	draw_header(view, &canvas, snapshot);
	draw_cpus(&canvas, snapshot);
	draw_phases(view, &canvas, snapshot);
	table = view_table(snapshot, view->table, &count);
	if (!table && count > 0) {
		view->table = 0;
		table = view_table(snapshot, 0, &count);
	}
	if (view->mode == MODE_HELP) {
		draw_help(view, &canvas);
	} else if (view->mode == MODE_DETAIL) {
		draw_detail(view, &canvas, snapshot);
	} else if (view->mode == MODE_JOBS) {
		draw_jobs(view, &canvas);
	} else if (table) {
		tabs_draw_groups(&canvas, snapshot, table->analysis);
		tabs_draw_lists(view, &canvas, snapshot, table->analysis);
		draw_figures(&canvas, snapshot, table->analysis);
		draw_table(view, &canvas, snapshot, table);
	}
	draw_foot(view, &canvas);
}
