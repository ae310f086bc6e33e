/*
 * unexplained: see unexplained.h.
 */
#include "cmd/report/unexplained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"
#include "cmd/found/found.h"
#include "deep/timeline.h"
#include "options/options.h"
#include "recorded/recorded.h"
#include "run/say.h"

static bool is_no_name(const char *name)
{
	return strcmp(name, "label") != 0 && strcmp(name, "model") != 0;
}

static bool is_no_job(const char *name)
{
	return strcmp(name, "job") != 0 && strcmp(name, "within") != 0;
}

/* What leads on in a program's trace; NULL: it is a kernel's. */
static char *program_command(const struct recorded_path *path, const struct options *options)
{
	char *text = NULL, *place;
	size_t len;
	FILE *out;

	if (!found_is_of_programs(path)) {
		return NULL;
	}
	out = open_memstream(&text, &len);
	if (options->job) {
		(void)fputs(" (how long the executions took: sillage analyze -a jobs", out);
		options_put_given(options, is_no_name, out); /* labels stand before their uses */
		if (!options_job_of_model(options)) {
			options_put_given(options, is_no_job, out);
		}
	} else {
		(void)fputs(" (loops and requests of its programs: sillage report --discover", out);
	}
	place = shell_path(path->name);
	(void)fprintf(out, " %s)", place);
	(void)fclose(out);
	free(place);
	return text;
}

void unexplained_say(const struct recorded_path *path, const struct options *options)
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
		    path->name, lacks->event, options->job ? " --job ..." : "", place);
		free(place);
	} else if (metadata_is_of_record(tracer)) {
		say("%s: not recorded: %s: nothing to explain; to record it: sudo sillage record",
		    path->name, lacks->event);
	} else if (tracer) {
		say("%s: not recorded: %s: nothing to explain, and %s does not record it",
		    path->name, lacks->event, tracer);
	} else {
		char *found = program_command(path, options);

		say("%s: not recorded: %s: nothing to explain%s; to record it: %s", path->name,
		    lacks->event, found ? found : "", lacks->command);
		free(found);
	}
	recorded_session_fini(&session);
	metadata_stream_free(metadata);
}
