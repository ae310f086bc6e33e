/*
 * reader: events of a recorded trace in global time order, and of those beside it.
 *
 *     stream 0   [ batch ] ─┐
 *     stream 1   [ batch ] ─┼─ heap, oldest event first ── reader_next()
 *     stream 2   [ batch ] ─┘
 *
 * Each stream is decoded one batch of events at a time (deep/batch.h); a heap holds the streams by
 * the time of their next event.  A reader gives only events of the requested classes.
 *
 * Beside  a kernel's trace may be those of user space, whose events come in the same order
 *         (recorded_join()).  Holes, CPUs that leave, and what was seen are of the kernel's alone.
 * Owns    the opened traces, and one batch and cursor per stream.
 * Holes   are found as the engine finds them (ctf/coverage.h), in a trace with sched_switch.
 * Order   timestamps never decrease.  Events with equal timestamps come in the order of their
 *         streams (by file name); events of one stream keep their order.
 */
#pragma once

#include "deep/batch.h"
#include "recorded/recorded.h"

struct reader;

/* An event, a place where events are missing (class NULL), or the begin of a time that no packet
 * covers (is_hole; class and stream NULL, no CPU). */
struct reader_event {
	bool is_hole;
	uint32_t trace; /* 0: the trace itself; else one beside it, counted from 1 on */
	uint64_t ts;    /* ns, never less than that of the event before */
	uint64_t cpu;   /* UINT64_MAX: its stream names none */
	const struct plan_stream *stream;
	uint64_t since; /* start of its stream's first packet if earlier ones are gone; else 0 */
	const struct plan_event *class;
	const struct plan_binding *binding; /* the first one of the class */
	const struct value *values;         /* of that binding; valid until the next call */
};

/* Reports what cannot be read, before the events that follow it. */
typedef void reader_warn_fn(void *user, const char *message);

/* What is read, and how. */
struct reader_setup {
	const struct recorded_path *path;
	/* Those beside it, for readers that ask for them; NULL: none. */
	const struct recorded_paths *beside;
	/* The trace itself is read only if it has an event of so many requests from `first` on;
	 * count 0: it is in any case. */
	struct {
		size_t first, count;
	} needed;
	bool is_again;        /* what cannot be read of the trace itself was reported before */
	reader_warn_fn *warn; /* NULL: no reports */
	void *user;           /* for warn */
	bool visits;          /* reader_visit() may be called */
	uint64_t from;        /* ns: packets that end before are passed over; 0: all are read */
};

/* NULL with the reason.  @setup->path and @requests must outlive it.  Of the traces beside it those
 * are read that have a requested event; what cannot be read of them is reported. */
struct reader *reader_open(const struct reader_setup *setup, const struct plan_request *requests,
			   size_t request_count, struct err *err);
void reader_close(struct reader *reader); /* NULL is fine */

/* The next event; false at the end. */
bool reader_next(struct reader *reader, struct reader_event *event);

/* Visits all fields of the event that was given last, which has a class: contexts first. */
void reader_visit(struct reader *reader, const struct batch_visitor *visitor);

/* Up to when the trace is known to go on when this event comes: behind a hole there is another. */
uint64_t reader_known_until(const struct reader_event *event);
/* ns: where all streams of this CPU ended, as long as reader_left() has not given it; UINT64_MAX:
 * they have not. */
uint64_t reader_ended_at(const struct reader *reader, uint64_t cpu);
/* A CPU that has left, behind its last packet: the trace goes on for more than HOLE_NS without it,
 * up to @now.  Each is given once; false: there is no other one. */
bool reader_left(struct reader *reader, uint64_t now, uint64_t *ret_cpu, uint64_t *ret_ts);
/* Until when it is not known of a CPU whether it has left before @ts; 0: of none. */
uint64_t reader_left_bound(const struct reader *reader, uint64_t ts);

/* How many CPUs the trace's streams name. */
size_t reader_cpu_count(const struct reader *reader);

/* Totals over events of all classes, whether given or not. */
struct reader_seen {
	uint64_t events; /* passed so far */
	uint64_t
		first; /* time of the trace's first event, known from the start; UINT64_MAX: none */
	uint64_t last; /* time of its last event, known once reader_next() returned false */
};
void reader_seen(const struct reader *reader, struct reader_seen *ret_seen);

/* Lives as long as the reader. */
const struct plan *reader_plan(const struct reader *reader);
/* Whether the trace itself, or (@is_beside) one beside it, has an event of one of @count requests
 * from @first on, which are among the first 32. */
bool reader_is_asked(const struct reader *reader, bool is_beside, size_t first, size_t count);

/* The same event with the fields of another request, given by its index; false: the event does not
 * belong to that request. */
static inline bool reader_as(const struct reader_event *event, size_t request,
			     struct reader_event *ret_event)
{
	const struct plan_binding *bindings = event->class->bindings;
	const struct value *values = event->values;

	for (uint32_t i = 0; i < event->class->binding_count; i++) {
		if (bindings[i].request == request) {
			*ret_event = *event;
			ret_event->binding = &bindings[i];
			ret_event->values = values;
			return true;
		}
		values += batch_value_count(&bindings[i]);
	}
	return false;
}

/*
 * Whether the event's stream belongs to the channel that carries the events of @request (one of the
 * first 32).  If several channels carry them, one of these is chosen.
 */
static inline bool reader_sees(const struct reader_event *event, unsigned int request)
{
	return event->stream->lead_mask >> request & 1;
}

static inline bool reader_has(const struct reader_event *event, unsigned int field)
{
	return event->binding->present >> field & 1;
}

static inline int64_t reader_i64(const struct reader_event *event, unsigned int field,
				 int64_t otherwise)
{
	return reader_has(event, field) ? event->values[field].i : otherwise;
}

static inline uint64_t reader_u64(const struct reader_event *event, unsigned int field,
				  uint64_t otherwise)
{
	return reader_has(event, field) ? event->values[field].u : otherwise;
}
