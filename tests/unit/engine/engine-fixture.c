/*
 * engine-fixture: see engine-fixture.h.
 */
#include "engine/engine-fixture.h"
#include "engine/tables/columns.h"

#include <string.h>

#include "base/hash.h"
#include "ctf/decoder.h"
#include "ctf/packet.h"

#define HEAD_BYTES  53 /* of a packet: header and context */
#define EVENT_BYTES 26

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"	packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
	"env { domain = \"kernel\"; };\n"
	"clock { name = mono; freq = 1000000000; offset = 0; };\n"
	"typealias integer { size = 64; align = 8; map = clock.mono.value; } := stamp_t;\n"
	"stream { id = 0;\n"
	"	event.header := struct { uint16_t id; stamp_t timestamp; };\n"
	"	packet.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end;\n"
	"		uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;\n"
	"		uint8_t events_discarded; uint32_t cpu_id; }; };\n"
	"event { name = sched_switch; id = 0; stream_id = 0; fields := struct {\n"
	"	int32_t prev_tid; int64_t prev_state; int32_t next_tid; }; };\n";
static const char more_metadata[] =
	"event { name = sched_waking; id = 1; stream_id = 0; fields := struct {\n"
	"	int32_t tid; }; };\n";

static uint64_t hash_row(uint64_t hash, const struct table *table, const struct report_row *row)
{
	hash = hash_bytes(hash, &row->sort, sizeof(row->sort));
	hash = hash_text(hash, row->name ? row->name : "");
	if (row->thread) {
		hash = hash_bytes(hash, &row->thread->tid, sizeof(row->thread->tid));
		hash = hash_text(hash, row->thread->comm);
	}
	if (row->instance) {
		hash = hash_bytes(hash, &row->instance->ns, sizeof(row->instance->ns));
		return hash_bytes(hash, &row->instance->end, sizeof(row->instance->end));
	}
	/* Columns of other kinds are pointers, or have no value. */
	for (uint32_t i = 0; i < column_count(table) && table->columns[i].kind == COLUMN_SUM; i++) {
		hash = hash_bytes(hash, &row->values[i], sizeof(row->values[i]));
	}
	return hash;
}

static uint64_t hash_tables(const struct report *report)
{
	uint64_t hash = 0;

	for (size_t t = 0; t < report->table_count; t++) {
		const struct report_table *table = &report->tables[t];

		hash = hash_text(hash, table->table->columns[0].key);
		for (size_t i = 0; i < table->row_count; i++) {
			hash = hash_row(hash, table->table, &table->rows[i]);
		}
	}
	return hash;
}

static void on_report(void *user, const struct report *report)
{
	struct engine_fixture *fixture = user;

	*vec_push(&fixture->reports) =
		(struct seen_report){ .kind = report->kind,
				      .begin = report->begin,
				      .end = report->end,
				      .events = report->events,
				      .discarded = report->lost.of[LOSS_EVENTS],
				      .lost_packets = report->lost.of[LOSS_PACKETS],
				      .figures = hash_tables(report),
				      .complete = report->complete };
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct engine_fixture *fixture = user;

	*vec_push(&fixture->warnings) = mem_strdup(warning->what);
}

void engine_fixture_init(struct engine_fixture *fixture)
{
	struct engine_config *config = &fixture->config;

	for (size_t i = 0; analyses[i]; i++) {
		config->analyses[i] = analyses[i];
	}
	config->interval_ns = 1000;
	config->wants_windows = true;
	config->range_end = UINT64_MAX;
	config->chunk_bytes = config->chunk_bytes ? config->chunk_bytes : 1;
	config->max_memory = 1 << 26;
	config->on_report = on_report;
	config->on_warning = on_warning;
	fixture->decoder = mem_alloc(sizeof(*fixture->decoder));
	fixture->engine = engine_new(config);
	fixture->trace = trace_new(fixture->engine, fixture);
}

void engine_fixture_fini(struct engine_fixture *fixture)
{
	engine_free(fixture->engine);
	decoder_free(fixture->decoder);
	for (size_t i = 0; i < fixture->warnings.count; i++) {
		free(fixture->warnings.at[i]);
	}
	vec_fini(&fixture->reports);
	vec_fini(&fixture->warnings);
}

void engine_fixture_metadata(struct engine_fixture *fixture)
{
	const char *text = trace_plan(fixture->trace) ? more_metadata : metadata;
	struct err err;

	ck_assert_int_eq(trace_metadata(fixture->trace, text, strlen(text), false, &err), 0);
	ck_assert_ptr_nonnull(trace_plan(fixture->trace));
}

uint32_t engine_fixture_part(struct engine_fixture *fixture)
{
	uint32_t part = trace_add_part(fixture->trace);
	struct err err;

	ck_assert_int_eq(
		trace_part_metadata(fixture->trace, part, metadata, strlen(metadata), false, &err),
		0);
	return part;
}

static uint8_t *put(uint8_t *at, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		*at++ = (uint8_t)(value >> (8 * i));
	}
	return at;
}

static uint8_t *put_events(uint8_t *at, const struct made_packet *packet)
{
	for (uint64_t ts = packet->begin; ts < packet->end; ts += 100) {
		uint32_t from = 10 * (packet->cpu + 1) + ts / 100 % 2;

		at = put(at, 0, 2);
		at = put(at, ts, 8);
		at = put(at, from, 4);
		at = put(at, 1, 8);
		at = put(at, from ^ 1, 4);
	}
	return at;
}

void engine_fixture_packet(struct engine_fixture *fixture, struct stream *stream,
			   const struct made_packet *packet)
{
	uint64_t len = HEAD_BYTES + (packet->end - packet->begin + 99) / 100 * EVENT_BYTES;
	uint8_t *bytes = mem_alloc(len), *at = put(bytes, 0xC1FC1FC1, 4);
	struct packet_info info;
	struct err err;

	at = put(at, 0, 4);
	at = put(at, packet->begin, 8);
	at = put(at, packet->end, 8);
	at = put(at, len * 8, 8);
	at = put(at, len * 8, 8);
	at = put(at, packet->seq, 8);
	at = put(at, packet->discarded, 1);
	at = put(at, packet->cpu, 4);
	at = put_events(at, packet);
	ck_assert_uint_eq((uint64_t)(at - bytes), len);
	ck_assert_int_eq(packet_info_read(fixture->decoder, stream_plan(stream), bytes, len, len,
					  &info, &err),
			 0);
	stream_packet(stream, &(struct stream_input){
				      .info = &info, .bytes = bytes, .len = len, .fd = -1 });
}

unsigned int engine_fixture_warned(const struct engine_fixture *fixture, const char *what)
{
	unsigned int count = 0;

	for (size_t i = 0; i < fixture->warnings.count; i++) {
		count += strcmp(fixture->warnings.at[i], what) == 0;
	}
	return count;
}
