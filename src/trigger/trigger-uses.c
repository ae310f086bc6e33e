/*
 * trigger-uses: which figures a trigger needs, and whether a trace records them.
 */
#include <fnmatch.h>
#include <string.h>

#include "phases/phases.h"
#include "trigger/trigger-parts.h"

void trigger_figures(const struct trigger *trigger, struct figure_list *ret)
{
	vec_append(&ret->at, trigger->figures.at.at, trigger->figures.at.count);
}

bool trigger_uses_phases(const struct trigger *trigger)
{
	bool uses = false;

	for (size_t i = 0; i < trigger->figures.at.count; i++) {
		uses |= trigger->figures.at.at[i]->analysis == &analysis_phase;
	}
	return uses;
}

bool trigger_uses_containers(const struct trigger *trigger)
{
	bool uses = false;

	for (size_t i = 0; i < trigger->figures.at.count; i++) {
		uses |= scope_is_of_containers(trigger->figures.at.at[i]->table->scope);
	}
	return uses;
}

void trigger_uses_tables(const struct trigger *trigger, uint16_t used[ANALYSES_MAX][TABLES_MAX])
{
	for (size_t i = 0; i < trigger->figures.at.count; i++) {
		figure_uses(trigger->figures.at.at[i], used);
	}
}

/* Phases are made of the figures of cpu. */
void trigger_uses(const struct trigger *trigger, bool used[ANALYSES_MAX])
{
	uint16_t tables[ANALYSES_MAX][TABLES_MAX] = { { 0 } };

	trigger_uses_tables(trigger, tables);
	for (size_t i = 0; analyses[i]; i++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			used[i] |= tables[i][t] != 0;
		}
		used[i] |= trigger_uses_phases(trigger) && strcmp(analyses[i]->name, "cpu") == 0;
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
