/*
 * compile: one struct type, or several in sequence, to steps (plan.h).
 *
 * The compiler walks a type twice.  The first walk resolves the paths of lengths and selectors and
 * notes which integers they name.  The second walk emits steps and gives those integers a slot.
 * Both walks see the fields in the same order, so its ordinal identifies an integer.
 *
 *     walk 1: paths -> groups of integers        walk 2: groups -> slots, steps
 *
 * The compiler knows the position modulo a power of two (emit.h), so most alignment becomes part of
 * a constant offset.
 *
 * compile.c has the walk, compile-variant.c the variants, compile-path.c the paths and emit.c the
 * steps.  Types are untrusted: limits.h bounds depth, fields, steps, slots and path targets.  What
 * exceeds them leaves by @fail with a message.
 */
#pragma once

#include <setjmp.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctf/plan/plan.h"

/* A field in the walk: enough to resolve paths into it. */
struct node {
	const struct type *type;
	struct node *members; /* of a struct; options of a variant; the element of an array */
	uint32_t ordinal; /* of an integer: its number in this walk; UINT32_MAX: an earlier one */
	uint16_t slot;    /* of an integer: its slot, or SLOT_NONE */
	bool is_complete; /* walked to its end: a path may name it */
};

/* A field that an analysis requested. */
enum want_kind { WANT_NUMBER, WANT_TEXT, WANT_ANY }; /* WANT_TEXT: or the elements of a row */
struct compile_want {
	enum root root; /* ROOT_FIELDS, or ROOT_EVENT_CONTEXT for both contexts */
	const char *name;
	enum want_kind kind;
	uint16_t slot;
	int16_t add;             /* to its number */
	bool is_copy;            /* of another want's */
	const struct type *type; /* what was found; NULL: nothing */
};

/* Whether a value of this type can be loaded as this kind. */
bool compile_loads(const struct type *type, enum want_kind kind);

struct compile {
	/* set by the caller */
	struct arena *arena;   /* for the result */
	struct arena *scratch; /* for nodes and all else that only the walk needs */
	enum byte_order native;
	bool visit_all;     /* every leaf gets a step with its type */
	bool keep_integers; /* every integer gets a slot */
	bool by_roles;      /* CTF 2: roles give an event header's fields their meaning */
	struct compile_want *wants;
	size_t want_count;
	uint16_t slot_next;
	struct node roots[ROOT_COUNT];
	bool uses_event_header; /* result: a path leads to a header of the event or packet */
	bool has_id;            /* result: the event header has an id */
	struct err *err;
	jmp_buf *fail;

	/* the walk */
	bool emitting;
	uint32_t ordinal;
	uint32_t walked; /* fields */
	/*
	 * By ordinal: the group of an integer that a path names (0: no path does).  A path through
	 * a variant names one integer in each option; they are one group and have one slot.
	 */
	uint32_t *groups;
	uint16_t *group_slots; /* by group; SLOT_NONE until the walk reaches the first of it */
	uint32_t group_room;
	enum root root;
	struct scope_frame *frames;
	const char *name; /* of the field being walked */
	unsigned int depth, loops;

	/* emission */
	struct step *steps;
	uint32_t step_count, step_room;
	uint32_t modulus;      /* the position, pending bits included, modulo this ... */
	uint32_t remainder;    /* ... is this */
	uint64_t pending_bits; /* passed over and not yet in a SKIP */
	uint32_t need_step;    /* NEED of the current run of loads, UINT32_MAX if none */
	uint64_t need_bits;
};

/*
 * Compiles @types (NULL entries are skipped) as the roots from @first on.  The position at the
 * start is @remainder bits behind a multiple of @modulus.  Returns steps in the arena that end with
 * STEP_END; leaves by @fail with @err set if the types are wrong.
 */
const struct step *compile_steps(struct compile *c, enum root first,
				 const struct type *const *types, size_t type_count,
				 uint32_t modulus, uint32_t remainder);
