/*
 * states: the rolling states of traces in a file, for a later run to go on with (--state).
 *
 *     checkpoint_file_open ── of each trace that comes: checkpoint_file_restore
 *                    of each that does not end: trace_pause, checkpoint_file_put
 *                    of each that does:         checkpoint_file_drop ── checkpoint_file_save
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

struct checkpoint_file;

/* @setup is taken over; @all analyses that there are.  A file that is not there has no states;
 * -EINVAL: it is none, or one of other analyses or windows. */
int checkpoint_file_open(const char *path, struct partial_file_setup *setup,
			 const struct analysis *const *all, struct checkpoint_file **ret,
			 struct err *err);
void checkpoint_file_free(
	struct checkpoint_file *checkpoint_file); /* NULL is fine; saves nothing */

const char *checkpoint_file_path(const struct checkpoint_file *checkpoint_file);
/* Whether there is one. */
bool checkpoint_file_any(const struct checkpoint_file *checkpoint_file);

/*
 * Puts the state of the trace with @uuid into @trace, which is new, if there is one: 1; 0: there is
 * none.  -EINVAL: it cannot be, and @trace is only to be freed.
 */
int checkpoint_file_restore(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			    struct trace *trace, struct err *err);

/* Keeps the state of a trace that is paused, in place of what there is of it. */
void checkpoint_file_put(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			 struct trace *trace, const struct partial_file_trace *identity);

/* The trace is over. */
void checkpoint_file_drop(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16]);

/* -errno, with the reason. */
int checkpoint_file_save(const struct checkpoint_file *checkpoint_file, struct err *err);

#endif
