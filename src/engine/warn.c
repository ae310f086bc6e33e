/*
 * warn: see warn.h.
 */
#include "engine/warn.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine/engine-state.h"

#define WARNINGS_MAX 100 /* of one trace; further ones are not reported */

void warn_trace(struct trace *trace, const struct stream *stream, int64_t packet, const char *what,
		const char *fmt, ...)
{
	struct engine_warning warning = { .what = what,
					  .stream_name = stream ? stream->name : NULL,
					  .packet = packet };
	va_list args;

	assert(!stream || stream->trace == trace);
	if (++trace->warnings > WARNINGS_MAX) {
		return;
	}
	va_start(args, fmt);
	(void)vsnprintf(warning.message, sizeof(warning.message), fmt, args);
	va_end(args);
	trace->engine->config.on_warning(trace->user, &warning);
	if (trace->warnings == WARNINGS_MAX) {
		(void)snprintf(warning.message, sizeof(warning.message),
			       "more than %d warnings: further ones are only counted",
			       WARNINGS_MAX);
		warning.what = "warnings";
		warning.stream_name = NULL;
		warning.packet = -1;
		trace->engine->config.on_warning(trace->user, &warning);
	}
}
