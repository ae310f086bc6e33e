/*
 * spool: see spool.h.
 */
#include "store/clickhouse/spool.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/sqlite/sqlite.h"

#define SPOOL_ID      0x53494c53 /* application_id: "SILS" */
#define SPOOLS_MAX    16         /* processes that write to one store */
#define TABLE_BYTES   64
#define SPOOL_LEVEL_Z 1

struct spool {
	sqlite3 *db;
	char *path;
	uint64_t most, bytes; /* that it may take, and that it has */
	int64_t last;
	uint64_t batches;
	bool has_aside; /* batches that were set aside */
	sqlite3_stmt *put, *put_part, *first, *parts, *drop, *drop_parts, *windows;
};

/* ---- where ---- */

/* The caller frees it; NULL: there is no such place. */
static char *folder(void)
{
	const char *state = getenv("STATE_DIRECTORY"), *xdg = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state && *state) {
		return mem_printf("%.*s", (int)strcspn(state, ":"), state);
	}
	if (xdg && *xdg) {
		return mem_printf("%s/sillage", xdg);
	}
	return home && *home ? mem_printf("%s/.local/state/sillage", home) : NULL;
}

static void make_folders(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	(void)mkdir(path, 0700);
}

/* "clickhouse://host:8123/base" is spool-host-8123-base.db. */
static char *own_path(const char *in, const struct clickhouse_url *url, unsigned int nth)
{
	char name[200], number[16] = "";
	size_t len = 0;

	for (const char *at = url->shown + strlen("clickhouse://"); *at && len < 180; at++) {
		bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
				(*at >= '0' && *at <= '9') || *at == '.' || *at == '_';

		name[len++] = is_plain ? *at : '-';
	}
	name[len] = '\0';
	if (nth > 0) {
		(void)snprintf(number, sizeof(number), "-%u", nth + 1);
	}
	return mem_printf("%s/spool-%s%s.db", in, name, number);
}

/* ---- opening ---- */

static int prepare_all(struct spool *spool, struct err *err)
{
	const struct sqlite_statement all[] = {
		{ &spool->put, "INSERT INTO batches(number, windows, begin, \"end\", rows,"
			       " lost, lost_begin, lost_end, why, bytes)"
			       " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
		{ &spool->put_part, "INSERT INTO parts(number, nth, name, size, body)"
				    " VALUES(?, ?, ?, ?, ?)" },
		{ &spool->first, "SELECT number, windows, begin, \"end\", rows, lost, lost_begin,"
				 " lost_end, why FROM batches ORDER BY number LIMIT 1" },
		{ &spool->parts, "SELECT name, size, body FROM parts WHERE number = ?"
				 " ORDER BY nth" },
		{ &spool->drop, "DELETE FROM batches WHERE number = ?" },
		{ &spool->drop_parts, "DELETE FROM parts WHERE number = ?" },
		{ &spool->windows, "SELECT sum(windows) FROM batches WHERE number >= ?" },
	};

	return sqlite_prepare_all(spool->db, spool->path, all, ARRAY_COUNT(all), err);
}

static int begin_file(struct spool *spool, const struct clickhouse_url *url, struct err *err)
{
	char *sql = sqlite3_mprintf(
		"PRAGMA application_id = %d;"
		"CREATE TABLE IF NOT EXISTS of(store TEXT PRIMARY KEY) STRICT;"
		"INSERT OR IGNORE INTO of VALUES(%Q);"
		"CREATE TABLE IF NOT EXISTS batches(number INTEGER PRIMARY KEY, windows INTEGER,"
		" begin INTEGER, \"end\" INTEGER, rows INTEGER, lost INTEGER, lost_begin INTEGER,"
		" lost_end INTEGER, why TEXT, bytes INTEGER) STRICT;"
		"CREATE TABLE IF NOT EXISTS parts(number INTEGER, nth INTEGER, name TEXT,"
		" size INTEGER, body BLOB, PRIMARY KEY(number, nth)) STRICT;"
		"CREATE TABLE IF NOT EXISTS aside(at INTEGER, nth INTEGER, name TEXT, size INTEGER,"
		" body BLOB, why TEXT) STRICT",
		SPOOL_ID, url->shown);
	int r = sqlite_run(spool->db, spool->path, sql, err);

	sqlite3_free(sql);
	return r;
}

static int one_number(struct spool *spool, const char *sql, int64_t *ret, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int r = sqlite_prepare(spool->db, spool->path, sql, &statement, err);

	*ret = r == 0 && sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0)
							       : 0;
	(void)sqlite3_finalize(statement);
	return r;
}

static int check_file(struct spool *spool, const struct clickhouse_url *url, struct err *err)
{
	int64_t id = 0, tables = 0, others = 0;
	int r = one_number(spool, "PRAGMA application_id", &id, err);
	char *sql;

	r = r < 0 ? r : one_number(spool, "SELECT count(*) FROM sqlite_master", &tables, err);
	if (r < 0 || tables == 0) {
		return r;
	}
	if (id != SPOOL_ID) {
		return err_raise(err, -EINVAL, "%s: is no spool of a store", spool->path);
	}
	sql = sqlite3_mprintf("SELECT count(*) FROM of WHERE store <> %Q", url->shown);
	r = one_number(spool, sql, &others, err);
	sqlite3_free(sql);
	if (r == 0 && others > 0) {
		r = err_raise(err, -EINVAL, "%s: has windows of another store than %s", spool->path,
			      url->shown);
	}
	return r;
}

static int count_all(struct spool *spool, struct err *err)
{
	int64_t bytes = 0, batches = 0, aside = 0;
	int r = one_number(spool, "SELECT sum(bytes) FROM batches", &bytes, err);

	r = r < 0 ? r : one_number(spool, "SELECT count(*) FROM batches", &batches, err);
	r = r < 0 ? r : one_number(spool, "SELECT max(number) FROM batches", &spool->last, err);
	r = r < 0 ? r : one_number(spool, "SELECT count(*) FROM aside", &aside, err);
	spool->has_aside = aside > 0;
	spool->bytes = (uint64_t)bytes;
	spool->batches = (uint64_t)batches;
	return r;
}

/* Its rows are for its owner alone, wherever it is.  The file is not opened for that: to close it
 * again would free the locks that another spool of this process has on it. */
static void make_private(const char *path)
{
	char *above = mem_strdup(path), *last = strrchr(above, '/');
	struct stat file;

	if (last && last > above) {
		*last = '\0';
		make_folders(above);
	}
	free(above);
	if (mknod(path, S_IFREG | 0600, 0) < 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
	    file.st_uid == geteuid()) {
		(void)chmod(path, 0600);
	}
}

/* The file is locked as long as it is open. */
static int open_at(char *path, const struct clickhouse_url *url, struct spool **ret,
		   struct err *err)
{
	struct spool *spool = mem_alloc(sizeof(*spool));
	int r;

	spool->path = path;
	spool->most = url->spool_bytes;
	make_private(path);
	r = sqlite_connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &spool->db, err);
	/* Before anything else: no other process sees the file, and no -shm is made. */
	r = r < 0 ? r : sqlite_run(spool->db, path, "PRAGMA locking_mode = EXCLUSIVE", err);
	r = r < 0 ? r : check_file(spool, url, err);
	r = r < 0 ? r
		  : sqlite_run(spool->db, path,
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = FULL; BEGIN EXCLUSIVE",
			       err);
	r = r < 0 ? r : begin_file(spool, url, err);
	r = r < 0 ? r : sqlite_run(spool->db, path, "COMMIT", err);
	r = r < 0 ? r : count_all(spool, err);
	r = r < 0 ? r : prepare_all(spool, err);
	if (r < 0) {
		r = spool->db && (sqlite3_errcode(spool->db) & 0xff) == SQLITE_BUSY ? -EBUSY : r;
		spool->batches = 1; /* it is not ours to remove */
		spool_close(spool);
		return r;
	}
	*ret = spool;
	return 0;
}

int spool_open(const struct clickhouse_url *url, struct spool **ret, struct err *err)
{
	char *in;
	int r = -EBUSY;

	if (url->spool) {
		return open_at(mem_strdup(url->spool), url, ret, err);
	}
	in = folder();
	if (!in) {
		return err_raise(err, -ENOENT,
				 "%s: no place for a spool: neither spool=FILE nor HOME is given",
				 url->shown);
	}
	/* Another process may have the first. */
	for (unsigned int nth = 0; r == -EBUSY && nth < SPOOLS_MAX; nth++) {
		r = open_at(own_path(in, url, nth), url, ret, err);
	}
	free(in);
	return r;
}

void spool_close(struct spool *spool)
{
	if (!spool) {
		return;
	}
	if (spool->batches == 0 && !spool->has_aside) { /* before the lock is gone */
		char *wal = mem_printf("%s-wal", spool->path);

		(void)unlink(spool->path);
		(void)unlink(wal);
		free(wal);
	}
	sqlite_close(spool->db);
	free(spool->path);
	free(spool);
}

const char *spool_path(const struct spool *spool)
{
	return spool->path;
}

int64_t spool_last(const struct spool *spool)
{
	return spool->last;
}

bool spool_is_empty(const struct spool *spool)
{
	return spool->batches == 0;
}

/* ---- writing ---- */

static int put_part(struct spool *spool, const struct clickhouse_batch *batch, size_t nth,
		    uint64_t *bytes, struct err *err)
{
	const struct clickhouse_part *part = &batch->parts.at[nth];
	struct clickhouse_table *table = clickhouse_table_new(part->table);
	size_t room = ZSTD_compressBound(part->body.count);
	char *packed = mem_alloc(room);
	size_t len = ZSTD_compress(packed, room, part->body.at, part->body.count, SPOOL_LEVEL_Z);
	int r;

	assert(!ZSTD_isError(len));
	assert(table);
	sqlite_bind(spool->put_part, 1, batch->number, nth);
	(void)sqlite3_bind_text(spool->put_part, 3, table->name, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(spool->put_part, 4, (int64_t)part->body.count);
	(void)sqlite3_bind_blob64(spool->put_part, 5, packed, len, SQLITE_STATIC);
	r = sqlite_step(spool->db, spool->path, spool->put_part, err);
	*bytes += len + TABLE_BYTES;
	if (r == 0 && spool->bytes + *bytes > spool->most) {
		r = err_raise(err, -ENOSPC, "%s: the spool is full (%llu bytes)", spool->path,
			      (unsigned long long)spool->most);
	}
	free(packed);
	free(table);
	return r;
}

static int put_batch(struct spool *spool, const struct clickhouse_batch *batch, uint64_t bytes,
		     struct err *err)
{
	sqlite3_stmt *put = spool->put;
	const int64_t figures[] = {
		batch->number,
		(int64_t)batch->windows.windows,
		(int64_t)batch->windows.begin,
		(int64_t)batch->windows.end,
		(int64_t)batch->rows,
		(int64_t)batch->gap.windows,
		(int64_t)batch->gap.begin,
		(int64_t)batch->gap.end,
	};
	int at = 0;

	for (; at < (int)ARRAY_COUNT(figures); at++) {
		(void)sqlite3_bind_int64(put, at + 1, figures[at]);
	}
	(void)sqlite3_bind_text(put, at + 1, batch->gap.why, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(put, at + 2, (int64_t)bytes);
	return sqlite_step(spool->db, spool->path, put, err);
}

int spool_put(struct spool *spool, const struct clickhouse_batch *batch, struct err *err)
{
	uint64_t bytes = 0;
	int r = sqlite_run(spool->db, spool->path, "BEGIN", err);

	for (size_t i = 0; r == 0 && i < batch->parts.count; i++) {
		r = put_part(spool, batch, i, &bytes, err);
	}
	r = r < 0 ? r : put_batch(spool, batch, bytes, err);
	r = r < 0 ? r : sqlite_run(spool->db, spool->path, "COMMIT", err);
	if (r < 0) {
		(void)sqlite3_exec(spool->db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	spool->bytes += bytes;
	spool->batches++;
	spool->last = batch->number > spool->last ? batch->number : spool->last;
	return 0;
}

int spool_drop(struct spool *spool, int64_t number, struct err *err)
{
	int r = sqlite_run(spool->db, spool->path, "BEGIN", err);

	(void)sqlite3_bind_int64(spool->drop, 1, number);
	(void)sqlite3_bind_int64(spool->drop_parts, 1, number);
	r = r < 0 ? r : sqlite_step(spool->db, spool->path, spool->drop, err);
	r = r < 0 ? r : sqlite_step(spool->db, spool->path, spool->drop_parts, err);
	r = r < 0 ? r : sqlite_run(spool->db, spool->path, "COMMIT", err);
	if (r < 0) {
		(void)sqlite3_exec(spool->db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	return count_all(spool, err);
}

/* Of a batch all parts have the time of the latest. */
int spool_set_aside(struct spool *spool, int64_t number, const char *why, struct err *err)
{
	char *sql = sqlite3_mprintf(
		"BEGIN; INSERT INTO aside SELECT (SELECT ifnull(max(at), 0) + 1 FROM aside), nth,"
		" name, size, body, %Q FROM parts WHERE number = %lld;"
		"DELETE FROM aside WHERE at <= (SELECT max(at) FROM aside) - %d; COMMIT",
		why, (long long)number, SPOOL_ASIDE_MAX);
	int r = sqlite_run(spool->db, spool->path, sql, err);

	sqlite3_free(sql);
	if (r < 0) {
		(void)sqlite3_exec(spool->db, "ROLLBACK", NULL, NULL, NULL);
	}
	return r < 0 ? r : spool_drop(spool, number, err);
}

/* ---- reading ---- */

static int take_part(struct spool *spool, struct clickhouse_batch *batch, struct err *err)
{
	const char *name = (const char *)sqlite3_column_text(spool->parts, 0);
	int64_t size = sqlite3_column_int64(spool->parts, 1);
	const void *packed = sqlite3_column_blob(spool->parts, 2);
	size_t len = (size_t)sqlite3_column_bytes(spool->parts, 2);
	struct clickhouse_part *part = vec_push(&batch->parts);

	*part = (struct clickhouse_part){ .table = name ? clickhouse_table_number(name)
							: UINT32_MAX };
	if (part->table == UINT32_MAX || size <= 0 || size > INT32_MAX || !packed ||
	    ZSTD_getFrameContentSize(packed, len) != (unsigned long long)size) {
		return err_raise(err, -EINVAL, "%s: damaged", spool->path);
	}
	vec_reserve(&part->body, (size_t)size);
	if (ZSTD_decompress(part->body.at, (size_t)size, packed, len) != (size_t)size) {
		return err_raise(err, -EINVAL, "%s: damaged", spool->path);
	}
	part->body.count = (size_t)size;
	batch->bytes += (size_t)size;
	return 0;
}

static void take_batch(sqlite3_stmt *first, struct clickhouse_batch *batch)
{
	const char *why = (const char *)sqlite3_column_text(first, 8);

	batch->number = sqlite3_column_int64(first, 0);
	batch->windows.windows = (uint64_t)sqlite3_column_int64(first, 1);
	batch->windows.begin = (uint64_t)sqlite3_column_int64(first, 2);
	batch->windows.end = (uint64_t)sqlite3_column_int64(first, 3);
	batch->rows = (uint64_t)sqlite3_column_int64(first, 4);
	batch->gap.windows = (uint64_t)sqlite3_column_int64(first, 5);
	batch->gap.begin = (uint64_t)sqlite3_column_int64(first, 6);
	batch->gap.end = (uint64_t)sqlite3_column_int64(first, 7);
	(void)snprintf(batch->gap.why, sizeof(batch->gap.why), "%s", why ? why : "");
}

int spool_first(struct spool *spool, struct clickhouse_batch **ret, struct err *err)
{
	struct clickhouse_batch *batch = clickhouse_batch_new();
	int r = 0, found;

	assert(spool->batches > 0);
	found = sqlite3_step(spool->first);
	if (found == SQLITE_ROW) {
		take_batch(spool->first, batch);
	} else {
		r = sqlite_failed(spool->db, spool->path, err);
	}
	(void)sqlite3_reset(spool->first);
	(void)sqlite3_bind_int64(spool->parts, 1, batch->number);
	while (r == 0 && (found = sqlite3_step(spool->parts)) == SQLITE_ROW) {
		r = take_part(spool, batch, err);
	}
	r = r < 0 || found == SQLITE_DONE ? r : sqlite_failed(spool->db, spool->path, err);
	(void)sqlite3_reset(spool->parts);
	if (r < 0) {
		clickhouse_batch_free(batch);
		return r;
	}
	*ret = batch;
	return 0;
}

uint64_t spool_windows(const struct spool *spool, int64_t number)
{
	uint64_t windows;

	(void)sqlite3_bind_int64(spool->windows, 1, number);
	windows = sqlite3_step(spool->windows) == SQLITE_ROW
			  ? (uint64_t)sqlite3_column_int64(spool->windows, 0)
			  : 0;
	(void)sqlite3_reset(spool->windows);
	return windows;
}
