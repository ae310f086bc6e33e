/*
 * trigger: see trigger.h.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "trigger/trigger-parts.h"

struct trigger *trigger_new(const char *name, const char *text, struct err *err)
{
	struct trigger *trigger = mem_alloc(sizeof(*trigger));
	struct scan scan = scan_of("trigger", text, err);

	trigger->text = mem_strdup(text);
	trigger->name = mem_strdup(name ? name : text);
	if (!trigger_parse(&scan, trigger)) {
		trigger_free(trigger);
		return NULL;
	}
	assert(!trigger->subject || trigger->subject->table->scope != SCOPE_TRACE);
	return trigger;
}

void trigger_free(struct trigger *trigger)
{
	if (!trigger) {
		return;
	}
	for (size_t i = 0; i < trigger->states.count; i++) {
		free(trigger->states.at[i].trace);
		vec_fini(&trigger->states.at[i].rows);
		budget_fini(&trigger->states.at[i].budget);
		auto_rows_fini(&trigger->states.at[i]);
	}
	vec_fini(&trigger->states);
	vec_fini(&trigger->all);
	vec_fini(&trigger->figures.at);
	trigger_condition_free(trigger->when);
	trigger_condition_free(trigger->until);
	free(trigger->name);
	free(trigger->text);
	free(trigger);
}

const char *trigger_name(const struct trigger *trigger)
{
	return trigger->name;
}

const char *trigger_text(const struct trigger *trigger)
{
	return trigger->text;
}

uint64_t trigger_hosts(const struct trigger *trigger)
{
	return trigger->hosts;
}

uint64_t trigger_every(const struct trigger *trigger)
{
	return trigger->every_ns;
}

/* ---- conditions ---- */

/* What a condition is evaluated on. */
struct trigger_context {
	const struct report *report;
	const struct figure *subject; /* NULL: the rows of all figures together */
	const struct report_row *row; /* of the subject's table; NULL: not in the window */
	const struct trace_state *state;
	const struct baseline_window *baseline; /* NULL: the trigger needs none */
};

/* Whether the row is beyond the limit that was found for it; *ret_limit is not changed if it has
 * none in this window. */
static bool auto_holds(const struct condition *c, const struct trigger_context *context,
		       const struct report_row *row, double *ret_limit)
{
	const struct auto_row *found =
		row || figure_is_of_sums(&c->figure)
			? auto_find(context->state, c, row, context->report->end)
			: NULL;

	*ret_limit = found ? found->shown : *ret_limit;
	return found && found->is_beyond;
}

/* Whether the row, or the one that is missing, is beyond its baseline. */
static bool baseline_holds(const struct condition *c, const struct trigger_context *context,
			   const struct report_row *row, double found, double *ret_limit)
{
	const struct baseline_bound *bound = baseline_find(context->baseline, c, row);

	*ret_limit = bound ? bound->limit : NAN;
	return bound && bound->has_value && !isnan(bound->limit) &&
	       op_holds(c->op, found, bound->limit);
}

/* Whether the row is beyond a limit that is its own. */
static bool is_beyond_own(const struct condition *c, const struct trigger_context *context,
			  const struct report_row *row, double found)
{
	double limit = NAN;

	return c->is_auto ? auto_holds(c, context, row, &limit)
			  : c->is_baseline && baseline_holds(c, context, row, found, &limit);
}

/* Without a row: a quotient has no value then. */
static double value_of_none(const struct figure *figure)
{
	return figure->per ? NAN : 0;
}

/* The row that decides a comparison: with > the one with the largest value, with < the one with the
 * smallest; of those with a limit of their own first one that is beyond it.  NULL: the table has no
 * selected row. */
static const struct report_row *deciding_row(const struct condition *c,
					     const struct trigger_context *context,
					     const struct report_table *table, double *ret_value)
{
	bool is_beyond, best_is_beyond = false;
	const struct report_row *best = NULL;

	if (figure_is_of_sums(&c->figure)) {
		*ret_value = figure_value(&c->figure, context->report, NULL);
		return NULL;
	}
	*ret_value = value_of_none(&c->figure);
	if (context->subject && table && table->table == context->subject->table) {
		*ret_value = context->row ? figure_value(&c->figure, context->report, context->row)
					  : value_of_none(&c->figure);
		return context->row;
	}
	for (size_t r = 0; table && r < table->row_count; r++) {
		const struct report_row *row = &table->rows[r];
		double found;

		if (!which_chooses(&c->figure, row)) {
			continue;
		}
		found = figure_value(&c->figure, context->report, row);
		is_beyond = is_beyond_own(c, context, row, found);
		if (!best || (is_beyond && !best_is_beyond) ||
		    (is_beyond == best_is_beyond && op_is_further(c->op, found, *ret_value))) {
			*ret_value = found;
			best_is_beyond = is_beyond;
			best = row;
		}
	}
	return best;
}

static void fill_baseline(struct trigger_value *value, const struct baseline_bound *bound)
{
	value->is_baseline = true;
	value->baseline = bound ? bound->median : NAN;
	value->days = bound ? bound->days : 0;
	value->tid = bound ? bound->tid : value->tid;
}

/* The table that the comparison is about; NULL: the window has none. */
static const struct report_table *compared_table(const struct condition *c,
						 const struct trigger_context *context)
{
	return c->is_baseline ? baseline_table(context->baseline, c)
			      : figure_table(&c->figure, context->report);
}

static bool comparison_holds(const struct condition *c, const struct trigger_context *context,
			     struct trigger_event *event)
{
	const struct figure *figure = &c->figure;
	const struct report_table *table = compared_table(c, context);
	struct trigger_value *value;
	const struct report_row *row;
	double found, limit = c->is_auto || c->is_baseline ? NAN : c->limit;
	bool holds;

	if (figure_is_unknown(figure, context->report)) {
		return false; /* and has no value */
	}
	row = deciding_row(c, context, table, &found);
	holds = c->is_auto       ? auto_holds(c, context, row, &limit)
		: c->is_baseline ? baseline_holds(c, context, row, found, &limit)
				 : op_holds(c->op, found, limit);
	if (!event || event->count == TRIGGER_VALUES_MAX) {
		return holds;
	}
	assert(event->count < TRIGGER_VALUES_MAX);
	value = &event->values[event->count++];
	*value = (struct trigger_value){ .figure = figure->text,
					 .holds = holds,
					 .unit = figure_unit(figure),
					 .is_rate = figure->is_rate,
					 .is_share = figure->is_share,
					 .is_quotient = figure->per != NULL,
					 .value = found,
					 .limit = limit,
					 .op = c->op,
					 .tid = -1 };
	if (row) {
		struct report_row named = *row;

		if (table->table->scope == SCOPE_PROCESS) {
			named.by = NULL; /* its container is there only if it is shown */
		}
		_Static_assert(sizeof(value->row) >= CELL_MAX, "a name fits");
		format_row(value->row, table->table, &named, FORMAT_WHOLE_NAME);
		value->tid = figure->table->scope == SCOPE_THREAD ? row->thread->tid : -1;
	}
	if (c->is_baseline) {
		fill_baseline(value, baseline_find(context->baseline, c, row));
	}
	return holds;
}

/* @event gets the values of all comparisons, also of those that do not decide; it may be NULL. */
static bool holds(const struct condition *c, const struct trigger_context *context,
		  struct trigger_event *event)
{
	bool left, right;

	if (c->kind == NODE_COMPARE) {
		return comparison_holds(c, context, event);
	}
	left = holds(c->left, context, event);
	right = holds(c->right, context, event);
	return c->kind == NODE_AND ? left && right : left || right;
}

bool trigger_has_value(const struct condition *c, const struct report *report)
{
	const struct figure *figure = &c->figure;
	const struct report_table *table = figure_table(figure, report);
	bool has_any = figure_is_sum(figure) ||
		       (figure_is_of_sums(figure) && !isnan(figure_value(figure, report, NULL)));

	for (size_t r = 0; table && r < table->row_count && !figure_is_of_sums(figure); r++) {
		const struct report_row *row = &table->rows[r];

		has_any |= which_chooses(figure, row) && figure_has_value(figure, row) &&
			   !isnan(figure_value(figure, report, row));
	}
	return has_any && !figure_is_unknown(figure, report);
}

bool trigger_is_beyond(const struct condition *c, const struct report *report)
{
	const struct trigger_context context = { .report = report };

	assert(!c->is_auto && !c->is_baseline);
	return comparison_holds(c, &context, NULL);
}

/* Whether the window has what decides if the condition holds. */
static bool is_measured(const struct condition *c, const struct trigger_context *context)
{
	if (c->kind == NODE_AND) {
		return is_measured(c->left, context) && is_measured(c->right, context);
	}
	if (c->kind == NODE_OR) {
		return is_measured(c->left, context) || is_measured(c->right, context);
	}
	if (c->is_auto) {
		return auto_has_any(context->state, c, context->report->end);
	}
	if (c->is_baseline) {
		return baseline_has_any(context->baseline, c);
	}
	/* A row that is missing counts as 0, but nothing is divided by nothing. */
	return c->figure.per ? trigger_has_value(c, context->report)
			     : !figure_is_unknown(&c->figure, context->report);
}

/* Notes which rows there are, and of those that are not the nearest.  What an event is called is
 * known before: see trigger-uses.c.  Of a quotient of sums the rows of the first figure may be
 * those of errors, of which there are none. */
static void note_rows(struct condition *c, const struct report *report)
{
	const struct figure *figure = figure_is_of_sums(&c->figure) ? c->figure.per : &c->figure;
	const struct report_table *table;

	if (c->kind != NODE_COMPARE) {
		note_rows(c->left, report);
		note_rows(c->right, report);
		return;
	}
	c->has_row |= figure->table->scope == SCOPE_EVENT || (!figure->has_id && !figure->pattern);
	table = c->has_row ? NULL : figure_table(figure, report);
	for (size_t r = 0; table && r < table->row_count && !c->has_row; r++) {
		c->has_row = which_chooses(figure, &table->rows[r]);
	}
	if (table && !c->has_row && !c->near) {
		c->near = which_nearest(figure, table);
	}
}

/* The first comparison whose row never was there; NULL: there is none. */
static const struct condition *rowless(const struct trigger *trigger)
{
	for (size_t i = 0; i < trigger->when_count; i++) {
		if (!trigger->all.at[i]->has_row) {
			return trigger->all.at[i];
		}
	}
	return NULL;
}

/* ---- states ---- */

static struct trace_state *state_of(struct trigger *trigger, const struct trace_identity *trace)
{
	char *name = output_trace_text(trace, true);
	struct trace_state *state;

	for (size_t i = 0; i < trigger->states.count; i++) {
		if (strcmp(trigger->states.at[i].trace, name) == 0) {
			free(name);
			return &trigger->states.at[i];
		}
	}
	state = vec_push(&trigger->states);
	*state = (struct trace_state){ .trace = name };
	return state;
}

ORDER(by_key, struct which_identity, UP(of) UP(which))

/* The evaluation of one window of a trace. */
struct evaluation {
	struct trigger *trigger;
	struct trace_state *state; /* its rows: those after this window */
	struct trigger_event *event;
	struct row_state *old; /* the rows before this window, sorted by key */
	size_t old_count;
};

bool trigger_event_is_further(const struct trigger_event *event, const struct trigger_event *than)
{
	if (event->count == 0 || than->count == 0) { /* not known any more */
		return event->count > 0;
	}
	return op_is_further(event->values[0].op, event->values[0].value, than->values[0].value);
}

/* Adds a row that fires, or holds, to the event.  The event shows the values of the row with the
 * largest first value; if that comparison is <, of the one with the smallest.  A row may hold
 * without a value: its figures are not known any more, and `until` has not said that it ended. */
static void fire(const struct evaluation *evaluation, const struct trigger_context *context,
		 uint64_t since)
{
	struct trigger_event *shown = evaluation->event, event = *shown;
	bool is_first = shown->rows++ == 0;

	event.count = 0;
	(void)holds(evaluation->trigger->when, context, &event);
	if (is_first || trigger_event_is_further(&event, shown)) {
		event.begin = since;
		event.rows = shown->rows;
		*shown = event;
	}
}

/* One step of the state machine of a row; @now: whether the condition holds in this window. */
static void step(const struct evaluation *evaluation, const struct trigger_context *context,
		 struct row_state row, bool now)
{
	const struct trigger *trigger = evaluation->trigger;
	const struct report *report = context->report;
	bool fires = false;

	if (row.has_fired) {
		row.has_fired = !(trigger->until ? holds(trigger->until, context, NULL) : !now);
	}
	row.since = now && !row.holds ? report->begin : row.since;
	row.holds = now;
	if (now && !row.has_fired && report->end - row.since >= trigger->for_ns &&
	    (evaluation->state->fired == 0 ||
	     report->end - evaluation->state->fired >= trigger->every_ns)) {
		row.has_fired = fires = true;
	}
	if (trigger->hosts > 0 ? row.has_fired : fires) {
		fire(evaluation, context, row.since);
	}
	row.is_seen = false;
	if (row.holds || row.has_fired) {
		*vec_push(&evaluation->state->rows) = row;
	}
}

static void step_row(const struct evaluation *evaluation, const struct trigger_context *context,
		     struct which_identity key, bool now)
{
	struct row_state *found = NULL, none = { .key = key };

	if (evaluation->old_count > 0) {
		found = bsearch(&key, evaluation->old, evaluation->old_count,
				sizeof(*evaluation->old), by_key);
	}
	if (found) {
		assert(found->holds || found->has_fired);
		found->is_seen = true;
	}
	step(evaluation, context, found ? *found : none, now);
}

/* Evaluates each row by itself.  The condition does not hold in rows that are missing from the
 * window.  If no row is in the window, one with the value 0 is assumed. */
static void step_rows(const struct evaluation *evaluation, struct trigger_context *context)
{
	const struct report_table *table = figure_table(context->subject, context->report);
	bool has_rows = false;

	for (size_t r = 0; table && r < table->row_count; r++) {
		if (which_chooses(context->subject, &table->rows[r])) {
			context->row = &table->rows[r];
			step_row(evaluation, context,
				 which_identity(context->subject->table, context->row),
				 holds(evaluation->trigger->when, context, NULL));
			has_rows = true;
		}
	}
	context->row = NULL;
	if (!has_rows) {
		step_row(evaluation, context, (struct which_identity){ UINT64_MAX, UINT64_MAX },
			 holds(evaluation->trigger->when, context, NULL));
	}
	for (size_t i = 0; i < evaluation->old_count; i++) {
		if (!evaluation->old[i].is_seen) {
			step(evaluation, context, evaluation->old[i], false);
		}
	}
	vec_sort(&evaluation->state->rows, by_key);
}

bool trigger_skips(const struct trigger *trigger, const struct report *report)
{
	return report->kind != REPORT_WINDOW || report->end <= report->begin ||
	       (trigger->wants_complete && !report->complete);
}

/* False: the window does not count. */
static bool take_budget(const struct evaluation *evaluation, const struct report *report)
{
	struct budget *budget = &evaluation->state->budget;
	enum budget_verdict verdict = budget_take(evaluation->trigger, budget, report);

	evaluation->event->begin = report->begin;
	evaluation->event->budget = budget_state(evaluation->trigger, budget);
	evaluation->event->budget.counts = verdict != BUDGET_NO_VALUE;
	evaluation->event->budget.is_charged = verdict == BUDGET_BAD;
	return verdict != BUDGET_NO_VALUE;
}

static void evaluate(struct trigger *trigger, const struct trace_identity *trace,
		     const struct report *report, const struct baseline_window *baseline,
		     struct trigger_event *event)
{
	struct trigger_context context = { .report = report,
					   .subject = trigger->subject,
					   .baseline = baseline };
	struct evaluation evaluation = { .trigger = trigger, .event = event };

	evaluation.state = state_of(trigger, trace);
	context.state = evaluation.state;
	auto_take_window(trigger, evaluation.state, report);
	evaluation.state->was_measured |= trigger->objective > 0
						  ? take_budget(&evaluation, report)
						  : is_measured(trigger->when, &context);
	note_rows(trigger->when, report);
	evaluation.old = evaluation.state->rows.at;
	evaluation.old_count = evaluation.state->rows.count;
	memset(&evaluation.state->rows, 0, sizeof(evaluation.state->rows));
	if (trigger->subject) {
		step_rows(&evaluation, &context);
	} else {
		step_row(&evaluation, &context, (struct which_identity){ 0, 0 },
			 trigger->objective > 0 ? notice_is_spent(&event->budget)
						: holds(trigger->when, &context, NULL));
	}
	free(evaluation.old);
	if (event->rows > 0 && trigger->hosts == 0) {
		evaluation.state->fired = report->end;
	}
}

bool trigger_evaluate(struct trigger *trigger, const struct trace_identity *trace,
		      const struct report *report, struct trigger_event *event)
{
	struct baseline_window baseline = { 0 };

	*event = (struct trigger_event){ .name = trigger->name,
					 .text = trigger->text,
					 .end = report->end };
	if (trigger_skips(trigger, report)) {
		return false;
	}
	if (trigger->uses_baseline) {
		baseline_window_init(&baseline, trigger, trace, report);
		evaluate(trigger, trace, &baseline.report, &baseline, event);
		baseline_window_fini(&baseline);
	} else {
		evaluate(trigger, trace, report, NULL, event);
	}
	return event->rows > 0;
}

bool trigger_is_of_run(const struct trigger *trigger)
{
	return trigger->objective > 0 && trigger->objective_ns == 0;
}

size_t trigger_budget_at(const struct trigger *trigger, size_t at, const char **ret_trace,
			 struct trigger_budget *ret)
{
	if (trigger->objective == 0) {
		return 0;
	}
	if (at < trigger->states.count) {
		*ret_trace = trigger->states.at[at].trace;
		*ret = budget_state(trigger, &trigger->states.at[at].budget);
	}
	return trigger->states.count;
}

void trigger_absent(struct trigger *trigger, const struct trace_identity *trace)
{
	state_of(trigger, trace)->rows.count = 0;
}

/* ---- what it has seen ---- */

void trigger_set_interval(struct trigger *trigger, uint64_t ns)
{
	trigger->interval_ns = ns;
}

bool trigger_was_measured(const struct trigger *trigger, char *why, size_t size)
{
	const struct condition *lacks = rowless(trigger);
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < trigger->states.count; i++) {
		uint64_t left = auto_warms_up(&trigger->states.at[i]);

		least = left < least ? left : least;
	}
	if (trigger->states.count == 0) {
		(void)snprintf(why, size, "there was no window to look at");
	} else if (least > 0 && least < UINT64_MAX) {
		(void)snprintf(why, size,
			       "auto() has no limit yet: %" PRIu64 " more windows are needed",
			       least);
	} else if (trigger_measured_in(trigger) > 0 && lacks) {
		(void)snprintf(why, size, "no window has such a row: %s%s%s%s", lacks->figure.text,
			       lacks->near ? "; did you mean \"" : "",
			       lacks->near ? lacks->near : "", lacks->near ? "\"?" : "");
	} else if (trigger->objective > 0) {
		(void)snprintf(why, size, "no window had a value of its figures");
	} else if (trigger->divides) {
		(void)snprintf(why, size, "no window had anything to divide by");
	} else {
		(void)snprintf(why, size,
			       trigger->uses_baseline ? "no window had its figures and a baseline"
						      : "no window had its figures");
	}
	return trigger_measured_in(trigger) > 0 && !lacks;
}

bool trigger_lacks_row(const struct trigger *trigger)
{
	return trigger_measured_in(trigger) > 0 && rowless(trigger);
}

size_t trigger_measured_in(const struct trigger *trigger)
{
	size_t count = 0;

	for (size_t i = 0; i < trigger->states.count; i++) {
		count += trigger->states.at[i].was_measured;
	}
	return count;
}

static void codec_row_state(struct codec *codec, struct row_state *row)
{
	codec_u64(codec, &row->key.of);
	codec_u64(codec, &row->key.which);
	codec_u64(codec, &row->since);
	codec_bool(codec, &row->holds);
	codec_bool(codec, &row->has_fired);
	codec_check(codec, row->holds || row->has_fired);
}

void trigger_codec(struct trigger *trigger, const struct trace_identity *trace, struct codec *codec)
{
	struct trace_state *state = state_of(trigger, trace);
	size_t count;

	if (codec_reads(codec)) {
		state->rows.count = 0;
		auto_rows_fini(state);
	}
	codec_u64(codec, &state->fired);
	count = codec_count(codec, state->rows.count, 26);
	for (size_t i = 0; i < count && !codec->is_wrong; i++) {
		codec_row_state(codec, codec_at(codec, &state->rows, i));
	}
	for (size_t i = 1; i < state->rows.count; i++) {
		codec_check(codec, by_key(&state->rows.at[i - 1], &state->rows.at[i]) <= 0);
	}
	auto_codec(trigger, state, codec);
	if (trigger->objective > 0) {
		budget_codec(trigger, &state->budget, codec);
	}
	if (codec->is_wrong) {
		state->fired = 0;
		state->rows.count = 0;
		auto_rows_fini(state);
	}
}
