/*
 * options-choose: which analyses a run has.
 */
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
	if (options->periods.labels.sources.count > 0 && all[0].count + all[1].count == 0) {
		return err_raise(err, -EINVAL,
				 "--label has no effect without a --period or --job that groups "
				 "by it");
	}
	if (empty && !are_all) {
		return err_raise(err, -EINVAL, "no %s: %s says which", empty->what, empty->option);
	}
	options_choose(options, chosen);
	return 0;
}
