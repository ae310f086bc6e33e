/*
 * compile-parts: what the parts of the compiler share (compile.c, compile-emit.c,
 * compile-path.c).
 */
#ifndef SILLAGE_CTF_PLAN_COMPILE_PARTS_H
#define SILLAGE_CTF_PLAN_COMPILE_PARTS_H

#include "ctf/plan/compile.h"

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

/* ---- compile-emit.c: while not emitting, only the cursor moves ---- */

/* Appends a step; pointers to it die at the next. */
struct step *emit_step(struct compile *c, enum step_op op);
/* A load at the cursor plus what is pending. */
struct step *emit_load(struct compile *c, enum step_op op, uint64_t size_bits, uint16_t slot);
/* Turns what was passed over into a move of the cursor, and ends the run of loads. */
void emit_flush(struct compile *c);
void emit_advance(struct compile *c, uint64_t bits);
void emit_align(struct compile *c, uint32_t align_bits);
/* Of the cursor no more is known than that it is a multiple of @modulus. */
void emit_forget_position(struct compile *c, uint32_t modulus);
uint16_t emit_new_slot(struct compile *c);
/* How the integer is loaded at the cursor, and the flags of a step for it. */
enum step_op emit_integer_op(const struct compile *c, const struct type *type);
uint8_t emit_value_flags(const struct compile *c, const struct type *type);

#endif
