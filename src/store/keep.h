/*
 * keep: how long windows stay in a store, and longer ones in their place.
 *
 *     7d                       all windows for a week
 *     1s:1d,1m:30d,1h:2y       windows of up to 1 s for a day, then those of a minute that are put
 *                              together from them, ...
 *
 *     1 s  |||||||||||||||||||||||||  older than 1 d    a slot of a minute of one trace
 *     1 m  |           |           |  <── merged, exactly, in place of the windows in it
 *
 * Ages count back from the newest window of the store, or from now if that is in the future.  A
 * slot is merged when all of it is old.  A pass may be cut anywhere: no moment is lost, and each
 * counts once (reader.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define KEEP_LEVELS_MAX 8

struct keep_level {
	uint64_t length_ns; /* of windows, at most; the last one has any */
	uint64_t age_ns;    /* when they go */
};

struct store_keep {
	size_t count;  /* 0: all stay */
	bool is_usual; /* nobody asked for it */
	struct keep_level at[KEEP_LEVELS_MAX];
};

/* @interval_ns: the length of windows that the run writes.  -EINVAL: @err says what is wrong. */
int store_keep_parse(const char *text, uint64_t interval_ns, struct store_keep *ret,
		     struct err *err);
/* What a run that follows sessions keeps unless it is told: its windows for a day, those of a
 * minute for 30 days. */
void store_keep_usual(uint64_t interval_ns, struct store_keep *ret);
/* The usual in words. */
#define KEEP_TEXT_MAX 128
const char *store_keep_usual_text(const struct store_keep *keep, char ret[KEEP_TEXT_MAX]);
/* The level that windows of this length belong to. */
size_t store_keep_level(const struct store_keep *keep, uint64_t length_ns);

struct keep_pass {
	const char *url;
	const struct store_keep *keep;
	uint64_t top;            /* of the longest instances, so many rows stay in a window */
	const atomic_bool *stop; /* becomes true: the pass ends early */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/* Whether the store has windows that would have gone long ago: whoever made it keeps more, and
 * what nobody asked for must not remove them.  1: it has, which is said. */
int store_keep_is_overdue(const struct keep_pass *pass, struct err *err);

/* Merges and removes all that is due.  Fails as store_reader_open(). */
int store_keep_pass(const struct keep_pass *pass, struct err *err);
