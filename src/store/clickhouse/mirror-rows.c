/*
 * mirror-rows: see mirror-rows.h.
 */
#include "store/clickhouse/mirror-rows.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "store/rows/item.h"
#include "store/sqlite/sqlite.h"

int mirror_failed(struct mirror *mirror, struct err *err)
{
	return sqlite_failed(mirror->db, "the mirror of a store", err);
}

int mirror_rows_damaged(const struct mirror_rows *rows, struct err *err)
{
	return err_raise(err, -EREMOTEIO, "damaged: a row of %s is impossible", rows->table->name);
}

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

static bool take_number(const char *text, size_t len, int64_t *ret)
{
	bool is_negative = len > 0 && text[0] == '-';
	uint64_t number = 0;

	for (size_t i = is_negative; i < len; i++) {
		if (text[i] < '0' || text[i] > '9') {
			return false;
		}
		number = number * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = (int64_t)(is_negative ? -number : number);
	return len > is_negative;
}

/* Binds a field.  0: the row is not wanted; negative: it is damaged. */
static int take_field(struct mirror_rows *rows, size_t at, char *text, size_t len)
{
	enum clickhouse_type type = rows->table->columns[at].type;
	int to = (int)at + 1;
	int64_t number;

	if (type == CLICKHOUSE_TRACE) {
		number = mirror_trace_number(rows->mirror, text, len);
		(void)sqlite3_bind_int64(rows->insert, to, number);
		return number >= 0;
	}
	if (len == 2 && text[0] == '\\' && text[1] == 'N') {
		(void)sqlite3_bind_null(rows->insert, to);
		return 1;
	}
	if (type == CLICKHOUSE_INT || type == CLICKHOUSE_INT_OR_NULL ||
	    type == CLICKHOUSE_VERSION) {
		if (!take_number(text, len, &number)) {
			return -EINVAL;
		}
		(void)sqlite3_bind_int64(rows->insert, to, number);
		return 1;
	}
	(void)sqlite3_bind_text(rows->insert, to, text, (int)mirror_unescape(text, len),
				SQLITE_STATIC);
	return 1;
}

/* ---- rows ---- */

/* A row that is older than its window's head was replaced with all others of that window. */
static bool is_current(struct mirror_rows *rows, int64_t level, int64_t begin, int64_t trace,
		       uint64_t version)
{
	sqlite3_stmt *find = rows->mirror->find_version;

	if (!rows->is_known || level != rows->level || begin != rows->begin ||
	    trace != rows->trace) {
		(void)sqlite3_bind_int64(find, 1, level);
		(void)sqlite3_bind_int64(find, 2, begin);
		(void)sqlite3_bind_int64(find, 3, trace);
		rows->version = sqlite3_step(find) == SQLITE_ROW
					? (uint64_t)sqlite3_column_int64(find, 0)
					: UINT64_MAX;
		(void)sqlite3_reset(find);
		rows->level = level;
		rows->begin = begin;
		rows->trace = trace;
		rows->is_known = true;
	}
	return version >= rows->version;
}

/* The first columns are level, begin and trace, the last the version. */
static bool is_row_current(struct mirror_rows *rows, char *const *fields, const size_t *lens)
{
	int64_t level = 0, begin = 0, version = 0;

	(void)take_number(fields[0], lens[0], &level);
	(void)take_number(fields[1], lens[1], &begin);
	(void)take_number(fields[rows->table->count - 1], lens[rows->table->count - 1], &version);
	return is_current(rows, level, begin, mirror_trace_number(rows->mirror, fields[2], lens[2]),
			  (uint64_t)version);
}

static int take_row(struct mirror_rows *rows, char *line, size_t len, struct err *err)
{
	char *fields[STORE_COLUMNS_MAX + 4];
	size_t lens[STORE_COLUMNS_MAX + 4], count = 0;
	int r = 1;

	for (char *at = line, *end = line + len;; at++) {
		char *tab = memchr(at, '\t', (size_t)(end - at));

		if (count == rows->table->count) {
			return mirror_rows_damaged(rows, err);
		}
		fields[count] = at;
		lens[count++] = (size_t)((tab ? tab : end) - at);
		if (!tab) {
			break;
		}
		at = tab;
	}
	if (count != rows->table->count) {
		return mirror_rows_damaged(rows, err);
	}
	if (rows->of_windows && !is_row_current(rows, fields, lens)) {
		return 0;
	}
	for (size_t i = 0; r > 0 && i < count; i++) {
		r = take_field(rows, i, fields[i], lens[i]);
	}
	if (r < 0) {
		return mirror_rows_damaged(rows, err);
	}
	if (r > 0) {
		r = sqlite3_step(rows->insert) == SQLITE_DONE ? 0
							      : mirror_failed(rows->mirror, err);
		(void)sqlite3_reset(rows->insert);
	}
	return r;
}

int mirror_rows_take(void *user, const char *data, size_t len, struct err *err)
{
	struct mirror_rows *rows = user;
	size_t begin = 0;
	char *end;
	int r = 0;

	if (rows->rest.count + len > CLICKHOUSE_ROW_BYTES_MAX) {
		return mirror_rows_damaged(rows, err);
	}
	vec_append(&rows->rest, data, len);
	while (r == 0 && begin < rows->rest.count &&
	       (end = memchr(rows->rest.at + begin, '\n', rows->rest.count - begin))) {
		r = take_row(rows, rows->rest.at + begin, (size_t)(end - rows->rest.at) - begin,
			     err);
		begin = (size_t)(end - rows->rest.at) + 1;
	}
	memmove(rows->rest.at, rows->rest.at + begin, rows->rest.count - begin);
	rows->rest.count -= begin;
	return r;
}
