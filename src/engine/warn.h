/*
 * warn: reports what is lost or wrong in a trace through the engine's on_warning.
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
