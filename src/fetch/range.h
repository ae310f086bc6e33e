/*
 * range: what relays still have of their sessions, as recorded traces.
 *
 *     URL ──► sessions of this name ──► times needed? ── look: indexes only
 *                                         └─► range-session: packets ──► scratch ──► paths
 *
 * Everything here blocks, with an event loop of its own.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/process/scratch.h"
#include "base/units.h"
#include "recorded/recorded.h"
#include "relay/url.h"

struct range_config {
	const atomic_bool *stop; /* set by a signal */
	bool shows_progress;     /* on the terminal */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	int verbosity;
	/* Whether resolve() needs the span of a session. */
	bool needs_span;
	/* The times of the range; 0 and UINT64_MAX: not limited.  @span NULL: it is not needed. */
	int (*resolve)(void *user, const struct units_span *span, uint64_t *ret_from,
		       uint64_t *ret_begin, uint64_t *ret_end, struct err *err);
	void *user;
};

/* Fetches the sessions of @url into @store and adds their traces to @paths.  -errno with the
 * reason; -EINTR: stopped. */
int range_fetch(const struct range_config *config, const struct url *url,
		const struct scratch *store, struct recorded_paths *paths, struct err *err);
