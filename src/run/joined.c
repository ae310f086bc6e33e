/*
 * joined: see joined.h.
 */
#include "run/joined.h"

#include <assert.h>
#include <stdio.h>

#include "run/say.h"

static void say_one(const char *kernel, const struct recorded_paths *with)
{
	char more[64] = "";

	if (with->at.count > 1) {
		(void)snprintf(more, sizeof(more), " and %zu more", with->at.count - 1);
	}
	say("%s: read with %s%s as one trace, since a job or a period is of programs' events",
	    kernel, with->at.at[0].name, more);
}

bool joined_live(const struct options *options)
{
	bool is_asked = period_set_is_of_programs(&options->periods);

	if (is_asked && options->state && options->verbosity >= 0) {
		say("with --state programs' traces and the kernel's are not read as one: windows "
		    "say of programs' jobs how long they take, and not where that time goes");
	}
	return is_asked && !options->state;
}

void joined_find(const struct options *options, const struct recorded_paths *paths,
		 recorded_ones *ret)
{
	bool tells = options->verbosity >= 0;

	assert(ret->count == 0);
	if (period_set_is_of_programs(&options->periods)) {
		recorded_join(paths, 0, ret, tells ? say : NULL);
	}
	VEC_EACH(ret, one) {
		if (tells) {
			say_one(paths->at.at[one->kernel].name, &one->with);
		}
	}
}

const struct recorded_paths *joined_with(const recorded_ones *ones, size_t at)
{
	const struct recorded_one *one = recorded_one_of(ones, at);

	return one ? &one->with : NULL;
}
