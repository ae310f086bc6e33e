/*
 * canvas: see canvas.h.
 */
#include "output/screen/canvas.h"

#include <stdio.h>

#include "base/text/utf8.h"
#include "output/screen/view-state.h"
#include "text/plain.h"

void canvas_put_at(const struct canvas *canvas, int line, int column, enum view_style style,
		   const char *text)
{
	char cut[VIEW_LINE_MAX];

	column = column < 0 ? 0 : column;
	if (line < 0 || line >= canvas->lines || column >= canvas->columns) {
		return;
	}
	(void)snprintf(cut, sizeof(cut), "%.*s",
		       (int)utf8_fit(text, canvas->columns - column, sizeof(cut) - 1), text);
	plain_message(cut);
	canvas->put(canvas->user, line, column, style, cut);
}

void canvas_put_line(struct canvas *canvas, enum view_style style, const char *text)
{
	canvas_put_at(canvas, canvas->line++, 0, style, text);
}
