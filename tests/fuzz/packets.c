/*
 * packets: hostile packets under metadata that is right.
 *
 * The first byte chooses the metadata.  The rest is one packet that visitors decode, and
 * then packets of a stream, each behind its length in two bytes, that go through the
 * engine with every analysis, as a relay's would.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "engine/trace.h"
#include "fuzz.h"

extern const struct analysis *const analyses[];

/* Append only: the first byte of the inputs in the corpus is an index. */
static const char *const files[] = { "0-kinds.tsdl", "1-kernel.tsdl", "2-kinds.json",
				     "3-files.tsdl", "4-odd.tsdl" };
#define FILE_COUNT (sizeof(files) / sizeof(files[0]))

static const char *metadata_text(size_t i)
{
	static char texts[FILE_COUNT][65536];

	if (!texts[i][0]) {
		char *path = mem_printf("%s/%s", FUZZ_METADATA_DIR, files[i]);
		FILE *file = fopen(path, "r");

		if (!file || fread(texts[i], 1, sizeof(texts[i]) - 1, file) == 0) {
			perror(path);
			abort();
		}
		(void)fclose(file);
		free(path);
	}
	return texts[i];
}

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	uint64_t *sum = user;

	*sum += type->kind + value->len;
	if (type->kind == TYPE_STRING) {
		for (uint64_t i = 0; i < value->len; i++) {
			*sum += value->bytes[i];
		}
	}
}

static void visit(const char *text, const uint8_t *data, size_t size)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct plan_builder *builder =
		plan_builder_new(metadata_stream_arena(stream), NULL, 0, true);
	struct decoder *d = mem_alloc(sizeof(*d));
	struct packet_info info;
	struct ctf_event event;
	struct plan *plan;
	uint64_t sum = 0;
	struct err err;

	if (metadata_stream_feed(stream, text, strlen(text), &err) < 0 ||
	    metadata_stream_end(stream, &err) < 0 ||
	    plan_build(builder, metadata_stream_types(stream), &plan, &err) < 0) {
		abort(); /* it is ours */
	}
	if (size > 0 && packet_info_read(d, plan, data, size, size, &info, &err) == 0) {
		decoder_start(d, plan, &info, data, size);
		d->visit = on_leaf;
		d->visit_user = &sum;
		while (decoder_next(d, &event) > 0) {
		}
	}
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
	decoder_free(d);
}

static void on_report(void *user, const struct report *report)
{
	unsigned int *reports = user;

	*reports += report->table_count > 0;
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	if (!warning->message[0]) {
		abort();
	}
}

static void feed_stream(struct trace *trace, const uint8_t *data, size_t size)
{
	struct stream *stream = stream_new(trace, 0, "fuzz");
	struct decoder *d = mem_alloc(sizeof(*d));

	while (size > 2) {
		size_t len = (size_t)data[0] << 8 | data[1];
		struct packet_info info;
		struct err err;
		uint8_t *bytes;

		data += 2;
		size -= 2;
		len = len < size ? len : size;
		bytes = malloc(len + (len == 0));
		memcpy(bytes, data, len);
		if (len > 0 &&
		    packet_info_read(d, trace_plan(trace), bytes, len, len, &info, &err) == 0) {
			struct stream_input input = {
				.info = &info, .bytes = bytes, .len = len, .fd = -1
			};

			stream_packet(stream, &input);
		} else {
			free(bytes);
			stream_bad_packet(stream, "bad");
		}
		data += len;
		size -= len;
	}
	(void)stream_flush(stream);
	stream_end(stream);
	decoder_free(d);
}

static void analyze(const char *text, const uint8_t *data, size_t size)
{
	unsigned int reports = 0;
	struct engine_config config = { .interval_ns = 1000000,
					.range_end = UINT64_MAX,
					.wants_windows = true,
					.chunk_bytes = 256,
					.max_memory = UINT64_C(1) << 28,
					.on_report = on_report,
					.on_warning = on_warning };
	struct engine *engine;
	struct trace *trace;
	struct err err;

	for (size_t i = 0; analyses[i]; i++) {
		config.analyses[i] = analyses[i];
	}
	engine = engine_new(&config);
	trace = trace_new(engine, &reports);
	if (trace_metadata(trace, text, strlen(text), true, &err) < 0) {
		abort();
	}
	feed_stream(trace, data, size);
	trace_finish(trace, 0);
	trace_free(trace);
	engine_free(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text;

	if (size < 1) {
		return 0;
	}
	text = metadata_text(data[0] % FILE_COUNT);
	visit(text, data + 1, size - 1);
	analyze(text, data + 1, size - 1);
	return 0;
}
