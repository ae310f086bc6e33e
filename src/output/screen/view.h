/*
 * view: what the full screen shows, and what keys do; no terminal.
 *
 *   host/session/kernel  14:03:07.000  31,204 events/s
 *   CPU 0 [||||||||||||        54.2 %]   CPU 1 [||                   8.0 %]
 *   [cpu threads] cpu processes | io threads | sched threads ...
 *   THREAD (TID)               RUN v    SWITCHES ...
 *   redis-server (4042)       803 ms       1,031
 *   q quit  space pause  arrows ...
 *
 * The view keeps the windows of all traces that were reported, as many as memory for them
 * allows.  While it is paused, or steps back, new windows are kept but not shown.  It draws cells
 * of text through a function, so that any surface will do (screen.c, the unit tests).
 */
#ifndef SILLAGE_OUTPUT_SCREEN_VIEW_H
#define SILLAGE_OUTPUT_SCREEN_VIEW_H

#include "output/snapshot.h"

enum view_style { STYLE_PLAIN, STYLE_BOLD, STYLE_BAR, STYLE_CHOSEN, STYLE_WARNING, STYLE_DIM };

/* Where it draws: puts @text, which is plain ASCII, at a place; it does not reach beyond the
 * surface. */
typedef void view_put(void *user, int line, int column, enum view_style style, const char *text);

/* Keys beside letters. */
enum view_key {
	KEY_ENTER_ = 256,
	KEY_ESCAPE_,
	KEY_BACKSPACE_,
	KEY_UP_,
	KEY_DOWN_,
	KEY_LEFT_,
	KEY_RIGHT_,
	KEY_PAGE_UP_,
	KEY_PAGE_DOWN_,
	KEY_HOME_,
	KEY_END_,
	KEY_TAB_,
	KEY_BACK_TAB_,
};

struct view;

struct view *view_new(void);
void view_free(struct view *view);

/* Takes a copy of a window; totals are not shown.  True: it is of the trace that is shown. */
bool view_add(struct view *view, const struct trace_identity *trace, const struct report *report);
/* A line that tells something until the next key. */
void view_say(struct view *view, const char *text);
/* What is to be shown before there is anything. */
void view_waits_for(struct view *view, const char *text);

/* False: the user wants to leave. */
bool view_key(struct view *view, int key);
void view_draw(struct view *view, int lines, int columns, view_put *put, void *user);

#endif
