/*
 * type: what a trace's metadata says, as a tree.
 *
 * Built by a metadata parser (tsdl.h), read by the plan compiler (plan.h), never
 * changed in between.  Everything lives in the metadata's arena.  Names are kept as
 * declared; type_name() gives the form that users see, without the underscore
 * that CTF 1.8 puts in front (CTF 1.8.3, section 7.3.2).
 */
#ifndef SILLAGE_CTF_TYPE_H
#define SILLAGE_CTF_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum byte_order { ORDER_NATIVE, ORDER_LE, ORDER_BE }; /* NATIVE: the trace's byte_order */

enum type_kind {
	TYPE_INT,
	TYPE_FLOAT,
	TYPE_ENUM, /* an integer with labels */
	TYPE_STRING,
	TYPE_STRUCT,
	TYPE_VARIANT,
	TYPE_ARRAY,
	TYPE_SEQUENCE,
};

struct type;

struct type_field {
	const char *name;
	const struct type *type;
};

/* Bounds are inclusive and hold the bits of the container, sign-extended when signed. */
struct type_label {
	const char *name;
	uint64_t low, high;
};

struct type {
	enum type_kind kind;
	uint32_t align_bits; /* power of two; of a struct: at least its largest member's */

	/* TYPE_INT, TYPE_ENUM, TYPE_FLOAT */
	uint32_t size_bits;
	enum byte_order order;
	bool is_signed;
	bool is_text;      /* 8-bit integers of this type in an array are text */
	const char *clock; /* mapped clock, NULL if none */

	/* TYPE_ENUM */
	const struct type_label *labels;
	size_t label_count;

	/* TYPE_STRUCT, TYPE_VARIANT */
	const struct type_field *fields;
	size_t field_count;
	const char *tag; /* TYPE_VARIANT: path of the selector; NULL while not given */

	/* TYPE_ARRAY, TYPE_SEQUENCE */
	const struct type *element;
	uint64_t length;         /* TYPE_ARRAY */
	const char *length_path; /* TYPE_SEQUENCE: path of the length */
};

struct clock_class {
	struct clock_class *next;
	const char *name;
	uint64_t freq;    /* Hz, never 0 */
	int64_t offset_s; /* seconds from the epoch ... */
	int64_t offset;   /* ... plus this many cycles */
	bool is_absolute;
};

struct env_entry {
	struct env_entry *next;
	const char *name;
	const char *text; /* NULL for an integer */
	int64_t number;
};

struct event_class {
	struct event_class *next; /* in order of declaration, over all streams */
	const char *name;
	uint64_t id;
	uint64_t stream_id;
	int64_t loglevel;                    /* -1: none */
	uint32_t index;                      /* dense, in order of declaration */
	const struct type *context, *fields; /* structs or NULL */
};

struct stream_class {
	struct stream_class *next;
	uint64_t id;
	const struct type *packet_context, *event_header, *event_context; /* structs or NULL */
};

struct metadata {
	enum byte_order order;
	uint32_t major, minor;
	bool has_trace, has_uuid;
	uint8_t uuid[16];
	const struct type *packet_header;
	struct clock_class *clocks;
	struct env_entry *env;
	struct stream_class *streams;
	struct event_class *events, *events_last;
	uint32_t event_count;
};

const char *type_name(const char *declared);
const struct env_entry *metadata_env(const struct metadata *metadata, const char *name);
const struct clock_class *metadata_clock(const struct metadata *metadata, const char *name);
const struct stream_class *metadata_stream(const struct metadata *metadata, uint64_t id);

/* Whether elements of @type make a string when put in an array. */
bool type_is_text(const struct type *element);

#endif
