/*
 * sqlite: see sqlite.h.
 */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/units.h"

#define BUSY_NS      (10 * NS_PER_S) /* another viewer writes the same file */
#define BUSY_WAIT_US 5000
#define STEPS        10000 /* of SQLite's machine between two looks: some 100 us */

int sqlite_failed(sqlite3 *db, const char *path, struct err *err)
{
	int code = sqlite3_errcode(db) & 0xff;

	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
		return err_raise(err, -EINVAL, "%s: is no store, or is damaged: %s", path,
				 sqlite3_errmsg(db));
	}
	if (code == SQLITE_INTERRUPT) {
		return err_raise(err, -EINTR, "%s: interrupted", path);
	}
	return err_raise(err,
			 code == SQLITE_FULL                                  ? -ENOSPC
			 : code == SQLITE_CANTOPEN || code == SQLITE_READONLY ? -EROFS
									      : -EIO,
			 "%s: %s", path, sqlite3_errmsg(db));
}

/* ---- waits ---- */

/* A view or a trigger of a hostile file may never end. */
static int must_leave(void *is_reader)
{
	return is_reader ? now_must_hang_up(0) : now_must_end();
}

static __thread uint64_t busy_since; /* SQLite calls on_busy() until it is over */

static int on_busy(void *is_reader, int count)
{
	busy_since = count == 0 ? now_monotonic_ns() : busy_since;
	if (must_leave(is_reader) || now_monotonic_ns() > busy_since + BUSY_NS) {
		return 0;
	}
	(void)usleep(BUSY_WAIT_US);
	return 1;
}

/* A pipe would be opened for ever, in place of the file or of one that SQLite has beside it. */
static int refuse_pipes(const char *path, struct err *err)
{
	static const char *const beside[] = { "", "-journal", "-wal", "-shm" };
	struct stat found;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_COUNT(beside); i++) {
		char *name = mem_printf("%s%s", path, beside[i]);

		if (stat(name, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
			r = err_raise(err, -EINVAL, "%s: is a pipe or a device, and no file", name);
		}
		free(name);
	}
	return r;
}

int sqlite_connect(const char *path, int flags, sqlite3 **ret, struct err *err)
{
	void *is_reader = flags & SQLITE_OPEN_READONLY ? (void *)ret : NULL; /* only whether */
	int r = refuse_pipes(path, err);

	*ret = NULL;
	if (r == 0 && sqlite3_open_v2(path, ret, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		r = err_raise(err, -EIO, "%s: %s", path,
			      *ret ? sqlite3_errmsg(*ret) : "out of memory");
	}
	if (r < 0) {
		(void)sqlite3_close(*ret);
		*ret = NULL;
		return r;
	}
	(void)sqlite3_busy_handler(*ret, on_busy, is_reader);
	sqlite3_progress_handler(*ret, STEPS, must_leave, is_reader);
	return 0;
}

int sqlite_run(sqlite3 *db, const char *path, const char *sql, struct err *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
								    : sqlite_failed(db, path, err);
}

int sqlite_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret,
		   struct err *err)
{
	return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) == SQLITE_OK
		       ? 0
		       : sqlite_failed(db, path, err);
}

static int pragma(sqlite3 *db, const char *path, const char *sql, int64_t *ret, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int r = sqlite_prepare(db, path, sql, &statement, err);

	if (r == 0) {
		int step = sqlite3_step(statement);

		*ret = step == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
		r = step == SQLITE_ROW || step == SQLITE_DONE ? 0 : sqlite_failed(db, path, err);
	}
	(void)sqlite3_finalize(statement);
	return r;
}

static int check(sqlite3 *db, const char *path, bool *ret_is_new, struct err *err)
{
	int64_t id = 0, version = 0, tables = 0;
	/* As of one moment: another run may be about to begin the store. */
	int r = sqlite_run(db, path, "BEGIN", err);

	r = r < 0 ? r : pragma(db, path, "PRAGMA application_id", &id, err);
	r = r < 0 ? r : pragma(db, path, "PRAGMA user_version", &version, err);
	r = r < 0 ? r : pragma(db, path, "SELECT count(*) FROM sqlite_master", &tables, err);
	r = r < 0 ? r : sqlite_run(db, path, "COMMIT", err);
	if (r < 0) {
		return r;
	}
	*ret_is_new = tables == 0;
	if (!*ret_is_new && id != SQLITE_STORE_ID) {
		return err_raise(err, -EINVAL, "%s: a database, but no store of sillage", path);
	}
	if (version > STORE_VERSION) {
		return err_raise(err, -EINVAL,
				 "%s: a store of version %lld, of a newer sillage; this one knows "
				 "version %d",
				 path, (long long)version, STORE_VERSION);
	}
	return 0;
}

int sqlite_open(const char *path, int flags, sqlite3 **ret, bool *ret_is_new, struct err *err)
{
	int r = sqlite_connect(path, flags, ret, err);

	if (r == 0) {
		(void)sqlite3_limit(*ret, SQLITE_LIMIT_LENGTH, STORE_ROW_BYTES_MAX);
		r = check(*ret, path, ret_is_new, err);
	}
	if (r < 0) {
		(void)sqlite3_close(*ret);
		*ret = NULL;
	}
	return r;
}

/* Whether the file may be read, and nothing can be written beside it. */
static bool is_in_fixed_folder(const char *path)
{
	char *copy = mem_strdup(path);
	bool is_fixed = access(path, R_OK) == 0 && access(dirname(copy), W_OK) != 0;

	free(copy);
	return is_fixed;
}

/* Whether a writer's files are there: it was killed, or another user's writes now. */
static bool has_writer(const char *path)
{
	char *log = mem_printf("%s-wal", path), *index = mem_printf("%s-shm", path);
	bool is_there = access(log, F_OK) == 0 || access(index, F_OK) == 0;

	free(log);
	free(index);
	return is_there;
}

/* "file:/a%3fb?immutable=1".  The caller frees it. */
static char *fixed_uri(const char *path)
{
	char *uri = NULL;
	size_t size;
	FILE *out = open_memstream(&uri, &size);

	(void)fputs(path[0] == '/' ? "file://" : "file:", out);
	for (; *path; path++) {
		(void)fprintf(out, strchr("%?#", *path) ? "%%%02x" : "%c", (unsigned char)*path);
	}
	(void)fputs("?immutable=1", out);
	(void)fclose(out);
	return uri;
}

int sqlite_open_read(const char *path, sqlite3 **ret, bool *ret_is_new, struct err *err)
{
	struct err why = { 0 };
	int r = sqlite_open(path, SQLITE_OPEN_READONLY, ret, ret_is_new, &why);
	char *uri;

	if (r != -EROFS || !is_in_fixed_folder(path)) {
		*err = r < 0 ? why : *err;
		return r;
	}
	if (has_writer(path)) {
		return err_raise(
			err, -EROFS,
			"%s: its folder may not be written, and beside it are files of a "
			"run that writes it, or was killed: it is read by who may write there",
			path);
	}
	uri = fixed_uri(path);
	r = sqlite_open(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, ret, ret_is_new, err);
	free(uri);
	return r;
}

int sqlite_step(sqlite3 *db, const char *path, sqlite3_stmt *statement, struct err *err)
{
	int r = sqlite3_step(statement);

	r = r == SQLITE_DONE || r == SQLITE_ROW ? 0 : sqlite_failed(db, path, err);
	(void)sqlite3_reset(statement);
	return r;
}

int sqlite_prepare_all(sqlite3 *db, const char *path, const struct sqlite_statement *all,
		       size_t count, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = sqlite_prepare(db, path, all[i].sql, all[i].ret, err);
	}
	return r;
}

int sqlite_next_level(sqlite3 *db, const char *path, sqlite3_stmt *next, uint64_t *level,
		      struct err *err)
{
	int r;

	sqlite_bind(next, 1, *level);
	r = sqlite3_step(next) == SQLITE_ROW ? 0 : sqlite_failed(db, path, err);
	*level = r == 0 ? (uint64_t)sqlite3_column_int64(next, 0) : 0; /* of NULL that is 0 */
	(void)sqlite3_reset(next);
	return r;
}

void sqlite_bind_(sqlite3_stmt *statement, int at, const int64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)sqlite3_bind_int64(statement, at + (int)i, values[i]);
	}
}

char *sqlite_text(sqlite3_stmt *row, int at)
{
	return mem_strdup_if((const char *)sqlite3_column_text(row, at));
}

char *sqlite_text_or_empty(sqlite3_stmt *row, int at)
{
	char *text = sqlite_text(row, at);

	return text ? text : mem_strdup("");
}

void sqlite_close(sqlite3 *db)
{
	sqlite3_stmt *statement;

	while (db && (statement = sqlite3_next_stmt(db, NULL))) {
		(void)sqlite3_finalize(statement);
	}
	(void)sqlite3_close(db);
}

bool sqlite_has_column(sqlite3_stmt *columns, const char *name)
{
	(void)sqlite3_reset(columns);
	while (sqlite3_step(columns) == SQLITE_ROW) {
		const char *known = (const char *)sqlite3_column_text(columns, 0);

		if (known && strcmp(known, name) == 0) {
			return true;
		}
	}
	return false;
}

const char *const sqlite_other_tables[] = {
	"losses", "triggers", "captures", "phases", "gaps", NULL
};

const char sqlite_first_tables[] =
	"CREATE TABLE IF NOT EXISTS traces(trace INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
	" uuid TEXT, host TEXT, session TEXT, domain TEXT, path TEXT, tracer TEXT) STRICT;"
	"CREATE TABLE IF NOT EXISTS windows(level INTEGER, begin INTEGER, trace INTEGER,"
	" \"end\" INTEGER, complete INTEGER, lag_ns INTEGER, events INTEGER, discarded INTEGER,"
	" lost_packets INTEGER, bad_packets INTEGER, late_events INTEGER, analyses TEXT,"
	" missing TEXT, unknown TEXT, anomalies INTEGER, misfits INTEGER,"
	" PRIMARY KEY(level, begin, trace)) STRICT, WITHOUT ROWID;"
	/* Those of one trace, next to a time. */
	"CREATE INDEX IF NOT EXISTS windows_of_traces ON windows(trace, level, begin);"
	/* Which analyses windows of one length have. */
	"CREATE INDEX IF NOT EXISTS windows_of_analyses ON windows(trace, level, analyses);"
	"CREATE TABLE IF NOT EXISTS threads(level INTEGER, begin INTEGER, trace INTEGER,"
	" tid INTEGER, nth INTEGER, was_tid INTEGER, was_nth INTEGER, is_reused INTEGER,"
	" pid INTEGER, comm TEXT, prio INTEGER, container INTEGER,"
	" PRIMARY KEY(level, begin, trace, tid, nth)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS losses(trace INTEGER, what TEXT, stream TEXT, packet INTEGER,"
	" begin INTEGER, \"end\" INTEGER, message TEXT,"
	" PRIMARY KEY(trace, what, stream, packet, begin)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS triggers(trace INTEGER, name TEXT, \"end\" INTEGER,"
	" begin INTEGER, json TEXT, PRIMARY KEY(trace, name, \"end\")) STRICT, WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS captures(host TEXT, session TEXT, begin INTEGER, \"end\" "
	"INTEGER,"
	" path TEXT, json TEXT, PRIMARY KEY(host, session, begin, \"end\", path)) STRICT,"
	" WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS phases(trace INTEGER, slice_ns INTEGER, begin INTEGER,"
	" \"end\" INTEGER, number INTEGER, slices INTEGER, open INTEGER, change TEXT, json TEXT,"
	" PRIMARY KEY(trace, slice_ns, begin)) STRICT, WITHOUT ROWID;"
	/* What was found of a time takes the place of what was there: another run may have cut
	 * elsewhere. */
	"CREATE TRIGGER IF NOT EXISTS phases_once BEFORE INSERT ON phases BEGIN"
	" DELETE FROM phases WHERE trace = NEW.trace AND slice_ns = NEW.slice_ns"
	" AND begin < NEW.\"end\" AND \"end\" > NEW.begin; END;"
	"CREATE TABLE IF NOT EXISTS gaps(begin INTEGER, \"end\" INTEGER, windows INTEGER,"
	" why TEXT) STRICT;";
