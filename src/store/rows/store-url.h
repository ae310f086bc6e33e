/*
 * store-url: what a store is called.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Whether it is a store in ClickHouse. */
bool store_is_clickhouse(const char *url);
/* The file of "sqlite:FILE" or "FILE.db"; NULL: it is none.  @ret_why says why. */
const char *store_file_of(const char *url, struct err *ret_why);
