/*
 * emit: the steps that the compiler's walk over a type makes, and the cursor's position.
 *
 * While c->emitting is false, only the position changes.  Fields that nobody requested do not
 * become steps: they are added to pending_bits, and the next emit_flush() makes one SKIP of all of
 * them.  A run of loads starts with one NEED, whose size is known at its end; emit_flush() fills it
 * in.
 *
 * Invariants: modulus is a power of two and remainder < modulus; the next field is remainder bits
 * behind a multiple of modulus.  A load's end is within the size of its NEED.
 */
#pragma once

#include "ctf/plan/compile.h"

/* Appends a step; pointers to it are invalid after the next. */
struct step *emit_step(struct compile *c, enum step_op op);

/* A load behind the pending bits. */
struct step *emit_load(struct compile *c, enum step_op op, uint64_t size_bits, uint16_t slot);

/* Turns the pending bits into a move of the cursor, and ends the run of loads. */
void emit_flush(struct compile *c);

/* Adds @bits to the pending ones. */
void emit_advance(struct compile *c, uint64_t bits);
void emit_align(struct compile *c, uint32_t align_bits);

/* From here on only a multiple of @modulus is known of the position. */
void emit_forget_position(struct compile *c, uint32_t modulus);

uint16_t emit_new_slot(struct compile *c);

/* For visitors: the name of the next value; the ends of one that has others. */
void emit_name(struct compile *c, const char *name);
void emit_enter(struct compile *c, const struct type *type);
void emit_leave(struct compile *c);

/* The load for an integer at the current position, and the flags of the step of a number in a trace
 * of this byte order. */
enum step_op emit_integer_op(const struct compile *c, const struct type *type);
uint8_t emit_value_flags(enum byte_order native, const struct type *type);
