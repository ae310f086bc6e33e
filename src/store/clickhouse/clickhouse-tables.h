/*
 * clickhouse-tables: the tables of a store in ClickHouse, and the statements that make them.
 *
 * They are those of doc/store.md, and have the same names and columns as in SQLite, with these
 * differences: `trace` is what traces.trace has, in the form of a UUID; buckets and counts are
 * arrays; each row has a `version`.  Of rows of one key the server keeps the one of the highest
 * version: that of a window's rows has bit 63 if the window is complete, and the time when it was
 * written below.  A window has a head, a row of `windows`, for each list of analyses that runs had:
 * `run` is that list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/contract/analysis.h"
#include "store/clickhouse/http.h"
#include "store/rows/schema.h"

enum clickhouse_number {
	CLICKHOUSE_TRACES,
	CLICKHOUSE_WINDOWS,
	CLICKHOUSE_THREADS,
	CLICKHOUSE_LOSSES,
	CLICKHOUSE_TRIGGERS,
	CLICKHOUSE_CAPTURES,
	CLICKHOUSE_PHASES,
	CLICKHOUSE_GAPS,
	CLICKHOUSE_FIRST_LIST, /* those of the analyses follow, TABLES_MAX each */
	CLICKHOUSE_TABLES_MAX = CLICKHOUSE_FIRST_LIST + ANALYSES_MAX * TABLES_MAX
};

/* Keys that tables of all versions have in the front; of the rows of windows they are the window:
 * level, begin, trace. */
#define CLICKHOUSE_FIRST_KEYS 3

enum clickhouse_type {
	CLICKHOUSE_INT,
	CLICKHOUSE_INT_OR_NULL,
	CLICKHOUSE_TEXT,
	CLICKHOUSE_TEXT_OR_NULL,
	CLICKHOUSE_ARRAY,
	CLICKHOUSE_TRACE, /* a UUID */
	CLICKHOUSE_VERSION,
};

struct clickhouse_column {
	char name[STORE_NAME_MAX];
	enum clickhouse_type type;
	bool is_key;
};

/* Columns in the order in which rows are written; the version is the last. */
struct clickhouse_table {
	char name[STORE_NAME_MAX];
	size_t count;
	struct clickhouse_column columns[STORE_COLUMNS_MAX + 4];
};

static inline uint32_t clickhouse_list_number(size_t analysis, size_t table)
{
	return (uint32_t)(CLICKHOUSE_FIRST_LIST + analysis * TABLES_MAX + table);
}

/* The caller frees it; NULL: no table has the number. */
struct clickhouse_table *clickhouse_table_new(uint32_t number);
/* Of the table of this name; UINT32_MAX: no table of a store has it. */
uint32_t clickhouse_table_number(const char *name);
/* "INSERT INTO name (a, b) FORMAT TabSeparated\n": rows follow.  The caller frees it. */
char *clickhouse_insert_text(const struct clickhouse_table *table);

/*
 * Whether the database is a store of a version that this program knows.  -EINVAL: it is not;
 * -ENOENT: there is none, or an empty one, and not @may_make; else as http_run() fails.
 */
int clickhouse_check(struct http *http, const struct clickhouse_url *url, bool may_make,
		     struct err *err);
/* Makes the table if there is none, and adds columns that it lacks. */
int clickhouse_make_table(struct http *http, const struct clickhouse_url *url, uint32_t number,
			  struct err *err);
/* Makes all tables, and in DATABASE_all one for each that shows those of all servers of the
 * cluster.  So each server can be asked for any table of any other. */
int clickhouse_join_cluster(struct http *http, const struct clickhouse_url *url, struct err *err);
/* Whether "a\nb\n" has the line. */
bool clickhouse_has_line(const char *lines, const char *line);

/* ---- fields of an answer, which is untrusted ---- */

/* Whether it is what a trace is called, in the form of a UUID. */
bool clickhouse_is_trace(const char *text, size_t len);
/* An integer of 64 bits, and nothing but it.  A version has no sign: its bits are returned. */
bool clickhouse_take_int(const char *text, size_t len, int64_t *ret);
bool clickhouse_take_version(const char *text, size_t len, uint64_t *ret);
/* A time in ns since the epoch, or a length. */
bool clickhouse_take_ns(const char *text, size_t len, uint64_t *ret);
