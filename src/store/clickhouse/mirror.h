/*
 * mirror: what a reader wants of a store in ClickHouse, as a store in SQLite that is gone at the
 * end (a temporary file).
 *
 * So there is one reader (store/reader.h).  Traces are there from the beginning, the heads of
 * windows after mirror_heads(), and their rows after mirror_rows().
 */
#pragma once

#include <sqlite3.h>
#include <stdatomic.h>

#include "base/err.h"
#include "store/clickhouse/clickhouse-tables.h"

struct mirror;

/* Whether the URL is right, without a look at the server; fails as clickhouse_url_parse(). */
int mirror_check_url(const char *url, struct err *err);
/* Fails as clickhouse_url_parse(), clickhouse_check() and http_run() do. */
int mirror_open(const char *url, const atomic_bool *stop, struct mirror **ret, struct err *err);
void mirror_close(struct mirror *mirror); /* NULL is fine */

sqlite3 *mirror_database(const struct mirror *mirror); /* the mirror's */
/* What the store is called in messages. */
const char *mirror_name(const struct mirror *mirror);

/* The first begin and the last end of a window; 0, 0: there is none. */
int mirror_span(struct mirror *mirror, uint64_t *ret_first, uint64_t *ret_last, struct err *err);
/* From now on rows of no trace are wanted, and then of this one, too: @number is the mirror's. */
void mirror_want_none(struct mirror *mirror);
void mirror_want(struct mirror *mirror, int64_t number);
/* Fetches the heads of windows of wanted traces that begin in [begin, end), and the gaps. */
int mirror_heads(struct mirror *mirror, uint64_t begin, uint64_t end, struct err *err);
/* Fetches phases of wanted traces that lie in [begin, end), or in a part of it. */
int mirror_phases(struct mirror *mirror, uint64_t begin, uint64_t end, struct err *err);
/* Fetches what became known of threads in windows of that length. */
int mirror_threads(struct mirror *mirror, uint64_t level, uint64_t begin, uint64_t end,
		   struct err *err);
/* Fetches their rows of one list. */
int mirror_rows(struct mirror *mirror, size_t analysis, size_t table, uint64_t level,
		uint64_t begin, uint64_t end, struct err *err);
