/*
 * plan: a trace's types, compiled to the work of a decoder.
 *
 * Metadata describes all fields; analyses request few.  The compiler turns each event class into a
 * flat list of steps.  They load the requested fields and pass over the others in as few additions
 * as the layout allows:
 *
 *     fields := struct {                      NEED   160 bits from here
 *         uint8_t comm[16];   <- requested    BYTES  +0, 16 bytes      -> slot 0
 *         int32_t tid;        <- requested    S32    +128              -> slot 1
 *         string  path;                       SKIP   160
 *         uint64_t count;     <- requested    STRING
 *     }                                       NEED   64
 *                                             U64    +0                -> slot 2
 *                                             SKIP   64
 *                                             END
 *
 * Loads are relative to the cursor.  NEED has checked the bounds of all loads up to the next step
 * that moves the cursor.
 *
 * Most classes have shorter forms, which plan-fast.c finds:
 *
 *     fixed   all events have the same size: loads at constant offsets, one move of the cursor
 *     fast    fixed, whole bytes, and each load has the form of struct plan_load
 *     parts   fast stretches with strings and rows between them (struct plan_part)
 *
 * A plan is immutable and reference counted: a chunk keeps the plan under which it was received.
 * Grown metadata makes another plan that shares the compiled classes of the one before, so its cost
 * is that of the new classes.  plan-class.c compiles classes, plan.c makes the tables by id, and
 * plan-check.c states the invariants.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctf/metadata/type.h"

#define SLOT_NONE UINT16_MAX

enum step_op {
	STEP_END,
	STEP_ALIGN, /* move the cursor up to a multiple of size_bits */
	STEP_NEED,  /* size_bits must be left from the cursor */
	STEP_SKIP,  /* move the cursor by size_bits */
	STEP_U8,    /* U8 to S64: byte-aligned integers in the machine's byte order */
	STEP_U16,
	STEP_U32,
	STEP_U64,
	STEP_S8,
	STEP_S16,
	STEP_S32,
	STEP_S64,
	STEP_BITS,   /* any other integer; flags say signed and big endian */
	STEP_FLOAT,  /* IEEE 754 of any size, alignment and byte order */
	STEP_BYTES,  /* `count` bytes of text at a byte boundary */
	STEP_LEB128, /* an integer of any number of bytes, at the cursor, which moves behind it */
	STEP_STRING, /* zero-terminated, at the cursor, which moves behind it */
	STEP_SEQ,    /* slot `ref` (or `count`) elements of size_bits each, at the cursor */
	STEP_LOOP,   /* repeat the steps up to `target` `count` times, or slot `ref` times */
	STEP_LOOP_END,
	STEP_SELECT, /* go to the case that has the value of slot `ref`, or to `target` if not 0 */
	STEP_JUMP,   /* go to `target` */
	STEP_CLOCK,  /* the integer in slot `ref` of size_bits (COUNTED: its len) is a time stamp */
	STEP_ID,     /* the integer in slot `ref` is the event's id */
	STEP_OPTION, /* the value in `slot`, which may be TEXT, is that of option `count` */
	/* For visitors alone, in plans with visit_all: */
	STEP_NAME,  /* the next value is called `name` */
	STEP_ENTER, /* the values up to the LEAVE are members or elements of one */
	STEP_LEAVE,
};

/* A requested variant has the value of the option that is chosen; the highest byte of its `len` is
 * the number of the option, from 1 on, and 0 if that cannot be loaded, or there is none. */
#define PLAN_OPTION_SHIFT 56
#define PLAN_OPTIONS_MAX  255

enum { STEP_SIGNED = 1, STEP_BE = 2, STEP_TEXT = 4, STEP_COUNTED = 8, STEP_REVERSED = 16 };
/* The highest bits of flags: the encoding of STEP_STRING, and of text in STEP_SEQ. */
#define STEP_ENCODING_SHIFT 5

struct step_case {
	uint64_t low, high; /* inclusive, compared as signed when the tag is signed */
	uint32_t target;
};

struct step {
	uint8_t op;
	uint8_t flags;
	uint16_t slot;        /* where the value goes, or SLOT_NONE */
	uint16_t ref;         /* slot of a length, tag or time stamp */
	uint16_t case_count;  /* STEP_SELECT */
	uint32_t offset_bits; /* of a load, from the cursor */
	uint32_t target;      /* step index */
	uint64_t size_bits;   /* of a load, skip, alignment or element */
	uint64_t count;       /* STEP_LOOP (not COUNTED), STEP_BYTES */
	union {
		const struct step_case *cases; /* STEP_SELECT */
		const struct type *type;       /* of a leaf or STEP_ENTER, for visitors */
		const char *name;              /* STEP_NAME, as users see it */
	};
};

/*
 * A decoded value.  Text is UTF-8.  Text and rows point into the packet, or, if they had to be
 * converted, into the decoder's memory, which is valid until the next packet.
 */
struct value {
	union {
		uint64_t u;
		int64_t i;
		double f;
		const uint8_t *bytes;
	};
	uint64_t len; /* bytes of text or of a row's elements; bits of a LEB128 */
};

/*
 * A request: fields of all classes whose name is @event ("*" at its end matches any rest).  A field
 * is a member of the payload, or of the event contexts if written "context.NAME".  "NAME" requests
 * a number, "@NAME" text or a row of elements, and "?NAME" any of them, as plan_field says, of the
 * contexts, too, if @event is no pattern and the payload has no such member; a field of another
 * kind does not match.  A class that lacks a field is still bound, and plan_binding.present says
 * so.
 */
#define PLAN_TEXT       "@"
#define PLAN_ANY        "?"
#define PLAN_NOT        "!"
#define PLAN_FIELDS_MAX 16
struct plan_request {
	const char *event;
	const char *fields[PLAN_FIELDS_MAX];
	uint16_t group; /* of requests with one group, the first that matches a class is bound */
	/* Bound only if the trace's environment names it, or, after PLAN_NOT, does not; NULL:
	 * always
	 */
	const char *domain;
	bool (*takes)(const struct event_class *class); /* whether it is bound; NULL: it is */
	uint32_t (*user_of)(const char *event); /* gives plan_binding.user; NULL: it is ... */
	uint32_t user;                          /* ... this */
	uint8_t needs; /* bound only where the class has one of so many first fields; 0: always */
	bool is_extra; /* for who asks: the trace need not have it */
	bool may_rest; /* its events may be unwanted for a while (decoder_each()) */
};

struct plan_binding {
	uint16_t request; /* index of the request */
	uint16_t base;    /* slot of its first field; the others follow */
	uint16_t present; /* bit i: the class has field i */
	uint32_t user;    /* as the request says */
};

/* What the environment of a trace says of all its events. */
struct plan_origin {
	bool is_kernel;       /* the kernel tells them; else programs do */
	int64_t vpid;         /* of the one process that they are of; 0: it names none */
	const char *procname; /* of that; NULL: it names none */
};

/* What a requested field is, where a class has it. */
struct plan_field {
	const struct type *type; /* NULL: the class lacks it */
	uint8_t kind;            /* enum type_kind, of the type */
	uint8_t flags;           /* of a step that loads it, or an element of its row */
};

/* A field of several requests is loaded once and copied for the others.  Last come those that stay
 * where they are, and are numbers to which something is added. */
struct plan_copy {
	uint16_t from, to; /* slots */
	int16_t add;
};

struct plan_event {
	/* The members that each event reads are in one cache line. */
	const struct plan_load *fast;  /* the loads in a shorter form, if all have it */
	const struct plan_part *parts; /* not NULL: the size varies, and fast is for these */
	const struct plan_binding *bindings;
	const struct plan_copy *copies; /* for decoder_copy(), after the event is decoded */
	uint32_t fast_count, binding_count, copy_count;
	uint32_t index; /* of the class in the trace */
	const struct event_class *class;
	const char *name; /* of the class, or the one that requests have for it (plan_names) */
	const struct step *steps;
	const struct plan_field *fields; /* see plan_field_of() */
	bool uses_header;                /* a path leads to a field of the event header */
	bool is_fixed;
	bool is_fast;        /* is_fixed, of whole bytes, and all loads are in fast */
	uint8_t use;         /* enum plan_use */
	uint8_t load_count;  /* is_fixed: steps that are loads */
	uint16_t align_bits; /* is_fixed: of the first member */
	uint32_t fixed_bits; /* is_fixed: size after alignment */
	const struct stream_class *stream;
	const struct plan_origin *origin; /* of the trace */
};

/* What decoder_each() does with the events of a class. */
enum plan_use {
	SKIP_NOT,  /* no such class, or one for decoder_next() */
	SKIP_LOAD, /* load the fields by plan_event.fast */
	SKIP_REST, /* the same; all its requests may rest */
	SKIP_PASS, /* no request: pass over it */
};

/* Read first for each event, by id.  It is small, so all of them stay in the first-level cache. */
struct plan_skip {
	uint32_t index;     /* of the class in the trace */
	uint16_t bytes;     /* after alignment */
	uint8_t align_mask; /* bytes of alignment - 1 */
	uint8_t use;        /* enum plan_use; SKIP_LOAD if the size varies: its end must be found */
};

/*
 * A field at a constant byte offset: text, or an integer in the machine's byte order.  8 bytes are
 * loaded and shifted up and down again.  It is small, so those of all classes stay in the
 * first-level cache.
 */
enum plan_form { LOAD_UNSIGNED, LOAD_SIGNED, LOAD_BYTES };

struct plan_load {
	uint16_t offset; /* bytes from the event's first field */
	uint16_t slot;
	uint16_t len;  /* LOAD_BYTES */
	uint8_t shift; /* 64 - bits of an integer */
	uint8_t form;  /* enum plan_form */
};

/* What follows a part of an event. */
enum plan_part_end {
	PART_LAST,   /* nothing */
	PART_ALIGN,  /* the next part, which is aligned */
	PART_STRING, /* a string in UTF-8 */
	PART_ROW,    /* elements of constant size; an earlier field has their number */
};

/* A stretch of constant size in an event of varying size. */
struct plan_part {
	uint16_t bytes; /* after alignment */
	uint8_t align_mask;
	uint8_t load_count;    /* of plan_event.fast, after those of the parts before */
	uint8_t end;           /* enum plan_part_end */
	uint8_t element_bytes; /* PART_ROW */
	uint16_t slot;         /* of the string or row; SLOT_NONE: not requested */
	uint16_t ref;          /* PART_ROW: slot of the number of elements */
};

/* How an event header is read: directly, if it is one of the two that LTTng writes, or by steps. */
enum plan_header { HEADER_STEPS, HEADER_COMPACT, HEADER_LARGE, HEADER_NONE };

struct plan_stream {
	uint64_t id;
	uint64_t own_id; /* in packets: the same, unless traces were joined */
	const struct stream_class *class;
	const struct clock_class *clock; /* NULL: events have no time */
	enum plan_header header;
	uint32_t header_align_bits;
	uint32_t header_clock_align_bits; /* HEADER_LARGE: of the short time stamp behind the id */
	/* Of the extended form: alignment of its struct, and of its time stamp. */
	uint32_t extended_align_bits, extended_clock_align_bits;
	const struct step *header_steps;
	bool has_id;                     /* false: all events belong to the class with id 0 */
	const struct step *packet_steps; /* the packet context */
	uint16_t slot_timestamp_begin, slot_timestamp_end, slot_content_size, slot_packet_size;
	uint16_t slot_seq_num, slot_discarded, slot_cpu_id;
	uint8_t discarded_bits;     /* width of the discarded counter, which wraps */
	uint32_t event_count;       /* entries of the table below */
	struct plan_event **events; /* by id when dense, otherwise sorted by id */
	bool is_dense;
	struct plan_skip *skips; /* by id, event_count; NULL unless dense and of a known header */
	bool is_packed;          /* neither headers nor fields are aligned to more than a byte */
	uint32_t request_mask;   /* bit i: some event of this stream is bound to request i < 32 */
	uint32_t lead_mask;      /* the same, and to no event of a stream class with a lower id */
};

/*
 * Of traces that were joined (metadata/join.h) there is a plan of all, and one of each part.  The
 * part's has the header of its packets, and those of the streams that are its own; all else is that
 * of the whole.  So a worker reads by the plan of its chunk's part, and what it finds is of one
 * trace.
 */
struct plan {
	atomic_uint refs; /* of a part: those of the whole count */
	uint64_t serial;  /* no other plan of the process has it; above 0 */
	const struct metadata *metadata;
	const struct metadata *of; /* the same, or of a part: its own */
	struct plan *whole;        /* of a part; NULL: it is no part */
	struct plan *parts;        /* of traces that were joined; NULL: there is one */
	uint32_t part_count;
	const struct step *header_steps; /* the packet header */
	uint16_t slot_magic, slot_uuid, slot_stream_id, slot_instance_id;
	/* Old tracers: events may lie behind their packet's end (LTTng before 2.11), and packets
	 * may end behind the begin of the next one (LTTng before 2.4). */
	bool may_end_early, may_overlap;
	uint32_t slot_count;
	uint32_t stream_count;
	struct plan_stream *streams;
	uint32_t class_count; /* event classes of the trace */
	struct plan_event **classes;
};

struct plan_builder;
struct arena;

/* What visitors get as the name of an event's contexts, which are a struct; its fields are in none.
 */
extern const char plan_context_name[];

/*
 * A builder compiles the growing metadata of one trace for a fixed set of requests.
 * @visit_all compiles every field as a leaf for decoder.visit instead, and what it is in. @requests
 * and @arena must outlive it and all its plans.
 */
struct plan_builder *plan_builder_new(struct arena *arena, const struct plan_request *requests,
				      size_t request_count, bool visit_all);
void plan_builder_free(struct plan_builder *builder);

/* The packets of the trace, or part, have another UUID than its metadata.  Before @plan is shared.
 */
void plan_ignore_uuid(struct plan_builder *builder, struct plan *plan);

/*
 * Other names of a trace's events and fields: a class is bound to requests of its own name, and to
 * those of its other one, whose fields are looked up by theirs.
 */
#define PLAN_NAME_BYTES 128
struct plan_names {
	/* False: it has no other.  @domain: of the trace's environment, NULL: it has none. */
	bool (*event)(const char *domain, const char *name, char ret[PLAN_NAME_BYTES]);
	/* NULL: the class lacks it; *ret_add is added to its number. */
	const char *(*field)(const char *field, int16_t *ret_add);
};
/* Before the first plan; @names must outlive the builder. */
void plan_builder_rename(struct plan_builder *builder, const struct plan_names *names);

/* A plan for all of @metadata, with one reference; -EINVAL or -ENOMEM.  What it takes for granted
 * and the metadata does not say becomes a note there. */
int plan_build(struct plan_builder *builder, const struct metadata *metadata,
	       struct plan **ret_plan, struct err *err);

struct plan *plan_ref(struct plan *plan);
void plan_unref(struct plan *plan); /* NULL is fine */

const struct plan_stream *plan_stream(const struct plan *plan, uint64_t id);
/* The same by the id in packets. */
const struct plan_stream *plan_stream_own(const struct plan *plan, uint64_t own_id);
/* That of a part, by its number; of a trace that is one: itself. */
struct plan *plan_part(struct plan *plan, uint32_t part);

/* What field @field of the binding's request is in this class, whose binding it is. */
static inline const struct plan_field *plan_field_of(const struct plan_event *class,
						     const struct plan_binding *binding,
						     unsigned int field)
{
	return &class->fields[(unsigned int)(binding->base - class->bindings->base) + field];
}

/* Whether a request for the domain @asked is for a trace of @domain; NULL: it has none. */
bool plan_in_domain(const char *domain, const char *asked);
/* Whether a request for @event takes events of this name. */
bool plan_takes(const char *event, const char *name);
/* Whether the metadata declares an event class of this name, its own or the other one. */
bool plan_has_event(const struct plan *plan, const char *name);
struct plan_event *plan_event_find(const struct plan_stream *stream, uint64_t id);

/* Asserts all invariants of a finished plan.  plan_build() calls it if CHECKS_ON. */
void plan_check(const struct plan *plan);
