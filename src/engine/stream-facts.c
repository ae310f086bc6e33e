/*
 * stream-facts: a stream that goes on where a checkpoint was made; see stream.h.
 */
#include <assert.h>

#include "engine/engine-state.h"
#include "engine/merger/merger.h"

void stream_facts(const struct stream *stream, struct stream_facts *ret)
{
	*ret = (struct stream_facts){
		.is_known = stream->merger && merger_stream_identity(stream->merger),
		.is_over = stream->is_ended,
		.is_renumbered = stream->is_renumbered,
		.has_told_remedy = stream->has_told_remedy,
		.seq_num = stream->seq_num,
		.end = stream->end,
	};
}

struct stream *stream_go_on(struct trace *trace, size_t number, const struct stream_facts *facts)
{
	struct stream *stream = number < trace->streams.count ? trace->streams.at[number] : NULL;

	assert(facts->is_known && !facts->is_over);
	if (!stream || !stream->is_away || !stream->merger) {
		return NULL;
	}
	stream->is_away = false;
	stream->is_renumbered = facts->is_renumbered;
	stream->has_told_remedy = facts->has_told_remedy;
	stream->seq_num = facts->seq_num;
	merger_stream_exclude(stream->merger, false);
	return stream;
}

uint64_t stream_until(const struct stream *stream)
{
	return stream->merger ? merger_stream_until(stream->merger) : 0;
}

bool stream_waits_for_initial(const struct stream *stream)
{
	return stream->merger && merger_stream_waits(stream->merger);
}
