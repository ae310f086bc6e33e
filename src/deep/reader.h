/*
 * reader: events of a recorded trace in global time order.
 *
 *     stream 0   [ batch ] [ batch ] ─┐
 *     stream 1   [ batch ] [ batch ] ─┼─ oldest first ── reader_next()
 *     stream 2   [ batch ] [ batch ] ─┘
 *
 * Streams are decoded ahead, a batch of events at a time, by threads of the reader's own if it may
 * have some.  Events of one time come in the order of streams (their files' names), those of one
 * stream in their order, however many threads there are.  Only classes that are asked for are
 * given.
 */
#ifndef SILLAGE_DEEP_READER_H
#define SILLAGE_DEEP_READER_H

#include "deep/batch.h"
#include "recorded/recorded.h"

struct reader;

/* An event, or a place where events are missing (class NULL). */
struct reader_event {
	uint64_t ts;  /* ns, never less than the one before of its stream */
	uint64_t cpu; /* UINT64_MAX: its stream names none */
	const struct plan_stream *stream;
	uint64_t since; /* its stream's first packet begins, if those before are gone; else 0 */
	const struct plan_event *class;
	const struct plan_binding *binding; /* the first of the class */
	const struct value *values;         /* of that; die with the next call */
};

/* Something that cannot be read: said, when a batch behind it is begun, and passed over. */
typedef void reader_warn_fn(void *user, const char *message);

/* What is read, and how. */
struct reader_setup {
	const struct recorded_path *path;
	unsigned int threads; /* that decode, with the one that asks; at most 1: only that */
	reader_warn_fn *warn; /* by the thread that asks; NULL: nobody wants to know */
	void *user;
};

/* NULL with the reason.  @setup->path and @requests must outlive it. */
struct reader *reader_open(const struct reader_setup *setup, const struct plan_request *requests,
			   size_t request_count, struct err *err);
void reader_close(struct reader *reader); /* NULL is fine */

/* The next event; false at the end. */
bool reader_next(struct reader *reader, struct reader_event *event);

/* CPUs that streams of the trace name. */
size_t reader_cpu_count(const struct reader *reader);

/* Events of all classes that were passed so far, given or not; the time of the very first (from the
 * start on), and of the last, which is known at the end. */
struct reader_seen {
	uint64_t events, first, last;
};
void reader_seen(const struct reader *reader, struct reader_seen *ret_seen);

/* Lives as long as the reader. */
const struct plan *reader_plan(const struct reader *reader);

/* The same event as another request, by its index, sees it; false: it is not of that. */
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
		values += binding_width(&bindings[i]);
	}
	return false;
}

/*
 * Whether the event's stream has the events of a request, which is one of the first 32; of several
 * channels that have them it is one.
 */
static inline bool reader_sees(const struct reader_event *event, unsigned int request)
{
	return event->stream->lead_mask >> request & 1;
}

static inline bool reader_has(const struct reader_event *event, unsigned int field)
{
	return event->binding->present >> field & 1;
}

#endif
