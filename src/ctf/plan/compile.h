/*
 * compile: one struct type (or several, one after the other) to steps.
 *
 * The compiler walks a type twice.  The first walk resolves the paths of lengths
 * and tags and notes which integers they name; the second emits steps and gives those
 * integers a slot.  Both walks see fields in the same order, so "the n-th integer"
 * identifies one.
 *
 * While emitting it knows the cursor modulo a power of two, and so turns alignment
 * into constants wherever the layout allows.
 */
#ifndef SILLAGE_CTF_PLAN_COMPILE_H
#define SILLAGE_CTF_PLAN_COMPILE_H

#include <setjmp.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctf/plan/plan.h"

/* A field as it was met: enough to resolve paths into it. */
struct node {
	const struct type *type;
	struct node *members; /* of a struct; options of a variant; the element of an array */
	uint32_t ordinal;     /* of an integer: its number in this walk */
	uint16_t slot;        /* of an integer: its slot, or SLOT_NONE */
	bool is_complete;     /* already behind the cursor */
};

struct compile_want {
	enum root root; /* ROOT_FIELDS, or ROOT_EVENT_CONTEXT for both contexts */
	const char *name;
	bool is_text; /* or elements in a row; else it is a number */
	uint16_t slot;
	bool found, is_signed;
};

struct compile {
	/* set by the caller */
	struct arena *arena;   /* for the result */
	struct arena *scratch; /* for the rest: nodes, and what the walk needs */
	enum byte_order native;
	bool visit_all;     /* every leaf gets a step with its type */
	bool keep_integers; /* every integer gets a slot */
	bool by_roles;      /* CTF 2: roles say what an event header's fields are */
	struct compile_want *wants;
	size_t want_count;
	uint16_t slot_next;
	struct node roots[ROOT_COUNT];
	bool uses_event_header; /* result: a path leads to before the event's contexts */
	bool has_id;            /* result: the event header has an id */
	struct err *err;
	jmp_buf *fail;

	/* the walk */
	bool emitting;
	uint32_t ordinal;
	uint32_t walked; /* fields */
	/*
	 * By ordinal: integers that some path names are in a group (0: not named).  A path that
	 * leads through a variant names one integer in each option: all have one slot.
	 */
	uint32_t *groups;
	uint16_t *group_slots; /* by group, SLOT_NONE before the first is met */
	uint32_t group_room;
	enum root root;
	struct scope_frame *frames;
	const char *name; /* of the field being walked */
	unsigned int depth, loops;

	/* emission */
	struct step *steps;
	uint32_t step_count, step_room;
	uint32_t modulus;      /* the cursor plus pending, modulo this ... */
	uint32_t remainder;    /* ... is this */
	uint64_t pending_bits; /* passed over but not yet a SKIP */
	uint32_t need_step;    /* NEED of the current run of loads, UINT32_MAX if none */
	uint64_t need_bits;
};

/*
 * Compiles @types (NULL entries are skipped) as the roots from @first on.
 * At the start the cursor is @remainder bits beyond a multiple of @modulus.  Returns steps that end
 * with STEP_END, in the arena; leaves by @fail with @err set if the types are wrong.
 */
const struct step *compile_steps(struct compile *c, enum root first,
				 const struct type *const *types, size_t type_count,
				 uint32_t modulus, uint32_t remainder);

#endif
