/*
 * screen: see screen.h.  The only file that includes ncurses, which defines many short names.
 */
#include "output/screen/screen.h"

#include <assert.h>
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

static bool is_open;
static bool mouse_is_ours;
static struct termios before; /* to restore */

/* While it is taken, the terminal selects text with Shift only. */
static void take_mouse(bool takes)
{
	mmask_t wanted =
		BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED;

	(void)mousemask(takes ? wanted : 0, NULL);
	mouse_is_ours = takes;
}

static void restore(void)
{
	if (is_open) {
		is_open = false;
		(void)endwin();
	}
}

/* Restores the terminal when a signal ends the process.  ncurses may not be called in a signal
 * handler, so this writes the escape sequences of xterm and its relatives. */
static void on_fatal(int number)
{
	static const char plain[] =
		"\033[?1000l\033[?1006l\033[?1049l\033[?25h\033[0m\033[?1l\033>";

	(void)!write(STDOUT_FILENO, plain, sizeof(plain) - 1);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

int screen_open(struct err *err)
{
	static const int fatal[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGQUIT };
	SCREEN *screen;

	assert(!is_open);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		return err_raise(err, -ENOTTY, "top needs a terminal; `live` and `analyze` do not");
	}
	(void)tcgetattr(STDIN_FILENO, &before);
	/* Names are UTF-8, on this terminal as in files (text/plain.h). */
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
		(void)setlocale(LC_CTYPE, "C.UTF-8");
	}
	(void)setenv("ESCDELAY", "50", 0);
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		return err_raise(err, -ENOTTY, "the terminal \"%s\" is not known",
				 getenv("TERM") ? getenv("TERM") : "");
	}
	if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) {
		delscreen(screen);
		return err_raise(err, -ENOTTY,
				 "the terminal \"%s\" cannot place text; `live` and `analyze` "
				 "need no screen",
				 getenv("TERM") ? getenv("TERM") : "");
	}
	is_open = true;
	(void)atexit(restore);
	for (size_t i = 0; i < ARRAY_COUNT(fatal); i++) {
		(void)signal(fatal[i], on_fatal);
	}
	(void)cbreak();
	(void)noecho();
	(void)nodelay(stdscr, TRUE);
	(void)keypad(stdscr, TRUE);
	(void)curs_set(0);
	take_mouse(true);
	if (has_colors() && !getenv("NO_COLOR")) {
		(void)start_color();
		(void)use_default_colors();
		(void)init_pair(1, COLOR_GREEN, -1);
		(void)init_pair(2, COLOR_YELLOW, -1);
		for (int i = 0; i <= STYLE_PHASE_LAST - STYLE_PHASE; i++) {
			(void)init_pair((short)(3 + i), COLOR_BLACK, (short)(COLOR_RED + i));
		}
	}
	return 0;
}

void screen_close(void)
{
	restore();
}

static void put(void *user, int line, int column, enum view_style style, const char *text)
{
	static const attr_t attributes[] = {
		[STYLE_PLAIN] = A_NORMAL,
		[STYLE_BOLD] = A_BOLD,
		[STYLE_BAR] = COLOR_PAIR(1),
		[STYLE_CHOSEN] = A_REVERSE,
		[STYLE_WARNING] = A_BOLD | COLOR_PAIR(2),
		[STYLE_DIM] = A_DIM,
		[STYLE_RUNS] = COLOR_PAIR(1),
		[STYLE_WAITS] = COLOR_PAIR(2),
		[STYLE_BLOCKED] = A_NORMAL,
		[STYLE_STOPPED] = A_DIM,
		[STYLE_PHASE] = COLOR_PAIR(3),
		[STYLE_PHASE + 1] = COLOR_PAIR(4),
		[STYLE_PHASE + 2] = COLOR_PAIR(5),
		[STYLE_PHASE + 3] = COLOR_PAIR(6),
		[STYLE_PHASE + 4] = COLOR_PAIR(7),
		[STYLE_PHASE + 5] = COLOR_PAIR(8),
	};

	assert(line >= 0 && line < LINES);
	assert(column >= 0 && column < COLS);
	assert((size_t)style < ARRAY_COUNT(attributes));
	(void)attrset((int)attributes[style]);
	(void)mvaddstr(line, column, text);
}

/* Asks the terminal for its size each time, since another handler may have taken SIGWINCH. */
void screen_draw(struct view *view)
{
	struct winsize size;

	if (!is_open) {
		return;
	}
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
	    (size.ws_row != LINES || size.ws_col != COLS)) {
		(void)resizeterm(size.ws_row, size.ws_col);
	}
	(void)erase();
	view_draw(view, LINES, COLS, put, NULL);
	(void)refresh();
}

static int key_of(int key)
{
	static const struct {
		int theirs, ours;
	} keys[] = {
		{ '\r', VIEW_KEY_ENTER },
		{ '\n', VIEW_KEY_ENTER },
		{ KEY_ENTER, VIEW_KEY_ENTER },
		{ 27, VIEW_KEY_ESCAPE },
		{ 127, VIEW_KEY_BACKSPACE },
		{ 8, VIEW_KEY_BACKSPACE },
		{ KEY_BACKSPACE, VIEW_KEY_BACKSPACE },
		{ KEY_UP, VIEW_KEY_UP },
		{ KEY_DOWN, VIEW_KEY_DOWN },
		{ KEY_LEFT, VIEW_KEY_LEFT },
		{ KEY_RIGHT, VIEW_KEY_RIGHT },
		{ KEY_PPAGE, VIEW_KEY_PAGE_UP },
		{ KEY_NPAGE, VIEW_KEY_PAGE_DOWN },
		{ KEY_HOME, VIEW_KEY_HOME },
		{ KEY_END, VIEW_KEY_END },
		{ '\t', VIEW_KEY_TAB },
		{ KEY_BTAB, VIEW_KEY_BACK_TAB },
		/* As htop has them. */
		{ KEY_F(1), '?' },
		{ KEY_F(3), '/' },
		{ KEY_F(4), '/' },
		{ KEY_F(5), 'p' },
		{ KEY_F(6), '>' },
		{ KEY_F(10), 'q' },
	};

	for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
		if (keys[i].theirs == key) {
			return keys[i].ours;
		}
	}
	return key < 256 ? key : 0; /* others mean nothing here, and their numbers are ours */
}

static void mouse_event(struct view *view)
{
	MEVENT event;

	if (getmouse(&event) != OK) {
		return;
	}
	if (event.bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED)) {
		view_wheel(view, event.bstate & BUTTON4_PRESSED);
	} else {
		view_click(view, event.y, event.x, event.bstate & BUTTON1_DOUBLE_CLICKED);
	}
}

/* Whether the terminal was closed. */
static bool is_gone(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int bytes = 0;

	if (poll(&input, 1, 0) <= 0) {
		return false;
	}
	return (input.revents & (POLLHUP | POLLERR)) ||
	       (ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes == 0);
}

bool screen_keys(struct view *view)
{
	int key;

	while ((key = getch()) != ERR) {
		if (key == KEY_MOUSE) {
			mouse_event(view);
		} else if (key != KEY_RESIZE && !view_key(view, key_of(key))) {
			return false;
		}
		if (mouse_is_ours == view_frees_mouse(view)) {
			take_mouse(!mouse_is_ours);
		}
	}
	return !is_gone();
}
