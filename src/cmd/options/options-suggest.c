/*
 * options-suggest: unknown words, and what was probably meant.
 */
#include <errno.h>
#include <string.h>

#include "cmd/options/options-parts.h"
#include "query/nearest.h"

const char *options_nearest(const char *word, const char *const *words)
{
	return nearest_word(word, words, (unsigned int)strlen(word) / 2 + 1);
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
