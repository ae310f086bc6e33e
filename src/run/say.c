/*
 * say: see say.h.
 */
#include "run/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/plain.h"

static void (*shown_by)(const char *line); /* global, since say() is a callback without one */

void say_to(void (*show)(const char *line))
{
	shown_by = show;
}

void say(const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	plain_message(line);
	if (shown_by) {
		shown_by(line);
		return;
	}
	/* systemd's journal reads the level from the start of the line: 5 is "notice". */
	(void)fprintf(stderr, "%ssillage: %s\n", getenv("JOURNAL_STREAM") ? "<5>" : "", line);
}
