/*
 * history-fleet: see history-fleet.h.
 *
 *     store ──► windows by time ──► fleet ──► tables of hosts, triggers
 */
#include "stored/history-fleet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "base/units.h"
#include "engine/engine.h"
#include "fleet/fleet-output.h"
#include "run/run.h"
#include "run/say.h"
#include "stored/stored.h"
#include "trigger/actions.h"

struct history_view {
	const struct options *options;
	struct output *output;
	struct store_reader *reader;
	const struct store_trace *traces;
	size_t trace_count;
	bool *wanted;   /* by trace */
	size_t *number; /* by trace: its number in the fleet */
	bool by_container;
	uint16_t used[ANALYSES_MAX][TABLES_MAX];       /* columns */
	const struct analysis *list[ANALYSES_MAX + 1]; /* that are read; ends with NULL */
	struct fleet_figures figures;
	size_t sort; /* the one that rows are sorted by; SIZE_MAX: none */
	struct store_windows windows;
	uint64_t interval_ns; /* of slots; UINT64_MAX: only the total is wanted */
	struct trace_identity all;
	struct actions *actions; /* NULL: no triggers */
	struct fleet_triggers *triggers;
	struct fleet *fleet;
	const struct fleet_before *before; /* NULL: nothing is compared */
	fleet_show_fn *show;               /* NULL: tables are printed */
	void *user;
	struct run_summary summary;
	bool has_lost; /* windows are missing, as --strict knows */
	struct err err;
};

/* ---- what is read ---- */

static int choose_figures(struct history_view *v)
{
	const struct options *options = v->options;
	int r = 0;

	for (size_t i = 0; options->has_analyses && options->analyses[i]; i++) {
		fleet_figure_add_usual(&v->figures, options->analyses[i], v->by_container);
	}
	for (size_t i = 0; r == 0 && i < options->figures.count; i++) {
		r = fleet_figure_add(&v->figures, options->figures.at[i], v->by_container, &v->err);
	}
	if (r == 0 && !options->has_analyses && options->figures.count == 0) {
		fleet_figure_add_default(&v->figures, v->by_container);
	}
	if (r == 0 && v->figures.at.count == 0) {
		r = err_raise(&v->err, -EINVAL,
			      "these analyses have no figures by container: choose some with "
			      "--figure");
	}
	return r;
}

/* Which column rows are sorted by. */
static int choose_sort(struct history_view *v)
{
	const char *sort = v->options->stored_sort;
	const char *names[FLEET_FIGURES_MAX + 2] = { "host" };
	const char *near;

	v->sort = sort ? fleet_figure_find(&v->figures, sort) : SIZE_MAX;
	if (!sort || strcmp(sort, names[0]) == 0 || v->sort != SIZE_MAX) {
		return 0;
	}
	for (size_t i = 0; i < v->figures.at.count; i++) {
		names[i + 1] = v->figures.at.at[i]->figure.text;
	}
	near = options_nearest(sort, names);
	return near ? err_raise(&v->err, -EINVAL,
				"--sort: no column is called \"%s\"; did you mean \"%s\"?", sort,
				near)
		    : err_raise(&v->err, -EINVAL,
				"--sort: no column is called \"%s\": with --per host it is host, "
				"or a figure that is shown, such as %s",
				sort, names[1]);
}

static int choose_tables(struct history_view *v)
{
	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			const struct table *table = &analyses[a]->tables[t];

			if (v->used[a][t] && scope_is_of_pairs(table->scope)) {
				return err_raise(&v->err, -EINVAL,
						 "a store keeps no pairs of threads (%s.%s)",
						 analyses[a]->name, table->key);
			}
		}
	}
	figure_needs(v->used, v->list);
	return 0;
}

static int choose(struct history_view *v)
{
	int r = choose_figures(v);

	r = r < 0 ? r : choose_sort(v);
	r = r < 0 ? r : run_actions(v->options, &v->actions, &v->err);
	if (r == 0 && v->actions && actions_captures(v->actions)) {
		r = err_raise(&v->err, -EINVAL, "action capture: a store has no packets");
	}
	if (r == 0 && v->actions && actions_use_phases(v->actions)) {
		r = err_raise(&v->err, -EINVAL, "a store keeps no phases");
	}
	for (size_t i = 0; r == 0 && i < v->figures.at.count; i++) {
		figure_uses(&v->figures.at.at[i]->figure, v->used);
	}
	for (size_t i = 0; r == 0 && v->actions && i < actions_count(v->actions); i++) {
		trigger_uses_tables(actions_trigger(v->actions, i), v->used);
	}
	return r < 0 ? r : choose_tables(v);
}

/* ---- windows ---- */

/* The length of the windows of a trace is that of its shortest ones; of several traces the longest
 * counts, so that each has a window in each slot. */
static uint64_t own_interval(const struct history_view *v)
{
	uint64_t *shortest = mem_alloc((v->trace_count + 1) * sizeof(*shortest)), longest = 1;

	VEC_EACH(&v->windows.at, window) {
		uint64_t *at = &shortest[window->trace];

		assert(window->trace < v->trace_count);
		*at = *at == 0 || window->level < *at ? window->level : *at;
	}
	for (size_t i = 0; i < v->trace_count; i++) {
		longest = shortest[i] > longest ? shortest[i] : longest;
	}
	free(shortest);
	return longest;
}

static int choose_windows(struct history_view *v)
{
	const struct options *options = v->options;
	uint64_t lost = 0;
	/* Triggers without -i look at the windows as they were stored: the shortest. */
	uint64_t wanted = options->has_interval                         ? options->interval_ns
			  : v->actions && actions_count(v->actions) > 0 ? 1
									: UINT64_MAX;
	int r = stored_windows(options, v->reader, v->wanted, wanted, &v->windows, &lost, &v->err);

	if (r == 0) {
		v->interval_ns = wanted == 1 ? own_interval(v) : wanted;
		stored_say_windows(options, v->reader, &v->windows, v->interval_ns);
	}
	if (r == 0 && lost > 0 && v->actions && actions_gate(v->actions)) {
		gate_lost(actions_gate(v->actions), "windows are missing in the store");
	}
	return r;
}

/* So slots come in order, too, and a store reads windows fastest in their own order. */
ORDER(by_time, struct store_window, UP_OF(store_window_at) UP(trace))

/* ---- output ---- */

static void print_table(void *user, const struct fleet_table *table)
{
	struct history_view *v = user;

	if (strcmp(v->output->sink->name, "json") == 0) {
		fleet_json(v->output, table);
	} else {
		fleet_text(v->output, table);
	}
}

/* Traces of one host are one row; one without a host is a row of its own. */
void history_view_add_trace(struct history_view *v, const struct trace_identity *trace)
{
	char *name = trace->host ? mem_strdup(trace->host) : output_trace_text(trace, false);

	fleet_add_trace(v->fleet, name);
	free(name);
}

static void add_traces(struct history_view *v)
{
	size_t count = 0;

	for (size_t i = 0; i < v->trace_count && !run_stop; i++) {
		if (v->wanted[i]) {
			v->number[i] = count++;
			history_view_add_trace(v, &v->traces[i].identity);
		}
	}
}

static int go_through(struct history_view *v)
{
	struct report report;
	int r = 0;

	vec_sort(&v->windows.at, by_time);
	for (size_t i = 0; r == 0 && i < v->windows.at.count && !run_stop; i++) {
		const struct store_window *window = &v->windows.at.at[i];

		assert(window->trace < v->trace_count && v->wanted[window->trace]);
		r = store_reader_read(v->reader, window, &report, &v->err);
		if (r == 0) {
			v->summary.events += report.events;
			fleet_add_window(v->fleet, v->number[window->trace], &report);
		}
		if (r == 0 && output_check(v->output, &v->err) < 0) {
			run_stop = true;
		}
	}
	if (r == 0) {
		fleet_end(v->fleet);
	}
	return r;
}

/* @has_no_total: following. */
static void make_fleet(struct history_view *v, bool has_no_total)
{
	const struct options *options = v->options;
	struct fleet_config config = { .interval_ns = v->interval_ns,
				       .shows_windows = options->has_interval,
				       .has_no_total = has_no_total,
				       .by_container = v->by_container,
				       .figures = &v->figures,
				       .before = v->before,
				       .sort = v->sort,
				       .by_host = options->stored_sort &&
						  strcmp(options->stored_sort, "host") == 0,
				       .selection = &options->selection,
				       .show = v->show ? v->show : print_table,
				       .user = v->show ? v->user : v };

	assert(!v->fleet && v->interval_ns > 0);
	if (v->actions) {
		actions_set_interval(v->actions, v->interval_ns);
		v->triggers = fleet_triggers_new(v->actions, v->output, &v->all);
	}
	config.triggers = v->triggers;
	v->fleet = fleet_new(&config);
}

static int show_all(struct history_view *v)
{
	int r;

	make_fleet(v, false);
	add_traces(v);
	output_start(v->output);
	r = go_through(v);
	if (v->triggers) {
		fleet_triggers_end(v->triggers);
	}
	return r;
}

/* ---- the command ---- */

int history_view_want(const struct history_view *v, struct store_reader *reader, struct err *err)
{
	store_reader_want(reader, v->list, &v->options->selection, v->by_container);
	if (v->options->has_analyses || v->options->figures.count > 0) {
		store_reader_say_all(reader);
	}
	return store_reader_want_tables(reader, (const uint16_t(*)[TABLES_MAX])v->used, err);
}

static int open_store(struct history_view *v)
{
	int r = store_reader_open_many(v->options->args, &run_stop, &v->reader, &v->err);

	if (r < 0) {
		return r;
	}
	r = history_view_want(v, v->reader, &v->err);
	v->traces = store_reader_traces(v->reader, &v->trace_count);
	v->wanted = stored_wanted(v->options, v->reader);
	v->number = mem_alloc((v->trace_count + 1) * sizeof(*v->number));
	return r;
}

static void fini(struct history_view *v)
{
	fleet_free(v->fleet);
	fleet_triggers_free(v->triggers);
	run_actions_free(v->actions);
	fleet_figures_fini(&v->figures);
	free(v->wanted);
	free(v->number);
	vec_fini(&v->windows.at);
	store_reader_close(v->reader);
}

static char star[] = "*";

static void init(struct history_view *v, const struct options *options)
{
	v->options = options;
	v->by_container = options->display.per == PER_CONTAINER;
	v->all.host = options->host ? (char *)options->host : star;
	v->output->analyses = v->list;
}

int history_fleet(const struct options *given, struct output *output)
{
	struct options options = *given;
	struct history_view v = { .output = output };
	uint64_t begin = now_monotonic_ns();
	int r;

	init(&v, &options);
	options.begin_option = "--since";
	options.end_option = "--until";
	run_stop_on_signals();
	r = choose(&v);
	r = r < 0 ? r : open_store(&v);
	r = r < 0 ? r : choose_windows(&v);
	v.summary.exit = r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	if (r == 0) {
		r = show_all(&v);
		r = r == 0 && run_stop ? err_raise(&v.err, -EINTR, "interrupted") : r;
		v.summary.exit = r < 0 ? EXIT_FAILED : EXIT_DONE;
	}
	if (r < 0) {
		say("%s", v.err.text);
	}
	v.summary.exit = run_signal_status() != 0 ? run_signal_status() : v.summary.exit;
	v.summary.is_interrupted = run_signal_status() != 0;
	if (v.summary.exit != EXIT_USAGE) {
		v.summary.exit = run_gate(&options, v.actions, v.summary.exit);
	}
	v.summary.wall_ns = now_monotonic_ns() - begin;
	if (v.fleet) {
		output_end(output, &v.summary);
	}
	fini(&v);
	return v.summary.exit;
}

int history_hosts(const struct options *options, struct output *output,
		  const struct fleet_before *before, fleet_show_fn *show, void *user,
		  struct err *err)
{
	struct history_view v = { .output = output, .before = before, .show = show, .user = user };
	int r;

	init(&v, options);
	r = choose_figures(&v);
	v.sort = SIZE_MAX;
	for (size_t i = 0; r == 0 && i < v.figures.at.count; i++) {
		figure_uses(&v.figures.at.at[i]->figure, v.used);
	}
	r = r < 0 ? r : choose_tables(&v);
	r = r < 0 ? r : open_store(&v);
	r = r < 0 ? r : choose_windows(&v);
	if (r == 0) {
		make_fleet(&v, false);
		add_traces(&v);
		r = go_through(&v);
	}
	r = r == 0 && run_stop ? err_raise(&v.err, -EINTR, "interrupted before all was read") : r;
	*err = v.err;
	fini(&v);
	return r;
}

/* ---- following ---- */

int history_view_new(const struct options *options, struct output *output,
		     struct history_view **ret, struct err *err)
{
	struct history_view *v = mem_alloc(sizeof(*v));
	int r;

	v->output = output;
	init(v, options);
	v->interval_ns = options->interval_ns;
	r = choose(v);
	if (r < 0) {
		*err = v->err;
		history_view_free(v);
		return r;
	}
	make_fleet(v, true);
	*ret = v;
	return 0;
}

void history_view_free(struct history_view *v)
{
	if (v) {
		fini(v);
		free(v);
	}
}

static void end_slot(struct history_view *v, const struct store_window *last,
		     void (*shown)(void *user, uint64_t begin, uint64_t events), void *user)
{
	fleet_end_slot(v->fleet);
	shown(user, store_window_at(last), v->summary.events);
	v->summary.events = 0;
}

int history_view_show(struct history_view *v, struct store_reader *reader,
		      const struct store_windows *windows, const uint32_t *number,
		      const atomic_bool *stop,
		      void (*shown)(void *user, uint64_t begin, uint64_t events), void *user,
		      struct err *err)
{
	const struct store_window *last = NULL;
	struct report report;
	int r = 0;

	for (size_t i = 0; r == 0 && i < windows->at.count && !*stop; i++) {
		const struct store_window *window = &windows->at.at[i];

		if (last && store_window_at(last) / v->interval_ns !=
				    store_window_at(window) / v->interval_ns) {
			end_slot(v, last, shown, user);
			(void)output_check(v->output, err);
		}
		r = store_reader_read(reader, window, &report, err);
		if (r == 0) {
			v->summary.events += report.events;
			fleet_add_window(v->fleet, number[window->trace], &report);
		}
		last = window;
	}
	if (r < 0 || *stop) {
		fleet_drop_slot(v->fleet);
		v->summary.events = 0;
	} else if (last) {
		end_slot(v, last, shown, user);
	}
	return r;
}

void history_view_lost(struct history_view *v)
{
	if (!v->has_lost && v->actions && actions_gate(v->actions)) {
		gate_lost(actions_gate(v->actions), "windows are missing in the store");
	}
	v->has_lost = true;
}

int history_view_end(struct history_view *v, int status)
{
	if (v->triggers) {
		fleet_triggers_end(v->triggers);
	}
	return run_gate(v->options, v->actions, status);
}
