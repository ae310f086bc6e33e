/*
 * run: see run.h.
 */
#include "run/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "baseline/baseline.h"
#include "engine/engine.h"
#include "engine/exchange/checkpoint-file.h"
#include "fetch/range.h"
#include "figure/by-name.h"
#include "live/loop.h"
#include "output/sink.h"
#include "recorded/recorded.h"
#include "run/check-selection.h"
#include "run/host-containers.h"
#include "run/running.h"
#include "run/say.h"
#include "trigger/actions.h"

/* ---- traces ---- */

static char *copy_of(const char *first, const struct env_entry *second)
{
	return mem_strdup_if(first ? first : second ? second->text : NULL);
}

void run_identify(struct trace_identity *identity, const struct metadata *types,
		  const struct recorded_path *path)
{
	const struct env_entry *host = metadata_env(types, "hostname");
	const struct env_entry *session = metadata_env(types, "trace_name");
	const struct env_entry *domain = metadata_env(types, "domain");

	output_trace_fini(identity);
	identity->host = copy_of(path->host, host);
	identity->session = copy_of(path->session, session);
	identity->domain = copy_of(NULL, domain);
	identity->path = mem_strdup(path->name);
	identity->tracer = metadata_tracer(types);
	identity->has_uuid = types->has_uuid;
	memcpy(identity->uuid, types->uuid, sizeof(identity->uuid));
}

/* What the trace is called; "": it cannot be read. */
static char *name_of(const struct recorded_path *path)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct trace_identity identity = { 0 };
	char *name = NULL;
	struct err err;

	if (recorded_read_metadata(path, stream, &err) == 0) {
		run_identify(&identity, metadata_stream_types(stream), path);
		name = output_trace_text(&identity, false);
		output_trace_fini(&identity);
	}
	metadata_stream_free(stream);
	return name ? name : mem_strdup("");
}

bool *run_find_alike(const struct recorded_paths *paths)
{
	bool *alike = mem_alloc(paths->at.count + 1);
	struct by_name names = { 0 };

	for (size_t i = 0; i < paths->at.count && paths->at.count > 1 && !run_signal_status();
	     i++) {
		char *name = name_of(&paths->at.at[i]);
		size_t *first = by_name_add(&names, name, sizeof(*first));

		*first = *first > 0 ? *first : i + 1;
		alike[i] = *first <= i;
		alike[*first - 1] |= alike[i];
		free(name);
	}
	by_name_fini(&names);
	return alike;
}

static int take_time(const char *option, const char *text, const struct units_span *span,
		     uint64_t *ret, struct err *err)
{
	uint64_t ago;
	int r;

	if (!text) {
		return 0;
	}
	if (text[0] == '-' && units_parse_duration(text + 1, &ago) == 0) {
		*ret = !span ? *ret : ago < span->last ? span->last - ago : 0;
		return 0;
	}
	r = units_parse_time(text, span, ret);
	if (r == -EDOM) {
		return err_raise(err, r,
				 "%s: %s may be seconds or ns since the epoch: write @%s or %sns",
				 option, text, text, text);
	}
	if (r < 0) {
		return err_raise(err, r,
				 "%s: \"%s\" is not a time (HH:MM:SS[.frac], "
				 "YYYY-MM-DDTHH:MM:SS[.frac][Z], @SECONDS[.frac], ns since the "
				 "epoch, or -DURATION before the newest)",
				 option, text);
	}
	return 0;
}

/* Whether only the times of the trace tell which time is meant. */
static bool needs_span(const char *text)
{
	return text && (text[0] == '-' || units_time_needs_day(text));
}

/* Where such times are looked for. */
static void span_of(const struct recorded_path *path, struct units_span *span)
{
	struct err err; /* reading the trace reports it again */

	if (path->span.last > 0) {
		*span = path->span;
		return;
	}
	(void)recorded_span(path, &span->first, &span->last, &err);
	if (span->first > span->last) {
		*span = (struct units_span){ 0 };
	}
}

/* @span NULL: only what does not need it is known. */
int run_range_in(const struct options *options, const struct units_span *span, uint64_t *ret_begin,
		 uint64_t *ret_end, struct err *err)
{
	bool is_known = span || (!needs_span(options->begin) && !needs_span(options->end));
	struct units_span rest = span ? *span : (struct units_span){ 0 };
	int r;

	*ret_begin = 0;
	*ret_end = UINT64_MAX;
	r = take_time(options->begin_option, options->begin, span, ret_begin, err);
	/* A range over midnight ends on the day after. */
	rest.first = *ret_begin > rest.first && *ret_begin < rest.last ? *ret_begin : rest.first;
	r = r < 0 ? r
		  : take_time(options->end_option, options->end, span ? &rest : NULL, ret_end, err);
	if (r == 0 && options->is_instant && *ret_end > 0) {
		*ret_begin = *ret_end - 1;
	}
	if (r == 0 && *ret_begin >= *ret_end && is_known) {
		return err_raise(err, -EINVAL, "%s is not before %s", options->begin_option,
				 options->end_option);
	}
	return r;
}

int run_range(const struct options *options, const struct recorded_path *path, uint64_t *ret_begin,
	      uint64_t *ret_end, struct err *err)
{
	struct units_span span = { 0 };
	int r;

	if (path && (needs_span(options->begin) || needs_span(options->end))) {
		span_of(path, &span);
	}
	r = run_range_in(options, path ? &span : NULL, ret_begin, ret_end, err);
	if (r == 0 && path && *ret_begin < path->from) {
		*ret_begin = path->from;
	}
	return r;
}

/* ---- traces of relays ---- */

/* A URL that was fetched. */
struct fetched {
	const char *arg;
	struct recorded_paths paths;
	int r;
	struct err err; /* why r is negative */
};

static struct scratch *store;
static VEC(struct fetched) all_fetched;

static void forget_fetched(void)
{
	for (size_t i = 0; i < all_fetched.count; i++) {
		recorded_paths_fini(&all_fetched.at[i].paths);
	}
	vec_fini(&all_fetched);
	scratch_free(store);
}

/* What a range of a session is. */
static int resolve(void *user, const struct units_span *span, uint64_t *ret_from,
		   uint64_t *ret_begin, uint64_t *ret_end, struct err *err)
{
	const struct options *options = user;
	int r = run_range_in(options, span, ret_begin, ret_end, err);

	*ret_from = 0;
	if (r == 0 && options->from && !options->from_beginning) {
		r = take_time("--from", options->from, span, ret_from, err);
	}
	if (r == 0 && *ret_from >= *ret_end) {
		r = err_raise(err, -EINVAL, "--from is not before --end");
	}
	return r;
}

static int fetch(const struct options *options, const char *arg, struct recorded_paths *paths,
		 struct err *err)
{
	const struct range_config config = {
		.stop = &run_stop,
		.shows_progress = isatty(STDERR_FILENO) && options->verbosity >= 0,
		.say = say,
		.verbosity = options->verbosity,
		.needs_span = needs_span(options->begin) || needs_span(options->end) ||
			      needs_span(options->from),
		.resolve = resolve,
		.user = (void *)options,
	};
	struct url url;
	int r = url_parse(arg, &url, err);

	if (r < 0) {
		return r;
	}
	if (options->state) {
		r = err_raise(err, -EINVAL, "%s: --state needs a trace's directory, or `live`",
			      arg);
	} else if (options->from && strcmp(options->from, "now") == 0) {
		r = err_raise(err, -EINVAL, "--from now: only `live` and `top` begin now");
	} else if (!store && !(store = scratch_new(err))) {
		r = -EIO;
	} else {
		r = range_fetch(&config, &url, store, paths, err);
	}
	url_fini(&url);
	return r;
}

static int get_paths(const struct options *options, const char *arg, struct recorded_paths *paths,
		     struct err *err)
{
	return running_is(arg) ? running_find(arg, options->verbosity >= 0, paths, err)
			       : fetch(options, arg, paths, err);
}

int run_find(const struct options *options, const char *arg, struct recorded_paths *paths,
	     struct err *err)
{
	struct fetched *new;

	if (!url_is_one(arg) && !running_is(arg)) {
		return options->from ? err_raise(err, -EINVAL,
						 "%s: --from needs a URL; there is --begin", arg)
				     : recorded_find(arg, paths, err);
	}
	for (size_t i = 0; i < all_fetched.count; i++) {
		if (strcmp(all_fetched.at[i].arg, arg) == 0) {
			recorded_paths_copy(paths, &all_fetched.at[i].paths);
			*err = all_fetched.at[i].err;
			return all_fetched.at[i].r;
		}
	}
	if (all_fetched.count == 0) {
		(void)atexit(forget_fetched);
	}
	new = vec_push(&all_fetched);
	*new = (struct fetched){ .arg = arg };
	new->r = get_paths(options, arg, &new->paths, &new->err);
	assert(new == &all_fetched.at[all_fetched.count - 1]); /* it has not moved */
	recorded_paths_copy(paths, &new->paths);
	*err = new->err;
	return new->r;
}

bool run_misses_range(const struct report *total, const struct engine_config *config)
{
	bool has_range = config->range_begin > 0 || config->range_end < UINT64_MAX;

	return has_range && total->kind == REPORT_TOTAL && total->events == 0 &&
	       total->begin >= total->end;
}

/* ---- the engine's configuration ---- */

void run_fill_intervals(const struct options *options, const struct actions *actions,
			struct engine_config *config)
{
	config->shown_interval_ns = options->interval_ns;
	config->interval_ns = actions && options->trigger_interval_ns > 0
				      ? options->trigger_interval_ns
				      : options->interval_ns;
	assert(config->interval_ns > 0);
	assert(config->shown_interval_ns % config->interval_ns == 0);
}

bool run_wants_phases(const struct options *options, const struct actions *actions)
{
	return options->phases || (actions && actions_use_phases(actions));
}

void run_add_states(const struct analysis *list[ANALYSES_MAX])
{
	const struct analysis *old[ANALYSES_MAX];
	size_t count = 0;

	memcpy(old, list, sizeof(old));
	for (size_t i = 0; analyses[i]; i++) { /* in the order of all */
		bool is = strcmp(analyses[i]->name, "cpu") == 0 ||
			  strcmp(analyses[i]->name, "waits") == 0;

		for (size_t k = 0; old[k] && !is; k++) {
			is = old[k] == analyses[i];
		}
		list[count] = analyses[i];
		count += is;
	}
	list[count] = NULL;
}

/* The triggers in their order, those of --fail last. */
static int add_all(const struct options *options, struct actions *actions, struct err *err)
{
	const char *action = options->on_trigger                           ? options->on_trigger
			     : options->has_history || options->has_before ? "capture"
									   : "print";
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->triggers.count; i++) {
		r = actions_add(actions, NULL, options->triggers.at[i], action, err);
	}
	for (size_t i = 0; r == 0 && i < options->trigger_files.count; i++) {
		r = actions_add_file(actions, options->trigger_files.at[i], err);
	}
	for (size_t i = 0; r == 0 && i < options->fails.count; i++) {
		r = actions_add(actions, NULL, options->fails.at[i], "print", err);
		if (r < 0) {
			return err_note(err, r, "--fail");
		}
	}
	for (size_t i = 0; r == 0 && !options->per_host && i < actions_count(actions); i++) {
		if (trigger_hosts(actions_trigger(actions, i)) > 0) {
			r = err_raise(err, -EINVAL,
				      "trigger \"%.100s\": `on N hosts` is for `sillage history "
				      "--per host`, which sees several hosts",
				      trigger_name(actions_trigger(actions, i)));
		}
	}
	return r;
}

static struct gate *gate_of(const struct options *options, const struct actions *actions)
{
	struct gate *gate = gate_new(options->strict);
	size_t count = actions_count(actions);

	assert(options->fails.count <= count);
	for (size_t i = 0; i < count; i++) {
		gate_add(gate, trigger_name(actions_trigger(actions, i)),
			 i >= count - options->fails.count);
	}
	return gate;
}

int run_actions(const struct options *options, struct actions **ret_actions, struct err *err)
{
	struct actions *actions = actions_new(say);
	int r = add_all(options, actions, err);

	r = r < 0 ? r : run_check_selection(options, actions, err);
	r = r < 0 ? r : baseline_check(options, actions, err);
	*ret_actions = NULL;
	if (options->dry_run) {
		actions_dry_run(actions);
	}
	if (r < 0 || (actions_count(actions) == 0 && !options->strict)) {
		actions_free(actions);
		return r;
	}
	actions_set_interval(actions, options->trigger_interval_ns ? options->trigger_interval_ns
								   : options->interval_ns);
	actions_set_gate(actions, gate_of(options, actions));
	*ret_actions = actions;
	return 0;
}

void run_actions_free(struct actions *actions)
{
	struct gate *gate = actions ? actions_gate(actions) : NULL;

	actions_free(actions);
	gate_free(gate);
}

int run_end_gate(const struct options *options, const struct gate *gate, int status)
{
	const char *failure = status == EXIT_DONE ? NULL
			      : status > 128      ? "interrupted before all was read"
						  : "the run failed";
	char last[SAY_BYTES], why[SAY_BYTES + 32];
	struct err err;

	if (!gate) {
		return status;
	}
	say_last(last);
	if (status != EXIT_DONE && status <= 128 && last[0]) {
		(void)snprintf(why, sizeof(why), "the run failed: %s", last);
		failure = why;
	}
	if (options->verbosity >= 0) {
		gate_say(gate, say);
	}
	if ((options->junit && gate_write_junit(gate, options->junit, failure, &err) < 0) ||
	    (options->tap && gate_write_tap(gate, options->tap, failure, &err) < 0)) {
		say("%s", err.text);
		return status == EXIT_DONE ? EXIT_FAILED : status;
	}
	status = status == EXIT_DONE ? gate_status(gate) : status;
	if (status == EXIT_LOST && options->verbosity < 0) {
		gate_say_lost(gate, say);
	}
	return status;
}

void run_say_unmatched(const struct options *options)
{
	char *selection = selection_asked(&options->selection);

	if (options->verbosity < 0) {
		say("nothing matched %s", selection);
	}
	free(selection);
}

int run_gate(const struct options *options, struct actions *actions, int status)
{
	if (!actions || !actions_gate(actions)) {
		return status;
	}
	actions_end_gate(actions);
	return run_end_gate(options, actions_gate(actions), status);
}

void run_fill_lists(const struct options *options, const struct actions *actions,
		    struct engine_config *config)
{
	config->wants_places = options->display.per == PER_CONTAINER;
	config->wants_containers =
		config->wants_places || (actions && actions_use_containers(actions));
	config->wants_order = actions;
	config->host_containers = run_host_containers(options);
}

void run_list_containers(struct output *output, struct engine_config *config)
{
	output->hides_containers |= !config->wants_containers;
	config->wants_containers = true;
}

void run_partial_file_setup(const struct options *options, const struct engine_config *config,
			    struct partial_file_setup *ret)
{
	*ret = (struct partial_file_setup){ .interval_ns = config->interval_ns,
					    .wants_windows = config->wants_windows };
	memcpy(ret->analyses, config->analyses, sizeof(ret->analyses));
	for (size_t i = 0; i < period_set_count(&options->periods); i++) {
		*vec_push(&ret->periods) = period_set_text(&options->periods, i);
	}
}

int run_checkpoint_file(const struct options *options, const struct engine_config *config,
			struct checkpoint_file **ret, struct err *err)
{
	struct partial_file_setup setup;

	int r;

	*ret = NULL;
	if (!options->state) {
		return options->has_state_every
			       ? err_raise(err, -EINVAL, "--state-every needs --state")
			       : 0;
	}
	if (options->begin || options->end) {
		return err_raise(err, -EINVAL,
				 "--state needs the whole trace: no --begin, no --end");
	}
	if (options->from_ns > 0) {
		return err_raise(err, -EINVAL, "--state needs the whole trace: no time in --from");
	}
	if (options->trigger_interval_ns > 0) {
		return err_raise(err, -EINVAL,
				 "--state cannot be combined with --trigger-interval");
	}
	run_partial_file_setup(options, config, &setup);
	setup.selection = selection_text(&options->selection);
	r = checkpoint_file_open(options->state, &setup, analyses, ret, err);
	if (r == 0 && checkpoint_file_note(*ret)) {
		say("%s", checkpoint_file_note(*ret));
	}
	return r;
}

/* ---- relays ---- */

int run_urls(const char **args, struct url **ret_urls, size_t *ret_count, struct err *err)
{
	struct url *urls;
	size_t count = 0;

	while (args[count]) {
		count++;
	}
	urls = mem_alloc((count + 1) * sizeof(*urls));
	*ret_urls = urls;
	*ret_count = count;
	for (size_t i = 0; i < count; i++) {
		int r = url_parse(args[i], &urls[i], err);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

void run_urls_free(struct url *urls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		url_fini(&urls[i]);
	}
	free(urls);
}

void run_fill_loop(const struct options *options, struct loop_config *config)
{
	memcpy(config->engine.analyses, options->analyses, sizeof(config->engine.analyses));
	if (config->actions) {
		actions_add_analyses(config->actions, config->engine.analyses);
	}
	run_fill_lists(options, config->actions, &config->engine);
	config->wants_phases = run_wants_phases(options, config->actions);
	if (config->wants_phases) {
		run_add_states(config->engine.analyses);
	}
	run_fill_intervals(options, config->actions, &config->engine);
	config->engine.is_usual = !options->has_analyses && options->command != FOR_TOP;
	config->engine.wants_windows = true;
	config->engine.range_end = UINT64_MAX;
	config->engine.selection = &options->selection;
	config->engine.periods = &options->periods;
	config->engine.jobs = (unsigned int)options->jobs;
	config->engine.chunk_bytes = options->chunk_bytes;
	config->engine.max_memory = options->max_memory;
	config->from_beginning = options->from_beginning;
	config->from_ns = config->engine.range_begin = options->from_ns;
	config->regenerates = options->regenerate;
	config->retry_ns = options->retry_ns;
	config->grace_ns = options->grace_ns;
	config->state_every_ns = options->state_every_ns;
	config->lag_limit_ns = strcmp(options->on_lag, "skip") == 0 ? options->lag_limit_ns : 0;
	config->duration_ns = options->duration_ns;
	config->windows = options->windows;
	config->metrics = options->metrics;
	config->server_config = options->server_config;
	config->is_insecure = options->is_insecure;
	config->has_small_metrics =
		options->metrics_profile && strcmp(options->metrics_profile, "small") == 0;
	config->web = options->web;
	config->verbosity = options->verbosity;
	config->say = say;
}

/* ---- output ---- */

int run_output(const struct options *options, struct output *output,
	       int (*work)(const struct options *options, struct output *output))
{
	struct err err;
	int status;

	assert(output->sink && output->sink->report);
	if (output_open(output, &err) < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	status = work(options, output);
	if (output_close(output, &err) < 0) {
		return run_failed(output, &err);
	}
	if (output->has_no_rows && options->verbosity >= 0) {
		say("--table %s: it has no rows here", output->tables);
	}
	return status;
}

int run_failed(const struct output *output, const struct err *err)
{
	if (output->failure == EPIPE && !output->path) {
		return EXIT_CLOSED;
	}
	say("%s", err->text);
	return output->failure == EINTR && run_stop ? run_signal_status() : EXIT_FAILED;
}

struct output run_output_of(const struct options *options)
{
	bool is_text = strcmp(options->format, "text") == 0;

	return (struct output){ .sink = sink_find(options->format),
				.is_text = is_text,
				.path = options->output,
				.tables = options->tables,
				.top = options->has_top || is_text ? options->top : 0,
				.has_top = options->has_top,
				.has_per = options->has_per,
				.has_analyses = options->has_analyses,
				.has_width = options->has_width,
				.width = options->width,
				.shows_freq = options->freq,
				.bins = options->freq_bins,
				.shows_buckets = options->buckets,
				.shows_phases = options->phases,
				.interval_ns = options->interval_ns,
				.analyses = options->analyses,
				.display = &options->display };
}
