/*
 * screen: a view on the terminal, by ncurses.
 */
#ifndef SILLAGE_OUTPUT_SCREEN_SCREEN_H
#define SILLAGE_OUTPUT_SCREEN_SCREEN_H

#include "base/err.h"
#include "output/screen/view.h"

/* Takes the terminal; -ENOTTY if there is none.  It is given back on screen_close(), and whatever
 * way the process ends by itself. */
int screen_open(struct err *err);
void screen_close(void);

/* Draws the view, in the size that the terminal has now. */
void screen_draw(struct view *view);

/* Gives the keys that were pressed to the view; false: the user wants to leave. */
bool screen_keys(struct view *view);

#endif
