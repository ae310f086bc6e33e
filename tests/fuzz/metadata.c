/*
 * metadata: hostile metadata, in either language, packetized or plain.
 *
 * The first byte says in what pieces the rest arrives.  What parses is compiled for
 * visitors and for requests, and an arbitrary packet is decoded with it: a plan from
 * hostile metadata must not lead the decoder astray either.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "fuzz.h"

static const struct plan_request requests[] = {
	{ .event = "*", .fields = { "a", "@b", "@s", "context.vtid" } },
	{ .event = "sched_switch", .fields = { "@prev_comm", "prev_tid" }, .group = 1 },
};

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	uint64_t *sum = user;

	*sum += type->kind + value->u;
}

static void decode(const struct plan *plan, bool visits, const uint8_t *data, size_t size)
{
	struct decoder *d = mem_alloc(sizeof(*d));
	struct packet_info info;
	uint64_t sum = 0;
	struct ctf_event event;
	struct err err;

	if (size > 0 && packet_info_read(d, plan, data, size, size, &info, &err) == 0) {
		/* Events of no size never end; how many is the caller's to bound. */
		unsigned int left = 10000;

		decoder_start(d, plan, &info, data, size);
		if (visits) {
			d->visit = on_leaf;
			d->visit_user = &sum;
		}
		while (decoder_next(d, &event) > 0 && --left > 0) {
		}
	}
	decoder_free(d);
}

static void compile(struct metadata_stream *stream, bool visits, const uint8_t *data, size_t size)
{
	struct plan_builder *builder =
		plan_builder_new(metadata_stream_arena(stream), requests, visits ? 0 : 2, visits);
	struct plan *plan;
	struct err err;

	if (plan_build(builder, metadata_stream_types(stream), &plan, &err) == 0) {
		decode(plan, visits, data, size);
		plan_unref(plan);
	}
	plan_builder_free(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metadata_stream *stream;
	size_t piece, at = 0;
	struct err err;
	int r = 0;

	if (size < 1) {
		return 0;
	}
	piece = data[0] < 128 ? SIZE_MAX : (size_t)data[0] - 127;
	data++;
	size--;
	stream = metadata_stream_new();
	while (r == 0 && at < size) {
		size_t len = size - at < piece ? size - at : piece;

		r = metadata_stream_feed(stream, data + at, len, &err);
		at += len;
	}
	if (r == 0) {
		(void)metadata_stream_end(stream, &err);
		compile(stream, true, data, size);
		compile(stream, false, data, size);
	}
	metadata_stream_free(stream);
	return 0;
}
