/*
 * analyze: the statistics of recorded traces.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "engine/engine.h"
#include "engine/exchange/checkpoint-file.h"
#include "engine/trace.h"
#include "live/trigger/actions.h"
#include "output/rollup.h"
#include "output/sink.h"
#include "recorded/recorded.h"

struct analyze {
	const struct options *options;
	struct output *output;
	struct actions *actions; /* triggers; NULL: none */
	struct rollup *rollup;   /* of the trace; NULL: windows are shown as they come */
	struct checkpoint_file *checkpoint_file; /* to go on from, and to leave; NULL: none */
	struct merger_account before;            /* what was analysed by another run */
	struct trace_identity identity;
	struct trace *trace;
	const char *path;
	struct run_summary summary;
	uint64_t progress_ns; /* when the progress line was last drawn */
	bool shows_progress;
	bool cannot_write;
	struct err err;
};

/* ---- stopping ---- */

atomic_bool cmd_stop; /* lock-free, so that a signal may set it */

static void on_signal(int number)
{
	(void)number;
	cmd_stop = true;
}

void cmd_stop_on_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

/* ---- progress ---- */

static void clear_progress(struct analyze *a)
{
	if (a->progress_ns > 0) {
		(void)fputs("\r\033[K", stderr);
	}
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
	struct analyze *a = user;
	uint64_t now = now_monotonic_ns();
	char text[2][UNITS_TEXT_MAX];

	if (!a->shows_progress || now - a->progress_ns < 200000000) {
		return;
	}
	a->progress_ns = now;
	(void)fprintf(stderr, "\r%s: %s of %s (%.0f %%)\033[K", a->path, units_bytes(text[0], done),
		      units_bytes(text[1], total),
		      total ? 100.0 * (double)done / (double)total : 0);
}

void cmd_identify(struct trace_identity *identity, const struct metadata *types, const char *path)
{
	const struct env_entry *host = metadata_env(types, "hostname");
	const struct env_entry *session = metadata_env(types, "trace_name");
	const struct env_entry *domain = metadata_env(types, "domain");

	output_trace_fini(identity);
	identity->host = host && host->text ? mem_strdup(host->text) : NULL;
	identity->session = session && session->text ? mem_strdup(session->text) : NULL;
	identity->domain = domain && domain->text ? mem_strdup(domain->text) : NULL;
	identity->path = mem_strdup(path);
}

static int on_trace(void *user, struct trace *trace, struct err *err)
{
	struct analyze *a = user;
	uint8_t uuid[16];
	int r = 0;

	a->trace = trace;
	cmd_identify(&a->identity, trace_plan(trace)->metadata, a->path);
	if (a->checkpoint_file && !trace_uuid(trace, uuid)) {
		r = err_raise(err, -EINVAL, "%s: has no UUID to know it by again", a->path);
	} else if (a->checkpoint_file) {
		r = checkpoint_file_restore(a->checkpoint_file, uuid, trace, err);
	}
	a->before = *trace_account(trace);
	return r < 0 ? r : 0;
}

static void add_account(struct analyze *a)
{
	const struct merger_account *account = trace_account(a->trace);

	a->summary.events += account->events - a->before.events;
	a->summary.packets += account->packets - a->before.packets;
	a->summary.bytes += account->bytes - a->before.bytes;
}

/* It goes on another time. */
static void on_pause(void *user, struct trace *trace)
{
	struct analyze *a = user;
	const struct partial_file_trace identity = { .host = a->identity.host,
						     .session = a->identity.session,
						     .domain = a->identity.domain,
						     .path = a->identity.path,
						     .range_end = UINT64_MAX };
	uint8_t uuid[16];

	trace_total_so_far(trace);
	add_account(a);
	(void)trace_uuid(trace, uuid); /* it has one, or would not have come so far */
	checkpoint_file_put(a->checkpoint_file, uuid, trace, &identity);
}

static void show(void *user, const struct report *report)
{
	struct analyze *a = user;

	if (report->kind != REPORT_WINDOW || a->options->has_interval) {
		output_report(a->output, &a->identity, report); /* else only triggers want them */
	}
}

static void on_report(void *user, const struct report *report)
{
	struct analyze *a = user;

	clear_progress(a);
	rollup_report(a->rollup, report, show, a);
	if (a->actions) {
		actions_report(a->actions, a->output, &a->identity, report, NULL);
	}
	if (report->kind == REPORT_TOTAL) {
		add_account(a);
	}
	if (output_check(a->output, &a->err) < 0) {
		a->cannot_write = true;
		cmd_stop = true;
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

static int take_time(const char *option, const char *text, uint64_t day_ns, uint64_t *ret,
		     struct err *err)
{
	if (text && units_parse_time(text, day_ns, ret) < 0) {
		return err_raise(err, -EINVAL,
				 "--%s: \"%s\" is not a time (HH:MM:SS[.frac], "
				 "YYYY-MM-DDTHH:MM:SS[.frac][Z] or ns since the epoch)",
				 option, text);
	}
	return 0;
}

/* Whether the range depends on the day on which a trace begins. */
static bool range_needs_day(const struct options *options)
{
	return (options->begin && units_time_needs_day(options->begin)) ||
	       (options->end && units_time_needs_day(options->end));
}

int cmd_range(const struct options *options, const struct recorded_path *path, uint64_t *ret_begin,
	      uint64_t *ret_end, struct err *err)
{
	uint64_t day = 0;
	int r;

	*ret_begin = 0;
	*ret_end = UINT64_MAX;
	if (path && range_needs_day(options)) {
		(void)recorded_first_ns(path, &day,
					err); /* what is wrong is said when it is read */
	}
	r = take_time("begin", options->begin, day, ret_begin, err);
	r = r < 0 ? r : take_time("end", options->end, day, ret_end, err);
	if (r == 0 && *ret_begin >= *ret_end) {
		return err_raise(err, -EINVAL, "--begin is not before --end");
	}
	return r;
}

static int analyze_one(struct analyze *a, struct engine_config *config,
		       const struct recorded_path *path)
{
	struct recorded_run run = {
		.user = a,
		.chunk_bytes = config->chunk_bytes,
		.progress = on_progress,
		.stop = &cmd_stop,
		.on_trace = on_trace,
		.on_pause = a->checkpoint_file ? on_pause : NULL,
	};
	int r = 0;

	a->path = path->name;
	if (range_needs_day(a->options)) {
		r = cmd_range(a->options, path, &config->range_begin, &config->range_end, &a->err);
	}
	if (r == 0) {
		if (config->interval_ns != config->shown_interval_ns) {
			a->rollup = rollup_new(config->shown_interval_ns, config->top,
					       config->selection);
		}
		run.engine = engine_new(config);
		run.range_end = config->range_end;
		r = recorded_analyze(path, &run, &a->err);
		engine_free(run.engine);
		rollup_free(a->rollup);
		a->rollup = NULL;
	}
	clear_progress(a);
	if (r < 0) {
		struct engine_warning warning = { .what = "trace", .packet = -1 };

		say("%s", a->err.text);
		(void)snprintf(warning.message, sizeof(warning.message), "%s", a->err.text);
		output_warning(a->output, NULL, &warning);
	}
	return r;
}

static int analyze_all(struct analyze *a, struct engine_config *config)
{
	struct recorded_paths paths = { 0 };
	int failed = 0;

	for (size_t i = 0; a->options->args[i]; i++) {
		if (recorded_find(a->options->args[i], &paths, &a->err) < 0) {
			say("%s", a->err.text);
			failed = EXIT_FAILED;
		}
	}
	for (size_t i = 0; i < paths.at.count && !cmd_stop; i++) {
		if (analyze_one(a, config, &paths.at.at[i]) < 0) {
			failed = EXIT_FAILED;
		}
	}
	recorded_paths_fini(&paths);
	return failed;
}

void cmd_fill_intervals(const struct options *options, const struct actions *actions,
			struct engine_config *config)
{
	config->shown_interval_ns = options->interval_ns;
	config->interval_ns = actions && options->trigger_interval_ns > 0
				      ? options->trigger_interval_ns
				      : options->interval_ns;
}

static void fill_config(const struct options *options, const struct actions *actions,
			struct engine_config *config)
{
	memcpy(config->analyses, options->analyses, sizeof(config->analyses));
	cmd_fill_intervals(options, actions, config);
	config->wants_windows = options->has_interval;
	config->selection = &options->selection;
	config->periods = &options->periods;
	config->jobs = (unsigned int)options->jobs;
	config->chunk_bytes = options->chunk_bytes;
	config->max_memory = options->max_memory;
	config->on_report = on_report;
	config->on_warning = on_warning;
}

void cmd_partial_file_setup(const struct options *options, const struct engine_config *config,
			    struct partial_file_setup *ret)
{
	*ret = (struct partial_file_setup){ .interval_ns = config->interval_ns,
					    .wants_windows = config->wants_windows };
	memcpy(ret->analyses, config->analyses, sizeof(ret->analyses));
	for (size_t i = 0; i < options->periods.all.count; i++) {
		*vec_push(&ret->periods) = mem_strdup(options->periods.all.at[i]->text);
	}
}

int cmd_checkpoint_file(const struct options *options, const struct engine_config *config,
			struct checkpoint_file **ret, struct err *err)
{
	struct partial_file_setup setup;

	*ret = NULL;
	if (!options->state) {
		return 0;
	}
	if (options->begin || options->end) {
		return err_raise(err, -EINVAL,
				 "--state is for all of a trace: no --begin or --end");
	}
	if (options->trigger_interval_ns > 0) {
		return err_raise(err, -EINVAL, "--state goes with windows of one length only");
	}
	cmd_partial_file_setup(options, config, &setup);
	return checkpoint_file_open(options->state, &setup, analyses, ret, err);
}

/* What was kept of traces goes into the file, whatever else failed. */
static void save_states(struct analyze *a)
{
	if (a->checkpoint_file && checkpoint_file_save(a->checkpoint_file, &a->err) < 0) {
		say("%s", a->err.text);
		a->summary.exit = EXIT_FAILED;
	}
}

int cmd_analyze_into(const struct options *options, struct output *output)
{
	struct analyze a = { .options = options, .output = output };
	struct engine_config config = { 0 };
	struct stats stats = { 0 };
	uint64_t begin = now_monotonic_ns();

	if (cmd_actions(options, &a.actions, &a.err) < 0) {
		say("%s", a.err.text);
		return EXIT_USAGE;
	}
	fill_config(options, a.actions, &config);
	if (a.actions) {
		actions_add_analyses(a.actions, config.analyses);
		config.wants_windows = true;
	}
	config.stats = options->stats ? &stats : NULL;
	if (cmd_range(options, NULL, &config.range_begin, &config.range_end, &a.err) < 0 ||
	    cmd_checkpoint_file(options, &config, &a.checkpoint_file, &a.err) < 0) {
		say("%s", a.err.text);
		actions_free(a.actions);
		return EXIT_USAGE;
	}
	a.shows_progress = isatty(STDERR_FILENO) && options->verbosity >= 0;
	cmd_stop_on_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	config.top = output->top;
	output_start(output);
	a.summary.exit = analyze_all(&a, &config);
	save_states(&a);
	a.summary.wall_ns = now_monotonic_ns() - begin;
	output_end(output, &a.summary);
	if (a.cannot_write) {
		a.summary.exit = EXIT_FAILED;
	}
	if (options->stats) {
		stats_print(&stats, a.summary.events, a.summary.packets, a.summary.bytes,
			    a.summary.wall_ns, say);
	}
	actions_free(a.actions);
	checkpoint_file_free(a.checkpoint_file);
	output_trace_fini(&a.identity);
	return a.summary.exit;
}

int cmd_output(const struct options *options, struct output *output,
	       int (*work)(const struct options *options, struct output *output))
{
	struct err err;
	int status;

	if (output_open(output, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	status = work(options, output);
	if (output_close(output, &err) < 0) {
		say("%s", err.text);
		status = EXIT_FAILED;
	}
	return status;
}

struct output cmd_output_of(const struct options *options)
{
	bool is_text = strcmp(options->format, "text") == 0;

	return (struct output){ .sink = sink_find(options->format),
				.path = options->output,
				.top = options->has_top || is_text ? options->top : 0,
				.shows_freq = options->freq,
				.bins = options->freq_bins,
				.interval_ns = options->interval_ns,
				.analyses = options->analyses };
}

static int run(const struct options *options)
{
	struct output output = cmd_output_of(options);

	return cmd_output(options, &output, cmd_analyze_into);
}

const struct command cmd_analyze = {
	.name = "analyze",
	.args = "TRACE...",
	.summary = "statistics over recorded traces",
	.examples = "  sillage analyze ~/lttng-traces/prod-20260101-120000\n"
		    "  sillage analyze -i 100ms -f json -a cpu TRACE | jq .cpu.busy_ns\n",
	.options = FOR_ANALYZE,
	.args_min = 1,
	.run = run,
};
