/*
 * screen: see screen.h.  The only file that knows ncurses, which takes many names.
 */
#include "output/screen/screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static bool is_open;
static struct termios at_first;

static void give_back(void)
{
	if (is_open) {
		is_open = false;
		(void)endwin();
	}
}

/* What ends the process must not leave the terminal as ncurses had it.  Only what may be called
 * in a signal handler: the escape sequences that xterm and all like it understand. */
static void on_fatal(int number)
{
	static const char plain[] = "\033[?1049l\033[?25h\033[0m\033[?1l\033>";

	(void)!write(STDOUT_FILENO, plain, sizeof(plain) - 1);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &at_first);
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

int screen_open(struct err *err)
{
	static const int fatal[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGQUIT };
	SCREEN *screen;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		return err_raise(err, -ENOTTY, "top needs a terminal; `live` and `analyze` do not");
	}
	(void)tcgetattr(STDIN_FILENO, &at_first);
	(void)setlocale(LC_CTYPE, "");
	(void)setenv("ESCDELAY", "50", 0);
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		return err_raise(err, -ENOTTY, "the terminal \"%s\" is not known",
				 getenv("TERM") ? getenv("TERM") : "");
	}
	is_open = true;
	(void)atexit(give_back);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		(void)signal(fatal[i], on_fatal);
	}
	(void)cbreak();
	(void)noecho();
	(void)nodelay(stdscr, TRUE);
	(void)keypad(stdscr, TRUE);
	(void)curs_set(0);
	if (has_colors() && !getenv("NO_COLOR")) {
		(void)start_color();
		(void)use_default_colors();
		(void)init_pair(1, COLOR_GREEN, -1);
		(void)init_pair(2, COLOR_YELLOW, -1);
	}
	return 0;
}

void screen_close(void)
{
	give_back();
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
	};

	(void)user;
	(void)attrset((int)attributes[style]);
	(void)mvaddstr(line, column, text);
}

/* The size comes from the terminal each time: SIGWINCH may not be ours to see. */
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
		{ '\r', KEY_ENTER_ },
		{ '\n', KEY_ENTER_ },
		{ KEY_ENTER, KEY_ENTER_ },
		{ 27, KEY_ESCAPE_ },
		{ 127, KEY_BACKSPACE_ },
		{ 8, KEY_BACKSPACE_ },
		{ KEY_BACKSPACE, KEY_BACKSPACE_ },
		{ KEY_UP, KEY_UP_ },
		{ KEY_DOWN, KEY_DOWN_ },
		{ KEY_LEFT, KEY_LEFT_ },
		{ KEY_RIGHT, KEY_RIGHT_ },
		{ KEY_PPAGE, KEY_PAGE_UP_ },
		{ KEY_NPAGE, KEY_PAGE_DOWN_ },
		{ KEY_HOME, KEY_HOME_ },
		{ KEY_END, KEY_END_ },
		{ '\t', KEY_TAB_ },
		{ KEY_BTAB, KEY_BACK_TAB_ },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].theirs == key) {
			return keys[i].ours;
		}
	}
	return key;
}

/* The terminal has gone away. */
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
		if (key != KEY_RESIZE && !view_key(view, key_of(key))) {
			return false;
		}
	}
	return !is_gone();
}
