/*
 * export: see export.h; writes recorded traces for Perfetto's viewer.
 *
 *     export_traces()    windows, if they are asked for ──┐
 *                        then the events of each trace ───┴─► writer ──► output
 *     export_report()    the events of a range, and what the report found in it
 */
#include "cmd/report/export.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cmd/analyze.h"
#include "deep/report/report.h"
#include "folded/folded.h"
#include "output/sink.h"
#include "output/sinks/json.h"
#include "perfetto/report-tracks.h"
#include "perfetto/trace.h"
#include "perfetto/windows.h"
#include "perfetto/writer.h"
#include "recorded/recorded.h"
#include "run/check-names.h"
#include "run/run.h"
#include "run/say.h"
#include "symbols/kallsyms.h"

struct perfetto *export_begin(const struct options *options, struct output *output)
{
	return writer_new(output->out, options->has_jobs ? (unsigned int)options->jobs : 1);
}

void export_end(struct perfetto *writer)
{
	if (writer) {
		writer_end(writer);
	}
}

/* ---- windows ---- */

static bool wants_windows(const struct options *options)
{
	return options->has_analyses || options->has_interval ||
	       period_set_count(&options->periods) > 0 || options->triggers.count > 0 ||
	       options->trigger_files.count > 0;
}

/* Analyses the traces with windows as counters. */
static int add_windows(const struct options *options, struct output *output,
		       struct perfetto *writer)
{
	struct options with_windows = *options;
	struct output counters = *output;
	int status;

	assert(wants_windows(options));
	with_windows.has_interval = true;
	with_windows.dry_run = true; /* triggers are only shown */
	counters.sink = &windows_sink;
	counters.state = windows_new(writer);
	counters.interval_ns = options->interval_ns;
	counters.top = LONGEST_MAX; /* periods, executions and calls are slices */
	status = analyze_into(&with_windows, &counters);
	windows_free(counters.state);
	return status;
}

/* ---- traces ---- */

/* Where all traces go. */
struct target {
	const struct options *options;
	struct functions kernel; /* that the user gave; empty: none */
	struct perfetto *writer;
	struct stacks *folded;
	bool has_stacks; /* a trace has events with call stacks */
};

static const struct functions *given_kernel(const struct target *target)
{
	return target->kernel.at.count > 0 ? &target->kernel : NULL;
}

int export_kernel(const struct options *options, struct functions *ret)
{
	struct err err;

	if (options->kallsyms && kallsyms_read(options->kallsyms, ret, &err) < 0) {
		say("--kallsyms: %s", err.text);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

static void warn(void *user, const char *message)
{
	say("%s", message);
}

static void say_left_out(const struct recorded_path *path, const struct trace_export *export)
{
	if (export->calls > 0) {
		say("%s: %" PRIu64 " system calls of unknown threads are left out", path->name,
		    export->calls);
	}
	if (export->stacks > 0) {
		say("%s: %" PRIu64 " call stacks of unknown threads are left out", path->name,
		    export->stacks);
	}
	if (export->lacks_cpus) {
		say("%s: CPUs from %d on are left out: the viewer refuses them", path->name,
		    PERFETTO_CPUS_MAX);
	}
}

/* @quiet: what cannot be read was said before. */
static int add_trace(const struct target *target, const struct recorded_path *path, bool quiet)
{
	const struct options *options = target->options;
	struct perfetto *writer = target->writer;
	const struct reader_setup setup = { .path = path, .warn = quiet ? NULL : warn };
	struct trace_export export = { .setup = &setup,
				       .stop = &run_stop,
				       .has_args = !options->no_args,
				       .kernel = given_kernel(target) };
	struct writer_seen before = writer_seen(writer), after;
	struct err err;

	assert(writer);
	if (run_range(options, path, &export.begin, &export.end, &err) < 0 ||
	    trace_write(writer, &export, &err) < 0) {
		if (run_signal_status() == 0) { /* else it is said at the end */
			say("%s", err.text);
		}
		return EXIT_FAILED;
	}
	if (!export.has_range && export.read > 0 && run_signal_status() == 0) {
		say(options->begin || options->end ? "%s: nothing of it is in this range"
						   : "%s: has no event that is exported",
		    path->name);
		return EXIT_FAILED;
	}
	if (options->verbosity >= 0) {
		say_left_out(path, &export);
	}
	after = writer_seen(writer);
	if (options->verbosity > 0) {
		say("%s: %" PRIu64 " events read, %" PRIu64 " events and %" PRIu64
		    " packets written",
		    path->name, export.read, after.events - before.events,
		    after.packets - before.packets);
	}
	return EXIT_DONE;
}

static int add_traces(const struct target *target, bool quiet)
{
	const struct options *options = target->options;
	struct recorded_paths paths = { 0 };
	recorded_ones ones = { 0 };
	int status = EXIT_DONE;
	struct err err;

	for (size_t i = 0; options->args[i]; i++) {
		if (run_find(options, options->args[i], &paths, &err) < 0) {
			say("%s", err.text);
			status = EXIT_FAILED;
		}
	}
	if (run_check_names(options, NULL, &paths, NULL, &err) < 0) {
		say("%s", err.text);
		recorded_paths_fini(&paths);
		return EXIT_FAILED;
	}
	recorded_join(&paths, 0, &ones, NULL);
	for (size_t i = 0; i < paths.at.count && run_signal_status() == 0; i++) {
		const struct recorded_path *joined = recorded_joined(&ones, paths.at.at[i].name);

		if (add_trace(target, joined ? joined : &paths.at.at[i], quiet) != EXIT_DONE) {
			status = EXIT_FAILED;
		}
	}
	recorded_ones_fini(&ones);
	recorded_paths_fini(&paths);
	if (run_signal_status() != 0) {
		say("interrupted: the file has what was read until then");
		return run_signal_status();
	}
	return status;
}

static int export_traces(const struct options *options, struct output *output)
{
	struct target target = { .options = options };
	int status = EXIT_DONE;
	uint64_t begin, end;
	struct err err;

	if (run_range(options, NULL, &begin, &end, &err) < 0) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	run_stop_on_signals();
	if (export_kernel(options, &target.kernel) != EXIT_DONE) {
		return EXIT_USAGE;
	}
	target.writer = writer_new(output->out, (unsigned int)options->jobs);
	if (wants_windows(options)) {
		status = add_windows(options, output, target.writer);
	}
	if (status == EXIT_DONE) {
		status = add_traces(&target, options->verbosity < 0 || wants_windows(options));
	}
	writer_end(target.writer);
	functions_fini(&target.kernel);
	return status;
}

/* ---- stacks ---- */

static int fold_trace(struct target *target, const struct recorded_path *path)
{
	const struct options *options = target->options;
	const struct reader_setup setup = { .path = path,
					    .warn = options->verbosity < 0 ? NULL : warn };
	struct folded_trace trace = { .setup = &setup,
				      .stop = &run_stop,
				      .counts_samples = options->samples,
				      .kernel = given_kernel(target) };
	struct err err;

	int r = run_range(options, path, &trace.begin, &trace.end, &err);

	r = r < 0 ? r : folded_take(target->folded, &trace, &err);
	target->has_stacks |= trace.has_stacks;
	if (r < 0 && run_signal_status() == 0) {
		say("%s: %s", path->name, err.text);
	}
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int fold_traces(struct target *target)
{
	const struct options *options = target->options;
	struct recorded_paths paths = { 0 };
	int status = EXIT_DONE;
	struct err err;

	for (size_t i = 0; options->args[i]; i++) {
		if (run_find(options, options->args[i], &paths, &err) < 0) {
			say("%s", err.text);
			status = EXIT_FAILED;
		}
	}
	for (size_t i = 0; i < paths.at.count && run_signal_status() == 0; i++) {
		if (fold_trace(target, &paths.at.at[i]) != EXIT_DONE) {
			status = EXIT_FAILED;
		}
	}
	recorded_paths_fini(&paths);
	return status;
}

/* @is_new: the reason was not said. */
static void say_nothing_folded(const struct target *target, bool is_new)
{
	const struct options *options = target->options;

	if (is_new) {
		say("nothing to fold%s: no %s",
		    options->begin || options->end ? " in this range" : "",
		    options->samples ? "event with a call stack (lttng add-context -k -t "
				       "callstack-kernel -t callstack-user; perf record -g)"
				     : "call of a program, no sleep of a thread");
	}
	if (target->has_stacks && !options->samples) {
		say("events have call stacks: sillage export -f folded --samples %s",
		    options->args[0]);
	}
}

static int export_stacks(const struct options *options, struct output *output)
{
	struct target target = { .options = options };
	int status;

	run_stop_on_signals();
	if (export_kernel(options, &target.kernel) != EXIT_DONE) {
		return EXIT_USAGE;
	}
	target.folded = folded_new();
	status = fold_traces(&target);
	if (folded_write(target.folded, output->out) == 0 && run_signal_status() == 0) {
		say_nothing_folded(&target, status == EXIT_DONE);
		status = EXIT_FAILED;
	}
	folded_free(target.folded);
	functions_fini(&target.kernel);
	return run_signal_status() != 0 ? run_signal_status() : status;
}

/* What says something of a file for Perfetto alone. */
static const char *for_perfetto_alone(const struct options *options)
{
	return period_set_count(&options->periods) > 0
		       ? "--period, --job, --call, --label and --model"
	       : wants_windows(options) ? "-a, -i and triggers"
	       : options->no_args       ? "--no-args"
					: NULL;
}

/* ---- reports ---- */

static int export_range(struct perfetto *writer, const struct recorded_path *path,
			const struct deep_report *report, const struct functions *kernel)
{
	assert(report->timeline);
	/* What cannot be read was said when the timeline was built. */
	const struct reader_setup setup = { .path = path };
	struct trace_export export = { .setup = &setup,
				       .begin = report->timeline->begin,
				       .end = report->timeline->end,
				       .has_args = true,
				       .kernel = kernel };
	struct err err;

	if (trace_write(writer, &export, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int export_report(struct perfetto *writer, const struct recorded_path *path,
		  const struct deep_report *report, const struct functions *kernel)
{
	int status;

	kernel = kernel->at.count > 0 ? kernel : NULL;
	status = export_range(writer, path, report, kernel);

	for (size_t i = 0; report->joined && i < report->joined->at.count; i++) {
		if (export_range(writer, &report->joined->at.at[i], report, kernel) != EXIT_DONE) {
			status = EXIT_FAILED;
		}
	}
	report_tracks_add(writer, report);
	return status;
}

/* ---- the command ---- */

static int run(const struct options *options)
{
	/* The sink is not written to: the traces' own lines have no place in the file. */
	struct output output = { .sink = &sink_json,
				 .path = options->output,
				 .is_whole = true,
				 .analyses = options->analyses };

	bool is_folded = options->to && strcmp(options->to, "folded") == 0;

	if (is_folded && for_perfetto_alone(options)) {
		say("export -f folded: not with %s", for_perfetto_alone(options));
		return EXIT_USAGE;
	}
	if (!is_folded && options->samples) {
		say("export: --samples goes with -f folded");
		return EXIT_USAGE;
	}
	if (!is_folded && !options->output && isatty(STDOUT_FILENO)) {
		say("export: the file is no text for a terminal: -o FILE");
		return EXIT_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return run_output(options, &output, is_folded ? export_stacks : export_traces);
}

const struct command cmd_export = {
	.name = "export",
	.args = "TRACE|CAPTURE|URL...",
	.summary = "write traces for the viewer of Perfetto, or stacks for flame graphs",
	.examples = "  sillage export -o prod.perfetto ~/lttng-traces/prod-20260101-120000\n"
		    "  sillage export -a cpu,sched -i 10ms --trigger 'sched.wake.max > 2ms' \\\n"
		    "    --begin 12:00:01 --end 12:00:02 -o prod.perfetto TRACE\n"
		    "  sillage export -f folded TRACE | flamegraph.pl --countname ns >prod.svg\n",
	.options = FOR_EXPORT,
	.args_min = 1,
	.run = run,
};
