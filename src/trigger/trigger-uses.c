/*
 * trigger-uses: which figures a trigger needs, and whether a trace records them.
 */
#include <fnmatch.h>
#include <string.h>

#include "engine/engine.h"
#include "phases/phases.h"
#include "trigger/trigger-parts.h"

static bool uses_phases(const struct condition *c)
{
	return c && (c->kind == NODE_COMPARE ? c->figure.analysis == &analysis_phase
					     : uses_phases(c->left) || uses_phases(c->right));
}

bool trigger_uses_phases(const struct trigger *trigger)
{
	return uses_phases(trigger->when) || uses_phases(trigger->until);
}

static bool uses_containers(const struct condition *c)
{
	return c &&
	       (c->kind == NODE_COMPARE ? scope_is_of_containers(c->figure.table->scope)
					: uses_containers(c->left) || uses_containers(c->right));
}

bool trigger_uses_containers(const struct trigger *trigger)
{
	return uses_containers(trigger->when) || uses_containers(trigger->until);
}

static void mark_used(const struct condition *c, bool used[ANALYSES_MAX])
{
	if (!c) {
		return;
	}
	for (size_t i = 0; c->kind == NODE_COMPARE && analyses[i]; i++) {
		used[i] |= analyses[i] == c->figure.analysis ||
			   (uses_phases(c) && strcmp(analyses[i]->name, "cpu") == 0);
	}
	mark_used(c->left, used);
	mark_used(c->right, used);
}

void trigger_uses(const struct trigger *trigger, bool used[ANALYSES_MAX])
{
	mark_used(trigger->when, used);
	mark_used(trigger->until, used);
}

static void mark_tables(const struct condition *c, bool used[ANALYSES_MAX][TABLES_MAX])
{
	if (!c) {
		return;
	}
	for (size_t i = 0; c->kind == NODE_COMPARE && analyses[i]; i++) {
		if (analyses[i] == c->figure.analysis) {
			used[i][c->figure.table - analyses[i]->tables] = true;
		}
	}
	mark_tables(c->left, used);
	mark_tables(c->right, used);
}

void trigger_uses_tables(const struct trigger *trigger, bool used[ANALYSES_MAX][TABLES_MAX])
{
	mark_tables(trigger->when, used);
	mark_tables(trigger->until, used);
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

static bool can_hold(const struct condition *c, const struct event_names *names,
		     const struct period_set *periods, struct missing_events *ret)
{
	const struct figure *figure = &c->figure;
	bool left, right;

	if (c->kind != NODE_COMPARE) {
		left = can_hold(c->left, names, periods, ret);
		right = can_hold(c->right, names, periods, ret);
		return c->kind == NODE_AND ? left && right : left || right;
	}
	if (figure->table->scope == SCOPE_EVENT && figure->pattern && !has_row(figure, names)) {
		missing_add(ret, figure->analysis, figure->pattern);
		return false;
	}
	if (!missing_is_asked(figure->analysis, (size_t)(figure->table - figure->analysis->tables),
			      figure->column, which_name(figure), periods)) {
		return false;
	}
	return !missing_figure(names, figure->analysis,
			       (size_t)(figure->table - figure->analysis->tables), figure->column,
			       periods, ret);
}

bool trigger_can_hold(const struct trigger *trigger, const struct event_names *names,
		      const struct period_set *periods, struct missing_events *ret)
{
	return can_hold(trigger->when, names, periods, ret);
}
