/*
 * screen: shows a view on the terminal, with ncurses.
 *
 * There is one terminal, so these functions have no object.
 */
#pragma once

#include "base/err.h"
#include "output/screen/view.h"

/* Takes the terminal.  -ENOTTY: there is none.  It is restored by screen_close(), at exit, and by
 * signals that end the process. */
int screen_open(struct err *err);
void screen_close(void);

/* Draws the view in the terminal's current size; nothing if the terminal is not taken. */
void screen_draw(struct view *view);

/* Passes the keys that were pressed to the view.  False: the user quits, or the terminal is gone.
 */
bool screen_keys(struct view *view);
