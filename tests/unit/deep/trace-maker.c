/*
 * trace-maker: see trace-maker.h.
 */
#include "trace-maker.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_BYTES 60 /* of a packet: header and context */

enum {
	ID_SWITCH,
	ID_WAKING,
	ID_READ_ENTRY,
	ID_READ_EXIT,
	ID_MARK,
	ID_FUTEX_ENTRY,
	ID_FUTEX_EXIT,
	ID_TIMER,
	ID_SEND_ENTRY = ID_TIMER + 4,
	ID_SEND_EXIT,
	ID_RECEIVE_ENTRY,
	ID_RECEIVE_EXIT,
	ID_FUTEX2_ENTRY,
	ID_FUTEX2_EXIT = ID_FUTEX2_ENTRY + 2
};

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"	packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
	"env { domain = \"kernel\"; kernel_release = \"6.1.0\"; };\n"
	"clock { name = mono; freq = 1000000000; offset = 0; };\n"
	"typealias integer { size = 64; align = 8; map = clock.mono.value; } := stamp_t;\n"
	"stream { id = 0;\n"
	"	event.header := struct { uint16_t id; stamp_t timestamp; };\n"
	"	packet.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end;\n"
	"		uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;\n"
	"		uint64_t events_discarded; uint32_t cpu_id; }; };\n"
	"event { name = sched_switch; id = 0; stream_id = 0; fields := struct {\n"
	"	int32_t prev_tid; int64_t prev_state; int32_t next_tid; }; };\n"
	"event { name = sched_waking; id = 1; stream_id = 0; fields := struct {\n"
	"	int32_t tid; }; };\n"
	"event { name = syscall_entry_read; id = 2; stream_id = 0; fields := struct {\n"
	"	int32_t fd; }; };\n"
	"event { name = syscall_exit_read; id = 3; stream_id = 0; fields := struct {\n"
	"	int64_t ret; }; };\n"
	"event { name = mark; id = 4; stream_id = 0; fields := struct {\n"
	"	uint32_t number; string text; }; };\n"
	"event { name = syscall_entry_futex; id = 5; stream_id = 0; fields := struct {\n"
	"	uint64_t uaddr; int32_t op; uint64_t uaddr2; }; };\n"
	"event { name = syscall_exit_futex; id = 6; stream_id = 0; fields := struct {\n"
	"	int64_t ret; }; };\n"
	"event { name = timer_hrtimer_start; id = 7; stream_id = 0; fields := struct {\n"
	"	uint64_t hrtimer; int64_t expires; }; };\n"
	"event { name = timer_hrtimer_cancel; id = 8; stream_id = 0; fields := struct {\n"
	"	uint64_t hrtimer; int64_t unused; }; };\n"
	"event { name = timer_hrtimer_expire_entry; id = 9; stream_id = 0; fields := struct {\n"
	"	uint64_t hrtimer; int64_t now; }; };\n"
	"event { name = timer_hrtimer_expire_exit; id = 10; stream_id = 0; fields := struct {\n"
	"	uint64_t hrtimer; int64_t unused; }; };\n"
	"event { name = syscall_entry_mq_timedsend; id = 11; stream_id = 0; fields := struct {\n"
	"	int32_t mqdes; uint64_t msg_len; }; };\n"
	"event { name = syscall_exit_mq_timedsend; id = 12; stream_id = 0; fields := struct {\n"
	"	int64_t ret; }; };\n"
	"event { name = syscall_entry_mq_timedreceive; id = 13; stream_id = 0; fields := struct {\n"
	"	int32_t mqdes; uint64_t msg_len; }; };\n"
	"event { name = syscall_exit_mq_timedreceive; id = 14; stream_id = 0; fields := struct {\n"
	"	int64_t ret; }; };\n"
	"event { name = syscall_entry_futex_wait; id = 15; stream_id = 0; fields := struct {\n"
	"	uint64_t uaddr; uint32_t flags; }; };\n"
	"event { name = syscall_entry_futex_wake; id = 16; stream_id = 0; fields := struct {\n"
	"	uint64_t uaddr; uint32_t flags; }; };\n"
	"event { name = syscall_exit_futex_wait; id = 17; stream_id = 0; fields := struct {\n"
	"	int64_t ret; }; };\n"
	"event { name = syscall_exit_futex_wake; id = 18; stream_id = 0; fields := struct {\n"
	"	int64_t ret; }; };\n";

static void write_file(struct trace_maker *maker, const char *name, const void *bytes, size_t len)
{
	char *path = mem_printf("%s/%s", maker->dir, name);
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
	*vec_push(&maker->files) = path;
}

struct trace_maker *maker_new(void)
{
	struct trace_maker *maker = mem_alloc(sizeof(*maker));

	strcpy(maker->dir, "/tmp/sillage-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(maker->dir));
	maker->path.name = maker->dir;
	*vec_push(&maker->path.dirs) = maker->dir;
	maker->begin = UINT64_MAX;
	write_file(maker, "metadata", metadata, strlen(metadata));
	return maker;
}

void maker_free(struct trace_maker *maker)
{
	for (size_t i = 0; i < maker->files.count; i++) {
		(void)unlink(maker->files.at[i]);
		free(maker->files.at[i]);
	}
	(void)rmdir(maker->dir);
	vec_fini(&maker->files);
	vec_fini(&maker->path.dirs);
	vec_fini(&maker->events);
	vec_fini(&maker->stream);
	free(maker);
}

/* ---- events ---- */

static void put(struct trace_maker *maker, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		*vec_push(&maker->events) = (uint8_t)(value >> (8 * i));
	}
}

static void begin_event(struct trace_maker *maker, uint64_t ts, uint16_t id)
{
	maker->begin = ts < maker->begin ? ts : maker->begin;
	maker->end = ts > maker->end ? ts : maker->end;
	put(maker, id, 2);
	put(maker, ts, 8);
}

void maker_switch(struct trace_maker *maker, uint64_t ts, int32_t prev, int64_t prev_state,
		  int32_t next)
{
	begin_event(maker, ts, ID_SWITCH);
	put(maker, (uint32_t)prev, 4);
	put(maker, (uint64_t)prev_state, 8);
	put(maker, (uint32_t)next, 4);
}

void maker_waking(struct trace_maker *maker, uint64_t ts, int32_t tid)
{
	begin_event(maker, ts, ID_WAKING);
	put(maker, (uint32_t)tid, 4);
}

void maker_read_entry(struct trace_maker *maker, uint64_t ts)
{
	begin_event(maker, ts, ID_READ_ENTRY);
	put(maker, 3, 4);
}

void maker_read_exit(struct trace_maker *maker, uint64_t ts)
{
	begin_event(maker, ts, ID_READ_EXIT);
	put(maker, 0, 8);
}

void maker_mark(struct trace_maker *maker, uint64_t ts, uint32_t number)
{
	char text[16];

	begin_event(maker, ts, ID_MARK);
	put(maker, number, 4);
	(void)snprintf(text, sizeof(text), "%u", number);
	vec_append(&maker->events, (const uint8_t *)text, strlen(text) + 1);
}

void maker_futex_entry(struct trace_maker *maker, uint64_t ts, uint64_t uaddr, int32_t op,
		       uint64_t uaddr2)
{
	begin_event(maker, ts, ID_FUTEX_ENTRY);
	put(maker, uaddr, 8);
	put(maker, (uint32_t)op, 4);
	put(maker, uaddr2, 8);
}

void maker_futex_exit(struct trace_maker *maker, uint64_t ts, int64_t ret)
{
	begin_event(maker, ts, ID_FUTEX_EXIT);
	put(maker, (uint64_t)ret, 8);
}

void maker_futex2_entry(struct trace_maker *maker, uint64_t ts, bool is_wake, uint64_t uaddr,
			uint32_t flags)
{
	begin_event(maker, ts, (uint16_t)(ID_FUTEX2_ENTRY + is_wake));
	put(maker, uaddr, 8);
	put(maker, flags, 4);
}

void maker_futex2_exit(struct trace_maker *maker, uint64_t ts, bool is_wake, int64_t ret)
{
	begin_event(maker, ts, (uint16_t)(ID_FUTEX2_EXIT + is_wake));
	put(maker, (uint64_t)ret, 8);
}

void maker_timer(struct trace_maker *maker, uint64_t ts, unsigned int what, uint64_t timer,
		 int64_t time)
{
	begin_event(maker, ts, (uint16_t)(ID_TIMER + what));
	put(maker, timer, 8);
	put(maker, (uint64_t)time, 8);
}

void maker_queue_entry(struct trace_maker *maker, uint64_t ts, bool is_send, int32_t descriptor,
		       uint64_t len)
{
	begin_event(maker, ts, is_send ? ID_SEND_ENTRY : ID_RECEIVE_ENTRY);
	put(maker, (uint32_t)descriptor, 4);
	put(maker, len, 8);
}

void maker_queue_exit(struct trace_maker *maker, uint64_t ts, bool is_send, int64_t ret)
{
	begin_event(maker, ts, is_send ? ID_SEND_EXIT : ID_RECEIVE_EXIT);
	put(maker, (uint64_t)ret, 8);
}

/* ---- packets ---- */

static void put_in_stream(struct trace_maker *maker, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		*vec_push(&maker->stream) = (uint8_t)(value >> (8 * i));
	}
}

void maker_packet(struct trace_maker *maker, uint32_t cpu, uint64_t seq_num, uint64_t discarded)
{
	uint64_t bits = (HEAD_BYTES + maker->events.count) * 8;

	put_in_stream(maker, 0xC1FC1FC1, 4);
	put_in_stream(maker, 0, 4);
	put_in_stream(maker, maker->begin, 8);
	put_in_stream(maker, maker->end, 8);
	put_in_stream(maker, bits, 8);
	put_in_stream(maker, bits, 8);
	put_in_stream(maker, seq_num, 8);
	put_in_stream(maker, discarded, 8);
	put_in_stream(maker, cpu, 4);
	vec_append(&maker->stream, maker->events.at, maker->events.count);
	maker->events.count = 0;
	maker->begin = UINT64_MAX;
	maker->end = 0;
}

void maker_stream(struct trace_maker *maker, const char *name)
{
	write_file(maker, name, maker->stream.at, maker->stream.count);
	maker->stream.count = 0;
}
