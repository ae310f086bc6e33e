/*
 * history: the windows of stores.
 */
#include "stored/history.h"
#include "cmd/cmd.h"
#include "output/sink.h"
#include "run/say.h"
#include "stored/follow.h"
#include "stored/history-fleet.h"

static int run(const struct options *options)
{
	struct output output = run_output_of(options);

	if (options->at && (options->begin || options->end || options->has_interval ||
			    options->follow || options->per_host)) {
		say("--at is one window: it has no --since, --until, --interval, --follow or "
		    "--per host");
		return EXIT_USAGE;
	}
	if (options->phases && (options->follow || options->per_host)) {
		say("--phases are those of the past, of each trace: it has no --follow or --per "
		    "host");
		return EXIT_USAGE;
	}
	output.analyses = options->has_analyses ? options->analyses : analyses;
	output.hides_containers = options->display.per != PER_CONTAINER;
	return run_output(options, &output,
			  options->follow     ? follow_store
			  : options->per_host ? history_fleet
					      : history_past);
}

const struct command cmd_history = {
	.name = "history",
	.args = "STORE...",
	.summary = "what a store of live or analyze has, as they print it",
	.examples = "  sillage history --since -1h -i 1m store.db\n"
		    "  sillage history --at 12:00:01 -a state store.db\n"
		    "  sillage history --phases --since -1d -a cpu store.db\n"
		    "  sillage history --host 'web*' --merged --per comm store.db\n"
		    "  sillage history --per host web1.db web2.db\n"
		    "  sillage history --follow -f json store.db\n"
		    "  sillage history --per host --since -1h --figure sched.wake.p99 store.db\n",
	.options = FOR_HISTORY,
	.args_min = 1,
	.run = run,
};
