/*
 * warn: what is lost or wrong in a trace, reported to whoever owns the engine.
 */
#ifndef SILLAGE_ENGINE_WARN_H
#define SILLAGE_ENGINE_WARN_H

#include <stdint.h>

struct stream;
struct trace;

/*
 * Reports a warning about @stream (NULL: the trace) and its packet (-1: none).  @what is a fixed
 * word.  A trace with too many warnings only counts the rest.
 */
void warn_trace(struct trace *trace, const struct stream *stream, int64_t packet, const char *what,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
