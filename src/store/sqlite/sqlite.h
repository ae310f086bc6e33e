/*
 * sqlite: what writer and reader of a store in SQLite share.
 *
 * Tables of the store, beside those of schema.h; times are ns since the epoch:
 *
 *     traces     trace, id, uuid, host, session, domain, path, tracer
 *     windows    level, begin, trace, end, complete, lag_ns, events, ...
 *     threads    level, begin, trace, tid, nth, ...      what became known of a thread
 *     losses, triggers, captures, phases, gaps
 *
 * `level` is the length of a window in ns, `trace` a number that `traces` gives.
 */
#pragma once

#include <sqlite3.h>

#include "base/err.h"
#include "store/rows/schema.h"

#define SQLITE_STORE_ID 0x53494c4c /* application_id: "SILL" */

/* The columns of windows and threads, in the order of the tables. */
#define SQLITE_WINDOWS                                                                             \
	"level, begin, trace, \"end\", complete, lag_ns, events, discarded, lost_packets, "        \
	"bad_packets, late_events, analyses, missing, unknown, anomalies, misfits"
#define SQLITE_THREADS                                                                             \
	"level, begin, trace, tid, nth, was_tid, was_nth, is_reused, pid, comm, prio, container"

/* A window. */
struct sqlite_place {
	int64_t level, begin, trace;
};

/* Makes the tables that no analysis has. */
extern const char sqlite_first_tables[];
/* Those of a time, which go with the longest windows of it; ends with NULL. */
extern const char *const sqlite_other_tables[];

/* Takes the message of the database's last failure.  Returns -EIO, or what fits better: -EROFS,
 * the file, or one that SQLite needs beside it, cannot be opened or written. */
int sqlite_failed(sqlite3 *db, const char *path, struct err *err);
/* Runs statements that give no rows. */
int sqlite_run(sqlite3 *db, const char *path, const char *sql, struct err *err);
int sqlite_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret,
		   struct err *err);
/* The same for several. */
struct sqlite_statement {
	sqlite3_stmt **ret;
	const char *sql;
};
int sqlite_prepare_all(sqlite3 *db, const char *path, const struct sqlite_statement *all,
		       size_t count, struct err *err);
/* Runs a statement, without what rows it gives, and makes it ready for the next time. */
int sqlite_step(sqlite3 *db, const char *path, sqlite3_stmt *statement, struct err *err);
/* Binds whole numbers to the parameters of a statement from @at on. */
#define sqlite_bind(statement, at, ...)                                                            \
	sqlite_bind_(statement, at, (const int64_t[]){ __VA_ARGS__ },                              \
		     ARRAY_COUNT(((const int64_t[]){ __VA_ARGS__ })))
void sqlite_bind_(sqlite3_stmt *statement, int at, const int64_t *values, size_t count);
/* A copy of a column's text, from malloc(); of NULL that is NULL, or the empty text. */
char *sqlite_text(sqlite3_stmt *row, int at);
char *sqlite_text_or_empty(sqlite3_stmt *row, int at);
/* Ends all statements, too.  NULL is allowed. */
void sqlite_close(sqlite3 *db);
/* The next length of windows behind a length; NULL: there is no more.  A file of others may hold
 * anything in the column: only whole numbers are lengths, so that a walk over them ends. */
#define SQLITE_NEXT_LEVEL                                                                          \
	"SELECT min(level) FROM windows WHERE level > ? AND typeof(level) = 'integer'"
/* *@level: the one before, from 0 on, and then the next one, or 0. */
int sqlite_next_level(sqlite3 *db, const char *path, sqlite3_stmt *next, uint64_t *level,
		      struct err *err);

/* Whether a column of this name is among the rows of a statement that lists names. */
bool sqlite_has_column(sqlite3_stmt *columns, const char *name);
/*
 * Opens a database, whatever it is; @flags as sqlite3_open_v2().  Its statements hear a signal
 * (base/now.h): those of a reader fail with -EINTR soon after it, those of a writer once nothing
 * may take longer.  Elsewhere no file is opened.
 */
int sqlite_connect(const char *path, int flags, sqlite3 **ret, struct err *err);
/* Opens the file; @flags as sqlite3_open_v2().  *ret_is_new: it is empty.  Else it is a store of a
 * version that this program can use. */
int sqlite_open(const char *path, int flags, sqlite3 **ret, bool *ret_is_new, struct err *err);
/*
 * The same for a file that is only read.  A reader needs a file beside it, to see what is written
 * meanwhile.  Where the folder may not be written and no writer's files are there, it is read as it
 * is: what another user begins to write then is not seen.  -EROFS: a writer's files are there.
 */
int sqlite_open_read(const char *path, sqlite3 **ret, bool *ret_is_new, struct err *err);
