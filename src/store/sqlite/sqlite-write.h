/*
 * sqlite-write: writes items to a file of SQLite.
 *
 * All functions belong to one thread at a time.
 */
#pragma once

#include "base/err.h"
#include "store/rows/item.h"
#include "store/sqlite/sqlite.h"

struct sqlite_writer;

/* Opens or makes the file.  -errno: it cannot be written, or is no store. */
int sqlite_writer_open(const char *path, uint64_t interval_ns, struct sqlite_writer **ret,
		       struct err *err);
void sqlite_writer_close(struct sqlite_writer *writer);

/* The bytes of the file that are used; 0: not known. */
uint64_t sqlite_writer_bytes(struct sqlite_writer *writer);

/* Writes all, or nothing.  *ret_rows grows by the rows.  @gap: windows that were lost before; NULL:
 * none. */
int sqlite_writer_put(struct sqlite_writer *writer, struct store_item *const *items, size_t count,
		      const struct store_gap *gap, uint64_t *ret_rows, struct err *err);

/* ---- the same step by step ---- */

/* Begins a transaction: nobody else writes until sqlite_writer_end(). */
int sqlite_writer_begin(struct sqlite_writer *writer, struct err *err);
/* Ends it; @r negative, or a failure to end it: nothing of it was done. */
int sqlite_writer_end(struct sqlite_writer *writer, int r, struct err *err);
int sqlite_writer_add(struct sqlite_writer *writer, const struct store_item *item, struct err *err);
int sqlite_writer_add_gap(struct sqlite_writer *writer, const struct store_gap *gap,
			  struct err *err);
/* Removes a window with all its rows. */
int sqlite_writer_remove(struct sqlite_writer *writer, const struct sqlite_place *place,
			 struct err *err);
/* Removes losses, triggers, captures and gaps that ended by then. */
int sqlite_writer_remove_others(struct sqlite_writer *writer, uint64_t before, struct err *err);
