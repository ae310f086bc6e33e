/*
 * report: explains a recorded trace or a capture: which threads used the CPUs, which waited, and
 * where the time of one thread went.
 */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/shell.h"
#include "cmd/cmd.h"
#include "cmd/found/found.h"
#include "cmd/ranges/report-ranges.h"
#include "cmd/report/export.h"
#include "cmd/report/instant.h"
#include "cmd/report/occasion.h"
#include "cmd/report/unexplained.h"
#include "deep/executions/executions.h"
#include "deep/reader.h"
#include "deep/report/report.h"
#include "deep/resources/resources.h"
#include "output/sinks/json.h"
#include "query/job.h"
#include "recorded/recorded.h"
#include "run/check-names.h"
#include "run/joined.h"
#include "run/run.h"
#include "run/say.h"
#include "symbols/functions.h"

/* ---- traces ---- */

static void warn(void *user, const char *message)
{
	const struct options *options = user;

	if (options->verbosity >= 0) {
		say("%s", message);
	}
}

/* The job that the user wants, or else that a capture is about.  For periodic executions the
 * deadline is the next arrival, unless a deadline says otherwise.  @who: NULL: all threads. */
static struct executions_config config_of(const struct options *options,
					  const struct occasion *occasion, const char *who)
{
	struct executions_config config = {
		.job = options->job ? options->job : occasion->job,
		.within = options->job ? options->within : occasion->within,
		.who = who,
		.deadline_ns = options->deadline_ns,
		.period_ns = options->every_ns,
		.most = options->executions,
		.labels = options->job ? &options->periods.labels : &occasion->asked.periods.labels
	};

	if (config.job) {
		config.deadline_ns = options->deadline_ns == UINT64_MAX ? config.job->deadline_ns
									: options->deadline_ns;
		/* A capture may be about a job whose keys have a period each. */
		config.period_ns = options->every_ns != 0 ? options->every_ns
				   : config.job->has_keys ? 0
							  : config.job->period_ns;
		config.is_fixed = config.job->is->is_fixed;
	}
	if (config.deadline_ns == UINT64_MAX && config.period_ns > 0) {
		config.deadline_ns = config.period_ns;
	}
	return config;
}

/* How a trace is read. */
static struct reader_setup setup_of(const struct options *options, const struct recorded_path *path,
				    const struct recorded_paths *beside)
{
	return (struct reader_setup){
		.path = path, .beside = beside, .warn = warn, .user = (void *)options
	};
}

/* What is explained of a trace. */
struct extent {
	uint64_t begin, end;
	uint64_t max_bytes; /* of a timeline */
	/* Ranges that were chosen, and the one that it is about; none: what the user wants. */
	const struct report_range *ranges;
	size_t count, at;
};

/* Builds the timeline, and with --begin a second one of the same length before it, to compare. */
static int build_timelines(const struct options *options, const struct reader_setup *setup,
			   const struct extent *scope, struct deep_report *report)
{
	struct reader_setup quiet = *setup;
	const char *name = setup->path->name;
	uint64_t begin = scope->begin, length;
	struct err err;

	assert(!report->timeline && !report->before);
	report->timeline = timeline_build_within(setup, begin, scope->end, scope->max_bytes, &err);
	if (!report->timeline) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	if (report->timeline->lacks >> LACKS_SWITCHES & 1) {
		return EXIT_DONE; /* see explain_none() */
	}
	if (report->timeline->begin >= report->timeline->end) {
		say(options->begin || options->end || scope->count > 0
			    ? "%s: nothing of it is in this range"
			    : "%s: its events have no length in time: nothing to explain",
		    name);
		return EXIT_FAILED;
	}
	if (report->timeline->threads.count == 0) {
		say("%s: has no sched_switch events: nothing to explain", name);
		return EXIT_DONE;
	}
	if (options->begin && report->changed_at == 0 && scope->count == 0 &&
	    !report->timeline->is_cut) {
		length = report->timeline->end - report->timeline->begin;
		quiet.warn = NULL;
		report->before = timeline_build_within(&quiet, begin > length ? begin - length : 0,
						       begin, scope->max_bytes, &err);
	}
	return EXIT_DONE;
}

/* What all traces share. */
struct reports {
	const struct options *options;
	struct output *output;
	struct report_page page;
	struct perfetto *perfetto;           /* NULL: another format is wanted */
	struct functions kernel;             /* for it: those of --kallsyms */
	const char *source;                  /* the argument that names the trace */
	const struct recorded_paths *joined; /* those that are one with it; NULL: none */
	size_t recorded;                     /* traces that record what a report needs */
};

/* @discovery: NULL: not asked for, or failed. */
static int print(struct reports *reports, const struct recorded_path *path,
		 const struct deep_report *report, const struct discovery *discovery)
{
	const char *format = reports->options->format;
	struct output *output = reports->output;

	if (reports->perfetto) {
		return export_report(reports->perfetto, path, report, &reports->kernel);
	}
	if (strcmp(format, "html") == 0) {
		report_page_add(&reports->page, report, output->top);
	} else if (strcmp(format, "json") == 0) {
		deep_report_json(report, output->top, output->out);
	} else {
		deep_report_head(report, output->out);
		if (discovery) {
			(void)fputc('\n', output->out);
			discovery_text(discovery, report->timeline, output->top, output->out);
		}
		deep_report_text(report, output->top, output->out);
	}
	return EXIT_DONE;
}

/* Prints the report with the jobs that the threads execute: before the rest of its text, behind its
 * JSON, or in its page. */
static int print_with_jobs(struct reports *reports, const struct reader_setup *setup,
			   struct deep_report *report)
{
	struct output *output = reports->output;
	struct report_found *rows = NULL;
	struct discovery discovery;
	struct err err;
	int r = found_search(reports->options, setup, report->timeline, &discovery, &err);

	assert(!report->found);
	if (r < 0) {
		say("%s", err.text);
	} else {
		rows = found_rows(&discovery, output->top, &report->found_count);
		report->found = rows;
	}
	(void)print(reports, setup->path, report, r < 0 ? NULL : &discovery);
	if (r == 0 && strcmp(reports->options->format, "json") == 0) {
		discovery_json(&discovery, report->timeline, report->name, output->top,
			       output->out);
	}
	free(rows);
	discovery_fini(&discovery);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* Whether each thread is one whose resources are wanted: those of --thread, or those that execute
 * jobs; NULL: all. */
static bool *resource_scope(const struct options *options, const struct deep_report *report)
{
	const struct timeline *timeline = report->timeline;
	const struct executions *jobs = report->jobs;
	bool *scope;

	if (!options->thread && !jobs) {
		return NULL;
	}
	scope = mem_alloc(timeline->threads.count + 1);
	for (size_t i = 0; i < timeline->threads.count && !jobs; i++) {
		scope[i] = timeline_thread_is(timeline->threads.at[i], options->thread);
	}
	for (size_t i = 0; jobs && i < jobs->all.count + jobs->open.count; i++) {
		const struct execution *one = i < jobs->all.count
						      ? &jobs->all.at[i]
						      : &jobs->open.at[i - jobs->all.count];

		if (one->thread != NOBODY) {
			scope[one->thread] = true;
		}
		if (one->last != NOBODY) {
			scope[one->last] = true;
		}
	}
	return scope;
}

/* Adds the resources to the report. */
static int find_resources(const struct options *options, const struct reader_setup *setup,
			  struct deep_report *report, struct resources *resources)
{
	bool *scope;
	struct err err;
	int r;

	if (!options->resources) {
		return EXIT_DONE;
	}
	scope = resource_scope(options, report);
	r = resources_find(setup, report->timeline, scope, resources, &err);
	free(scope);
	if (r < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	report->resources = resources;
	return EXIT_DONE;
}

static bool is_no_scope(const char *name)
{
	static const char *const scopes[] = { "thread", "comm", "tid", "begin", "end", "from" };

	for (size_t i = 0; i < ARRAY_COUNT(scopes); i++) {
		if (strcmp(name, scopes[i]) == 0) {
			return false;
		}
	}
	return true;
}

/* The command that finds what the same threads execute, which the caller frees.  NULL: it leads no
 * further, as for a thread that is neither real-time nor periodic. */
static char *leads_on(const struct reports *reports, const struct deep_report *report)
{
	const struct options *options = reports->options;
	char *command = NULL, *path;
	size_t len;
	FILE *out;

	if (options->discover ||
	    (!report->jobs &&
	     (!options->thread || report->thread == NOBODY ||
	      !discovery_is_likely(report->timeline->threads.at[report->thread])))) {
		return NULL;
	}
	out = open_memstream(&command, &len);
	path = shell_path(reports->source);
	(void)fputs("sillage report --discover", out);
	options_put_given(options, is_no_scope, out);
	(void)fprintf(out, " %s", path);
	(void)fclose(out);
	free(path);
	return command;
}

/* The command that tells when the trace was otherwise, which the caller frees: of a thread that is
 * late for a while the sum of all times names whoever ran most.  NULL: a range was given, or the
 * thread is real-time, whose waits say enough. */
static char *leads_to_ranges(const struct reports *reports, const struct deep_report *report)
{
	const struct options *options = reports->options;
	char *path, *command;

	if (!options->thread || report->jobs || options->begin || options->end ||
	    report->thread == NOBODY ||
	    report->timeline->threads.at[report->thread]->urgency != 0) {
		return NULL;
	}
	path = shell_path(reports->source);
	command = mem_printf("sillage overview %s", path);
	free(path);
	return command;
}

/* None executed the whole pattern. */
static void say_missing(const char *name, const struct executions *jobs)
{
	if (jobs->unwanted > 0 && !jobs->is_missing_within) {
		say("%s: --job: %" PRIu64 " begin, and only leaves all of them out: of no id the "
		    "trace has told by then that it is called %s",
		    name, jobs->unwanted, jobs->config->job->is->only_is);
	} else {
		say("%s: --%s: nothing executes this: no thread comes to event %zu of it, %s", name,
		    jobs->is_missing_within ? "within" : "job", jobs->missing, jobs->missing_event);
	}
}

/* Fills the report and prints it, with what is found. */
static int explain(struct reports *reports, const struct reader_setup *setup,
		   const struct occasion *occasion, struct deep_report *report)
{
	const struct options *options = reports->options;
	char *selected = occasion_selected(occasion, report->timeline);
	const char *who = options->thread        ? options->thread
			  : occasion->job_thread ? occasion->job_thread
						 : selected;
	const struct executions_config config = config_of(options, occasion, who);
	const char *wanted = options->thread      ? options->thread
			     : occasion->thread   ? occasion->thread
			     : config.job == NULL ? selected
						  : NULL;
	struct resources resources = { 0 };
	struct executions jobs = { 0 };
	int status = EXIT_DONE;
	char *command = NULL, *overview = NULL;
	struct err err;

	assert(!report->jobs && !report->resources);
	if (config.job && executions_find(setup, report->timeline, &config, &jobs, &err) < 0) {
		say("%s", err.text);
		status = EXIT_FAILED;
	} else {
		report->jobs = config.job ? &jobs : NULL;
		if (jobs.missing > 0 && options->verbosity >= 0) {
			say_missing(setup->path->name, &jobs);
		}
		if (!deep_report_fill(report, wanted, reports->output->top) && wanted) {
			say("%s: no thread %s%s", setup->path->name, wanted,
			    report->range_count > 0 ? " in this range" : "");
			status = options->thread ? EXIT_FAILED : status;
		}
		if (find_resources(options, setup, report, &resources) != EXIT_DONE) {
			status = EXIT_FAILED;
		}
		report->discover = command = leads_on(reports, report);
		report->overview = overview = leads_to_ranges(reports, report);
		if (options->discover && status == EXIT_DONE) {
			status = print_with_jobs(reports, setup, report);
		} else if (print(reports, setup->path, report, NULL) != EXIT_DONE) {
			status = EXIT_FAILED;
		}
	}
	report->resources = NULL;
	resources_fini(&resources);
	executions_fini(&jobs);
	report->discover = report->overview = NULL;
	free(command);
	free(overview);
	free(selected);
	return status;
}

/* Of a trace without switches there is nothing to explain, but programs may have loops. */
static int explain_none(struct reports *reports, const struct recorded_path *path,
			const struct occasion *occasion)
{
	const struct options *options = reports->options;
	int status =
		options->discover ? found_programs(options, path, reports->output) : EXIT_USAGE;

	if (status == EXIT_USAGE) {
		unexplained_say(path, options);
		status = EXIT_DONE;
	} else {
		reports->recorded += status == EXIT_DONE;
	}
	if (occasion_has_spans(occasion) && options->verbosity >= 0) {
		say("%s: the periods and jobs that its run measured: sillage analyze CAPTURE",
		    path->name);
	}
	return status;
}

/* TOO_LARGE: the scope has no room in memory. */
enum { TOO_LARGE = -1 };

static int report_scope(struct reports *reports, const struct recorded_path *path,
			const struct occasion *occasion, const struct extent *scope)
{
	const struct options *options = reports->options;
	struct deep_report report = { .name = path->name,
				      .joined = reports->joined,
				      .why = occasion->triggers,
				      .changed_at = occasion->since,
				      .worst_count = options->worst,
				      .ranges = scope->ranges,
				      .range_count = scope->count,
				      .range = scope->at,
				      .wants_victims = !options->thread };
	const struct reader_setup setup = setup_of(options, path, reports->joined);
	int status = build_timelines(options, &setup, scope, &report);
	bool lacks_switches = report.timeline && report.timeline->lacks >> LACKS_SWITCHES & 1;
	bool is_cut = report.timeline &&
		      (report.timeline->is_cut || (report.before && report.before->is_cut));

	assert(scope->count == 0 || scope->at < scope->count);
	if (status == EXIT_DONE && is_cut && !lacks_switches && scope->count == 0) {
		deep_report_fini(&report);
		return TOO_LARGE;
	}
	reports->recorded += status == EXIT_DONE && !lacks_switches;
	assert(status != EXIT_DONE || report.timeline);
	if (status == EXIT_DONE && !lacks_switches && report.timeline->threads.count > 0) {
		status = explain(reports, &setup, occasion, &report);
	}
	if (status == EXIT_DONE && lacks_switches) {
		status = explain_none(reports, path, occasion);
	}
	deep_report_fini(&report);
	return status;
}

/* Explains what is worth it of a trace that is too large. */
static int report_ranges(struct reports *reports, const struct recorded_path *path,
			 const struct occasion *occasion, struct extent scope)
{
	struct report_range ranges[REPORT_RANGES_MAX];
	int status = EXIT_FAILED;
	struct err err;
	int count =
		report_ranges_choose(reports->options, path, scope.begin, scope.end, ranges, &err);

	assert(scope.count == 0);
	if (count < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	if (reports->options->verbosity >= 0) {
		say("%s: too large for --max-memory: %d ranges of it are explained", path->name,
		    count);
	}
	scope.ranges = ranges;
	scope.count = (size_t)count;
	reports->page.parts *= scope.count;
	for (scope.at = 0; scope.at < scope.count; scope.at++) {
		int one;

		scope.begin = ranges[scope.at].begin;
		scope.end = ranges[scope.at].end;
		one = report_scope(reports, path, occasion, &scope);
		status = one == EXIT_DONE ? EXIT_DONE : status;
	}
	for (size_t i = 0; i < scope.count; i++) {
		free((char *)ranges[i].why);
	}
	return status;
}

static int report_one(struct reports *reports, const struct recorded_path *path,
		      const struct occasion *occasion)
{
	const struct options *options = reports->options;
	struct extent scope = { .max_bytes = options->has_max_memory
						     ? report_ranges_timeline(options)
						     : UINT64_MAX };
	struct err err;
	int status;

	if (run_range(options, path, &scope.begin, &scope.end, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	status = report_scope(reports, path, occasion, &scope);
	return status == TOO_LARGE ? report_ranges(reports, path, occasion, scope) : status;
}

/* Of all traces, *ret_count; those that cannot be found are reported when they are read. */
static int check_names(const struct options *options, size_t *ret_count, struct err *err)
{
	struct recorded_paths paths = { 0 };
	struct err unfound;
	int r;

	for (size_t i = 0; options->args[i]; i++) {
		(void)run_find(options, options->args[i], &paths, &unfound);
	}
	r = run_check_names(options, NULL, &paths, NULL, err);
	*ret_count = paths.at.count;
	recorded_paths_fini(&paths);
	return r;
}

/* Of a program's trace, which is explained with the kernel's, its loops and requests. */
static int found_beside(const struct reports *reports, const struct recorded_path *path)
{
	int status;

	if (strcmp(reports->options->format, "text") == 0) {
		(void)fputc('\n', reports->output->out);
	}
	status = found_programs(reports->options, path, reports->output);
	return status == EXIT_USAGE ? EXIT_DONE : status;
}

/* The traces of one argument: those from @first on. */
static int report_source(struct reports *reports, const struct recorded_paths *paths, size_t first)
{
	struct occasion occasion;
	recorded_ones ones = { 0 };
	int status = EXIT_DONE;

	occasion_read(reports->source, reports->options->verbosity >= 0, &occasion);
	recorded_join(paths, first, &ones,
		      reports->options->verbosity >= 0 && reports->options->job ? say : NULL);
	for (size_t k = first; k < paths->at.count; k++) {
		const struct recorded_path *path = &paths->at.at[k];
		const struct recorded_one *with = recorded_one_of(&ones, k);
		int one;

		if (recorded_joined(&ones, path->name)) { /* it is explained with the kernel's */
			one = reports->options->discover ? found_beside(reports, path) : EXIT_DONE;
			status = status == EXIT_DONE ? one : status;
			continue;
		}
		reports->joined = with ? &with->with : NULL;
		one = report_one(reports, path, &occasion);
		status = status == EXIT_DONE ? one : status;
	}
	recorded_ones_fini(&ones);
	occasion_fini(&occasion);
	return status;
}

static int report_all(const struct options *options, struct output *output)
{
	struct recorded_paths paths = { 0 };
	struct reports reports = { .options = options,
				   .output = output,
				   .page = { .out = output->out } };
	int status = EXIT_DONE;
	struct err err;

	if (check_names(options, &reports.page.parts, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	if (strcmp(options->format, "perfetto") == 0) {
		if (export_kernel(options, &reports.kernel) != EXIT_DONE) {
			return EXIT_USAGE;
		}
		reports.perfetto = export_begin(options, output);
	}
	for (size_t i = 0; options->args[i]; i++) {
		size_t first = paths.at.count;
		int one;

		if (run_find(options, options->args[i], &paths, &err) < 0) {
			say("%s", err.text);
			status = EXIT_FAILED;
			continue;
		}
		reports.source = options->args[i];
		one = report_source(&reports, &paths, first);
		status = status == EXIT_DONE ? one : status;
	}
	joined_say_apart(options);
	report_page_end(&reports.page);
	export_end(reports.perfetto);
	functions_fini(&reports.kernel);
	recorded_paths_fini(&paths);
	return status == EXIT_DONE && reports.recorded == 0 ? EXIT_FAILED : status;
}

/* Rows of each list: what fits on a screen or a page; JSON has all. */
static size_t rows_of(const struct options *options)
{
	if (options->has_top || strcmp(options->format, "text") == 0) {
		return options->top;
	}
	return strcmp(options->format, "html") == 0 ? 2 * options->top : 0;
}

static int run(const struct options *options)
{
	struct output output = { .sink = &sink_json,
				 .path = options->output,
				 .is_text = strcmp(options->format, "text") == 0,
				 .is_whole = true,
				 .tables = options->tables,
				 .top = rows_of(options),
				 .analyses = options->analyses };
	uint64_t begin, end;
	struct err err;

	if (options->at) {
		return instant_report(options);
	}
	if (options->start && !discovery_start(options->start)) {
		say("--start: \"%s\" is left out of jobs: it comes with whatever runs",
		    options->start);
		return EXIT_USAGE;
	}
	if (options->kallsyms && strcmp(options->format, "perfetto") != 0) {
		say("--kallsyms has no effect without -f perfetto");
		return EXIT_USAGE;
	}
	if (options->discover && strcmp(options->format, "perfetto") == 0) {
		say("--discover: not with --format perfetto");
		return EXIT_USAGE;
	}
	if (strcmp(options->format, "perfetto") == 0 && !options->output && isatty(STDOUT_FILENO)) {
		say("--format perfetto: the file is no text for a terminal: -o FILE");
		return EXIT_USAGE;
	}
	if (run_range(options, NULL, &begin, &end, &err) < 0) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	if (options->has_worst && !options->job) {
		say("--worst: needs --job, which says what executes");
		return EXIT_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return run_output(options, &output, report_all);
}

const struct command cmd_report = {
	.name = "report",
	.args = "TRACE|CAPTURE|URL...",
	.summary = "explain where the time of a thread went, and who was in its way",
	.examples =
		"  sillage report sillage-captures/host-prod-20260101T120000.000Z\n"
		"  sillage report --thread redis-server --begin 12:00:01 --end 12:00:02 TRACE\n",
	.options = FOR_REPORT,
	.args_min = 1,
	.again = occasion_again,
	.run = run,
};
