/*
 * batch: the next decoded events of one stream.
 *
 *     packet A                    packet B
 *   [ batch 1 | batch 2 | 3 ] [ batch 4 | 5 ]
 *
 * A cursor remembers where a stream is decoded.  All events of a batch lie in one packet, and text
 * values point into that packet, which the cursor owns.
 *
 * Owns    the cursor owns the packet's bytes and the decoder; the batch owns values, converted text
 *         and messages.
 * Order   timestamps of one stream never decrease, across batches too, and lie within their packet:
 *         others are moved to the nearest time that can be, as in the engine.
 * Gaps    an event whose class is NULL marks a place where events are missing.  Two gaps never
 *         follow each other within a batch.
 * Errors  what cannot be read becomes a message and a gap; decoding continues behind it.
 */
#pragma once

#include "base/arena.h"
#include "base/mem.h"
#include "ctf/clock.h"
#include "ctf/coverage.h"
#include "ctf/decoder.h"

struct recorded_file;

#define BATCH_EVENTS 2048

struct batch_event {
	uint64_t ts;                    /* ns, never less than that of the stream's event before */
	const struct plan_event *class; /* NULL: events are missing here */
	uint32_t values;                /* index of the first value of its bindings */
	uint32_t passed;                /* events of all classes since the one before, and itself */
	uint64_t at_bits;               /* where it begins in the packet */
};

struct batch {
	uint64_t cpu; /* UINT64_MAX: the stream names none */
	const struct plan_stream *stream;
	uint32_t count;
	bool is_last;      /* of the stream */
	uint64_t passed;   /* is_last: events of all classes after the stream's last wanted one */
	uint64_t last_ts;  /* is_last: time of the stream's last event */
	uint64_t first_ts; /* of the stream's first event; UINT64_MAX: an earlier batch had it */
	struct batch_event events[BATCH_EVENTS];
	VEC(struct value) values;
	VEC(char *) messages;                  /* what could not be read, and why */
	struct arena text;                     /* text that was converted */
	VEC(struct coverage_interval) covered; /* by packets that were begun */
};

/* How many values an event has for a binding. */
static inline uint32_t batch_value_count(const struct plan_binding *binding)
{
	return binding->present == 0 ? 0 : 32 - (uint32_t)__builtin_clz(binding->present);
}

/* A stream, and the place where it is decoded. */
struct batch_cursor {
	const struct plan *plan;
	struct recorded_file *file;
	struct decoder *decoder;
	struct decoder_passed passed_over; /* counts by class, which are unused here */
	struct clock clock;
	uint64_t cpu;
	const struct plan_stream *stream;
	uint8_t *packet;                    /* the current packet's bytes */
	uint64_t packet_room, packet_bytes; /* bytes: of the packet that is there */
	struct decoder *visits;             /* of batch_visit(); NULL: it was not called */
	bool is_visited;                    /* that one has begun the packet */
	bool is_in_packet;
	bool has_packet;             /* at least one packet was started */
	bool is_first;               /* no event of this packet was read */
	bool has_event;              /* at least one event of any class was read */
	uint64_t seq_num, discarded; /* of the previous packet */
	uint64_t end_ns;             /* the same; of one without an end its begin */
	uint64_t limit_ns;           /* of the current packet: its end, or UINT64_MAX */
	uint64_t ts;                 /* of the last event or gap */
	uint64_t last_ts;            /* of the last event */
	uint64_t covered_until;      /* by the packets so far */
	uint64_t passed;             /* events since the last wanted one */
};

/* The plan is made for @requests; all arguments must outlive the cursor. */
void batch_cursor_init(struct batch_cursor *cursor, const struct plan *plan,
		       struct recorded_file *file);
void batch_cursor_fini(struct batch_cursor *cursor);

/* What batch_visit() calls for each field (ctf/decoder.h). */
struct batch_visitor {
	decoder_visit_fn *visit;
	decoder_shape_fn *shape;
	void *user;
};
/* Visits all fields of an event of the cursor's last batch.  @visits: the plan of the same trace,
 * made with visit_all. */
void batch_visit(struct batch_cursor *cursor, const struct plan *visits,
		 const struct batch_event *event, const struct batch_visitor *visitor);

/* Decodes the next events.  Those that the cursor decoded before become invalid. */
void batch_fill(struct batch *batch, struct batch_cursor *cursor);
/* @batch: from mem_alloc(), which is an empty batch. */
void batch_free(struct batch *batch);
