/*
 * untrusted: records and states that come from files: their bytes are checked before they are used.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"
#include "engine/contract/record.h"
#include "engine/contract/row-key.h"

struct period_set;
struct shard;

/* A record of the analysis' own that came from a file: its bytes are untrusted. */
struct untrusted_record {
	const struct record *record;
	const uint64_t *numbers; /* from record->arg64 on, if that is an index ... */
	uint64_t count;          /* ... and how many there are; 0: it is none */
	uint32_t classes;        /* event classes of the trace */
	const struct period_set *periods;
	bool has_current; /* arg32 will be a tid (worker_note_current) */
};

/* Whether so many numbers lie beside the record, and arg32 stays what it is. */
static inline bool untrusted_has(const struct untrusted_record *untrusted, uint64_t count)
{
	return !untrusted->has_current && untrusted->count >= count;
}

/* State that goes to another process, or comes from one (engine/exchange/checkpoint.h). */
struct checkpoint {
	struct codec *codec;
	uint32_t classes; /* event classes of the trace */
	const struct period_set *periods;
	struct shard *shard; /* of on_trace_checkpoint(): for shard_pair_claim() */
};

/* Whether worker_text() may have put that beside the record. */
static inline bool untrusted_has_text(const struct untrusted_record *untrusted)
{
	return untrusted_has(untrusted, ROW_KEY_NAME_BYTES / sizeof(uint64_t)) &&
	       ((const char *)untrusted->numbers)[ROW_KEY_NAME_BYTES - 1] == 0;
}

static inline void row_key_codec(struct codec *codec, struct row_key *key)
{
	codec_u64(codec, &key->id);
	codec_bytes(codec, key->name, ROW_KEY_NAME_BYTES);
	if (!codec_check(codec, key->name[ROW_KEY_NAME_BYTES - 1] == 0)) {
		key->name[ROW_KEY_NAME_BYTES - 1] = 0;
	}
}
