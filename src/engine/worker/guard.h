/*
 * guard: reading a mapped file that may be truncated meanwhile.
 *
 * An access to a page after the end of its file, or to one that cannot be read, raises SIGBUS.
 * Between guard_enter() and guard_leave() the guard's sigsetjmp() returns 1 instead, if the address
 * lies in the guarded range.  Any other SIGBUS ends the process as usual.
 *
 *     struct guard guard;
 *     if (sigsetjmp(guard.jump, 0) == 0) {
 *             guard_enter(&guard, bytes, len);
 *             ...read...
 *     } else {
 *             ...bytes are gone...
 *     }
 *     guard_leave();
 */
#pragma once

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

struct guard {
	const uint8_t *begin, *end;
	sigjmp_buf jump;
};

/* A thread has at most one guard at a time. */
void guard_enter(struct guard *guard, const void *bytes, size_t len);
void guard_leave(void);
