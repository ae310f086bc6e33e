/*
 * turn: one pass of the event loop: what has come is looked at once, then the loop waits again.
 *
 * Signals, servers and all other connections have to wait while a turn lasts.  So whatever has more
 * work than fits asks turn_is_spent() between two pieces of it, and goes on in the next turn.
 * There is one loop in a process.  Where none counts its turns (lists of sessions), there is no
 * limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void turn_begin(void);
void turn_end(void);

/* Whether TURN_NS have passed since it was first asked in this turn: the wait of the loop, which is
 * part of a turn, does not count. */
bool turn_is_spent(void);

/* ns: processor time of this thread in the longest turn so far. */
uint64_t turn_longest_ns(void);
