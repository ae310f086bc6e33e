/*
 * instant: see instant.h.
 *
 * It is what `analyze -a state` says of a range that ends there, of which only the end matters: so
 * it begins one ns before, and an index (index/index.h) leaves little to read.
 */
#include "cmd/report/instant.h"

#include <assert.h>
#include <string.h>

#include "cmd/analyze.h"
#include "output/sink.h"
#include "run/run.h"
#include "run/say.h"

static const struct analysis *analysis_of_now(void)
{
	size_t i = 0;

	while (strcmp(analyses[i]->name, "state") != 0) {
		i++;
		assert(analyses[i]);
	}
	return analyses[i];
}

int instant_report(const struct options *options)
{
	struct options instant = *options;
	struct output output;

	assert(options->at);
	if (options->begin || options->end || options->thread || options->job ||
	    options->discover || options->resources) {
		say("--at is how all threads are at one time: it has no --begin, --end, --thread, "
		    "--job, --discover or --resources");
		return EXIT_USAGE;
	}
	if (strcmp(options->format, "html") == 0 || strcmp(options->format, "perfetto") == 0) {
		say("--at has no --format %s: text, json and csv", options->format);
		return EXIT_USAGE;
	}
	instant.analyses[0] = analysis_of_now();
	instant.analyses[1] = NULL;
	instant.has_analyses = instant.is_instant = true;
	instant.end = options->at;
	instant.end_option = "--at";
	output = run_output_of(&instant);
	return run_output(&instant, &output, analyze_into);
}
