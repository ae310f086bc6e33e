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

#define NAME_WIDTH  25 /* of names, usually */
#define CELL_WIDTH  11
#define TREE_STEP   2
#define CELLS_LEAST 3 /* that names leave room for */

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
				   NAME_WIDTH, room > NAME_WIDTH ? (unsigned int)room : 0) +
		(listing->processes ? TREE_STEP : 0);
	room = (canvas->columns - listing->names) / CELL_WIDTH;
	room = room < 0 ? 0 : room;
	return listing->cell_count < (size_t)room ? listing->cell_count : (size_t)room;
}

/* The first cell on the screen: the user's, else so that the one that rows are sorted by is there.
 */
static size_t first_cell(struct view *view, const struct view_listing *listing, size_t fit)
{
	size_t last = listing->cell_count > fit ? listing->cell_count - fit : 0, sort = view->sort;

	assert(listing->cell_count <= CELLS_MAX);
	view->first = view->first < last ? view->first : last;
	if (view->first > 0) {
		return view->first;
	}
	if (sort == SIZE_MAX) {
		for (sort = 0; sort < listing->cell_count && !view_orders(listing, sort); sort++) {
		}
	}
	return sort < listing->cell_count && sort >= fit ? sort - fit + 1 : 0;
}

/* How rows are drawn: which of the cells, and shares of how much time; 0: times. */
struct look {
	size_t first, fit;
	uint64_t time;
};

static bool is_shown_as_share(const struct look *look, const struct cell *cell)
{
	return look->time > 0 && cell->column && cell->column->is_share &&
	       cell->column->unit == UNIT_NS && cell->column->kind != COLUMN_HISTOGRAM;
}

static void cell_as_shown(char text[CELL_MAX], const struct look *look, const struct cell *cell,
			  const struct report_row *row)
{
	text[0] = '\0';
	if (!cell->column) {
		return; /* of processes there is no such figure */
	}
	if (is_shown_as_share(look, cell) && !cell->is_unknown && !row->instance) {
		(void)snprintf(text, CELL_MAX, "%.1f%%",
			       format_number(cell, row) / (double)look->time * 100);
	} else {
		format_cell(text, cell, row);
	}
}

/* Of a tree, names of threads stand below those of their processes. */
static void name_in_tree(char text[CELL_MAX], const struct view_listing *listing,
			 const struct report_row *row)
{
	char name[CELL_MAX];

	if (view_is_process(listing, row)) {
		format_row(text, listing->processes->table, row, listing->names);
	} else {
		format_row(name, listing->table->table, row,
			   listing->names - (listing->processes ? TREE_STEP : 0));
		(void)snprintf(text, CELL_MAX, "%*s%.*s", listing->processes ? TREE_STEP : 0, "",
			       CELL_MAX - TREE_STEP - 1, name);
	}
}

static void draw_row(const struct canvas *canvas, int line, const struct view_listing *listing,
		     const struct report_row *row, const struct look *look, enum view_style style)
{
	const struct cell *cells =
		view_is_process(listing, row) ? listing->process_cells : listing->cells;
	char text[VIEW_LINE_MAX], value[CELL_MAX];
	int used, blanks;

	assert(look->first + look->fit <= listing->cell_count);
	name_in_tree(value, listing, row);
	blanks = listing->names - utf8_columns(value);
	used = snprintf(text, sizeof(text), "%s%*s", value, blanks > 0 ? blanks : 0, "");
	for (size_t i = look->first;
	     i < look->first + look->fit && used < (int)sizeof(text) - CELL_MAX; i++) {
		cell_as_shown(value, look, &cells[i], row);
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

/* The cells that rows are sorted by have @mark, that which the user chose is @sort.  @view: NULL:
 * nothing may be clicked. */
static void draw_head(struct view *view, struct canvas *canvas, const struct view_listing *listing,
		      const struct look *look, size_t sort, char mark)
{
	char text[VIEW_LINE_MAX];

	(void)snprintf(text, sizeof(text), "%s%s", format_title_of(listing->table),
		       listing->table->is_whole ? " (" FORMAT_WHOLE ")" : "");
	text_cut(text, listing->names);
	canvas_put_at(canvas, canvas->line, 0, STYLE_BOLD, text);
	for (size_t i = look->first; i < look->first + look->fit; i++) {
		bool orders = sort == SIZE_MAX ? view_orders(listing, i) : i == sort;
		int column = listing->names + (int)(i - look->first) * CELL_WIDTH;
		char title[CELL_MAX];

		(void)snprintf(title, sizeof(title), "%s%s", format_title(&listing->cells[i]),
			       is_shown_as_share(look, &listing->cells[i]) ? "%" : "");
		(void)snprintf(text, sizeof(text), " %9s%c", title, orders && view ? mark : ' ');
		canvas_put_at(canvas, canvas->line, column, i == sort ? STYLE_CHOSEN : STYLE_BOLD,
			      text);
		if (view) {
			view_spot(view, canvas->line, column, column + CELL_WIDTH, SPOT_SORT, i);
		}
	}
	canvas->line++;
}

/* By what a thread does when the window ends, if that is known (analysis "state"). */
static enum view_style style_of(const struct snapshot *snapshot, const struct report_table *table,
				const struct report_row *row)
{
	static const struct {
		const char *key;
		enum view_style style;
	} states[] = { { "running_threads", STYLE_RUNS },
		       { "runnable_threads", STYLE_WAITS },
		       { "blocked_threads", STYLE_BLOCKED },
		       { "stopped_threads", STYLE_STOPPED } };
	const struct report_table *now = snapshot_table(snapshot, "state", SCOPE_THREAD);

	for (size_t i = 0; now && table->table->scope == SCOPE_THREAD && i < now->row_count; i++) {
		if (now->rows[i].thread->tid != row->thread->tid || row->thread->tid < 0) {
			continue;
		}
		for (size_t s = 0; s < ARRAY_COUNT(states); s++) {
			if (view_figure(now->table, &now->rows[i], states[s].key) > 0) {
				return states[s].style;
			}
		}
	}
	return STYLE_PLAIN;
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

/* Which rows have room: the chosen one is among them. */
static size_t scroll_to_chosen(struct view *view, const struct view_listing *listing, size_t room)
{
	view->shown_rows = room;
	if (listing->rows.count > 0 && view->chosen >= listing->rows.count) {
		view->chosen = listing->rows.count - 1;
	}
	view->top = view->chosen < view->top ? view->chosen : view->top;
	if (view->chosen >= view->top + room) {
		view->top = view->chosen - room + 1;
	}
	return listing->rows.count < view->top + room ? listing->rows.count : view->top + room;
}

static void draw_table(struct view *view, struct canvas *canvas, const struct snapshot *snapshot,
		       const struct report_table *table)
{
	struct look look = { .time = view->has_durations ? 0
							 : report_covered_ns(&snapshot->report) };
	struct view_listing listing;
	int room = canvas->lines - canvas->line - 2;
	size_t end;

	view_list(view, snapshot, table, &listing);
	look.fit = fit_columns(canvas, &listing);
	look.first = first_cell(view, &listing, look.fit);
	draw_head(view, canvas, &listing, &look, view->sort, view->is_reversed ? '^' : 'v');
	end = scroll_to_chosen(view, &listing, room < 1 ? 1 : (size_t)room);
	for (size_t i = view->top; i < end; i++) {
		const struct report_row *row = listing.rows.at[i];
		enum view_style style = view_is_process(&listing, row)
						? STYLE_BOLD
						: style_of(snapshot, table, row);

		view_spot(view, canvas->line, 0, canvas->columns, SPOT_ROW, i);
		draw_row(canvas, canvas->line++, &listing, row, &look,
			 i == view->chosen ? STYLE_CHOSEN : style);
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
	struct look look = { .time = 0 };
	char text[CELL_MAX];

	listing.cell_count = format_parts(table, listing.cells);
	for (size_t i = 0; i < table->row_count; i++) {
		if (is_about(view, table, &table->rows[i])) {
			*vec_push(&listing.rows) = &table->rows[i];
		}
	}
	look.fit = fit_columns(canvas, &listing);
	if (listing.rows.count > 0 && canvas->line < canvas->lines - 1) {
		tab_text(text, table);
		canvas_put_line(canvas, STYLE_DIM, text);
		draw_head(NULL, canvas, &listing, &look, SIZE_MAX, ' ');
	}
	for (size_t i = 0; i < listing.rows.count && canvas->line < canvas->lines - 1; i++) {
		draw_row(canvas, canvas->line++, &listing, listing.rows.at[i], &look, STYLE_PLAIN);
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
		"< > F6             sort by the column to the left, to the right",
		"r I                the other way round",
		"%                  shares of the window as times, and back",
		"p F5               threads below their processes, and back",
		"mouse              a list, a column to sort by, a row; twice: its thread",
		"m                  the mouse selects text of the terminal, and back",
		"/ F3 F4            show only names that contain a text (Esc: all)",
		"space              pause, go on",
		"left, right        a window back, a window on; Home, End: the oldest, the newest",
		"t, T               the next trace, the one before",
		"h                  to a trace by its host or session: a part of the name",
		"q F10              quit",
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
		(void)snprintf(
			text, sizeof(text),
			"q quit  ? help  %sEnter thread  / filter%s%s  1-9 Tab  < > sort  p tree  "
			"space pause%s",
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

	view->spot_count = 0;
	if (!snapshot) {
		canvas_put_line(&canvas, STYLE_PLAIN, view->waiting);
		draw_foot(view, &canvas);
		return;
	}
	view_draw_head(view, &canvas, snapshot);
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
		tabs_draw_groups(view, &canvas, snapshot, table->analysis);
		tabs_draw_lists(view, &canvas, snapshot, table->analysis);
		draw_figures(&canvas, snapshot, table->analysis);
		draw_table(view, &canvas, snapshot, table);
	}
	draw_foot(view, &canvas);
}
