/*
 * view-mouse: what is where on the screen, and what the mouse does there.
 */
#include "output/screen/view-state.h"

#define WHEEL_ROWS 3

void view_spot(struct view *view, int line, int from, int to, enum spot kind, size_t index)
{
	if (view->spot_count < VIEW_SPOTS_MAX) { /* what is beyond cannot be clicked */
		view->spots[view->spot_count++] = (struct view_spot){ line, from, to, kind, index };
	}
}

/* A second time: the other way round. */
static void sort_by(struct view *view, size_t cell)
{
	view->is_reversed = view->sort == cell && !view->is_reversed;
	view->sort = cell;
	view->chosen = 0;
}

void view_click(struct view *view, int line, int column, bool is_double)
{
	view->message[0] = '\0';
	for (size_t i = 0; view->mode == MODE_TABLE && i < view->spot_count; i++) {
		const struct view_spot *spot = &view->spots[i];

		if (spot->line != line || column < spot->from || column >= spot->to) {
			continue;
		}
		if (spot->kind == SPOT_TABLE) {
			view_show_table(view, spot->index);
		} else if (spot->kind == SPOT_SORT) {
			sort_by(view, spot->index);
		} else {
			view->chosen = spot->index;
			if (is_double) {
				view_open_detail(view);
			}
		}
		return;
	}
	if (is_double && view->mode == MODE_DETAIL) {
		view->mode = MODE_TABLE;
	}
}

bool view_frees_mouse(const struct view *view)
{
	return view->frees_mouse;
}

void view_wheel(struct view *view, bool is_up)
{
	for (int i = 0; i < WHEEL_ROWS; i++) {
		(void)view_key(view, is_up ? VIEW_KEY_UP : VIEW_KEY_DOWN);
	}
}
