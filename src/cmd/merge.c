/*
 * merge: the merger half of an analysis, from files that `sillage map` wrote.
 *
 * All files are opened before the first is merged, since they must agree in analyses, windows and
 * periods.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "base/process/foreign.h"
#include "cmd/cmd.h"
#include "engine/contract/beside.h"
#include "engine/engine.h"
#include "engine/exchange/partial-file.h"
#include "engine/trace.h"
#include "output/sink.h"
#include "run/run.h"
#include "run/say.h"

struct merge_source {
	const char *name;
	FILE *file;
	struct partial_reader *in;
};

struct merging {
	const struct options *options;
	struct output *output;
	VEC(struct merge_source) sources;
	struct period_set periods;
	struct engine_config config;
	struct trace_identity identity;
	struct trace *trace;
	struct run_summary summary;
	bool misses_range; /* the current trace has nothing in its range */
	bool cannot_write;
	bool has_matched, has_unmatched; /* as in analyze.c */
	struct err err;
};

/* ---- reports ---- */

static void on_report(void *user, const struct report *report)
{
	struct merging *m = user;
	struct report shown = *report;

	assert(m->trace);
	m->misses_range |= run_misses_range(report, &m->config);
	shown.is_interrupted = report->kind != REPORT_WINDOW && run_signal_status() != 0;
	m->summary.is_interrupted |= shown.is_interrupted;
	if (!m->misses_range) {
		output_report(m->output, &m->identity, &shown);
	}
	if (report->kind == REPORT_TOTAL) {
		const struct merger_account *account = trace_account(m->trace);

		m->summary.events += account->events;
		m->summary.packets += account->packets;
		m->summary.bytes += account->bytes;
		m->has_matched |= !report->nothing_matched;
		m->has_unmatched |= report->nothing_matched;
	}
	if (output_check(m->output, &m->err) < 0) {
		m->cannot_write = true;
		run_stop = true;
	}
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct merging *m = user;

	if (m->options->verbosity >= 0) {
		say("%s: %s", m->identity.path ? m->identity.path : "?", warning->message);
	}
	output_warning(m->output, &m->identity, warning);
}

/* ---- traces ---- */

static int merge_trace(struct merging *m, const struct merge_source *source,
		       const struct partial_file_trace *begun)
{
	struct beside beside = { 0 };
	struct engine *engine;
	int r;

	output_trace_fini(&m->identity);
	m->identity = (struct trace_identity){ .host = begun->host,
					       .session = begun->session,
					       .domain = begun->domain,
					       .path = begun->path,
					       .tracer = mem_strdup_if(begun->tracer) };
	m->config.range_begin = begun->range_begin;
	m->config.range_end = begun->range_end;
	engine = engine_new(&m->config);
	m->trace = trace_new(engine, m);
	m->misses_range = false;
	trace_set_domain(m->trace, begun->domain, begun->tracer);
	beside_take(&beside, begun->beside);
	trace_set_beside(m->trace, &beside.all);
	r = partial_reader_merge(source->in, m->trace, &run_stop, &m->err);
	trace_free(m->trace);
	engine_free(engine);
	free(begun->tracer);
	free(begun->beside);
	beside_fini(&beside);
	return r;
}

static void note_failure(struct merging *m)
{
	struct engine_warning warning = { .what = "trace", .packet = -1 };

	say("%s", m->err.text);
	(void)snprintf(warning.message, sizeof(warning.message), "%s", m->err.text);
	output_warning(m->output, NULL, &warning);
	m->summary.exit = EXIT_FAILED;
}

static void merge_source(struct merging *m, const struct merge_source *source)
{
	struct partial_file_trace begun;
	int r = 0;

	while (!run_stop && (r = partial_reader_trace(source->in, &begun, &m->err)) > 0) {
		r = merge_trace(m, source, &begun);
		if (r < 0) {
			break;
		}
		if (m->misses_range) {
			(void)err_raise(&m->err, -ERANGE, "%s: nothing of it is in this range",
					m->identity.path ? m->identity.path : source->name);
			note_failure(m);
		}
	}
	if (r < 0) {
		(void)err_note(&m->err, r, "%s", source->name);
		note_failure(m);
	}
}

static void merge_all(struct merging *m)
{
	uint64_t begin = now_monotonic_ns();

	run_stop_on_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	output_start(m->output);
	for (size_t i = 0; i < m->sources.count && !run_stop; i++) {
		merge_source(m, &m->sources.at[i]);
	}
	if (run_signal_status() != 0) {
		say("interrupted: not all was merged");
		m->summary.is_interrupted = true;
		m->summary.exit = run_signal_status();
	}
	if (m->has_unmatched && !m->has_matched) {
		m->summary.exit = EXIT_FAILED;
		run_say_unmatched(m->options);
	}
	m->summary.wall_ns = now_monotonic_ns() - begin;
	output_end(m->output, &m->summary);
}

static int merge_into(struct merging *m)
{
	assert(m->sources.count > 0);
	if (output_open(m->output, &m->err) < 0) {
		say("%s", m->err.text);
		return EXIT_FAILED;
	}
	merge_all(m);
	if (output_close(m->output, &m->err) < 0) {
		say("%s", m->err.text);
		return EXIT_FAILED;
	}
	return m->cannot_write ? EXIT_FAILED : m->summary.exit;
}

/* ---- files ---- */

static int open_source(struct merging *m, const char *name)
{
	bool is_stdin = strcmp(name, "-") == 0;
	struct merge_source source = { .name = is_stdin ? "standard input" : name };
	int r;

	r = is_stdin ? foreign_stdin(&source.file, &m->err)
		     : foreign_stream(name, &source.file, &m->err);
	if (r < 0) {
		return r;
	}
	r = partial_reader_new(source.file, analyses, &source.in, &m->err);
	if (r < 0) {
		(void)fclose(source.file);
		return err_note(&m->err, r, "%s", source.name);
	}
	*vec_push(&m->sources) = source;
	if (!partial_file_setup_same(partial_reader_setup(m->sources.at[0].in),
				     partial_reader_setup(source.in))) {
		return err_raise(
			&m->err, -EINVAL,
			"%s: has other analyses, windows, periods, threads or CPUs than %s",
			source.name, m->sources.at[0].name);
	}
	return 0;
}

/* A checkpoint has tables: what was not selected then is not in them. */
static int check_selection(struct merging *m)
{
	const char *made_with = partial_reader_setup(m->sources.at[0].in)->selection;
	char *asked = selection_text(&m->options->selection);
	int r = 0;

	assert(m->sources.count > 0);
	if (made_with && strcmp(made_with, asked) != 0) {
		r = err_raise(&m->err, -EINVAL, "%s: made with %s: give the same options",
			      m->sources.at[0].name, made_with);
	}
	free(asked);
	return r;
}

static int open_sources(struct merging *m)
{
	const struct partial_file_setup *setup;
	int r = 0;

	for (size_t i = 0; r == 0 && m->options->args[i]; i++) {
		r = open_source(m, m->options->args[i]);
	}
	if (r < 0) {
		return r;
	}
	assert(m->sources.count > 0); /* the command needs an argument */
	setup = partial_reader_setup(m->sources.at[0].in);
	for (size_t i = 0; r == 0 && i < setup->periods.count; i++) {
		r = period_add_text(&m->periods, setup->periods.at[i], &m->err);
	}
	return r < 0 ? r : check_selection(m);
}

static void close_sources(struct merging *m)
{
	for (size_t i = 0; i < m->sources.count; i++) {
		partial_reader_free(m->sources.at[i].in);
		(void)fclose(m->sources.at[i].file);
	}
	vec_fini(&m->sources);
	period_set_fini(&m->periods);
	output_trace_fini(&m->identity);
}

static void fill_config(struct merging *m)
{
	const struct partial_file_setup *setup = partial_reader_setup(m->sources.at[0].in);
	const struct options *options = m->options;

	assert(m->sources.count > 0);
	memcpy(m->config.analyses, setup->analyses, sizeof(m->config.analyses));
	m->config.interval_ns = m->config.shown_interval_ns = setup->interval_ns;
	m->config.wants_windows = setup->wants_windows;
	m->config.periods = &m->periods;
	run_fill_lists(options, NULL, &m->config);
	m->config.selection = &options->selection;
	m->config.jobs = (unsigned int)options->jobs;
	m->config.max_memory = options->max_memory;
	m->config.on_report = on_report;
	m->config.on_warning = on_warning;
}

static int run(const struct options *options)
{
	struct output output = run_output_of(options);
	struct merging m = { .options = options, .output = &output };
	int status = EXIT_FAILED;

	if (open_sources(&m) < 0) {
		say("%s", m.err.text);
	} else {
		fill_config(&m);
		m.config.top = output.top;
		output.analyses = m.config.analyses;
		output.interval_ns = m.config.interval_ns;
		status = merge_into(&m);
	}
	close_sources(&m);
	return status;
}

const struct command cmd_merge = {
	.name = "merge",
	.args = "FILE...",
	.summary = "the report of what map wrote; -: standard input",
	.examples = "  sillage merge trace.partials\n"
		    "  sillage merge -f json host1.partials host2.partials\n",
	.options = FOR_MERGE,
	.args_min = 1,
	.run = run,
};
