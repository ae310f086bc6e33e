/*
 * pages: see pages.h.
 */
#include "tracedat/pages.h"
#include "tracedat/tracedat-limits.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

int pages_begin(const struct tracedat *dat, const struct tracedat_buffer *buffer,
		const struct tracedat_cpu *cpu, struct pages *pages, struct err *err)
{
	bool is_inside = cpu->offset <= dat->bytes;

	*pages = (struct pages){ .dat = dat,
				 .page_bytes = buffer->page_bytes,
				 .most = TRACEDAT_CHUNKS_BYTES_MAX / buffer->cpus.count,
				 .is_packed = buffer->is_packed };
	pages->cursor = (struct cursor){ .fd = dat->fd,
					 .at = is_inside ? cpu->offset : dat->bytes,
					 .end = dat->bytes,
					 .is_big = dat->is_big };
	if (!is_inside || buffer->page_bytes < TRACEDAT_PAGE_BYTES_MIN ||
	    buffer->page_bytes > FTRACE_SUBBUF_BYTES_MAX || buffer->page_bytes > pages->most) {
		return err_raise(err, -EINVAL,
				 "events of CPU %" PRIu32 ": sub-buffers of %" PRIu32
				 " bytes at byte %" PRIu64 " cannot be",
				 cpu->cpu, buffer->page_bytes, cpu->offset);
	}
	if (pages->is_packed) {
		pages->chunks = cpu->bytes > 0 ? cursor_number(&pages->cursor, 4) : 0;
	} else if (cpu->bytes < dat->bytes - cpu->offset) {
		pages->cursor.end = cpu->offset + cpu->bytes;
	}
	return 0;
}

void pages_fini(struct pages *pages)
{
	free(pages->chunk);
	pages->chunk = NULL;
}

static int cut_off(const struct pages *pages, struct err *err)
{
	return err_raise(err, -EINVAL,
			 "what is at byte %" PRIu64
			 " of the file is cut off, or cannot be unpacked",
			 pages->cursor.at);
}

/* The next chunk, in place of the one before. */
static int next_chunk(struct pages *pages, struct err *err)
{
	struct cursor *cursor = &pages->cursor;
	uint64_t len = cursor_number(cursor, 4), to_len = cursor_number(cursor, 4);
	char *packed;

	assert(pages->chunks > 0);
	pages->chunks--;
	pages->at = pages->have = 0;
	if (to_len > pages->most) {
		return err_raise(err, -E2BIG, "a chunk of %" PRIu64 " bytes, the limit is %" PRIu64,
				 to_len, pages->most);
	}
	packed = cursor_copy(cursor, len, pages->most);
	if (!cursor->is_wrong) {
		pages->chunk = mem_realloc(pages->chunk, to_len + 1);
		cursor->is_wrong = !unpack(pages->dat->packed_by, (uint8_t *)packed, len,
					   pages->chunk, to_len);
		pages->have = cursor->is_wrong ? 0 : to_len;
	}
	free(packed);
	return cursor->is_wrong ? cut_off(pages, err) : 0;
}

/* The next sub-buffer of a file that is not packed, as a chunk; the last one may be shorter. */
static int next_plain(struct pages *pages, struct err *err)
{
	uint64_t left = pages->cursor.end - pages->cursor.at;

	pages->at = 0;
	pages->have = left < pages->page_bytes ? (size_t)left : pages->page_bytes;
	pages->chunk = pages->chunk ? pages->chunk : mem_alloc(pages->page_bytes);
	cursor_bytes(&pages->cursor, pages->chunk, pages->have);
	return pages->cursor.is_wrong ? cut_off(pages, err) : 0;
}

int pages_next(struct pages *pages, const uint8_t **ret_page, size_t *ret_len, struct err *err)
{
	int r = 0;

	*ret_page = NULL;
	*ret_len = 0;
	if (pages->cursor.is_wrong) {
		return 0; /* it was said */
	}
	if (!pages->is_packed) {
		r = next_plain(pages, err);
	}
	while (r == 0 && pages->is_packed && pages->at == pages->have && pages->chunks > 0) {
		r = next_chunk(pages, err);
	}
	if (r == 0 && pages->at < pages->have) {
		*ret_page = pages->chunk + pages->at;
		*ret_len = pages->have - pages->at < pages->page_bytes ? pages->have - pages->at
								       : pages->page_bytes;
		pages->at += *ret_len;
	}
	return r;
}
