/*
 * trigger: see trigger.h.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/engine.h"
#include "engine/tables/columns.h"
#include "live/trigger/trigger-parts.h"
#include "output/format.h"

void trigger_free(struct trigger *trigger)
{
	if (!trigger) {
		return;
	}
	for (size_t i = 0; i < trigger->standings.count; i++) {
		free(trigger->standings.at[i].trace);
		vec_fini(&trigger->standings.at[i].rows);
	}
	vec_fini(&trigger->standings);
	trigger_condition_free(trigger->when);
	trigger_condition_free(trigger->until);
	free(trigger->name);
	free(trigger->text);
	free(trigger);
}

static void uses(const struct condition *c, bool used[ANALYSES_MAX])
{
	if (!c) {
		return;
	}
	for (size_t i = 0; c->kind == NODE_COMPARE && analyses[i]; i++) {
		used[i] |= analyses[i] == c->figure.analysis;
	}
	uses(c->left, used);
	uses(c->right, used);
}

void trigger_uses(const struct trigger *trigger, bool used[ANALYSES_MAX])
{
	uses(trigger->when, used);
	uses(trigger->until, used);
}

/* ---- looking ---- */

/* What a key of the row says (the parser has seen to it that it has one). */
static const char *text_of(const struct figure *figure, const struct report_row *row,
			   char number[24])
{
	const struct table *table = figure->table;
	int64_t id = (int64_t)row->id;

	if (strcmp(figure->key, "comm") == 0) {
		return row->thread->comm;
	}
	if (row->thread) {
		id = strcmp(figure->key, "tid") == 0 ? row->thread->tid : row->thread->pid;
	} else if (table->scope != SCOPE_CPU &&
		   !(table->id_key && strcmp(figure->key, table->id_key) == 0)) {
		return row->name;
	}
	(void)snprintf(number, 24, "%" PRId64, id);
	return number;
}

static bool is_chosen(const struct figure *figure, const struct report_row *row)
{
	enum scope scope = figure->table->scope;
	char number[24];

	if (figure->has_id) {
		return scope == SCOPE_THREAD    ? row->thread->tid == figure->id
		       : scope == SCOPE_PROCESS ? row->thread->pid == figure->id
						: (int64_t)row->id == figure->id;
	}
	return !figure->pattern || fnmatch(figure->pattern, text_of(figure, row, number), 0) == 0;
}

/* What a share is a share of: the window, or the time of all CPUs. */
static double whole_of(const struct report *report, const struct figure *figure,
		       const struct report_table *table)
{
	double whole = (double)(report->end - report->begin), all = 0;
	bool is_of_all = false;

	for (unsigned int i = 0;
	     table->table->scope == SCOPE_TRACE && i < COLUMNS_MAX && table->table->columns[i].key;
	     i++) {
		if (table->table->columns[i].is_share && table->table->columns[i].unit == UNIT_NS) {
			all += (double)table->rows[0].values[i];
			is_of_all |= i == figure->column;
		}
	}
	return is_of_all ? all : whole;
}

static double value_of(const struct figure *figure, const uint64_t *values)
{
	const struct histogram *histogram;

	if (figure->table->columns[figure->column].kind != COLUMN_HISTOGRAM) {
		return (double)values[figure->column];
	}
	histogram = column_histogram(values, figure->column);
	if (!histogram) {
		return 0;
	}
	switch (figure->part) {
	case PART_COUNT:
		return (double)histogram->count;
	case PART_MIN:
		return (double)histogram->min;
	case PART_MEAN:
		return histogram_mean(histogram);
	case PART_MAX:
		return (double)histogram->max;
	case PART_PERCENTILE:
		return (double)histogram_percentile(histogram, figure->per_mille);
	case PART_NONE:
	case PART_SUM:
		break;
	}
	return (double)histogram->sum;
}

static bool compare(char op, double value, double limit)
{
	return op == '>'   ? value > limit
	       : op == '<' ? value < limit
	       : op == 'g' ? value >= limit
			   : value <= limit;
}

static const struct report_table *table_of(const struct report *report, const struct table *table)
{
	for (size_t i = 0; i < report->table_count; i++) {
		if (report->tables[i].table == table) {
			return &report->tables[i];
		}
	}
	return NULL;
}

static enum unit table_unit(const struct figure *figure)
{
	return figure->table->columns[figure->column].unit;
}

/* A window, as it is looked at. */
struct look {
	const struct report *report;
	const struct figure *subject;
	const struct report_row *row; /* of the subject; NULL: it is not in the window */
};

static double figure_of(const struct condition *c, const struct report *report,
			const struct report_table *table, const struct report_row *row)
{
	const struct figure *figure = &c->figure;
	double found = value_of(figure, row->values);

	return c->is_share       ? found / whole_of(report, figure, table)
	       : figure->is_rate ? found * 1e9 / (double)(report->end - report->begin)
				 : found;
}

/* The row that a comparison is about: of several the one that is furthest to the side that is
 * asked for; NULL: there is none. */
static const struct report_row *row_of(const struct condition *c, const struct look *look,
				       const struct report_table *table, double *ret_value)
{
	bool wants_more = c->op == '>' || c->op == 'g';
	const struct report_row *best = NULL;

	*ret_value = 0;
	if (look->subject && table && table->table == look->subject->table) {
		*ret_value = look->row ? figure_of(c, look->report, table, look->row) : 0;
		return look->row;
	}
	for (size_t r = 0; table && r < table->row_count; r++) {
		const struct report_row *row = &table->rows[r];
		double found;

		if (table->table->scope != SCOPE_TRACE && !is_chosen(&c->figure, row)) {
			continue;
		}
		found = figure_of(c, look->report, table, row);
		if (!best || (wants_more ? found > *ret_value : found < *ret_value)) {
			*ret_value = found;
			best = row;
		}
	}
	return best;
}

static bool look_at(const struct condition *c, const struct look *look, struct trigger_event *event)
{
	const struct figure *figure = &c->figure;
	const struct report_table *table = table_of(look->report, figure->table);
	struct trigger_value *value;
	double found;
	const struct report_row *row = row_of(c, look, table, &found);
	bool holds = compare(c->op, found, c->limit);

	if (!event || event->count == TRIGGER_VALUES_MAX) {
		return holds;
	}
	value = &event->values[event->count++];
	*value = (struct trigger_value){ .figure = figure->text,
					 .holds = holds,
					 .unit = figure_is_time(figure)       ? UNIT_NS
						 : figure->part == PART_COUNT ? UNIT_COUNT
									      : table_unit(figure),
					 .is_rate = figure->is_rate,
					 .is_share = c->is_share,
					 .value = found,
					 .limit = c->limit,
					 .op = c->op };
	if (row) {
		format_row(value->row, table->table, row, CELL_MAX - 1);
	}
	return holds;
}

/* @event gets all values, of comparisons that do not matter, too; it may be NULL. */
static bool holds(const struct condition *c, const struct look *look, struct trigger_event *event)
{
	bool left, right;

	if (c->kind == NODE_COMPARE) {
		return look_at(c, look, event);
	}
	left = holds(c->left, look, event);
	right = holds(c->right, look, event);
	return c->kind == NODE_AND ? left && right : left || right;
}

/* ---- how it stands ---- */

static struct standing *standing_of(struct trigger *trigger, const struct trace_identity *trace)
{
	char *name = output_trace_text(trace, true);
	struct standing *standing;

	for (size_t i = 0; i < trigger->standings.count; i++) {
		if (strcmp(trigger->standings.at[i].trace, name) == 0) {
			free(name);
			return &trigger->standings.at[i];
		}
	}
	standing = vec_push(&trigger->standings);
	*standing = (struct standing){ .trace = name };
	return standing;
}

static int by_key(const void *left, const void *right)
{
	const struct row_identity *a = left, *b = right;

	if (a->of != b->of) {
		return a->of < b->of ? -1 : 1;
	}
	return a->which < b->which ? -1 : a->which > b->which;
}

static uint64_t hash_name(const char *text)
{
	return text ? hash_text(0, text) : 0;
}

static struct row_identity key_of(const struct figure *subject, const struct report_row *row)
{
	switch (subject->table->scope) {
	case SCOPE_THREAD:
		return (struct row_identity){ (uint64_t)(int64_t)row->thread->tid, row->id };
	case SCOPE_PROCESS:
		return (struct row_identity){ row->id, hash_name(row->thread->comm) };
	case SCOPE_CPU:
		return (struct row_identity){ row->id, 0 };
	default: /* the number of an item, in two parts if it has an owner */
		return (struct row_identity){ subject->table->owner_key
						      ? (uint64_t)row->owner << 32 |
								(uint32_t)row->id
						      : row->id,
					      hash_name(row->name) };
	}
}

/* What a window makes of all rows of a trace. */
struct stepping {
	struct trigger *trigger;
	struct standing *standing;
	struct trigger_event *event;
	struct row_standing *old; /* what was remembered */
	size_t old_count;
};

/* The rows that fire: the values are those of the one with the highest first value that holds, or
 * the lowest, if that is what is asked for. */
static void fire(const struct stepping *stepping, const struct look *look, uint64_t since)
{
	struct trigger_event event = *stepping->event;
	bool is_less;

	event.count = 0;
	event.begin = since;
	(void)holds(stepping->trigger->when, look, &event);
	is_less = event.values[0].op == '<' || event.values[0].op == 'l';
	if (event.rows++ == 0 ||
	    (is_less ? event.values[0].value < stepping->event->values[0].value
		     : event.values[0].value > stepping->event->values[0].value)) {
		*stepping->event = event;
	} else {
		stepping->event->rows = event.rows;
	}
}

static void step(const struct stepping *stepping, const struct look *look,
		 struct row_standing standing, bool now)
{
	const struct trigger *trigger = stepping->trigger;
	const struct report *report = look->report;

	if (standing.has_fired) {
		standing.has_fired = !(trigger->until ? holds(trigger->until, look, NULL) : !now);
	}
	standing.since = now && !standing.holds ? report->begin : standing.since;
	standing.holds = now;
	if (now && !standing.has_fired && report->end - standing.since >= trigger->for_ns &&
	    (stepping->standing->fired == 0 ||
	     report->end - stepping->standing->fired >= trigger->every_ns)) {
		standing.has_fired = true;
		fire(stepping, look, standing.since);
	}
	standing.is_seen = false;
	if (standing.holds || standing.has_fired) {
		*vec_push(&stepping->standing->rows) = standing;
	}
}

static void step_row(const struct stepping *stepping, const struct look *look,
		     struct row_identity key)
{
	struct row_standing *found = NULL, none = { .key = key };

	if (stepping->old_count > 0) {
		found = bsearch(&key, stepping->old, stepping->old_count, sizeof(*stepping->old),
				by_key);
	}
	if (found) {
		found->is_seen = true;
	}
	step(stepping, look, found ? *found : none, holds(stepping->trigger->when, look, NULL));
}

/* Each row by itself.  In a row that is not in the window nothing holds; if no row is, it is as if
 * one were, with 0. */
static void step_rows(const struct stepping *stepping, struct look *look)
{
	const struct report_table *table = table_of(look->report, look->subject->table);
	bool has_rows = false;

	for (size_t r = 0; table && r < table->row_count; r++) {
		if (is_chosen(look->subject, &table->rows[r])) {
			look->row = &table->rows[r];
			step_row(stepping, look, key_of(look->subject, look->row));
			has_rows = true;
		}
	}
	look->row = NULL;
	if (!has_rows) {
		step_row(stepping, look, (struct row_identity){ UINT64_MAX, UINT64_MAX });
	}
	for (size_t i = 0; i < stepping->old_count; i++) {
		if (!stepping->old[i].is_seen) {
			step(stepping, look, stepping->old[i], false);
		}
	}
	if (stepping->standing->rows.count > 0) {
		qsort(stepping->standing->rows.at, stepping->standing->rows.count,
		      sizeof(*stepping->standing->rows.at), by_key);
	}
}

bool trigger_look(struct trigger *trigger, const struct trace_identity *trace,
		  const struct report *report, struct trigger_event *event)
{
	struct look look = { .report = report, .subject = trigger->subject };
	struct stepping stepping = { .trigger = trigger, .event = event };

	*event = (struct trigger_event){ .name = trigger->name,
					 .text = trigger->text,
					 .end = report->end };
	if (report->kind != REPORT_WINDOW || report->end <= report->begin ||
	    (trigger->wants_complete && !report->complete)) {
		return false;
	}
	stepping.standing = standing_of(trigger, trace);
	stepping.old = stepping.standing->rows.at;
	stepping.old_count = stepping.standing->rows.count;
	memset(&stepping.standing->rows, 0, sizeof(stepping.standing->rows));
	if (trigger->subject) {
		step_rows(&stepping, &look);
	} else {
		step_row(&stepping, &look, (struct row_identity){ 0, 0 });
	}
	free(stepping.old);
	if (event->rows > 0) {
		stepping.standing->fired = report->end;
	}
	return event->rows > 0;
}

/* ---- telling ---- */

static const char *op_text(char op)
{
	return op == 'g' ? ">=" : op == 'l' ? "<=" : op == '>' ? ">" : "<";
}

static void say_value(char text[CELL_MAX], const struct trigger_value *v, double value)
{
	char number[CELL_MAX];

	if (v->is_share) {
		(void)snprintf(text, CELL_MAX, "%.1f %%", value * 100);
		return;
	}
	format_value(number, v->unit, value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
	(void)snprintf(text, CELL_MAX, "%.40s%s", number, v->is_rate ? "/s" : "");
}

void trigger_say(const struct trigger_event *event, char *text, size_t size)
{
	char value[CELL_MAX], limit[CELL_MAX];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < event->count && used < size; i++) {
		const struct trigger_value *v = &event->values[i];

		say_value(value, v, v->value);
		say_value(limit, v, v->limit);
		used += (size_t)snprintf(text + used, size - used, "%s%s%s%s %s, %s%s %s",
					 i ? "; " : "", v->figure, v->row[0] ? " of " : "", v->row,
					 value, v->holds ? "" : "not ", op_text(v->op), limit);
	}
}
