/*
 * curl-library: libcurl, loaded when the first URL of ClickHouse is read.
 *
 * Linked, it and the thirty libraries that it needs would cost each run of sillage 24 of 42 ms of
 * start-up; few runs have such a URL.
 */
#pragma once

#include <curl/curl.h>

#include "base/err.h"

#define CURL_FUNCTIONS(X)                                                                          \
	X(easy_cleanup)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_init)                                                                               \
	X(easy_setopt)                                                                             \
	X(easy_strerror)                                                                           \
	X(easy_unescape)                                                                           \
	X(free)                                                                                    \
	X(global_cleanup)                                                                          \
	X(global_init)                                                                             \
	X(multi_add_handle)                                                                        \
	X(multi_cleanup)                                                                           \
	X(multi_info_read)                                                                         \
	X(multi_init)                                                                              \
	X(multi_perform)                                                                           \
	X(multi_poll)                                                                              \
	X(multi_remove_handle)                                                                     \
	X(slist_append)                                                                            \
	X(slist_free_all)                                                                          \
	X(url)                                                                                     \
	X(url_cleanup)                                                                             \
	X(url_get)                                                                                 \
	X(url_set)

/* Each function by its name without "curl_". */
struct curl_library {
#define X(name) typeof(curl_##name) *name;
	CURL_FUNCTIONS(X)
#undef X
};

/* Any thread, any number of times.  -ENOENT: it is not installed, or too old. */
int curl_library_load(struct err *err);

/* After curl_library_load(). */
const struct curl_library *curl_library(void);
