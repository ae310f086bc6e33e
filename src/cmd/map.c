/*
 * map: runs the worker half of an analysis and writes its partials to a file.  `sillage merge`
 * reads them, here or on another machine.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "base/process/foreign.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "engine/engine.h"
#include "engine/exchange/partial-file.h"
#include "engine/trace.h"
#include "output/sink.h"
#include "recorded/recorded.h"
#include "run/check-names.h"
#include "run/run.h"
#include "run/say.h"

struct map_run {
	const struct options *options;
	struct engine_config config;
	struct partial_writer *out;
	const struct recorded_path *found;
	const char *path;
	struct recorded_session session; /* of the current trace */
	bool has_begun;                  /* the current trace has a header in the file */
	bool is_cut;                     /* a signal left packets unread */
	struct err err;
};

static int on_trace(void *user, struct trace *trace, struct err *err)
{
	struct map_run *m = user;
	struct trace_identity identity = { 0 };
	struct partial_file_trace begun = { .range_begin = m->config.range_begin,
					    .range_end = m->config.range_end };

	assert(!m->has_begun); /* one trace at a time is open in the file */
	run_identify(&identity, trace_plan(trace)->metadata, m->found);
	begun.host = identity.host;
	begun.session = identity.session;
	begun.domain = identity.domain;
	begun.path = identity.path;
	begun.tracer = (char *)metadata_other_tracer(trace_plan(trace)->metadata);
	begun.beside = beside_text(&m->session.beside);
	partial_writer_trace(m->out, &begun);
	free(begun.beside);
	m->has_begun = true;
	output_trace_fini(&identity);
	return 0;
}

/* Nothing is merged here, so the report is empty. */
static void on_report(void *user, const struct report *report)
{
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct map_run *m = user;

	if (m->options->verbosity >= 0) {
		say("%s: %s", m->path, warning->message);
	}
	if (m->has_begun) {
		partial_writer_warning(m->out, warning);
	}
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
	struct map_run *m = user;

	if (partial_writer_check(m->out, &m->err) < 0) {
		run_stop = true; /* the disk is full, for example; map_into() reports it */
	}
}

/* Says what is wrong with a trace, also in the file. */
static void note(struct map_run *m, const char *text)
{
	struct engine_warning warning = { .what = "trace", .packet = -1 };

	say("%s", text);
	if (m->has_begun) {
		(void)snprintf(warning.message, sizeof(warning.message), "%s", text);
		partial_writer_warning(m->out, &warning);
	}
}

/* The file goes on with the next trace. */
static void note_failure(struct map_run *m)
{
	note(m, m->err.text);
	if (m->has_begun) {
		m->config.exporter->finish(m->out, 0);
	}
}

static void on_stop(void *user)
{
	struct map_run *m = user;
	struct err err;

	if (run_signal_status() != 0) {
		(void)err_raise(&err, -EINTR, "%s: interrupted; the rest of it is missing",
				m->path);
		note(m, err.text);
		m->is_cut = true;
	}
}

/* Whether the trace has nothing in the range, which is an error. */
static bool misses_range(const struct map_run *m)
{
	bool has_range = m->config.range_begin > 0 || m->config.range_end < UINT64_MAX;

	assert(m->out);
	return has_range && !m->is_cut && !partial_writer_reaches_range(m->out);
}

static int map_one(struct map_run *m, const struct recorded_path *path)
{
	struct recorded_run run = {
		.user = m,
		.chunk_bytes = m->config.chunk_bytes,
		.progress = on_progress,
		.stop = &run_stop,
		.on_stop = on_stop,
		.session = &m->session,
		.on_trace = on_trace,
	};
	int r = run_range(m->options, path, &m->config.range_begin, &m->config.range_end, &m->err);

	assert(m->out);
	m->found = path;
	m->path = path->name;
	m->has_begun = false;
	if (r == 0) {
		run.engine = engine_new(&m->config);
		run.range_end = m->config.range_end;
		r = recorded_analyze(path, &run, &m->err);
		engine_free(run.engine);
	}
	if (r == 0 && now_has_left && !m->is_cut) { /* workers did not read all that they had */
		say("%s: interrupted in the middle of a packet", m->path);
		m->is_cut = true;
	}
	if (r < 0) {
		note_failure(m);
	} else if (misses_range(m)) { /* merge finds that, too */
		r = err_raise(&m->err, -ERANGE, "%s: nothing of it is in this range", m->path);
		say("%s", m->err.text);
	}
	return r;
}

static int map_all(struct map_run *m)
{
	struct recorded_paths paths = { 0 };
	int status = EXIT_DONE, r;

	for (size_t i = 0; m->options->args[i]; i++) {
		if (recorded_find(m->options->args[i], &paths, &m->err) < 0) {
			say("%s", m->err.text);
			status = EXIT_FAILED;
		}
	}
	r = run_check_names(m->options, NULL, &paths, NULL, &m->err);
	if (r < 0) {
		say("%s", m->err.text);
		recorded_paths_fini(&paths);
		return r == -EINTR ? run_signal_status() : EXIT_FAILED;
	}
	m->session.given = &paths;
	for (size_t i = 0; i < paths.at.count; i++) {
		if (run_signal_status() != 0) {
			say("%s: interrupted before it was read", paths.at.at[i].name);
			m->is_cut = true;
		} else if (run_stop) {
			break; /* the output cannot be written */
		} else {
			r = map_one(m, &paths.at.at[i]);
			status = r < 0 ? EXIT_FAILED : status;
			m->is_cut |= r == -EINTR;
		}
	}
	recorded_paths_fini(&paths);
	return m->is_cut ? run_signal_status() : status;
}

static void fill_config(struct map_run *m)
{
	const struct options *options = m->options;

	memcpy(m->config.analyses, options->analyses, sizeof(m->config.analyses));
	run_fill_intervals(options, NULL, &m->config);
	m->config.wants_windows = options->has_interval;
	m->config.periods = &options->periods;
	m->config.jobs = (unsigned int)options->jobs;
	m->config.chunk_bytes = options->chunk_bytes;
	m->config.max_memory = options->max_memory;
	m->config.on_report = on_report;
	m->config.on_warning = on_warning;
}

static struct partial_writer *begin_file(const struct map_run *m, FILE *file)
{
	struct partial_file_setup setup;
	struct partial_writer *out;

	run_partial_file_setup(m->options, &m->config, &setup);
	out = partial_writer_new(file, &setup);
	partial_file_setup_fini(&setup);
	return out;
}

static void say_account(const struct map_run *m)
{
	char text[UNITS_TEXT_MAX];
	struct merger_account account;

	assert(m->out);
	partial_writer_account(m->out, &account);
	say("%" PRIu64 " events in %" PRIu64 " packets (%s)", account.events, account.packets,
	    units_bytes(text, account.bytes));
}

static int map_into(const struct options *options, FILE *file)
{
	struct map_run m = { .options = options };
	int status;

	fill_config(&m);
	m.out = begin_file(&m, file);
	m.config.exporter = partial_writer_export(m.out);
	run_stop_on_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	status = map_all(&m);
	partial_writer_last(m.out);
	if (partial_writer_check(m.out, &m.err) < 0) {
		say("cannot write to %s: %s", options->output ? options->output : "standard output",
		    m.err.text);
		status = EXIT_FAILED;
	} else if (options->verbosity > 0) {
		say_account(&m);
	}
	partial_writer_free(m.out);
	recorded_session_fini(&m.session);
	return status;
}

static int run(const struct options *options)
{
	FILE *file;
	struct err err;
	uint64_t begin, end;
	int status;

	if (run_range(options, NULL, &begin, &end, &err) < 0) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	if (!options->output && isatty(STDOUT_FILENO)) {
		say("map writes binary data: use -o FILE or a pipe, not a terminal");
		return EXIT_USAGE;
	}
	if (foreign_writer(options->output, &file, &err) < 0) {
		say("cannot write to %s", err.text);
		return run_signal_status() ? run_signal_status() : EXIT_FAILED;
	}
	status = map_into(options, file);
	if (fclose(file) != 0 && status == EXIT_DONE) {
		say("cannot write to %s: %s", options->output ? options->output : "standard output",
		    strerror(errno));
		status = EXIT_FAILED;
	}
	return status;
}

const struct command cmd_map = {
	.name = "map",
	.args = "TRACE...",
	.summary = "the workers' half of analyze, for merge",
	.examples = "  sillage map -a all -o trace.partials TRACE\n"
		    "  ssh host sillage map -i 1s TRACE | sillage merge -f json -\n",
	.options = FOR_MAP,
	.args_min = 1,
	.run = run,
};
