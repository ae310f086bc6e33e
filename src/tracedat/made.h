/*
 * made: a CTF trace made of a buffer of a trace.dat, by the conversion that `record` uses, too
 * (ftrace/convert.h).
 *
 *     DIR/metadata, DIR/channel0_0, DIR/channel0_1, ...    one stream for each CPU
 *
 * Sub-buffers are read in the order of their times, so that memory is bounded by what the CPUs have
 * at one time, however large the file is.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "tracedat/tracedat.h"

/* What readers of the trace have to know; each is freed by the caller. */
struct made_notes {
	char **at;
	size_t count, room;
};

bool made_has_events(const struct tracedat_buffer *buffer);

/* Writes the trace into the directory @dir, which is empty.  -errno with the reason, @notes then
 * being the caller's, too; -EINTR: a signal came. */
int made_trace(const struct tracedat *dat, const struct tracedat_buffer *buffer, const char *dir,
	       struct made_notes *notes, struct err *err);
