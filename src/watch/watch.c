/*
 * watch: see watch.h.
 */
#include "watch/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/child.h"
#include "base/process/guardian.h"
#include "base/process/thread.h"
#include "setup/commands.h"
#include "setup/missing.h"
#include "setup/runner.h"
#include "watch/daemons.h"
#include "watch/helper.h"
#include "watch/place.h"

struct watch {
	const struct watch_config *config;
	struct place place;
	struct guardian *guardian;
	pid_t relay, recorder; /* -1: none */
	char *url;
};

static bool records_by_ftrace(const struct watch *watch)
{
	return watch->config->kernel == KERNEL_BY_FTRACE &&
	       wanted_has_kernel(watch->config->wanted);
}

/* Starts a session daemon if none answers. */
static int need_daemon(const struct watch *watch, struct err *err)
{
	char *pidfile;
	int r = runner_run((const char *const[]){ "lttng", "--no-sessiond", "list", NULL }, err);

	if (r != -ECHILD) {
		return r;
	}
	pidfile = place_daemon_pidfile(&watch->place);
	r = runner_run((const char *const[]){ "lttng-sessiond", "--daemonize", "--pidfile", pidfile,
					      NULL },
		       err);
	free(pidfile);
	if (r < 0) {
		return err_note(err, r,
				"no session daemon answers (`sudo systemctl start "
				"lttng-sessiond`), and none can be started");
	}
	if (watch->config->verbosity > 0) {
		watch->config->say("no session daemon ran; started one, which ends with the last "
				   "session");
	}
	return 0;
}

static void clear(const void *dir)
{
	place_clear(dir);
}

static int run_commands(const struct watch *watch, const char *relay, struct err *err)
{
	const struct watch_config *config = watch->config;
	struct commands_config commands = { .session = place_session(&watch->place),
					    .relay = relay,
					    .live_timer_ns = config->live_timer_ns,
					    .is_bounded = true };
	bool has_other = config->wanted->user.at.count > 0;
	struct err no_kernel = { .text = "" };
	const struct runner_config running = { .session = commands.session,
					       .out = config->verbosity > 0 ? stderr : NULL,
					       .no_kernel = has_other ? &no_kernel : NULL,
					       .say = config->say };
	struct command_lines lines = { 0 };
	int r;

	commands_usual_sizes(&commands, config->wanted);
	commands_make(&lines, config->wanted, &commands);
	r = runner_run_all(&lines, &running, err);
	if (r == -ECHILD) {
		missing_kernel(err);
	}
	if (r == 0 && no_kernel.text[0]) {
		missing_kernel(&no_kernel);
		config->say("only user space is recorded: %s", no_kernel.text);
	}
	commands_fini(&lines);
	return r;
}

static int begin_recorder(struct watch *watch, const char *relay, struct err *err)
{
	char *log = mem_printf("%s/record.log", watch->place.dir);
	const struct helper_config config = { .work = watch->config->record,
					      .user = watch->config->record_user,
					      .relay = relay,
					      .session = place_session(&watch->place),
					      .log = log };
	int r = helper_start(&config, &watch->recorder, err);

	free(log);
	return r;
}

/* Events of programs, beside a kernel that is recorded. */
static int record_programs(struct watch *watch, const char *relay, struct err *err)
{
	int r;

	wanted_drop_kernel(watch->config->wanted);
	if (watch->config->wanted->user.at.count == 0) {
		return 0;
	}
	r = need_daemon(watch, err);
	r = r < 0 ? r : run_commands(watch, relay, err);
	if (r < 0 && r != -EINTR) {
		watch->config->say("only the kernel is recorded: %s", err->text);
		return 0;
	}
	return r;
}

/* What LTTng records, and what ftrace does, are two sessions of one name at the relay. */
static int record_all(struct watch *watch, const struct relay_ports *ports, struct err *err)
{
	char *relay = mem_printf("net://127.0.0.1:%u:%u", ports->control, ports->data);
	int r;

	if (records_by_ftrace(watch)) {
		r = begin_recorder(watch, relay, err);
		r = r < 0 ? r : record_programs(watch, relay, err);
	} else {
		r = run_commands(watch, relay, err);
	}
	free(relay);
	return r;
}

/* The base is locked. */
static int begin(struct watch *watch, struct err *err)
{
	char host[HOST_NAME_MAX + 1] = "";
	struct relay_ports ports;
	int r;

	place_sweep(&watch->place, watch->config->say);
	r = records_by_ftrace(watch) ? 0 : need_daemon(watch, err);
	r = r < 0 ? r : place_make(&watch->place, NULL, err);
	if (r < 0) {
		return r;
	}
	watch->guardian = guardian_new(clear, watch->place.dir, watch->place.lock, err);
	if (!watch->guardian) {
		return -EIO;
	}
	r = daemons_start_relay(watch->place.dir, &ports, &watch->relay, err);
	r = r < 0 ? r : record_all(watch, &ports, err);
	(void)gethostname(host, sizeof(host) - 1);
	watch->url = mem_printf("net://127.0.0.1:%u/host/%s/%s", ports.live, host,
				place_session(&watch->place));
	return r;
}

struct watch *watch_new(const struct watch_config *config, struct err *err)
{
	struct watch *watch = mem_alloc(sizeof(*watch));
	int r;

	watch->config = config;
	watch->relay = watch->recorder = -1;
	r = place_begin(&watch->place, err);
	r = r < 0 ? r : begin(watch, err);
	if (watch->guardian) {
		place_unlock(&watch->place); /* which the guardian needs */
	}
	if (r < 0) {
		watch_free(watch);
		return NULL;
	}
	return watch;
}

const char *watch_url(const struct watch *watch)
{
	return watch->url;
}

void watch_free(struct watch *watch)
{
	struct thread_last last = { .doing = "the session and the relay of this run" };

	if (!watch) {
		return;
	}
	last.say = watch->config->say;
	helper_end(watch->recorder, watch->config->say);
	guardian_free(watch->guardian, &last);
	if (watch->relay >= 0) {
		(void)child_has_ended(watch->relay, NULL);
	}
	place_fini(&watch->place);
	free(watch->url);
	free(watch);
}
