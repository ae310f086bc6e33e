/*
 * scan: see scan.h.
 */
#include "figure/scan.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t\n"

struct scan scan_of(const char *what, const char *text, struct err *err)
{
	err->text[0] = '\0';
	return (struct scan){ .what = what, .text = text, .at = text, .err = err };
}

bool scan_fail(struct scan *scan, const char *fmt, ...)
{
	char why[200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	assert(scan->at >= scan->text && scan->at <= scan->text + strlen(scan->text));
	(void)err_raise(scan->err, -EINVAL, "%s \"%s\": column %zu, at \"%.20s\": %s", scan->what,
			scan->text, (size_t)(scan->at - scan->text) + 1, scan->at, why);
	return false;
}

void scan_blanks(struct scan *scan)
{
	scan->at += strspn(scan->at, BLANKS);
}

bool scan_word(struct scan *scan, const char *word)
{
	size_t len = strlen(word);

	scan_blanks(scan);
	if (strncmp(scan->at, word, len) != 0 || isalnum((unsigned char)scan->at[len])) {
		return false;
	}
	scan->at += len;
	return true;
}

bool scan_sign(struct scan *scan, char sign)
{
	scan_blanks(scan);
	if (*scan->at != sign) {
		return false;
	}
	scan->at++;
	return true;
}

bool scan_name(struct scan *scan, char *name, size_t size)
{
	size_t len =
		strspn(scan->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (len == 0 || len >= size) {
		return false;
	}
	memcpy(name, scan->at, len);
	name[len] = '\0';
	scan->at += len;
	return true;
}

size_t scan_peek(struct scan *scan, const char *ends, char *word, size_t size)
{
	size_t len;

	scan_blanks(scan);
	len = strcspn(scan->at, ends);
	len = len < size ? len : 0;
	memcpy(word, scan->at, len);
	word[len] = '\0';
	return len;
}
