/*
 * err: see err.h.
 */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_raise(struct err *err, int code, const char *fmt, ...)
{
	va_list args;

	assert(code < 0);
	va_start(args, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return code;
}

int err_note(struct err *err, int code, const char *fmt, ...)
{
	char doing[sizeof(err->text)];
	va_list args;
	char *noted;

	assert(code < 0);
	va_start(args, fmt);
	(void)vsnprintf(doing, sizeof(doing), fmt, args);
	va_end(args);
	noted = stpncpy(doing + strlen(doing), ": ", sizeof(doing) - strlen(doing) - 1);
	(void)stpncpy(noted, err->text, (size_t)(doing + sizeof(doing) - noted - 1));
	doing[sizeof(doing) - 1] = '\0';
	memcpy(err->text, doing, sizeof(doing));
	return code;
}
