/*
 * plan-builder: what the files of the plan builder share: plan.c, plan-class.c, plan-wants.c and
 * plan-fast.c.
 *
 * The builder keeps all that it compiled and compiles only what is new in the metadata.  The tables
 * of a plan grow in place, behind the entries that earlier plans read, so a plan costs what is new
 * in it:
 *
 *     events by id   [ 0 1 2 3 | 4 5 6 | . . . ]
 *                      plan 1    plan 2   room
 *
 * A new class within the entries of an earlier plan (a hole, or an id declared twice) makes a copy.
 * All of it lives in the arena; failure leaves by longjmp to plan_build().
 */
#pragma once

#include <setjmp.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ctf/plan/compile.h"
#include "ctf/plan/plan.h"

HASH_MAP_TEXT(request_names, uint32_t)

/* The requests that match the event class being built. */
struct event_wants {
	VEC(struct plan_binding) bindings;
	VEC(struct compile_want) wants;
	VEC(struct plan_copy) copies;
};

/* An event class by its own name and by the one that requests may have for it. */
struct plan_class_names {
	const char *own, *other; /* the same, if it has no other */
};

/* What is of a whole trace, or of a part of those that were joined. */
struct built_header {
	const struct metadata *of;
	bool is_final;
	struct plan plan; /* only the members about packet headers are set */
	struct node node;
	uint16_t slots;
	uint32_t modulus, remainder;
	struct plan_origin *origin; /* NULL: there is no class yet */
};

struct built_stream {
	struct built_header *header;
	struct plan_stream plan;
	struct compile compile; /* left ready to compile the stream's events */
	uint32_t room;          /* of the tables by id */
	bool owns_tables;       /* no earlier plan has these tables */
	uint32_t sparse_since;  /* index of the class from which on ids are not in the tables */
};

struct plan_builder {
	struct arena *arena;
	struct arena scratch; /* while one class is compiled */
	const struct plan_request *requests;
	size_t request_count;
	bool visit_all;
	const struct plan_names *renames; /* NULL: there are no other names */
	struct request_names names;       /* the first request for exactly this name ... */
	uint32_t *next_same;              /* ... and the next for the same name; UINT32_MAX: none */
	VEC(uint32_t) patterns;           /* the other requests, in order */
	struct event_wants wants;

	VEC(struct built_header *) headers; /* by part */
	VEC(struct built_stream *) streams; /* in order of declaration */
	struct plan_event **classes;        /* by index */
	uint32_t class_count, class_room;
	const struct event_class *last; /* the last that was built */
	uint32_t known_count;           /* classes of the plan before */
	bool has_noted_clock;

	const struct metadata *metadata; /* of the plan being built */
	struct built_header *of;         /* of the class being built */
	struct err *err;
	jmp_buf fail;
};

void plan_build_header(struct plan_builder *b, struct built_header *header);
struct built_stream *plan_build_stream(struct plan_builder *b, struct built_header *header,
				       const struct stream_class *class);
struct plan_event *plan_build_event(struct plan_builder *b, const struct event_class *class,
				    struct built_stream *built);

/* NULL: the struct has no such member. */
const struct type *plan_member_of(const struct type *type, const char *name);

/*
 * All requests that match a name, in their order: those for exactly this name, which a hash table
 * finds, and those with a pattern.  Their fields have the slots from @slot on.
 */
void plan_collect_wants(struct plan_builder *b, const struct event_class *class,
			const struct plan_class_names *name, uint16_t slot, struct event_wants *ew);

/* Finds the shorter forms of a class, which decoder_each() uses in place of its steps. */
void plan_find_fast(struct plan_builder *b, struct plan_event *event);
