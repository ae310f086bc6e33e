/*
 * curl-library: see curl-library.h.
 */
#include "store/clickhouse/curl-library.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/vec.h"

/* One interface, whatever library it uses for TLS.  Debian 12 has both. */
static const char *const files[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

static const struct {
	const char *name;
	size_t at; /* in the table */
} functions[] = {
#define X(name) { "curl_" #name, offsetof(struct curl_library, name) },
	CURL_FUNCTIONS(X)
#undef X
};

static struct curl_library library;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_all(void *file)
{
	for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
		void *found = dlsym(file, functions[i].name);

		if (!found) {
			return false;
		}
		memcpy((char *)&library + functions[i].at, &found, sizeof(found));
	}
	return true;
}

/* It stays as long as the process: threads of it may run. */
static void load(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(files) && !is_loaded; i++) {
		void *file = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);

		is_loaded = file && find_all(file);
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
