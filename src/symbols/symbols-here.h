/*
 * symbols-here: what a process of this host has mapped, where its trace does not say it.
 *
 * Only of a process that still runs and is the one that was traced: the trace is of the present
 * boot, its number means the same here, and it had begun before the event.  A file is the one that
 * is mapped as long as its inode is.
 */
#pragma once

#include "ctf/metadata/type.h"
#include "symbols/symbols.h"

/* Whether processes of the trace may be those of this host. */
bool symbols_here_is_of(const struct metadata *of);
/* Tells of the images of a process of such a trace, if it is the one that had this number at @ts,
 * as a state dump would: each with its inode behind it. */
typedef void symbols_here_fn(void *user, const struct symbols_event *event);
void symbols_here_each(const struct metadata *of, int64_t pid, uint64_t ts, symbols_here_fn *each,
		       void *user);
