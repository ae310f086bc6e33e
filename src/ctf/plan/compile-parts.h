/*
 * compile-parts: what the files of the compiler share: compile.c, compile-path.c and
 * compile-variant.c.
 */
#pragma once

#include "ctf/plan/compile.h"

/* A struct in the walk and the number of its fields already walked: what a relative path sees. */
struct scope_frame {
	struct scope_frame *outer;
	struct node *node;
	size_t field_count;
};

__attribute__((noreturn, format(printf, 2, 3))) void compile_fail(struct compile *c,
								  const char *fmt, ...);

/* One type, whose node is @node; its value goes to @slot. */
void compile_walk(struct compile *c, struct node *node, const struct type *type, uint16_t slot);
void compile_variant(struct compile *c, struct node *node, const struct type *type, uint16_t slot);

/*
 * The integer that @path names; it has a slot when emitting.  @what it is for: "length" or
 * "selector", for messages.
 */
const struct node *compile_resolve(struct compile *c, const struct type_path *path,
				   const char *what);
