/*
 * trace-parts: traces that are one: what each has of its own (trace.h).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "ctf/metadata/join.h"
#include "ctf/metadata/metadata.h"
#include "engine/engine-state.h"
#include "engine/merger/merger.h"

struct metadata_stream *trace_new_part(const struct trace *trace)
{
	struct metadata_stream *metadata = metadata_stream_new();

	metadata_stream_count(metadata, trace->engine->config.account);
	return metadata;
}

/* Adds those whose metadata has come so far to the tree of all, in their order.  One that cannot be
 * read keeps its number, with no types: those after it go on. */
static void join_parts(struct trace *trace)
{
	for (; trace->joined < trace->parts.count; trace->joined++) {
		const struct trace_part *part = &trace->parts.at[trace->joined];
		const struct metadata *types = metadata_stream_types(part->metadata);

		if (!types->has_trace && !(part->is_dead && trace->expects_parts)) {
			break;
		}
		metadata_join_add(trace->join, types);
	}
}

int trace_all_types(struct trace *trace, const struct metadata **ret, struct err *err)
{
	const struct metadata *first = metadata_stream_types(trace->parts.at[0].metadata);

	*ret = first->has_trace ? first : NULL;
	if (!trace->join || !*ret) {
		return 0;
	}
	join_parts(trace);
	if (trace->joined < trace->parts.count && !trace->expects_parts) {
		*ret = NULL;
		return 0;
	}
	return metadata_join_update(trace->join, ret, err);
}

void trace_expect_parts(struct trace *trace)
{
	assert(!trace->plan && !trace->join);
	trace->join = metadata_join_new();
	trace->expects_parts = true;
	merger_note_joined(trace->merger); /* before tasks that read it */
}

uint32_t trace_add_part(struct trace *trace)
{
	assert(!trace->plan || trace->expects_parts);
	if (!trace->join) {
		trace->join = metadata_join_new();
	}
	*vec_push(&trace->parts) = (struct trace_part){ .metadata = trace_new_part(trace) };
	return (uint32_t)trace->parts.count - 1;
}

void trace_set_part_user(struct trace *trace, uint32_t part, void *user)
{
	trace->parts.at[part].user = user;
}

void trace_settle_part(struct trace *trace, uint32_t part)
{
	VEC_EACH_OF(&trace->streams, stream) {
		if (stream->part == part && !stream->is_ended) {
			(void)stream_flush(stream);
		}
	}
	while (trace->in_flight > 0) {
		(void)engine_reap(trace->engine, true);
	}
}

/* What comes again must be what came: plans stay as they are.  Leaves what is new. */
static int feed_again(struct trace_part *part, const uint8_t **bytes, size_t *len, struct err *err)
{
	size_t left = part->fed.count - part->again_bytes, known = *len < left ? *len : left;
	int r = 0;

	if (known > 0 && memcmp(part->fed.at + part->again_bytes, *bytes, known) != 0) {
		return err_raise(err, -EINVAL,
				 "its metadata is not what it was before the connection was lost");
	}
	part->again_bytes += known;
	if (part->again_bytes < part->fed.count) {
		r = metadata_stream_feed(part->again, *bytes, known, err);
	} else {
		metadata_stream_free(part->again);
		part->again = NULL;
	}
	*bytes += known;
	*len -= known;
	return r;
}

int trace_take_fed(struct trace *trace, struct trace_part *part, const uint8_t **bytes, size_t *len,
		   struct err *err)
{
	int r = part->again ? feed_again(part, bytes, len, err) : 0;

	if (r == 0 && !account_may_last(trace->engine->account, *len)) {
		r = err_raise(err, -ENOMEM, "its metadata does not fit into --max-memory");
	}
	if (r == 0) {
		account_take(trace->engine->account, ACCOUNT_METADATA, *len);
		vec_append(&part->fed, *bytes, *len);
	}
	return r;
}

void trace_restart_part(struct trace *trace, uint32_t part)
{
	struct trace_part *of = &trace->parts.at[part];

	metadata_stream_free(of->again);
	of->again = of->fed.count > 0 ? trace_new_part(trace) : NULL;
	of->again_bytes = 0;
	trace_announced_again(trace, part);
}

void trace_exclude_away(struct trace *trace, uint32_t part)
{
	VEC_EACH_OF(&trace->streams, stream) {
		if (stream->part == part && stream->is_away) {
			merger_stream_exclude(stream->merger, true);
		}
	}
}

bool trace_part_uuid(const struct trace *trace, uint32_t part, uint8_t ret_uuid[16])
{
	const struct metadata *types = metadata_stream_types(trace->parts.at[part].metadata);

	if (types->has_uuid) {
		memcpy(ret_uuid, types->uuid, 16);
	}
	return types->has_uuid;
}

/* What has come on this connection. */
static const struct metadata_stream *coming(const struct trace *trace, uint32_t part)
{
	const struct trace_part *of = &trace->parts.at[part];

	return of->again ? of->again : of->metadata;
}

bool trace_metadata_is_whole(const struct trace *trace, uint32_t part, struct err *ret_err)
{
	return metadata_stream_end(coming(trace, part), ret_err) == 0;
}

bool trace_metadata_ends_packet(const struct trace *trace, uint32_t part)
{
	return metadata_stream_ends_packet(coming(trace, part));
}
