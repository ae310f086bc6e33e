/*
 * export: see export.h; writes recorded traces for Perfetto's viewer.
 */
#include "cmd/report/export.h"

#include <signal.h>
#include <unistd.h>

#include "cmd/common.h"
#include "cmd/say.h"
#include "output/sink.h"
#include "output/sinks/json.h"

static int run(const struct options *options)
{
	/* The sink is not written to: the traces' own lines have no place in the file. */
	struct output output = { .sink = &sink_json,
				 .path = options->output,
				 .is_whole = true,
				 .analyses = options->analyses };

	if (!export_is_built()) {
		return EXIT_FAILED;
	}
	if (!options->output && isatty(STDOUT_FILENO)) {
		say("export: the file is no text for a terminal: -o FILE");
		return EXIT_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return cmd_output(options, &output, export_traces);
}

const struct command cmd_export = {
	.name = "export",
	.args = "TRACE|CAPTURE|URL...",
	.summary = "write traces for the viewer of Perfetto",
	.examples = "  sillage export -o prod.perfetto ~/lttng-traces/prod-20260101-120000\n"
		    "  sillage export -a cpu,sched -i 10ms --trigger 'sched.wake.max > 2ms' \\\n"
		    "    --begin 12:00:01 --end 12:00:02 -o prod.perfetto TRACE\n",
	.options = FOR_EXPORT,
	.args_min = 1,
	.run = run,
};
