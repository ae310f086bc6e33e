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

struct retained_file;
struct retained_segment; /* one of its files, counted by reference */

/* In directory @dir, files of @segment_bytes.  NULL: files cannot be made there. */
struct retained_file *retained_file_new(const char *dir, uint64_t segment_bytes, struct err *err);
void retained_file_free(struct retained_file *store); /* its packets may stay; NULL is fine */

/* Writes @len bytes; NULL: they could not be written.  Any thread. */
struct retained_segment *retained_file_put(struct retained_file *store, const uint8_t *bytes,
					   uint64_t len, uint64_t *ret_offset);
bool retained_segment_read(const struct retained_segment *segment, uint64_t offset, uint8_t *bytes,
			   uint64_t len);
void retained_segment_unref(struct retained_segment *segment); /* NULL is fine */

/* The reason of the first write that failed, to who asks first; else 0. */
int retained_file_failed(struct retained_file *store);

#endif
