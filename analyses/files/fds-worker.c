/*
 * fds-worker: calls on descriptors, as a worker sees them; see fds.h.  A call that lies within one
 * on-CPU interval becomes one record, any other one record for each half.
 */
#include <string.h>

#include "analyses/files/fds.h"

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

static uint64_t numbers_of(struct worker *worker, const struct fds_call *call, const char *path)
{
	uint64_t words[FDS_CALL_WORDS + FILE_NAME_MAX / 8 + 1];

	memcpy(words, call, sizeof(*call));
	if (call->path_len > 0) {
		words[fds_call_words(call) - 1] = 0;
		memcpy(words + FDS_CALL_WORDS, path, call->path_len);
	}
	return worker_numbers(worker, words, fds_call_words(call));
}

static bool is_short(const struct fds_call *call)
{
	return call->fd2 < 0 && call->arg == 0 && call->arg2 == 0 && call->path_len == 0 &&
	       !(call->flags & FDS_CALL_HAS_OUT) && call->time >> SHORT_NS_BITS == 0 &&
	       call->ret == (int32_t)call->ret;
}

static void emit_call(struct worker *worker, uint64_t ts, int32_t tid, unsigned int kind,
		      const struct fds_call *call, const char *path)
{
	struct record *record = worker_emit(worker, ts, tid, kind);

	record->arg16 = 0;
	if (kind == FDS_CALL && is_short(call)) {
		record->arg16 = (uint16_t)(call->call | call->flags << 8);
		record->arg32 = call->fd;
		record->arg64 = call->time << SHORT_NS_BITS | (uint32_t)call->ret;
	} else {
		record->arg64 = numbers_of(worker, call, path);
	}
}

static void emit_pid(struct worker *worker, struct fds_worker *fds, const struct trace_event *event,
		     int32_t tid, unsigned int field)
{
	if (event_has(event, field) && !fds->has_emitted_pid) {
		worker_emit(worker, event->ts, tid, FDS_PID)->arg64 = event_u64(event, field, 0);
		fds->has_emitted_pid = worker_sees_switches(worker);
	}
}

void fds_entry(struct worker *worker, void *state, const struct trace_event *event, uint32_t user)
{
	struct fds_worker *fds = state;
	struct fds_call *open = &fds->open;
	int32_t tid = worker_tid_of(worker, event, ENTRY_TID);
	const struct value *address = event_text(event, ENTRY_ADDRESS);

	emit_pid(worker, fds, event, tid, ENTRY_PID);
	*open = (struct fds_call){ .time = event->ts,
				   .fd = (int32_t)event_i64(event, ENTRY_FD, -1),
				   .fd2 = (int32_t)event_i64(event, ENTRY_FD2, -1),
				   .arg = event_i64(event, ENTRY_ARG, 0),
				   .arg2 = (int32_t)event_i64(event, ENTRY_ARG2, 0),
				   .call = (uint8_t)user,
				   .flags = FDS_CALL_HAS_ENTRY };
	if (file_call_results[user] == RETURNS_RECEIVED) { /* nearly always 0 */
		open->arg = (int64_t)file_call_extent(user, open->arg,
						      event_i64(event, ENTRY_ARG2, -1));
		open->arg2 = 0;
	}
	if (event_has(event, ENTRY_PATH)) {
		open->path_len = copy_path(fds->path, event_text(event, ENTRY_PATH));
	}
	if (address && address->len == 4) {
		memcpy(&open->out[0], address->bytes, 4);
		open->flags |= FDS_CALL_HAS_OUT;
	}
	if (worker_sees_switches(worker)) {
		call_enter(&fds->pairing, user, event->ts, 0);
	} else {
		call_forget(&fds->pairing);
		emit_call(worker, event->ts, tid, FDS_OPEN, open, fds->path);
	}
}

/* Adds the result, and what else the exit event contains. */
static void add_exit(struct fds_call *call, const struct trace_event *event)
{
	const struct value *address = event_text(event, EXIT_ADDRESS);
	const struct value *fds =
		event_text(event, event_has(event, EXIT_PIPE) ? EXIT_PIPE : EXIT_PAIR);

	if (event_has(event, EXIT_RET)) {
		call->ret = event_i64(event, EXIT_RET, 0);
		call->flags |= FDS_CALL_HAS_RET;
	}
	if (fds && fds->len == sizeof(call->out)) {
		memcpy(call->out, fds->bytes, sizeof(call->out));
		call->flags |= FDS_CALL_HAS_OUT;
	}
	if (event_has(event, EXIT_FAMILY)) {
		call->arg2 = (int32_t)event_i64(event, EXIT_FAMILY, 0);
	}
	if (address && address->len == 4) {
		memcpy(&call->out[0], address->bytes, 4);
		call->out[1] = (uint32_t)event_i64(event, EXIT_PORT, 0);
		call->flags |= FDS_CALL_HAS_OUT;
	}
}

void fds_exit(struct worker *worker, void *state, const struct trace_event *event, uint32_t user)
{
	struct fds_worker *fds = state;
	struct fds_call *open = &fds->open;
	int32_t tid = worker_tid_of(worker, event, EXIT_TID);

	emit_pid(worker, fds, event, tid, EXIT_PID);
	if (call_ends(&fds->pairing, user)) {
		open->time = event->ts - fds->pairing.entry_ts;
		open->flags |= FDS_CALL_HAS_NS;
		add_exit(open, event);
		emit_call(worker, event->ts, tid, FDS_CALL, open, fds->path);
	} else {
		struct fds_call exit = { .fd = -1,
					 .fd2 = -1,
					 .call = (uint8_t)user,
					 .flags = fds->pairing.is_open ? FDS_CALL_IS_ALONE : 0 };

		add_exit(&exit, event);
		emit_call(worker, event->ts, tid, FDS_EXIT, &exit, "");
	}
	call_forget(&fds->pairing);
}

void fds_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct fds_worker *fds = state;

	if (is_window) {
		return;
	}
	if (fds->pairing.is_open) {
		emit_call(worker, ts, worker_tid(worker), FDS_OPEN, &fds->open, fds->path);
	}
	call_forget(&fds->pairing);
	fds->has_emitted_pid = false;
}

void fds_fork(struct worker *worker, void *state, const struct trace_event *event, uint32_t user)
{
	enum { TID, PID, PARENT_PID };
	struct record *record;

	if (event_has(event, TID) && event_has(event, PID)) {
		record =
			worker_emit(worker, event->ts, (int32_t)event_i64(event, TID, 0), FDS_FORK);
		record->arg64 = event_u64(event, PID, 0);
		record->arg32 = (int32_t)event_i64(event, PARENT_PID, -1);
	}
}

/* Emits a record of the thread that the event names, without further data. */
void fds_of_thread(struct worker *worker, void *state, const struct trace_event *event,
		   uint32_t kind)
{
	enum { TID };

	if (event_has(event, TID)) {
		(void)worker_emit(worker, event->ts, (int32_t)event_i64(event, TID, 0), kind);
	}
}

#define DUMPS 0 /* the entity that records of state dumps belong to */

void fds_dump(struct worker *worker, void *state, const struct trace_event *event, uint32_t user)
{
	(void)worker_emit_entity(worker, event->ts, DUMPS, FDS_DUMP);
}

void fds_dump_process(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t user)
{
	enum { TID, PID, ADDRESS };
	uint64_t numbers[2];

	if (!event_has(event, TID) || !event_has(event, PID)) {
		return;
	}
	numbers[0] = event_u64(event, PID, 0);
	numbers[1] = (uint64_t)event_i64(event, ADDRESS, 0);
	worker_emit(worker, event->ts, (int32_t)event_i64(event, TID, 0), FDS_DUMP_PROCESS)->arg64 =
		worker_numbers(worker, numbers, 2);
}

void fds_dump_fd(struct worker *worker, void *state, const struct trace_event *event, uint32_t user)
{
	enum { FD, PATH, PID, ADDRESS, FLAGS };
	struct fds_call call = { .path_len = 0 };
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
	worker_emit_entity(worker, event->ts, DUMPS, FDS_DUMP_FD)->arg64 =
		numbers_of(worker, &call, path);
}
