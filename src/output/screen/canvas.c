/*
 * canvas: see canvas.h.
 */
#include "output/screen/canvas.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"
#include "output/screen/view-state.h"

void canvas_put_at(const struct canvas *canvas, int line, int column, enum view_style style,
		   const char *text)
{
	char cut[VIEW_LINE_MAX];
	size_t len = strlen(text), room;

	column = column < 0 ? 0 : column;
	if (line < 0 || line >= canvas->lines || column >= canvas->columns) {
		return;
	}
	room = (size_t)(canvas->columns - column);
	room = room < sizeof(cut) ? room : sizeof(cut) - 1;
	len = len < room ? len : room;
	for (size_t i = 0; i < len; i++) {
		cut[i] = units_letter(text[i]);
	}
	assert(len < sizeof(cut));
	cut[len] = '\0';
	canvas->put(canvas->user, line, column, style, cut);
}

void canvas_put_line(struct canvas *canvas, enum view_style style, const char *text)
{
	canvas_put_at(canvas, canvas->line++, 0, style, text);
}
