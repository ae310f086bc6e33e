/*
 * watch: records what analyses need on this host, and shows it, until it is told to end.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/units.h"
#include "cmd/live.h"
#include "cmd/record/record.h"
#include "cmd/setup/setup.h"
#include "cmd/top/top.h"
#include "run/run.h"
#include "run/say.h"
#include "watch/watch.h"

#define TIMER_NS (200 * NS_PER_MS)

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

static int follow(const struct options *given, const struct watch *watch, bool on_screen)
{
	struct options options = *given;
	const char *urls[] = { watch_url(watch), NULL };

	assert(watch);
	options.from_beginning = true; /* with the state dump */
	options.retry_ns = 0;          /* the relay is ours: it does not come back */
	if (!on_screen) {
		return live_follow(&options, urls, NULL);
	}
	options.verbosity = given->verbosity > 0 ? given->verbosity : -1; /* so that it stays */
	return top_follow(&options, urls, note);
}

static int record_kernel(const void *options, const char *relay, const char *session, int ready)
{
	return record_into(options, relay, session, ready);
}

/* With ftrace a window is shown soon after its end. */
static uint64_t timer_of(const struct options *options, enum kernel_source kernel)
{
	return kernel == KERNEL_BY_FTRACE && !options->has_live_timer ? TIMER_NS
								      : options->live_timer_ns;
}

static int record_and_follow(struct options *options, struct wanted *wanted, bool on_screen)
{
	const enum kernel_source kernel = kernel_source_choose(options->tracer, "");
	const struct watch_config config = { .wanted = wanted,
					     .kernel = kernel,
					     .live_timer_ns = timer_of(options, kernel),
					     .record = record_kernel,
					     .record_user = options,
					     .say = say_and_note,
					     .verbosity = options->verbosity };
	struct watch *watch;
	struct err err;
	int status;

	options->live_timer_ns = config.live_timer_ns;
	run_stop_on_signals();
	watch = watch_new(&config, &err);
	if (!watch) {
		say("%s", err.text);
		return run_stop ? run_signal_status() : EXIT_FAILED;
	}
	status = follow(options, watch, on_screen);
	watch_free(watch);
	return status;
}

/* `top`, without -a: not all analyses, which would cost the host much. */
static int choose_for_top(struct options *options)
{
	struct err err;

	if (!options->has_analyses) {
		options->command = FOR_WATCH;
		options_choose_screen(options);
		options->has_analyses = true;
	}
	if (options_choose_asked(options, false, &err) < 0) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

static int watch_here(const struct options *given, bool on_screen)
{
	struct options options = *given;
	struct wanted wanted = { 0 };
	int status = given->command == FOR_TOP ? choose_for_top(&options) : EXIT_DONE;

	setup_choose(&options);
	status = status == EXIT_DONE ? setup_wanted(&options, &wanted) : status;
	status = status == EXIT_DONE ? record_and_follow(&options, &wanted, on_screen) : status;
	wanted_fini(&wanted);
	return status;
}

/* Of `watch`; of `live` and `top` without arguments, too. */
static int run(const struct options *options)
{
	bool on_screen = options->command == FOR_TOP || (options->command == FOR_WATCH &&
							 !options->has_format && !options->output);

	if (on_screen && !top_has_terminal()) {
		say(options->command == FOR_TOP
			    ? "top needs a terminal; `live` and `analyze` do not"
			    : "watch needs a terminal, or -f text or json");
		return options->command == FOR_TOP ? EXIT_FAILED : EXIT_USAGE;
	}
	return watch_here(options, on_screen);
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
