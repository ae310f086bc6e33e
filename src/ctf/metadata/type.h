/*
 * type: a trace's metadata as a tree.
 *
 * A metadata parser (tsdl.h, ctf2.h) builds the tree and the plan compiler (compile.h) reads it.
 * A type does not change after its parser has returned it.  All of it lives in the metadata's
 * arena.  One tree serves both metadata languages.  Where they differ, CTF 2 (JSON) is the general
 * case:
 *
 *     CTF 1.8                              CTF 2
 *     meaning by a field's name            meaning by a field's role
 *     variant chosen by an enum's label    by ranges of the selector
 *     clock named by the integer           by the data stream class
 *
 * Names are stored as TSDL declares them.  type_name() gives the form that users see, without the
 * underscore that CTF 1.8 puts in front (CTF 1.8.3, section 7.3.2).  CTF 2 puts nothing in front,
 * so its parser adds an underscore to each name that starts with one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum byte_order { ORDER_NATIVE, ORDER_LE, ORDER_BE }; /* NATIVE: as the trace block says */

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

/* The meaning of a CTF 2 field (CTF2-SPEC-2.0, "roles"); a type may have several. */
enum {
	ROLE_MAGIC = 1 << 0,
	ROLE_UUID = 1 << 1,
	ROLE_STREAM_CLASS_ID = 1 << 2,
	ROLE_STREAM_ID = 1 << 3,
	ROLE_PACKET_SIZE = 1 << 4,
	ROLE_CONTENT_SIZE = 1 << 5,
	ROLE_TIMESTAMP = 1 << 6,
	ROLE_TIMESTAMP_END = 1 << 7,
	ROLE_DISCARDED = 1 << 8,
	ROLE_SEQ_NUM = 1 << 9,
	ROLE_EVENT_CLASS_ID = 1 << 10,
};

/* The places where a path may start (CTF 1.8.3, section 7.3.2), outermost first. */
enum root {
	ROOT_PACKET_HEADER,
	ROOT_PACKET_CONTEXT,
	ROOT_EVENT_HEADER,
	ROOT_STREAM_EVENT_CONTEXT,
	ROOT_EVENT_CONTEXT,
	ROOT_FIELDS,
	ROOT_COUNT,
};

/* The path to the field that holds a length or a selector. */
struct type_path {
	bool is_absolute; /* CTF 2: from @root; otherwise outward from the enclosing struct */
	enum root root;
	uint32_t up; /* relative: structs to leave first */
	size_t count;
	const char *const *names;
};

/* The encoding of text.  ASCII counts as UTF-8. */
enum encoding { UTF_8, UTF_16LE, UTF_16BE, UTF_32LE, UTF_32BE };

struct arena;
struct type;

struct type_field {
	const char *name; /* "": none (options of a CTF 2 variant) */
	const struct type *type;
};

/* Selector values that choose an option; bounds are inclusive, signed if the selector is. */
struct type_case {
	uint64_t low, high;
	size_t field;
};

/* Bounds are inclusive; they hold the container's bits, sign-extended if it is signed. */
struct type_label {
	const char *name;
	uint64_t low, high;
};

struct type {
	enum type_kind kind;
	uint32_t align_bits; /* power of two; a struct's is at least its members' */

	/* TYPE_INT, TYPE_ENUM, TYPE_FLOAT */
	uint32_t size_bits;
	enum byte_order order;
	bool is_signed;
	bool is_text;      /* an array of such 8-bit integers is text */
	bool is_variable;  /* LEB128, any number of bytes; size_bits is 64 */
	bool is_reversed;  /* the bits are in reversed order (CTF 2 "bit-order") */
	uint16_t roles;    /* CTF 2 */
	const char *clock; /* mapped clock, NULL if none (CTF 1.8) */

	/* TYPE_STRING, and TYPE_ARRAY and TYPE_SEQUENCE of text */
	enum encoding encoding;

	/* TYPE_ENUM */
	const struct type_label *labels;
	size_t label_count;

	/* TYPE_STRUCT, TYPE_VARIANT */
	const struct type_field *fields;
	size_t field_count;
	const struct type_path *tag;   /* TYPE_VARIANT: its selector; NULL until known */
	const struct type_case *cases; /* TYPE_VARIANT; NULL: the selector's labels choose */
	size_t case_count;
	bool is_optional; /* TYPE_VARIANT: a value without a case is valid and has no field */

	/* TYPE_ARRAY, TYPE_SEQUENCE */
	const struct type *element;
	uint64_t length;                     /* TYPE_ARRAY */
	const struct type_path *length_path; /* TYPE_SEQUENCE */
};

struct clock_class {
	struct clock_class *next;
	const char *name;
	uint64_t freq;    /* Hz, never 0 */
	int64_t offset_s; /* seconds from the epoch ... */
	int64_t offset;   /* ... plus this many cycles */
	bool is_absolute;
	bool has_uuid;
	uint8_t uuid[16]; /* of the clock itself: traces with the same one share it */
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
	bool in_any_stream; /* CTF 1.8: it names no stream; see metadata_stream_of() */
	int64_t loglevel;   /* -1: none */
	uint32_t index;     /* dense, in order of declaration */
	const struct type *context, *fields; /* structs or NULL */
};

struct stream_class {
	struct stream_class *next;
	uint64_t id;
	const struct type *packet_context, *event_header, *event_context; /* structs or NULL */
	const char *clock; /* CTF 2: the default clock, NULL if none */
	/* Of traces that were joined (join.h): the one that it is of, whose packets have another
	 * id. */
	const struct metadata *of;
	uint64_t own_id;
};

/* What is wrong in the metadata or missing there, and how it is read nevertheless. */
struct metadata_note {
	struct metadata_note *next;
	const char *text;
};

struct metadata_notes {
	struct arena *arena;
	struct metadata_note *first, *last; /* in the order in which they were made */
	uint32_t count;                     /* up to METADATA_NOTES_MAX; others are dropped */
};

struct metadata {
	enum byte_order order;
	uint32_t major, minor; /* of CTF: 1.8 or 2.0 */
	bool has_trace, has_uuid;
	uint8_t uuid[16];
	const struct type *packet_header;
	struct clock_class *clocks;
	struct env_entry *env;
	struct stream_class *streams;
	struct event_class *events, *events_last;
	uint32_t event_count;
	/* Of traces that were joined (join.h): these; NULL: it is of one. */
	const struct metadata *const *parts;
	uint32_t part_count;
	struct metadata_notes
		*notes; /* of the stream (metadata.h); who reads the types adds to it */
};

/* The name as users see it. */
const char *type_name(const char *declared);

/* Bytes of one code unit. */
unsigned int type_encoding_unit(enum encoding encoding);

/* Of "01234567-89ab-...": false: the text is none. */
bool metadata_uuid_of(const char *text, uint8_t uuid[16]);

/* Look-ups; NULL if nothing has the name or id. */
const struct env_entry *metadata_env(const struct metadata *metadata, const char *name);
/* MAJOR * 10000 + MINOR * 100 + PATCHLEVEL by the trace's environment; 0: it names none. */
uint32_t metadata_tracer_version(const struct metadata *metadata);
/* The tracer's name and version, "lttng-modules 2.13.5", from malloc(); without a version, or a
 * name, as far as there is one. */
char *metadata_tracer(const struct metadata *metadata);
/* The name of the tracer, or "its tracer", if that is not LTTng, whose commands then change
 * nothing; NULL: it is. */
const char *metadata_other_tracer(const struct metadata *metadata);
/* Whether that is what `sillage record` names itself (ftrace/convert.h): it can be told what to
 * record. */
bool metadata_is_of_record(const char *tracer);
const struct clock_class *metadata_clock(const struct metadata *metadata, const char *name);
/* Whether a clock has the id, as those of LTTng and `sillage record` have that of the boot. */
bool metadata_has_clock(const struct metadata *metadata, const uint8_t uuid[16]);
const struct stream_class *metadata_stream(const struct metadata *metadata, uint64_t id);

/*
 * The stream class of an event; NULL if it is not declared.  An event that names no stream belongs
 * to the only one, or, if the metadata has no stream block, to a class 0 without any field (CTF
 * 1.8.3, 7.3.2: streams "may be omitted").
 */
const struct stream_class *metadata_stream_of(const struct metadata *metadata,
					      const struct event_class *event);
bool metadata_stream_is_implicit(const struct stream_class *stream);

void metadata_note(struct metadata_notes *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Notes each name that two of @type's fields have. */
void metadata_note_twice(struct metadata_notes *notes, const struct type *type);

/* Appends @event, which is in no list yet, and sets its index. */
void metadata_add_event(struct metadata *metadata, struct event_class *event);

/* Whether the integer "timestamp" of an event header is the event's time stamp: by its role; in CTF
 * 1.8 the name is enough. */
static inline bool type_is_timestamp(const struct type *type, uint32_t major)
{
	return major != 2 || type->roles & ROLE_TIMESTAMP;
}

/* Whether an array of @element is text. */
bool type_is_text(const struct type *element);
/* The size of an array's elements that is constant and keeps them aligned; 0: they have none. */
uint64_t type_row_bits(const struct type *element);
/* Whether it is an array whose elements lie one behind the other, in whole bytes. */
bool type_is_row(const struct type *type);

/*
 * Asserts the invariants of one finished type; its parts were checked when they were finished.
 * Parsers call it for each type if CHECKS_ON.
 */
void type_check(const struct type *type);
