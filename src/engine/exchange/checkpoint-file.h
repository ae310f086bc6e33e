/*
 * checkpoint-file: checkpoints of traces in a file, for a later run to continue (--state).
 *
 *     checkpoint_file_open
 *       each trace that comes:              checkpoint_file_restore
 *       from time to time, each trace:      trace_pause, checkpoint_file_put
 *                                           checkpoint_file_begin_save
 *       each that does not end in this run: trace_pause, checkpoint_file_put
 *       each that ends:                     checkpoint_file_drop
 *     checkpoint_file_save
 *
 * The UUID identifies a trace, with the names of host and session: two sessions that are played
 * from one trace are two, open at the same time or not.  Traces that do not come in this run, or
 * fail, keep their checkpoints.  `sillage merge` shows the contents of the file.
 *
 *     write PATH.new ─► fsync ─► link PATH to PATH.1 ─► rename PATH.new to PATH ─► fsync of DIR
 *
 * So PATH is a whole file at any time, whatever ends the process or the machine.  PATH.1 is the one
 * before; it is read if PATH cannot be.  A file that could not be used is replaced without a link:
 * PATH.1 stays as it is.  checkpoint_file_begin_save() does this in a thread of its
 * own, on a copy.
 */
#pragma once

#include <stdbool.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/exchange/partial-file.h"

struct checkpoint_file;

/* Takes ownership of @setup.  @all: the analyses of this program.  A missing file is one without
 * checkpoints.  If the file is damaged or of another version, the one before is used, and
 * checkpoint_file_note() says so.  -EINVAL: neither can be used, or the file was made with other
 * analyses, windows or periods. */
int checkpoint_file_open(const char *path, struct partial_file_setup *setup,
			 const struct analysis *const *all, struct checkpoint_file **ret,
			 struct err *err);
void checkpoint_file_free(
	struct checkpoint_file *checkpoint_file); /* NULL is fine; does not save */

/*
 * Two processes must not save into one file.  Locks PATH.lock, a file that stays: the descriptor,
 * whose end, like that of the process, unlocks it.  -EAGAIN: another process has the lock.
 */
int checkpoint_file_lock(const char *path, struct err *err);

const char *checkpoint_file_path(const struct checkpoint_file *checkpoint_file);
/* Why the file before is used; NULL: it is not. */
const char *checkpoint_file_note(const struct checkpoint_file *checkpoint_file);
/* Whether it has a checkpoint. */
bool checkpoint_file_any(const struct checkpoint_file *checkpoint_file);

/*
 * Reads the checkpoint of the trace with @uuid and the names of @identity (NULL: any) into @trace,
 * which is new, and which is the one that is open with it from then on.  1: done; 0: the file has
 * none; -EINVAL: it is damaged, and @trace can only be freed; -EEXIST: there is only that of
 * another trace, which is open in this process.  @ret_beside: what was put beside the
 * trace, borrowed until the file changes; nothing is left in it if nothing was.
 */
int checkpoint_file_restore(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			    const struct partial_file_trace *identity, struct trace *trace,
			    struct codec *ret_beside, struct err *err);

/* Adds the checkpoint of a paused trace, or replaces the one that is its own.  @stays_open: it goes
 * on, and no other trace continues from it in this process.  @beside: what the
 * caller knows of the trace and the engine does not; NULL: nothing. */
void checkpoint_file_put(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			 struct trace *trace, const struct partial_file_trace *identity,
			 const struct codec_out *beside, bool stays_open);

/* What is beside a trace has parts, in a fixed order; an empty one is one that nobody wrote. */
/* Adds a part to @beside and frees it. */
void checkpoint_file_add_part(struct codec_out *beside, struct codec_out *part);
/* The next part, to be read; nothing is left in it if there is none. */
struct codec checkpoint_file_take_part(struct codec *beside);

/* The trace has ended: removes its checkpoint, if any, but not that of another one that is open. */
void checkpoint_file_drop(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			  const struct partial_file_trace *identity, const struct trace *trace);

/* Writes the file; -errno, with the reason.  Waits for checkpoint_file_begin_save(). */
int checkpoint_file_save(struct checkpoint_file *checkpoint_file, struct err *err);

/* Starts to write the file as it is now.  No other save may be running. */
void checkpoint_file_begin_save(struct checkpoint_file *checkpoint_file);
/* Whether that is still being written. */
bool checkpoint_file_is_saving(const struct checkpoint_file *checkpoint_file);
/* Waits for it; its result.  0 if there was none since the last call. */
int checkpoint_file_end_save(struct checkpoint_file *checkpoint_file, struct err *err);
/* Bytes of all checkpoints, before compression. */
uint64_t checkpoint_file_bytes(const struct checkpoint_file *checkpoint_file);
