/*
 * batch: the next events of a stream, decoded, in a row.
 *
 *     packet A                    packet B
 *   [ batch 1 | batch 2 | 3 ] [ batch 4 | 5 ]
 *
 * A batch has events of one packet.  Text points into that packet, of which a cursor keeps two:
 * a batch can be read while the next one of its stream is filled, by another thread too.
 */
#ifndef SILLAGE_DEEP_BATCH_H
#define SILLAGE_DEEP_BATCH_H

#include "base/arena.h"
#include "base/mem.h"
#include "ctf/clock.h"
#include "ctf/decoder.h"

struct recorded_file;

#define BATCH_EVENTS 2048

struct batch_event {
	uint64_t ts;                    /* ns, never less than the one before of its stream */
	const struct plan_event *class; /* NULL: here events are missing */
	uint32_t values;                /* the first of its bindings */
	uint32_t passed;                /* events of all classes since the one before, and itself */
};

struct batch {
	uint64_t cpu; /* UINT64_MAX: the stream names none */
	const struct plan_stream *stream;
	uint32_t count;
	bool is_last;      /* of the stream */
	uint64_t passed;   /* is_last: events of all classes behind its last one, and ... */
	uint64_t last_ts;  /* ... the time of the stream's last */
	uint64_t first_ts; /* of the stream's first, UINT64_MAX: that was before */
	struct batch_event events[BATCH_EVENTS];
	VEC(struct value) values;
	VEC(char *) words; /* what could not be read, and why */
	struct arena text; /* what was converted */
};

/* How many values of a binding an event has. */
static inline uint32_t binding_width(const struct plan_binding *binding)
{
	return binding->present == 0 ? 0 : 32 - (uint32_t)__builtin_clz(binding->present);
}

/* A stream, and where it is decoded. */
struct cursor {
	const struct plan *plan;
	const struct plan_request *requests;
	struct recorded_file *file;
	struct decoder *decoder;
	struct decoder_passed passed_over; /* counts by class, which nobody reads */
	struct clock clock;
	uint64_t cpu;
	const struct plan_stream *stream;
	struct {
		uint8_t *bytes;
		uint64_t room;
	} packets[2];
	unsigned int packet; /* of these, the current one */
	bool is_used;        /* a batch has events of it */
	bool is_in_packet;
	bool has_packet;                     /* there was one before */
	bool is_first;                       /* no event of this packet was read */
	bool has_event;                      /* there was one of any class */
	uint64_t seq_num, discarded, end_ns; /* of the packet before */
	uint64_t ts;                         /* of the events and gaps so far */
	uint64_t last_ts;                    /* of the events so far */
	uint64_t passed;                     /* since one that somebody wants */
};

/* The plan is made for @requests; all must outlive it. */
void batch_cursor_init(struct cursor *cursor, const struct plan *plan,
		       const struct plan_request *requests, struct recorded_file *file);
void batch_cursor_fini(struct cursor *cursor);

/* Decodes what comes next.  The batch before the one before dies. */
void batch_fill(struct batch *batch, struct cursor *cursor);
void batch_free(struct batch *batch); /* of one made by mem_alloc() */

#endif
