/*
 * page: see page.h.
 */
#include "base/page/page.h"

#include <assert.h>
#include <string.h>

#define LESS_THAN "\\u003c"

static const char mark[] = "@DATA@";

void page_begin(const unsigned char *page, FILE *out)
{
	const char *text = (const char *)page, *at = strstr(text, mark);

	assert(at);
	(void)fwrite(text, 1, (size_t)(at - text), out);
}

void page_end(const unsigned char *page, FILE *out)
{
	const char *at = strstr((const char *)page, mark);

	assert(at);
	(void)fputs(at + strlen(mark), out);
}

void page_put(const char *data, size_t len, FILE *out)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '<') { /* in JSON only within a string */
			(void)fputs(LESS_THAN, out);
		} else {
			(void)putc_unlocked(data[i], out);
		}
	}
}

size_t page_size(const char *data, size_t len)
{
	size_t bytes = len;

	for (size_t i = 0; i < len; i++) {
		bytes += data[i] == '<' ? strlen(LESS_THAN) - 1 : 0;
	}
	return bytes;
}
