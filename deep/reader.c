/*
 * reader: see reader.h.
 */
#include "deep/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/clock.h"

/* A stream, stopped at its next event. */
struct cursor {
	struct recorded_file *file;
	struct decoder *decoder;
	struct clock clock;
	uint8_t *bytes; /* of the packet */
	uint64_t room;
	bool is_in_packet, has_event;
	bool has_packet;                     /* there was one before */
	bool is_first;                       /* no event of this packet was read */
	uint64_t seq_num, discarded, end_ns; /* of that */
	uint64_t ts;                         /* of its events, so far */
	uint64_t events, first, last;        /* that were passed */
	struct reader_event event;
};

struct reader {
	struct recorded trace;
	struct cursor *cursors;
	size_t count;
	struct cursor **heap; /* those that have an event, by its time */
	size_t heap_count;
	bool has_given; /* the event of the first of them */
	struct decoder_passed passed;
	size_t cpu_count;
	reader_warn_fn *warn;
	void *user;
};

const struct plan *reader_plan(const struct reader *reader)
{
	return reader->trace.plan;
}

size_t reader_cpu_count(const struct reader *reader)
{
	return reader->cpu_count;
}

static void warn(const struct reader *reader, const struct cursor *cursor, const char *what)
{
	char message[1024];

	if (!reader->warn) {
		return;
	}
	(void)snprintf(message, sizeof(message), "stream %s: %s", cursor->file->name, what);
	reader->warn(reader->user, message);
}

/* ---- packets ---- */

static int load_packet(struct cursor *cursor, struct err *err)
{
	const struct recorded_file *file = cursor->file;
	uint64_t size = (file->info.content_bits + 7) / 8, done = 0;

	if (size > cursor->room) {
		free(cursor->bytes);
		cursor->bytes = mem_alloc(size);
		cursor->room = size;
	}
	while (done < size) {
		ssize_t got = pread(file->fd, cursor->bytes + done, size - done,
				    (off_t)(file->offset + done));

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return err_raise(err, -EIO, "reading: %s",
					 got < 0 ? strerror(errno) : "the file ends before");
		}
		done += (uint64_t)got;
	}
	return 0;
}

static bool is_gap(const struct cursor *cursor, const struct packet_info *info)
{
	if (!cursor->has_packet) {
		return false;
	}
	return (info->discarded != UINT64_MAX && info->discarded != cursor->discarded) ||
	       (info->seq_num != UINT64_MAX && info->seq_num > cursor->seq_num + 1);
}

/* Makes the cursor's event a place where some are missing, at @ts or behind what was before. */
static void note_gap(struct cursor *cursor, uint64_t ts)
{
	ts = ts < cursor->ts ? cursor->ts : ts;
	cursor->ts = ts;
	cursor->event = (struct reader_event){ .ts = ts, .cpu = cursor->event.cpu };
	cursor->has_event = true;
}

/* Begins the file's next packet; false: there is none.  It may begin with a gap. */
static bool begin_packet(struct reader *reader, struct cursor *cursor)
{
	struct recorded_file *file = cursor->file;
	const struct packet_info *info = &file->info;
	char *fault = recorded_take_fault(file);
	struct err err;
	uint64_t gap_ts;
	bool gap;

	if (fault) {
		warn(reader, cursor, fault);
		free(fault);
	}
	if (!file->has_info) {
		return false;
	}
	gap = fault || is_gap(cursor, info);
	cursor->event.cpu = info->cpu_id;
	clock_init(&cursor->clock, info->stream->clock);
	gap_ts = cursor->end_ns;
	if (info->has_begin && clock_ns(&cursor->clock, info->begin) < gap_ts) {
		gap_ts = clock_ns(&cursor->clock, info->begin);
	}
	if (gap) {
		note_gap(cursor, gap_ts);
	}
	if (load_packet(cursor, &err) < 0) {
		warn(reader, cursor, err.text);
		note_gap(cursor, gap_ts);
	} else {
		decoder_start(cursor->decoder, reader->trace.plan, info, cursor->bytes,
			      (info->content_bits + 7) / 8);
		cursor->is_in_packet = true;
		cursor->is_first = true;
	}
	cursor->has_packet = true;
	cursor->seq_num = info->seq_num;
	cursor->discarded = info->discarded;
	cursor->end_ns = info->has_end ? clock_ns(&cursor->clock, info->end) : cursor->ts;
	return true;
}

static void end_packet(struct reader *reader, struct cursor *cursor)
{
	cursor->is_in_packet = false;
	recorded_next(cursor->file, reader->trace.plan, reader->trace.decoder);
}

/* ---- events ---- */

/* The next event that is asked for, or the packet's first. */
static int next_event(struct reader *reader, struct cursor *cursor, struct event *event)
{
	struct decoder *d = cursor->decoder;
	int r;

	reader->passed.events = 0;
	if (cursor->is_first || !d->stream->skips) {
		r = decoder_next(d, event);
	} else {
		r = decoder_wanted(d, UINT64_MAX, &reader->passed, event);
	}
	cursor->is_first = false;
	cursor->events += reader->passed.events + (r > 0);
	return r;
}

/* The next event of the packet; false: it has no more. */
static bool next_in_packet(struct reader *reader, struct cursor *cursor)
{
	struct decoder *d = cursor->decoder;
	struct event event = { 0 };
	struct err err;
	uint64_t ts;
	int r;

	do {
		r = next_event(reader, cursor, &event);
		if (r > 0 || reader->passed.events > 0) {
			ts = clock_ns(&cursor->clock, r > 0 ? event.cycles : reader->passed.clock);
			cursor->ts = ts > cursor->ts ? ts : cursor->ts;
			cursor->first = cursor->events == 1 ? cursor->ts : cursor->first;
			cursor->last = cursor->ts;
		}
	} while (r > 0 && event.class->binding_count == 0);
	if (r < 0) {
		(void)decoder_fault(d, &err);
		warn(reader, cursor, err.text);
		note_gap(cursor, cursor->ts);
	}
	if (r <= 0) {
		return false;
	}
	decoder_copy(d, event.class);
	cursor->event.ts = cursor->ts;
	cursor->event.class = event.class;
	cursor->event.binding = &event.class->bindings[0];
	cursor->event.values = &d->values[cursor->event.binding->base];
	cursor->has_event = true;
	return true;
}

static void advance(struct reader *reader, struct cursor *cursor)
{
	cursor->has_event = false;
	while (!cursor->has_event) {
		if (!cursor->is_in_packet) {
			if (!begin_packet(reader, cursor)) {
				return;
			}
			if (!cursor->is_in_packet) {
				end_packet(reader, cursor); /* it cannot be read: a gap */
			}
		} else if (!next_in_packet(reader, cursor)) {
			end_packet(reader, cursor);
		}
	}
}

/* ---- order ---- */

static bool is_before(const struct cursor *a, const struct cursor *b)
{
	return a->event.ts != b->event.ts ? a->event.ts < b->event.ts : a < b;
}

/* Moves what is at the top of the heap to where it belongs. */
static void sift(struct reader *reader)
{
	struct cursor **heap = reader->heap, *moved = heap[0];
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

static void push(struct reader *reader, struct cursor *cursor)
{
	struct cursor **heap = reader->heap;
	size_t at = reader->heap_count++;

	for (; at > 0 && is_before(cursor, heap[(at - 1) / 2]); at = (at - 1) / 2) {
		heap[at] = heap[(at - 1) / 2];
	}
	heap[at] = cursor;
}

bool reader_next(struct reader *reader, struct reader_event *event)
{
	if (reader->has_given) {
		advance(reader, reader->heap[0]);
		if (!reader->heap[0]->has_event) {
			reader->heap[0] = reader->heap[--reader->heap_count];
		}
		if (reader->heap_count > 0) {
			sift(reader);
		}
	}
	reader->has_given = reader->heap_count > 0;
	if (reader->has_given) {
		*event = reader->heap[0]->event;
	}
	return reader->has_given;
}

void reader_seen(const struct reader *reader, struct reader_seen *ret_seen)
{
	*ret_seen = (struct reader_seen){ .first = UINT64_MAX };
	for (size_t i = 0; i < reader->count; i++) {
		const struct cursor *cursor = &reader->cursors[i];

		ret_seen->events += cursor->events;
		if (cursor->events > 0 && cursor->first < ret_seen->first) {
			ret_seen->first = cursor->first;
		}
		ret_seen->last = cursor->last > ret_seen->last ? cursor->last : ret_seen->last;
	}
}

/* ---- lifecycle ---- */

/* Whether no stream before this one is of its CPU. */
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

struct reader *reader_open(const struct recorded_path *path, const struct plan_request *requests,
			   size_t request_count, reader_warn_fn *warn_, void *user, struct err *err)
{
	struct reader *reader = mem_alloc(sizeof(*reader));

	reader->warn = warn_;
	reader->user = user;
	if (recorded_open_for(path, requests, request_count, &reader->trace, err) < 0) {
		reader_close(reader);
		return NULL;
	}
	reader->count = reader->trace.files.at.count;
	reader->cursors = mem_alloc((reader->count + 1) * sizeof(*reader->cursors));
	reader->heap = mem_alloc((reader->count + 1) * sizeof(struct cursor *));
	reader->passed.counts =
		mem_alloc((reader->trace.plan->class_count + 1) * sizeof(*reader->passed.counts));
	reader->passed.seen =
		mem_alloc((reader->trace.plan->class_count + 1) * sizeof(*reader->passed.seen));
	for (size_t i = 0; i < reader->count; i++) {
		reader->cpu_count += is_first_of_cpu(reader, i);
	}
	for (size_t i = 0; i < reader->count; i++) {
		struct cursor *cursor = &reader->cursors[i];

		cursor->file = &reader->trace.files.at.at[i];
		cursor->decoder = mem_alloc(sizeof(*cursor->decoder));
		advance(reader, cursor);
		if (cursor->has_event) {
			push(reader, cursor);
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
		decoder_free(reader->cursors[i].decoder);
		free(reader->cursors[i].bytes);
	}
	free(reader->cursors);
	free(reader->heap);
	free(reader->passed.counts);
	free(reader->passed.seen);
	recorded_close(&reader->trace);
	free(reader);
}
