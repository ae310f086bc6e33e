/*
 * joined: see joined.h.
 */
#include "run/joined.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"
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

/* ---- keys that were equal, and of different processes ---- */

static bool is_no_label(const char *name)
{
	return strcmp(name, "label") != 0;
}

/* Owns @text. */
static void say_apart(const struct options *options, const char *option, const char *name,
		      char *text)
{
	char *command = NULL, *place;
	size_t len;
	FILE *out;

	if (!text) {
		return;
	}
	out = open_memstream(&command, &len);
	(void)fprintf(out, "sillage %s", options_command(options->command));
	options_put_given(options, is_no_label, out);
	(void)fprintf(out, " --%s ", option);
	(void)shell_put(out, text);
	for (size_t i = 0; options->args[i]; i++) {
		place = shell_path(options->args[i]);
		(void)fprintf(out, " %s", place);
		free(place);
	}
	(void)fclose(out);
	say("--%s %s: begins and ends had equal keys, but of different processes (or a program's "
	    "and the kernel's), and keys are of a process, so none of these belong together; if "
	    "they do: %s",
	    option, name, command);
	free(command);
	free(text);
}

void joined_say_apart(const struct options *options)
{
	const struct period_set *set = &options->periods;

	if (options->verbosity < 0) {
		return;
	}
	for (size_t i = 0; i < period_set_count(set); i++) {
		const char *option, *name;
		char *text = period_set_text_global(set, i, &option, &name);

		say_apart(options, option, name, text);
	}
	if (options->job && !options->job->model) {
		say_apart(options, "job", options->job->name,
			  expression_text_global(options->job->is));
	}
}
