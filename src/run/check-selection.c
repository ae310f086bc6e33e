/*
 * check-selection: see check-selection.h.
 */
#include "run/check-selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "figure/which.h"
#include "options/options.h"
#include "trigger/actions.h"

/* Periods by keys, and chains, belong to no thread: a selection of threads leaves them out. */
static bool is_of_threads(const struct options *options, const struct figure *figure)
{
	const struct period_set *asked = &options->periods;
	const char *name = which_pattern(figure);
	bool any = asked->all.count == 0;

	for (size_t i = 0; i < asked->all.count; i++) {
		const struct period *period = asked->all.at[i];

		any |= period->by_thread && !period->is_chain &&
		       (!name || fnmatch(name, period->name, 0) == 0);
	}
	return any || strcmp(figure->analysis->name, "periods") != 0;
}

int run_check_selected(const struct options *options, const struct figure *figure, struct err *err)
{
	bool is_selected = which_is_selected(figure, &options->selection) &&
			   (!(selection_of(&options->selection) & OF_ALL_THREADS) ||
			    is_of_threads(options, figure));
	char *selection;

	if (is_selected) {
		return 0;
	}
	selection = selection_asked(&options->selection);
	(void)err_raise(err, -EINVAL, "%.160s: %.120s leaves out all of it", figure->text,
			selection);
	free(selection);
	return -EINVAL;
}

int run_check_selection(const struct options *options, const struct actions *actions,
			struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < actions_count(actions); i++) {
		struct figure_list figures = { 0 };

		trigger_figures(actions_trigger(actions, i), &figures);
		for (size_t k = 0; r == 0 && k < figures.at.count; k++) {
			r = run_check_selected(options, figures.at.at[k], err);
		}
		vec_fini(&figures.at);
		if (r < 0) {
			return err_note(err, r, "trigger \"%.100s\" cannot hold",
					trigger_name(actions_trigger(actions, i)));
		}
	}
	return r;
}
