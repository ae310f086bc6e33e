/*
 * sibling: see sibling.h.
 */
#include "engine/sibling.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/packet.h"
#include "ctf/plan/plan.h"
#include "engine/engine-state.h"
#include "engine/merger/merger.h"
#include "engine/stream.h"

/* The length of CHANNEL_ in CHANNEL_NUMBER; 0: it is no such name. */
static size_t channel_len(const char *name, uint64_t *ret_number)
{
	const char *end = strrchr(name, '_');
	size_t digits = end ? strspn(end + 1, "0123456789") : 0;

	if (digits == 0 || digits > 9 || end[1 + digits] != '\0') {
		return 0;
	}
	*ret_number = strtoul(end + 1, NULL, 10);
	return (size_t)(end - name) + 1;
}

/* False: none is known. */
static bool sibling_find(const struct stream *stream, struct stream_identity *ret_identity)
{
	uint64_t number, of_other;
	size_t len = channel_len(stream->name, &number);
	const struct trace *trace = stream->trace;
	bool found = false;

	for (size_t i = 0; len > 0 && i < trace->streams.count; i++) {
		const struct stream *other = trace->streams.at[i];
		const struct stream_identity *identity =
			other->merger ? merger_stream_identity(other->merger) : NULL;

		if (!identity || channel_len(other->name, &of_other) != len ||
		    memcmp(other->name, stream->name, len) != 0) {
			continue;
		}
		if (identity->cpu_id != of_other || of_other == number) {
			return false; /* the names say something else */
		}
		if (!found || identity->begin < ret_identity->begin) {
			*ret_identity = *identity;
		}
		found = true;
	}
	if (found) {
		ret_identity->cpu_id = number;
		ret_identity->misses_start = true;
	}
	return found;
}

/* Goes on with the stream of this name that a run before had: packets that come later tell by their
 * numbers what was lost, and it must not count twice.  False: none had, or several. */
static bool resume(struct stream *stream)
{
	const struct trace *trace = stream->trace;
	const struct stream_identity *identity = NULL;
	struct packet_info info = { 0 };
	struct stream_place place;

	VEC_EACH(&trace->streams, other) {
		if (((*other)->is_away || (*other)->may_return) &&
		    strcmp((*other)->name, stream->name) == 0) {
			if (identity) {
				return false; /* the file had the packets of several */
			}
			identity = merger_stream_identity((*other)->merger);
		}
	}
	if (identity) {
		info.stream = plan_stream(trace->plan, identity->class_id);
		info.cpu_id = identity->cpu_id;
		info.instance_id = identity->instance_id;
	}
	return info.stream && stream_resume(stream, &info, &place);
}

void sibling_identify(struct stream *stream)
{
	const struct engine_export *exporter = stream->trace->engine->config.exporter;
	struct stream_identity identity;

	if (stream->gap_lost == 0 || stream->trace->is_live ||
	    merger_stream_identity(stream->merger) || resume(stream) ||
	    !sibling_find(stream, &identity)) {
		return;
	}
	assert(stream->submitted == 0);
	assert(!stream->has_packet);
	stream->end = identity.begin;
	merger_stream_identify(stream->merger, &identity);
	if (exporter) {
		exporter->stream(exporter->user, merger_stream_number(stream->merger), &identity);
	}
}
