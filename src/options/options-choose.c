/*
 * options-choose: which analyses a run has: those that are named, or the usual ones of its traces,
 * and what the user asks to have measured.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "options/options-parts.h"

/* What the user asks an analysis for, if it is one that measures only that; else NULL. */
struct asked {
	const char *name, *what, *option;
	size_t count;
};

static const struct asked *asked_of(const struct asked *asked, const char *name)
{
	for (; asked->name; asked++) {
		if (strcmp(asked->name, name) == 0) {
			return asked;
		}
	}
	return NULL;
}

int options_choose_asked(struct options *options, bool may_have, struct err *err)
{
	const struct asked all[] = {
		{ "periods", "period to measure", "--period", options->periods.all.count },
		{ "jobs", "job to follow", "--job", options->periods.jobs.count },
		{ "calls", NULL, NULL, options->periods.calls.count },
		{ NULL, NULL, NULL, 0 },
	};
	bool chosen[ANALYSES_MAX] = { false }, are_all = true, is_own;
	const struct asked *empty = NULL;

	for (size_t i = 0; analyses[i]; i++) {
		const struct asked *asked = asked_of(all, analyses[i]->name);

		for (size_t k = 0; options->analyses[k]; k++) {
			chosen[i] |= options->analyses[k] == analyses[i];
		}
		are_all &= chosen[i];
		is_own = asked && asked->option; /* else it measures other things, too */
		empty = is_own && chosen[i] && asked->count == 0 && !may_have ? asked : empty;
		chosen[i] = (asked && asked->count > 0) || (chosen[i] && (!is_own || may_have));
	}
	if (empty && !are_all) {
		return err_raise(err, -EINVAL, "no %s: %s says which", empty->what, empty->option);
	}
	options_choose(options, chosen);
	return 0;
}

/* ---- without -a ---- */

/* What programs do comes before who they are. */
static void put_last(const struct analysis **list, const char *name)
{
	for (; *list && list[1]; list++) {
		if (strcmp((*list)->name, name) == 0) {
			const struct analysis *moved = *list;

			*list = list[1];
			list[1] = moved;
		}
	}
}

/* Lists of names; NULL: none. */
static void choose_named(struct options *options, const char *kernel, const char *user)
{
	struct err err;
	int r;

	options->analyses[0] = NULL;
	r = kernel ? options_analyses(options, kernel, &err) : 0;
	r = r == 0 && user ? options_analyses(options, user, &err) : r;
	assert(r == 0); /* they exist */
	(void)r;
}

void options_choose_screen(struct options *options)
{
	choose_named(options, "count,cpu,io,sched,state", NULL);
}

void options_choose_usual(struct options *options, bool has_kernel, bool has_user)
{
	bool are_phases = options->command == FOR_OVERVIEW,
	     are_all = options->command == FOR_TOP || options->command == FOR_COMPARE;
	const char *kernel = are_all                         ? "all"
			     : are_phases                    ? "count,cpu,waits"
			     : options->command == FOR_INDEX ? "count,cpu,io,state,waits"
							     : "count,cpu,io";
	const char *user = are_all ? "all" : "count,calls,ust";
	struct err err;
	int r;

	assert(has_kernel || has_user);
	choose_named(options, has_kernel ? kernel : NULL, has_user ? user : NULL);
	r = are_all ? 0 : options_choose_asked(options, true, &err);
	assert(r == 0);
	(void)r;
	if (!are_all) {
		put_last(options->analyses, "ust");
	}
}

/* Names of the kernel's events have no colon. */
static bool are_of_user(const struct definition *events, size_t count)
{
	bool are = true;

	for (size_t i = 0; i < count; i++) {
		are &= strchr(events[i].event, ':') != NULL;
	}
	return are;
}

bool options_are_of_user(const struct options *options)
{
	const struct period_set *set = &options->periods;
	bool are = options->ust.count > 0 || period_set_measures(set) + set->jobs.count > 0;

	for (size_t i = 0; i < period_set_measures(set); i++) {
		const struct expression *is = period_set_measure(set, i)->is;

		are &= are_of_user(is->events, is->event_count);
	}
	for (size_t i = 0; i < set->jobs.count; i++) {
		are &= are_of_user(set->jobs.at[i]->is->events, set->jobs.at[i]->is->event_count);
	}
	return are;
}
