/*
 * batch: see batch.h.
 */
#include "deep/batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "recorded/recorded.h"

void batch_cursor_init(struct batch_cursor *cursor, const struct plan *plan,
		       struct recorded_file *file)
{
	*cursor = (struct batch_cursor){ .plan = plan,
					 .file = file,
					 .decoder = mem_alloc(sizeof(*cursor->decoder)),
					 .cpu = UINT64_MAX };
	cursor->passed_over.limit = UINT64_MAX;
	cursor->passed_over.unwanted = SKIP_PASS;
	cursor->passed_over.counts =
		mem_alloc((plan->class_count + 1) * sizeof(*cursor->passed_over.counts));
	cursor->passed_over.seen =
		mem_alloc((plan->class_count + 1) * sizeof(*cursor->passed_over.seen));
}

void batch_cursor_fini(struct batch_cursor *cursor)
{
	decoder_free(cursor->decoder);
	decoder_free(cursor->visits);
	free(cursor->passed_over.counts);
	free(cursor->passed_over.seen);
	free(cursor->packet);
}

static void clear(struct batch *batch)
{
	for (size_t i = 0; i < batch->messages.count; i++) {
		free(batch->messages.at[i]);
	}
	batch->messages.count = 0;
	batch->covered.count = 0;
	batch->values.count = 0;
	batch->count = 0;
	batch->is_last = false;
	batch->passed = 0;
	batch->first_ts = UINT64_MAX;
	arena_reset(&batch->text);
}

void batch_free(struct batch *batch)
{
	clear(batch);
	vec_fini(&batch->values);
	vec_fini(&batch->messages);
	vec_fini(&batch->covered);
	arena_fini(&batch->text);
	free(batch);
}

static void add_message(struct batch *batch, const struct batch_cursor *cursor, const char *what)
{
	*vec_push(&batch->messages) = mem_printf("stream %s: %s", cursor->file->name, what);
}

static void add(struct batch *batch, struct batch_cursor *cursor, const struct plan_event *class)
{
	uint32_t passed = cursor->passed < UINT32_MAX ? (uint32_t)cursor->passed : UINT32_MAX;

	batch->events[batch->count++] =
		(struct batch_event){ .ts = cursor->ts,
				      .class = class,
				      .values = (uint32_t)batch->values.count,
				      .passed = passed,
				      .at_bits = cursor->decoder->event_at_bits };
	cursor->passed -= passed; /* the next event has the rest */
}

/* Events are missing at @ts, or after the last event if that is later. */
static void add_gap(struct batch *batch, struct batch_cursor *cursor, uint64_t ts)
{
	cursor->ts = ts < cursor->ts ? cursor->ts : ts;
	if (batch->count > 0 && !batch->events[batch->count - 1].class) {
		batch->events[batch->count - 1].ts = cursor->ts; /* one gap for two reasons */
	} else {
		assert(batch->count < BATCH_EVENTS);
		add(batch, cursor, NULL);
	}
}

/* ---- packets ---- */

static int load_packet(struct batch_cursor *cursor, struct err *err)
{
	const struct recorded_file *file = cursor->file;
	uint64_t size = (file->info.content_bits + 7) / 8, done = 0;

	if (size > cursor->packet_room) {
		free(cursor->packet);
		cursor->packet = mem_alloc(size);
		cursor->packet_room = size;
	}
	while (done < size) {
		uint64_t left = size - done;
		ssize_t got = pread(file->fd, cursor->packet + done,
				    left < READ_PIECE_BYTES ? left : READ_PIECE_BYTES,
				    (off_t)(file->offset + done));

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (now_must_leave()) {
			return err_raise(err, -EINTR, "the run was interrupted");
		}
		if (got <= 0) {
			return err_raise(err, -EIO, "reading: %s",
					 got < 0 ? strerror(errno) : "the file ends before");
		}
		done += (uint64_t)got;
	}
	cursor->packet_bytes = size;
	cursor->is_visited = false;
	return 0;
}

/* Whether events or packets were lost between the previous packet and this one. */
static bool is_gap(const struct batch_cursor *cursor, const struct packet_info *info)
{
	if (!cursor->has_packet) {
		return false;
	}
	return (info->discarded != UINT64_MAX && info->discarded != cursor->discarded) ||
	       (info->seq_num != UINT64_MAX && info->seq_num > cursor->seq_num + 1);
}

/* The time that the packet covers, as the engine has it (engine/stream.c). */
static void add_covered(struct batch *batch, struct batch_cursor *cursor,
			const struct packet_info *info)
{
	uint64_t begin = info->has_begin ? clock_ns(&cursor->clock, info->begin) : 0;
	uint64_t end = info->has_end ? clock_ns(&cursor->clock, info->end) : UINT64_MAX;

	if (!info->stream->clock) {
		return;
	}
	begin = begin < cursor->covered_until ? cursor->covered_until : begin;
	end = end < begin ? begin : end;
	cursor->covered_until = end;
	*vec_push(&batch->covered) = (struct coverage_interval){ begin, end };
}

/* Notes which times events of the packet may have, as the engine has it.  Returns the earliest one,
 * which is that of a gap before it. */
static uint64_t set_times(struct batch_cursor *cursor, const struct packet_info *info)
{
	bool has_clock = info->stream->clock != NULL;
	uint64_t before = cursor->end_ns, begin = before;

	if (has_clock && info->has_begin) {
		begin = clock_ns(&cursor->clock, info->begin);
		before = cursor->has_packet && (begin > before || !info->may_overlap) ? before
										      : begin;
		begin = begin < before ? before : begin;
	}
	cursor->limit_ns = UINT64_MAX;
	cursor->end_ns = begin;
	if (has_clock && info->has_end) {
		cursor->end_ns = clock_ns(&cursor->clock, info->end);
		cursor->end_ns = cursor->end_ns < begin ? begin : cursor->end_ns;
		cursor->limit_ns = info->may_end_early ? UINT64_MAX : cursor->end_ns;
	}
	return before;
}

static void next_packet(struct batch_cursor *cursor)
{
	cursor->is_in_packet = false;
	recorded_next(cursor->file, cursor->plan, cursor->decoder);
}

/* Starts the file's next packet, possibly with a gap; false: the file has no more packets. */
static bool begin_packet(struct batch *batch, struct batch_cursor *cursor)
{
	struct recorded_file *file = cursor->file;
	const struct packet_info *info = &file->info;
	char *fault = recorded_take_fault(file);
	struct err err;
	uint64_t gap_ts;

	assert(!cursor->is_in_packet);
	assert(batch->count == 0); /* the events of a batch lie in one packet */
	if (fault) {
		add_message(batch, cursor, fault);
	}
	if (!file->has_info) {
		if (fault && cursor->has_packet) {
			add_gap(batch, cursor, cursor->end_ns);
		}
		free(fault);
		return false;
	}
	batch->cpu = cursor->cpu = info->cpu_id;
	batch->stream = cursor->stream = info->stream;
	clock_init(&cursor->clock, info->stream->clock);
	add_covered(batch, cursor, info);
	gap_ts = set_times(cursor, info);
	if (fault || is_gap(cursor, info)) {
		add_gap(batch, cursor, gap_ts);
	}
	free(fault);
	cursor->ts = gap_ts < cursor->ts ? cursor->ts : gap_ts;
	cursor->has_packet = true;
	cursor->seq_num = info->seq_num;
	cursor->discarded = info->discarded;
	if (load_packet(cursor, &err) < 0) {
		add_message(batch, cursor, err.text);
		add_gap(batch, cursor, gap_ts);
	} else {
		decoder_start(cursor->decoder, cursor->plan, info, cursor->packet,
			      (info->content_bits + 7) / 8);
		cursor->is_in_packet = true;
		cursor->is_first = true;
	}
	if (!cursor->is_in_packet) {
		next_packet(cursor);
	}
	return true;
}

/* ---- events ---- */

static bool is_bytes(const struct plan_field *field)
{
	return field->type && (field->kind == TYPE_STRING || field->kind == TYPE_ARRAY ||
			       field->kind == TYPE_SEQUENCE);
}

/* Converted text lives in the decoder until the next event: the batch copies it. */
static void keep_text(struct batch *batch, const struct decoder *d, const struct plan_event *class,
		      const struct plan_binding *binding, struct value *values)
{
	for (uint32_t i = 0; i < batch_value_count(binding); i++) {
		const uint8_t *at = values[i].bytes;

		if (is_bytes(plan_field_of(class, binding, i)) && at >= d->text &&
		    at < d->text + d->text_used) {
			values[i].bytes = arena_copy(&batch->text, at, values[i].len);
		}
	}
}

static void add_event(struct batch *batch, struct batch_cursor *cursor,
		      const struct plan_event *class)
{
	struct decoder *d = cursor->decoder;

	decoder_copy(d, class);
	add(batch, cursor, class);
	for (uint32_t i = 0; i < class->binding_count; i++) {
		const struct plan_binding *binding = &class->bindings[i];
		uint32_t count = batch_value_count(binding);

		vec_append(&batch->values, &d->values[binding->base], count);
		if (d->text_used > 0) {
			keep_text(batch, d, class, binding,
				  &batch->values.at[batch->values.count - count]);
		}
	}
}

/* The packet's bytes stay until the next batch. */
void batch_visit(struct batch_cursor *cursor, const struct plan *visits,
		 const struct batch_event *event, const struct batch_visitor *visitor)
{
	struct decoder *d = cursor->visits;
	struct packet_info info;
	struct ctf_event again;
	struct err err;

	assert(event->class);
	if (!d) {
		d = cursor->visits = mem_alloc(sizeof(*d));
	}
	if (!cursor->is_visited) {
		if (packet_info_read(d, visits, cursor->packet, cursor->packet_bytes,
				     PACKET_BYTES_MAX, &info, &err) < 0) {
			return;
		}
		decoder_start(d, visits, &info, cursor->packet, cursor->packet_bytes);
		cursor->is_visited = true;
	}
	d->at_bits = event->at_bits;
	d->header_at_bits = UINT64_MAX;
	d->budget = d->end_bits;
	d->text_used = 0;
	d->visit = visitor->visit;
	d->shape = visitor->shape;
	d->visit_user = visitor->user;
	(void)decoder_next(d, &again); /* it was decoded before */
	d->visit = NULL;
	d->shape = NULL;
}

/* The time of an event must lie within its packet, and not before that of the event before. */
static void note_time(struct batch_cursor *cursor, uint64_t cycles)
{
	uint64_t ts = clock_ns(&cursor->clock, cycles);

	ts = ts > cursor->limit_ns ? cursor->limit_ns : ts;
	cursor->ts = ts > cursor->ts ? ts : cursor->ts;
	cursor->last_ts = cursor->ts;
}

/* The packet's next wanted event, or its first event of any class; returns as decoder_next(). */
static int next_event(struct batch_cursor *cursor, struct ctf_event *event)
{
	struct decoder_passed *passed = &cursor->passed_over;
	struct decoder *d = cursor->decoder;
	int r;

	passed->events = 0;
	if (cursor->is_first || !d->stream->skips) {
		r = decoder_next(d, event);
	} else {
		r = decoder_wanted(d, passed, event);
	}
	cursor->is_first = false;
	if (passed->events > 0) { /* the event itself may be before them */
		note_time(cursor, passed->clock);
	}
	if (r > 0) {
		note_time(cursor, event->cycles);
	}
	cursor->passed += passed->events + (r > 0);
	return r;
}

/* Up to the end of the packet, or until the batch is full. */
static void take_events(struct batch *batch, struct batch_cursor *cursor)
{
	struct ctf_event event = { 0 };
	struct err err;
	int r = 1;

	while (batch->count < BATCH_EVENTS && (r = next_event(cursor, &event)) > 0) {
		if (!cursor->has_event) {
			cursor->has_event = true;
			batch->first_ts = cursor->ts;
		}
		if (event.class->binding_count > 0) {
			add_event(batch, cursor, event.class);
		}
		if (now_must_leave()) { /* a packet may have events for seconds, none of them wanted
					 */
			r = decoder_fail(cursor->decoder, "the run was interrupted", 0);
			break;
		}
	}
	if (r < 0) {
		(void)decoder_fault(cursor->decoder, &err);
		add_message(batch, cursor, err.text);
		add_gap(batch, cursor, cursor->ts);
	}
	if (r == 0 && cursor->file->is_cut) {
		add_message(batch, cursor, "the file ends within a packet, whose rest is lost");
		add_gap(batch, cursor, cursor->ts);
	}
	if (r <= 0) {
		next_packet(cursor);
	}
}

void batch_fill(struct batch *batch, struct batch_cursor *cursor)
{
	uint64_t ts = cursor->ts;

	clear(batch);
	vec_reserve(&batch->values, 1); /* an event without values points somewhere, too */
	batch->cpu = cursor->cpu;
	batch->stream = cursor->stream;
	while (batch->count == 0 && !batch->is_last) {
		if (!cursor->is_in_packet && !begin_packet(batch, cursor)) {
			batch->is_last = true;
		} else if (cursor->is_in_packet) {
			take_events(batch, cursor);
		}
	}
	batch->passed = cursor->passed;
	batch->last_ts = cursor->last_ts;
	assert(batch->count == 0 || batch->events[0].ts >= ts);
}
