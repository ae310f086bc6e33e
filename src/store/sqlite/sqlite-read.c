/*
 * sqlite-read: see sqlite-read.h.
 */
#include "store/sqlite/sqlite-read.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

/* Rows that are passed rather than looking for the window again, which takes as long as ten.  They
 * are those of other traces, twenty hosts have hundreds for each window. */
#define STEPS_MAX 4

int sqlite_cursor_open(sqlite3 *db, const char *path, const char *table, const char *columns,
		       struct sqlite_cursor *ret, struct err *err)
{
	char *sql = mem_printf("SELECT begin, trace%s FROM \"%s\" WHERE level = ?1 AND"
			       " (begin, trace) >= (?2, ?3) ORDER BY level, begin, trace",
			       columns, table);
	int r = sqlite_prepare(db, path, sql, &ret->scan, err);

	free(sql);
	assert(r < 0 || ret->scan);
	return r;
}

void sqlite_cursor_close(struct sqlite_cursor *cursor)
{
	(void)sqlite3_finalize(cursor->scan);
	cursor->scan = NULL;
}

static int step(struct sqlite_cursor *cursor)
{
	int r = sqlite3_step(cursor->scan);

	assert_hot(cursor->scan);
	cursor->has_row = r == SQLITE_ROW;
	if (cursor->has_row) {
		cursor->at.begin = sqlite3_column_int64(cursor->scan, 0);
		cursor->at.trace = sqlite3_column_int64(cursor->scan, 1);
	}
	return r == SQLITE_ROW || r == SQLITE_DONE ? 0 : -EIO;
}

static int compare(const struct sqlite_place *a, const struct sqlite_place *b)
{
	if (a->begin != b->begin) {
		return a->begin < b->begin ? -1 : 1;
	}
	return a->trace < b->trace ? -1 : a->trace > b->trace;
}

static bool is_at(const struct sqlite_cursor *cursor, const struct sqlite_place *place)
{
	return cursor->has_row && compare(&cursor->at, place) == 0;
}

int sqlite_cursor_seek(struct sqlite_cursor *cursor, const struct sqlite_place *place)
{
	int r = 0;

	if (!cursor->scan) {
		return 0;
	}
	/* At the end, the last row is before all that has no rows. */
	if (cursor->is_open && cursor->at.level == place->level &&
	    compare(&cursor->at, place) < cursor->has_row) {
		for (int i = 0; i < STEPS_MAX && r == 0; i++) {
			if (!cursor->has_row || compare(&cursor->at, place) >= 0) {
				return is_at(cursor, place);
			}
			r = step(cursor);
		}
	}
	(void)sqlite3_reset(cursor->scan);
	sqlite_bind(cursor->scan, 1, place->level, place->begin, place->trace);
	cursor->is_open = true;
	cursor->at = *place;
	r = step(cursor);
	return r < 0 ? r : is_at(cursor, place);
}

int sqlite_cursor_next(struct sqlite_cursor *cursor, const struct sqlite_place *place)
{
	int r = step(cursor);

	assert_hot(cursor->is_open);
	return r < 0 ? r : is_at(cursor, place);
}

/* What is not wanted is not read: distributions are large. */
static bool is_left_unread(const struct store_column *column, uint16_t wanted)
{
	return column->role > STORE_VALUE && !(wanted & COLUMN(column->at));
}

char *sqlite_columns_of(sqlite3 *db, const char *table, const struct store_column *columns,
			size_t count, uint16_t wanted, uint16_t *ret_lacks)
{
	sqlite3_stmt *known = NULL;
	char *sql = mem_printf("SELECT name FROM pragma_table_info('%s')", table);
	char *list = NULL, *longer;

	if (sqlite3_prepare_v2(db, sql, -1, &known, NULL) == SQLITE_OK &&
	    sqlite_has_column(known, "level")) {
		list = mem_strdup("");
	}
	for (size_t i = 0; list && i < count; i++) {
		bool is_known = sqlite_has_column(known, columns[i].name);

		longer = is_known && !is_left_unread(&columns[i], wanted)
				 ? mem_printf("%s, \"%s\"", list, columns[i].name)
				 : mem_printf("%s, NULL", list);
		if (!is_known && columns[i].role >= STORE_VALUE) {
			*ret_lacks |= COLUMN(columns[i].at);
		}
		free(list);
		list = longer;
	}
	if (!list) {
		*ret_lacks = ALL_COLUMNS;
	}
	(void)sqlite3_finalize(known);
	free(sql);
	return list;
}

void sqlite_cells(const struct sqlite_cursor *cursor, const struct store_column *columns,
		  size_t count, uint16_t wanted, struct store_cell *ret)
{
	assert_hot(cursor->has_row);
	for (size_t i = 0; i < count; i++) {
		int at = (int)i + 2;

		ret[i] = (struct store_cell){ .number = 0 };
		if (is_left_unread(&columns[i], wanted) ||
		    sqlite3_column_type(cursor->scan, at) == SQLITE_NULL) {
			ret[i].is_null = true;
		} else if (columns[i].is_text) {
			ret[i].text = (const char *)sqlite3_column_text(cursor->scan, at);
			ret[i].len = (size_t)sqlite3_column_bytes(cursor->scan, at);
		} else {
			ret[i].number = sqlite3_column_int64(cursor->scan, at);
		}
	}
}
