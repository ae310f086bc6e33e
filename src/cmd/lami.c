/*
 * lami: analyses of recorded traces for Trace Compass, in place of lttng-analyses.
 */
#include <stdio.h>

#include "base/json.h"
#include "cmd/analyze.h"
#include "cmd/cmd.h"
#include "output/sinks/lami.h"
#include "recorded/recorded.h"
#include "run/run.h"
#include "run/say.h"

/* Trace Compass asks whether a trace can be read before it offers an analysis. */
static int test_trace(const struct options *options)
{
	struct recorded_paths paths = { 0 };
	int status = EXIT_DONE;
	struct err err;

	for (size_t i = 0; options->args[i]; i++) {
		if (recorded_find(options->args[i], &paths, &err) < 0) {
			say("%s", err.text);
			status = EXIT_FAILED;
		}
	}
	recorded_paths_fini(&paths);
	return status;
}

static int results(const struct options *options)
{
	struct json json;
	struct output output = { .sink = &sink_lami,
				 .path = options->output,
				 .top = options->has_top ? options->top : 0,
				 .analyses = options->analyses,
				 .display = &options->display,
				 .state = &json };

	return run_output(options, &output, analyze_into);
}

static int run(const struct options *options)
{
	if (options->mi_version) {
		(void)puts("1.0");
		return EXIT_DONE;
	}
	if (options->metadata) {
		lami_describe(stdout, options->analyses);
		return EXIT_DONE;
	}
	if (!options->args[0]) {
		say("lami needs a TRACE, --metadata or --mi-version");
		return EXIT_USAGE;
	}
	return options->test_compatibility ? test_trace(options) : results(options);
}

const struct command cmd_lami = {
	.name = "lami",
	.args = "TRACE...",
	.summary = "for Trace Compass: an external analysis (LAMI 1.0)",
	.examples = "  sillage lami -a sched --metadata\n"
		    "  sillage lami -a sched TRACE\n",
	.options = FOR_LAMI,
	.run = run,
};
