/*
 * samples: see samples.h.
 */
#include "perfetto/samples.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbols/symbols.h"

#define NAME_BYTES 256 /* of a function or file; longer ones are cut */

HASH_MAP(samples_by_cpu, uint64_t)

struct samples {
	struct perfetto *writer;
	struct symbols *symbols;
	struct samples_by_cpu counts;
	struct arena arena; /* of one sample's new parts */
	VEC(Perfetto__Mapping *) mappings;
	VEC(Perfetto__Frame *) frames;
	VEC(uint64_t) numbers; /* of the stack's frames */
};

static uint64_t intern_text(const struct samples *samples, enum writer_text kind, const char *text)
{
	char cut[NAME_BYTES];
	size_t len = strnlen(text, NAME_BYTES - 1);

	memcpy(cut, text, len);
	cut[len] = '\0';
	return writer_intern(samples->writer, kind, cut);
}

/* The file that functions are in; "": it is not known. */
static uint64_t intern_mapping(struct samples *samples, const char *path)
{
	bool is_new;
	uint64_t number =
		writer_intern_part(samples->writer, WRITER_MAPPINGS, path, strlen(path), &is_new);
	Perfetto__Mapping *made;

	if (is_new) {
		made = arena_alloc(&samples->arena, sizeof(*made));
		perfetto__mapping__init(made);
		made->has_iid = 1;
		made->iid = number;
		made->n_path_string_ids = *path != '\0';
		made->path_string_ids = arena_alloc(&samples->arena, sizeof(uint64_t));
		/* The viewer puts a slash before each part of a path. */
		*made->path_string_ids =
			*path ? intern_text(samples, WRITER_PATHS, path + (*path == '/')) : 0;
		*vec_push(&samples->mappings) = made;
	}
	return number;
}

static uint64_t intern_frame(struct samples *samples, const uint64_t key[3])
{
	bool is_new;
	uint64_t number = writer_intern_part(samples->writer, WRITER_FRAMES, key,
					     3 * sizeof(uint64_t), &is_new);
	Perfetto__Frame *made;

	if (is_new) {
		made = arena_alloc(&samples->arena, sizeof(*made));
		perfetto__frame__init(made);
		made->has_iid = made->has_function_name_id = made->has_mapping_id = 1;
		made->has_rel_pc = 1;
		made->iid = number;
		made->function_name_id = key[0];
		made->mapping_id = key[1];
		made->rel_pc = key[2];
		*vec_push(&samples->frames) = made;
	}
	return number;
}

static void add_frame(struct samples *samples, const struct callstack *stack, uint64_t ts,
		      const struct callstack_frame *frame)
{
	char text[CALLSTACK_TEXT];
	uint64_t base = 0, key[3];
	const char *path = frame->space == SPACE_KERNEL ? "/kernel" /* as the viewer calls it */
							: symbols_path(samples->symbols, stack->pid,
								       ts, frame->address, &base);
	const char *name = callstack_name(samples->symbols, stack->pid, ts, frame->address,
					  frame->space, text);

	key[0] = intern_text(samples, WRITER_FUNCTIONS, name);
	key[1] = intern_mapping(samples, path ? path : "");
	key[2] = frame->address - base;
	*vec_push(&samples->numbers) = intern_frame(samples, key);
}

static void put_packet_of(struct samples *samples, const struct callstack *stack, uint64_t ts,
			  uint64_t cpu)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__PerfSample sample = PERFETTO__PERF_SAMPLE__INIT;
	Perfetto__Callstack made = PERFETTO__CALLSTACK__INIT, *list = &made;
	bool is_new;

	made.has_iid = 1;
	made.iid = writer_intern_part(samples->writer, WRITER_STACKS, samples->numbers.at,
				      samples->numbers.count * sizeof(uint64_t), &is_new);
	made.n_frame_ids = samples->numbers.count;
	made.frame_ids = samples->numbers.at;
	data.n_callstacks = is_new;
	data.callstacks = &list;
	data.n_mappings = samples->mappings.count;
	data.mappings = samples->mappings.at;
	data.n_frames = samples->frames.count;
	data.frames = samples->frames.at;
	sample.has_cpu = cpu != UINT64_MAX;
	sample.cpu = (uint32_t)cpu;
	sample.has_pid = sample.has_tid = sample.has_callstack_iid = sample.has_cpu_mode = 1;
	sample.has_timebase_count = 1;
	sample.pid = (uint32_t)stack->pid;
	sample.tid = (uint32_t)stack->tid;
	sample.callstack_iid = made.iid;
	sample.cpu_mode = stack->frames.at[stack->frames.count - 1].space == SPACE_KERNEL
				  ? PERFETTO__PROFILING__CPU_MODE__MODE_KERNEL
				  : PERFETTO__PROFILING__CPU_MODE__MODE_USER;
	sample.timebase_count = ++*samples_by_cpu_put(&samples->counts, cpu, NULL);
	packet.has_timestamp = packet.has_timestamp_clock_id = packet.has_sequence_flags = 1;
	packet.timestamp = ts;
	packet.timestamp_clock_id = PERFETTO_CLOCK;
	packet.sequence_flags = WRITER_HAS_INTERNED;
	packet.interned_data = is_new ? &data : NULL; /* a known stack has known parts */
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE;
	packet.perf_sample = &sample;
	writer_put(samples->writer, &packet);
}

void samples_put(struct samples *samples, const struct callstack *stack, uint64_t ts, uint64_t cpu)
{
	assert(stack->frames.count > 0 && stack->tid >= 0);
	arena_reset(&samples->arena);
	samples->mappings.count = samples->frames.count = samples->numbers.count = 0;
	writer_make_room(samples->writer, stack->frames.count + 1);
	for (size_t i = 0; i < stack->frames.count; i++) {
		add_frame(samples, stack, ts, &stack->frames.at[i]);
	}
	put_packet_of(samples, stack, ts, cpu);
}

struct samples *samples_new(struct perfetto *writer, struct symbols *symbols)
{
	struct samples *samples = mem_alloc(sizeof(*samples));

	samples->writer = writer;
	samples->symbols = symbols;
	return samples;
}

void samples_free(struct samples *samples)
{
	if (samples) {
		samples_by_cpu_fini(&samples->counts);
		arena_fini(&samples->arena);
		vec_fini(&samples->mappings);
		vec_fini(&samples->frames);
		vec_fini(&samples->numbers);
		free(samples);
	}
}
