/*
 * mirror-rows: see mirror-rows.h.
 */
#include "store/clickhouse/mirror-rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/rows/head.h"
#include "store/rows/item.h"
#include "store/sqlite/sqlite.h"

/* ---- fields ---- */

size_t mirror_unescape(char *text, size_t len)
{
	static const char letters[] = "tnr0bf", bytes[] = "\t\n\r\0\b\f";
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		const char *found;

		if (text[i] == '\\' && i + 1 < len) {
			i++;
			found = text[i] ? strchr(letters, text[i]) : NULL;
			text[used++] = found ? bytes[found - letters] : text[i];
		} else {
			text[used++] = text[i];
		}
	}
	return used;
}

int64_t mirror_trace_number(const struct mirror *mirror, const char *name, size_t len)
{
	size_t low = 0, high = len == STORE_TRACE_TEXT - 1 ? mirror->traces.count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(mirror->traces.at[middle], name, len);

		if (order == 0) {
			return !mirror->wanted || mirror->wanted[middle] ? (int64_t)middle : -1;
		}
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return -1;
}

/* Binds a field.  0: the row is not wanted; negative: it is damaged. */
static int take_field(struct mirror_rows *rows, size_t at, char *text, size_t len)
{
	enum clickhouse_type type = rows->table->columns[at].type;
	int to = (int)at + 1;
	uint64_t version;
	int64_t number;

	assert_hot(at < rows->table->count);
	if (type == CLICKHOUSE_TRACE) {
		number = mirror_trace_number(rows->mirror, text, len);
		(void)sqlite3_bind_int64(rows->insert, to, number);
		return number >= 0;
	}
	if (len == 2 && text[0] == '\\' && text[1] == 'N') {
		(void)sqlite3_bind_null(rows->insert, to);
		return 1;
	}
	if (type == CLICKHOUSE_VERSION && clickhouse_take_version(text, len, &version)) {
		(void)sqlite3_bind_int64(rows->insert, to, (int64_t)version);
		return 1;
	}
	if (type == CLICKHOUSE_INT || type == CLICKHOUSE_INT_OR_NULL ||
	    type == CLICKHOUSE_VERSION) {
		if (type == CLICKHOUSE_VERSION || !clickhouse_take_int(text, len, &number)) {
			return -EINVAL;
		}
		(void)sqlite3_bind_int64(rows->insert, to, number);
		return 1;
	}
	(void)sqlite3_bind_text(rows->insert, to, text, (int)mirror_unescape(text, len),
				SQLITE_STATIC);
	return 1;
}

/* ---- windows ---- */

static void bind_window(const struct mirror_rows *rows, sqlite3_stmt *to)
{
	sqlite_bind(to, 1, rows->level, rows->begin, rows->trace);
}

/* The window that a row is of, and the row's version.  check_columns() has seen to it that the
 * table has them. */
static bool take_place(struct mirror_rows *rows, char *const *fields, const size_t *lens)
{
	size_t last = rows->table->count - 1;
	uint64_t level, begin;
	int64_t trace;

	assert(rows->table->count > CLICKHOUSE_FIRST_KEYS);
	if (!clickhouse_take_ns(fields[0], lens[0], &level) || level == 0 ||
	    !clickhouse_take_ns(fields[1], lens[1], &begin) ||
	    !clickhouse_take_version(fields[last], lens[last], &rows->own_version)) {
		return false;
	}
	trace = mirror_trace_number(rows->mirror, fields[2], lens[2]);
	rows->is_same_window = rows->is_known && (int64_t)level == rows->level &&
			       (int64_t)begin == rows->begin && trace == rows->trace;
	rows->level = (int64_t)level;
	rows->begin = (int64_t)begin;
	rows->trace = trace;
	rows->is_known = true;
	return true;
}

/* ---- heads ---- */

int mirror_rows_prepare(struct mirror *mirror, struct err *err)
{
	const struct sqlite_statement all[] = {
		{ &mirror->find_version, "SELECT version FROM windows WHERE level = ? AND begin = ?"
					 " AND trace = ?" },
		{ &mirror->find_others, "SELECT version, analyses FROM other_heads WHERE level = ?"
					" AND begin = ? AND trace = ?" },
		{ &mirror->put_other, "INSERT OR REPLACE INTO other_heads(level, begin, trace,"
				      " version, analyses) VALUES(?, ?, ?, ?, ?)" },
		{ &mirror->remove_others, "DELETE FROM other_heads WHERE level = ? AND begin = ?"
					  " AND trace = ?" },
		{ &mirror->find_head, "SELECT analyses, missing, unknown, \"end\", complete, events"
				      " FROM windows WHERE level = ? AND begin = ?"
				      " AND trace = ?" },
		{ &mirror->join_head, "UPDATE windows SET analyses = ?4, missing = ?5, unknown = ?6"
				      " WHERE level = ?1 AND begin = ?2 AND trace = ?3" },
	};
	int r = sqlite_run(mirror->db, mirror->url.shown,
			   "CREATE TABLE other_heads(level INTEGER, begin INTEGER, trace INTEGER,"
			   " version INTEGER, analyses TEXT, PRIMARY KEY(level, begin, trace,"
			   " version)) STRICT, WITHOUT ROWID",
			   err);

	return r < 0 ? r
		     : sqlite_prepare_all(mirror->db, mirror->url.shown, all, ARRAY_COUNT(all),
					  err);
}

void mirror_rows_fini(struct mirror_rows *rows)
{
	vec_fini(&rows->others);
}

static int step(struct mirror_rows *rows, sqlite3_stmt *statement, struct err *err)
{
	return sqlite_step(rows->mirror->db, MIRROR_NAME, statement, err);
}

/* The field of that column; "": there is none. */
static char *field_of(const struct mirror_rows *rows, char *const *fields, const size_t *lens,
		      const char *name)
{
	for (size_t i = 0; i < rows->table->count; i++) {
		if (strcmp(rows->table->columns[i].name, name) == 0) {
			char *text = mem_alloc(lens[i] + 1); /* there may be a 0 in it */

			memcpy(text, fields[i], lens[i]);
			text[mirror_unescape(text, lens[i])] = '\0';
			return text;
		}
	}
	return mem_strdup("");
}

static bool is_number(const struct mirror_rows *rows, char *const *fields, const size_t *lens,
		      const char *name, int64_t wanted)
{
	char *text = field_of(rows, fields, lens, name);
	int64_t number = 0;
	bool is_so = clickhouse_take_int(text, strlen(text), &number) && number == wanted;

	free(text);
	return is_so;
}

static int put_other(struct mirror_rows *rows, const struct store_head *all, const char *lists,
		     uint64_t version, struct err *err)
{
	sqlite3_stmt *join = rows->mirror->join_head, *put = rows->mirror->put_other;
	int r;

	rows->mirror->has_others = true;
	bind_window(rows, join);
	(void)sqlite3_bind_text(join, 4, all->lists, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(join, 5, all->missing, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(join, 6, all->unknown, -1, SQLITE_STATIC);
	r = step(rows, join, err);
	bind_window(rows, put);
	(void)sqlite3_bind_int64(put, 4, (int64_t)version);
	(void)sqlite3_bind_text(put, 5, lists, -1, SQLITE_STATIC);
	return r < 0 ? r : step(rows, put, err);
}

/* An older head of the window whose head is there: if it is of the same window, the analyses that
 * the newer one lacks stay, as in a file of SQLite. */
static int take_older_head(struct mirror_rows *rows, char *const *fields, const size_t *lens,
			   struct err *err)
{
	struct store_head head = { 0 }, others = { 0 };
	struct store_head older = { field_of(rows, fields, lens, "analyses"),
				    field_of(rows, fields, lens, "missing"),
				    field_of(rows, fields, lens, "unknown") };
	sqlite3_stmt *find = rows->mirror->find_head;
	int r = 0;

	bind_window(rows, find);
	if (sqlite3_step(find) == SQLITE_ROW &&
	    is_number(rows, fields, lens, "end", sqlite3_column_int64(find, 3)) &&
	    is_number(rows, fields, lens, "complete", sqlite3_column_int64(find, 4)) &&
	    is_number(rows, fields, lens, "events", sqlite3_column_int64(find, 5))) {
		head = (struct store_head){ sqlite_text_or_empty(find, 0),
					    sqlite_text_or_empty(find, 1),
					    sqlite_text_or_empty(find, 2) };
		store_head_others(&older, head.lists, &others);
		store_head_join(&head, &others);
	}
	(void)sqlite3_reset(find);
	if (others.lists && others.lists[0]) {
		r = put_other(rows, &head, others.lists, rows->own_version, err);
	}
	store_head_fini(&head);
	store_head_fini(&others);
	store_head_fini(&older);
	return r;
}

/* What an earlier look found of the window goes. */
static int forget_others(struct mirror_rows *rows, struct err *err)
{
	if (!rows->mirror->has_others) {
		return 0;
	}
	bind_window(rows, rows->mirror->remove_others);
	return step(rows, rows->mirror->remove_others, err);
}

/* ---- rows ---- */

static void find_others(struct mirror_rows *rows)
{
	sqlite3_stmt *find = rows->mirror->find_others;

	rows->others.count = 0;
	if (!rows->mirror->has_others) {
		return;
	}
	bind_window(rows, find);
	while (sqlite3_step(find) == SQLITE_ROW) {
		uint64_t version = (uint64_t)sqlite3_column_int64(find, 0);
		const char *lists = (const char *)sqlite3_column_text(find, 1);

		if (!rows->analysis) {
			*vec_push(&rows->others) = version;
		} else if (store_head_names(lists, rows->analysis)) {
			rows->version = version;
		}
	}
	(void)sqlite3_reset(find);
}

/* A row that is older than its window's head was replaced with all others of that window.  It may
 * be newer: its head is on its way. */
static bool is_row_current(struct mirror_rows *rows)
{
	sqlite3_stmt *find = rows->mirror->find_version;

	if (!rows->is_same_window) {
		bind_window(rows, find);
		rows->version = sqlite3_step(find) == SQLITE_ROW
					? (uint64_t)sqlite3_column_int64(find, 0)
					: UINT64_MAX;
		(void)sqlite3_reset(find);
		find_others(rows);
	}
	for (size_t i = 0; i < rows->others.count; i++) {
		if (rows->own_version == rows->others.at[i]) {
			return true;
		}
	}
	return rows->own_version >= rows->version;
}

int mirror_rows_take(void *user, char *const *fields, const size_t *lens, struct err *err)
{
	struct mirror_rows *rows = user;
	int r = 1;

	if ((rows->of_windows || rows->of_heads) && !take_place(rows, fields, lens)) {
		return 0;
	}
	if (rows->of_windows && !is_row_current(rows)) {
		return 1;
	}
	if (rows->of_heads && rows->is_same_window) {
		r = rows->trace < 0 ? 0 : take_older_head(rows, fields, lens, err);
		return r < 0 ? r : 1;
	}
	if (rows->of_heads && (r = forget_others(rows, err)) < 0) {
		return r;
	}
	r = 1;
	for (size_t i = 0; r > 0 && i < rows->table->count; i++) {
		r = take_field(rows, i, fields[i], lens[i]);
	}
	if (r != 1) { /* of no trace that is wanted; or impossible */
		return r == 0;
	}
	r = step(rows, rows->insert, err);
	return r < 0 ? r : 1;
}
