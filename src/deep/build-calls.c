/*
 * build-calls: see build.h; system calls: which one a thread is in, and what it says of priorities.
 */
#include <string.h>
#include <sys/resource.h>

#include "deep/build.h"
#include "kernel/syscall-names.h"
#include "kernel/wait-object.h"

static bool sets_prio(const char *name)
{
	return strcmp(name, "sched_setscheduler") == 0 || strcmp(name, "sched_setparam") == 0 ||
	       strcmp(name, "sched_setattr") == 0 || strcmp(name, "setpriority") == 0 ||
	       strcmp(name, "nice") == 0;
}

/* A call that sets the priority of a thread, the caller's if no pid is given; or of a group of
 * threads, which is not followed. */
static void on_set_prio(const struct build *build, const struct reader_event *event,
			struct deep_thread *caller)
{
	bool has_which = reader_has(event, CALL_WHICH);
	unsigned int whose = has_which ? CALL_WHO : CALL_PID;
	int64_t tid = reader_has(event, whose) ? event->values[whose].i : 0;

	if (tid >= 0 && !(has_which && event->values[CALL_WHICH].i != PRIO_PROCESS)) {
		build_prio_set(build, caller, event->ts,
			       build_thread(build, tid != 0 ? (int32_t)tid : caller->tid));
	}
}

/* FUTEX_WAIT, _LOCK_PI and _LOCK_PI2 wait for a lock; C libraries wait for events, and for the end
 * of a thread, with FUTEX_WAIT_BITSET (doc/definitions.md, 7.4). */
static bool waits_for_lock(uint64_t op)
{
	op &= FUTEX_OP_MASK;
	return op == 0 || op == 6 || op == 13;
}

/* Index of the call that an entry begins: one for each event class, or two for each futex. */
static uint32_t call_of(const struct build *build, const struct reader_event *event)
{
	bool has_futex = reader_has(event, CALL_FUTEX), is_compat;
	bool is_lock =
		has_futex && reader_has(event, CALL_OP) && waits_for_lock(event->values[CALL_OP].u);
	uint64_t futex = has_futex ? event->values[CALL_FUTEX].u : 0;
	struct indexes *calls = is_lock ? build->by_lock : build->by_call;
	bool is_new;
	uint32_t *at =
		indexes_put(calls, has_futex ? futex : UINT64_MAX - event->class->index, &is_new);

	if (is_new) {
		const char *name = syscall_name(event->class->name, &is_compat);

		*at = (uint32_t)build->timeline->calls.count;
		*vec_push(&build->timeline->calls) =
			(struct deep_call){ .name = mem_strdup(name ? name : "?"),
					    .sets_prio = name && sets_prio(name),
					    .has_futex = has_futex,
					    .is_lock = is_lock,
					    .futex = futex };
	}
	return *at;
}

void build_on_call(const struct build *build, const struct reader_event *event, bool is_entry)
{
	const struct deep_cpu *cpu = build_cpu(build, event->cpu);
	struct deep_thread *thread = build_running(build, cpu);

	if (thread) {
		enum { RET };

		if (!is_entry && thread->is_in_call) {
			build_prio_was_set(build, thread, event->ts,
					   reader_has(event, RET) && event->values[RET].i < 0);
		}
		thread->set_thread = NOBODY; /* an exit may be missing */
		thread->is_in_call = is_entry;
		if (is_entry) {
			thread->call = call_of(build, event);
			thread->call_channel = event->stream->id;
			if (build->timeline->calls.at[thread->call].sets_prio) {
				on_set_prio(build, event, thread);
			}
		}
		build_put_running(build, thread, event->ts, cpu);
	}
}
