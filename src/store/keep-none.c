/*
 * keep-none: a build without SQLite has no store; see keep.h.
 */
#include "store/keep.h"

/* store_open() says it. */
int store_keep_parse(const char *text, uint64_t interval_ns, struct store_keep *ret,
		     struct err *err)
{
	(void)text;
	(void)interval_ns;
	(void)err;
	*ret = (struct store_keep){ 0 };
	return 0;
}
