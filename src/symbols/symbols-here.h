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

/* Maps the images of the process, if it is the one that had this number at @ts in the trace @of. */
void symbols_here_look(struct symbols *symbols, const struct metadata *of, int64_t pid,
		       uint64_t ts);
