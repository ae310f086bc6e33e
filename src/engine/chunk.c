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
	vec_fini(&chunk->packed.bytes);
	free(chunk);
}
