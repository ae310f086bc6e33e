/*
 * view: what the full screen shows, and what keys do.  It needs no terminal.
 *
 *   host/session/kernel  14:03:07.000  31,204 events/s
 *   CPU 0 [||||||||||||        54.2 %]   CPU 1 [||                   8.0 %]
 *   phase 3 c for 4.0 s  aaaaaaaabbbbbbbbbbbbbbbbcccc
 *   [cpu threads] cpu processes | io threads | sched threads ...
 *   THREAD (TID)               RUN v    SWITCHES ...
 *   redis-server (4042)       803 ms       1,031
 *   q quit  space pause  arrows ...
 *
 * The view stores the windows of all traces, up to VIEW_BYTES_MAX; then the oldest are dropped.
 * While it is paused or shows an older window, new windows are stored but not shown.  It draws text
 * through a function, so that any surface will do: screen.c, the unit tests.
 */
#pragma once

#include "output/snapshot.h"

enum view_style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_BAR,
	STYLE_CHOSEN,
	STYLE_WARNING,
	STYLE_DIM,
	/* Of threads, by what they do when the window ends. */
	STYLE_RUNS,
	STYLE_WAITS,
	STYLE_BLOCKED,
	STYLE_STOPPED,
	STYLE_PHASE, /* and those after it: one colour each */
	STYLE_PHASE_LAST = STYLE_PHASE + 5,
};

/* Draws @text, which is printable ASCII and lies within the surface. */
typedef void view_put(void *user, int line, int column, enum view_style style, const char *text);

/* Keys that are no characters. */
enum view_key {
	VIEW_KEY_ENTER = 256,
	VIEW_KEY_ESCAPE,
	VIEW_KEY_BACKSPACE,
	VIEW_KEY_UP,
	VIEW_KEY_DOWN,
	VIEW_KEY_LEFT,
	VIEW_KEY_RIGHT,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
	VIEW_KEY_TAB,
	VIEW_KEY_BACK_TAB,
};

struct view;

struct view *view_new(void);
void view_free(struct view *view);

/* Stores a copy of a window; totals are ignored.  True: the window's trace is the shown one. */
bool view_add(struct view *view, const struct trace_identity *trace, const struct report *report);
/* Shows a message until the next key. */
void view_say(struct view *view, const char *text);
/* The text that is shown while there is no window. */
void view_waits_for(struct view *view, const char *text);

/* Whether the user has asked for the jobs of the shown trace since the last call; *ret_host and
 * *ret_session name it until the next call of any function. */
bool view_asks_jobs(struct view *view, const char **ret_host, const char **ret_session);
/* Shows the answer, lines of text, where the user asked for it. */
void view_show_jobs(struct view *view, const char *text);

/*
 * ---- windows that the owner has, and shows one at a time: a store ----
 *
 * Keys that choose another window are moves for the owner, who calls view_show() with it.
 */
enum view_move {
	VIEW_STAYS,
	VIEW_BACK,
	VIEW_ON,
	VIEW_FAR_BACK, /* VIEW_FAR windows */
	VIEW_FAR_ON,
	VIEW_FIRST,
	VIEW_LAST,
	VIEW_PAUSES, /* or goes on */
	VIEW_NEXT_TRACE,
	VIEW_LAST_TRACE, /* the one before */
	VIEW_TO_TRACE,   /* the next one whose host or session has a text in it */
	VIEW_TO_TIME,    /* which the user typed */
};
#define VIEW_FAR 60

/* From now on the view is such a one. */
void view_browse(struct view *view);
/* Shows a copy of a window.  @status: of the window among others, for the header; its trace is
 * number @at of @traces to choose from. */
void view_show(struct view *view, const struct trace_identity *trace, const struct report *report,
	       const char *status, size_t at, size_t traces);
/* Changes the status alone. */
void view_show_status(struct view *view, const char *status);
/* The next move that keys asked for; VIEW_STAYS: there is none.  *ret_text: what was typed for
 * VIEW_TO_TIME and VIEW_TO_TRACE, until the next key. */
enum view_move view_take_move(struct view *view, const char **ret_text);
/* Whether the name of a trace's host or session has the text in it. */
bool view_trace_matches(const char *host, const char *session, const char *text);

/* Handles a key: a character or enum view_key.  False: the user quits. */
bool view_key(struct view *view, int key);
/* The same of the mouse, at a place of the last screen that was drawn: lists and columns are
 * chosen, a row, with @is_double all about its thread; rows are scrolled. */
void view_click(struct view *view, int line, int column, bool is_double);
void view_wheel(struct view *view, bool is_up);
/* Whether the user wants it for the terminal, to select text. */
bool view_frees_mouse(const struct view *view);
/* Draws all of it; the surface is empty. */
void view_draw(struct view *view, int lines, int columns, view_put *put, void *user);
