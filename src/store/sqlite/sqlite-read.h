/*
 * sqlite-read: rows of a table in the order of windows.
 *
 * A cursor goes through a table once, if the windows that are asked for come in their order; it
 * looks for a window again only where that is far ahead, or behind.
 */
#pragma once

#include "store/sqlite/sqlite.h"

struct sqlite_cursor {
	sqlite3_stmt *scan; /* NULL: there is no such table */
	struct sqlite_place at;
	bool is_open, has_row;
};

/* @columns: behind begin and trace, the first two; a list for SELECT. */
int sqlite_cursor_open(sqlite3 *db, const char *path, const char *table, const char *columns,
		       struct sqlite_cursor *ret, struct err *err);
void sqlite_cursor_close(struct sqlite_cursor *cursor);
/* Goes to the first row of the window, or on to the next; 1: there is one, 0: no more. */
int sqlite_cursor_seek(struct sqlite_cursor *cursor, const struct sqlite_place *place);
int sqlite_cursor_next(struct sqlite_cursor *cursor, const struct sqlite_place *place);

/* The list for SELECT of a table's columns; distributions that are not @wanted are NULL; those that
 * an older store lacks are NULL, and by bit in *ret_lacks if they are figures.  The caller frees
 * it; NULL: there is no such table. */
char *sqlite_columns_of(sqlite3 *db, const char *table, const struct store_column *columns,
			size_t count, uint16_t wanted, uint16_t *ret_lacks);
/* The cells of the row that the cursor is at, with the same columns; texts are valid until it goes
 * on. */
void sqlite_cells(const struct sqlite_cursor *cursor, const struct store_column *columns,
		  size_t count, uint16_t wanted, struct store_cell *ret);
