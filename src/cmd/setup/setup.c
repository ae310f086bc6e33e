/*
 * setup: prints, or runs, the `lttng` commands that record what analyses need.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/process/guardian.h"
#include "base/process/thread.h"
#include "base/shell.h"
#include "cmd/setup/rate.h"
#include "cmd/setup/setup.h"
#include "run/asked.h"
#include "run/run.h"
#include "run/say.h"
#include "setup/commands.h"
#include "setup/kernel-source.h"
#include "setup/missing.h"
#include "setup/runner.h"
#include "watch/place.h"

#define US_NS 1000

void setup_choose(struct options *options)
{
	if (!options->has_analyses && options_are_of_user(options)) {
		options_choose_usual(options, false, true);
	}
}

int setup_wanted(const struct options *options, struct wanted *wanted)
{
	if (options->live_timer_ns < US_NS) {
		say("--live-timer: lttng has timers of 1us and more");
		return EXIT_USAGE;
	}
	if (options->periods.tracer) {
		say("--model: its events are recorded by %s, not by lttng",
		    options->periods.tracer);
		return EXIT_USAGE;
	}
	wanted_find(wanted, options->analyses, &options->periods);
	for (size_t i = 0; i < options->ust.count; i++) {
		wanted_add_user(wanted, options->ust.at[i]);
	}
	if (!options->has_analyses) {
		wanted_narrow_user(wanted);
	}
	if (!wanted_has_kernel(wanted) && wanted->user.at.count == 0) {
		say("these analyses count what is recorded, whatever it is: choose another with "
		    "-a, or events of user space with --ust PATTERN");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

/* Only if it is asked for: where these commands run, this host need not know. */
static bool is_by_ftrace(const struct options *options)
{
	return options->tracer && strcmp(options->tracer, "ftrace") == 0;
}

static int check(const struct options *options)
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
	if (is_by_ftrace(options) && options->rate) {
		say("--rate: it is of lttng's buffers; `sillage record` has --buffer");
		return EXIT_USAGE;
	}
	if (is_by_ftrace(options) && options->run) {
		say("--run: ftrace is recorded by a command that goes on, not by a session: run "
		    "the "
		    "line that setup prints, or the unit sillage-record");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

/* What follows the commands: how to look, and how to end. */
static void print_next(const struct options *options, const char *session, bool has_lttng)
{
	char *asked = asked_text(options);
	char *url = mem_printf("net://%s/host/*/%s*",
			       options->relay ? "HOST-OF-THE-RELAY" : "localhost", session);

	printf("# then: sillage live %s --from beginning ", asked);
	(void)shell_put(stdout, url);
	if (has_lttng) {
		printf("\n# at the end: lttng destroy %s\n", session);
	} else {
		printf("\n# at the end: ^C\n");
	}
	free(url);
	free(asked);
}

/* The kernel by ftrace: the command that records it, for as long as it runs. */
static void print_record(const struct options *options, const char *session)
{
	char *asked = asked_text(options);

	if (!options->relay) {
		printf("# if no relay runs here: lttng-relayd --daemonize\n");
	}
	printf("sillage record %s --to ", asked);
	(void)shell_put(stdout, options->relay ? options->relay : "net://localhost");
	printf(" --session ");
	(void)shell_put(stdout, session);
	printf("\n");
	free(asked);
}

/* Where LTTng's modules are missing, another tracer may be there. */
static void suggest_ftrace(const struct options *options, const struct wanted *wanted)
{
	if (!options->tracer && wanted_has_kernel(wanted) && options->verbosity >= 0 &&
	    kernel_source_choose(NULL, "") == KERNEL_BY_FTRACE) {
		say("this host has no lttng-modules, which these commands need for the kernel; "
		    "with --tracer ftrace it is recorded without");
	}
}

static int print_all(const struct command_lines *lines)
{
	for (size_t i = 0; i < lines->at.count; i++) {
		commands_print(&lines->at.at[i], stdout);
	}
	return EXIT_DONE;
}

static void clear(const void *dir)
{
	place_clear(dir);
}

/* What a run left half made is removed.  If this one is killed, its guardian does that, or else the
 * next run. */
static int begin(struct place *place, const char *session, struct guardian **guardian,
		 struct err *err)
{
	int r = place_begin(place, err);

	place_sweep(place, say);
	while (r == 0 && place_is_making(place, session)) { /* or it is being removed */
		place_fini(place);
		(void)poll(NULL, 0, WAIT_POLL_MS);
		r = run_stop ? err_raise(err, -EINTR, "interrupted") : place_begin(place, err);
		place_sweep(place, say);
	}
	if (r < 0 || runner_has_session(session)) {
		return r; /* not ours: `lttng create` says so */
	}
	r = place_make(place, session, err);
	if (r == 0) {
		*guardian = guardian_new(clear, place->dir, place->lock, err);
		r = *guardian ? 0 : -EIO;
		place_unlock(place); /* which the guardian needs */
	}
	return r;
}

/* @has_user: what is of programs can be recorded where the kernel cannot. */
static int run_all(const struct command_lines *lines, const char *session, bool has_user)
{
	struct err no_kernel = { .text = "" };
	const struct runner_config config = { .session = session,
					      .out = stdout,
					      .no_kernel = has_user ? &no_kernel : NULL,
					      .say = say };
	struct thread_last last = { .doing = "the session that was begun", .say = say };
	struct guardian *guardian = NULL;
	struct place place;
	struct err err;
	int r;

	run_stop_on_signals();
	r = begin(&place, session, &guardian, &err);
	r = r < 0 ? r : runner_run_all(lines, &config, &err);
	if (place.dir && r != -EINTR) {
		place_leave(&place);
	}
	guardian_free(guardian, &last);
	place_fini(&place);
	if (r == -ECHILD) {
		missing_kernel(&err);
	}
	if (r == 0 && no_kernel.text[0]) {
		missing_kernel(&no_kernel);
		say("only user space is recorded: %s", no_kernel.text);
	}
	if (r < 0) {
		say("%s", err.text);
		return run_stop ? run_signal_status() : EXIT_FAILED;
	}
	return EXIT_DONE;
}

/* Buffers as --rate has it; @rate: what that is. */
static int find_sizes(const struct options *options, const struct wanted *wanted,
		      struct commands_config *config, struct rate *rate)
{
	struct err err;
	int r;

	commands_usual_sizes(config, wanted);
	if (!options->rate) {
		return EXIT_DONE;
	}
	run_stop_on_signals();
	r = rate_find(options, rate, &err);
	r = r < 0 ? r : rate_sizes(options, rate, config, &err);
	if (run_stop) {
		return run_signal_status();
	}
	if (r < 0) {
		say("%s", err.text);
	}
	return r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static int run(const struct options *given)
{
	struct options usual = *given;
	const struct options *options = &usual;
	const char *session = options->session ? options->session : "sillage";
	struct rate rate;
	struct commands_config config = {
		.session = session,
		.relay = options->relay,
		.live_timer_ns = options->live_timer_ns,
	};
	struct command_lines lines = { 0 };
	struct wanted wanted = { 0 };
	bool by_ftrace = is_by_ftrace(options), has_lttng;
	int status = check(options);

	setup_choose(&usual);
	status = status == EXIT_DONE ? setup_wanted(options, &wanted) : status;
	status = status == EXIT_DONE ? find_sizes(options, &wanted, &config, &rate) : status;
	by_ftrace &= wanted_has_kernel(&wanted);
	if (by_ftrace) {
		wanted_drop_kernel(&wanted);
	}
	has_lttng = wanted_has_kernel(&wanted) || wanted.user.at.count > 0;
	if (status == EXIT_DONE) {
		suggest_ftrace(options, &wanted);
	}
	if (status == EXIT_DONE && has_lttng) {
		commands_make(&lines, &wanted, &config);
		status = options->run ? run_all(&lines, session, wanted.user.at.count > 0)
				      : print_all(&lines);
	}
	if (status == EXIT_DONE && options->rate) {
		rate_print(options, &rate, &config, wanted_has_kernel(&wanted),
			   wanted.user.at.count > 0);
	}
	if (status == EXIT_DONE && by_ftrace) {
		print_record(options, session);
	}
	if (status == EXIT_DONE) {
		print_next(options, session, has_lttng);
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
		    "  sillage setup -a sched --ust 'my_app:*' --session prod --run\n"
		    "  sillage setup -a all --rate yesterday/ --away 3s\n",
	.options = FOR_SETUP,
	.run = run,
};
