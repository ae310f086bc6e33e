/*
 * visits: see visits.h.
 */
#include "kernel/visits.h"

#include "base/codec.h"

void visits_codec(struct codec *codec, struct visits *visits)
{
	uint8_t count = visits->count;

	codec_each(codec, &count);
	visits->count = codec_check(codec, count <= VISITS_MAX) ? count : 0;
	for (unsigned int i = 0; i < visits->count; i++) {
		codec_each(codec, &visits->ts[i], &visits->tids[i]);
		if (!codec_check(codec, i == 0 || visits->ts[i - 1] <= visits->ts[i])) {
			visits->count = 0;
		}
	}
}
