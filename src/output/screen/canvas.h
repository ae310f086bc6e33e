/*
 * canvas: the surface that a view is drawn on.
 *
 * Nothing is drawn beyond it, however small it is.
 */
#pragma once

#include "output/screen/view.h"

struct canvas {
	view_put *put;
	void *user;
	int lines, columns;
	int line; /* the next */
};

/* Cuts the text at the edges, and replaces what is not printable: names are untrusted. */
void canvas_put_at(const struct canvas *canvas, int line, int column, enum view_style style,
		   const char *text);

/* The next line, from its begin. */
void canvas_put_line(struct canvas *canvas, enum view_style style, const char *text);
