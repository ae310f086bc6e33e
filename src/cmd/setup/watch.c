/*
 * watch: records what analyses need on this host, and shows it, until it is told to end.
 */
#include "watch/watch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/units.h"
#include "cmd/live.h"
#include "cmd/setup/setup.h"
#include "cmd/top/top.h"
#include "run/run.h"
#include "run/say.h"

static bool is_on_screen(const struct options *options)
{
	return !options->has_format && !options->output;
}

static char note[512]; /* the last that was said before; global, since say() has no user pointer */

static void say_and_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say_and_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(note, sizeof(note), fmt, args);
	va_end(args);
	say("%s", note);
}

static int follow(const struct options *given, const struct watch *watch)
{
	struct options options = *given;
	const char *urls[] = { watch_url(watch), NULL };

	assert(watch);
	options.from_beginning = true; /* with the state dump */
	options.retry_ns = 0;          /* the relay is ours: it does not come back */
	if (!is_on_screen(given)) {
		return live_follow(&options, urls, NULL);
	}
	options.verbosity = given->verbosity > 0 ? given->verbosity : -1; /* so that it stays */
	return top_follow(&options, urls, note);
}

static int run(const struct options *given)
{
	struct options usual = *given;
	const struct options *options = &usual;
	struct wanted wanted = { 0 };
	const struct watch_config config = { .wanted = &wanted,
					     .live_timer_ns = options->live_timer_ns,
					     .say = say_and_note,
					     .verbosity = options->verbosity };
	struct watch *watch = NULL;
	struct err err;
	int status;

	if (is_on_screen(options) && !top_has_terminal()) {
		say("watch needs a terminal, or -f text or json");
		return EXIT_USAGE;
	}
	setup_choose(&usual);
	status = setup_wanted(options, &wanted);
	if (status == EXIT_DONE) {
		run_stop_on_signals();
		watch = watch_new(&config, &err);
		if (!watch) {
			say("%s", err.text);
			status = run_stop ? run_signal_status() : EXIT_FAILED;
		}
	}
	if (watch) {
		status = follow(options, watch);
		watch_free(watch);
	}
	wanted_fini(&wanted);
	return status;
}

const struct command cmd_watch = {
	.name = "watch",
	.args = "",
	.summary = "record this host and show it, until you quit; nothing is left",
	.examples = "  sillage watch -a cpu,sched\n"
		    "  sillage watch -a ust --ust 'my_app:*' -f json\n",
	.options = FOR_WATCH,
	.run = run,
};
