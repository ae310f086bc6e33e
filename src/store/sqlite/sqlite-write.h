/*
 * sqlite-write: writes items to a file of SQLite.
 *
 * All functions belong to one thread at a time.
 */
#ifndef SILLAGE_STORE_SQLITE_WRITE_H
#define SILLAGE_STORE_SQLITE_WRITE_H

#include "base/err.h"
#include "store/rows/item.h"

struct sqlite_writer;

/* Opens or makes the file.  -errno: it cannot be written, or is no store. */
int sqlite_writer_open(const char *path, uint64_t interval_ns, struct sqlite_writer **ret,
		       struct err *err);
void sqlite_writer_close(struct sqlite_writer *writer);

/* Writes all, or nothing.  *ret_rows grows by the rows.  @gap: windows that were lost before; NULL:
 * none. */
int sqlite_writer_put(struct sqlite_writer *writer, struct store_item *const *items, size_t count,
		      const struct store_gap *gap, uint64_t *ret_rows, struct err *err);

#endif
