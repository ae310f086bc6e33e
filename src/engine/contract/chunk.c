/*
 * chunk: see chunk.h.
 */
#include "engine/contract/chunk.h"

#include <stdlib.h>

void chunk_fini(struct chunk *chunk)
{
	for (size_t i = 0; i < chunk->packets.count; i++) {
		struct packet *packet = &chunk->packets.at[i];

		if (packet->retained) {
			retained_unref(packet->retained);
		} else {
			free(packet->bytes);
		}
	}
	vec_fini(&chunk->packets);
	plan_unref(chunk->plan);
	partial_free(chunk->partial);
}
