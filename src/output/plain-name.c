/*
 * plain-name: see plain-name.h.
 */
#include "output/plain-name.h"

#include <string.h>

#include "base/mem.h"

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("-_.+:@", c));
}

char *plain_name(const char *name)
{
	char *plain = mem_printf("%.*s", PLAIN_NAME_MAX, name[0] ? name : "_");

	for (char *c = plain; *c; c++) {
		if (!is_plain(*c) || (c == plain && (*c == '.' || *c == '-'))) {
			*c = '_';
		}
	}
	return plain;
}
