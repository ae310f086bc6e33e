/*
 * options-suggest: unknown words, and what was probably meant.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/text/nearest.h"
#include "options/options-parts.h"

/* A third of the letters may differ; the dashes of an option are no letters. */
const char *options_nearest(const char *word, const char *const *words)
{
	size_t letters = strlen(word + strspn(word, "-"));

	return nearest_word(word, words, (unsigned int)letters / 3 + 1);
}

const char *options_command(unsigned int command)
{
	static const char *const names[] = { "live",     "analyze",  "list",    "replay", "top",
					     "triggers", "lami",     "capture", "report", "map",
					     "merge",    "overview", "setup",   "watch",  "export",
					     "history",  "compare",  "record",  "index",  "serve",
					     "api",      "events",   "pack" };
	size_t i = 0;

	assert(command != 0);
	for (; command >> i != 1; i++) {
		assert(i + 1 < ARRAY_COUNT(names)); /* in the order of FOR_... */
	}
	return names[i];
}

int options_refuse(struct err *err, const char *noun, const char *word, const char *const *words)
{
	const char *near = options_nearest(word, words);

	if (near) {
		return err_raise(err, -EINVAL, "unknown %s \"%s\"; did you mean \"%s\"?", noun,
				 word, near);
	}
	return err_raise(err, -EINVAL, "unknown %s \"%s\"", noun, word);
}
