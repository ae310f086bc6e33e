/*
 * check-selection: see check-selection.h.
 */
#include "run/check-selection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "figure/which.h"
#include "options/options.h"
#include "trigger/actions.h"

static int check(const struct options *options, const struct figure *figure, struct err *err)
{
	char *selection;

	assert(figure->table);
	if (which_is_selected(figure, &options->selection)) {
		return 0;
	}
	selection = selection_asked(&options->selection);
	assert(selection[0] && "what leaves rows out was asked for");
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
		assert(figures.at.count && "a trigger compares something");
		for (size_t k = 0; r == 0 && k < figures.at.count; k++) {
			r = check(options, figures.at.at[k], err);
		}
		vec_fini(&figures.at);
		if (r < 0) {
			return err_note(err, r, "trigger \"%.100s\" cannot hold",
					trigger_name(actions_trigger(actions, i)));
		}
	}
	return r;
}
