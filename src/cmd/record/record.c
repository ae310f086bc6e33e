/*
 * record: this host's kernel, by its own tracer, as a trace.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/child.h"
#include "base/process/service.h"
#include "base/shell.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/record/record-check.h"
#include "cmd/record/record-dir.h"
#include "cmd/record/record-events.h"
#include "cmd/record/record-relay.h"
#include "cmd/record/record.h"
#include "run/say.h"

#define PACKET_BYTES (256 << 10)
#define TIMER_NS     (500 * NS_PER_MS) /* a window is shown within a second of its end */

struct recording {
	unsigned int snapshots;
	const struct options *options;
	char *path; /* of the directory */
	struct recorder *recorder;
	struct record_dir *dir;
	struct url url; /* of --to */
	struct record_relay *relay;
	bool is_bounded; /* the relay keeps only what is new */
	int ready;       /* gets a byte once it records; -1: nobody waits */
	pid_t command;   /* 0: there is none, or it has ended */
	int command_status;
};

static volatile sig_atomic_t wants_snapshot;

static void on_snapshot_signal(int number)
{
	wants_snapshot = true;
}

/* ---- the command ---- */

static int start_command(struct recording *recording, struct err *err)
{
	const char **words = recording->options->args;

	if (!words[0]) {
		return 0;
	}
	recording->command = fork();
	if (recording->command == 0) {
		run_end_on_signals();
		(void)execvp(words[0], (char *const *)words);
		say("%s: %s", words[0], strerror(errno));
		_exit(127);
	}
	if (recording->command < 0) {
		recording->command = 0;
		return err_raise(err, -errno, "fork: %s", strerror(errno));
	}
	return 0;
}

static bool command_is_over(struct recording *recording)
{
	int status;

	if (!recording->options->args[0]) {
		return false;
	}
	if (recording->command > 0 && child_has_ended(recording->command, &status)) {
		recording->command = 0;
		recording->command_status =
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return recording->command == 0;
}

/* After a signal that only we got, or the duration.  The trace is whole by then: while this waits
 * nobody reads the kernel's buffers. */
static void end_command(struct recording *recording)
{
	int status;

	if (recording->command > 0) {
		(void)kill(recording->command, SIGTERM);
		if (!child_wait(recording->command, LATE_NS, CHILD_LASTS, &status)) {
			child_kill(recording->command, false);
		}
		recording->command = 0;
	}
}

/* ---- what is said ---- */

/* Their sum is what readers of the trace count. */
static char *counted_text(const struct convert_account *trace)
{
	return mem_printf("%" PRIu64 " events of the kernel, %" PRIu64
			  " of the state dump and derived",
			  trace->written, trace->own + trace->derived);
}

static void say_losses(const struct recording *recording, const struct recorder_account *account)
{
	const struct options *options = recording->options;
	const char *odd = recorder_odd(recording->recorder);
	uint64_t lost = account->trace.lost;
	uint64_t all = account->trace.read + account->missed;

	if (lost > 0) {
		say("%" PRIu64 " of %" PRIu64
		    " events are lost: the buffers were full; try --buffer %" PRIu64 "K",
		    lost, all, options->buffer_bytes * 4 / 1024);
	}
	if (account->trace.derived > 0 && options->selection.pids.count == 0) {
		say("%" PRIu64 " switches are derived: this kernel withholds those of its idle "
		    "threads, and their times are those of the next event",
		    account->trace.derived);
	}
	if (account->trace.bad_pages > 0) {
		say("%" PRIu64 " sub-buffers could not be read to their end",
		    account->trace.bad_pages);
	}
	if (odd) {
		say("%s", odd);
	}
}

/* Switches between other threads are not there, so times of these, and of CPUs, mean nothing. */
static void say_next(const struct options *options, const char *word)
{
	char *list = NULL;
	size_t size;
	FILE *out;

	if (options->selection.pids.count == 0) {
		say("next: sillage report %s", word);
		return;
	}
	out = open_memstream(&list, &size);
	for (size_t i = 0; i < options->selection.pids.count; i++) {
		(void)fprintf(out, "%s%" PRId64, i > 0 ? "," : "", options->selection.pids.at[i]);
	}
	(void)fclose(out);
	say("only what these threads did is known; next: sillage analyze --tid %s %s", list, word);
	free(list);
}

static void say_end(const struct recording *recording)
{
	struct recorder_account account;
	char *word = shell_word(recording->path), *events;

	recorder_account(recording->recorder, &account);
	events = counted_text(&account.trace);
	say("%" PRIu64 ".%" PRIu64 " s of this host are in %s: %s, %" PRIu64 " lost, %" PRIu64
	    " MiB",
	    account.ns / NS_PER_S, account.ns % NS_PER_S / (NS_PER_S / 10), recording->path, events,
	    account.trace.lost, (record_dir_bytes(recording->dir) + (1 << 20) - 1) >> 20);
	free(events);
	say_losses(recording, &account);
	if (recording->options->verbosity > 0) {
		say("the kernel: %" PRIu64 " read, %" PRIu64 " left, %" PRIu64 " overrun, %" PRIu64
		    " commit overrun, %" PRIu64 " dropped; the trace: %" PRIu64 " read, %" PRIu64
		    " written, %" PRIu64 " of no use, %" PRIu64 " missed, %" PRIu64 " of the dump",
		    account.kernel.read, account.kernel.entries, account.kernel.overrun,
		    account.kernel.commit_overrun, account.kernel.dropped, account.trace.read,
		    account.trace.written, account.trace.unwanted, account.missed,
		    account.trace.own);
	}
	say_next(recording->options, word);
	free(word);
}

/* ---- a run ---- */

static char *usual_path(void)
{
	time_t now = (time_t)(now_wall_ns() / NS_PER_S);
	char text[64];
	struct tm tm;

	(void)strftime(text, sizeof(text), "recording-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	return mem_strdup(text);
}

static void repair(const void *user)
{
	record_dir_repair(user);
}

static const char *session_of(const struct recording *recording)
{
	return recording->url.session ? recording->url.session : "kernel";
}

static uint64_t record_timer(const struct options *options)
{
	return options->has_live_timer ? options->live_timer_ns : TIMER_NS;
}

static void say_begin(const struct recording *recording)
{
	const struct options *options = recording->options;

	if (options->to) {
		say("recording this host into %s, session %s%s", options->to, session_of(recording),
		    options->duration_ns > 0 ? "" : "; ^C ends it");
	} else if (options->overwrite) {
		char bytes[UNITS_TEXT_MAX];

		say("the last %s of each CPU stay in memory: kill -USR1 %d writes them to "
		    "%s/snapshot-N, and so does the end",
		    units_bytes(bytes, options->buffer_bytes), (int)getpid(), recording->path);
	} else {
		say("recording this host into %s%s", recording->path,
		    options->duration_ns > 0 ? "" : "; ^C ends it");
	}
}

/* ---- snapshots ---- */

/* What the buffers have, in a directory of its own. */
static int take_snapshot(struct recording *recording, struct err *err)
{
	struct convert_sink sink = { .metadata = record_dir_metadata, .packet = record_dir_packet };
	char *path = mem_printf("%s/" RECORD_DIR_SNAPSHOT "%u", recording->path,
				++recording->snapshots),
	     *word, *events;
	struct recorder_account account;
	struct record_dir *dir = NULL;
	int r = record_dir_make(path, err);

	r = r < 0 ? r : record_dir_new(path, &dir, err);
	sink.user = dir;
	r = r < 0 ? r : recorder_snapshot(recording->recorder, &sink, &account, err);
	if (r == 0 && recording->options->verbosity >= 0) {
		word = shell_word(path);
		events = counted_text(&account.trace);
		say("%s are in %s; next: sillage report %s", events, path, word);
		free(events);
		free(word);
	}
	record_dir_free(dir);
	free(path);
	return r;
}

/* ---- into a relay ---- */

static int open_relay(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	char host[HOST_NAME_MAX + 1] = "localhost";
	const struct record_relay_config config = {
		.relay = &recording->url,
		.session = session_of(recording),
		.host = recording->url.target ? recording->url.target : host,
		.live_timer_ns = record_timer(options),
		.uuid = recorder_uuid(recording->recorder),
		.cpus = instance_cpus(recorder_instance(recording->recorder)),
		.is_bounded = recording->is_bounded,
	};

	(void)gethostname(host, sizeof(host) - 1);
	return record_relay_new(&config, &recording->relay, err);
}

static int relay_metadata(void *user, const char *text, size_t len, struct err *err)
{
	return record_relay_metadata(((struct recording *)user)->relay, text, len, err);
}

static int relay_packet(void *user, const struct convert_packet *packet, struct err *err)
{
	return record_relay_packet(((struct recording *)user)->relay, packet, err);
}

static int relay_beacons(void *user, uint64_t until, struct err *err)
{
	return record_relay_beacons(((struct recording *)user)->relay, until, err);
}

/* How many CPUs there are, a relay is told at the begin. */
static int begin_to_relay(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	const struct recorder_config config = {
		.instance = { .buffer_bytes = options->buffer_bytes,
			      .pids = options->selection.pids.at,
			      .pid_count = options->selection.pids.count },
		.packet_bytes = PACKET_BYTES,
		.flush_ns = record_timer(options),
		.sink = { .metadata = relay_metadata, .packet = relay_packet, .user = recording },
		.flushed = relay_beacons,
	};
	int r = recorder_new(&config, &recording->recorder, err);

	r = r < 0 ? r : record_events_enable(recording->recorder, options, err);
	r = r < 0 ? r : open_relay(recording, err);
	r = r < 0 ? r : recorder_start(recording->recorder, err);
	return r < 0 ? r : start_command(recording, err);
}

/* Each event that was taken from the kernel is at the relay, or is told here. */
static void say_relay_end(const struct recording *recording)
{
	const struct record_relay_account to = record_relay_account(recording->relay);
	struct recorder_account account;
	char bytes[UNITS_TEXT_MAX];
	uint64_t missed = to.given - to.taken;

	recorder_account(recording->recorder, &account);
	if (recording->options->verbosity >= 0) {
		say("the relay has %" PRIu64 " events of %" PRIu64 ".%" PRIu64 " s: %" PRIu64
		    " packets, %s; %" PRIu64 " lost",
		    to.taken, account.ns / NS_PER_S, account.ns % NS_PER_S / (NS_PER_S / 10),
		    to.packets, units_bytes(bytes, to.bytes), account.trace.lost + missed);
	}
	if (missed > 0) {
		say("%" PRIu64 " of them were not sent, or it has not confirmed them", missed);
	}
	say_losses(recording, &account);
}

static int dir_metadata(void *user, const char *text, size_t len, struct err *err)
{
	return record_dir_metadata(((struct recording *)user)->dir, text, len, err);
}

static int dir_packet(void *user, const struct convert_packet *packet, struct err *err)
{
	return record_dir_packet(((struct recording *)user)->dir, packet, err);
}

/* The directory is ours before there is a guardian, which mends what is in it. */
static int begin_in_dir(struct recording *recording, struct err *err)
{
	const struct options *options = recording->options;
	const struct recorder_config config = {
		.instance = { .buffer_bytes = options->buffer_bytes,
			      .pids = options->selection.pids.at,
			      .pid_count = options->selection.pids.count,
			      .at_end = repair,
			      .at_end_user = recording->path },
		.packet_bytes = PACKET_BYTES,
		.flush_ns = NS_PER_S,
		.sink = { .metadata = dir_metadata, .packet = dir_packet, .user = recording },
	};
	int r = recorder_new(&config, &recording->recorder, err);

	r = r < 0 ? r : record_events_enable(recording->recorder, options, err);
	r = r < 0 || options->overwrite ? r : record_dir_new(recording->path, &recording->dir, err);
	r = r < 0                ? r
	    : options->overwrite ? recorder_hold(recording->recorder, err)
				 : recorder_start(recording->recorder, err);
	return r < 0 ? r : start_command(recording, err);
}

/* A try that fails before anything was recorded leaves no directory. */
static int begin_recording(struct recording *recording, struct err *err)
{
	int made = record_dir_make(recording->path, err);
	int r = made < 0 ? made : begin_in_dir(recording, err);

	if (r < 0 && made > 0) {
		(void)rmdir(recording->path);
	}
	return r;
}

static int step(struct recording *recording, struct err *err)
{
	if (!recording->options->overwrite) {
		return recorder_step(recording->recorder, err);
	}
	if (wants_snapshot) {
		wants_snapshot = false;
		return take_snapshot(recording, err);
	}
	(void)poll(NULL, 0, WAIT_POLL_MS);
	return 0;
}

static int record_on(struct recording *recording, struct err *err)
{
	uint64_t limit = recording->options->duration_ns, begin = now_monotonic_ns();
	int r = 0;

	while (r == 0 && !run_stop && !command_is_over(recording) &&
	       (limit == 0 || now_monotonic_ns() - begin < limit)) {
		r = step(recording, err);
	}
	return r;
}

static int end_recording(struct recording *recording, struct err *err)
{
	int r;

	if (recording->options->overwrite) {
		return take_snapshot(recording, err);
	}
	r = recorder_stop(recording->recorder, err);
	return r == 0 && recording->relay ? record_relay_close(recording->relay, err) : r;
}

static void say_ready(const struct recording *recording)
{
	const char byte = 0;

	service_notify("READY=1");
	if (recording->ready >= 0) {
		(void)!write(recording->ready, &byte, 1);
		(void)close(recording->ready);
	}
}

static int record(struct recording *recording)
{
	struct err err, second;
	int r = recording->options->to ? begin_to_relay(recording, &err)
				       : begin_recording(recording, &err);
	int stopped;

	if (r < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	if (recording->options->verbosity >= 0 && !recording->options->args[0]) {
		say_begin(recording);
	}
	say_ready(recording);
	r = record_on(recording, &err);
	stopped = end_recording(recording, r < 0 ? &second : &err);
	end_command(recording);
	if (r < 0 || stopped < 0) {
		say("%s", err.text);
	}
	if (recording->relay) {
		say_relay_end(recording);
	}
	if (r < 0 || stopped < 0) {
		return EXIT_FAILED;
	}
	if (recording->options->verbosity >= 0 && !recording->options->overwrite &&
	    !recording->relay) {
		say_end(recording);
	}
	return recording->command_status;
}

static int check_to(const struct options *options, struct url *url, struct err *err)
{
	if (!options->to) {
		return options->session || options->host || options->has_live_timer
			       ? err_raise(err, -EINVAL,
					   "--session, --hostname and --live-timer have no effect "
					   "without --to")
			       : 0;
	}
	if (options->output || options->overwrite) {
		return err_raise(err, -EINVAL, "--to has no effect with %s",
				 options->output ? "-o: a recording goes to one place"
						 : "--overwrite, which writes files");
	}
	return url_parse_to(options->to, options->session, options->host, url, err);
}

static int run_recording(struct recording *recording)
{
	int status;

	run_stop_on_signals();
	(void)signal(SIGUSR1, on_snapshot_signal);
	(void)signal(SIGUSR2, on_snapshot_signal); /* as `live` takes a capture */
	status = record(recording);
	recorder_free(recording->recorder);
	record_dir_free(recording->dir);
	record_relay_free(recording->relay);
	url_fini(&recording->url);
	free(recording->path);
	return status;
}

static int run(const struct options *options)
{
	struct recording recording = { .options = options, .ready = -1 };
	struct err err;
	int status;

	assert(options->buffer_bytes > 0);
	if (check_to(options, &recording.url, &err) < 0) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	status = record_check(options, &err);
	if (status != 0) {
		say("%s", err.text);
		url_fini(&recording.url);
		return status;
	}
	recording.path = options->output ? mem_strdup(options->output) : usual_path();
	return run_recording(&recording);
}

int record_into(const struct options *given, const char *relay, const char *session, int ready)
{
	static const char *const no_command[] = { NULL };
	struct options options = *given;
	struct recording recording = { .options = &options, .is_bounded = true, .ready = ready };
	struct err err;

	options.to = relay;
	options.args = (const char **)no_command;
	options.has_analyses = options.has_live_timer = true;
	options.duration_ns = 0; /* it ends with who watches */
	options.verbosity = -1;
	/* Rows are selected by who looks. */
	options.selection.pids.count = 0;
	if (url_parse_to(relay, session, NULL, &recording.url, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	return run_recording(&recording);
}

const struct command cmd_record = {
	.name = "record",
	.args = "[-- COMMAND]",
	.summary = "record this host with the kernel's own tracer",
	.examples = "  sudo sillage record --duration 10s\n"
		    "  sudo sillage record -a cpu,sched,io -o before -- make -j4\n"
		    "  sudo sillage record --event 'sched:*' --event uprobes:begin\n"
		    "  sudo sillage record -a cpu,sched --to net://localhost\n",
	.options = FOR_RECORD,
	.run = run,
};
