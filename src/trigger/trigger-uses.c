/*
 * trigger-uses: which figures a trigger needs, and whether a trace records them.
 */
#include <fnmatch.h>
#include <string.h>

#include "phases/phases.h"
#include "trigger/trigger-parts.h"

/* Each figure that the trigger compares, and what it is divided by. */
#define EACH_FIGURE(trigger, figure)                                                               \
	for (size_t each_ = 0; each_ < (trigger)->all.count; each_++)                              \
		for (const struct figure *figure = &(trigger)->all.at[each_]->figure; figure;      \
		     figure = figure->per)

bool trigger_uses_phases(const struct trigger *trigger)
{
	bool uses = false;

	EACH_FIGURE(trigger, figure)
	{
		uses |= figure->analysis == &analysis_phase;
	}
	return uses;
}

bool trigger_uses_containers(const struct trigger *trigger)
{
	bool uses = false;

	EACH_FIGURE(trigger, figure)
	{
		uses |= scope_is_of_containers(figure->table->scope);
	}
	return uses;
}

void trigger_uses(const struct trigger *trigger, bool used[ANALYSES_MAX])
{
	bool has_phases = trigger_uses_phases(trigger); /* they are made of cpu's figures */

	EACH_FIGURE(trigger, figure)
	{
		for (size_t i = 0; analyses[i]; i++) {
			used[i] |= analyses[i] == figure->analysis ||
				   (has_phases && strcmp(analyses[i]->name, "cpu") == 0);
		}
	}
}

void trigger_uses_tables(const struct trigger *trigger, bool used[ANALYSES_MAX][TABLES_MAX])
{
	for (size_t i = 0; i < trigger->all.count; i++) {
		figure_uses(&trigger->all.at[i]->figure, used);
	}
}

/* ---- what is recorded ---- */

/* Whether an event's name matches, for a figure by the name of events. */
static bool has_row(const struct figure *figure, const struct event_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		if (fnmatch(figure->pattern, names->at[i], 0) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_recorded(const struct figure *figure, const struct event_names *names,
			const struct period_set *periods, struct missing_events *ret)
{
	size_t table = (size_t)(figure->table - figure->analysis->tables);

	if (figure->table->scope == SCOPE_EVENT && figure->pattern && !has_row(figure, names)) {
		missing_add(ret, figure->analysis, figure->pattern);
		return false;
	}
	return missing_is_asked(figure->analysis, table, figure->column, which_pattern(figure),
				periods) &&
	       !missing_figure(names, figure->analysis, table, figure->column, periods, ret);
}

static bool can_hold(const struct condition *c, const struct event_names *names,
		     const struct period_set *periods, struct missing_events *ret)
{
	bool left, right;

	if (c->kind != NODE_COMPARE) {
		left = can_hold(c->left, names, periods, ret);
		right = can_hold(c->right, names, periods, ret);
		return c->kind == NODE_AND ? left && right : left || right;
	}
	left = is_recorded(&c->figure, names, periods, ret);
	return left && (!c->figure.per || is_recorded(c->figure.per, names, periods, ret));
}

bool trigger_can_hold(const struct trigger *trigger, const struct event_names *names,
		      const struct period_set *periods, struct missing_events *ret)
{
	return can_hold(trigger->when, names, periods, ret);
}
