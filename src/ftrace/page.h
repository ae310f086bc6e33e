/*
 * page: the records of one sub-buffer of the kernel's ring buffer, as `trace_pipe_raw` gives it and
 * trace.dat keeps it.
 *
 *     | time stamp, 8 | commit, 4 or 8 | record | record | ... |
 *
 *     record   type and length, 5 bits | time since the one before, 27 bits | payload
 *
 * A sub-buffer may be larger than a page of memory (6.8 and later), and of a machine of another
 * word size or byte order.  Its bytes are hostile: a record that would leave it ends the walk.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* What events/header_page says. */
struct ftrace_layout {
	uint32_t bytes;       /* of a sub-buffer */
	uint32_t commit_at;   /* offset of the commit, */
	uint32_t commit_size; /* and its bytes: 4 or 8, a long of the kernel */
	uint32_t data_at;     /* offset of the first record */
	bool is_big;          /* byte order: the largest byte first */
};

/* Reads that text.  -EINVAL: it is none, or outside of limits.h. */
int ftrace_layout_parse(const char *text, size_t len, bool is_big, struct ftrace_layout *ret_layout,
			struct err *err);

/* Events that were lost before a sub-buffer. */
#define FTRACE_MISSED_UNKNOWN UINT64_MAX /* some, and the kernel had no room for the number */

struct ftrace_page {
	const uint8_t *at, *end;
	uint64_t time;   /* of the record before */
	uint64_t missed; /* 0: nothing is missing before this sub-buffer */
	bool is_big;
	bool is_bad; /* it ends within a record */
};

struct ftrace_record {
	uint64_t time; /* in ns of the buffer's clock */
	const uint8_t *payload;
	uint32_t len; /* with what pads it to words */
};

/* Begins a walk.  @len: bytes that are there, which may be fewer than a sub-buffer has.  -EINVAL:
 * it has no room for its own header, or for what it says to have. */
int ftrace_page_begin(struct ftrace_page *page, const struct ftrace_layout *layout,
		      const uint8_t *bytes, size_t len, struct err *err);
/* The time of a sub-buffer, before which it has no record. */
uint64_t ftrace_page_time(const struct ftrace_layout *layout, const uint8_t *bytes);

/* How much of a sub-buffer is used, its header included; of one that ftrace_page_begin() takes. */
size_t ftrace_page_used(const struct ftrace_layout *layout, const uint8_t *bytes);

/* How the numbers of a buffer are read. */
static inline uint32_t ftrace_u32(const uint8_t *at, bool is_big)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return is_big ? be32toh(value) : le32toh(value);
}

static inline uint64_t ftrace_u64(const uint8_t *at, bool is_big)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return is_big ? be64toh(value) : le64toh(value);
}

/* The next record; false: there is no more (see is_bad). */
bool ftrace_page_next(struct ftrace_page *page, struct ftrace_record *ret_record);
