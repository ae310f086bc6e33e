/*
 * top: windows of live sessions, or of recorded traces, on the full screen.
 *
 * Live windows are drawn as they come.  Recorded traces are analysed first, then shown.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cmd/analyze.h"
#include "cmd/check-names.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/found/found.h"
#include "cmd/say.h"
#include "live/capture/capture-prune.h"
#include "live/capture/capture-write.h"
#include "live/capture/captures.h"
#include "live/loop.h"
#include "live/session/relay-connection.h"
#include "live/url.h"
#include "output/screen/screen.h"

static struct view *view; /* global, since callbacks like say() have no user pointer */

static void say_on_screen(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say_on_screen(const char *fmt, ...)
{
	char text[512];
	va_list args;

	assert(view);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	view_say(view, text);
	view_waits_for(view, text);
	screen_draw(view);
}

/* ---- the sink ---- */

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	(void)output;
	if (view_add(view, trace, report)) {
		screen_draw(view);
	}
}

static void on_warning(struct output *output, const struct trace_identity *trace,
		       const struct engine_warning *warning)
{
	(void)output;
	(void)trace;
	view_say(view, warning->message);
	screen_draw(view);
}

static const struct sink sink_screen = {
	.name = "screen",
	.report = on_report,
	.warning = on_warning,
};

/* ---- live ---- */

/* Finding jobs: the history of the session is captured into a directory of its own, in which the
 * thread that writes captures looks for them. */
static atomic_bool is_leaving;

static void on_written(void *user, struct capture_order *order)
{
	(void)user;
	if (order->path) {
		order->found = found_in_capture(order->path, &is_leaving);
		capture_remove_tree(order->path);
	}
}

static void on_captured(void *user, const struct capture_order *order)
{
	(void)user;
	view_show_jobs(view, order->found ? order->found : order->err.text);
	screen_draw(view);
}

static void find_jobs(struct loop *loop, bool has_history)
{
	const char *host, *session;

	if (!view_asks_jobs(view, &host, &session)) {
		return;
	}
	if (!has_history) {
		view_show_jobs(view, "Jobs are found in the last packets of a session, which are "
				     "not kept:\nbegin with --history 10s, for example.\n");
	} else if (!loop_capture(loop, host, session)) {
		view_show_jobs(view, "Jobs are found in kernel traces of sessions that go on.\n");
	}
}

static bool on_input(void *user, struct loop *loop)
{
	const struct options *options = user;
	bool goes_on = screen_keys(view);

	if (goes_on) {
		find_jobs(loop, options->has_history);
		screen_draw(view);
	}
	atomic_store(&is_leaving, !goes_on);
	return goes_on;
}

/* Of all that is kept. */
static int make_captures(const struct options *options, struct loop_config *config, char *dir,
			 struct err *err)
{
	const struct captures_config captures = {
		.dir = dir,
		.history_ns = options->history_ns,
		.history_bytes =
			options->history_bytes ? options->history_bytes : options->max_memory,
		.before_ns = options->history_ns,
		.keep_count = UINT64_MAX,
		.keep_bytes = UINT64_MAX,
		.say = say_on_screen,
		.on_written = on_written,
	};

	if (!options->has_history) {
		return 0;
	}
	if (!mkdtemp(dir)) {
		return err_raise(err, -errno, "%s: %s", dir, strerror(errno));
	}
	config->captures = captures_new(&captures);
	config->on_captured = on_captured;
	return 0;
}

static int follow(const struct options *given, struct output *output)
{
	struct options phased = *given;
	const struct options *options = &phased;
	struct loop_config config = { 0 };
	struct live_names names = { .options = options };
	struct run_summary summary = { 0 };
	char *dir =
		mem_printf("%s/sillage-top-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	struct err err = { 0 };
	int status = EXIT_USAGE;
	struct url *urls;

	phased.phases = true;
	if (cmd_urls(options->args, &urls, &config.url_count, &err) == 0 &&
	    make_captures(options, &config, dir, &err) == 0) {
		config.urls = urls;
		config.output = output;
		cmd_fill_loop(options, &config);
		config.check_names = cmd_check_live_names;
		config.names_user = &names;
		config.engine.top = VIEW_ROWS_MAX;
		config.say = say_on_screen;
		config.on_input = on_input;
		config.input_user = &phased;
		view_waits_for(view, "waiting for the first window ...");
		status = EXIT_FAILED;
		if (screen_open(&err) == 0) {
			screen_draw(view);
			status = loop_run(&config, &summary, &err) < 0 ? EXIT_FAILED : EXIT_DONE;
			screen_close();
		}
	}
	if (status != EXIT_DONE) {
		say("%s", err.text);
	}
	if (config.captures) {
		captures_free(config.captures);
		capture_remove_tree(dir);
	}
	free(dir);
	cmd_live_names_fini(&names);
	cmd_urls_free(urls, config.url_count);
	return status;
}

/* ---- recorded ---- */

static int browse(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct err err;

	(void)signal(SIGINT, SIG_DFL); /* ncurses installs its handlers only over the default */
	(void)signal(SIGTERM, SIG_DFL);
	if (screen_open(&err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	(void)view_key(view, VIEW_KEY_HOME); /* a recorded trace is shown from its start */
	do {
		const char *host, *session;

		if (view_asks_jobs(view, &host, &session)) {
			view_show_jobs(view, "Of a recorded trace, this finds its jobs: sillage "
					     "report --discover TRACE\n");
		}
		screen_draw(view);
	} while ((poll(&input, 1, -1) >= 0 || errno == EINTR) && screen_keys(view));
	screen_close();
	return EXIT_DONE;
}

static int look(const struct options *options, struct output *output)
{
	struct options windows = *options;
	int status;

	windows.has_interval = windows.phases = true;
	status = analyze_into(&windows, output);
	view_waits_for(view, "there is no window in these traces");
	return status == EXIT_DONE ? browse() : status;
}

static bool is_url(const char *text)
{
	return strncmp(text, "net", 3) == 0 && strstr(text, "://");
}

static int run(const struct options *options)
{
	struct output output = { .sink = &sink_screen,
				 .interval_ns = options->interval_ns,
				 .top = VIEW_ROWS_MAX,
				 .shows_phases = true,
				 .analyses = options->analyses };
	struct err err;
	int status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		say("top needs a terminal; `live` and `analyze` do not");
		return EXIT_FAILED;
	}
	if (output_open(&output, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	view = view_new();
	status = is_url(options->args[0]) ? follow(options, &output) : look(options, &output);
	view_free(view);
	(void)output_close(&output, &err);
	return status;
}

const struct command cmd_top = {
	.name = "top",
	.args = "URL...|TRACE...",
	.summary = "the same on the whole screen: sort, filter, step through windows",
	.examples = "  sillage top net://localhost\n"
		    "  sillage top --history 10s net://localhost      and press j\n"
		    "  sillage top -i 100ms ~/lttng-traces/prod-20260101-120000\n",
	.options = FOR_TOP,
	.args_min = 1,
	.run = run,
};
