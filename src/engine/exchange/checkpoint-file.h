/*
 * checkpoint-file: checkpoints of traces in a file, for a later run to continue (--state).
 *
 *     checkpoint_file_open
 *       each trace that comes:              checkpoint_file_restore
 *       each that does not end in this run: trace_pause, checkpoint_file_put
 *       each that ends:                     checkpoint_file_drop
 *     checkpoint_file_save
 *
 * The UUID identifies a trace.  Traces that do not come in this run, or fail, keep their
 * checkpoints.  Saving writes a new file and renames it, so the path has a whole file at any time.
 * `sillage merge` shows its contents.
 */
#ifndef SILLAGE_ENGINE_EXCHANGE_CHECKPOINT_FILE_H
#define SILLAGE_ENGINE_EXCHANGE_CHECKPOINT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "engine/exchange/partial-file.h"

struct checkpoint_file;

/* Takes ownership of @setup.  @all: the analyses of this program.  A missing file is one without
 * checkpoints.  -EINVAL: not such a file, or made with other analyses, windows or periods. */
int checkpoint_file_open(const char *path, struct partial_file_setup *setup,
			 const struct analysis *const *all, struct checkpoint_file **ret,
			 struct err *err);
void checkpoint_file_free(
	struct checkpoint_file *checkpoint_file); /* NULL is fine; does not save */

const char *checkpoint_file_path(const struct checkpoint_file *checkpoint_file);
/* Whether it has a checkpoint. */
bool checkpoint_file_any(const struct checkpoint_file *checkpoint_file);

/*
 * Reads the checkpoint of the trace with @uuid into @trace, which is new.  1: done; 0: the file has
 * none; -EINVAL: it is damaged, and @trace can only be freed.
 */
int checkpoint_file_restore(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			    struct trace *trace, struct err *err);

/* Adds the checkpoint of a paused trace, or replaces the one with its UUID. */
void checkpoint_file_put(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			 struct trace *trace, const struct partial_file_trace *identity);

/* The trace has ended: removes its checkpoint, if any. */
void checkpoint_file_drop(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16]);

/* Writes the file; -errno, with the reason. */
int checkpoint_file_save(const struct checkpoint_file *checkpoint_file, struct err *err);

#endif
