/*
 * export-none: see export.h; a program built without protobuf-c or libdeflate.
 */
#include <assert.h>

#include "cmd/report/export.h"
#include "cmd/say.h"

bool export_is_built(void)
{
	say("built without protobuf-c or libdeflate, which Perfetto's format needs");
	return false;
}

int export_traces(const struct options *options, struct output *output)
{
	(void)options;
	(void)output;
	assert(!"not built");
	return EXIT_FAILED;
}

struct perfetto *export_begin(const struct options *options, struct output *output)
{
	(void)options;
	(void)output;
	assert(!"not built");
	return NULL;
}

int export_report(struct perfetto *writer, const struct recorded_path *path,
		  const struct deep_report *report)
{
	(void)writer;
	(void)path;
	(void)report;
	assert(!"not built");
	return EXIT_FAILED;
}

void export_end(struct perfetto *writer)
{
	assert(!writer);
	(void)writer;
}
