/*
 * reader-state: the inside of a reader, shared by reader.c (one window), reader-plan.c and
 * reader-choice.c (which windows).
 */
#pragma once

#include "base/arena.h"
#include "engine/tables/columns.h"
#include "store/clickhouse/mirror.h"
#include "store/reader.h"
#include "store/sqlite/sqlite-read.h"

struct read_table {
	struct store_column columns[STORE_COLUMNS_MAX];
	size_t count;
	uint16_t lacks;      /* bit by bit the figures that the store does not have */
	uint16_t wanted;     /* those of which distributions are read */
	uint16_t unwritten;  /* the same, of the last window that was read */
	uint16_t unknown;    /* what store_reader.unknown says of it */
	uint64_t unknown_of; /* the number of the text that this is of; 0: of none */
	struct columns kinds;
	struct sqlite_cursor cursor;
	VEC(struct store_row) rows; /* of the last window that was read */
	VEC(struct report_row) shown;
};

/* One of several stores. */
struct reader_member {
	struct store_reader *reader;
	uint32_t *global; /* by its traces: those of all */
	uint32_t *own;    /* by traces of all: its own; UINT32_MAX: it has not */
};

struct store_reader {
	VEC(struct reader_member) members; /* several stores: it has no more than their traces */
	sqlite3 *db;
	char *path;
	struct mirror *mirror; /* NULL: the store is the file itself */
	const struct analysis *const *list;
	const struct selection *selection;  /* NULL: all */
	const uint16_t (*only)[TABLES_MAX]; /* columns by analysis and table; NULL: all */
	bool defers_rows;                   /* store_reader_defer_rows() */
	bool says_all;                      /* store_reader_say_all() */
	bool wants_containers;
	bool needs_threads; /* what is known of threads (the table `threads`) */
	VEC(struct store_trace) traces;
	struct sqlite_cursor heads, views;
	struct read_table *tables[ANALYSES_MAX][TABLES_MAX];
	/* Of the last window that was read. */
	VEC(struct report_table) report_tables;
	VEC(struct missing_event) missing;
	/* Windows have the same texts again and again, which are taken apart once. */
	char *unknown, *missing_text;
	uint64_t unknown_number, missing_lists;
	VEC(struct report_view) known_views;
	VEC(struct report_part) parts;
	struct arena texts;
};

/* Whether rows of table @t of analyses[a] are needed: those of processes are made of those of
 * threads. */
bool store_reader_needs(const struct store_reader *reader, size_t a, size_t t);
/* A trace, of a row of READER_TRACES; and its end. */
/* Stores of older versions have no tracer: then that of @none is meant, which is NULL. */
#define READER_TRACES                                                                              \
	"SELECT trace, host, session, domain, path, id, uuid, (SELECT tracer FROM traces AS own"   \
	" WHERE own.trace = traces.trace) FROM traces, (SELECT NULL AS tracer) AS none"
struct store_trace reader_trace_of(sqlite3_stmt *row);
void reader_trace_fini(struct store_trace *trace);
/* The gaps in a range, of a statement READER_GAPS; returns what sqlite3_step() did last. */
#define READER_GAPS                                                                                \
	"SELECT begin, \"end\", windows, why FROM gaps WHERE \"end\" > ? AND begin < ? ORDER BY "  \
	"1, 2"
int reader_step_gaps(sqlite3_stmt *gaps, uint64_t begin, uint64_t end, store_gap_fn *each,
		     void *user);
/* reader-many.c: of several stores. */
void reader_many_close(struct store_reader *reader);
int reader_many_span(struct store_reader *reader, uint64_t *ret_first, uint64_t *ret_last,
		     struct err *err);
int reader_many_gaps(struct store_reader *reader, uint64_t begin, uint64_t end, store_gap_fn *each,
		     void *user, struct err *err);
int reader_many_read(struct store_reader *reader, const struct store_window *window,
		     struct report *ret, struct err *err);
/* Whether the analysis is wanted. */
bool store_reader_wants(const struct store_reader *reader, const struct analysis *analysis);
/* "cpu,sched" bit by bit, by number in analyses[]. */
uint64_t store_reader_lists(const char *text);
