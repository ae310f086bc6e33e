/*
 * view: see view.h.
 */
#include "live/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/units.h"
#include "engine/columns.h"
#include "live/cells.h"

#define NAME_WIDTH    25
#define CELL_WIDTH    11
#define BAR_LEAST     22 /* columns that a CPU needs */
#define BAR_LINES     8  /* for CPUs, at most */
#define LINE_MAX_     512
#define FILTER_MAX    32
#define WINDOW_NEWEST SIZE_MAX

/* The windows of one trace, oldest first. */
struct history {
	char *key;
	VEC(struct snapshot *) windows;
};

enum mode { MODE_TABLE, MODE_FILTER, MODE_DETAIL, MODE_HELP };

struct view {
	VEC(struct history *) traces;
	size_t bytes; /* of all windows */
	size_t trace; /* which is shown */
	size_t at;    /* its window; WINDOW_NEWEST: follows */
	size_t table; /* of those that are lists */
	size_t sort;  /* cell of the table; SIZE_MAX: as reported */
	bool is_reversed;
	size_t chosen, top; /* rows: marked, first on the screen */
	size_t shown_rows;  /* of the table on the last screen */
	enum mode mode;
	char filter[FILTER_MAX];
	int32_t detail_tid;
	int64_t detail_pid; /* -1: not known */
	char detail_name[CELL_MAX];
	char message[LINE_MAX_], waiting[LINE_MAX_];
};

struct view *view_new(void)
{
	struct view *view = mem_alloc(sizeof(*view));

	view->at = WINDOW_NEWEST;
	view->sort = SIZE_MAX;
	return view;
}

void view_free(struct view *view)
{
	for (size_t t = 0; t < view->traces.count; t++) {
		struct history *history = view->traces.at[t];

		for (size_t i = 0; i < history->windows.count; i++) {
			snapshot_free(history->windows.at[i]);
		}
		vec_fini(&history->windows);
		free(history->key);
		free(history);
	}
	vec_fini(&view->traces);
	free(view);
}

/* ---- windows ---- */

/* The list number @index of a window, or NULL; *ret_count of them there are. */
static const struct report_table *list_of(const struct snapshot *snapshot, size_t index,
					  size_t *ret_count)
{
	const struct report_table *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < snapshot->report.table_count; i++) {
		if (snapshot->report.tables[i].table->scope != SCOPE_TRACE) {
			found = count++ == index ? &snapshot->report.tables[i] : found;
		}
	}
	*ret_count = count;
	return found;
}

static struct history *history_of(struct view *view, const char *key)
{
	struct history *history;

	for (size_t i = 0; i < view->traces.count; i++) {
		if (strcmp(view->traces.at[i]->key, key) == 0) {
			return view->traces.at[i];
		}
	}
	history = mem_alloc(sizeof(*history));
	history->key = mem_strdup(key);
	*vec_push(&view->traces) = history;
	return history;
}

static void drop_oldest(struct view *view, struct history *history)
{
	struct snapshot *oldest = history->windows.at[0];

	view->bytes -= oldest->bytes;
	memmove(history->windows.at, history->windows.at + 1,
		--history->windows.count * sizeof(history->windows.at[0]));
	snapshot_free(oldest);
	if (history == view->traces.at[view->trace] && view->at != WINDOW_NEWEST && view->at > 0) {
		view->at--;
	}
}

/* Threads are what most want to see first. */
static void choose_table(struct view *view, const struct snapshot *snapshot)
{
	const struct report_table *table;
	size_t count, i = 0;

	while ((table = list_of(snapshot, i, &count)) && table->table->scope != SCOPE_THREAD) {
		i++;
	}
	view->table = table ? i : 0;
}

bool view_add(struct view *view, const struct trace_identity *trace, const struct report *report)
{
	struct snapshot *snapshot;
	struct history *history;

	if (report->kind != REPORT_WINDOW) {
		return false;
	}
	snapshot = snapshot_new(trace, report, VIEW_ROWS_MAX);
	if (view->traces.count == 0) {
		choose_table(view, snapshot);
	}
	history = history_of(view, snapshot->key);
	*vec_push(&history->windows) = snapshot;
	view->bytes += snapshot->bytes;
	while (view->bytes > VIEW_BYTES_MAX && history->windows.count > 1) {
		drop_oldest(view, history);
	}
	return history == view->traces.at[view->trace];
}

void view_say(struct view *view, const char *text)
{
	(void)snprintf(view->message, sizeof(view->message), "%s", text);
}

void view_waits_for(struct view *view, const char *text)
{
	(void)snprintf(view->waiting, sizeof(view->waiting), "%s", text);
}

static const struct snapshot *shown(const struct view *view)
{
	const struct history *history =
		view->traces.count > 0 ? view->traces.at[view->trace] : NULL;

	if (!history || history->windows.count == 0) {
		return NULL;
	}
	return history->windows
		.at[view->at < history->windows.count ? view->at : history->windows.count - 1];
}

/* ---- rows ---- */

/* What the rows on the screen are: those that match, in the order that was asked for. */
struct listing {
	const struct report_table *table;
	struct cell cells[CELLS_MAX];
	size_t cell_count;
	VEC(const struct report_row *) rows;
};

static bool matches(const char *text, const char *filter)
{
	return !filter[0] || strcasestr(text, filter);
}

static int by_cell(const void *left, const void *right, void *arg)
{
	const struct report_row *a = *(const struct report_row *const *)left;
	const struct report_row *b = *(const struct report_row *const *)right;
	double x = cell_number(arg, a), y = cell_number(arg, b);

	if (x != y) {
		return x > y ? -1 : 1;
	}
	return a < b ? -1 : a > b; /* as they were */
}

static void list(const struct view *view, const struct report_table *table, struct listing *listing)
{
	char text[CELL_MAX];

	memset(listing, 0, sizeof(*listing));
	listing->table = table;
	listing->cell_count = cells_of(table->table, listing->cells);
	for (size_t i = 0; i < table->row_count; i++) {
		row_text(text, table->table, &table->rows[i], CELL_MAX - 1);
		if (matches(text, view->filter)) {
			*vec_push(&listing->rows) = &table->rows[i];
		}
	}
	if (view->sort < listing->cell_count && listing->rows.count > 1) {
		qsort_r(listing->rows.at, listing->rows.count, sizeof(listing->rows.at[0]), by_cell,
			&listing->cells[view->sort]);
	}
	for (size_t i = 0; view->is_reversed && i < listing->rows.count / 2; i++) {
		size_t k = listing->rows.count - 1 - i;
		const struct report_row *row = listing->rows.at[i];

		listing->rows.at[i] = listing->rows.at[k];
		listing->rows.at[k] = row;
	}
}

/* ---- drawing ---- */

struct canvas {
	view_put *put;
	void *user;
	int lines, columns;
	int line; /* the next */
};

/* Text is cut at the edge; what a trace says is made harmless. */
static void put_at(const struct canvas *canvas, int line, int column, enum view_style style,
		   const char *text)
{
	char cut[LINE_MAX_];
	size_t len = strlen(text), room;

	if (line < 0 || line >= canvas->lines || column >= canvas->columns) {
		return;
	}
	room = (size_t)(canvas->columns - column);
	room = room < sizeof(cut) ? room : sizeof(cut) - 1;
	len = len < room ? len : room;
	for (size_t i = 0; i < len; i++) {
		cut[i] = units_letter(text[i]);
	}
	cut[len] = '\0';
	canvas->put(canvas->user, line, column, style, cut);
}

static void put_line(struct canvas *canvas, enum view_style style, const char *text)
{
	put_at(canvas, canvas->line++, 0, style, text);
}

static void draw_header(const struct view *view, struct canvas *canvas,
			const struct snapshot *snapshot)
{
	const struct report *report = &snapshot->report;
	uint64_t length = report->end - report->begin;
	char begin[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX], lag[UNITS_TEXT_MAX], text[LINE_MAX_];
	size_t count = view->traces.at[view->trace]->windows.count;
	size_t at = view->at < count ? view->at : count - 1;

	(void)snprintf(
		text, sizeof(text), "%s%s  %.12s + %s  %s events/s%s%s%s", snapshot->trace,
		view->traces.count > 1 ? " (t: next)" : "", units_clock(begin, report->begin),
		units_ns(lag, length),
		units_count(rate,
			    length ? (uint64_t)((double)report->events * 1e9 / (double)length) : 0),
		report->has_lag ? "  lag " : "",
		report->has_lag ? units_ns(lag, report->lag_ns > 0 ? (uint64_t)report->lag_ns : 0)
				: "",
		report->complete ? "" : "  ! incomplete");
	put_line(canvas, STYLE_BOLD, text);
	if (view->at != WINDOW_NEWEST) {
		(void)snprintf(text, sizeof(text), " window %zu of %zu, paused ", at + 1, count);
		put_at(canvas, 0, canvas->columns - (int)strlen(text), STYLE_CHOSEN, text);
	}
}

static void draw_bar(const struct canvas *canvas, int line, int column, int width, uint64_t cpu,
		     double share)
{
	char text[LINE_MAX_], bar[LINE_MAX_];
	int room = width - 8 - 9, filled;

	room = room < 1 ? 1 : room > (int)sizeof(bar) - 1 ? (int)sizeof(bar) - 1 : room;
	filled = (int)(share * room + 0.5);
	filled = filled > room ? room : filled;
	memset(bar, '|', (size_t)filled);
	bar[filled] = '\0';
	(void)snprintf(text, sizeof(text), "%4" PRIu64 " [%*s%6.1f%%]", cpu, room, "", share * 100);
	put_at(canvas, line, column, STYLE_PLAIN, text);
	put_at(canvas, line, column + 6, STYLE_BAR, bar);
}

static int by_id(const void *left, const void *right)
{
	const struct report_row *a = *(const struct report_row *const *)left;
	const struct report_row *b = *(const struct report_row *const *)right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* CPUs side by side, as many as there are lines for. */
static void draw_cpus(struct canvas *canvas, const struct snapshot *snapshot)
{
	const struct report_table *table = snapshot_table(snapshot, "cpu", SCOPE_CPU);
	uint64_t length = snapshot->report.end - snapshot->report.begin;
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
	lines = canvas->lines / 4 < BAR_LINES ? canvas->lines / 4 : BAR_LINES;
	across = ((int)table->row_count + lines - 1) / (lines < 1 ? 1 : lines);
	across = across < 2 ? 2 : across;
	across = across > canvas->columns / BAR_LEAST ? canvas->columns / BAR_LEAST : across;
	across = across < 1 ? 1 : across;
	width = canvas->columns / across;
	for (size_t i = 0; i < table->row_count && (int)i / across < lines; i++) {
		draw_bar(canvas, canvas->line + (int)i / across, (int)i % across * width, width,
			 rows[i]->id, length ? (double)rows[i]->values[0] / (double)length : 0);
	}
	lines = ((int)table->row_count + across - 1) / across < lines
			? ((int)table->row_count + across - 1) / across
			: lines;
	canvas->line += lines;
	free(rows);
}

static void tab_text(char text[CELL_MAX], const struct report_table *table)
{
	(void)snprintf(text, CELL_MAX, "%s %s", table->analysis->name, table->table->key);
}

/* The lists that there are; those around the chosen one if not all fit. */
static void draw_tabs(const struct view *view, struct canvas *canvas,
		      const struct snapshot *snapshot)
{
	size_t count, first = 0;
	int column = 0, used = 0;
	char text[CELL_MAX];

	for (size_t i = 0; i <= view->table; i++) {
		const struct report_table *table = list_of(snapshot, i, &count);

		if (!table) {
			break;
		}
		tab_text(text, table);
		used += (int)strlen(text) + 3;
		while (used > canvas->columns && first < i) {
			tab_text(text, list_of(snapshot, first++, &count));
			used -= (int)strlen(text) + 3;
		}
	}
	for (size_t i = first; column < canvas->columns; i++) {
		const struct report_table *table = list_of(snapshot, i, &count);

		if (!table) {
			break;
		}
		tab_text(text, table);
		put_at(canvas, canvas->line, column, i == view->table ? STYLE_CHOSEN : STYLE_DIM,
		       text);
		column += (int)strlen(text) + 3;
	}
	canvas->line++;
}

/* The figures of the trace as a whole, of the analysis that is shown. */
static void draw_figures(struct canvas *canvas, const struct snapshot *snapshot,
			 const struct analysis *analysis)
{
	const struct report_table *table = snapshot_table(snapshot, analysis->name, SCOPE_TRACE);
	char text[LINE_MAX_] = "", value[2 * CELL_MAX];

	for (unsigned int i = 0; table && i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];
		size_t len = strlen(text);

		if (!column->title || column->kind == COLUMN_SPREAD) {
			continue;
		}
		value_text(value, column->unit, table->rows[0].values[i]);
		(void)snprintf(text + len, sizeof(text) - len, "%s%s %s", len ? "  " : "",
			       column->title, value);
	}
	put_line(canvas, STYLE_PLAIN, text);
}

static size_t cells_that_fit(const struct canvas *canvas, size_t count)
{
	int room = (canvas->columns - NAME_WIDTH) / CELL_WIDTH;

	room = room < 0 ? 0 : room;
	return count < (size_t)room ? count : (size_t)room;
}

/* Which cells are on the screen: the one that rows are sorted by is among them. */
static size_t first_cell(const struct view *view, const struct listing *listing, size_t fit)
{
	return view->sort < listing->cell_count && view->sort >= fit ? view->sort - fit + 1 : 0;
}

static void draw_row(const struct canvas *canvas, int line, const struct listing *listing,
		     const struct report_row *row, size_t first, size_t fit, enum view_style style)
{
	char text[LINE_MAX_], value[CELL_MAX];
	int used;

	row_text(value, listing->table->table, row, NAME_WIDTH);
	used = snprintf(text, sizeof(text), "%-*.*s", NAME_WIDTH, NAME_WIDTH, value);
	for (size_t i = first; i < first + fit && used < (int)sizeof(text) - CELL_MAX; i++) {
		cell_text(value, &listing->cells[i], row);
		used += snprintf(text + used, sizeof(text) - (size_t)used, " %10s", value);
	}
	if (row->instance && row->thread && used < (int)sizeof(text) - CELL_MAX) {
		thread_text(value, row->thread, row->thread->tid);
		used += snprintf(text + used, sizeof(text) - (size_t)used, "  %s", value);
	}
	(void)snprintf(text + used, sizeof(text) - (size_t)used, "%*s",
		       canvas->columns > used ? canvas->columns - used : 0, "");
	put_at(canvas, line, 0, style, text);
}

/* @sort: the cell that rows are sorted by, if any of them. */
static void draw_head(struct canvas *canvas, const struct listing *listing, size_t first,
		      size_t fit, size_t sort, char mark)
{
	char text[LINE_MAX_];

	(void)snprintf(text, sizeof(text), "%-*.*s", NAME_WIDTH, NAME_WIDTH,
		       rows_title(listing->table->table));
	put_at(canvas, canvas->line, 0, STYLE_BOLD, text);
	for (size_t i = first; i < first + fit; i++) {
		(void)snprintf(text, sizeof(text), " %9s%c", cell_title(&listing->cells[i]),
			       i == sort ? mark : ' ');
		put_at(canvas, canvas->line, NAME_WIDTH + (int)(i - first) * CELL_WIDTH,
		       i == sort ? STYLE_CHOSEN : STYLE_BOLD, text);
	}
	canvas->line++;
}

static void draw_table(struct view *view, struct canvas *canvas, const struct report_table *table)
{
	struct listing listing;
	int room = canvas->lines - canvas->line - 2;
	size_t fit, first;

	list(view, table, &listing);
	fit = cells_that_fit(canvas, listing.cell_count);
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
	if (listing.rows.count == 0) {
		put_line(canvas, STYLE_DIM,
			 view->filter[0] ? "nothing matches" : "nothing in this window");
	}
	vec_fini(&listing.rows);
}

/* ---- one thread ---- */

/* Of descriptors: that they are its process'. */
static bool is_of(const struct view *view, const struct report_table *table,
		  const struct report_row *row)
{
	if (table->table->owner_key) {
		return view->detail_pid >= 0 && row->owner == view->detail_pid;
	}
	return row->thread && row->thread->tid == view->detail_tid;
}

static void draw_of_thread(const struct view *view, struct canvas *canvas,
			   const struct report_table *table)
{
	struct listing listing = { .table = table };
	bool is_first = true;
	char text[CELL_MAX];
	size_t fit;

	listing.cell_count = cells_of(table->table, listing.cells);
	fit = cells_that_fit(canvas, listing.cell_count);
	for (size_t i = 0; i < table->row_count && canvas->line < canvas->lines - 1; i++) {
		if (!is_of(view, table, &table->rows[i])) {
			continue;
		}
		if (is_first) {
			tab_text(text, table);
			put_line(canvas, STYLE_DIM, text);
			draw_head(canvas, &listing, 0, fit, SIZE_MAX, ' ');
			is_first = false;
		}
		draw_row(canvas, canvas->line++, &listing, &table->rows[i], 0, fit, STYLE_PLAIN);
	}
}

/* All that the window's tables have of the thread; single instances, which may be many, last. */
static void draw_detail(const struct view *view, struct canvas *canvas,
			const struct snapshot *snapshot)
{
	static const enum scope scopes[] = { SCOPE_THREAD, SCOPE_ITEM, SCOPE_LONGEST };

	put_line(canvas, STYLE_BOLD, view->detail_name);
	for (size_t s = 0; s < sizeof(scopes) / sizeof(scopes[0]); s++) {
		for (size_t t = 0; t < snapshot->report.table_count; t++) {
			const struct report_table *table = &snapshot->report.tables[t];

			if (table->table->scope == scopes[s] &&
			    (scopes[s] != SCOPE_ITEM || table->table->owner_key)) {
				draw_of_thread(view, canvas, table);
			}
		}
	}
}

static void draw_help(struct canvas *canvas)
{
	static const char *const lines[] = {
		"up, down, page     choose a row",
		"Enter              all about the thread of this row; again, or Esc: back",
		"Tab, Shift-Tab     the next list, the one before",
		"< >                sort by the column to the left, to the right",
		"r                  the other way round",
		"/                  show only names that contain a text (Esc: all)",
		"space              pause, go on",
		"left, right        a window back, a window on; Home, End: the oldest, the newest",
		"t                  the next trace",
		"q                  quit",
	};

	canvas->line++;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		put_line(canvas, STYLE_PLAIN, lines[i]);
	}
}

static void draw_foot(const struct view *view, struct canvas *canvas)
{
	char text[LINE_MAX_];
	int line = canvas->lines - 1;

	if (view->mode == MODE_FILTER) {
		(void)snprintf(text, sizeof(text), "show names with: %s_", view->filter);
		put_at(canvas, line, 0, STYLE_BOLD, text);
	} else if (view->message[0]) {
		put_at(canvas, line, 0, STYLE_WARNING, view->message);
	} else {
		(void)snprintf(text, sizeof(text),
			       "q quit  ? help  Tab list  < > sort  / filter%s%s  space pause  "
			       "Enter thread",
			       view->filter[0] ? ": " : "", view->filter);
		put_at(canvas, line, 0, STYLE_DIM, text);
	}
}

void view_draw(struct view *view, int lines, int columns, view_put *put, void *user)
{
	struct canvas canvas = { .put = put, .user = user, .lines = lines, .columns = columns };
	const struct snapshot *snapshot = shown(view);
	const struct report_table *table;
	size_t count;

	if (!snapshot) {
		put_line(&canvas, STYLE_PLAIN, view->waiting);
		draw_foot(view, &canvas);
		return;
	}
	draw_header(view, &canvas, snapshot);
	draw_cpus(&canvas, snapshot);
	table = list_of(snapshot, view->table, &count);
	if (!table && count > 0) {
		view->table = 0;
		table = list_of(snapshot, 0, &count);
	}
	if (view->mode == MODE_HELP) {
		draw_help(&canvas);
	} else if (view->mode == MODE_DETAIL) {
		draw_detail(view, &canvas, snapshot);
	} else if (table) {
		draw_tabs(view, &canvas, snapshot);
		draw_figures(&canvas, snapshot, table->analysis);
		draw_table(view, &canvas, table);
	}
	draw_foot(view, &canvas);
}

/* ---- keys ---- */

static void step(struct view *view, int by)
{
	const struct history *history =
		view->traces.count > 0 ? view->traces.at[view->trace] : NULL;
	size_t last = history && history->windows.count > 0 ? history->windows.count - 1 : 0;
	size_t at = view->at == WINDOW_NEWEST ? last : view->at;

	if (by < 0) {
		view->at = at > 0 ? at - 1 : 0;
	} else {
		view->at = at < last ? at + 1 : WINDOW_NEWEST;
	}
}

static void pause(struct view *view)
{
	const struct history *history =
		view->traces.count > 0 ? view->traces.at[view->trace] : NULL;

	if (view->at != WINDOW_NEWEST) {
		view->at = WINDOW_NEWEST;
	} else if (history && history->windows.count > 0) {
		view->at = history->windows.count - 1;
	}
}

static void next_table(struct view *view, int by)
{
	const struct snapshot *snapshot = shown(view);
	size_t count = 0;

	if (snapshot) {
		(void)list_of(snapshot, 0, &count);
	}
	if (count > 0) {
		view->table =
			by > 0 ? (view->table + 1) % count : (view->table + count - 1) % count;
		view->sort = SIZE_MAX;
		view->is_reversed = false;
		view->chosen = 0;
		view->top = 0;
	}
}

static void next_sort(struct view *view, int by)
{
	const struct snapshot *snapshot = shown(view);
	struct cell cells[CELLS_MAX];
	size_t count;
	const struct report_table *table = snapshot ? list_of(snapshot, view->table, &count) : NULL;

	if (!table) {
		return;
	}
	count = cells_of(table->table, cells);
	if (view->sort == SIZE_MAX) {
		view->sort = by > 0 ? 0 : count - 1;
	} else if (by > 0) {
		view->sort = (view->sort + 1) % count;
	} else {
		view->sort = (view->sort + count - 1) % count;
	}
	view->chosen = 0;
}

/* The thread of the chosen row. */
static void open_detail(struct view *view)
{
	const struct snapshot *snapshot = shown(view);
	size_t count;
	const struct report_table *table = snapshot ? list_of(snapshot, view->table, &count) : NULL;
	struct listing listing;
	const struct report_row *row;

	if (!table) {
		return;
	}
	list(view, table, &listing);
	row = view->chosen < listing.rows.count ? listing.rows.at[view->chosen] : NULL;
	if (row && row->thread && row->thread->tid >= 0) {
		view->detail_tid = row->thread->tid;
		view->detail_pid = row->thread->pid;
		thread_text(view->detail_name, row->thread, row->thread->tid);
		view->mode = MODE_DETAIL;
	} else {
		view_say(view, "this row is no thread");
	}
	vec_fini(&listing.rows);
}

static void filter_key(struct view *view, int key)
{
	size_t len = strlen(view->filter);

	if (key == KEY_ENTER_) {
		view->mode = MODE_TABLE;
	} else if (key == KEY_ESCAPE_) {
		view->filter[0] = '\0';
		view->mode = MODE_TABLE;
	} else if (key == KEY_BACKSPACE_ && len > 0) {
		view->filter[len - 1] = '\0';
	} else if (key >= 0x20 && key < 0x7F && len + 1 < sizeof(view->filter)) {
		view->filter[len] = (char)key;
		view->filter[len + 1] = '\0';
	}
	view->chosen = 0;
}

static void move_rows(struct view *view, int key)
{
	size_t page = view->shown_rows > 1 ? view->shown_rows - 1 : 1;

	switch (key) {
	case KEY_UP_:
		view->chosen -= view->chosen > 0;
		break;
	case KEY_DOWN_:
		view->chosen++;
		break;
	case KEY_PAGE_UP_:
		view->chosen -= view->chosen > page ? page : view->chosen;
		break;
	case KEY_PAGE_DOWN_:
		view->chosen += page;
		break;
	default:
		break;
	}
}

/* Keys that choose what is shown; others move about in it. */
static void table_key(struct view *view, int key)
{
	switch (key) {
	case KEY_TAB_:
	case KEY_BACK_TAB_:
		next_table(view, key == KEY_TAB_ ? 1 : -1);
		break;
	case '>':
	case '.':
	case '<':
	case ',':
		next_sort(view, key == '>' || key == '.' ? 1 : -1);
		break;
	case 'r':
		view->is_reversed = !view->is_reversed;
		break;
	case '/':
		view->mode = MODE_FILTER;
		break;
	case KEY_ESCAPE_:
		view->filter[0] = '\0';
		break;
	case KEY_ENTER_:
		open_detail(view);
		break;
	default:
		move_rows(view, key);
		break;
	}
}

/* Keys that mean the same whatever is shown; false: it is none. */
static bool window_key(struct view *view, int key)
{
	switch (key) {
	case ' ':
		pause(view);
		return true;
	case KEY_LEFT_:
	case KEY_RIGHT_:
		step(view, key == KEY_LEFT_ ? -1 : 1);
		return true;
	case KEY_HOME_:
		view->at = 0;
		return true;
	case KEY_END_:
		view->at = WINDOW_NEWEST;
		return true;
	case 't':
		if (view->traces.count > 0) {
			view->trace = (view->trace + 1) % view->traces.count;
			view->at = WINDOW_NEWEST;
		}
		return true;
	default:
		return false;
	}
}

bool view_key(struct view *view, int key)
{
	view->message[0] = '\0';
	if (view->mode == MODE_FILTER) {
		filter_key(view, key);
		return true;
	}
	if (key == 'q') {
		return false;
	}
	if (key == '?') {
		view->mode = view->mode == MODE_HELP ? MODE_TABLE : MODE_HELP;
	} else if (window_key(view, key)) {
		return true;
	} else if (view->mode != MODE_TABLE) {
		view->mode = key == KEY_ESCAPE_ || key == KEY_ENTER_ ? MODE_TABLE : view->mode;
	} else {
		table_key(view, key);
	}
	return true;
}
