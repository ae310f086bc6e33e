/*
 * arena: many small objects that are freed together.
 *
 *     block (newest)        block             block (first)
 *   +--------+-------+    +-----------+     +-----------+
 *   | used   | free  | -> | used      | ->  | used      | -> NULL
 *   +--------+-------+    +-----------+     +-----------+
 *
 * Memory is zeroed and aligned for any type.  Running out of memory, or passing `max` bytes, jumps
 * to `fail`.  The metadata parser uses that to fail in one place, since its input is untrusted and
 * may be large.  Without `fail` the process aborts.
 */
#pragma once

#include <setjmp.h>
#include <stddef.h>

struct account;

struct arena {
	struct arena_block *newest;
	size_t total; /* bytes taken from the heap */
	size_t max;   /* refuse to pass this; 0 = no limit */
	/* Whose metadata it is; refuses what may not last.  NULL = nobody counts. */
	struct account *account;
	jmp_buf *fail; /* where to go when memory is refused; NULL = abort */
};

void arena_fini(struct arena *arena);
/* Frees all objects, but keeps the newest block for later ones. */
void arena_reset(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size);
void *arena_copy(struct arena *arena, const void *from, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t len);

/* For tests: the n-th allocation from now fails, whether it needs a block or not; 0: none does. */
extern unsigned long arena_fail_after;
