/*
 * view-keys: what keys do to a view; view-draw.c has their help.
 */
#include <stdlib.h>
#include <string.h>

#include "output/screen/view-state.h"

static void step(struct view *view, int by)
{
	const struct view_trace *trace = view_current(view);
	size_t last = trace && trace->windows.count > 0 ? trace->windows.count - 1 : 0;
	size_t at = view->at == WINDOW_NEWEST ? last : view->at;

	if (by < 0) {
		view->at = at > 0 ? at - 1 : 0;
	} else {
		view->at = at < last ? at + 1 : WINDOW_NEWEST;
	}
}

static void pause(struct view *view)
{
	const struct view_trace *trace = view_current(view);

	if (view->at != WINDOW_NEWEST) {
		view->at = WINDOW_NEWEST;
	} else if (trace && trace->windows.count > 0) {
		view->at = trace->windows.count - 1;
	}
}

void view_show_table(struct view *view, size_t table)
{
	view->table = table;
	view->sort = SIZE_MAX;
	view->is_reversed = false;
	view->first = 0;
	view->chosen = 0;
	view->top = 0;
}

static void next_table(struct view *view, int by)
{
	const struct snapshot *snapshot = view_shown(view);
	size_t count = 0;

	if (snapshot) {
		(void)view_table(snapshot, 0, &count);
	}
	if (count > 0) {
		view_show_table(view, by > 0 ? (view->table + 1) % count
					     : (view->table + count - 1) % count);
	}
}

/* The lists of the analysis with that number on the screen; 0 is the tenth. */
static void show_group(struct view *view, int key)
{
	const struct snapshot *snapshot = view_shown(view);
	size_t table =
		snapshot ? view_group(snapshot, key == '0' ? 9 : (size_t)(key - '1')) : SIZE_MAX;

	if (table != SIZE_MAX) {
		view_show_table(view, table);
	}
}

static void scroll(struct view *view, int key)
{
	if (key == ']') {
		view->first++; /* drawing limits it */
	} else {
		view->first -= view->first > 0;
	}
}

static void next_sort(struct view *view, int by)
{
	const struct snapshot *snapshot = view_shown(view);
	struct cell cells[CELLS_MAX];
	size_t count;
	const struct report_table *table =
		snapshot ? view_table(snapshot, view->table, &count) : NULL;

	if (!table) {
		return;
	}
	count = format_parts(table, cells);
	if (view->sort == SIZE_MAX) {
		view->sort = by > 0 ? 0 : count - 1;
	} else if (by > 0) {
		view->sort = (view->sort + 1) % count;
	} else {
		view->sort = (view->sort + count - 1) % count;
	}
	view->chosen = 0;
	view->first = 0;
}

void view_open_detail(struct view *view)
{
	const struct snapshot *snapshot = view_shown(view);
	size_t count;
	const struct report_table *table =
		snapshot ? view_table(snapshot, view->table, &count) : NULL;
	struct view_listing listing;
	const struct report_row *row;

	if (!table) {
		return;
	}
	view_list(view, snapshot, table, &listing);
	row = view->chosen < listing.rows.count ? listing.rows.at[view->chosen] : NULL;
	if (row && view_is_process(&listing, row) && row->thread->pid >= 0) {
		view->detail_tid = row->thread->pid; /* its first thread */
		view->detail_pid = row->thread->pid;
		format_row(view->detail_name, listing.processes->table, row, FORMAT_WHOLE_NAME);
		view->mode = MODE_DETAIL;
	} else if (row && row->thread && row->thread->tid >= 0) {
		view->detail_tid = row->thread->tid;
		view->detail_pid = row->thread->pid;
		format_thread(view->detail_name, row->thread, row->thread->tid);
		view->mode = MODE_DETAIL;
	} else {
		view_say(view, "this row is no thread");
	}
	vec_fini(&listing.rows);
}

static void show_tree(struct view *view)
{
	view->is_tree = !view->is_tree;
	view->chosen = 0;
	view->top = 0;
}

/* Asks for jobs, each time that it is pressed. */
static void open_jobs(struct view *view)
{
	free(view->jobs);
	view->jobs = NULL;
	view->jobs_top = 0;
	view->asks_jobs = true;
	view->mode = MODE_JOBS;
}

/* The last screen may be short of lines: view-draw.c sees to it that some are left. */
static void move_jobs(struct view *view, int key)
{
	size_t page = view->shown_rows > 1 ? view->shown_rows - 1 : 1;
	size_t by = key == VIEW_KEY_PAGE_UP || key == VIEW_KEY_PAGE_DOWN ? page : 1;

	if (key == VIEW_KEY_UP || key == VIEW_KEY_PAGE_UP) {
		view->jobs_top -= view->jobs_top > by ? by : view->jobs_top;
	} else if (key == VIEW_KEY_DOWN || key == VIEW_KEY_PAGE_DOWN) {
		view->jobs_top += by;
	}
}

static void text_key(char *text, size_t size, int key)
{
	size_t len = strlen(text);

	if (key == VIEW_KEY_BACKSPACE && len > 0) {
		text[len - 1] = '\0';
	} else if (key >= 0x20 && key < 0x7F && len + 1 < size) {
		text[len] = (char)key;
		text[len + 1] = '\0';
	}
}

static void filter_key(struct view *view, int key)
{
	if (key == VIEW_KEY_ENTER) {
		view->mode = MODE_TABLE;
	} else if (key == VIEW_KEY_ESCAPE) {
		view->filter[0] = '\0';
		view->mode = MODE_TABLE;
	} else {
		text_key(view->filter, sizeof(view->filter), key);
	}
	view->chosen = 0;
}

/* The next trace of such a name after the shown one, around the end. */
static void show_named_trace(struct view *view)
{
	size_t count = view->traces.count;

	for (size_t i = 1; i <= count; i++) {
		size_t at = (view->trace + i) % count;

		if (view_trace_matches(view->traces.at[at]->host, view->traces.at[at]->session,
				       view->wanted)) {
			view_change_trace(view, at);
			return;
		}
	}
	view_say(view, "no host or session has this in its name");
}

/* What is typed for a mode; an empty name repeats the last one. */
static void typed_key(struct view *view, int key)
{
	bool is_time = view->mode == MODE_TIME;

	if (key != VIEW_KEY_ENTER && key != VIEW_KEY_ESCAPE) {
		text_key(view->typed, sizeof(view->typed), key);
		return;
	}
	view->mode = MODE_TABLE;
	if (key == VIEW_KEY_ESCAPE) {
		return;
	}
	if (!is_time && view->typed[0]) {
		memcpy(view->wanted, view->typed, sizeof(view->wanted));
	}
	if (is_time && view->typed[0]) {
		view_ask(view, VIEW_TO_TIME);
	} else if (!is_time && view->wanted[0] && view->browses) {
		view_ask(view, VIEW_TO_TRACE);
	} else if (!is_time && view->wanted[0]) {
		show_named_trace(view);
	}
}

static void move_rows(struct view *view, int key)
{
	size_t page = view->shown_rows > 1 ? view->shown_rows - 1 : 1;

	switch (key) {
	case VIEW_KEY_UP:
		view->chosen -= view->chosen > 0;
		break;
	case VIEW_KEY_DOWN:
		view->chosen++;
		break;
	case VIEW_KEY_PAGE_UP:
		view->chosen -= view->chosen > page ? page : view->chosen;
		break;
	case VIEW_KEY_PAGE_DOWN:
		view->chosen += page;
		break;
	default:
		break;
	}
}

/* Keys of the list: what is shown, and how; others move between rows. */
static void table_key(struct view *view, int key)
{
	switch (key) {
	case VIEW_KEY_TAB:
	case VIEW_KEY_BACK_TAB:
		next_table(view, key == VIEW_KEY_TAB ? 1 : -1);
		break;
	case '>':
	case '.':
	case '<':
	case ',':
		next_sort(view, key == '>' || key == '.' ? 1 : -1);
		break;
	case '[':
	case ']':
		scroll(view, key);
		break;
	case 'r':
	case 'I':
		view->is_reversed = !view->is_reversed;
		break;
	case 'p':
		show_tree(view);
		break;
	case 'm':
		view->frees_mouse = !view->frees_mouse;
		view_say(view, view->frees_mouse ? "the mouse selects text; m: rows again"
						 : "the mouse chooses rows; m: it selects text");
		break;
	case '%':
		view->has_durations = !view->has_durations;
		break;
	case '/':
		view->mode = MODE_FILTER;
		break;
	case VIEW_KEY_ESCAPE:
		view->filter[0] = '\0';
		break;
	case VIEW_KEY_ENTER:
		view_open_detail(view);
		break;
	default:
		if (key >= '0' && key <= '9') {
			show_group(view, key);
		} else {
			move_rows(view, key);
		}
		break;
	}
}

/* The same keys where the owner has the windows, and more.  False: it is none of them. */
static bool move_key(struct view *view, int key)
{
	static const struct {
		int key;
		enum view_move move;
	} moves[] = {
		{ ' ', VIEW_PAUSES },        { VIEW_KEY_LEFT, VIEW_BACK },
		{ VIEW_KEY_RIGHT, VIEW_ON }, { '{', VIEW_FAR_BACK },
		{ '}', VIEW_FAR_ON },        { VIEW_KEY_HOME, VIEW_FIRST },
		{ VIEW_KEY_END, VIEW_LAST }, { 't', VIEW_NEXT_TRACE },
		{ 'T', VIEW_LAST_TRACE },
	};

	for (size_t i = 0; i < ARRAY_COUNT(moves); i++) {
		if (moves[i].key == key) {
			view_ask(view, moves[i].move);
			return true;
		}
	}
	if (key == 'g') {
		view->typed[0] = '\0';
		view->mode = MODE_TIME;
	}
	return key == 'g';
}

/* Keys that mean the same in every mode.  False: it is none of them. */
static bool window_key(struct view *view, int key)
{
	if (view->browses) {
		return move_key(view, key);
	}
	switch (key) {
	case ' ':
		pause(view);
		return true;
	case VIEW_KEY_LEFT:
	case VIEW_KEY_RIGHT:
		step(view, key == VIEW_KEY_LEFT ? -1 : 1);
		return true;
	case VIEW_KEY_HOME:
		view->at = 0;
		return true;
	case VIEW_KEY_END:
		view->at = WINDOW_NEWEST;
		return true;
	case 't':
	case 'T':
		if (view->traces.count > 0) {
			view_change_trace(
				view, (view->trace + (key == 't' ? 1 : view->traces.count - 1)) %
					      view->traces.count);
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
	if (view->mode == MODE_TIME || view->mode == MODE_FIND) {
		typed_key(view, key);
		return true;
	}
	if (key == 'q') {
		return false;
	}
	if (key == '?') {
		view->mode = view->mode == MODE_HELP ? MODE_TABLE : MODE_HELP;
	} else if (key == 'h') {
		view->typed[0] = '\0';
		view->mode = MODE_FIND;
	} else if (key == 'j') {
		open_jobs(view);
	} else if (window_key(view, key)) {
		return true;
	} else if (view->mode != MODE_TABLE) {
		if (view->mode == MODE_JOBS) {
			move_jobs(view, key);
		}
		view->mode =
			key == VIEW_KEY_ESCAPE || key == VIEW_KEY_ENTER ? MODE_TABLE : view->mode;
	} else {
		table_key(view, key);
	}
	return true;
}
