/*
 * analyze: statistics of recorded traces.
 *
 * Traces are analysed one after the other, each by an engine of its own.  With --state a trace goes
 * on from its checkpoint, and leaves one in place of a total.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "base/shell.h"
#include "base/units.h"
#include "baseline/baseline.h"
#include "cmd/analyze.h"
#include "cmd/cmd.h"
#include "engine/engine.h"
#include "engine/exchange/checkpoint-file.h"
#include "engine/trace.h"
#include "index/index.h"
#include "output/sink.h"
#include "phases/phases.h"
#include "recorded/recorded.h"
#include "rollup/rollup.h"
#include "run/captured.h"
#include "run/check-names.h"
#include "run/joined.h"
#include "run/run.h"
#include "run/say.h"
#include "run/storing.h"
#include "run/usual.h"
#include "text/plain.h"
#include "trigger/actions.h"
#include "trigger/flow.h"

#define PROGRESS_NS (NS_PER_S / 5) /* between two progress lines */

struct analyze {
	const struct options *options;
	struct options usual;        /* the same with the analyses that are usual for the traces */
	struct recorded_paths paths; /* all traces */
	recorded_ones ones;          /* of them, those that are read as one */
	bool has_all;                /* that the user named */
	struct output *output;
	struct actions *actions; /* triggers; NULL: none */
	struct rollup *rollup;   /* of the current trace; NULL: shown windows are the engine's */
	struct phases *phases;   /* of the current trace; NULL: not wanted */
	struct checkpoint_file *checkpoint_file; /* of --state; NULL: none */
	struct recorded_session session;         /* of the current trace */
	struct merger_account before;            /* what earlier runs analysed of the trace */
	struct trace_identity identity;
	struct trace *trace;
	const struct recorded_path *found; /* the current trace */
	bool tells_path;                   /* its path, since another one has its names */
	const char *path;                  /* what it is called */
	const struct engine_config *range; /* has the range of the current trace */
	struct run_summary summary;
	uint64_t progress_ns; /* when the progress line was last drawn; 0: never */
	uint64_t done, bytes; /* of the current trace: read, and in all */
	bool shows_progress;
	bool is_cut;       /* a signal left packets of the current trace unread */
	bool misses_range; /* the current trace has nothing in the range of the options */
	bool cannot_write;
	struct baseline *baseline;       /* of triggers; NULL: none */
	bool has_checkpoint;             /* a trace left one for the file of --state */
	bool has_matched, has_unmatched; /* what the user selected is in some trace, not in some */
	struct err err;
};

/* ---- progress ---- */

static void clear_progress(struct analyze *a)
{
	if (a->progress_ns > 0) {
		plain_clear_progress();
	}
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
	struct analyze *a = user;
	uint64_t now = now_monotonic_ns();
	char text[2][UNITS_TEXT_MAX];

	a->done = done;
	a->bytes = total;
	if (!a->shows_progress || now - a->progress_ns < PROGRESS_NS) {
		return;
	}
	a->progress_ns = now;
	plain_progress("%s: %s of %s (%.0f %%)", a->path, units_bytes(text[0], done),
		       units_bytes(text[1], total),
		       total ? 100.0 * (double)done / (double)total : 0);
}

/* ---- beside the checkpoint: phases, triggers ---- */

static void restore_beside(struct analyze *a, struct codec *beside)
{
	struct codec phases = checkpoint_file_take_part(beside);
	struct codec triggers = checkpoint_file_take_part(beside);

	if (a->phases) {
		a->phases = phases_restore(a->phases, &phases);
	}
	if (a->actions && triggers.left > 0 &&
	    actions_restore(a->actions, &a->identity, triggers.at, triggers.left) < 0) {
		say("%s: the state of the triggers is damaged: they start without it", a->path);
	}
}

static void save_beside(struct analyze *a, struct codec_out *beside)
{
	struct codec_out phases = { 0 }, triggers = { 0 };
	struct codec codec = { .out = &phases };

	if (a->phases) {
		phases_codec(a->phases, &codec);
	}
	if (a->actions) {
		actions_save(a->actions, &a->identity, &triggers);
	}
	checkpoint_file_add_part(beside, &phases);
	checkpoint_file_add_part(beside, &triggers);
}

static int on_trace(void *user, struct trace *trace, struct err *err)
{
	struct analyze *a = user;
	struct codec beside = { 0 };
	uint8_t uuid[16];
	int r = 0;

	assert(a->path);
	a->trace = trace;
	run_identify(&a->identity, trace_plan(trace)->metadata, a->found);
	a->identity.tells_path = a->tells_path;
	if (a->checkpoint_file && !trace_uuid(trace, uuid)) {
		r = err_raise(err, -EINVAL, "%s: the trace has no UUID, which --state needs",
			      a->path);
	} else if (a->checkpoint_file) {
		r = checkpoint_file_restore(a->checkpoint_file, uuid, NULL, trace, &beside, err);
	}
	if (r > 0) {
		restore_beside(a, &beside);
	}
	a->before = *trace_account(trace);
	return r < 0 ? r : 0;
}

static void add_account(struct analyze *a)
{
	const struct merger_account *account = trace_account(a->trace);

	assert(account->events >= a->before.events);
	assert(account->bytes >= a->before.bytes);
	a->summary.events += account->events - a->before.events;
	a->summary.packets += account->packets - a->before.packets;
	a->summary.bytes += account->bytes - a->before.bytes;
}

/* A signal, or a failed write, ends the trace before it was read. */
static void on_stop(void *user)
{
	struct analyze *a = user;

	if (run_signal_status() != 0) {
		clear_progress(a);
		say("%s: interrupted %s %.0f %% of its bytes", a->path,
		    now_has_left ? "in the middle of a packet, after at most" : "after",
		    a->bytes > 0 ? 100.0 * (double)a->done / (double)a->bytes : 0.0);
		a->is_cut = a->summary.is_interrupted = true;
	}
}

/* The trace ends here for this run; a later run goes on from the checkpoint. */
static void on_pause(void *user, struct trace *trace)
{
	struct analyze *a = user;
	char *beside_names = beside_text(&a->session.beside);
	const struct partial_file_trace identity = { .host = a->identity.host,
						     .session = a->identity.session,
						     .domain = a->identity.domain,
						     .path = a->identity.path,
						     .tracer = (char *)metadata_other_tracer(
							     trace_plan(trace)->metadata),
						     .beside = beside_names,
						     .range_end = UINT64_MAX };
	struct codec_out beside = { 0 };
	uint8_t uuid[16];

	assert(trace == a->trace);
	if (now_has_left && !a->is_cut) {
		on_stop(a);
	}
	if (!trace_total_so_far(trace) && a->options->verbosity >= 0 && !now_has_left) {
		char *state = shell_path(a->options->state);

		clear_progress(a);
		say("%s: no window is closed yet, so there is no total so far; `sillage merge %s` "
		    "prints all that was read",
		    a->path, state);
		free(state);
	}
	add_account(a);
	(void)trace_uuid(trace, uuid); /* on_trace() refuses traces without one */
	save_beside(a, &beside);
	checkpoint_file_put(a->checkpoint_file, uuid, trace, &identity, &beside, false);
	a->has_checkpoint = true;
	vec_fini(&beside.bytes);
	free(beside_names);
}

static void say_missing(const struct analyze *a, const struct report *report)
{
	char *text, *commands;

	if (!a->output->sink->lacks_missing || report->kind != REPORT_TOTAL ||
	    report->missing_count == 0 || a->options->verbosity < 0) {
		return;
	}
	text = missing_text(report->missing, report->missing_count, true);
	commands = missing_commands(report->tracer, report->missing, report->missing_count, "; ",
				    SIZE_MAX);
	say("%s: not recorded: %s%s%s", a->path, text, commands[0] ? "; to record it: " : "",
	    commands);
	free(text);
	free(commands);
}

static void on_report(void *user, const struct report *report)
{
	struct analyze *a = user;
	const struct flow flow = { .trace = &a->identity,
				   .output = a->output,
				   .actions = a->actions,
				   .rollup = a->rollup,
				   .phases = a->phases,
				   .hides_windows = !a->options->has_interval };
	struct report shown = *report;

	clear_progress(a);
	if (now_has_left && !a->is_cut) { /* all was given to workers, and they did not read it */
		on_stop(a);
	}
	if (report->kind == REPORT_TOTAL) {
		add_account(a);
		a->has_matched |= !report->nothing_matched;
		a->has_unmatched |= report->nothing_matched;
	}
	if (run_misses_range(report, a->range)) {
		a->misses_range = true;
		return;
	}
	say_missing(a, report);
	shown.is_interrupted = a->is_cut && report->kind != REPORT_WINDOW;
	flow_report(&flow, &shown);
	if (output_check(a->output, &a->err) < 0) {
		a->cannot_write = true;
		run_stop = true;
	}
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct analyze *a = user;

	clear_progress(a);
	if (a->options->verbosity >= 0) {
		say("%s: %s", a->path, warning->message);
	}
	output_warning(a->output, &a->identity, warning);
}

/* Reports a failure that is not about an opened trace. */
static void note_failure(struct analyze *a)
{
	struct engine_warning warning = { .what = "trace", .packet = -1 };

	say("%s", a->err.text);
	(void)snprintf(warning.message, sizeof(warning.message), "%s", a->err.text);
	output_warning(a->output, NULL, &warning);
}

static int analyze_one(struct analyze *a, struct engine_config *config, size_t number)
{
	const struct recorded_path *path = &a->paths.at.at[number];
	struct recorded_run run = {
		.user = a,
		.chunk_bytes = config->chunk_bytes,
		.progress = on_progress,
		.stop = &run_stop,
		.on_stop = on_stop,
		.session = &a->session,
		.joined = joined_with(&a->ones, number),
		.on_trace = on_trace,
		.on_pause = a->checkpoint_file ? on_pause : NULL,
	};
	struct index_used used = { 0 };
	int r = run_range(a->options, path, &config->range_begin, &config->range_end, &a->err);

	assert(!a->rollup);
	a->found = path;
	a->path = path->name;
	a->range = config;
	a->is_cut = a->misses_range = false;
	a->done = a->bytes = 0;
	if (r == 0) {
		if (config->interval_ns != config->shown_interval_ns) {
			a->rollup = rollup_new(config->shown_interval_ns, config->top,
					       config->selection, config->wants_places);
		}
		a->phases = run_wants_phases(a->options, a->actions)
				    ? phases_new(a->checkpoint_file,
						 a->options->periods.calls.count > 0)
				    : NULL;
		run.range_end = config->range_end;
		/* Of what is wrong in the metadata no more is known yet. */
		output_trace_fini(&a->identity);
		a->identity.path = mem_strdup(path->name);
		r = index_analyze(path, config, &run, &used, &a->err);
		rollup_free(a->rollup);
		a->rollup = NULL;
		phases_free(a->phases);
		a->phases = NULL;
	}
	if (r == 0 && a->misses_range) {
		r = err_raise(&a->err, -ERANGE, "%s: nothing of it is in this range", path->name);
	}
	clear_progress(a);
	index_say_used(a->options, path, &used);
	if (r < 0) {
		note_failure(a);
	}
	return r;
}

/* With --state the trace goes on later, and with it its metadata: then it is only a warning. */
static bool check_names(struct analyze *a, const struct recorded_paths *paths)
{
	int r = run_check_names(a->options, a->actions, paths, &a->ones, &a->err);

	if (r == 0) {
		return true;
	}
	note_failure(a);
	a->summary.is_interrupted |= r == -EINTR;
	return a->options->state;
}

static bool find_traces(struct analyze *a)
{
	bool has_all = true;

	for (size_t i = 0; a->options->args[i]; i++) {
		if (run_find(a->options, a->options->args[i], &a->paths, &a->err) < 0) {
			say("%s", a->err.text);
			has_all = false;
			a->summary.is_interrupted |= run_signal_status() != 0;
		}
	}
	return has_all;
}

static int analyze_all(struct analyze *a, struct engine_config *config)
{
	const struct recorded_paths *paths = &a->paths;
	bool is_refused, *alike = NULL;
	int failed = a->has_all ? 0 : EXIT_FAILED;

	a->session.given = paths;
	joined_find(a->options, paths, &a->ones);
	if (a->ones.count > 0) {
		period_set_join(&a->usual.periods);
	}
	is_refused = !check_names(a, paths);
	if (!is_refused && a->output->is_text) {
		alike = run_find_alike(paths);
	}
	for (size_t i = 0; i < paths->at.count && !is_refused; i++) {
		if (run_signal_status() != 0) {
			say("%s: interrupted before it was read", paths->at.at[i].name);
			a->summary.is_interrupted = true;
		} else if (run_stop) {
			break; /* the output cannot be written */
		} else if (!recorded_joined(&a->ones, paths->at.at[i].name)) {
			int r;

			a->tells_path = alike && alike[i];
			r = analyze_one(a, config, i);
			failed = r < 0 ? EXIT_FAILED : failed;
			a->summary.is_interrupted |= r == -EINTR;
		}
	}
	free(alike);
	if (a->summary.is_interrupted) {
		return run_signal_status();
	}
	return is_refused ? EXIT_FAILED : failed;
}

static void fill_config(const struct options *options, const struct actions *actions,
			struct engine_config *config)
{
	memcpy(config->analyses, options->analyses, sizeof(config->analyses));
	run_fill_intervals(options, actions, config);
	config->is_usual = !options->has_analyses && options->command != FOR_TOP;
	config->wants_windows = options->has_interval;
	run_fill_lists(options, actions, config);
	config->selection = &options->selection;
	config->periods = &options->periods;
	config->jobs = (unsigned int)options->jobs;
	config->chunk_bytes = options->chunk_bytes;
	config->max_memory = options->max_memory;
	config->on_report = on_report;
	config->on_warning = on_warning;
}

/* Checkpoints are saved whatever else failed.  Without a new one the file stays as it is. */
static void save_checkpoints(struct analyze *a)
{
	int r = a->has_checkpoint ? checkpoint_file_save(a->checkpoint_file, &a->err) : 0;

	assert(!a->has_checkpoint || a->checkpoint_file);
	if (r < 0) {
		say("%s", a->err.text);
		a->summary.exit = r == -EINTR ? run_signal_status() : EXIT_FAILED;
	}
}

/* What is kept, and what triggers are compared with. */
static int open_stores(struct analyze *a, struct engine_config *config, struct output *also)
{
	int r = storing_open(a->options, true, config, a->output, also, &a->err);

	if (r < 0) {
		return r;
	}
	r = baseline_open(a->options, a->actions, &run_stop, say, &a->baseline, &a->err);
	if (r < 0) {
		(void)storing_close(a->options, a->output);
	}
	return r;
}

static void free_traces(struct analyze *a)
{
	run_actions_free(a->actions);
	checkpoint_file_free(a->checkpoint_file);
	output_trace_fini(&a->identity);
	recorded_session_fini(&a->session);
	recorded_ones_fini(&a->ones);
	recorded_paths_fini(&a->paths);
}

/* Finds the traces, and what of them is wanted; -EINVAL: what is asked for is wrong. */
static int prepare_traces(struct analyze *a, struct engine_config *config)
{
	if (run_actions(a->options, &a->actions, &a->err) < 0 ||
	    run_range(a->options, NULL, &config->range_begin, &config->range_end, &a->err) < 0) {
		return -EINVAL;
	}
	run_stop_on_signals(); /* a relay's traces are copied */
	a->has_all = find_traces(a);
	run_end_on_signals(); /* servers may be slow */
	a->usual = *a->options;
	usual_choose(&a->usual, &a->paths);
	a->options = &a->usual;
	a->output->analyses = a->output->analyses ? a->usual.analyses : NULL;
	fill_config(a->options, a->actions, config);
	if (a->actions && actions_count(a->actions) > 0) {
		actions_add_analyses(a->actions, config->analyses);
		config->wants_windows = true;
	}
	if (run_wants_phases(a->options, a->actions)) {
		run_add_states(config->analyses);
		run_list_containers(a->output, config);
		config->wants_windows = true;
	}
	return run_checkpoint_file(a->options, config, &a->checkpoint_file, &a->err) < 0 ? -EINVAL
											 : 0;
}

int analyze_into(const struct options *options, struct output *output)
{
	struct analyze a = { .options = options, .output = output };
	struct engine_config config = { 0 };
	struct stats stats = { 0 };
	struct output also;
	uint64_t begin = now_monotonic_ns();
	int r;

	r = prepare_traces(&a, &config);
	config.stats = options->stats ? &stats : NULL;
	if (run_signal_status() != 0) {
		free_traces(&a);
		return run_signal_status();
	}
	r = r < 0 ? r : open_stores(&a, &config, &also);
	if (r < 0) {
		say("%s", a.err.text);
		free_traces(&a);
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	a.shows_progress = isatty(STDERR_FILENO) && options->verbosity >= 0;
	run_stop_on_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	config.top = output->top;
	output_start(output);
	a.summary.exit = analyze_all(&a, &config);
	if (a.has_unmatched && !a.has_matched) {
		a.summary.exit = EXIT_FAILED;
		run_say_unmatched(options);
	}
	if (baseline_close(a.baseline) < 0) {
		a.summary.exit = EXIT_FAILED;
	}
	if (storing_close(options, output) < 0) { /* before a state says that it has them */
		a.summary.exit = EXIT_FAILED;
	}
	joined_say_apart(options);
	save_checkpoints(&a);
	a.summary.exit = run_gate(options, a.actions, a.summary.exit);
	a.summary.wall_ns = now_monotonic_ns() - begin;
	output_end(output, &a.summary);
	if (a.cannot_write) {
		a.summary.exit = EXIT_FAILED;
	}
	if (options->stats) {
		stats_print(&stats, a.summary.events, a.summary.packets, a.summary.bytes,
			    a.summary.wall_ns, say);
	}
	output->analyses = output->analyses ? options->analyses : NULL; /* it stays longer */
	free_traces(&a);
	return a.summary.exit;
}

static int run(const struct options *options)
{
	struct output output = run_output_of(options);

	return run_output(options, &output, analyze_into);
}

const struct command cmd_analyze = {
	.name = "analyze",
	.args = "TRACE|CAPTURE|URL...",
	.summary = "statistics over recorded traces, and what relays still have",
	.examples = "  sillage analyze ~/lttng-traces/prod-20260101-120000\n"
		    "  sillage analyze -i 100ms -f json -a cpu TRACE | jq .cpu.busy_ns\n"
		    "  sillage analyze --begin -10m net://localhost/host/web1/prod\n",
	.options = FOR_ANALYZE,
	.args_min = 1,
	.run = run,
	.again = captured_again,
};
