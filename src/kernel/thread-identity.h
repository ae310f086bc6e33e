/*
 * thread-identity: which thread a tid means, and which thread names a process (doc/definitions.md,
 * 2.2 and 2.3).
 *
 *     tid 9   forked ──── lives ──── leaves its CPU dead   forked ──── another thread with this tid
 *     tid 7   forked ──── lives ──── exec: it is 5 from then on
 *     tid 5   forked ──── lives ────┘ the leader: it ends
 *
 * So a tid is that of one thread after the other, and a thread may have two.  Its row or index,
 * which counts up with each new thread, is its identity.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a sched_process_exec with these fields gives the thread @former the tid @tid, whose
 * thread ends: it is not the leader.  0: the event lacks the field. */
static inline bool thread_takes_tid(int64_t tid, int64_t former)
{
	return (int32_t)tid > 0 && (int32_t)former > 0 && (int32_t)tid != (int32_t)former;
}

/* What a process is called by. */
struct process_name {
	int32_t rank; /* of a thread: the lowest counts; PROCESS_UNNAMED: by none yet */
	uint64_t row; /* of that thread */
};
#define PROCESS_UNNAMED INT32_MAX

/* The leader comes first, then the smallest tid. */
static inline int32_t process_name_rank(int32_t tid, int64_t pid)
{
	return tid == pid ? INT32_MIN : tid;
}

/* Whether it is called by this thread of its own, which has a name, rather than by those before.
 * Of several that had the tid the newest counts. */
static inline bool process_name_by(struct process_name *name, int32_t tid, int64_t pid,
				   uint64_t row)
{
	int32_t rank = process_name_rank(tid, pid);

	if (rank == name->rank ? row <= name->row : rank > name->rank) {
		return false;
	}
	*name = (struct process_name){ .rank = rank, .row = row };
	return true;
}
