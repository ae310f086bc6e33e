/*
 * baseline: where triggers get what is usual in an hour of the day: from the store of --baseline.
 *
 *     window ──► hour of its begin ──► same hour of days before, from the store ──► medians
 *
 * Hours are kept, of each host and session.  A live run reads them in a thread of its own, the next
 * one ahead of time; until an hour is there, triggers have no limit in it.  A run that reads
 * recorded traces waits.
 */
#pragma once

#include <stdatomic.h>

#include "compare/day-hour.h"
#include "compare/medians.h"
#include "options/options.h"

struct actions;
struct baseline;
struct trace_identity;

/* -EINVAL: there is a trigger that needs --baseline and no such option, or none that does. */
int baseline_check(const struct options *options, const struct actions *actions, struct err *err);

/*
 * Gives triggers their baseline; NULL: there is no --baseline.  @actions may be NULL.  Call it
 * after the store of --store was opened, which may be the same.  @stop: becomes true if the run is
 * to end; NULL: it is a live one, which waits for no server.  -EINVAL: it is no store; other: it
 * cannot be read.
 */
int baseline_open(const struct options *options, struct actions *actions, const atomic_bool *stop,
		  void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))),
		  struct baseline **ret, struct err *err);
/* NULL is fine; before the triggers end.  Negative: what was needed of the store could not be read,
 * which was said. */
int baseline_close(struct baseline *baseline);

/* ---- baseline-hour.c ---- */

/* An hour that is wanted, and what became of it. */
struct baseline_hour {
	char *host, *session, *domain; /* NULL: unknown */
	struct day_hour at;
	unsigned int days;       /* before it that have windows */
	struct medians *medians; /* NULL: it could not be read */
	struct err err;
};

struct baseline_setup {
	const char *url;
	const struct selection *selection;
	const struct figure_list *figures;
	const atomic_bool *stop;
};

/* Whether it is of the host and the domain; of the session say the caller's own rules. */
bool baseline_hour_is_at(const struct baseline_hour *hour, const struct trace_identity *trace);
/* Reads it.  -errno, -EINTR: @stop. */
int baseline_hour_read(const struct baseline_setup *setup, struct baseline_hour *hour);
