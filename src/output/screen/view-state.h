/*
 * view-state: what the parts of a view share.
 *
 *   view.c       windows, and which rows of one there are
 *   view-draw.c  what of it is on the screen
 *   view-keys.c  what keys do
 */
#ifndef SILLAGE_OUTPUT_SCREEN_VIEW_STATE_H
#define SILLAGE_OUTPUT_SCREEN_VIEW_STATE_H

#include "base/mem.h"
#include "output/format.h"
#include "output/screen/view.h"

#define VIEW_LINE_MAX   512
#define VIEW_FILTER_MAX 32
#define WINDOW_NEWEST   SIZE_MAX

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
	char filter[VIEW_FILTER_MAX];
	int32_t detail_tid;
	int64_t detail_pid; /* -1: not known */
	char detail_name[CELL_MAX];
	char message[VIEW_LINE_MAX], waiting[VIEW_LINE_MAX];
};

/* What the rows on the screen are: those that match, in the order that was asked for. */
struct listing {
	const struct report_table *table;
	struct cell cells[CELLS_MAX];
	size_t cell_count;
	VEC(const struct report_row *) rows; /* the caller's to free */
};

/* The trace that is shown, or NULL if none has come. */
const struct history *view_history(const struct view *view);
/* Its window that is shown, or NULL. */
const struct snapshot *view_shown(const struct view *view);
/* The list number @index of a window, or NULL; *ret_count of them there are. */
const struct report_table *view_table(const struct snapshot *snapshot, size_t index,
				      size_t *ret_count);
void view_list(const struct view *view, const struct report_table *table, struct listing *listing);

#endif
