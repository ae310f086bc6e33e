/*
 * compare: what changed from one run to another.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/compare/hosts.h"
#include "cmd/compare/side.h"
#include "compare/compare-output.h"
#include "compare/limit.h"
#include "engine/engine.h"
#include "output/sink.h"
#include "run/run.h"
#include "run/say.h"
#include "trigger/gate.h"

struct comparing {
	const struct options *options;
	struct output *output;
	const struct analysis *const *list;
	struct profile *side[2];
	struct comparison comparison;
	/* --phases, in place of both: matched by CPU time and waits, too, whatever is compared. */
	const struct analysis *matched[ANALYSES_MAX];
	compared_phases phases[2];
	phase_pairs pairs;
	VEC(struct limit *) limits; /* NULL: --fail says an objective */
	struct objectives *objectives;
	struct gate *gate; /* NULL: there is none */
	struct err err;
};

/* ---- the gate ---- */

static int add_objective(struct comparing *c, size_t number)
{
	const char *text = c->options->fails.at[number];

	if (c->options->phases) {
		return err_raise(&c->err, -EINVAL,
				 "--fail \"%s\": an objective is over all windows of a run: not "
				 "with --phases",
				 text);
	}
	return objectives_add(c->objectives, text, number, c->options->interval_ns, &c->err);
}

static int parse_limits(struct comparing *c)
{
	const struct options *options = c->options;

	if (options->fails.count > 0 || options->strict) {
		c->gate = gate_new(options->strict);
	}
	c->objectives = objectives_new();
	for (size_t i = 0; i < options->fails.count; i++) {
		bool is_objective = objectives_is_one(options->fails.at[i]);
		struct limit *limit =
			is_objective ? NULL : limit_new(options->fails.at[i], &c->err);

		if (is_objective && add_objective(c, i) < 0) {
			return -EINVAL;
		}
		if (!limit && !is_objective) {
			return -EINVAL;
		}
		*vec_push(&c->limits) = limit;
		if (limit && limit_check_per(limit, options->display.per, &c->err) < 0) {
			return -EINVAL;
		}
		gate_add(c->gate, options->fails.at[i], true);
	}
	return 0;
}

/* Whether the user named analyses; "all" names none. */
static bool is_asked(const struct options *options)
{
	size_t count = 0, all = 0;

	while (options->analyses[count]) {
		count++;
	}
	while (analyses[all]) {
		all++;
	}
	return options->has_analyses && count < all;
}

/* Analyses that the user named, and the side lacks. */
static void look_for_figures(const struct comparing *c, const struct profile *side)
{
	for (size_t i = 0; is_asked(c->options) && c->list[i]; i++) {
		const struct table *tables = c->list[i]->tables;
		bool is_there = false;

		for (size_t t = 0; t < TABLES_MAX && tables[t].columns[0].key; t++) {
			is_there |= profile_find(side, &tables[t]) != NULL;
		}
		if (!is_there) {
			char *text =
				mem_printf("%s: no figures of %s", side->name, c->list[i]->name);

			gate_lost(c->gate, text);
			free(text);
		}
	}
}

/* What is missing in one side, for --strict. */
static void look_for_losses(const struct comparing *c, const struct profile *side)
{
	char *text;

	assert(c->gate);
	if (!side->knows_losses) {
		text = mem_printf("%s: no figures of count tell whether something is missing",
				  side->name);
		gate_lost(c->gate, text);
		free(text);
	}
	if (report_lost_any(&side->lost)) {
		size_t size;
		FILE *out = open_memstream(&text, &size);

		(void)fprintf(out, "%s: ", side->name);
		report_lost_list(out, &side->lost);
		(void)fclose(out);
		gate_lost(c->gate, text);
		free(text);
	}
	if (side->lost_windows > 0) {
		text = mem_printf("%s: %llu windows are missing", side->name,
				  (unsigned long long)side->lost_windows);
		gate_lost(c->gate, text);
		free(text);
	}
	if (side->missing.at.count > 0) {
		char *events = missing_text(side->missing.at.at, side->missing.at.count, true);

		text = mem_printf("%s: not recorded: %s", side->name, events);
		gate_lost(c->gate, text);
		free(text);
		free(events);
	}
}

struct gate_held {
	struct gate *gate;
	size_t number;
	const struct phase_pair *pair; /* NULL: of the whole */
};

static void on_held(void *user, const char *says)
{
	const struct gate_held *held = user;
	char *text;

	if (!held->pair) {
		gate_held(held->gate, held->number, says);
		return;
	}
	text = mem_printf("phase %llu of A, %llu of B: %s",
			  (unsigned long long)held->pair->of[0]->number,
			  (unsigned long long)held->pair->of[1]->number, says);
	gate_held(held->gate, held->number, text);
	free(text);
}

/* Of phases: in each pair.  A figure that some pair has is evaluated. */
static int check_limit(struct comparing *c, size_t i, struct err *why)
{
	struct gate_held held = { .gate = c->gate, .number = i };
	int r = -ENODATA;

	if (!c->options->phases) {
		return limit_check(c->limits.at[i], &c->comparison, on_held, &held, why);
	}
	err_raise(why, r, "no phase of A is like one of B");
	VEC_EACH(&c->pairs, pair) {
		if (phase_pair_is_one(pair)) {
			int one;

			held.pair = pair;
			one = limit_check(c->limits.at[i], &pair->comparison, on_held, &held,
					  r == 0 ? &(struct err){ "" } : why);
			r = r == 0 ? r : one;
		}
	}
	return r;
}

/* What is missing in a side, for --strict. */
static void look_at_sides(const struct comparing *c)
{
	for (int i = 0; i < 2; i++) {
		if (c->side[i]) {
			look_for_losses(c, c->side[i]);
			look_for_figures(c, c->side[i]);
		}
		VEC_EACH(&c->phases[i], phase) {
			look_for_losses(c, phase->profile);
			look_for_figures(c, phase->profile);
		}
	}
}

/* A figure that nobody recorded is a mistake that has to be seen, as in `analyze`. */
static int check_limits(struct comparing *c)
{
	int status = EXIT_DONE;

	assert(c->limits.count == 0 || c->gate);
	for (size_t i = 0; i < c->limits.count; i++) {
		struct err why;
		int r = c->limits.at[i] ? check_limit(c, i, &why) : 0;

		if (r < 0) {
			gate_skip(c->gate, i, why.text);
		}
		if (r == -ENOENT && c->options->verbosity < 0) { /* else the gate says it */
			say("--fail \"%s\" was never evaluated: %s", c->options->fails.at[i],
			    why.text);
		}
		status = r == -ENOENT ? EXIT_FAILED : status;
	}
	if (c->gate) {
		objectives_check(c->objectives, c->gate);
	}
	if (c->gate && c->options->strict) {
		look_at_sides(c);
	}
	return status;
}

/* ---- the command ---- */

static bool is_page(const struct options *options)
{
	return strcmp(options->format, "html") == 0;
}

static void print(const struct comparing *c)
{
	bool lists_all = c->options->display.per != PER_ALL;
	const struct output *output = c->output;

	assert(c->side[0] && c->side[1]);
	if (is_page(c->options)) {
		char *objectives = NULL;
		size_t len;
		FILE *lines = open_memstream(&objectives, &len);

		objectives_text(c->objectives, lines);
		(void)fclose(lines);
		compare_page(&c->comparison, output->top, lists_all, objectives, output->out);
		free(objectives);
	} else if (strcmp(c->options->format, "json") == 0) {
		compare_json(&c->comparison, output->top, output->out);
		objectives_json(c->objectives, output->out);
	} else {
		compare_text(&c->comparison, output->top, lists_all, output->out);
		objectives_text(c->objectives, output->out);
	}
}

static void print_phases(const struct comparing *c)
{
	bool lists_all = c->options->display.per != PER_ALL;
	const struct output *output = c->output;

	if (is_page(c->options)) {
		compare_phases_page(&c->pairs, output->top, lists_all, output->out);
	} else if (strcmp(c->options->format, "json") == 0) {
		compare_phases_json(&c->pairs, output->top, output->out);
	} else {
		compare_phases_text(&c->pairs, output->top, lists_all, output->out);
	}
}

static int read_sides(struct comparing *c)
{
	for (int i = 0; i < 2; i++) {
		const char *arg = c->options->args[i];
		const struct side_objectives objectives = {
			objectives_any(c->objectives) ? c->objectives : NULL, i
		};
		int r = c->options->phases ? side_read_phases(c->options, arg, c->matched,
							      &c->phases[i], &c->err)
					   : side_read(c->options, arg, c->list, &objectives,
						       &c->side[i], &c->err);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static void comparing_fini(struct comparing *c)
{
	vec_free_each(&c->limits, limit_free);
	comparison_fini(&c->comparison);
	phase_pairs_fini(&c->pairs);
	for (int i = 0; i < 2; i++) {
		profile_free(c->side[i]);
		compared_phases_fini(&c->phases[i]);
	}
	objectives_free(c->objectives);
	gate_free(c->gate);
}

static void compare_both(struct comparing *c)
{
	const struct options *options = c->options;

	if (options->phases) {
		phase_pairs_find(c->phases, c->matched, c->list, is_asked(options),
				 options->display.per, &c->pairs);
		print_phases(c);
	} else {
		compare(c->side[0], c->side[1], c->list, is_asked(options), options->display.per,
			&c->comparison);
		print(c);
	}
}

static int compare_into(const struct options *options, struct output *output)
{
	struct comparing c = { .options = options, .output = output, .list = options->analyses };
	int r = parse_limits(&c), status = EXIT_DONE;

	memcpy(c.matched, options->analyses, sizeof(c.matched));
	run_add_states(c.matched);
	if (r == 0) {
		r = read_sides(&c);
	}
	if (r < 0) {
		say("%s", c.err.text);
		status = run_signal_status() != 0 ? run_signal_status()
			 : r == -EINVAL           ? EXIT_USAGE
						  : EXIT_FAILED;
	} else {
		compare_both(&c);
		status = check_limits(&c);
	}
	status = run_end_gate(options, c.gate, status);
	comparing_fini(&c);
	return status;
}

static bool has_side(const struct options *options, enum side_kind kind)
{
	assert(options->args[0] && options->args[1]);
	return side_kind(options->args[0]) == kind || side_kind(options->args[1]) == kind;
}

static bool has_objective(const struct options *options)
{
	for (size_t i = 0; i < options->fails.count; i++) {
		if (objectives_is_one(options->fails.at[i])) {
			return true;
		}
	}
	return false;
}

/* An option that has no effect is a mistake that nobody would see. */
static int check_sides(const struct options *options, struct err *err)
{
	const char *of_traces = options->of_traces;

	if (options->args[2]) {
		return err_raise(err, -EINVAL, "compare: two runs are compared, and %s is one more",
				 options->args[2]);
	}
	if (options->has_interval && !has_objective(options)) {
		return err_raise(err, -EINVAL,
				 "--interval has no effect: only an objective (--fail \"99%% of "
				 "windows: ...\") is about windows");
	}
	for (int i = 0; i < 2; i++) {
		if (has_objective(options) && side_kind(options->args[i]) == SIDE_JSON) {
			return err_raise(err, -EINVAL,
					 "%s: an objective is over windows, and JSON has totals "
					 "only: give the trace or a store of the run",
					 options->args[i]);
		}
	}
	if (options->phases && options->per_host) {
		return err_raise(err, -EINVAL, "--phases has no effect with --per host");
	}
	if (strcmp(options->args[0], "-") == 0 && strcmp(options->args[1], "-") == 0) {
		return err_raise(err, -EINVAL, "compare: standard input is one run, not both");
	}
	if (options->of_stores && !has_side(options, SIDE_STORE)) {
		return err_raise(err, -EINVAL, "--%s has no effect: neither A nor B is a store",
				 options->of_stores);
	}
	if (options->of_both && !has_side(options, SIDE_STORE) && !has_side(options, SIDE_TRACES)) {
		return err_raise(err, -EINVAL,
				 "--%s has no effect: neither A nor B is a trace or a store",
				 options->of_both);
	}
	if (of_traces && !has_side(options, SIDE_TRACES)) {
		return err_raise(err, -EINVAL, "--%s has no effect: neither A nor B is a trace%s",
				 of_traces,
				 period_set_count(&options->periods) > 0
					 ? ", and stores and JSON have what their runs had"
					 : "");
	}
	return 0;
}

static int run(const struct options *options)
{
	struct output output = run_output_of(options);
	struct err err;

	if (check_sides(options, &err) < 0) {
		say("%s", err.text);
		return EXIT_USAGE;
	}
	if (is_page(options)) {
		output.sink = &sink_json; /* it prints nothing of it */
		output.is_whole = true;
	}
	run_stop_on_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	return run_output(options, &output, options->per_host ? compare_hosts : compare_into);
}

const struct command cmd_compare = {
	.name = "compare",
	.args = "A B",
	.summary = "what changed from run A to run B, the largest cost first",
	.examples =
		"  sillage compare before/ after/\n"
		"  sillage compare -a sched,cpu --fail 'sched.wake.p99 > +20%' base.json TRACE\n"
		"  sillage compare --phases -a cpu,io before/ after/\n"
		"  sillage compare -f html -o changes.html before/ after/\n"
		"  sillage compare 'web.db@-2d..-1d' 'web.db@-1d..'\n",
	.options = FOR_COMPARE,
	.args_min = 2,
	.run = run,
};
