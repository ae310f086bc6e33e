/*
 * arena: see arena.h.  Blocks double in size.
 */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/limits.h"

struct arena_block {
	struct arena_block *older;
	size_t used;
	size_t size;
	alignas(max_align_t) char bytes[];
};

unsigned long arena_fail_after;

void arena_fini(struct arena *arena)
{
	struct arena_block *block = arena->newest;

	account_give(arena->account, ACCOUNT_METADATA, arena->total);
	while (block) {
		struct arena_block *older = block->older;

		free(block);
		block = older;
	}
	arena->newest = NULL;
	arena->total = 0;
}

void arena_reset(struct arena *arena)
{
	struct arena_block *newest = arena->newest;

	if (!newest) {
		return;
	}
	arena->newest = newest->older;
	arena->total -= newest->size;
	arena_fini(arena);
	memset(newest->bytes, 0, newest->used);
	newest->used = 0;
	newest->older = NULL;
	arena->newest = newest;
	arena->total = newest->size;
}

static void *refuse(struct arena *arena)
{
	if (arena->fail) {
		longjmp(*arena->fail, 1);
	}
	abort();
}

static struct arena_block *block_new(struct arena *arena, size_t need)
{
	size_t size = arena->newest ? arena->newest->size * 2 : ARENA_BLOCK_BYTES_MIN;
	struct arena_block *block;

	if (size > ARENA_BLOCK_BYTES_MAX) {
		size = ARENA_BLOCK_BYTES_MAX;
	}
	if (size < need) {
		size = need;
	}
	if (arena->max && (size > arena->max || arena->total > arena->max - size)) {
		return NULL;
	}
	if (!account_may_last(arena->account, size)) {
		return NULL;
	}
	block = calloc(1, sizeof(*block) + size);
	if (!block) {
		return NULL;
	}
	block->size = size;
	block->older = arena->newest;
	arena->newest = block;
	arena->total += size;
	account_take(arena->account, ACCOUNT_METADATA, size);
	assert(!arena->max || arena->total <= arena->max);
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->newest;
	void *got;

	assert(size <= SIZE_MAX - alignof(max_align_t));
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (arena_fail_after && --arena_fail_after == 0) {
		return refuse(arena);
	}
	if (!block || block->size - block->used < size) {
		block = block_new(arena, size);
		if (!block) {
			return refuse(arena);
		}
	}
	assert(block->used + size <= block->size);
	got = block->bytes + block->used;
	block->used += size;
	return got;
}

void *arena_copy(struct arena *arena, const void *from, size_t size)
{
	void *copy = arena_alloc(arena, size);

	if (size > 0) {
		memcpy(copy, from, size);
	}
	return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);

	memcpy(copy, text, len);
	return copy;
}
