/*
 * compile-parts: what the parts of the compiler share (compile.c, compile-path.c).
 */
#ifndef SILLAGE_CTF_COMPILE_PARTS_H
#define SILLAGE_CTF_COMPILE_PARTS_H

#include "ctf/compile.h"

/* The struct being walked, and how far: what a relative path can see. */
struct scope_frame {
	struct scope_frame *outer;
	struct node *node;
	size_t field_count;
};

__attribute__((noreturn, format(printf, 2, 3))) void compile_fail(struct compile *c,
								  const char *fmt, ...);

/* The integer that @path names, as a node with a slot once emitting. */
const struct node *compile_resolve(struct compile *c, const struct type_path *path,
				   const char *what);

#endif
