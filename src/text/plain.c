/*
 * plain: see plain.h.
 */
#include "text/plain.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

size_t plain_blanks(const char *text, size_t len)
{
	size_t count = 0;

	while (count < len && text[len - count - 1] == ' ') {
		count++;
	}
	return count;
}

size_t plain_report(char *text, size_t len)
{
	size_t put = 0;

	assert(text[len] == '\0');
	for (size_t at = 0; at < len;) {
		struct utf8_letter letter = utf8_letter_at(text + at);

		if (letter.is_plain) {
			memmove(text + put, text + at, letter.bytes);
			put += letter.bytes;
		} else if (text[at] == '\n') {
			put -= plain_blanks(text, put);
			text[put++] = '\n';
		} else {
			text[put++] = '?';
		}
		at += letter.bytes > 0 ? letter.bytes : 1;
	}
	text[put] = '\0';
	return put;
}

void plain_message(char *text)
{
	for (char *at = text; *at; at++) {
		*at = *at == '\n' ? '?' : *at;
	}
	(void)plain_report(text, strlen(text));
}

/* ---- progress ---- */

void plain_progress(const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	plain_message(line);
	(void)fprintf(stderr, "\r%s\033[K", line);
}

void plain_clear_progress(void)
{
	(void)fputs("\r\033[K", stderr);
}
