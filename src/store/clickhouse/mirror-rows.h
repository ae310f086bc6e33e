/*
 * mirror-rows: rows that a server of ClickHouse sends, in its format TabSeparated, go into a table
 * of the mirror.  Internal to the mirror.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/clickhouse/clickhouse-tables.h"
#include "store/clickhouse/clickhouse-url.h"

struct http;

/* What the mirror's own database is called in messages. */
#define MIRROR_NAME "the mirror of a store"

struct mirror {
	struct clickhouse_url url;
	struct http *http;
	sqlite3 *db;
	char *tables[CLICKHOUSE_TABLES_MAX]; /* the columns that the server has, a line each; "" */
	VEC(char *) traces;                  /* what they are called, by number in the mirror */
	bool *wanted;                        /* by number; NULL: all */
	sqlite3_stmt *find_version;
	/* Heads of other runs with the same window, which have analyses that the newest lacks. */
	sqlite3_stmt *find_others, *put_other, *remove_others, *find_head, *join_head;
	bool has_others; /* any at all */
};

/* Rows that come in. */
struct mirror_rows {
	struct mirror *mirror;
	const struct clickhouse_table *table; /* the columns that the server has */
	sqlite3_stmt *insert;
	bool of_heads;        /* they are the heads, the newest of each window first */
	bool of_windows;      /* only of those whose heads are there */
	const char *analysis; /* of these rows; NULL: of all analyses */
	/* The window of the last row, and that row's version. */
	int64_t level, begin, trace;
	uint64_t own_version;
	bool is_same_window;  /* as the row before it */
	uint64_t version;     /* of the window's head */
	VEC(uint64_t) others; /* versions that are right, too */
	bool is_known;
};

/* Makes what is needed to read heads: the table `windows` of the mirror is there. */
int mirror_rows_prepare(struct mirror *mirror, struct err *err);
void mirror_rows_fini(struct mirror_rows *rows);

/* Takes "\t", "\n", "\\", "\0" and the like back, in place.  Returns the length that is left. */
size_t mirror_unescape(char *text, size_t len);
/* The number of the trace in the mirror; -1: it is none that is wanted. */
int64_t mirror_trace_number(const struct mirror *mirror, const char *name, size_t len);
/* Takes a row of a reply (clickhouse_row); @user: a mirror_rows. */
int mirror_rows_take(void *user, char *const *fields, const size_t *lens, struct err *err);
