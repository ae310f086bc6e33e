/*
 * overview: the phases of recorded traces, those of several hosts together (phases/overview.h).
 *
 * One pass finds the start and the end of a trace by its packet headers; a second one is an
 * analysis whose windows are the slices of the overview.  Where few slices have events, and nothing
 * tells what was in the others, these are looked at again.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/now.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/overview.h"
#include "engine/engine.h"
#include "index/index.h"
#include "output/sink.h"
#include "recorded/recorded.h"
#include "run/check-names.h"
#include "run/run.h"
#include "run/say.h"
#include "run/usual.h"

struct overview_run {
	const char *path;
	const struct recorded_path *found;
	struct overview *overview;
	int verbosity;
	size_t nothing_matched; /* in so many traces */
};

static void on_report(void *user, const struct report *report)
{
	struct overview_run *run = user;

	overview_report(run->overview, report);
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct overview_run *run = user;

	if (strcmp(warning->what, "nothing-matched") == 0) {
		run->nothing_matched++; /* an error, and said as one */
	} else if (run->verbosity >= 0) {
		say("%s: %s", run->path, warning->message);
	}
}

/* The part of the trace that --begin and --end leave. */
static int find_span_of(const struct options *options, const struct recorded_path *path,
			struct overview_config *ret, struct err *err)
{
	uint64_t begin, end;
	int r = recorded_span(path, &ret->begin, &ret->end, err);

	r = r < 0 ? r : run_range(options, path, &begin, &end, err);
	if (r < 0) {
		return r;
	}
	if (ret->begin == UINT64_MAX) {
		return err_raise(err, -ENODATA, "%s: no packet and no event has a time",
				 path->name);
	}
	if (ret->begin == ret->end) {
		return err_raise(err, -ENODATA, "%s: its events have one and the same time",
				 path->name);
	}
	ret->begin = begin > ret->begin ? begin : ret->begin;
	ret->end = end < ret->end ? end : ret->end;
	if (ret->begin >= ret->end) {
		return err_raise(err, -ERANGE, "%s: nothing in the trace lies in that range",
				 path->name);
	}
	return 0;
}

/* Of several hosts: from the begin of the first to the end of the last of which something is left.
 */
static int find_span(const struct options *options, const struct recorded_paths *paths,
		     struct overview_config *ret, struct err *err)
{
	uint64_t begin = UINT64_MAX, end = 0;
	int r = 0, left = 0;

	VEC_EACH(&paths->at, path) {
		r = find_span_of(options, path, ret, err);
		if (r == 0) {
			begin = ret->begin < begin ? ret->begin : begin;
			end = ret->end > end ? ret->end : end;
			left++;
		} else if (r != -ERANGE) {
			return r;
		}
	}
	ret->begin = begin;
	ret->end = end;
	return left > 0 ? 0 : r;
}

static int on_trace(void *user, struct trace *trace, struct err *err)
{
	struct overview_run *run = user;
	struct trace_identity identity = { 0 };

	run_identify(&identity, trace_plan(trace)->metadata, run->found);
	overview_begin_host(run->overview, identity.host);
	output_trace_fini(&identity);
	return 0;
}

static int analyze(const struct options *options, const struct recorded_path *path,
		   const struct overview_config *span, struct overview_run *run, struct err *err)
{
	struct engine_config config = {
		.range_begin = options->begin || path->from > 0 ? span->begin : 0,
		.range_end = options->end ? span->end : UINT64_MAX,
		.wants_windows = true,
		.jobs = (unsigned int)options->jobs,
		.chunk_bytes = options->chunk_bytes,
		.max_memory = options->max_memory,
		.selection = &options->selection,
		.top = RAN_ROWS_MAX,
		.wants_containers = true,
		.wants_places = true,
		.periods = &options->periods,
		.on_report = on_report,
		.on_warning = on_warning,
	};
	struct recorded_run recorded = { .user = run,
					 .chunk_bytes = config.chunk_bytes,
					 .range_end = config.range_end,
					 .stop = &run_stop,
					 .on_trace = on_trace };
	struct index_used used;
	int r;

	assert(span->begin < span->end);
	memcpy(config.analyses, options->analyses, sizeof(config.analyses));
	config.interval_ns = config.shown_interval_ns = overview_interval(span);
	config.keeps_windows = true; /* they are its slices */
	r = index_analyze(path, &config, &recorded, &used, err);
	index_say_used(options, path, &used);
	return r;
}

/* One host after the other. */
static int analyze_hosts(const struct options *options, const struct recorded_paths *paths,
			 const struct overview_config *span, struct overview_run *run,
			 struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < paths->at.count && r == 0 && !run_stop; i++) {
		run->path = paths->at.at[i].name;
		run->found = &paths->at.at[i];
		r = analyze(options, run->found, span, run, err);
	}
	return r;
}

static void print(const struct options *options, const char *path, const struct overview *overview,
		  struct output *output)
{
	assert(overview);
	if (strcmp(options->format, "html") == 0) {
		/* Of several arguments it is not known which one led here. */
		const char *source = options->args[1] ? NULL : options->args[0];

		overview_page(overview, path, source, output->top, output->out);
	} else if (strcmp(options->format, "json") == 0) {
		overview_json(overview, path, output->top, true, output->out);
	} else {
		overview_text(overview, path, output->top, output->out);
	}
}

static bool wants(const struct options *options, const char *hierarchy)
{
	return strcmp(options->format, "html") == 0 ||
	       (options->hierarchy && strcmp(options->hierarchy, hierarchy) == 0);
}

/* Whether the hierarchy that the user asked for is there. */
static bool has_hierarchy(const struct options *options, const struct overview *overview)
{
	return !options->hierarchy || overview_tree(overview, TREE_CPU) ||
	       overview_tree(overview, TREE_PROCESS);
}

/* -EINTR: whatever was found of what was read. */
int overview_of(const struct options *options, const struct recorded_paths *paths, const char *name,
		struct overview_config *config, struct overview **ret, struct err *err)
{
	struct overview_run run = { .verbosity = options->verbosity };
	int r = find_span(options, paths, config, err);

	config->hosts = paths->at.count;
	while (r == 0) {
		overview_free(run.overview);
		run.overview = overview_new(config);
		run.nothing_matched = 0;
		r = analyze_hosts(options, paths, config, &run, err);
		if (r < 0 || run_stop || !overview_narrows(run.overview, config)) {
			break;
		}
	}
	if (run_stop) {
		r = err_raise(err, -EINTR, "%s: interrupted", name);
	} else if (r == 0 && run.nothing_matched == paths->at.count) {
		char *selection = selection_asked(&options->selection);

		r = err_raise(err, -ENODATA, "%s: nothing matched %s", name, selection);
		free(selection);
	} else if (r == 0 && !overview_find(run.overview)) {
		r = err_raise(err, -ENODATA, "%s: no figure of the analyses changes with time",
			      name);
	} else if (r == 0 && run_stop && now_has_left) {
		r = err_raise(err, -EINTR, "%s: interrupted before all cuts were compared", name);
	}
	if (r < 0) {
		overview_free(run.overview);
		return r;
	}
	*ret = run.overview;
	return 0;
}

static int overview_one(const struct options *options, const struct recorded_paths *paths,
			const char *name, struct output *output)
{
	struct overview_config config = { .slices = options->slices,
					  .uses_figures = options->has_analyses,
					  .has_calls = options->periods.calls.count > 0,
					  .wants_tree = { [TREE_CPU] = wants(options, "cpu"),
							  [TREE_PROCESS] =
								  wants(options, "process") },
					  .p = options->compromise };
	struct overview *overview = NULL;
	struct err err;
	int r = overview_of(options, paths, name, &config, &overview, &err);

	if (r < 0) {
		say("%s", err.text);
		return run_stop ? run_signal_status() : EXIT_FAILED;
	}
	print(options, name, overview, output);
	if (!has_hierarchy(options, overview)) {
		say("%s: --hierarchy: no sched_switch events show who ran where", name);
		r = -ENODATA;
	}
	overview_free(overview);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* What is looked at, and what it is called: a trace, or the argument that has those of several
 * hosts. */
struct overview_units {
	recorded_groups groups;
	VEC(const char *) names;
};

static int find_units(const struct options *options, struct recorded_paths *paths,
		      struct overview_units *ret)
{
	int status = EXIT_DONE;
	struct err err;

	for (size_t i = 0; options->args[i]; i++) {
		size_t before = paths->at.count, named = ret->groups.count;

		if (run_find(options, options->args[i], paths, &err) < 0) {
			say("%s", err.text);
			status = run_stop ? run_signal_status() : EXIT_FAILED;
		}
		recorded_beside(paths, before, TREE_HOSTS_MAX, &ret->groups);
		for (; named < ret->groups.count; named++) {
			const struct recorded_paths *group = &ret->groups.at[named];

			*vec_push(&ret->names) =
				group->at.count > 1 ? options->args[i] : group->at.at[0].name;
		}
	}
	return status;
}

static int overview_units(const struct options *options, const struct overview_units *units,
			  struct output *output, int status)
{
	for (size_t i = 0; i < units->groups.count && status <= 128; i++) {
		const struct recorded_paths *group = &units->groups.at[i];
		struct options usual = *options;
		int one;

		usual_choose(&usual, group);
		one = overview_one(&usual, group, units->names.at[i], output);

		status = status == EXIT_DONE || one > 128 ? one : status;
		if (run_stop && one <= 128 && i + 1 < units->groups.count) {
			say("%s: interrupted before it was read", units->names.at[i + 1]);
			status = run_signal_status();
		}
	}
	return status;
}

static int overview_all(const struct options *options, struct output *output)
{
	struct overview_units units = { 0 };
	struct recorded_paths paths = { 0 };
	int status = find_units(options, &paths, &units);
	struct err err;

	if (run_check_names(options, NULL, &paths, NULL, &err) < 0) {
		say("%s", err.text);
		status = EXIT_FAILED;
	} else if (strcmp(options->format, "html") == 0 && paths.at.count > 1) {
		say("--format html: a page shows one trace, and there are %zu: %s, %s%s",
		    paths.at.count, paths.at.at[0].name, paths.at.at[1].name,
		    paths.at.count > 2 ? ", ..." : "");
		status = EXIT_USAGE;
	} else {
		status = overview_units(options, &units, output, status);
	}
	recorded_groups_fini(&units.groups);
	vec_fini(&units.names);
	recorded_paths_fini(&paths);
	return status;
}

/* Of each phase on a page: so many processes fit into a line or two. */
#define PAGE_PROCESSES 4

static size_t rows_of(const struct options *options)
{
	if (options->has_top || strcmp(options->format, "text") == 0) {
		return options->top;
	}
	return strcmp(options->format, "html") == 0 ? PAGE_PROCESSES : 0;
}

static bool has_analysis(const struct options *options, const char *name)
{
	for (size_t i = 0; options->analyses[i]; i++) {
		if (strcmp(options->analyses[i]->name, name) == 0) {
			return true;
		}
	}
	return false;
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

	if (options->hierarchy && !has_analysis(options, "cpu")) {
		say("--hierarchy: needs the analysis cpu (-a cpu,...)");
		return EXIT_USAGE;
	}
	run_stop_on_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	return run_output(options, &output, overview_all);
}

const struct command cmd_overview = {
	.name = "overview",
	.args = "TRACE|CAPTURE|URL...",
	.summary = "the phases of a trace: when its behaviour changed, and what changed",
	.examples = "  sillage overview TRACE\n"
		    "  sillage overview -p 0.2 --slices 500 TRACE\n"
		    "  sillage overview -f html -o phases.html TRACE\n"
		    "  sillage overview --comm 'db*' --job 'frame = run; deadline 20ms' TRACE\n"
		    "  sillage overview -a cpu,syscalls,io -f json TRACE | jq '.phases[].change'\n",
	.options = FOR_OVERVIEW,
	.args_min = 1,
	.run = run,
};
