/*
 * unexplained: see unexplained.h.
 */
#include "cmd/report/unexplained.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/shell.h"
#include "cmd/found/found.h"
#include "deep/timeline.h"
#include "recorded/recorded.h"
#include "run/say.h"

/* What leads on in a program's trace; NULL: it is a kernel's. */
static char *discovery_command(const struct recorded_path *path)
{
	char *place, *text;

	if (!found_is_of_programs(path)) {
		return NULL;
	}
	place = shell_path(path->name);
	text = mem_printf(" (loops and requests of its programs: sillage report --discover %s)",
			  place);
	free(place);
	return text;
}

void unexplained_say(const struct recorded_path *path, bool has_job)
{
	const struct lacks_event *lacks = &timeline_events[LACKS_SWITCHES];
	struct metadata_stream *metadata = metadata_stream_new();
	struct recorded_session session = { 0 };
	const char *tracer = NULL;
	char *place;
	struct err err; /* the timeline was built of it */

	if (recorded_read_metadata(path, metadata, &err) == 0) {
		tracer = metadata_other_tracer(metadata_stream_types(metadata));
	}
	recorded_session_of(path, &session);
	if (missing_has_event(&session.beside.all, lacks->event)) {
		place = shell_path(session.place ? session.place : path->name);
		say("%s: nothing to explain: %s is in the kernel's trace, beside it; both as one: "
		    "sillage report%s %s",
		    path->name, lacks->event, has_job ? " --job ..." : "", place);
		free(place);
	} else if (metadata_is_of_record(tracer)) {
		say("%s: not recorded: %s: nothing to explain; to record it: sudo sillage record",
		    path->name, lacks->event);
	} else if (tracer) {
		say("%s: not recorded: %s: nothing to explain, and %s does not record it",
		    path->name, lacks->event, tracer);
	} else {
		char *found = has_job ? NULL : discovery_command(path);

		say("%s: not recorded: %s: nothing to explain%s; to record it: %s", path->name,
		    lacks->event, found ? found : "", lacks->command);
		free(found);
	}
	recorded_session_fini(&session);
	metadata_stream_free(metadata);
}
