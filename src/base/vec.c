/*
 * vec: see vec.h.
 */
#include "base/vec.h"

#include <stdint.h>

#include "base/mem.h"

#define ROOM_MIN 16

static size_t at_least(size_t room, size_t total)
{
	return room < total ? total : room;
}

/* aligned_alloc() cannot enlarge, and takes whole cache lines only. */
static void grow_lines(void **at, size_t count, size_t room, size_t size)
{
	void *lines;

	assert(LINE_BYTES % size == 0 || size % LINE_BYTES == 0);
	lines = mem_alloc_lines(room * size);
	if (count > 0) {
		memcpy(lines, *at, count * size);
	}
	free(*at);
	*at = lines;
}

void vec_grow_(void **at, size_t count, size_t *room, size_t total, size_t size,
	       enum vec_growth growth)
{
	size_t more = growth == VEC_EXACT ? total : at_least(at_least(2 * *room, total), ROOM_MIN);

	assert(count <= *room);
	assert(total > *room);
	assert(more < SIZE_MAX / size - ROOM_MIN);
	if (growth == VEC_LINES) {
		more = (more + ROOM_MIN - 1) / ROOM_MIN * ROOM_MIN;
		grow_lines(at, count, more, size);
	} else {
		*at = mem_realloc(*at, more * size);
	}
	*room = more;
}
