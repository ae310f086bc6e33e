/*
 * state-worker: see state.h.
 */
#include "analyses/state/state.h"
#include "analyses/wakes.h"

/* Of an entry.  The descriptor is the first of these that the call has. */
enum {
	CALL_TID,
	CALL_PID,
	CALL_UADDR,
	CALL_OP,
	CALL_FLAGS,
	CALL_FD,
	CALL_MQDES,
	CALL_FD_IN,
	CALL_IN_FD,
	CALL_FDIN,
	CALL_FILDES,
	CALL_FIELDS
};

static struct record *emit_open(struct worker *worker, uint64_t ts, int32_t tid,
				const struct state_worker_call *call)
{
	bool is_on = call->object <= WAIT_FOR_TIMER;
	struct record *record = worker_emit(worker, ts, tid, is_on ? OWN_OPEN_ON : OWN_OPEN);

	record->arg32 = (int32_t)call->class;
	record->arg16 = call->object;
	record->arg64 = is_on ? worker_numbers(worker, call->on, ON_NUMBERS) : call->on[ON_ENTRY];
	return record;
}

static void set_futex(struct state_worker_call *call, const struct trace_event *event)
{
	/* futex_wait() has no operation, but flags. */
	call->on[ON_WHAT] = event_u64(event, CALL_UADDR, 0);
	call->on[ON_OP] =
		event_u64(event, CALL_OP, event_u64(event, CALL_FLAGS, 0) & FUTEX_OP_PRIVATE);
	if (!event_has(event, CALL_UADDR) || !futex_op_waits(call->on[ON_OP])) {
		call->object = WAIT_FOR_NOTHING;
	}
}

static void set_file(struct state_worker_call *call, const struct trace_event *event)
{
	int64_t fd = -1;

	for (unsigned int field = CALL_FD; field < CALL_FIELDS && fd < 0; field++) {
		fd = (int32_t)event_i64(event, field, -1);
	}
	call->on[ON_WHAT] = (uint64_t)fd;
	if (fd < 0) {
		call->object = WAIT_FOR_NOTHING;
	}
}

static void on_entry(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t object)
{
	struct state_worker_call *call = state;
	bool is_told = call->is_told;

	*call = (struct state_worker_call){ .on = { event->ts },
					    .class = event->class->index,
					    .object = (uint8_t)object,
					    .is_open = true,
					    .is_told = true };
	call->on[ON_PID] = event_has(event, CALL_PID) ? event_u64(event, CALL_PID, 0) + 1 : 0;
	if (object == WAIT_FOR_FUTEX) {
		set_futex(call, event);
	} else if (wait_object_is_descriptor(object)) {
		set_file(call, event);
	}
	if (!worker_sees_switches(worker)) {
		call->is_open = false;
		(void)emit_open(worker, event->ts, worker_tid_of(worker, event, CALL_TID), call);
	} else if (!is_told) {
		(void)worker_emit(worker, event->ts, worker_tid(worker), OWN_CLOSED);
	}
}

static void on_exit_(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct state_worker_call *call = state;
	bool sees_switches = worker_sees_switches(worker);

	if (!sees_switches || !call->is_told) {
		(void)worker_emit(worker, event->ts, worker_tid_of(worker, event, CALL_TID),
				  OWN_CLOSED);
	}
	call->is_told = sees_switches;
	call->is_open = false;
}

void state_worker_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct state_worker_call *call = state;

	if (call->is_open) {
		(void)emit_open(worker, ts, worker_tid(worker), call);
		call->is_told = false;
	}
	if (!is_window) {
		call->is_open = call->is_told = false;
	}
}

/* Whether the thread may be in a call that was entered in another chunk, or before it was switched
 * out: then the merger knows. */
static bool may_be_in_call(const struct worker *worker, const struct state_worker_call *call)
{
	return !call->is_open && !call->is_told && worker_sees_switches(worker) &&
	       worker_tid(worker) != 0;
}

/* The first timer that is set in a call that waits for one. */
static void on_timer(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct state_worker_call *call = state;
	enum { EXPIRES };

	if (call->is_open && call->object == WAIT_FOR_TIMER && call->on[ON_WHAT] == 0) {
		call->on[ON_WHAT] = event_u64(event, EXPIRES, 0);
	} else if (may_be_in_call(worker, call)) {
		worker_emit(worker, event->ts, worker_tid(worker), OWN_TIMER)->arg64 =
			event_u64(event, EXPIRES, 0);
	}
}

/* Who is about to wait for a lock lends its priority: first to the owner, then to those that the
 * owner waits for. */
static void on_lend(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	struct state_worker_call *call = state;
	enum { TID, OLD, NEW };

	if (call->is_open && call->object == WAIT_FOR_FUTEX && futex_op_is_pi(call->on[ON_OP]) &&
	    call->on[ON_OWNER] == 0 && event_i64(event, NEW, 0) < event_i64(event, OLD, 0)) {
		call->on[ON_OWNER] = (uint32_t)event_i64(event, TID, 0);
	} else if (may_be_in_call(worker, call) &&
		   event_i64(event, NEW, 0) < event_i64(event, OLD, 0)) {
		worker_emit(worker, event->ts, worker_tid(worker), OWN_LENT)->arg32 =
			(int32_t)event_i64(event, TID, 0);
	}
}

static void on_wake(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t wake_event)
{
	wakes_emit(worker, event, wake_event, OWN_WAKE);
}

/* A fork, or a state dump: 5 is the status of a thread that sleeps. */
static void on_process(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t user)
{
	enum { TID, PID, STATUS, SLEEPS = 5 };
	int32_t tid = (int32_t)event_i64(event, TID, 0);
	struct record *record;

	if (tid > 0) {
		record = worker_emit(worker, event->ts, tid, OWN_PROCESS);
		record->arg64 = event_u64(event, PID, 0);
		record->arg16 = event_u64(event, STATUS, 0) == SLEEPS;
	}
}

#define ENTRY(pattern)                                                                             \
	{                                                                                          \
		pattern, { "context.tid", "context.pid", "uaddr", "op",   "flags", "fd",           \
			   "mqdes",       "fd_in",       "in_fd", "fdin", "fildes" },              \
			on_entry, .user_of = wait_object_of                                        \
	}
#define EXIT(pattern)                                                                              \
	{                                                                                          \
		pattern, { "context.tid" }, on_exit_                                               \
	}

/* ---- descriptors: the handlers of fds.h ---- */

static void on_fds_entry(struct worker *worker, void *state_, const struct trace_event *event,
			 uint32_t user)
{
	struct state_worker *state = state_;

	fds_entry(worker, &state->fds, event, user);
}

static void on_fds_exit(struct worker *worker, void *state_, const struct trace_event *event,
			uint32_t user)
{
	struct state_worker *state = state_;

	fds_exit(worker, &state->fds, event, user);
}

#define FDS_ON_ENTRY  on_fds_entry
#define FDS_ON_EXIT   on_fds_exit
#define FDS_IS_BESIDE true

#define OF_BOTH                                                                                    \
	WAKE_ROWS(WAKE_NEED, on_wake, WAKES_FIELDS), ENTRY("syscall_entry_*"),                     \
		ENTRY("compat_syscall_entry_*"), ENTRY("sys_*"), ENTRY("compat_sys_*"),            \
		EXIT("syscall_exit_*"), EXIT("compat_syscall_exit_*"), EXIT("exit_syscall"),       \
		{ "sched_process_fork", { "child_tid", "child_pid" }, on_process },                \
		{ "lttng_statedump_process_state", { "tid", "pid", "status" }, on_process },       \
		{ "sched_pi_setprio",                                                              \
		  { "tid", "oldprio", "newprio" },                                                 \
		  on_lend,                                                                         \
		  .is_extra = true },                                                              \
		{ "timer_hrtimer_start", { "expires" }, on_timer, .is_extra = true },              \
	{                                                                                          \
		"hrtimer_start", { "expires" }, on_timer, .is_extra = true                         \
	}

const struct need waits_needs[STATE_NEEDS] = { OF_BOTH };

const struct need state_needs[STATE_NEEDS + STATE_FDS_NEEDS] = {
	OF_BOTH,
	CHANGING_CALLS(FDS_NEEDS_OF) FDS_NEEDS,
};
