/*
 * top: windows of live sessions, of recorded traces, or of a store (src/browse), on the full
 * screen.
 *
 * Live windows are drawn as they come.  Recorded traces are analysed first, then shown.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/process/remove.h"
#include "browse/browse.h"
#include "capture/capture-write.h"
#include "cmd/analyze.h"
#include "cmd/found/found.h"
#include "cmd/live.h"
#include "cmd/top/top.h"
#include "engine/engine.h"
#include "live/loop.h"
#include "output/notice.h"
#include "output/screen/screen.h"
#include "run/say.h"

static struct view *view; /* global, since callbacks like say() have no user pointer */

static void say_on_screen(const char *line)
{
	assert(view);
	view_say(view, line);
	view_waits_for(view, line);
	screen_draw(view);
}

/* ---- the sink ---- */

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	if (view_add(view, trace, report)) {
		screen_draw(view);
	}
}

static void on_warning(struct output *output, const struct trace_identity *trace,
		       const struct engine_warning *warning)
{
	view_say(view, warning->message);
	screen_draw(view);
}

static void on_trigger(struct output *output, const struct trace_identity *trace,
		       const struct trigger_event *event)
{
	char says[400];

	notice_trigger_text(event, says, sizeof(says));
	say("trigger %s: %s", event->name, says);
}

static const struct sink sink_screen = {
	.name = "screen",
	.report = on_report,
	.warning = on_warning,
	.trigger = on_trigger,
};

static struct output output_of(const struct options *options)
{
	return (struct output){ .sink = &sink_screen,
				.interval_ns = options->interval_ns,
				.top = VIEW_ROWS_MAX,
				.shows_phases = true,
				.analyses = options->analyses,
				.display = &options->display };
}

/* ---- live ---- */

/* Finding jobs: the history of the session is captured into a directory of its own, in which the
 * thread that writes captures looks for them. */
static atomic_bool is_leaving;

static void on_written(void *user, struct capture_order *order)
{
	if (order->path) {
		order->found = found_in_capture(order->path, &is_leaving);
		remove_tree(order->path);
	}
}

static void on_captured(void *user, const struct capture_order *order)
{
	assert(view);
	view_show_jobs(view, order->found ? order->found : order->err.text);
	screen_draw(view);
}

static void find_jobs(struct loop *loop, bool has_history)
{
	const char *host, *session;

	assert(view);
	if (!view_asks_jobs(view, &host, &session)) {
		return;
	}
	if (!has_history) {
		view_show_jobs(view, "Jobs are found in the last packets of a session, which are "
				     "not kept:\nbegin with `top --history 10s URL`, for "
				     "example.\n");
	} else if (!loop_capture(loop, host, session)) {
		view_show_jobs(view, "Jobs are found in kernel traces of sessions that go on.\n");
	}
}

/* @user: the directory of captures in which jobs are looked for; NULL: there is none. */
static bool on_input(void *user, struct loop *loop)
{
	bool goes_on = screen_keys(view);

	if (goes_on) {
		find_jobs(loop, user != NULL);
		screen_draw(view);
	}
	atomic_store(&is_leaving, !goes_on);
	return goes_on;
}

static int take_screen(struct err *err)
{
	int r = screen_open(err);

	if (r == 0) {
		say_to(say_on_screen);
		screen_draw(view);
	}
	return r;
}

static void leave_screen(void)
{
	say_to(NULL);
	screen_close();
}

static int follow(const struct options *options, const char **args, const char *note,
		  const char *dir)
{
	struct options phased = *options;
	struct output output = output_of(options);
	const struct live_screen screen = {
		.output = &output,
		.open = take_screen,
		.close = leave_screen,
		.on_input = on_input,
		.user = (void *)dir,
		.dir = dir,
		.on_written = on_written,
		.on_captured = on_captured,
	};
	int status;

	phased.phases = true;
	view = view_new();
	view_waits_for(view, "waiting for the first window ...");
	if (*note) {
		view_say(view, note);
	}
	status = live_follow(&phased, args, &screen);
	view_free(view);
	return status;
}

int top_follow(const struct options *options, const char **args, const char *note)
{
	return follow(options, args, note, NULL);
}

/* With a directory for the captures in which jobs are looked for. */
static int follow_alone(const struct options *options)
{
	const char *parent = getenv("TMPDIR");
	char *dir = mem_printf("%s/sillage-top-XXXXXX", parent ? parent : "/tmp");
	int status = EXIT_FAILED;

	if (!options->has_history) {
		status = follow(options, options->args, "", NULL);
	} else if (!mkdtemp(dir)) {
		say("%s: %s", dir, strerror(errno));
	} else {
		status = follow(options, options->args, "", dir);
		remove_tree(dir);
	}
	free(dir);
	return status;
}

bool top_has_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
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

static int look(const struct options *options)
{
	struct options windows = *options;
	struct output output = output_of(options);
	struct err err;
	int status;

	if (output_open(&output, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	windows.has_interval = windows.phases = true;
	view = view_new();
	status = analyze_into(&windows, &output);
	view_waits_for(view, "there is no window in these traces");
	status = status == EXIT_DONE ? browse() : status;
	view_free(view);
	(void)output_close(&output, &err);
	return status;
}

static bool is_url(const char *text)
{
	return strncmp(text, "net", 3) == 0 && strstr(text, "://");
}

static int run(const struct options *options)
{
	bool is_store = browse_is_store(options->args[0]);
	struct options asked = *options;
	struct err err;

	if (browse_check(options, &err) < 0 ||
	    (!is_store && options_choose_asked(&asked, false, &err) < 0)) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	if (!top_has_terminal()) {
		for (size_t i = 0; options->args[i]; i++) { /* what is wrong anywhere */
			if (!strchr(options->args[i], ':') && access(options->args[i], F_OK) < 0) {
				say("%s: %s", options->args[i], strerror(errno));
			}
		}
		say("top needs a terminal; `live` and `analyze` do not");
		return EXIT_FAILED;
	}
	return is_store                   ? browse_store(options)
	       : is_url(options->args[0]) ? follow_alone(&asked)
					  : look(&asked);
}

const struct command cmd_top = {
	.name = "top",
	.args = "[URL...|TRACE...|STORE]",
	.summary = "the same on the whole screen: sort, filter, step through windows",
	.examples = "  sudo sillage top                               this host\n"
		    "  sillage top net://localhost\n"
		    "  sillage top --host 'web*' fleet.db\n"
		    "  sillage top --history 10s net://localhost      and press j\n"
		    "  sillage top -i 100ms ~/lttng-traces/prod-20260101-120000\n",
	.options = FOR_TOP,
	.alone = &cmd_watch,
	.run = run,
};
