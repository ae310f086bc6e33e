/*
 * history-phases: `history --phases`, the phases that a store has of the windows that are shown.
 *
 * Those of a trace come before its total, those of all traces (--merged) before the joint one, by
 * time.  A phase that lies in the windows' time only in part is shown as a whole.
 */
#pragma once

#include "stored/history-state.h"

/* Finds those of h->windows, and says that there are none.  Negative: they cannot be read. */
int history_phases_find(struct stored_history *h);
/* Shows those of a trace; HISTORY_ALL: of all. */
int history_phases_show(struct stored_history *h, uint32_t trace);
