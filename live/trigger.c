/*
 * trigger: see trigger.h.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/columns.h"
#include "engine/engine.h"
#include "live/cells.h"
#include "live/trigger-parts.h"

void trigger_free(struct trigger *trigger)
{
	if (!trigger) {
		return;
	}
	for (size_t i = 0; i < trigger->standings.count; i++) {
		free(trigger->standings.at[i].trace);
	}
	vec_fini(&trigger->standings);
	condition_free(trigger->when);
	condition_free(trigger->until);
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
	const struct spread *spread;

	if (figure->table->columns[figure->column].kind != COLUMN_SPREAD) {
		return (double)values[figure->column];
	}
	spread = column_spread(values, figure->column);
	if (!spread) {
		return 0;
	}
	switch (figure->part) {
	case PART_COUNT:
		return (double)spread->count;
	case PART_MIN:
		return (double)spread->min;
	case PART_MEAN:
		return spread_mean(spread);
	case PART_MAX:
		return (double)spread->max;
	case PART_PERCENTILE:
		return (double)spread_percentile(spread, figure->per_mille);
	case PART_NONE:
	case PART_SUM:
		break;
	}
	return (double)spread->sum;
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

/* Of several rows the one that is furthest to the side that is asked for. */
static void look_at(const struct condition *c, const struct report *report,
		    struct trigger_value *value)
{
	const struct figure *figure = &c->figure;
	const struct report_table *table = table_of(report, figure->table);
	double seconds = (double)(report->end - report->begin) / 1e9;
	bool is_first = true, wants_more = c->op == '>' || c->op == 'g';

	*value = (struct trigger_value){ .figure = figure->text,
					 .unit = figure_is_time(figure)       ? UNIT_NS
						 : figure->part == PART_COUNT ? UNIT_COUNT
									      : table_unit(figure),
					 .is_rate = figure->is_rate,
					 .is_share = c->is_share,
					 .limit = c->limit,
					 .op = c->op };
	for (size_t r = 0; table && r < table->row_count; r++) {
		const struct report_row *row = &table->rows[r];
		double found;

		if (table->table->scope != SCOPE_TRACE && !is_chosen(figure, row)) {
			continue;
		}
		found = value_of(figure, row->values);
		found = c->is_share       ? found / whole_of(report, figure, table)
			: figure->is_rate ? found / seconds
					  : found;
		if (is_first || (wants_more ? found > value->value : found < value->value)) {
			value->value = found;
			row_text(value->row, table->table, row, CELL_MAX - 1);
			is_first = false;
		}
	}
	value->holds = compare(c->op, value->value, c->limit);
}

static bool holds(const struct condition *c, const struct report *report,
		  struct trigger_event *event)
{
	struct trigger_value value;
	bool left, right;

	if (c->kind != NODE_COMPARE) { /* both: all values are told */
		left = holds(c->left, report, event);
		right = holds(c->right, report, event);
		return c->kind == NODE_AND ? left && right : left || right;
	}
	look_at(c, report, &value);
	if (event && event->count < TRIGGER_VALUES_MAX) {
		event->values[event->count++] = value;
	}
	return value.holds;
}

static struct standing *standing_of(struct trigger *trigger, const struct trace_identity *trace)
{
	char *name = trace_identity_text(trace, true);
	struct standing *standing;

	for (size_t i = 0; i < trigger->standings.count; i++) {
		if (strcmp(trigger->standings.at[i].trace, name) == 0) {
			free(name);
			return &trigger->standings.at[i];
		}
	}
	standing = vec_push(&trigger->standings);
	*standing = (struct standing){ .trace = name, .is_armed = true };
	return standing;
}

bool trigger_look(struct trigger *trigger, const struct trace_identity *trace,
		  const struct report *report, struct trigger_event *event)
{
	struct standing *s = standing_of(trigger, trace);
	bool now;

	*event = (struct trigger_event){ .name = trigger->name, .text = trigger->text };
	if (report->kind != REPORT_WINDOW || report->end <= report->begin ||
	    (trigger->wants_complete && !report->complete)) {
		return false;
	}
	now = holds(trigger->when, report, event);
	if (!s->is_armed) {
		s->is_armed = trigger->until ? holds(trigger->until, report, NULL) : !now;
	}
	s->since = now && !s->holds ? report->begin : s->since;
	s->holds = now;
	if (!now || !s->is_armed || report->end - s->since < trigger->for_ns ||
	    (s->has_fired && report->end - s->fired < trigger->every_ns)) {
		return false;
	}
	s->is_armed = false;
	s->has_fired = true;
	s->fired = report->end;
	event->begin = s->since;
	event->end = report->end;
	return true;
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
	value_text(number, v->unit, value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
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
