/*
 * warn: reports what is lost or wrong in a trace through the engine's on_warning.
 */
#pragma once

#include <stdint.h>

struct stream;
struct trace;

/*
 * Reports a warning about @stream (NULL: the trace) and its packet (-1: none).  @what is a fixed
 * word.  A trace with too many warnings only counts the rest.
 */
void warn_trace(struct trace *trace, const struct stream *stream, int64_t packet, const char *what,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Something lost in a stream, between two times in ns; 0: not known. */
struct loss {
	const char *what; /* "discarded", "lost-packets", "packet" */
	int64_t packet;   /* the one behind it, or the damaged one */
	uint64_t begin, end;
};

/* The same about a loss.  The time is added to the message.  The first warning of events that the
 * tracer discarded also says what helps. */
void warn_loss(struct trace *trace, struct stream *stream, const struct loss *loss, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));
