/*
 * guard: reading a file that is mapped into memory, and may be cut meanwhile.
 *
 * Touching a page that is behind the end of its file, or that cannot be read, raises
 * SIGBUS.  Between guard_enter() and guard_leave() that leads to the guard's sigsetjmp()
 * instead, if the address is in the guarded range; anything else ends the process as ever.
 *
 *     struct guard guard;
 *     if (sigsetjmp(guard.jump, 0) == 0) {
 *             guard_enter(&guard, bytes, len);
 *             ...read...
 *     } else {
 *             ...they are gone...
 *     }
 *     guard_leave();
 */
#ifndef SILLAGE_ENGINE_WORKER_GUARD_H
#define SILLAGE_ENGINE_WORKER_GUARD_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

struct guard {
	const uint8_t *begin, *end;
	sigjmp_buf jump;
};

/* Of this thread; one at a time. */
void guard_enter(struct guard *guard, const void *bytes, size_t len);
void guard_leave(void);

#endif
