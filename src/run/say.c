/*
 * say: see say.h.
 */
#include "run/say.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/plain.h"

static void (*shown_by)(const char *line); /* global, since say() is a callback without one */

void say_to(void (*show)(const char *line))
{
	shown_by = show;
}

/* Writers of stores say things in threads of their own. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char last[SAY_BYTES];

void say_last(char line[SAY_BYTES])
{
	(void)pthread_mutex_lock(&mutex);
	memcpy(line, last, sizeof(last));
	(void)pthread_mutex_unlock(&mutex);
}

void say(const char *fmt, ...)
{
	char line[SAY_BYTES] = "";
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	plain_message(line);
	(void)pthread_mutex_lock(&mutex);
	memcpy(last, line, sizeof(last));
	(void)pthread_mutex_unlock(&mutex);
	if (shown_by) {
		shown_by(line);
		return;
	}
	/* systemd's journal reads the level from the start of the line: 5 is "notice". */
	(void)fprintf(stderr, "%ssillage: %s\n", getenv("JOURNAL_STREAM") ? "<5>" : "", line);
}
