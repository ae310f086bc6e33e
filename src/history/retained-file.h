/*
 * retained-file: retained packets on disk, for machines with little memory (--history-dir).
 *
 * Packets are appended to unnamed files (O_TMPFILE), the segments.  The system removes them when
 * the process ends, for whatever reason.
 *
 *     segment 1 [ packet | packet | packet ]   refs: its packets
 *     segment 2 [ packet | packet |        ]   refs: its packets, and the store: it is the last
 *
 * A segment is closed with its last reference.  Packets are dropped roughly in the order of their
 * arrival, so segments do not outlive most of their packets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct retained_file;
struct retained_segment; /* one file; reference counted */

/* Segments of about @segment_bytes in directory @dir.  NULL: no unnamed files can be made there. */
struct retained_file *retained_file_new(const char *dir, uint64_t segment_bytes, struct err *err);
void retained_file_free(struct retained_file *store); /* packets may outlive it; NULL is fine */

/* A segment that is the file of a trace, and stays its: a copy of @fd is closed in the end.  NULL:
 * there are no more descriptors. */
struct retained_segment *retained_segment_of(int fd, struct err *err);
struct retained_segment *retained_segment_ref(struct retained_segment *segment);

/* Writes @len bytes; returns a reference, NULL: the write failed.  Any thread. */
struct retained_segment *retained_file_put(struct retained_file *store, const uint8_t *bytes,
					   uint64_t len, uint64_t *ret_offset);
/* Reads back what retained_file_put() wrote; false: it cannot be read.  Any thread. */
bool retained_segment_read(const struct retained_segment *segment, uint64_t offset, uint8_t *bytes,
			   uint64_t len);
void retained_segment_unref(struct retained_segment *segment); /* NULL is fine */

/* errno of the first write that failed, once; else, and in later calls, 0. */
int retained_file_failed(struct retained_file *store);
