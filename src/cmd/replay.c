/*
 * replay: plays recorded traces into a relay as live sessions.
 */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "recorded/recorded.h"
#include "replay/replay.h"
#include "run/run.h"
#include "run/say.h"

static int find_all(const char **args, struct recorded_paths *paths)
{
	int status = EXIT_DONE;

	for (size_t i = 0; args[i]; i++) {
		struct err err;

		if (recorded_find(args[i], paths, &err) < 0) {
			say("%s", err.text);
			status = EXIT_FAILED;
		}
	}
	return status;
}

static int play(const struct options *options, const struct url *relay)
{
	struct replay_config config = {
		.relay = relay,
		.session = relay->session,
		.host = relay->target,
		.speed = options->speed,
		.loops = options->loops,
		.live_timer_ns = options->live_timer_ns,
		.linger_ns = options->linger_ns,
		.wait_viewer = options->wait_viewer,
		.as_now = options->as_now,
		.verbosity = options->verbosity,
		.stop = &run_stop,
		.say = say,
	};
	struct recorded_paths paths = { 0 };
	int status = find_all(options->args, &paths);
	int r = status == EXIT_DONE ? replay_run(&config, &paths) : 0;

	status = r == -EINTR ? run_signal_status() : r < 0 ? EXIT_FAILED : status;
	recorded_paths_fini(&paths);
	return status;
}

static int run(const struct options *options)
{
	struct url url;
	struct err err;
	int status;

	if (!options->to) {
		say("replay needs --to URL, the relay to play into");
		return EXIT_USAGE;
	}
	if (url_parse_to(options->to, options->session, options->host, &url, &err) < 0) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	run_stop_on_signals();
	status = play(options, &url);
	url_fini(&url);
	return status;
}

const struct command cmd_replay = {
	.name = "replay",
	.args = "TRACE... --to URL",
	.summary = "play recorded traces into a relay as live sessions",
	.examples = "  sillage replay TRACE --to net://localhost\n"
		    "  sillage replay a b --to net://localhost:5342 --speed 10 --session load\n",
	.options = FOR_REPLAY,
	.args_min = 1,
	.run = run,
};
