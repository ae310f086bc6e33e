/*
 * plan: a trace's types compiled to what a decoder does with each event.
 *
 * Metadata says everything about every field; analyses need few.  The compiler
 * turns each event class into a flat list of steps that loads the needed fields
 * and passes over the rest in as few additions as the layout allows:
 *
 *     fields := struct {                      NEED   160 bits from here
 *         uint8_t comm[16];   <- needed       BYTES  +0, 16 bytes      -> slot 0
 *         int32_t tid;        <- needed       S32    +128              -> slot 1
 *         string  path;                       SKIP   160
 *         uint64_t count;     <- needed       STRING
 *     }                                       NEED   64
 *                                             U64    +0                -> slot 2
 *                                             SKIP   64
 *                                             END
 *
 * A class whose size is the same in every event has no dynamic step: its loads are
 * at constant offsets and the cursor moves once ("fixed").  Loads are relative to
 * the cursor; NEED has checked the bounds of all loads up to the next SKIP.
 *
 * A plan is immutable and counted by reference: a chunk keeps the plan it was
 * received under, while new metadata makes another plan that shares the compiled
 * classes of the old one, so that the cost of growing is that of what is new.
 */
#ifndef SILLAGE_CTF_PLAN_PLAN_H
#define SILLAGE_CTF_PLAN_PLAN_H

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
	STEP_FLOAT,  /* 32 or 64 bits, any alignment and byte order */
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
};

enum { STEP_SIGNED = 1, STEP_BE = 2, STEP_TEXT = 4, STEP_COUNTED = 8, STEP_REVERSED = 16 };
#define STEP_ENCODING_SHIFT                                                                        \
	5 /* the highest bits of flags: of STEP_STRING, and of text of STEP_SEQ */

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
		const struct type *type;       /* of a leaf, for visitors */
	};
};

/* A decoded value.  Text is UTF-8.  It and sequences point into the packet, or, if they had to be
 * converted, into the decoder's memory until the next event. */
struct value {
	union {
		uint64_t u;
		int64_t i;
		double f;
		const uint8_t *bytes;
	};
	uint64_t len; /* bytes of text, and of elements in a row; bits of a LEB128 */
};

/*
 * What somebody wants of events: fields of all classes whose name is @event ("*" at
 * the end matches any rest).  A field is a member of the payload, or of the event
 * contexts when written "context.NAME".  It is a number, or, when written "@NAME", text or
 * elements in a row: traces may have anything under a name.  A class that lacks a field is still
 * bound; its value is then absent (plan_binding.present).
 */
#define PLAN_TEXT       "@"
#define PLAN_FIELDS_MAX 16
struct plan_request {
	const char *event;
	const char *fields[PLAN_FIELDS_MAX];
	uint16_t group; /* of requests with one group, the first that matches a class is bound */
	const char *domain; /* bound only if the trace's environment names it; NULL: always */
	uint32_t (*user_of)(const char *event); /* makes plan_binding.user; NULL: it is ... */
	uint32_t user;                          /* ... this */
	bool may_rest; /* for a while nobody may want its events (decoder_each()) */
};

struct plan_binding {
	uint16_t request;   /* index of the request */
	uint16_t base;      /* slot of its first field; the others follow */
	uint16_t present;   /* bit i: the class has field i */
	uint16_t is_signed; /* bit i: field i is a signed integer */
	uint32_t user;      /* as the request has it */
};

/* A field that several requests want is loaded once. */
struct plan_copy {
	uint16_t from, to; /* slots */
};

struct plan_event {
	/* What each event needs is together. */
	const struct plan_load *fast;  /* the loads in another form, if all have it */
	const struct plan_part *parts; /* not NULL: the size varies, and `quick` is for these */
	const struct plan_binding *bindings;
	const struct plan_copy *copies; /* to be made once the event is decoded: decoder_copy() */
	uint32_t fast_count, binding_count, copy_count;
	uint32_t index; /* of the class in the trace */
	const struct event_class *class;
	const struct step *steps;
	bool uses_header; /* needs values of the event header's fields */
	bool is_fixed;
	bool is_fast;        /* is_fixed, of whole bytes, and all loads are in `quick` */
	uint8_t use;         /* enum plan_use */
	uint8_t load_count;  /* is_fixed: steps that are loads */
	uint16_t align_bits; /* is_fixed: of the first member */
	uint32_t fixed_bits; /* is_fixed: size after alignment */
};

/*
 * What decoder_each() looks at first, by id: small, so that it stays in the nearest cache.
 * Events are passed over, or have their fields loaded.
 */
enum plan_use {
	SKIP_NOT,  /* there is no such class, or it is for decoder_next() */
	SKIP_LOAD, /* its fields are in plan_event.quick */
	SKIP_REST, /* the same, but only requests that may rest want it */
	SKIP_PASS, /* nobody wants anything of it */
};

struct plan_skip {
	uint32_t index;     /* of the class in the trace */
	uint16_t bytes;     /* after alignment */
	uint8_t align_mask; /* bytes of alignment - 1 */
	uint8_t use;        /* enum plan_use; SKIP_LOAD where the size varies, which needs a look */
};

/*
 * A field at a constant byte: text, or an integer in the machine's byte order, of which 8 bytes
 * are loaded and shifted up and down again.  Small: those of all classes are to stay in the
 * nearest cache.
 */
enum plan_form { LOAD_UNSIGNED, LOAD_SIGNED, LOAD_BYTES };

struct plan_load {
	uint16_t offset; /* bytes from the event's first field */
	uint16_t slot;
	uint16_t len;  /* LOAD_BYTES */
	uint8_t shift; /* 64 - bits of an integer */
	uint8_t form;  /* enum plan_form */
};

/* What is behind a part of an event. */
enum plan_part_end {
	PART_LAST,   /* nothing */
	PART_ALIGN,  /* the next part, which is aligned */
	PART_STRING, /* a string in UTF-8 */
	PART_ROW,    /* elements of a constant size in a row, as many as a field before says */
};

/* A stretch of constant size in an event whose size varies. */
struct plan_part {
	uint16_t bytes; /* after alignment */
	uint8_t align_mask;
	uint8_t load_count; /* of plan_event.quick, where the last part's end: from its begin on */
	uint8_t end;        /* enum plan_part_end */
	uint8_t element_bytes; /* PART_ROW */
	uint16_t slot;         /* of the string or row, SLOT_NONE: nobody wants it */
	uint16_t ref;          /* PART_ROW: slot of how many there are */
};

/* How an event header is read: the two that LTTng writes, or by steps. */
enum plan_header { HEADER_STEPS, HEADER_COMPACT, HEADER_LARGE, HEADER_NONE };

struct plan_stream {
	uint64_t id;
	const struct stream_class *class;
	const struct clock_class *clock; /* NULL: events have no time */
	enum plan_header header;
	uint32_t header_align_bits;
	uint32_t header_clock_align_bits; /* HEADER_LARGE: of the short time stamp behind the id */
	/* Of the extended form: alignment of its struct, and of its time stamp. */
	uint32_t extended_align_bits, extended_clock_align_bits;
	const struct step *header_steps;
	bool has_id;                     /* no: all events are of the class with id 0 */
	const struct step *packet_steps; /* the packet context */
	uint16_t slot_timestamp_begin, slot_timestamp_end, slot_content_size, slot_packet_size;
	uint16_t slot_seq_num, slot_discarded, slot_cpu_id;
	uint8_t discarded_bits;     /* width of the discarded counter, for wrapping */
	uint32_t event_count;       /* entries of the table below */
	struct plan_event **events; /* by id when dense, otherwise sorted by id */
	bool is_dense;
	struct plan_skip *skips; /* by id, event_count; NULL unless dense and of a known header */
	bool is_packed;          /* nothing of that is aligned to more than a byte */
	uint32_t request_mask;   /* bit i: some event of this stream is bound to request i < 32 */
	uint32_t lead_mask;      /* the same, and of no stream class with a lower id */
};

struct plan {
	atomic_uint refs;
	const struct metadata *metadata;
	const struct step *header_steps; /* the packet header */
	uint16_t slot_magic, slot_uuid, slot_stream_id, slot_instance_id;
	uint32_t slot_count;
	uint32_t stream_count;
	struct plan_stream *streams;
	uint32_t class_count; /* event classes of the trace */
	struct plan_event **classes;
};

struct plan_builder;
struct arena;

/*
 * A builder compiles the growing metadata of one trace for a fixed set of requests.
 * @visit_all compiles every field as a leaf for decoder_visit() instead.  @requests
 * and @arena must outlive it and all its plans.
 */
struct plan_builder *plan_builder_new(struct arena *arena, const struct plan_request *requests,
				      size_t request_count, bool visit_all);
void plan_builder_free(struct plan_builder *builder);

/* A plan for all of @metadata, with one reference; -EINVAL or -ENOMEM. */
int plan_build(struct plan_builder *builder, const struct metadata *metadata,
	       struct plan **ret_plan, struct err *err);

struct plan *plan_ref(struct plan *plan);
void plan_unref(struct plan *plan); /* NULL is fine */

const struct plan_stream *plan_stream(const struct plan *plan, uint64_t id);
/* Whether the trace has declared events of this name. */
bool plan_has_event(const struct plan *plan, const char *name);
struct plan_event *plan_event_find(const struct plan_stream *stream, uint64_t id);

#endif
