/*
 * view-state: what the parts of a view share.
 *
 *   view.c       windows
 *   view-rows.c  the rows of one: filtered, sorted, below their processes
 *   view-head.c  drawing what is above the lists, on a canvas.h
 *   view-draw.c  drawing the lists, with tabs.h, and all else
 *   view-keys.c  keys
 *   view-mouse.c what is where on the screen, and what the mouse does there
 */
#pragma once

#include "base/mem.h"
#include "output/format.h"
#include "output/screen/view.h"

#define VIEW_LINE_MAX   1024
#define VIEW_FILTER_MAX 32
#define VIEW_TYPED_MAX  64
#define VIEW_MOVES_MAX  32
#define VIEW_SPOTS_MAX  512
#define WINDOW_NEWEST   SIZE_MAX

/* One trace; its windows, oldest first. */
struct view_trace {
	char *key;
	char *host, *session;
	VEC(struct snapshot *) windows;
};

/* What may be clicked: columns of a line that show something. */
struct view_spot {
	int line, from, to; /* behind the last column */
	enum spot { SPOT_TABLE, SPOT_SORT, SPOT_ROW } kind;
	size_t index; /* of the list, the cell, the row */
};

enum mode { MODE_TABLE, MODE_FILTER, MODE_TIME, MODE_FIND, MODE_DETAIL, MODE_HELP, MODE_JOBS };

struct canvas;

struct view {
	VEC(struct view_trace *) traces;
	size_t bytes; /* of all windows */
	size_t trace; /* the shown one, an index of traces */
	size_t at;    /* its shown window; WINDOW_NEWEST: always the newest */
	size_t table; /* the shown list, as view_table() counts them */
	size_t sort;  /* the cell that rows are sorted by; SIZE_MAX: as reported */
	bool is_reversed;
	bool is_tree;       /* threads stand below their processes */
	bool has_durations; /* shares of the window's time are shown as times */
	size_t first;       /* the first cell on the screen, if there are more than have room */
	size_t chosen, top; /* the marked row, and the first on the screen */
	size_t shown_rows;  /* rows that the last screen had room for */
	enum mode mode;
	char filter[VIEW_FILTER_MAX];
	int32_t detail_tid;
	int64_t detail_pid; /* -1: unknown */
	char detail_name[CELL_MAX];
	bool asks_jobs;
	char *jobs;                             /* the answer; NULL: there is none yet */
	size_t jobs_top;                        /* its first line on the screen */
	struct view_spot spots[VIEW_SPOTS_MAX]; /* of the last screen */
	size_t spot_count;
	bool frees_mouse;
	char typed[VIEW_TYPED_MAX];  /* a time, or a part of a host's or session's name */
	char wanted[VIEW_TYPED_MAX]; /* what was last looked for in such names */
	char message[VIEW_LINE_MAX], waiting[VIEW_LINE_MAX];
	/* Of windows that the owner has. */
	bool browses;
	size_t browsed, browsed_at; /* traces to choose from; the shown one of them */
	char status[80];
	enum view_move moves[VIEW_MOVES_MAX]; /* that the owner has not taken */
	size_t move_count;
};

/* The rows of a list that match the filter, in the chosen order. */
struct view_listing {
	const struct report_table *table;
	struct cell cells[CELLS_MAX];
	size_t cell_count;
	VEC(const struct report_row *) rows;
	int names; /* width of their column; set where they are drawn */
	/* Of a tree, whose rows stand in front of those of their threads; NULL: it is none. */
	const struct report_table *processes;
	struct cell
		process_cells[CELLS_MAX]; /* the same figures of those; no column: there is none */
};

/* The owner is asked for a move; of more than some, the newest are forgotten. */
void view_ask(struct view *view, enum view_move move);
/* The shown trace; NULL: none was reported. */
const struct view_trace *view_current(const struct view *view);
/* The shown window; NULL: none was reported. */
/* Shows the newest window of the trace; another list, if the shown one is unknown there. */
void view_change_trace(struct view *view, size_t at);
const struct snapshot *view_shown(const struct view *view);
/* The list number @index of a window, or NULL.  *ret_count: how many lists it has. */
const struct report_table *view_table(const struct snapshot *snapshot, size_t index,
				      size_t *ret_count);
/* The first list of the analysis number @group of a window, counting only analyses that have lists;
 * SIZE_MAX: it has fewer. */
size_t view_group(const struct snapshot *snapshot, size_t group);
/* Fills @listing; the caller frees its rows. */
void view_list(const struct view *view, const struct snapshot *snapshot,
	       const struct report_table *table, struct view_listing *listing);
/* Whether the row is of listing->processes. */
bool view_is_process(const struct view_listing *listing, const struct report_row *row);
/* Whether rows are in this order by this cell, as the report has them. */
bool view_orders(const struct view_listing *listing, size_t cell);

/* The figure of a row that has this key; 0: the table has none. */
uint64_t view_figure(const struct table *table, const struct report_row *row, const char *key);
/* The lines above the lists. */
void view_draw_head(const struct view *view, struct canvas *canvas,
		    const struct snapshot *snapshot);
/* Something may be clicked there. */
void view_spot(struct view *view, int line, int from, int to, enum spot kind, size_t index);
/* Another list is shown, as it was reported. */
void view_show_table(struct view *view, size_t table);
/* Shows all about the thread of the chosen row. */
void view_open_detail(struct view *view);
