/*
 * tabs: see tabs.h.
 */
#include "output/screen/tabs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "output/screen/view-state.h"

#define TABS_MAX 64
#define TAB_MARK 2 /* columns of a mark and a blank */

struct tabs {
	char texts[TABS_MAX][CELL_MAX];
	size_t tables[TABS_MAX]; /* that each one shows */
	size_t count, chosen;
};

static int tab_width(const struct tabs *tabs, size_t i)
{
	return (int)strlen(tabs->texts[i]) + 2;
}

/*
 * Side by side; if they do not all fit, those before and at the chosen one, with a mark at each end
 * where some are left out.
 */
static void draw_tabs(struct view *view, struct canvas *canvas, const struct tabs *tabs)
{
	size_t first = 0, i;
	int column = 0, used = 0, all = 0, room = canvas->columns;

	assert(tabs->count <= TABS_MAX);
	assert(tabs->count == 0 || tabs->chosen < tabs->count);
	for (i = 0; i < tabs->count; i++) {
		all += tab_width(tabs, i);
	}
	room -= all - 2 > room ? 2 * TAB_MARK : 0;
	for (i = 0; i < tabs->count && i <= tabs->chosen; i++) {
		used += tab_width(tabs, i);
		while (used - 2 > room && first < i) {
			used -= tab_width(tabs, first++);
		}
	}
	if (first > 0) {
		canvas_put_at(canvas, canvas->line, 0, STYLE_PLAIN, "<");
		column = TAB_MARK;
		room += TAB_MARK;
	}
	for (i = first; i < tabs->count; i++) {
		if (column + tab_width(tabs, i) - 2 > room && i > tabs->chosen) {
			break;
		}
		canvas_put_at(canvas, canvas->line, column,
			      i == tabs->chosen ? STYLE_CHOSEN : STYLE_DIM, tabs->texts[i]);
		view_spot(view, canvas->line, column, column + tab_width(tabs, i) - 1, SPOT_TABLE,
			  tabs->tables[i]);
		column += tab_width(tabs, i);
	}
	if (i < tabs->count) {
		canvas_put_at(canvas, canvas->line, canvas->columns - 1, STYLE_PLAIN, ">");
	}
	canvas->line++;
}

void tabs_draw_groups(struct view *view, struct canvas *canvas, const struct snapshot *snapshot,
		      const struct analysis *chosen)
{
	struct tabs tabs = { .count = 0 };
	size_t at, count;

	while (tabs.count < TABS_MAX && (at = view_group(snapshot, tabs.count)) != SIZE_MAX) {
		const struct analysis *analysis = view_table(snapshot, at, &count)->analysis;
		size_t i = tabs.count++;

		tabs.chosen = analysis == chosen ? i : tabs.chosen;
		tabs.tables[i] = at;
		if (i < 10) {
			(void)snprintf(tabs.texts[i], CELL_MAX, "%zu %s", (i + 1) % 10,
				       analysis->name);
		} else {
			(void)snprintf(tabs.texts[i], CELL_MAX, "%s", analysis->name);
		}
	}
	draw_tabs(view, canvas, &tabs);
}

void tabs_draw_lists(struct view *view, struct canvas *canvas, const struct snapshot *snapshot,
		     const struct analysis *chosen)
{
	struct tabs tabs = { .count = 0 };
	const struct report_table *table;
	size_t count;

	for (size_t i = 0; (table = view_table(snapshot, i, &count)) && tabs.count < TABS_MAX;
	     i++) {
		if (table->analysis != chosen) {
			continue;
		}
		tabs.chosen = i == view->table ? tabs.count : tabs.chosen;
		tabs.tables[tabs.count] = i;
		(void)snprintf(tabs.texts[tabs.count++], CELL_MAX, "%s", table->table->key);
	}
	draw_tabs(view, canvas, &tabs);
}
