/*
 * kept-store: kept packets on disk, where memory is short (--history-dir).
 *
 * They lie one behind the other in files without a name, which go with the process, whatever ends
 * it.  A file goes when the last of its packets has: packets go about in the order they came in.
 */
#ifndef SILLAGE_HISTORY_RETAINED_FILE_H
#define SILLAGE_HISTORY_RETAINED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct kept_store;
struct kept_segment; /* one of its files, counted by reference */

/* In directory @dir, files of @segment_bytes.  NULL: files cannot be made there. */
struct kept_store *kept_store_new(const char *dir, uint64_t segment_bytes, struct err *err);
void kept_store_free(struct kept_store *store); /* its packets may stay; NULL is fine */

/* Writes @len bytes; NULL: they could not be written.  Any thread. */
struct kept_segment *kept_store_put(struct kept_store *store, const uint8_t *bytes, uint64_t len,
				    uint64_t *ret_offset);
bool kept_segment_read(const struct kept_segment *segment, uint64_t offset, uint8_t *bytes,
		       uint64_t len);
void kept_segment_unref(struct kept_segment *segment); /* NULL is fine */

/* The reason of the first write that failed, to who asks first; else 0. */
int kept_store_failed(struct kept_store *store);

#endif
