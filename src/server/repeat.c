/*
 * repeat: see repeat.h.
 */
#include "server/repeat.h"

#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/units.h"

static repeat_say_fn *said_by; /* global, since libevent's lines come without a user pointer */

size_t repeat_take(struct repeat *repeat, bool is_end)
{
	uint64_t now = now_monotonic_ns();
	size_t count = repeat->count;

	if (!is_end && repeat->said_ns > 0 && now - repeat->said_ns < SERVER_SAY_S * NS_PER_S) {
		return 0;
	}
	if (count > 0) {
		*repeat = (struct repeat){ .said_ns = now };
	}
	return count;
}

void repeat_say(struct repeat *repeat, const char *fmt, ...)
{
	char line[512];
	va_list args;
	size_t count;

	repeat->count++;
	count = repeat_take(repeat, false);
	if (count == 0 || !said_by) {
		return;
	}
	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (count == 1) {
		said_by("%s", line);
	} else {
		said_by("%s (%zu times)", line, count);
	}
}

/* Lines are told apart by their text; of more than some within a minute, the rest is one kind. */
static void on_log(int severity, const char *text)
{
	static struct {
		char text[160];
		struct repeat repeat;
	} lines[SERVER_LINES_MAX];
	size_t i = 0;

	if (severity < EVENT_LOG_WARN) {
		return;
	}
	while (i < SERVER_LINES_MAX - 1 && lines[i].text[0] &&
	       strncmp(lines[i].text, text, sizeof(lines[i].text) - 1) != 0) {
		i++;
	}
	(void)snprintf(lines[i].text, sizeof(lines[i].text), "%s", text);
	repeat_say(&lines[i].repeat, "libevent: %s", lines[i].text);
}

void repeat_say_to(repeat_say_fn *say)
{
	said_by = say;
	event_set_log_callback(say ? on_log : NULL);
}
