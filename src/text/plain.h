/*
 * plain: text on its way to a terminal.
 *
 * Names of threads, files, hosts, events and triggers, and what servers say, come from others, and
 * may hold any bytes: escape sequences, ends of lines, marks that turn the direction of writing.
 * So the streams that go to people pass through here (output/sink.h, run/say.h), whatever was
 * printed on them; nobody who prints has to think of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* In the text of a report: what follows is bold, or as before.  In a name they do no more. */
#define PLAIN_BOLD   "\016"
#define PLAIN_NORMAL "\017"

/*
 * Of reports, in place: printable UTF-8 and ends of lines stay, for names and paths are in the
 * user's language.  Control characters (C0, C1), what is no UTF-8, and what shows nothing itself
 * but changes how other text looks (directions, joiners, tags) become '?'.  Blanks before the end
 * of a line go: tables fill up their cells.  A 0 has to be behind the text.  Returns the length,
 * which is not more than before.
 */
size_t plain_report(char *text, size_t len);
/* How many blanks the text ends with: what follows decides whether they end a line. */
size_t plain_blanks(const char *text, size_t len);
/* The same of a message in one line. */
void plain_message(char *text);

/* On standard error, in place of what this function put there before. */
void plain_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void plain_clear_progress(void);
