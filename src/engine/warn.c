/*
 * warn: see warn.h.
 */
#include "engine/warn.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "engine/engine-state.h"

#define WARNINGS_MAX 100 /* of one trace; further ones are not reported */

static void emit(struct trace *trace, struct engine_warning *warning)
{
	if (++trace->warnings > WARNINGS_MAX) {
		return;
	}
	trace->engine->config.on_warning(trace->user, warning);
	if (trace->warnings == WARNINGS_MAX) {
		struct engine_warning last = { .what = "warnings", .packet = -1 };

		(void)snprintf(last.message, sizeof(last.message),
			       "more than %d warnings: further ones are only counted",
			       WARNINGS_MAX);
		trace->engine->config.on_warning(trace->user, &last);
	}
}

void warn_trace(struct trace *trace, const struct stream *stream, int64_t packet, const char *what,
		const char *fmt, ...)
{
	struct engine_warning warning = { .what = what,
					  .stream_name = stream ? stream->name : NULL,
					  .packet = packet };
	va_list args;

	assert(!stream || stream->trace == trace);
	va_start(args, fmt);
	(void)vsnprintf(warning.message, sizeof(warning.message), fmt, args);
	va_end(args);
	emit(trace, &warning);
}

static void append(struct engine_warning *warning, const char *text)
{
	size_t len = strlen(warning->message);

	(void)snprintf(warning->message + len, sizeof(warning->message) - len, "%s", text);
}

/* Microseconds: a loss may be short. */
static void append_time(struct engine_warning *warning, const char *before, uint64_t ts)
{
	char text[64], clock[UNITS_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "%s%.15s", before, units_clock(clock, ts));
	append(warning, text);
}

static const char *remedy_of(const char *tracer)
{
	if (metadata_is_of_record(tracer)) {
		return "; larger buffers would hold them (sillage record --buffer)";
	}
	return tracer ? "; larger or more buffers would hold them"
		      : "; larger or more sub-buffers would hold them (lttng enable-channel "
			"--subbuf-size, --num-subbuf)";
}

/* What helps is said once a stream: which stream of a trace comes first depends on the chunks. */
void warn_loss(struct trace *trace, struct stream *stream, const struct loss *loss, const char *fmt,
	       ...)
{
	struct engine_warning warning = { .what = loss->what,
					  .stream_name = stream->name,
					  .packet = loss->packet,
					  .begin = loss->begin,
					  .end = loss->end };
	va_list args;

	assert(stream->trace == trace);
	if (loss->begin != 0 && loss->begin >= trace->engine->setup.range_end) {
		return; /* read only for what it tells of the range */
	}
	va_start(args, fmt);
	(void)vsnprintf(warning.message, sizeof(warning.message), fmt, args);
	va_end(args);
	if (loss->begin != 0 && loss->end != 0) {
		append_time(&warning, ", between ", loss->begin);
		append_time(&warning, " and ", loss->end);
	} else if (loss->begin != 0) {
		append_time(&warning, ", after ", loss->begin);
	}
	if (strcmp(loss->what, "discarded") == 0 && !stream->has_told_remedy) {
		stream->has_told_remedy = true;
		append(&warning, remedy_of(metadata_other_tracer(trace->plan->metadata)));
	}
	emit(trace, &warning);
}
