/*
 * err: see err.h.
 */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A text that had no room ends behind a word. */
static void cut_at_word(char *text, size_t size, int len)
{
	char *blank;

	if (len < 0 || (size_t)len < size) {
		return;
	}
	text[size - 4] = '\0'; /* room for the dots */
	blank = strrchr(text, ' ');
	if (blank && blank > text + size / 2) {
		*blank = '\0';
	}
	(void)strcat(text, "...");
}

int err_raise(struct err *err, int code, const char *fmt, ...)
{
	va_list args;
	int len;

	assert(code < 0);
	va_start(args, fmt);
	len = vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	cut_at_word(err->text, sizeof(err->text), len);
	return code;
}

int err_note(struct err *err, int code, const char *fmt, ...)
{
	char doing[sizeof(err->text)], whole[2 * sizeof(err->text)];
	va_list args;
	int len;

	assert(code < 0);
	va_start(args, fmt);
	len = vsnprintf(doing, sizeof(doing), fmt, args);
	va_end(args);
	cut_at_word(doing, sizeof(doing), len);
	if ((size_t)len >= sizeof(doing)) { /* no room for what went wrong there */
		memcpy(err->text, doing, sizeof(doing));
		return code;
	}
	len = snprintf(whole, sizeof(whole), "%s: %s", doing, err->text);
	(void)snprintf(err->text, sizeof(err->text), "%.*s", (int)sizeof(err->text) - 1, whole);
	cut_at_word(err->text, sizeof(err->text), len);
	return code;
}
