/*
 * states: the rolling states of traces in a file, for a later run to go on with (--state).
 *
 *     states_open ── of each trace that comes: states_restore
 *                    of each that does not end: trace_pause, states_put
 *                    of each that does:         states_drop ── states_save
 *
 * A trace is known by its UUID.  Those that do not come this time, or fail, stay in the file as
 * they were.  It is written anew as a whole, so that there is always one that is whole; `sillage
 * merge` shows what it has.
 */
#ifndef SILLAGE_ENGINE_EXCHANGE_CHECKPOINT_FILE_H
#define SILLAGE_ENGINE_EXCHANGE_CHECKPOINT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "engine/exchange/partial-file.h"

struct states;

/* @setup is taken over; @all analyses that there are.  A file that is not there has no states;
 * -EINVAL: it is none, or one of other analyses or windows. */
int states_open(const char *path, struct partials_setup *setup, const struct analysis *const *all,
		struct states **ret, struct err *err);
void states_free(struct states *states); /* NULL is fine; saves nothing */

const char *states_path(const struct states *states);
/* Whether there is one. */
bool states_any(const struct states *states);

/*
 * Puts the state of the trace with @uuid into @trace, which is new, if there is one: 1; 0: there is
 * none.  -EINVAL: it cannot be, and @trace is only to be freed.
 */
int states_restore(struct states *states, const uint8_t uuid[16], struct trace *trace,
		   struct err *err);

/* Keeps the state of a trace that is paused, in place of what there is of it. */
void states_put(struct states *states, const uint8_t uuid[16], struct trace *trace,
		const struct partials_trace *identity);

/* The trace is over. */
void states_drop(struct states *states, const uint8_t uuid[16]);

/* -errno, with the reason. */
int states_save(const struct states *states, struct err *err);

#endif
