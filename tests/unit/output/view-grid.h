/*
 * view-grid: a view drawn to a grid of letters, for its tests.
 */
#pragma once

#include <string.h>

#include "output/screen/view.h"
#include "suites.h"

#define LINES_MAX 60
#define WIDTH_MAX 200

struct grid {
	int lines, columns;
	char text[LINES_MAX][WIDTH_MAX + 1];
	enum view_style styles[LINES_MAX][WIDTH_MAX];
};

static inline void put(void *user, int line, int column, enum view_style style, const char *text)
{
	struct grid *grid = user;
	int len = (int)strlen(text);

	ck_assert(line >= 0 && line < grid->lines);
	ck_assert(column >= 0 && column + len <= grid->columns);
	for (int i = 0; i < len; i++) {
		ck_assert(text[i] >= 0x20 && text[i] < 0x7F);
		grid->text[line][column + i] = text[i];
		grid->styles[line][column + i] = style;
	}
}

static inline const struct grid *draw(struct view *view, int lines, int columns)
{
	static struct grid grid;

	memset(&grid, 0, sizeof(grid));
	grid.lines = lines;
	grid.columns = columns;
	for (int i = 0; i < lines; i++) {
		memset(grid.text[i], ' ', (size_t)columns);
	}
	view_draw(view, lines, columns, put, &grid);
	return &grid;
}

/* The line that has @text, -1: none. */
static inline int line_of(const struct grid *grid, const char *text)
{
	for (int i = 0; i < grid->lines; i++) {
		if (strstr(grid->text[i], text)) {
			return i;
		}
	}
	return -1;
}
