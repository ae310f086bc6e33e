/*
 * files-worker: the calls that `files` knows, as a worker sees them.  A call that lies within one
 * on-CPU interval becomes one record, any other one record for each half.
 */
#include <string.h>

#include "analyses/files/files.h"

enum {
	ENTRY_FD,
	ENTRY_FD2,
	ENTRY_ARG,
	ENTRY_ARG2,
	ENTRY_PATH,
	ENTRY_TID,
	ENTRY_PID,
	ENTRY_ADDRESS
};
enum { EXIT_RET, EXIT_TID, EXIT_PID, EXIT_PIPE, EXIT_PAIR, EXIT_FAMILY, EXIT_PORT, EXIT_ADDRESS };

/* Copies the end of a path that is too long: it says more than the start. */
static uint8_t copy_path(char path[FILE_NAME_MAX], const struct value *from)
{
	uint64_t skipped = from->len > FILE_NAME_MAX ? from->len - FILE_NAME_MAX : 0;

	memcpy(path, from->bytes + skipped, from->len - skipped);
	return (uint8_t)(from->len - skipped);
}

static uint64_t numbers_of(struct worker *worker, const struct call *call, const char *path)
{
	uint64_t words[CALL_WORDS + FILE_NAME_MAX / 8 + 1];

	memcpy(words, call, sizeof(*call));
	if (call->path_len > 0) {
		words[call_words(call) - 1] = 0;
		memcpy(words + CALL_WORDS, path, call->path_len);
	}
	return worker_numbers(worker, words, call_words(call));
}

static bool is_short(const struct call *call)
{
	return call->fd2 < 0 && call->arg == 0 && call->arg2 == 0 && call->path_len == 0 &&
	       !(call->flags & CALL_HAS_OUT) && call->time >> SHORT_NS_BITS == 0 &&
	       call->ret == (int32_t)call->ret;
}

static void emit_call(struct worker *worker, uint64_t ts, int32_t tid, unsigned int kind,
		      const struct call *call, const char *path)
{
	struct record *record = worker_emit(worker, ts, tid, kind);

	record->arg16 = 0;
	if (kind == OWN_CALL && is_short(call)) {
		record->arg16 = (uint16_t)(call->call | call->flags << 8);
		record->arg32 = call->fd;
		record->arg64 = call->time << SHORT_NS_BITS | (uint32_t)call->ret;
	} else {
		record->arg64 = numbers_of(worker, call, path);
	}
}

static void emit_pid(struct worker *worker, struct worker_files *files,
		     const struct trace_event *event, int32_t tid, unsigned int field)
{
	if (event_has(event, field) && !files->has_emitted_pid) {
		worker_emit(worker, event->ts, tid, OWN_PID)->arg64 = event_u64(event, field, 0);
		files->has_emitted_pid = worker_sees_switches(worker);
	}
}

static void on_entry(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct worker_files *files = state;
	struct call *open = &files->open;
	int32_t tid = worker_tid_of(worker, event, ENTRY_TID);
	const struct value *address = event_text(event, ENTRY_ADDRESS);

	emit_pid(worker, files, event, tid, ENTRY_PID);
	*open = (struct call){ .time = event->ts,
			       .fd = (int32_t)event_i64(event, ENTRY_FD, -1),
			       .fd2 = (int32_t)event_i64(event, ENTRY_FD2, -1),
			       .arg = event_i64(event, ENTRY_ARG, 0),
			       .arg2 = (int32_t)event_i64(event, ENTRY_ARG2, 0),
			       .call = (uint8_t)user,
			       .flags = CALL_HAS_ENTRY };
	if (file_call_results[user] == RETURNS_RECEIVED) { /* nearly always 0 */
		open->arg = (int64_t)file_call_extent(user, open->arg,
						      event_i64(event, ENTRY_ARG2, -1));
		open->arg2 = 0;
	}
	if (event_has(event, ENTRY_PATH)) {
		open->path_len = copy_path(files->path, event_text(event, ENTRY_PATH));
	}
	if (address && address->len == 4) {
		memcpy(&open->out[0], address->bytes, 4);
		open->flags |= CALL_HAS_OUT;
	}
	if (worker_sees_switches(worker)) {
		call_enter(&files->pairing, user, event->ts, 0);
	} else {
		call_forget(&files->pairing);
		emit_call(worker, event->ts, tid, OWN_OPEN, open, files->path);
	}
}

/* Adds the result, and what else the exit event contains. */
static void add_exit(struct call *call, const struct trace_event *event)
{
	const struct value *address = event_text(event, EXIT_ADDRESS);
	const struct value *fds =
		event_text(event, event_has(event, EXIT_PIPE) ? EXIT_PIPE : EXIT_PAIR);

	if (event_has(event, EXIT_RET)) {
		call->ret = event_i64(event, EXIT_RET, 0);
		call->flags |= CALL_HAS_RET;
	}
	if (fds && fds->len == sizeof(call->out)) {
		memcpy(call->out, fds->bytes, sizeof(call->out));
		call->flags |= CALL_HAS_OUT;
	}
	if (event_has(event, EXIT_FAMILY)) {
		call->arg2 = (int32_t)event_i64(event, EXIT_FAMILY, 0);
	}
	if (address && address->len == 4) {
		memcpy(&call->out[0], address->bytes, 4);
		call->out[1] = (uint32_t)event_i64(event, EXIT_PORT, 0);
		call->flags |= CALL_HAS_OUT;
	}
}

static void on_exit_(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct worker_files *files = state;
	struct call *open = &files->open;
	int32_t tid = worker_tid_of(worker, event, EXIT_TID);

	emit_pid(worker, files, event, tid, EXIT_PID);
	if (call_ends(&files->pairing, user)) {
		open->time = event->ts - files->pairing.entry_ts;
		open->flags |= CALL_HAS_NS;
		add_exit(open, event);
		emit_call(worker, event->ts, tid, OWN_CALL, open, files->path);
	} else {
		struct call exit = { .fd = -1,
				     .fd2 = -1,
				     .call = (uint8_t)user,
				     .flags = files->pairing.is_open ? CALL_IS_ALONE : 0 };

		add_exit(&exit, event);
		emit_call(worker, event->ts, tid, OWN_EXIT, &exit, "");
	}
	call_forget(&files->pairing);
}

void files_worker_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct worker_files *files = state;

	if (is_window) {
		return;
	}
	if (files->pairing.is_open) {
		emit_call(worker, ts, worker_tid(worker), OWN_OPEN, &files->open, files->path);
	}
	call_forget(&files->pairing);
	files->has_emitted_pid = false;
}

static void on_fork(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	enum { TID, PID, PARENT_PID };
	struct record *record;

	if (event_has(event, TID) && event_has(event, PID)) {
		record =
			worker_emit(worker, event->ts, (int32_t)event_i64(event, TID, 0), OWN_FORK);
		record->arg64 = event_u64(event, PID, 0);
		record->arg32 = (int32_t)event_i64(event, PARENT_PID, -1);
	}
}

/* Emits a record of the thread that the event names, without further data. */
static void on_thread(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t kind)
{
	enum { TID };

	if (event_has(event, TID)) {
		(void)worker_emit(worker, event->ts, (int32_t)event_i64(event, TID, 0), kind);
	}
}

#define DUMPS 0 /* the entity that records of state dumps belong to */

static void on_dump(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	(void)worker_emit_entity(worker, event->ts, DUMPS, OWN_DUMP);
}

static void on_dump_process(struct worker *worker, void *state, const struct trace_event *event,
			    uint32_t user)
{
	enum { TID, PID, ADDRESS };
	uint64_t numbers[2];

	if (!event_has(event, TID) || !event_has(event, PID)) {
		return;
	}
	numbers[0] = event_u64(event, PID, 0);
	numbers[1] = (uint64_t)event_i64(event, ADDRESS, 0);
	worker_emit(worker, event->ts, (int32_t)event_i64(event, TID, 0), OWN_DUMP_PROCESS)->arg64 =
		worker_numbers(worker, numbers, 2);
}

static void on_dump_fd(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t user)
{
	enum { FD, PATH, PID, ADDRESS, FLAGS };
	struct call call = { .path_len = 0 };
	char path[FILE_NAME_MAX];

	if (!event_has(event, FD) || !event_has(event, PATH) ||
	    !(event_has(event, PID) || event_has(event, ADDRESS))) {
		return;
	}
	call.time = event_has(event, ADDRESS) ? FD_KEY_ADDRESS(event_u64(event, ADDRESS, 0))
					      : event_u64(event, PID, 0);
	call.fd = (int32_t)event_i64(event, FD, 0);
	call.arg = event_i64(event, FLAGS, 0);
	call.path_len = copy_path(path, event_text(event, PATH));
	worker_emit_entity(worker, event->ts, DUMPS, OWN_DUMP_FD)->arg64 =
		numbers_of(worker, &call, path);
}

/* ---- needs ---- */

#define ENTRY(event_, call, ...)                                                                   \
	{                                                                                          \
		event_, { __VA_ARGS__, "context.tid", "context.pid", "@v4addr" }, on_entry,        \
			FILE_CALL_##call                                                           \
	}
#define EXIT(event_, call)                                                                         \
	{                                                                                          \
		event_, { "ret",     "context.tid", "context.pid", "@fildes",                      \
			  "@socket", "family",      "sport",       "@v4addr" },                    \
			on_exit_, FILE_CALL_##call                                                 \
	}

const struct need files_needs[FILES_NEEDS] = {
#define X(name, operation, effect, ...)                                                            \
	ENTRY("syscall_entry_" #name, name, __VA_ARGS__),                                          \
		ENTRY("compat_syscall_entry_" #name, name, __VA_ARGS__),                           \
		ENTRY("sys_" #name, name, __VA_ARGS__),                                            \
		ENTRY("compat_sys_" #name, name, __VA_ARGS__), EXIT("syscall_exit_" #name, name),  \
		EXIT("compat_syscall_exit_" #name, name),
	FILE_CALLS(X)
#undef X
		EXIT("exit_syscall", UNNAMED),
	{ "sched_process_fork", { "child_tid", "child_pid", "parent_pid" }, on_fork, 0 },
	{ "sched_process_exec", { "tid" }, on_thread, OWN_EXEC },
	{ "sched_process_exit", { "tid" }, on_thread, OWN_END },
	{ "lttng_statedump_start", { NULL }, on_dump, 0 },
	{ "lttng_statedump_process_state",
	  { "tid", "pid", "file_table_address" },
	  on_dump_process,
	  0 },
	{ "lttng_statedump_file_descriptor",
	  { "fd", "@filename", "pid", "file_table_address", "flags" },
	  on_dump_fd,
	  0 },
};
