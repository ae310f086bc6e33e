/*
 * repeat: what others can bring about again and again is said once a minute, with how often.
 *
 *     a kind      a format, or a word: lines of it differ only in names and numbers
 *     the first   is said at once
 *     others      within a minute are counted: after it, or at the end, the last of them is said
 *                 with how many more there were
 *
 * One table for the process, for the thread of its event loop: libevent's lines have no user
 * pointer, and what comes from hundreds of sessions is one kind.
 */
#pragma once

#include <stddef.h>

typedef void repeat_say_fn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Who prints lines; NULL: nobody, and what was counted is said before.  libevent's own lines, which
 * would go to standard error however many they are, come here, too. */
void repeat_say_to(repeat_say_fn *say);

/* A line of the kind @fmt, of each of @whose, which is its first word and may be NULL. */
void repeat_say(const char *whose, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The line @text of @kind, of which so many are said within a minute one by one. */
void repeat_say_kind(const char *kind, size_t most, const char *text);
/* To be called again and again: says what was counted in a minute that is over. */
void repeat_look(void);
