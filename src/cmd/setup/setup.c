/*
 * setup: prints, or runs, the `lttng` commands that record what analyses need.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/say.h"
#include "setup/commands.h"
#include "setup/runner.h"
#include "setup/wanted.h"

static bool must_stop(void)
{
	return cmd_stop;
}

static int check(const struct options *options, const struct wanted *wanted)
{
	const char *relay = options->relay;

	if (!commands_is_session_name(options->session ? options->session : "sillage")) {
		say("--session: \"%s\" is not a name of letters, digits, \"-\", \"_\" and \".\"",
		    options->session);
		return EXIT_USAGE;
	}
	if (relay && strncmp(relay, "net://", 6) != 0 && strncmp(relay, "net6://", 7) != 0) {
		say("--relay: \"%s\" is not net://HOST[:CONTROL[:DATA]]", relay);
		return EXIT_USAGE;
	}
	if (!wanted_has_kernel(wanted) && wanted->user.at.count == 0) {
		say("these analyses count what is recorded, whatever it is: choose another with "
		    "-a, "
		    "or events of user space with --ust PATTERN");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

/* What follows the commands: how to look, and how to end. */
static void print_next(const struct options *options, const char *session)
{
	printf("# then: sillage live ");
	for (size_t i = 0; options->analyses[i]; i++) {
		printf("%s%s", i == 0 ? "-a " : ",", options->analyses[i]->name);
	}
	printf(" --from beginning 'net://%s/host/*/%s*'\n",
	       options->relay ? "HOST-OF-THE-RELAY" : "localhost", session);
	printf("# at the end: lttng destroy %s\n", session);
}

static int run(const struct options *options)
{
	const char *session = options->session ? options->session : "sillage";
	const struct commands_config config = {
		.session = session,
		.relay = options->relay,
		.live_timer_ns = options->live_timer_ns,
	};
	struct command_lines lines = { 0 };
	struct wanted wanted = { 0 };
	struct err err;
	int status;

	wanted_find(&wanted, options->analyses, &options->periods);
	for (size_t i = 0; i < options->ust.count; i++) {
		wanted_add_user(&wanted, options->ust.at[i]);
	}
	status = check(options, &wanted);
	if (status == EXIT_DONE) {
		commands_make(&lines, &wanted, &config);
		if (!options->run) {
			for (size_t i = 0; i < lines.at.count; i++) {
				commands_print(&lines.at.at[i], stdout);
			}
		} else {
			cmd_stop_on_signals();
			if (runner_run_all(&lines, session, stdout, must_stop, &err) < 0) {
				say("%s", err.text);
				status = cmd_stop ? cmd_signal_status() : EXIT_FAILED;
			}
		}
		if (status == EXIT_DONE) {
			print_next(options, session);
		}
	}
	commands_fini(&lines);
	wanted_fini(&wanted);
	return status;
}

const struct command cmd_setup = {
	.name = "setup",
	.args = "",
	.summary = "the lttng commands that record what analyses need",
	.examples = "  sillage setup -a cpu,sched,io\n"
		    "  sillage setup -a sched --ust 'my_app:*' --session prod --run\n",
	.options = FOR_SETUP,
	.run = run,
};
