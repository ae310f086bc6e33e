/*
 * writer: see writer.h.
 */
#include "perfetto/writer.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/pool.h"

#define BLOCK_EVENTS         1024
#define BLOCK_BYTES          65536 /* of packets: then the block is closed */
#define DEFLATE_LEVEL        1     /* level 6 takes three times as long for a tenth less */
#define CLOCK_REAL           1
#define SEQUENCE             1 /* trusted_packet_sequence_id */
#define SEQUENCE_FLAG_BEGINS 1
#define INTERNED_BYTES       512 /* longer texts are cut */

struct bytes {
	VEC(uint8_t) at;
};

struct perfetto_block {
	struct job job;
	bool is_done;
	uint32_t machine; /* 0: none is said */
	struct bytes packets, out;
	/* A block of events has these. */
	uint32_t cpu;
	bool has_lost;
	size_t count;
	struct perfetto_event *events; /* NULL: a block of packets */
	Perfetto__FtraceEvent **list;
};

HASH_MAP_TEXT(numbers_of_texts, uint64_t)
HASH_MAP(numbers_of_parts, uint64_t)

/* A host's own sequence of packets. */
struct host {
	char *name;   /* "": unknown */
	bool has_put; /* a packet since the sequence began, the last time */
	struct numbers_of_texts texts[WRITER_TEXTS];
	struct numbers_of_parts parts[WRITER_PARTS];
};

/* A text that the next packet has. */
struct fresh_text {
	enum writer_text kind;
	char *text; /* UTF-8 */
	Perfetto__InternedName is;
};

struct perfetto {
	FILE *out;
	struct pool *pool;
	size_t in_flight_max;
	struct perfetto_block *packets;       /* the open one; NULL: none */
	VEC(struct perfetto_block *) waiting; /* closed and not written, in order */
	size_t written;                       /* of those: written, from the first on */
	VEC(struct perfetto_block *) spare, spare_events;
	VEC(struct host *) hosts;
	VEC(struct fresh_text) fresh;
	uint32_t host;
	uint64_t number;
	struct writer_seen seen;
};

/* ---- packing, in workers ---- */

static void append(struct bytes *bytes, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);

	vec_reserve_more(&bytes->at, size);
	bytes->at.count += protobuf_c_message_pack(message, bytes->at.at + bytes->at.count);
	assert(bytes->at.count <= bytes->at.room);
}

/* Adds the packet as a member of a Trace. */
static void append_packet(struct bytes *bytes, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;

	trace.packet = &packet;
	trace.n_packet = 1;
	append(bytes, &trace.base);
}

static void pack_events(struct perfetto_block *block)
{
	Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (size_t i = 0; i < block->count; i++) {
		block->list[i] = &block->events[i].event;
	}
	bundle.has_cpu = 1;
	bundle.cpu = block->cpu;
	bundle.has_lost_events = block->has_lost;
	bundle.lost_events = block->has_lost;
	bundle.event = block->list;
	bundle.n_event = block->count;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS;
	packet.ftrace_events = &bundle;
	packet.has_machine_id = block->machine > 0;
	packet.machine_id = block->machine;
	append_packet(&block->packets, &packet);
}

static void run_block(struct job *job, void *scratch)
{
	struct perfetto_block *block = (struct perfetto_block *)job;
	struct libdeflate_compressor *compressor = scratch;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	uint8_t *deflated;
	size_t room, size;

	if (block->count > 0) {
		pack_events(block);
	}
	size = block->packets.at.count;
	room = libdeflate_zlib_compress_bound(compressor, size);
	deflated = mem_alloc(room);
	size = libdeflate_zlib_compress(compressor, block->packets.at.at, size, deflated, room);
	assert(size > 0);
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_COMPRESSED_PACKETS;
	packet.compressed_packets.data = deflated;
	packet.compressed_packets.len = size;
	append_packet(&block->out, &packet);
	free(deflated);
}

static void *make_compressor(void *user)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(DEFLATE_LEVEL);

	if (!compressor) {
		abort(); /* no memory, as in mem.h */
	}
	return compressor;
}

static void free_compressor(void *compressor)
{
	libdeflate_free_compressor(compressor);
}

/* ---- blocks ---- */

static struct perfetto_block *new_block(struct perfetto *writer, bool of_events)
{
	struct perfetto_block *block;

	if (of_events && writer->spare_events.count > 0) {
		block = writer->spare_events.at[--writer->spare_events.count];
	} else if (!of_events && writer->spare.count > 0) {
		block = writer->spare.at[--writer->spare.count];
	} else {
		block = mem_alloc(sizeof(*block));
		if (of_events) {
			block->events = mem_alloc(BLOCK_EVENTS * sizeof(*block->events));
			block->list = mem_alloc(BLOCK_EVENTS * sizeof(Perfetto__FtraceEvent *));
		}
	}
	block->machine = writer->host;
	return block;
}

static void free_block(struct perfetto_block *block)
{
	vec_fini(&block->packets.at);
	vec_fini(&block->out.at);
	free(block->events);
	free(block->list);
	free(block);
}

static void recycle(struct perfetto *writer, struct perfetto_block *block)
{
	assert(block->is_done);
	block->is_done = block->has_lost = false;
	block->count = block->packets.at.count = block->out.at.count = 0;
	if (block->events) {
		*vec_push(&writer->spare_events) = block;
	} else {
		*vec_push(&writer->spare) = block;
	}
}

/* Writes the blocks that are done, up to the first that is not. */
static void write_done(struct perfetto *writer)
{
	assert(writer->written <= writer->waiting.count);
	while (writer->written < writer->waiting.count &&
	       writer->waiting.at[writer->written]->is_done) {
		struct perfetto_block *block = writer->waiting.at[writer->written++];

		(void)fwrite(block->out.at.at, 1, block->out.at.count, writer->out);
		writer->seen.bytes += block->out.at.count;
		recycle(writer, block);
	}
	if (writer->written == writer->waiting.count) {
		writer->written = writer->waiting.count = 0;
	}
}

static void reap(struct perfetto *writer, size_t most)
{
	while (pool_in_flight(writer->pool) > most) {
		struct job *job = pool_reap(writer->pool, true);

		((struct perfetto_block *)job)->is_done = true;
		write_done(writer);
	}
}

static void submit(struct perfetto *writer, struct perfetto_block *block)
{
	assert(!block->is_done);
	reap(writer, writer->in_flight_max);
	block->job = (struct job){ .run = run_block, .kind = JOB_WORKER };
	*vec_push(&writer->waiting) = block;
	pool_submit(writer->pool, &block->job);
}

/* ---- packets ---- */

uint64_t writer_intern(struct perfetto *writer, enum writer_text kind, const char *text)
{
	struct numbers_of_texts *known =
		writer->hosts.count > 0 ? &writer->hosts.at[writer->host]->texts[kind] : NULL;
	uint64_t *number = known ? numbers_of_texts_get(known, text) : NULL;
	struct fresh_text *fresh;

	if (number) {
		return *number;
	}
	if (!known || known->used >= INTERNED_MAX || strlen(text) >= INTERNED_BYTES) {
		return 0;
	}
	number = numbers_of_texts_put(known, mem_strdup(text), NULL);
	*number = known->used;
	fresh = vec_push(&writer->fresh);
	fresh->kind = kind;
	fresh->text = mem_alloc(3 * strlen(text) + 1);
	(void)utf8_copy(fresh->text, 3 * strlen(text) + 1, text, strlen(text));
	perfetto__interned_name__init(&fresh->is);
	fresh->is.has_iid = 1;
	fresh->is.iid = *number;
	fresh->is.name = fresh->text;
	return *number;
}

uint64_t writer_intern_part(struct perfetto *writer, enum writer_part kind, const void *bytes,
			    size_t len, bool *ret_is_new)
{
	struct numbers_of_parts *known = &writer->hosts.at[writer->host]->parts[kind];
	uint64_t *number = numbers_of_parts_put(known, hash_bytes(kind, bytes, len), ret_is_new);

	*number = *ret_is_new ? known->used : *number;
	return *number;
}

static void forget_numbers(struct host *host)
{
	for (size_t i = 0; i < WRITER_TEXTS; i++) {
		HASH_EACH(numbers_of_texts, &host->texts[i], one) {
			free((char *)one->key);
		}
		numbers_of_texts_clear(&host->texts[i]);
	}
	for (size_t i = 0; i < WRITER_PARTS; i++) {
		numbers_of_parts_clear(&host->parts[i]);
	}
}

void writer_make_room(struct perfetto *writer, size_t count)
{
	struct host *host = writer->hosts.at[writer->host];
	size_t most = count;

	for (size_t i = 0; i < WRITER_PARTS; i++) {
		most = host->parts[i].used + count > most ? host->parts[i].used + count : most;
	}
	for (size_t i = WRITER_FUNCTIONS; i <= WRITER_PATHS; i++) {
		most = host->texts[i].used + count > most ? host->texts[i].used + count : most;
	}
	if (most > INTERNED_MAX) {
		assert(writer->fresh.count == 0);
		forget_numbers(host);
		host->has_put = false; /* the sequence begins again */
	}
}

/* Adds the packet with the texts that are new; room: for all of them. */
static void append_with_fresh(struct perfetto *writer, Perfetto__TracePacket *packet,
			      Perfetto__InternedName **room)
{
	Perfetto__InternedData none = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedData data = packet->interned_data ? *packet->interned_data : none;
	const struct {
		Perfetto__InternedName ***list;
		size_t *count;
	} lists[WRITER_TEXTS] = {
		[WRITER_CATEGORIES] = { &data.event_categories, &data.n_event_categories },
		[WRITER_NAMES] = { &data.event_names, &data.n_event_names },
		[WRITER_ARGS] = { &data.debug_annotation_names, &data.n_debug_annotation_names },
		[WRITER_VALUES] = { &data.debug_annotation_string_values,
				    &data.n_debug_annotation_string_values },
		[WRITER_FUNCTIONS] = { &data.function_names, &data.n_function_names },
		[WRITER_PATHS] = { &data.mapping_paths, &data.n_mapping_paths },
	};

	for (size_t kind = 0; kind < WRITER_TEXTS; kind++) {
		*lists[kind].list = room;
		for (size_t i = 0; i < writer->fresh.count; i++) {
			if (writer->fresh.at[i].kind == kind) {
				*room++ = &writer->fresh.at[i].is;
				(*lists[kind].count)++;
			}
		}
	}
	packet->interned_data = &data;
	append_packet(&writer->packets->packets, packet);
	packet->interned_data = NULL;
	for (size_t i = 0; i < writer->fresh.count; i++) {
		free(writer->fresh.at[i].text);
	}
	writer->fresh.count = 0;
}

static Perfetto__TracePacketDefaults *defaults(void)
{
	static char name[] = "call stacks";
	static Perfetto__PerfEvents__Tracepoint tracepoint =
		PERFETTO__PERF_EVENTS__TRACEPOINT__INIT;
	static Perfetto__PerfEvents__Timebase timebase = PERFETTO__PERF_EVENTS__TIMEBASE__INIT;
	static Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	static Perfetto__TracePacketDefaults made = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;

	tracepoint.name = timebase.name = name;
	timebase.tracepoint = &tracepoint;
	samples.timebase = &timebase;
	made.perf_sample_defaults = &samples;
	return &made;
}

/* The first packet of a host's sequence says so. */
static void begin_sequence(struct perfetto *writer, Perfetto__TracePacket *packet)
{
	struct host *host = writer->hosts.count > 0 ? writer->hosts.at[writer->host] : NULL;

	if (host && !host->has_put) {
		packet->has_sequence_flags = 1;
		packet->sequence_flags |= SEQUENCE_FLAG_BEGINS;
		packet->trace_packet_defaults = defaults();
		host->has_put = true;
	}
}

void writer_put(struct perfetto *writer, Perfetto__TracePacket *packet)
{
	Perfetto__InternedName **room;

	if (!writer->packets) {
		writer->packets = new_block(writer, false);
	}
	begin_sequence(writer, packet);
	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = SEQUENCE + writer->host;
	packet->has_machine_id = writer->host > 0;
	packet->machine_id = writer->host;
	if (writer->fresh.count > 0) {
		room = mem_alloc(writer->fresh.count * sizeof(Perfetto__InternedName *));
		append_with_fresh(writer, packet, room);
		free(room);
	} else {
		append_packet(&writer->packets->packets, packet);
	}
	writer->seen.packets++;
	if (writer->packets->packets.at.count >= BLOCK_BYTES) {
		writer_flush(writer);
	}
}

void writer_flush(struct perfetto *writer)
{
	if (writer->packets) {
		submit(writer, writer->packets);
		writer->packets = NULL;
	}
}

void writer_wait(struct perfetto *writer)
{
	reap(writer, 0);
}

uint64_t writer_number(struct perfetto *writer)
{
	return ++writer->number;
}

/* ---- hosts ---- */

static void put_clocks(struct perfetto *writer, uint64_t ts)
{
	Perfetto__ClockSnapshot__Clock clocks[2] = { PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
						     PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT };
	Perfetto__ClockSnapshot__Clock *list[2] = { &clocks[0], &clocks[1] };
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (size_t i = 0; i < 2; i++) {
		clocks[i].has_clock_id = clocks[i].has_timestamp = 1;
		clocks[i].timestamp = ts;
	}
	clocks[0].clock_id = PERFETTO_CLOCK;
	clocks[1].clock_id = CLOCK_REAL;
	snapshot.clocks = list;
	snapshot.n_clocks = 2;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	packet.clock_snapshot = &snapshot;
	writer_put(writer, &packet);
}

static void put_system(struct perfetto *writer, const char *host, const char *release)
{
	Perfetto__Utsname utsname = PERFETTO__UTSNAME__INIT;
	Perfetto__SystemInfo system = PERFETTO__SYSTEM_INFO__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	char name[256], version[256];

	(void)utf8_copy(name, sizeof(name), host, strlen(host));
	(void)utf8_copy(version, sizeof(version), release ? release : "",
			release ? strlen(release) : 0);
	utsname.sysname = (char[]){ "Linux" };
	utsname.release = version;
	system.utsname = release ? &utsname : NULL;
	system.machine_name = *name ? name : NULL;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_SYSTEM_INFO;
	packet.system_info = &system;
	writer_put(writer, &packet);
}

void writer_host(struct perfetto *writer, const char *host, const char *release, uint64_t ts)
{
	size_t at = 0;

	writer_flush(writer);
	host = host ? host : "";
	while (at < writer->hosts.count && strcmp(writer->hosts.at[at]->name, host) != 0) {
		at++;
	}
	writer->host = (uint32_t)at;
	if (at == writer->hosts.count) {
		struct host *added = *vec_push(&writer->hosts) = mem_alloc(sizeof(*added));

		added->name = mem_strdup(host);
		put_clocks(writer, ts);
	}
	if (*host || release) {
		put_system(writer, host, release);
	}
	writer_flush(writer);
}

uint32_t writer_hosts(const struct perfetto *writer)
{
	return (uint32_t)writer->hosts.count;
}

uint32_t writer_host_number(const struct perfetto *writer)
{
	return writer->host;
}

/* ---- events ---- */

void writer_close(struct perfetto *writer, struct perfetto_block **block)
{
	if (*block) {
		submit(writer, *block);
		*block = NULL;
	}
}

struct perfetto_event *writer_event(struct perfetto *writer, struct perfetto_block **block,
				    uint32_t cpu, uint64_t ts, int32_t tid)
{
	struct perfetto_event *event;

	assert(cpu < PERFETTO_CPUS_MAX);
	assert_hot(!*block || (*block)->cpu == cpu);
	if (*block && (*block)->count == BLOCK_EVENTS) {
		writer_close(writer, block);
	}
	if (!*block) {
		*block = new_block(writer, true);
		(*block)->cpu = cpu;
	}
	event = &(*block)->events[(*block)->count++];
	perfetto__ftrace_event__init(&event->event);
	event->event.has_timestamp = event->event.has_pid = 1;
	event->event.timestamp = ts;
	event->event.pid = (uint32_t)tid;
	writer->seen.events++;
	return event;
}

void writer_lose(struct perfetto *writer, struct perfetto_block **block)
{
	if (*block && (*block)->count > 0) {
		uint32_t cpu = (*block)->cpu;

		writer_close(writer, block);
		*block = new_block(writer, true);
		(*block)->cpu = cpu;
	}
	if (*block) {
		(*block)->has_lost = true;
	}
}

/* ---- lifecycle ---- */

struct perfetto *writer_new(FILE *out, unsigned int workers)
{
	struct perfetto *writer = mem_alloc(sizeof(*writer));
	const struct pool_scratch scratch = { .make = make_compressor, .free = free_compressor };

	assert(out);
	writer->out = out;
	writer->pool = pool_new(&scratch, workers);
	writer->in_flight_max = workers > 0 ? 2 * (size_t)workers + 2 : 0;
	return writer;
}

static void free_host(struct host *host)
{
	forget_numbers(host);
	for (size_t i = 0; i < WRITER_TEXTS; i++) {
		numbers_of_texts_fini(&host->texts[i]);
	}
	for (size_t i = 0; i < WRITER_PARTS; i++) {
		numbers_of_parts_fini(&host->parts[i]);
	}
	free(host->name);
	free(host);
}

void writer_end(struct perfetto *writer)
{
	writer_flush(writer);
	reap(writer, 0);
	assert(writer->waiting.count == 0);
	assert(writer->fresh.count == 0);
	pool_free(writer->pool, NULL);
	vec_free_each(&writer->spare, free_block);
	vec_free_each(&writer->spare_events, free_block);
	vec_free_each(&writer->hosts, free_host);
	vec_fini(&writer->fresh);
	vec_fini(&writer->waiting);
	free(writer);
}

struct writer_seen writer_seen(const struct perfetto *writer)
{
	return writer->seen;
}
