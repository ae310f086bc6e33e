/*
 * window: which rounds take place, and which windows they fill.
 *
 *     watermark ──► round ──► round ──► round that closes the window ──► report ──► next window
 *
 * merger_advance(), merger_finish() and merger_drain() (merger.h) are here.  Their rules:
 *
 *   - A window [begin, end) closes once the watermark has reached `end` and an event at or after
 *     `end` has been taken.  Without such an event the trace may end in this window, which then is
 *     shorter.  A live trace without any new event for IDLE_CLOSE_NS closes its windows anyway,
 *     unless a hole may be there (holes.h).
 *   - More than WINDOWS_EMPTY_MAX windows in a row that nothing falls into close as one (report.h,
 *     `empty`): a jump of time costs one report.
 *   - Between two windows the host may want to pause; the next call goes on.
 *   - Before a window closes, a round applies what is held once that is worth it, or memory is
 *     short.  Rounds do not change the result, only when memory becomes free.
 *   - A round ends where a thread changes its tid (rename): tids are looked up by shard, and the
 *     thread moves to another one between two rounds.
 *   - Windows wait for the initial threads of CPUs, up to window_initial_limit().
 *
 * A round may run in several tasks.  The coordinator goes on meanwhile; the next call of
 * merger_advance() ends the round once its last task is done (merger_task_done()).
 *
 * Invariant: while the open window is in the range, window_begin < close_at <= window_end, and
 * every round's bound is at most window_end, except for the round that ends the trace.
 */
#pragma once

#include <stdint.h>

struct merger;

/* ns: the end of the window of this length that @ts lies in. */
uint64_t window_end_of(uint64_t interval_ns, uint64_t ts);

/* ns: how far the watermark may go before a CPU whose stream begins at @begin is given up. */
uint64_t window_initial_limit(uint64_t begin);

/* Opens the window that begins at @begin; drops what was counted in the open one. */
void window_open(struct merger *merger, uint64_t begin);
void window_forget(struct merger *merger);
