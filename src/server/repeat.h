/*
 * repeat: what others can bring about again and again is said once a minute, with how often.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed at first. */
struct repeat {
	size_t count;     /* since the last line */
	uint64_t said_ns; /* monotonic; 0: there was none */
};

/* Returns the count, which begins again, if a line may be printed now; else 0. */
size_t repeat_take(struct repeat *repeat, bool is_end);

typedef void repeat_say_fn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Who prints lines, for the servers of this process; NULL: nobody.  libevent's own lines, which
 * have no user pointer and would go to standard error however many they are, come here, too. */
void repeat_say_to(repeat_say_fn *say);
/* Counts one, and says so when it may: the text, and how often if that is not once. */
void repeat_say(struct repeat *repeat, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
