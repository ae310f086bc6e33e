/*
 * check-names: whether the traces have the events, fields and figures that the options name: those
 * of --period, --ust-span, --job, --within and of triggers.
 *
 * One trace that has them is enough: a session's kernel and user-space events are two traces.
 */
#pragma once

#include "recorded/recorded.h"
#include "run/run.h"

struct actions;
struct metadata;

/* Of recorded traces: 0, or -ENOENT with the first name that no trace has.  Traces that cannot be
 * read are left to whoever reads them.  @ones: those that are read as one (run/joined.h); NULL:
 * none. */
int run_check_names(const struct options *options, const struct actions *actions,
		    const struct recorded_paths *paths, const recorded_ones *ones, struct err *err);

/* Of live ones, whose metadata grows: warns once of each name that none of @traces has so far. */
struct live_names {
	const struct options *options;
	const struct actions *actions;
	VEC(bool) warned; /* by number of the period, the job, the trigger */
};
typedef void live_names_warn(void *user, const char *text);
void run_check_live_names(void *live_names, const struct metadata *const *traces, size_t count,
			  live_names_warn *warn, void *user);
void run_live_names_fini(struct live_names *names);
