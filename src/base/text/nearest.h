/*
 * nearest: which of some words is most like another one, to suggest it.
 */
#pragma once

/* The word that differs from @word in the fewest letters, at most @most; @words ends with NULL.
 * NULL: none is so near. */
const char *nearest_word(const char *word, const char *const *words, unsigned int most);
