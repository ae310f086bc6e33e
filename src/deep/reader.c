/*
 * reader: see reader.h.
 */
#include "deep/reader.h"

#include <assert.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"

/* One stream of a trace. */
struct reader_source {
	uint32_t trace; /* as in struct reader_event */
	struct batch_cursor cursor;
	struct batch *batch;
	uint32_t at; /* index of the batch's next event */
	uint64_t events, first, last;
	uint64_t since; /* as in struct reader_event */
	uint64_t cpu;   /* UINT64_MAX: unknown */
	bool is_over;
	struct reader_event event; /* the stream's next one */
};

/* All streams of a CPU are over. */
struct departure {
	uint64_t cpu, ts; /* the end of its last packet */
};

struct reader {
	struct recorded trace;
	VEC(struct recorded) beside;
	struct reader_source *sources; /* by trace, in the order of their files' names */
	size_t count, own;             /* in all; those of the trace itself come first */
	struct reader_source **heap;   /* those that have a next event, oldest first */
	size_t heap_count;
	bool has_given; /* the caller uses the event of heap[0] */
	bool has_holes; /* the trace tells who runs */
	uint64_t given; /* ns: the time of the last event or hole that was given */
	struct coverage coverage;
	size_t cpu_count;
	VEC(struct departure) departures; /* that reader_left() has not given */
	bool is_again;                    /* as in struct reader_setup */
	reader_warn_fn *warn;
	void *user;
	struct plan_builder *visit_builder;
	struct plan *visits; /* NULL: reader_visit() does nothing */
};

const struct plan *reader_plan(const struct reader *reader)
{
	return reader->trace.plan;
}

size_t reader_cpu_count(const struct reader *reader)
{
	return reader->cpu_count;
}

static bool binds_any(const struct plan *plan, size_t first, size_t count)
{
	uint32_t mask = (uint32_t)((UINT64_C(1) << count) - 1) << first;

	assert(first + count <= 32);
	for (size_t i = 0; i < plan->stream_count; i++) {
		if (plan->streams[i].request_mask & mask) {
			return true;
		}
	}
	return false;
}

bool reader_is_asked(const struct reader *reader, bool is_beside, size_t first, size_t count)
{
	bool is = !is_beside && binds_any(reader->trace.plan, first, count);

	for (size_t i = 0; is_beside && i < reader->beside.count; i++) {
		is |= binds_any(reader->beside.at[i].plan, first, count);
	}
	return is;
}

/* ---- events ---- */

static bool may_warn(const struct reader *reader, uint32_t trace)
{
	return reader->warn && !(reader->is_again && trace == 0);
}

static void next_batch(struct reader *reader, struct reader_source *source)
{
	struct batch *batch = source->batch;

	batch_fill(batch, &source->cursor);
	source->at = 0;
	for (size_t i = 0; may_warn(reader, source->trace) && i < batch->messages.count; i++) {
		reader->warn(reader->user, batch->messages.at[i]);
	}
	for (size_t i = 0; source->trace == 0 && i < batch->covered.count; i++) {
		coverage_add(&reader->coverage, batch->covered.at[i].begin,
			     batch->covered.at[i].end);
	}
	source->first = batch->first_ts < source->first ? batch->first_ts : source->first;
}

/* The stream has ended: its CPU, too, if all others of it have. */
static void end_source(struct reader *reader, struct reader_source *source)
{
	uint64_t until = 0;

	source->is_over = true;
	for (size_t i = 0; i < reader->own; i++) {
		const struct reader_source *other = &reader->sources[i];

		if (other->cpu == source->cpu) {
			if (!other->is_over) {
				return;
			}
			until = other->cursor.covered_until > until ? other->cursor.covered_until
								    : until;
		}
	}
	if (source->cpu != UINT64_MAX && source->trace == 0) {
		*vec_push(&reader->departures) = (struct departure){ source->cpu, until };
	}
}

uint64_t reader_known_until(const struct reader_event *event)
{
	return event->is_hole ? event->ts + HOLE_NS + 1 : event->ts;
}

uint64_t reader_ended_at(const struct reader *reader, uint64_t cpu)
{
	for (size_t i = 0; i < reader->departures.count; i++) {
		if (reader->departures.at[i].cpu == cpu) {
			return reader->departures.at[i].ts;
		}
	}
	return UINT64_MAX;
}

bool reader_left(struct reader *reader, uint64_t now, uint64_t *ret_cpu, uint64_t *ret_ts)
{
	for (size_t i = 0; i < reader->departures.count; i++) {
		const struct departure *one = &reader->departures.at[i];

		if (now > one->ts && now - one->ts > HOLE_NS) {
			*ret_cpu = one->cpu;
			*ret_ts = one->ts;
			reader->departures.at[i] =
				reader->departures.at[--reader->departures.count];
			return true;
		}
	}
	return false;
}

uint64_t reader_left_bound(const struct reader *reader, uint64_t ts)
{
	uint64_t bound = 0;

	for (size_t i = 0; i < reader->departures.count; i++) {
		uint64_t left = reader->departures.at[i].ts;

		bound = left < ts && left + HOLE_NS > bound ? left + HOLE_NS : bound;
	}
	return bound;
}

/* Goes to the stream's next event; false: it has no more. */
static bool advance(struct reader *reader, struct reader_source *source)
{
	const struct batch *batch = source->batch;
	const struct batch_event *event;

	while (source->at == batch->count) {
		if (batch->is_last) {
			source->events += batch->passed;
			source->last = batch->last_ts;
			end_source(reader, source);
			return false;
		}
		next_batch(reader, source);
	}
	event = &batch->events[source->at++];
	assert_hot(event->ts >= source->event.ts);
	source->event = (struct reader_event){ .trace = source->trace,
					       .ts = event->ts,
					       .cpu = batch->cpu,
					       .stream = batch->stream,
					       .since = source->since,
					       .class = event->class };
	if (event->class) {
		source->event.binding = event->class->bindings;
		source->event.values = &batch->values.at[event->values];
	}
	source->events += event->passed;
	return true;
}

static bool is_before(const struct reader_source *a, const struct reader_source *b)
{
	return a->event.ts != b->event.ts ? a->event.ts < b->event.ts : a < b;
}

/* Restores the heap after heap[0] got a later event. */
static void sift(struct reader *reader)
{
	struct reader_source **heap = reader->heap, *moved = heap[0];
	size_t at = 0, count = reader->heap_count;

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && is_before(heap[child + 1], heap[child]);
		if (!is_before(heap[child], moved)) {
			break;
		}
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

static void push(struct reader *reader, struct reader_source *source)
{
	struct reader_source **heap = reader->heap;
	size_t at = reader->heap_count++;

	assert(at < reader->count); /* each stream is in the heap once */
	for (; at > 0 && is_before(source, heap[(at - 1) / 2]); at = (at - 1) / 2) {
		heap[at] = heap[(at - 1) / 2];
	}
	heap[at] = source;
}

/* Whether there is a hole between the last event and the next one, at @next_ts.  All packets that
 * begin before that event were begun. */
static bool take_hole(struct reader *reader, uint64_t next_ts, struct reader_event *ret_hole)
{
	struct reader_seen seen;
	uint64_t begin;

	while (coverage_next_hole(&reader->coverage, next_ts, &begin)) {
		reader_seen(reader, &seen);
		if (reader->has_holes && begin >= seen.first) {
			/* Events of a damaged packet may lie behind its end. */
			begin = begin < reader->given ? reader->given : begin;
			*ret_hole = (struct reader_event){ .is_hole = true,
							   .ts = begin,
							   .cpu = UINT64_MAX };
			return true;
		}
	}
	return false;
}

/* No event is left that was requested, but there may be others behind a hole. */
static bool take_last_hole(struct reader *reader, struct reader_event *ret_hole)
{
	struct reader_seen seen;

	reader_seen(reader, &seen);
	if (seen.last <= reader->given || !take_hole(reader, seen.last, ret_hole)) {
		return false;
	}
	reader->given = ret_hole->ts;
	return true;
}

bool reader_next(struct reader *reader, struct reader_event *event)
{
	if (reader->has_given) {
		if (!advance(reader, reader->heap[0])) {
			reader->heap[0] = reader->heap[--reader->heap_count];
		}
		if (reader->heap_count > 0) {
			sift(reader);
		}
	}
	reader->has_given = false;
	if (reader->heap_count == 0) {
		return take_last_hole(reader, event);
	}
	if (!take_hole(reader, reader->heap[0]->event.ts, event)) {
		*event = reader->heap[0]->event;
		reader->has_given = true;
	}
	assert(event->ts >= reader->given);
	reader->given = event->ts;
	return true;
}

void reader_seen(const struct reader *reader, struct reader_seen *ret_seen)
{
	*ret_seen = (struct reader_seen){ .first = UINT64_MAX };
	for (size_t i = 0; i < reader->own; i++) {
		const struct reader_source *source = &reader->sources[i];

		ret_seen->events += source->events;
		ret_seen->first = source->first < ret_seen->first ? source->first : ret_seen->first;
		ret_seen->last = source->last > ret_seen->last ? source->last : ret_seen->last;
	}
}

void reader_visit(struct reader *reader, const struct batch_visitor *visitor)
{
	struct reader_source *source = reader->has_given ? reader->heap[0] : NULL;

	assert(source && source->at > 0 && source->trace == 0);
	if (reader->visits) {
		batch_visit(&source->cursor, reader->visits, &source->batch->events[source->at - 1],
			    visitor);
	}
}

/* ---- lifecycle ---- */

/* Whether the stream is the first one of its CPU. */
static bool is_first_of_cpu(const struct reader *reader, size_t i)
{
	const struct recorded_file *files = reader->trace.files.at.at;

	for (size_t k = 0; k < i; k++) {
		if (files[k].has_info && files[k].info.cpu_id == files[i].info.cpu_id) {
			return false;
		}
	}
	return files[i].has_info && files[i].info.cpu_id != UINT64_MAX;
}

/* Start of a stream whose first packets are gone, as in a snapshot; 0: none is gone. */
static uint64_t begin_if_late(const struct recorded_file *file)
{
	const struct packet_info *info = &file->info;
	struct clock clock;

	if (!file->has_info || !info->has_begin || info->seq_num == 0 ||
	    info->seq_num == UINT64_MAX) {
		return 0;
	}
	clock_init(&clock, info->stream->clock);
	return clock_ns(&clock, info->begin);
}

static void open_visits(struct reader *reader)
{
	const struct plan *plan = reader->trace.plan;
	char *text;
	struct err err;

	reader->visit_builder =
		plan_builder_new(metadata_stream_arena(reader->trace.metadata), NULL, 0, true);
	if (plan_build(reader->visit_builder, plan->metadata, &reader->visits, &err) < 0) {
		reader->visits = NULL;
		text = mem_printf("events have no arguments: %s", err.text);
		if (reader->warn) {
			reader->warn(reader->user, text);
		}
		free(text);
	} else if (plan->slot_uuid == SLOT_NONE) {
		plan_ignore_uuid(reader->visit_builder, reader->visits);
	}
}

static void tell_notes(const struct reader *reader, const struct recorded *trace, uint32_t number)
{
	for (const struct metadata_note *note = trace->plan->metadata->notes->first;
	     may_warn(reader, number) && note; note = note->next) {
		reader->warn(reader->user, note->text);
	}
}

/* Opens those beside it that have a requested event. */
static void open_beside(struct reader *reader, const struct reader_setup *setup,
			const struct plan_request *requests, size_t request_count)
{
	for (size_t i = 0; setup->beside && i < setup->beside->at.count; i++) {
		struct recorded trace;
		struct err err;
		int r = recorded_open_for(&setup->beside->at.at[i], requests, request_count, &trace,
					  &err);

		if (r == 0 && binds_any(trace.plan, 0, request_count < 32 ? request_count : 32)) {
			*vec_push(&reader->beside) = trace;
			tell_notes(reader, &trace, (uint32_t)reader->beside.count);
			continue;
		}
		if (r < 0 && reader->warn) {
			reader->warn(reader->user, err.text);
		}
		recorded_close(&trace);
	}
}

/* By their headers alone. */
static void pass_until(struct recorded *trace, struct recorded_file *file, uint64_t from)
{
	while (from > 0 && file->has_info && file->info.has_end && file->info.stream->clock) {
		struct clock clock;

		clock_init(&clock, file->info.stream->clock);
		if (clock_ns(&clock, file->info.end) >= from) {
			return;
		}
		free(recorded_take_fault(file)); /* it is before the range */
		recorded_next(file, trace->plan, trace->decoder);
	}
}

/* Adds the streams of a trace that was opened. */
static void add_sources(struct reader *reader, struct recorded *trace, uint32_t number,
			uint64_t from)
{
	VEC_EACH(&trace->files.at, file) {
		struct reader_source *source = &reader->sources[reader->count++];

		source->trace = number;
		batch_cursor_init(&source->cursor, trace->plan, file);
		source->batch = mem_alloc(sizeof(*source->batch)); /* empty, and not the last */
		source->first = UINT64_MAX;
		source->since = begin_if_late(file);
		source->cpu = file->has_info ? file->info.cpu_id : UINT64_MAX;
		pass_until(trace, file, from);
	}
}

static void add_all_sources(struct reader *reader, bool reads_own, uint64_t from)
{
	size_t count = reads_own ? reader->trace.files.at.count : 0;

	for (size_t i = 0; i < reader->beside.count; i++) {
		count += reader->beside.at[i].files.at.count;
	}
	reader->sources = mem_alloc((count + 1) * sizeof(*reader->sources));
	reader->heap = mem_alloc((count + 1) * sizeof(struct reader_source *));
	if (reads_own) {
		add_sources(reader, &reader->trace, 0, from);
	}
	reader->own = reader->count;
	for (uint32_t i = 0; i < reader->beside.count; i++) {
		add_sources(reader, &reader->beside.at[i], i + 1, from);
	}
	assert(reader->count == count);
	for (size_t i = 0; i < reader->own; i++) {
		reader->cpu_count += is_first_of_cpu(reader, i);
	}
}

struct reader *reader_open(const struct reader_setup *setup, const struct plan_request *requests,
			   size_t request_count, struct err *err)
{
	struct reader *reader = mem_alloc(sizeof(*reader));

	reader->warn = setup->warn;
	reader->user = setup->user;
	reader->is_again = setup->is_again;
	if (recorded_open_for(setup->path, requests, request_count, &reader->trace, err) < 0) {
		recorded_close(&reader->trace);
		free(reader);
		return NULL;
	}
	tell_notes(reader, &reader->trace, 0);
	if (setup->visits) {
		open_visits(reader);
	}
	open_beside(reader, setup, requests, request_count);
	add_all_sources(
		reader,
		setup->needed.count == 0 ||
			binds_any(reader->trace.plan, setup->needed.first, setup->needed.count),
		setup->from);
	reader->has_holes = plan_has_event(reader->trace.plan, "sched_switch");
	for (size_t i = 0; i < reader->count; i++) {
		if (advance(reader, &reader->sources[i])) {
			push(reader, &reader->sources[i]);
		}
	}
	return reader;
}

void reader_close(struct reader *reader)
{
	if (!reader) {
		return;
	}
	for (size_t i = 0; i < reader->count; i++) {
		struct reader_source *source = &reader->sources[i];

		batch_cursor_fini(&source->cursor);
		batch_free(source->batch);
	}
	free(reader->sources);
	free(reader->heap);
	coverage_fini(&reader->coverage);
	vec_fini(&reader->departures);
	plan_unref(reader->visits);
	plan_builder_free(reader->visit_builder);
	recorded_close(&reader->trace);
	vec_fini_each(&reader->beside, recorded_close);
	free(reader);
}
