/*
 * repeat: see repeat.h.
 */
#include "server/repeat.h"

#include <assert.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"

struct kind {
	char name[REPEAT_KIND_BYTES];
	uint64_t since; /* monotonic ns: when its minute began */
	size_t said;    /* lines in it */
	size_t count;   /* that were not said */
	char *last;     /* of these; NULL: there was none */
};

static repeat_say_fn *said_by;
static struct kind kinds[REPEAT_KINDS_MAX];
static size_t kind_count;

/* Of more kinds than there are places the rest is one. */
static struct kind *kind_of(const char *name)
{
	size_t i = 0;

	while (i < kind_count && strncmp(kinds[i].name, name, sizeof(kinds[i].name) - 1) != 0) {
		i++;
	}
	if (i == REPEAT_KINDS_MAX) {
		return &kinds[i - 1];
	}
	if (i == kind_count) {
		kind_count++;
		kinds[i] = (struct kind){ 0 };
		(void)snprintf(kinds[i].name, sizeof(kinds[i].name), "%s", name);
	}
	return &kinds[i];
}

/* Says what was counted; a line that is said begins the next minute. */
static void end_minute(struct kind *kind, uint64_t now)
{
	assert((kind->count > 0) == (kind->last != NULL));
	kind->since = now;
	kind->said = kind->count > 0;
	if (kind->count == 1) {
		said_by("%s", kind->last);
	} else if (kind->count > 1) {
		said_by("%s (and %zu more like this)", kind->last, kind->count - 1);
	}
	free(kind->last);
	kind->last = NULL;
	kind->count = 0;
}

static void look_at(struct kind *kind, uint64_t now)
{
	if (now - kind->since >= REPEAT_NS) {
		end_minute(kind, now);
	}
}

void repeat_say_kind(const char *name, size_t most, const char *text)
{
	struct kind *kind;

	if (!said_by) {
		return;
	}
	kind = kind_of(name);
	look_at(kind, now_monotonic_ns());
	if (kind->said < most) {
		kind->said++;
		said_by("%s", text);
		return;
	}
	kind->count++;
	free(kind->last);
	kind->last = mem_strdup(text);
}

void repeat_say(const char *whose, const char *fmt, ...)
{
	char kind[REPEAT_KIND_BYTES], line[512];
	va_list args;
	int len = 0;

	if (whose) {
		len = snprintf(line, sizeof(line), "%.100s: ", whose);
	}
	(void)snprintf(kind, sizeof(kind), "%.*s%s", len, line, fmt);
	va_start(args, fmt);
	(void)vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, args);
	va_end(args);
	repeat_say_kind(kind, 1, line);
}

void repeat_look(void)
{
	uint64_t now = now_monotonic_ns();

	for (size_t i = 0; said_by && i < kind_count; i++) {
		look_at(&kinds[i], now);
	}
}

/* One kind, since clients may have a part in the texts: they would fill the table. */
static void on_log(int severity, const char *text)
{
	char line[512];

	if (severity >= EVENT_LOG_WARN) {
		(void)snprintf(line, sizeof(line), "libevent: %s", text);
		repeat_say_kind("libevent", SERVER_LINES_MAX, line);
	}
}

void repeat_say_to(repeat_say_fn *say)
{
	for (size_t i = 0; said_by && i < kind_count; i++) {
		end_minute(&kinds[i], 0);
	}
	kind_count = 0;
	said_by = say;
	event_set_log_callback(say ? on_log : NULL);
}
