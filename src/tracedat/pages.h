/*
 * pages: the sub-buffers of one CPU of a buffer, in order.
 *
 *     plain:   | sub-buffer | sub-buffer | ...
 *     packed:  | chunks, 4 | packed bytes, 4 | bytes, 4 | ... |      a chunk: some sub-buffers
 *
 * One chunk is in memory at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tracedat/cursor.h"
#include "tracedat/tracedat.h"

struct pages {
	const struct tracedat *dat;
	struct cursor cursor;
	uint32_t page_bytes;
	bool is_packed;
	uint64_t chunks; /* that are left in the file */
	uint8_t *chunk;  /* the unpacked one, or room for a sub-buffer */
	size_t have;     /* bytes in it, */
	size_t at;       /* and of them: before the next sub-buffer */
	uint64_t most;   /* bytes that a chunk may have */
};

/* @dat must outlive it.  Free it also after an error.  -EINVAL: its place is not in the file. */
int pages_begin(const struct tracedat *dat, const struct tracedat_buffer *buffer,
		const struct tracedat_cpu *cpu, struct pages *pages, struct err *err);
void pages_fini(struct pages *pages);

/* The next sub-buffer, of *@ret_len bytes at most, in *@ret_page, which is borrowed; NULL: there is
 * no more.  -errno: what is left cannot be read. */
int pages_next(struct pages *pages, const uint8_t **ret_page, size_t *ret_len, struct err *err);
