/*
 * store-url: what a store is called; see store-url.h.
 */
#include "store/rows/store-url.h"

#include <errno.h>
#include <string.h>

bool store_is_clickhouse(const char *url)
{
	return strncmp(url, "clickhouse:", strlen("clickhouse:")) == 0;
}

const char *store_file_of(const char *url, struct err *ret_why)
{
	const char *colon = strstr(url, "://");
	size_t len = strlen(url);

	if (strncmp(url, "sqlite:", 7) == 0 && url[7]) {
		return url + 7;
	}
	if (!colon && len > 3 && strcmp(url + len - 3, ".db") == 0) {
		return url;
	}
	(void)err_raise(ret_why, -EINVAL,
			"\"%s\" is no store: sqlite:FILE, a FILE whose name ends in .db, or "
			"clickhouse://HOST/DATABASE",
			url);
	return NULL;
}
