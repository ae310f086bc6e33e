/*
 * curl-library: see curl-library.h.
 */
#include "store/clickhouse/curl-library.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/process/library.h"
#include "base/vec.h"

/* One interface, whatever library it uses for TLS.  Debian 12 has both. */
static const char *const files[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

static const struct library_function functions[] = {
#define X(name) { "curl_" #name, offsetof(struct curl_library, name) },
	CURL_FUNCTIONS(X)
#undef X
};

static struct curl_library library;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(files) && !is_loaded; i++) {
		is_loaded = library_load(files[i], functions, ARRAY_COUNT(functions), &library);
	}
}

int curl_library_load(struct err *err)
{
	(void)pthread_once(&once, load);
	if (!is_loaded) {
		return err_raise(err, -ENOENT,
				 "ClickHouse needs libcurl (%s or %s): it is not installed",
				 files[0], files[1]);
	}
	return 0;
}

const struct curl_library *curl_library(void)
{
	assert(is_loaded);
	return &library;
}
