/*
 * clickhouse-writer: see clickhouse-writer.h.
 */
#include "store/clickhouse/clickhouse-writer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "store/clickhouse/clickhouse-send.h"

struct clickhouse_writer {
	struct clickhouse_url url;
	struct sender *sender;
	struct clickhouse_encoder *encoder;
	struct clickhouse_batch *batch; /* NULL: nothing is gathered */
	uint64_t due_ns;
};

int clickhouse_writer_open(const char *url, uint64_t interval_ns, bool may_wait,
			   const struct sender_events *events, struct clickhouse_writer **ret,
			   struct err *err)
{
	struct clickhouse_writer *writer = mem_alloc(sizeof(*writer));
	int r = clickhouse_url_parse(url, &writer->url, err);

	if (r < 0) {
		free(writer);
		return r;
	}
	writer->encoder = clickhouse_encoder_new(interval_ns);
	r = sender_open(&writer->url, may_wait, events, &writer->sender, err);
	if (r < 0) {
		clickhouse_writer_close(writer);
		return r;
	}
	*ret = writer;
	return 0;
}

const char *clickhouse_writer_name(const struct clickhouse_writer *writer)
{
	return writer->url.shown;
}

static void gather(struct clickhouse_writer *writer)
{
	if (!writer->batch) {
		if (sender_has_lost(writer->sender)) {
			clickhouse_encoder_forget(writer->encoder);
		}
		writer->batch = clickhouse_batch_new();
		writer->due_ns = now_monotonic_ns() + writer->url.every_ns;
	}
}

static void flush(struct clickhouse_writer *writer)
{
	if (writer->batch) {
		sender_put(writer->sender, writer->batch);
	}
	writer->batch = NULL;
}

void clickhouse_writer_put(struct clickhouse_writer *writer, struct store_item *const *items,
			   size_t count, const struct store_gap *gap)
{
	assert(writer->sender);
	if (gap) {
		flush(writer); /* a batch notes one */
		gather(writer);
		clickhouse_encode_gap(writer->encoder, gap, writer->batch);
	}
	for (size_t i = 0; i < count; i++) {
		gather(writer);
		clickhouse_encode(writer->encoder, items[i], writer->batch);
		if (writer->batch->bytes >= CLICKHOUSE_BATCH_BYTES) {
			flush(writer);
		}
	}
	if (writer->batch && now_monotonic_ns() >= writer->due_ns) {
		flush(writer);
	}
}

uint64_t clickhouse_writer_due_ns(const struct clickhouse_writer *writer)
{
	return writer->batch ? writer->due_ns : UINT64_MAX;
}

uint64_t clickhouse_writer_settled(const struct clickhouse_writer *writer)
{
	return sender_settled(writer->sender);
}

void clickhouse_writer_flush(struct clickhouse_writer *writer)
{
	if (writer && writer->sender) {
		flush(writer);
		sender_close(writer->sender);
		writer->sender = NULL;
	}
}

void clickhouse_writer_note(struct clickhouse_writer *writer, const struct store_gap *gap)
{
	struct clickhouse_link link = { .http = http_new(&writer->url, NULL), .url = &writer->url };
	struct clickhouse_batch *batch = clickhouse_batch_new();
	struct err ignored; /* that windows are lost was said */

	assert(!writer->sender);
	clickhouse_encode_gap(writer->encoder, gap, batch);
	(void)clickhouse_send(&link, batch, &ignored);
	clickhouse_batch_free(batch);
	http_free(link.http);
}

void clickhouse_writer_close(struct clickhouse_writer *writer)
{
	if (!writer) {
		return;
	}
	clickhouse_writer_flush(writer);
	clickhouse_encoder_free(writer->encoder);
	clickhouse_batch_free(writer->batch);
	clickhouse_url_fini(&writer->url);
	free(writer);
}
