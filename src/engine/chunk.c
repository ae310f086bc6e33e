/*
 * chunk: lifecycle.
 */
#include "engine/chunk.h"

void chunk_free(struct chunk *chunk)
{
	if (!chunk) {
		return;
	}
	for (size_t i = 0; i < chunk->packets.count; i++) {
		free(chunk->packets.at[i].bytes);
	}
	vec_fini(&chunk->packets);
	plan_unref(chunk->plan);
	partial_free(chunk->partial);
	free(chunk);
}
