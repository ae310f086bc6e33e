/*
 * page: see page.h.
 */
#include "ftrace/page.h"

#include <assert.h>
#include <errno.h>

#include "base/limits.h"
#include "ftrace/format-parts.h"

/* ---- the layout ---- */

static bool declares(const struct format_line *line, const char *name)
{
	size_t len = strlen(name);

	return line->len > len && memcmp(line->declaration + line->len - len, name, len) == 0 &&
	       line->declaration[line->len - len - 1] == ' ';
}

static void take_layout_line(const struct format_line *line, struct ftrace_layout *layout)
{
	if (declares(line, "commit")) {
		layout->commit_at = (uint32_t)line->offset;
		layout->commit_size = (uint32_t)line->size;
	} else if (declares(line, "data") && line->size <= FTRACE_SUBBUF_BYTES_MAX &&
		   line->offset <= FTRACE_SUBBUF_BYTES_MAX) {
		layout->data_at = (uint32_t)line->offset;
		layout->bytes = (uint32_t)(line->offset + line->size);
	}
}

int ftrace_layout_parse(const char *text, size_t len, bool is_big, struct ftrace_layout *ret_layout,
			struct err *err)
{
	struct ftrace_layout layout = { .is_big = is_big };
	struct format_line line;
	const char *end = text + len;

	for (const char *next; text < end; text = next + 1) {
		next = format_line_end(text, end);
		if (format_line_read(text, (size_t)(next - text), &line)) {
			take_layout_line(&line, &layout);
		}
	}
	if ((layout.commit_size != 4 && layout.commit_size != 8) || layout.data_at == 0 ||
	    layout.commit_at < sizeof(uint64_t) ||
	    (uint64_t)layout.commit_at + layout.commit_size > layout.data_at ||
	    layout.bytes <= layout.data_at) {
		return err_raise(err, -EINVAL, "header_page says no layout of sub-buffers");
	}
	*ret_layout = layout;
	return 0;
}

/* ---- a sub-buffer ---- */

/* Bits of the commit, beside the bytes that are used. */
#define COMMIT_BYTES  ((1U << 27) - 1)
#define MISSED        (1U << 31)
#define MISSED_STORED (1U << 30)

static uint64_t missed_before(const struct ftrace_layout *layout, uint32_t commit,
			      const uint8_t *behind, size_t room)
{
	uint64_t missed;

	if (!(commit & MISSED)) {
		return 0;
	}
	if (!(commit & MISSED_STORED) || room < layout->commit_size) {
		return FTRACE_MISSED_UNKNOWN;
	}
	missed = layout->commit_size == 8 ? ftrace_u64(behind, layout->is_big)
					  : ftrace_u32(behind, layout->is_big);
	return missed > 0 && missed <= FTRACE_MISSED_MAX ? missed : FTRACE_MISSED_UNKNOWN;
}

uint64_t ftrace_page_time(const struct ftrace_layout *layout, const uint8_t *bytes)
{
	return ftrace_u64(bytes, layout->is_big);
}

/* A long that has the largest byte first has what counts in its second half. */
static uint32_t commit_of(const struct ftrace_layout *layout, const uint8_t *bytes)
{
	return ftrace_u32(bytes + layout->commit_at +
				  (layout->is_big ? layout->commit_size - 4 : 0),
			  layout->is_big);
}

size_t ftrace_page_used(const struct ftrace_layout *layout, const uint8_t *bytes)
{
	return layout->data_at + (commit_of(layout, bytes) & COMMIT_BYTES);
}

int ftrace_page_begin(struct ftrace_page *page, const struct ftrace_layout *layout,
		      const uint8_t *bytes, size_t len, struct err *err)
{
	uint32_t commit, used;

	if (len < layout->data_at) {
		return err_raise(err, -EINVAL, "a sub-buffer of %zu bytes, without its header",
				 len);
	}
	commit = commit_of(layout, bytes);
	used = commit & COMMIT_BYTES;
	if (used > len - layout->data_at) {
		return err_raise(err, -EINVAL, "a sub-buffer says to have %u bytes, and has %zu",
				 used, len - layout->data_at);
	}
	*page = (struct ftrace_page){
		.at = bytes + layout->data_at,
		.end = bytes + layout->data_at + used,
		.time = ftrace_page_time(layout, bytes),
		.missed = missed_before(layout, commit, bytes + layout->data_at + used,
					len - layout->data_at - used),
		.is_big = layout->is_big,
	};
	return 0;
}

/* ---- records ---- */

enum {
	TYPE_LONG = 0, /* the length is in a word of its own */
	TYPE_WORDS_MAX = 28,
	TYPE_PADDING = 29,
	TYPE_EXTEND = 30,
	TYPE_STAMP = 31,
};

#define WORD       ((uint32_t)4)
#define DELTA_BITS 27
/* An absolute time has 59 bits; those above are of the time before it. */
#define STAMP_BITS 59

static uint64_t stamp_after(uint64_t time, uint64_t stamp)
{
	uint64_t high = time >> STAMP_BITS << STAMP_BITS;

	stamp |= high;
	/* It went on to the next of those bits. */
	return high > 0 && stamp < time ? stamp + ((uint64_t)1 << STAMP_BITS) : stamp;
}

static bool leaves(struct ftrace_page *page)
{
	page->is_bad = page->at != page->end;
	page->at = page->end;
	return false;
}

/* The bits of a header, which are the lowest or the highest of its word. */
static uint32_t record_type(uint32_t header, bool is_big)
{
	return is_big ? header >> DELTA_BITS : header & 31;
}

static uint32_t record_delta(uint32_t header, bool is_big)
{
	return is_big ? header & ((1U << DELTA_BITS) - 1) : header >> 5;
}

/* What is no record, but time or padding; false: nothing follows. */
static bool pass_no_record(struct ftrace_page *page, uint32_t type, uint32_t delta, uint32_t word)
{
	uint64_t time = ((uint64_t)word << DELTA_BITS) + delta;

	if (type == TYPE_PADDING) {
		/* Without a delta it reaches to the end, which the commit has before it. */
		if (delta == 0) {
			page->at = page->end;
			return false;
		}
		if (word < WORD || word > (size_t)(page->end - page->at) - WORD) {
			return leaves(page);
		}
		page->time += delta;
		page->at += WORD + word;
		return true;
	}
	page->time = type == TYPE_EXTEND ? page->time + time : stamp_after(page->time, time);
	page->at += 2 * WORD;
	return true;
}

/* The record at page->at, whose header has been read; false: it is not whole. */
static bool pass_record(struct ftrace_page *page, uint32_t type, uint32_t delta, uint32_t word,
			struct ftrace_record *ret)
{
	size_t left = (size_t)(page->end - page->at);
	uint32_t header = type == TYPE_LONG ? 2 * WORD : WORD;
	uint32_t len = type == TYPE_LONG ? word - WORD : type * WORD;

	if ((type == TYPE_LONG && word < WORD) || len > left - header) {
		return leaves(page);
	}
	page->time += delta;
	*ret = (struct ftrace_record){ page->time, page->at + header, len };
	len = (len + WORD - 1) / WORD * WORD;
	page->at += len < left - header ? header + len : left;
	return true;
}

bool ftrace_page_next(struct ftrace_page *page, struct ftrace_record *ret_record)
{
	while (page->end - page->at >= WORD) {
		uint32_t header = ftrace_u32(page->at, page->is_big), word = 0;
		uint32_t type = record_type(header, page->is_big);
		uint32_t delta = record_delta(header, page->is_big);

		if (type == TYPE_LONG || type > TYPE_WORDS_MAX) {
			if (type == TYPE_PADDING && delta == 0) {
				break;
			}
			if (page->end - page->at < 2 * WORD) {
				return leaves(page);
			}
			word = ftrace_u32(page->at + WORD, page->is_big);
		}
		if (type <= TYPE_WORDS_MAX) {
			return pass_record(page, type, delta, word, ret_record);
		}
		if (!pass_no_record(page, type, delta, word)) {
			return false;
		}
	}
	page->at = page->end;
	return false;
}
