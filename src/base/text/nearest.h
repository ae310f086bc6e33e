/*
 * nearest: which of some words is most like another one, to suggest it.
 */
#pragma once

/* The word that differs from @word in the fewest letters, at most @most; @words ends with NULL.
 * NULL: none is so near. */
const char *nearest_word(const char *word, const char *const *words, unsigned int most);
/* The event that was probably meant, of names of events, which end with NULL: the one that is
 * called so behind its provider ("request_begin" for "service:request_begin"), else one that
 * contains the word, else one in which few letters differ.  NULL: there is none. */
const char *nearest_event(const char *event, const char *const *events);
