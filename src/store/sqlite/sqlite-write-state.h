/*
 * sqlite-write-state: the inside of a writer, shared by sqlite-write.c (rows) and sqlite-tables.c
 * (the tables of the analyses).
 */
#pragma once

#include "store/rows/item.h"
#include "store/sqlite/sqlite-write.h"

/* A table of an analysis. */
struct written {
	struct store_column columns[STORE_COLUMNS_MAX];
	size_t count;
	sqlite3_stmt *insert, *remove;
};

struct known_trace {
	char trace[STORE_TRACE_TEXT];
	int64_t number;
};

struct sqlite_writer {
	sqlite3 *db;
	char *path;
	int64_t level;
	sqlite3_stmt *put_trace, *find_trace, *find_window, *put_window, *put_thread,
		*remove_threads, *remove_window, *put_loss, *put_trigger, *put_capture, *put_phase,
		*put_gap;
	struct written *tables[ANALYSES_MAX][TABLES_MAX]; /* NULL: not used yet */
	VEC(struct known_trace) traces;
	struct store_scratch scratch;
	uint64_t rows; /* of the transaction */
};

/* Gives the tables that no analysis has the columns that they lack. */
int sqlite_grow_first(struct sqlite_writer *writer, struct err *err);
/* The table of an analysis, which is made, or gets columns, where it lacks. */
int sqlite_table_at(struct sqlite_writer *writer, size_t a, size_t t, struct written **ret,
		    struct err *err);
