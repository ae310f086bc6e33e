/*
 * call-pairing: which exit of a system call belongs to which entry.
 *
 * A thread is in at most one system call at a time, so one slot is enough for it:
 *
 *              call_enter                 exit: call_ends(), then call_forget
 *     CLOSED ─────────────► OPEN ──────────────────────────────────────────────► CLOSED
 *                            │  ▲
 *                   call_gap └──┘ tainted: it may have ended, and the same call begun again
 *
 * - An entry while a call is open shows that the exit of the call was lost.  The new one replaces
 * it.
 * - An exit belongs to the open call if both name the same call.  `exit_syscall` of old kernels
 *   names no call (CALL_UNNAMED), and ends whatever is open.
 * - Any exit closes the slot, also one that does not belong: a thread that left a call is in none.
 * - Lost events taint an open call only if the channel of its entry may have lost them.  A tainted
 *   call still pairs, so that it is counted, but it has no duration.
 *
 * The same rules hold in a worker, for the calls within one on-CPU interval, and in the merger, for
 * those that cross intervals or chunks.  A worker ends the interval at a gap, so nothing of its own
 * is ever tainted.
 *
 * Only `is_open` says whether there is a call: call_forget() leaves the other members as they are.
 * Checkpoints contain them, so their values count even while the slot is closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The identity of an exit that names no call; any other number identifies a call, as its user
 * numbers calls (syscall_id(), enum file_call). */
#define CALL_UNNAMED 0

struct call_pairing {
	uint64_t entry_ts; /* ns */
	uint64_t channel;  /* of the entry event; used by the merger only */
	uint32_t id;
	bool is_open;
	bool is_tainted;
};

static inline void call_enter(struct call_pairing *call, uint32_t id, uint64_t entry_ts,
			      uint64_t channel)
{
	*call = (struct call_pairing){
		.entry_ts = entry_ts, .channel = channel, .id = id, .is_open = true
	};
}

/* Whether the exit of the call @exit_id ends the open call; false if none is open. */
static inline bool call_ends(const struct call_pairing *call, uint32_t exit_id)
{
	return call->is_open && (exit_id == CALL_UNNAMED || exit_id == call->id);
}

/* The time from entry to exit.  False: it is not known, because events were lost meanwhile or the
 * clocks of two CPUs disagree. */
static inline bool call_duration(const struct call_pairing *call, uint64_t exit_ts,
				 uint64_t *ret_ns)
{
	*ret_ns = exit_ts - call->entry_ts;
	return !call->is_tainted && exit_ts >= call->entry_ts;
}

/* Events were lost.  @may_miss: events of `channel` may be among them. */
static inline void call_gap(struct call_pairing *call, bool may_miss)
{
	call->is_tainted |= may_miss;
}

static inline void call_forget(struct call_pairing *call)
{
	call->is_open = false;
}
