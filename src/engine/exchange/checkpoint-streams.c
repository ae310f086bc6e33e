/*
 * checkpoint-streams: the coordinator's part of each stream; see checkpoint.h.
 */
#include <assert.h>

#include "base/mem.h"
#include "engine/engine-state.h"
#include "engine/exchange/checkpoint.h"
#include "engine/merger/merger.h"

/* Whether packets may continue it, or come again: a relay also offers streams that have ended. */
static bool goes_on(const struct stream *stream)
{
	return stream->merger && merger_stream_identity(stream->merger);
}

static void coordinator_codec(struct stream *stream, struct codec *codec)
{
	uint64_t no_number = UINT64_MAX; /* times alone show which packets came before */

	codec_text(codec, &stream->name);
	codec_each(codec, &stream->submitted, &stream->has_anomalies, &stream->has_packet,
		   &stream->packets, &stream->end);
	codec_u64(codec, stream->is_renumbered ? &no_number : &stream->seq_num);
	codec_each(codec, &stream->discarded, &stream->has_gap, &stream->gap_lost,
		   &stream->final_lost);
}

static void read_coordinator(struct trace *trace, struct codec *codec)
{
	struct stream *stream = mem_alloc(sizeof(*stream));
	uint32_t number = 0;

	*vec_push(&trace->streams) = stream;
	stream->trace = trace;
	stream->is_away = true;
	codec_u32(codec, &number);
	stream->merger = merger_stream_at(trace->merger, number);
	coordinator_codec(stream, codec);
	if (!stream->name) {
		stream->name = mem_strdup("");
	}
	/* No other stream has this place in the merger. */
	for (size_t i = 0; i + 1 < trace->streams.count; i++) {
		(void)codec_check(codec, trace->streams.at[i]->merger != stream->merger);
	}
	if (!codec_check(codec,
			 stream->merger && merger_stream_identity(stream->merger) &&
				 merger_stream_submitted(stream->merger) <= stream->submitted)) {
		stream->is_away = false;
		stream->is_ended = true;
		return;
	}
	if (merger_stream_has_ended(stream->merger)) {
		stream->is_away = false;
		stream->is_ended = stream->may_return = true;
		return;
	}
	merger_stream_exclude(stream->merger, true);
}

static void streams_codec(struct trace *trace, struct codec *codec)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->streams.count; i++) {
		count += goes_on(trace->streams.at[i]);
	}
	count = codec_count(codec, count, 50);
	for (size_t i = 0; codec_reads(codec) && i < count && codec_check(codec, true); i++) {
		read_coordinator(trace, codec);
	}
	for (size_t i = 0; !codec_reads(codec) && i < trace->streams.count; i++) {
		struct stream *stream = trace->streams.at[i];
		uint32_t number;

		if (goes_on(stream)) {
			assert(!stream->filling); /* trace_pause() flushed it */
			assert(merger_stream_submitted(stream->merger) == stream->submitted);
			number = merger_stream_number(stream->merger);
			codec_u32(codec, &number);
			coordinator_codec(stream, codec);
		}
	}
}

void checkpoint_trace(struct trace *trace, struct codec *codec)
{
	assert(trace->in_flight == 0);
	assert(!trace->has_finished);
	assert(!codec_reads(codec) || trace->streams.count == 0);
	checkpoint_merger(trace->merger, codec);
	codec_u64(codec, &trace->unplaced);
	if (codec_check(codec, true)) {
		streams_codec(trace, codec);
	}
	trace->is_restored = codec_reads(codec);
}
