/*
 * format: what the kernel says of an event's bytes, in the file `format` of tracefs, and the same
 * text in trace.dat.
 *
 *     name: sched_waking
 *     ID: 370
 *     format:
 *             field:unsigned short common_type;  offset:0;  size:2;  signed:0;
 *             ...
 *             field:char comm[16];               offset:8;  size:16; signed:0;
 *
 * Offsets are from the begin of a record's payload.  They differ between kernels, so nothing else
 * knows one.  The text is hostile: it may be of a file, and what it says is bounded by limits.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum ftrace_kind {
	FTRACE_INTEGER, /* 1, 2, 4 or 8 bytes */
	FTRACE_ARRAY,   /* of such integers, of a fixed length */
	FTRACE_TEXT,    /* characters of a fixed length, which end at a zero if there is one */
	FTRACE_BYTES,   /* what is none of these: a structure, a number of 16 bytes */
};

/* Where the bytes of a field are. */
enum ftrace_place {
	FTRACE_HERE,     /* at its offset */
	FTRACE_DATA,     /* __data_loc: 32 bits there say where, from the begin of the payload */
	FTRACE_RELATIVE, /* __rel_loc: the same, from behind those 32 bits */
	FTRACE_REST,     /* an array of no length: from its offset to the end of the payload */
};

struct ftrace_field {
	const char *name;
	const char *type; /* as it was declared, without name and brackets: "unsigned long" */
	uint32_t offset;
	uint32_t size;         /* bytes at the offset: 4 where they say the place; 0: the rest */
	uint32_t element_size; /* of an array; of an integer its size; otherwise 1 */
	enum ftrace_kind kind; /* of what is at the place */
	enum ftrace_place place;
	bool is_signed; /* the integer, or each element */
	bool is_common; /* each event has it: common_type and so on */
};

struct ftrace_format {
	const char *system; /* "sched"; "" if it is not known */
	const char *name;
	uint32_t id;
	uint32_t size; /* bytes that each record has at least: behind the last field */
	struct ftrace_field *fields;
	size_t count;
	struct arena arena;
};

/* Reads such a text.  -EINVAL: it is none, a field is outside of limits.h, or two have one name. */
int ftrace_format_parse(const char *text, size_t len, const char *system,
			struct ftrace_format **ret_format, struct err *err);
void ftrace_format_free(struct ftrace_format *format);

/* NULL: it has no such field. */
const struct ftrace_field *ftrace_format_field(const struct ftrace_format *format,
					       const char *name);

/* An integer of 1, 2, 4 or 8 bytes, with its sign. */
uint64_t ftrace_integer(const uint8_t *at, uint32_t size, bool is_signed, bool is_big);
/* The same of a payload, which has field->offset + field->size bytes, with its sign. */
uint64_t ftrace_field_number(const struct ftrace_field *field, const uint8_t *payload, bool is_big);

/* Where a field's bytes are in a payload of @len bytes; what would be outside of it is not there.
 * Returns how many there are. */
size_t ftrace_field_bytes(const struct ftrace_field *field, const uint8_t *payload, size_t len,
			  bool is_big, const uint8_t **ret_bytes);
