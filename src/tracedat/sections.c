/*
 * sections: see tracedat-parts.h; version 7.
 *
 *     options ──► HEADER_INFO, ... ──► sections
 *        └─ DONE ──► next options ──► ...
 *
 *     a section:  | id, 2 | flags, 2 | text, 4 | bytes, 8 | ...
 *     packed:     | packed bytes, 4 | bytes, 4 | ...
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/now.h"
#include "tracedat/tracedat-limits.h"
#include "tracedat/tracedat-parts.h"

#define SECTION_OPTIONS 0
#define SECTION_PACKED  1 /* the flag */

/* A section that is open: from where, and unpacked, or NULL. */
struct dat_section {
	struct cursor cursor;
	unsigned int id;
	uint8_t *unpacked;
};

/* What the section has, in the memory of it. */
static void unpack_section(const struct tracedat *dat, struct dat_section *section)
{
	struct cursor *cursor = &section->cursor;
	uint64_t len = cursor_number(cursor, 4), to_len = cursor_number(cursor, 4);
	char *packed = cursor_copy(cursor, len, TRACEDAT_SECTION_BYTES_MAX);

	cursor->is_wrong |= to_len > TRACEDAT_SECTION_BYTES_MAX;
	if (!cursor->is_wrong) {
		section->unpacked = mem_alloc(to_len + 1);
		cursor->is_wrong =
			!unpack(dat->packed_by, (uint8_t *)packed, len, section->unpacked, to_len);
		cursor->memory = section->unpacked;
		cursor->at = 0;
		cursor->end = to_len;
	}
	free(packed);
}

static void section_open(const struct tracedat *dat, uint64_t place, struct dat_section *section)
{
	struct cursor *cursor = &section->cursor;
	uint64_t flags, bytes;

	*section = (struct dat_section){ .cursor = { .fd = dat->fd,
						     .at = place < dat->bytes ? place : dat->bytes,
						     .end = dat->bytes,
						     .is_big = dat->is_big } };
	section->id = (unsigned int)cursor_number(cursor, 2);
	flags = cursor_number(cursor, 2);
	cursor_skip(cursor, 4);
	bytes = cursor_number(cursor, 8);
	cursor->is_wrong |= bytes > cursor->end - cursor->at;
	if (!cursor->is_wrong) {
		cursor->end = cursor->at + bytes;
	}
	if (flags & SECTION_PACKED && !cursor->is_wrong) {
		unpack_section(dat, section);
	}
}

static void take_contents(struct tracedat *dat, struct dat_section *section)
{
	switch (section->id) {
	case OPTION_HEADER_INFO:
		contents_header(dat, &section->cursor);
		break;
	case OPTION_FTRACE_EVENTS:
		contents_own_formats(dat, &section->cursor);
		break;
	case OPTION_EVENT_FORMATS:
		contents_formats(dat, &section->cursor);
		break;
	case OPTION_KALLSYMS:
		contents_symbols(dat, &section->cursor);
		break;
	case OPTION_CMDLINES:
		contents_tasks(dat, &section->cursor);
		break;
	default:
		break;
	}
}

static int take_section(struct tracedat *dat, uint64_t place, struct err *err)
{
	struct dat_section section;
	bool is_wrong;

	section_open(dat, place, &section);
	if (!section.cursor.is_wrong) {
		take_contents(dat, &section);
	}
	is_wrong = section.cursor.is_wrong;
	free(section.unpacked);
	return is_wrong ? err_raise(err, -EINVAL,
				    "the section at byte %" PRIu64
				    " is cut off, or says what cannot be",
				    place)
			: 0;
}

/* An option that names a section, or says something itself. */
static int take_said(struct tracedat *dat, unsigned int id, struct cursor *cursor, struct err *err)
{
	if (id >= OPTION_HEADER_INFO && id <= OPTION_CMDLINES) {
		uint64_t place = cursor_number(cursor, 8);

		/* What a trace can do without is not worth a failure. */
		return cursor->is_wrong || id == OPTION_PRINTK ? 0 : take_section(dat, place, err);
	}
	optional_take(dat, id, cursor);
	return 0;
}

/* The options of a section; *@ret_next: where the next ones are, 0: there are none. */
static int take_entries(struct tracedat *dat, struct cursor *cursor, uint64_t *ret_next,
			struct err *err)
{
	int r = 0;

	while (r == 0 && !cursor->is_wrong) {
		unsigned int id = (unsigned int)cursor_number(cursor, 2);
		uint64_t bytes = cursor_number(cursor, 4);
		struct cursor option = *cursor;

		cursor_skip(cursor, bytes);
		cursor->is_wrong |= ++dat->options > TRACEDAT_OPTIONS_MAX;
		option.end = cursor->at;
		if (cursor->is_wrong) {
			break;
		}
		if (id == OPTION_DONE) {
			*ret_next = cursor_number(&option, 8);
			return 0;
		}
		r = now_is_leaving() ? err_raise(err, -EINTR, "interrupted while it was read")
				     : take_said(dat, id, &option, err);
		cursor->is_wrong |= option.is_wrong;
	}
	return r;
}

int sections_read(struct tracedat *dat, uint64_t options, struct err *err)
{
	int r = 0;

	/* Each section has one option at least, so they are bounded like these. */
	while (r == 0 && options != 0) {
		struct dat_section section;
		uint64_t next = 0;

		section_open(dat, options, &section);
		section.cursor.is_wrong |= section.id != SECTION_OPTIONS;
		r = take_entries(dat, &section.cursor, &next, err);
		if (r == 0 && section.cursor.is_wrong) {
			r = err_raise(err, -EINVAL,
				      "the options at byte %" PRIu64
				      " are cut off, or say what cannot be",
				      options);
		}
		free(section.unpacked);
		options = next;
	}
	return r;
}
