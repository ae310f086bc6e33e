/*
 * tracks and the writer: what is written is read back as a viewer does.
 */
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "perfetto/tracks.h"
#include "suites.h"

#define INFLATED_MAX (4 << 20)

/* The packets of a file, in order. */
struct shown {
	VEC(Perfetto__Trace *) blocks;
	VEC(const Perfetto__TracePacket *) packets;
};

static void add_block(struct shown *shown, const ProtobufCBinaryData *deflated)
{
	struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
	uint8_t *bytes = mem_alloc(INFLATED_MAX);
	Perfetto__Trace *block;
	size_t len;

	ck_assert_int_eq(libdeflate_zlib_decompress(inflater, deflated->data, deflated->len, bytes,
						    INFLATED_MAX, &len),
			 LIBDEFLATE_SUCCESS);
	block = perfetto__trace__unpack(NULL, len, bytes);
	ck_assert_ptr_nonnull(block);
	*vec_push(&shown->blocks) = block;
	for (size_t i = 0; i < block->n_packet; i++) {
		*vec_push(&shown->packets) = block->packet[i];
	}
	libdeflate_free_decompressor(inflater);
	free(bytes);
}

struct written {
	char *bytes;
	size_t len;
	FILE *out;
	struct perfetto *writer;
};

static void begin(struct written *written, unsigned int workers)
{
	written->out = open_memstream(&written->bytes, &written->len);
	written->writer = writer_new(written->out, workers);
}

static void end(struct written *written, struct shown *shown)
{
	Perfetto__Trace *file;

	writer_end(written->writer);
	(void)fclose(written->out);
	file = perfetto__trace__unpack(NULL, written->len, (const uint8_t *)written->bytes);
	ck_assert_ptr_nonnull(file);
	for (size_t i = 0; i < file->n_packet; i++) {
		ck_assert_int_eq(file->packet[i]->data_case,
				 PERFETTO__TRACE_PACKET__DATA_COMPRESSED_PACKETS);
		add_block(shown, &file->packet[i]->compressed_packets);
	}
	perfetto__trace__free_unpacked(file, NULL);
	free(written->bytes);
}

static void shown_free(struct shown *shown)
{
	for (size_t i = 0; i < shown->blocks.count; i++) {
		perfetto__trace__free_unpacked(shown->blocks.at[i], NULL);
	}
	vec_fini(&shown->blocks);
	vec_fini(&shown->packets);
}

START_TEST(nests)
{
	static const struct {
		uint64_t ts;
		Perfetto__TrackEvent__Type type;
		const char *name;
	} events[] = {
		{ 10, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, "outer" },
		{ 20, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, "inner" },
		{ 25, PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, "at" },
		{ 30, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END, NULL },
		{ 40, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END, NULL },
	};
	struct written written;
	struct shown shown = { 0 };
	uint64_t parent, track;

	begin(&written, 0);
	parent = tracks_add(written.writer, 0, "parent");
	track = tracks_add(written.writer, parent, "child");
	ck_assert_uint_ne(parent, track);
	tracks_begin(written.writer, track, 10, "outer", (struct tracks_flow){ .out = 7 });
	tracks_begin(written.writer, track, 20, "inner", (struct tracks_flow){ .in = 7 });
	tracks_instant(written.writer, track, 25, "at");
	tracks_end(written.writer, track, 30);
	tracks_end(written.writer, track, 40);
	end(&written, &shown);
	ck_assert_uint_eq(shown.packets.count, 7);
	ck_assert(!shown.packets.at[0]->track_descriptor->has_parent_uuid);
	ck_assert_uint_eq(shown.packets.at[1]->track_descriptor->uuid, track);
	ck_assert_uint_eq(shown.packets.at[1]->track_descriptor->parent_uuid, parent);
	for (size_t i = 0; i < 5; i++) {
		const Perfetto__TracePacket *packet = shown.packets.at[2 + i];

		ck_assert_uint_eq(packet->timestamp, events[i].ts);
		ck_assert_uint_eq(packet->track_event->track_uuid, track);
		ck_assert_int_eq(packet->track_event->type, events[i].type);
		ck_assert((packet->track_event->name != NULL) == (events[i].name != NULL));
		ck_assert(!events[i].name ||
			  strcmp(packet->track_event->name, events[i].name) == 0);
	}
	ck_assert_uint_eq(shown.packets.at[2]->track_event->n_flow_ids, 1);
	ck_assert_uint_eq(shown.packets.at[2]->track_event->n_terminating_flow_ids, 0);
	ck_assert_uint_eq(shown.packets.at[3]->track_event->n_terminating_flow_ids, 1);
	ck_assert_uint_eq(shown.packets.at[3]->track_event->terminating_flow_ids[0], 7);
	shown_free(&shown);
}
END_TEST

/* Several workers deflate blocks; they are written in the order in which they were closed. */
START_TEST(stays_in_order)
{
	struct written written;
	struct shown shown = { 0 };
	uint64_t track;

	begin(&written, (unsigned int)_i);
	track = tracks_add(written.writer, 0, "t");
	for (uint64_t i = 1; i <= 20000; i++) {
		tracks_count(written.writer, track, i, i == 20000 ? UINT64_MAX : i);
	}
	end(&written, &shown);
	ck_assert_uint_gt(shown.blocks.count, 2);
	ck_assert_uint_eq(shown.packets.count, 20001);
	for (uint64_t i = 1; i <= 20000; i++) {
		const Perfetto__TracePacket *packet = shown.packets.at[i];

		ck_assert_uint_eq(packet->timestamp, i);
		ck_assert_int_eq(packet->track_event->counter_value,
				 i == 20000 ? INT64_MAX : (int64_t)i);
	}
	shown_free(&shown);
}
END_TEST

START_TEST(loses_events)
{
	static const struct {
		size_t count;
		bool has_lost;
	} bundles[] = { { 1024, false }, { 76, false }, { 1, true } };
	struct perfetto_block *block = NULL;
	struct written written;
	struct shown shown = { 0 };

	begin(&written, 0);
	for (uint64_t i = 0; i < 1100; i++) {
		(void)writer_event(written.writer, &block, 3, i, 9);
	}
	writer_lose(written.writer, &block);
	(void)writer_event(written.writer, &block, 3, 2000, 9);
	writer_close(written.writer, &block);
	ck_assert_ptr_null(block);
	ck_assert_uint_eq(writer_seen(written.writer).events, 1101);
	end(&written, &shown);
	ck_assert_uint_eq(shown.packets.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const Perfetto__FtraceEventBundle *bundle = shown.packets.at[i]->ftrace_events;

		ck_assert_uint_eq(bundle->cpu, 3);
		ck_assert_uint_eq(bundle->n_event, bundles[i].count);
		ck_assert(bundle->lost_events == bundles[i].has_lost);
	}
	shown_free(&shown);
}
END_TEST

/* The first host has no number; packets of others say theirs, in sequences of their own. */
START_TEST(numbers_hosts)
{
	struct written written;
	struct shown shown = { 0 };
	size_t of_host[2] = { 0, 0 };

	begin(&written, 0);
	writer_host(written.writer, "a", "6.1", 5);
	(void)tracks_add(written.writer, 0, "t");
	writer_host(written.writer, "b", NULL, 5);
	(void)tracks_add(written.writer, 0, "t");
	writer_host(written.writer, "a", NULL, 5);
	ck_assert_uint_eq(writer_host_number(written.writer), 0);
	ck_assert_uint_eq(writer_hosts(written.writer), 2);
	end(&written, &shown);
	for (size_t i = 0; i < shown.packets.count; i++) {
		const Perfetto__TracePacket *packet = shown.packets.at[i];

		ck_assert_uint_le(packet->machine_id, 1);
		ck_assert(packet->has_machine_id == (packet->machine_id > 0));
		ck_assert_uint_eq(packet->trusted_packet_sequence_id, 1 + packet->machine_id);
		of_host[packet->machine_id] +=
			packet->data_case == PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	}
	ck_assert_uint_eq(of_host[0], 1);
	ck_assert_uint_eq(of_host[1], 1);
	shown_free(&shown);
}
END_TEST

Suite *suite_tracks(void)
{
	Suite *suite = suite_create("tracks");
	TCase *tcase = tcase_create("tracks");

	tcase_add_test(tcase, nests);
	tcase_add_loop_test(tcase, stays_in_order, 0, 3);
	tcase_add_test(tcase, loses_events);
	tcase_add_test(tcase, numbers_hosts);
	suite_add_tcase(suite, tcase);
	return suite;
}
