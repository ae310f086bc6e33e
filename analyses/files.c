/*
 * files: what is read and written where: files, sockets, pipes, by path, descriptor and process,
 * and how long each kind of operation takes (analyses reference, 2.5 and 4.6).
 *
 * `io` counts the same calls faster, for it need not know what a descriptor leads to.  That takes
 * an order over all threads of a process, so that it is done in three steps:
 *
 *     worker   pairs entry and exit within a stay, else emits what it saw    OWN_CALL, OPEN, EXIT
 *     shard    pairs the rest; operations                                    FACT_CALL
 *     facts    all calls in time order, with the tables of their processes   file-use.c
 *
 * What a descriptor led to when a call returned is what the call is charged to.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "analyses/files.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/columns.h"
#include "engine/map.h"
#include "engine/shard.h"

enum {
	OWN_CALL = RECORD_OWN, /* a whole call */
	OWN_OPEN,              /* a call that goes on beyond the stay */
	OWN_EXIT,
	OWN_PID,
	OWN_FORK,
	OWN_EXEC,
	OWN_END,
	OWN_DUMP,
	OWN_DUMP_PROCESS,
	OWN_DUMP_FD,
};

const struct file_call_kind file_calls[FILE_CALL_COUNT] = {
#define X(name_, operation_, effect_, ...) [FILE_CALL_##name_] = { #name_, operation_, effect_ },
	FILE_CALLS(X)
#undef X
};

static const char *const operation_names[OPERATIONS] = {
	[OP_READ] = "read",   [OP_WRITE] = "write", [OP_BOTH] = "both", [OP_OPEN] = "open",
	[OP_CLOSE] = "close", [OP_SYNC] = "sync",   [OP_WAIT] = "wait", [OP_ASYNC] = "async",
};

/* ---- one call ---- */

/* As it lies among the numbers of a record, where the path follows. */
struct call {
	uint64_t time; /* of the entry; of a whole call: ns that it took */
	int64_t ret;
	int32_t fd, fd2;
	int64_t arg;
	int32_t arg2;
	uint8_t call, flags, path_len, unused;
	uint32_t out[2]; /* two descriptors; or an address and a port */
};

#define CALL_WORDS (sizeof(struct call) / sizeof(uint64_t))

_Static_assert(FILE_NAME_MAX <= UINT8_MAX, "call.path_len has its length");

/* ---- map side ---- */

struct map_files {
	struct call open;
	bool is_open;      /* entered in this stay */
	bool has_told_pid; /* ... and whose it is has been told */
	char path[FILE_NAME_MAX];
};

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

static bool has(const struct map_event *event, unsigned int field)
{
	return event->present & (1u << field);
}

static int64_t number(const struct map_event *event, unsigned int field, int64_t otherwise)
{
	return has(event, field) ? event->values[field].i : otherwise;
}

/* The end of a path tells more than its beginning. */
static uint8_t copy_path(char path[FILE_NAME_MAX], const struct value *from)
{
	uint64_t skipped = from->len > FILE_NAME_MAX ? from->len - FILE_NAME_MAX : 0;

	memcpy(path, from->bytes + skipped, from->len - skipped);
	return (uint8_t)(from->len - skipped);
}

/* The path has a zero behind it. */
static size_t words_of(const struct call *call)
{
	return CALL_WORDS + (call->path_len > 0 ? call->path_len / 8u + 1 : 0);
}

static uint64_t numbers_of(struct map *map, const struct call *call, const char *path)
{
	uint64_t words[CALL_WORDS + FILE_NAME_MAX / 8 + 1];

	memcpy(words, call, sizeof(*call));
	if (call->path_len > 0) {
		words[words_of(call) - 1] = 0;
		memcpy(words + CALL_WORDS, path, call->path_len);
	}
	return map_numbers(map, words, words_of(call));
}

/* Most calls fit into the record itself, which is all that the merger then has to fetch. */
#define SHORT_NS_BITS 32

static bool is_short(const struct call *call)
{
	return call->fd2 < 0 && call->arg == 0 && call->arg2 == 0 && call->path_len == 0 &&
	       !(call->flags & CALL_HAS_OUT) && call->time >> SHORT_NS_BITS == 0 &&
	       call->ret == (int32_t)call->ret;
}

static void emit_call(struct map *map, uint64_t ts, int32_t tid, unsigned int kind,
		      const struct call *call, const char *path)
{
	struct record *record = map_emit(map, ts, tid, kind);

	record->flags = 0;
	if (kind == OWN_CALL && is_short(call)) {
		record->flags = (uint16_t)(call->call | call->flags << 8);
		record->prio = call->fd;
		record->a = call->time << 32 | (uint32_t)call->ret;
	} else {
		record->a = numbers_of(map, call, path);
	}
}

static void tell_pid(struct map *map, struct map_files *files, const struct map_event *event,
		     int32_t tid, unsigned int field)
{
	if (has(event, field) && !files->has_told_pid) {
		map_emit(map, event->ts, tid, OWN_PID)->a = event->values[field].u;
		files->has_told_pid = map_sees_switches(map);
	}
}

static void on_entry(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	struct map_files *files = state;
	struct call *open = &files->open;
	int32_t tid = map_tid_of(map, event, ENTRY_TID);

	tell_pid(map, files, event, tid, ENTRY_PID);
	*open = (struct call){ .time = event->ts,
			       .fd = (int32_t)number(event, ENTRY_FD, -1),
			       .fd2 = (int32_t)number(event, ENTRY_FD2, -1),
			       .arg = number(event, ENTRY_ARG, 0),
			       .arg2 = (int32_t)number(event, ENTRY_ARG2, 0),
			       .call = (uint8_t)user,
			       .flags = CALL_HAS_ENTRY };
	if (has(event, ENTRY_PATH)) {
		open->path_len = copy_path(files->path, &event->values[ENTRY_PATH]);
	}
	if (has(event, ENTRY_ADDRESS) && event->values[ENTRY_ADDRESS].len == 4) {
		memcpy(&open->out[0], event->values[ENTRY_ADDRESS].bytes, 4);
		open->flags |= CALL_HAS_OUT;
	}
	files->is_open = map_sees_switches(map);
	if (!files->is_open) {
		emit_call(map, event->ts, tid, OWN_OPEN, open, files->path);
	}
}

/* What the exit tells beside the result. */
static void add_exit(struct call *call, const struct map_event *event)
{
	unsigned int pair = has(event, EXIT_PIPE) ? EXIT_PIPE : EXIT_PAIR;

	if (has(event, EXIT_RET)) {
		call->ret = event->values[EXIT_RET].i;
		call->flags |= CALL_HAS_RET;
	}
	if (has(event, pair) && event->values[pair].len == sizeof(call->out)) {
		memcpy(call->out, event->values[pair].bytes, sizeof(call->out));
		call->flags |= CALL_HAS_OUT;
	}
	if (has(event, EXIT_FAMILY)) {
		call->arg2 = (int32_t)number(event, EXIT_FAMILY, 0);
	}
	if (has(event, EXIT_ADDRESS) && event->values[EXIT_ADDRESS].len == 4) {
		memcpy(&call->out[0], event->values[EXIT_ADDRESS].bytes, 4);
		call->out[1] = (uint32_t)number(event, EXIT_PORT, 0);
		call->flags |= CALL_HAS_OUT;
	}
}

static void on_exit_(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	struct map_files *files = state;
	struct call *open = &files->open;
	int32_t tid = map_tid_of(map, event, EXIT_TID);
	bool ends = files->is_open && (user == FILE_CALL_UNNAMED || user == open->call);

	tell_pid(map, files, event, tid, EXIT_PID);
	if (ends) {
		open->time = event->ts - open->time;
		open->flags |= CALL_HAS_NS;
		add_exit(open, event);
		emit_call(map, event->ts, tid, OWN_CALL, open, files->path);
	} else {
		struct call exit = { .fd = -1,
				     .fd2 = -1,
				     .call = (uint8_t)user,
				     .flags = files->is_open ? CALL_IS_ALONE : 0 };

		add_exit(&exit, event);
		emit_call(map, event->ts, tid, OWN_EXIT, &exit, "");
	}
	files->is_open = false;
}

static void on_stay_end(struct map *map, void *state, uint64_t ts, bool is_window)
{
	struct map_files *files = state;

	if (is_window) {
		return;
	}
	if (files->is_open) {
		emit_call(map, ts, map_tid(map), OWN_OPEN, &files->open, files->path);
	}
	files->is_open = false;
	files->has_told_pid = false;
}

static void on_fork(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { TID, PID, PARENT_PID };
	struct record *record;

	(void)state;
	(void)user;
	if (has(event, TID) && has(event, PID)) {
		record = map_emit(map, event->ts, (int32_t)event->values[TID].i, OWN_FORK);
		record->a = event->values[PID].u;
		record->prio = (int32_t)number(event, PARENT_PID, -1);
	}
}

/* Of the thread that the event names; nothing else is to be told. */
static void on_thread(struct map *map, void *state, const struct map_event *event, uint32_t kind)
{
	enum { TID };

	(void)state;
	if (has(event, TID)) {
		(void)map_emit(map, event->ts, (int32_t)event->values[TID].i, kind);
	}
}

#define DUMPS 0 /* the object that what a dump tells of descriptors belongs to */

static void on_dump(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	(void)state;
	(void)user;
	(void)map_emit_of(map, event->ts, DUMPS, OWN_DUMP);
}

static void on_dump_process(struct map *map, void *state, const struct map_event *event,
			    uint32_t user)
{
	enum { TID, PID, ADDRESS };
	uint64_t numbers[2];

	(void)state;
	(void)user;
	if (!has(event, TID) || !has(event, PID)) {
		return;
	}
	numbers[0] = event->values[PID].u;
	numbers[1] = (uint64_t)number(event, ADDRESS, 0);
	map_emit(map, event->ts, (int32_t)event->values[TID].i, OWN_DUMP_PROCESS)->a =
		map_numbers(map, numbers, 2);
}

static void on_dump_fd(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { FD, PATH, PID, ADDRESS, FLAGS };
	struct call call = { .path_len = 0 };
	char path[FILE_NAME_MAX];

	(void)state;
	(void)user;
	if (!has(event, FD) || !has(event, PATH) || !(has(event, PID) || has(event, ADDRESS))) {
		return;
	}
	call.time = has(event, ADDRESS) ? FD_KEY_ADDRESS(event->values[ADDRESS].u)
					: event->values[PID].u;
	call.fd = (int32_t)event->values[FD].i;
	call.arg = number(event, FLAGS, 0);
	call.path_len = copy_path(path, &event->values[PATH]);
	map_emit_of(map, event->ts, DUMPS, OWN_DUMP_FD)->a = numbers_of(map, &call, path);
}

/* ---- merge side: each thread for itself ---- */

struct thread_files {
	struct call open;
	char *path; /* of it; NULL: none */
	bool is_open, is_tainted;
	uint64_t channel; /* where it was entered */
	bool has_pid;
	int32_t pid;
};

static uint64_t key_of(const struct thread *thread, const struct thread_files *files)
{
	if (files->has_pid) {
		return (uint32_t)files->pid;
	}
	return thread->view.tid < 0 ? FD_KEY_NONE
				    : FD_KEY_THREAD(thread->view.tid, thread->incarnation);
}

static char *path_of(const uint64_t *words, const struct call *call)
{
	return call->path_len > 0 ? (char *)(words + CALL_WORDS) : NULL;
}

static struct item_key key_of_operation(const struct shard *shard, uint32_t operation)
{
	(void)shard;
	return item_key_of(0, operation_names[operation], ITEM_NAME_BYTES);
}

static void add_operation(struct shard *shard, const struct call *call)
{
	uint8_t operation = file_calls[call->call].operation;
	bool failed = (call->flags & CALL_HAS_RET) && call->ret < 0;
	uint64_t *row;

	if (operation == OP_NONE) {
		return;
	}
	row = shard_row_at(shard, BY_OPERATION, operation, key_of_operation);
	row[OP_CALLS]++;
	row[OP_ERRORS] += failed;
	if (call->flags & CALL_HAS_NS) {
		column_add(row, failed ? OP_ERROR_TIME : OP_TIME, call->time);
	}
}

/* A call that has ended; @path becomes the fact's if it @owns_path. */
static void add_call(struct shard *shard, struct thread *thread, uint64_t ts,
		     const struct call *call, char *path, bool owns_path)
{
	uint8_t operation = file_calls[call->call].operation;
	struct call_fact fact = { .ns = call->time,
				  .ret = call->ret,
				  .fd = call->fd,
				  .fd2 = call->fd2,
				  .arg = call->arg,
				  .arg2 = call->arg2,
				  .call = call->call,
				  .flags = call->flags };

	add_operation(shard, call);
	if (call->call == FILE_CALL_UNNAMED || operation == OP_WAIT || operation == OP_ASYNC) {
		free(owns_path ? path : NULL);
		return;
	}
	fact.key = key_of(thread, shard_thread_state(shard, thread));
	if (call->flags & CALL_HAS_OUT) {
		memcpy(fact.out, call->out, sizeof(fact.out));
		free(owns_path ? path : NULL);
	} else {
		fact.path = path;
		fact.owns_path = owns_path;
	}
	memcpy(shard_fact(shard, thread, ts, FACT_CALL)->words, &fact, sizeof(fact));
}

static void whole_call(struct shard *shard, struct thread *thread, const struct record *record,
		       const uint64_t *numbers)
{
	struct call call = { .time = record->a >> SHORT_NS_BITS,
			     .ret = (int32_t)record->a,
			     .fd = record->prio,
			     .fd2 = -1,
			     .call = (uint8_t)record->flags,
			     .flags = (uint8_t)(record->flags >> 8) };
	char *path = NULL;

	if (record->flags == 0) {
		memcpy(&call, numbers + record->a, sizeof(call));
		path = path_of(numbers + record->a, &call);
	}
	add_call(shard, thread, record->ts, &call, path, false);
}

static void open_call(struct thread_files *files, uint64_t channel, const uint64_t *words)
{
	memcpy(&files->open, words, sizeof(files->open));
	free(files->path);
	files->path = files->open.path_len > 0 ? mem_strdup(path_of(words, &files->open)) : NULL;
	files->is_open = true;
	files->is_tainted = false;
	files->channel = channel;
}

static void end_call(struct shard *shard, struct thread *thread, struct thread_files *files,
		     uint64_t ts, const uint64_t *words)
{
	struct call exit, *open = &files->open;

	memcpy(&exit, words, sizeof(exit));
	if (!files->is_open || (exit.flags & CALL_IS_ALONE) ||
	    (exit.call != FILE_CALL_UNNAMED && exit.call != open->call)) {
		add_call(shard, thread, ts, &exit, NULL, false);
		return;
	}
	if (!files->is_tainted && ts >= open->time) {
		open->flags |= CALL_HAS_NS;
	}
	open->time = ts - open->time;
	open->ret = exit.ret;
	open->flags |= exit.flags;
	if (exit.flags & CALL_HAS_OUT) {
		memcpy(open->out, exit.out, sizeof(open->out));
		open->arg2 = exit.arg2;
	}
	add_call(shard, thread, ts, open, files->path, true);
	files->path = NULL;
}

/* The process of the thread is known from here on. */
static void set_pid(struct shard *shard, struct thread *thread, uint64_t ts, int32_t pid)
{
	struct thread_files *files = shard_thread_state(shard, thread);
	uint64_t former = key_of(thread, files);
	struct fact *fact;

	if (thread->view.tid < 0 || (files->has_pid && files->pid == pid)) {
		return;
	}
	if (files->has_pid) {
		shard_fact(shard, thread, ts, FACT_LEAVE)->words[0] = former;
		former = FD_KEY_NONE;
	}
	files->has_pid = true;
	files->pid = pid;
	fact = shard_fact(shard, thread, ts, FACT_JOIN);
	fact->words[0] = former;
	fact->words[1] = (uint32_t)pid;
}

static void forked(struct shard *shard, struct thread *thread, const struct record *record)
{
	struct thread_files *files = shard_thread_state(shard, thread);
	int32_t pid = (int32_t)record->a;
	struct fact *fact;

	if (thread->view.tid != pid) {
		set_pid(shard, thread, record->ts, pid);
		return;
	}
	files->has_pid = true;
	files->pid = pid;
	fact = shard_fact(shard, thread, record->ts, FACT_FORK);
	fact->words[0] = record->prio < 0 ? FD_KEY_NONE : (uint32_t)record->prio;
	fact->words[1] = (uint32_t)pid;
}

static void dumped_process(struct shard *shard, struct thread *thread, uint64_t ts,
			   const uint64_t *numbers)
{
	struct thread_files *files = shard_thread_state(shard, thread);
	struct fact *fact;

	set_pid(shard, thread, ts, (int32_t)numbers[0]);
	if (numbers[1] != 0) {
		fact = shard_fact(shard, thread, ts, FACT_DUMP_OWNER);
		fact->words[0] = numbers[1];
		fact->words[1] = key_of(thread, files);
	}
}

static void dumped_fd(struct shard *shard, struct thread *thread, uint64_t ts,
		      const uint64_t *words)
{
	struct fact *fact = shard_fact(shard, thread, ts, FACT_DUMP_FD);
	struct call call;

	memcpy(&call, words, sizeof(call));
	fact->words[0] = call.time;
	fact->words[1] = (uint32_t)call.fd;
	fact->words[2] = (uint64_t)call.arg;
	fact->words[3] = (uint64_t)(uintptr_t)path_of(words, &call);
}

static bool accepts(const struct foreign_record *foreign)
{
	const struct record *record = foreign->record;
	struct call call;

	switch (record->kind) {
	case OWN_CALL:
		if (record->flags != 0) {
			return foreign_has(foreign, 0) && (uint8_t)record->flags < FILE_CALL_COUNT;
		}
		break;
	case OWN_OPEN:
	case OWN_EXIT:
	case OWN_DUMP_FD:
		break;
	case OWN_DUMP_PROCESS:
		return foreign_has(foreign, 2);
	case OWN_PID:
	case OWN_FORK:
	case OWN_EXEC:
	case OWN_END:
	case OWN_DUMP:
		return foreign_has(foreign, 0);
	default:
		return false;
	}
	if (!foreign_has(foreign, CALL_WORDS)) {
		return false;
	}
	memcpy(&call, foreign->numbers, sizeof(call));
	return call.call < FILE_CALL_COUNT && foreign_has(foreign, words_of(&call)) &&
	       (call.path_len == 0 || path_of(foreign->numbers, &call)[call.path_len] == 0);
}

static void on_carry(const struct carried *carried, void *state)
{
	struct flat *flat = carried->flat;
	struct thread_files *files = state;
	struct call *open = &files->open;

	flat_u64(flat, &open->time);
	flat_i64(flat, &open->ret);
	flat_i32(flat, &open->fd);
	flat_i32(flat, &open->fd2);
	flat_i64(flat, &open->arg);
	flat_i32(flat, &open->arg2);
	flat_u8(flat, &open->call);
	flat_u8(flat, &open->flags);
	flat_u32(flat, &open->out[0]);
	flat_u32(flat, &open->out[1]);
	flat_text(flat, &files->path);
	flat_bool(flat, &files->is_open);
	flat_bool(flat, &files->is_tainted);
	flat_u64(flat, &files->channel);
	flat_bool(flat, &files->has_pid);
	flat_i32(flat, &files->pid);
	if (!flat_check(flat, open->call < FILE_CALL_COUNT)) {
		open->call = 0;
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct thread_files *files = shard_thread_state(shard, thread);

	switch (record->kind) {
	case OWN_CALL:
		files->is_open = false;
		whole_call(shard, thread, record, numbers);
		break;
	case OWN_OPEN:
		open_call(files, shard_channel(shard), numbers + record->a);
		break;
	case OWN_EXIT:
		end_call(shard, thread, files, record->ts, numbers + record->a);
		files->is_open = false;
		break;
	case OWN_PID:
		set_pid(shard, thread, record->ts, (int32_t)record->a);
		break;
	case OWN_FORK:
		forked(shard, thread, record);
		break;
	case OWN_EXEC:
		shard_fact(shard, thread, record->ts, FACT_EXEC)->words[0] = key_of(thread, files);
		break;
	case OWN_END:
		shard_fact(shard, thread, record->ts, FACT_LEAVE)->words[0] = key_of(thread, files);
		files->has_pid = false;
		break;
	case OWN_DUMP:
		(void)shard_fact(shard, thread, record->ts, FACT_DUMP);
		break;
	case OWN_DUMP_PROCESS:
		dumped_process(shard, thread, record->ts, numbers + record->a);
		break;
	case OWN_DUMP_FD:
		dumped_fd(shard, thread, record->ts, numbers + record->a);
		break;
	default:
		assert(!"a record of files has a kind of its own");
	}
}

static void on_anew(struct shard *shard, struct thread *thread, bool by_exit)
{
	struct thread_files *files = shard_thread_state(shard, thread);

	(void)by_exit;
	if (thread->view.tid < 0) { /* who is unknown is somebody else now */
		files->is_open = false;
	}
}

/* What the thread did in the gap is not known: its call may have ended and begun again. */
static void on_gap(struct shard *shard, struct thread *thread)
{
	struct thread_files *files = shard_thread_state(shard, thread);

	files->is_tainted |= shard_may_miss(shard, files->channel);
}

static void on_forget(void *state)
{
	struct thread_files *files = state;

	free(files->path);
}

/* ---- the analysis ---- */

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

static const struct need needs[] = {
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

#define FIGURE_COLUMNS                                                                             \
	[READ_BYTES] = { "read_bytes", "READ", UNIT_BYTES },                                       \
	[WRITE_BYTES] = { "write_bytes", "WRITTEN", UNIT_BYTES },                                  \
	[READS] = { "reads", "READS", UNIT_COUNT }, [WRITES] = { "writes", "WRITES", UNIT_COUNT }, \
	[ERRORS] = { "errors", "ERRORS", UNIT_COUNT }
#define BY_BYTES (1u << READ_BYTES | 1u << WRITE_BYTES)
#define DIRECTION_COLUMNS                                                                          \
	.columns = {                                                                               \
		{ "disk_read_bytes", "DISK READ", UNIT_BYTES },                                    \
		{ "disk_write_bytes", "DISK WRITE", UNIT_BYTES },                                  \
		{ "net_read_bytes", "NET READ", UNIT_BYTES },                                      \
		{ "net_write_bytes", "NET WRITE", UNIT_BYTES },                                    \
		{ "other_read_bytes", "OTHER READ", UNIT_BYTES },                                  \
		{ "other_write_bytes", "OTHER WR", UNIT_BYTES },                                   \
		{ "unknown_read_bytes", "? READ", UNIT_BYTES },                                    \
		{ "unknown_write_bytes", "? WRITE", UNIT_BYTES },                                  \
	}

const struct analysis analysis_files = {
	.name = "files",
	.summary = "reads and writes by file, descriptor, kind (disk, net, pipe) and process",
	.needs = needs,
	.need_count = sizeof(needs) / sizeof(needs[0]),
	.map_state_size = sizeof(struct map_files),
	.thread_state_size = sizeof(struct thread_files),
	.trace_state_size = sizeof(struct files),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[READ_BYTES] = { "read_bytes", "read", UNIT_BYTES },
				[WRITE_BYTES] = { "write_bytes", "written", UNIT_BYTES },
				[READS] = { "reads", "reads", UNIT_COUNT },
				[WRITES] = { "writes", "writes", UNIT_COUNT },
				[ERRORS] = { "errors", "errors", UNIT_COUNT },
			},
		},
		[BY_OPERATION] = {
			.key = "operations",
			.scope = SCOPE_ITEM,
			.name_key = "name",
			.title = "OPERATION",
			.sort_mask = 1u << OP_TIME,
			.columns = {
				[OP_CALLS] = { "calls", "CALLS", UNIT_COUNT },
				[OP_ERRORS] = { "errors", "ERRORS", UNIT_COUNT },
				[OP_TIME] = { "time", "TIMED", UNIT_NS, COLUMN_SPREAD },
				[OP_ERROR_TIME] = { "error_time", NULL, UNIT_NS, COLUMN_SPREAD },
			},
		},
		[BY_KIND] = {
			.key = "kinds",
			.scope = SCOPE_ITEM,
			.name_key = "name",
			.title = "KIND",
			.sort_mask = BY_BYTES,
			.columns = {
				FIGURE_COLUMNS,
				[KIND_READ_TIME] = { "read_time", "RD TIMED", UNIT_NS, COLUMN_SPREAD },
				[KIND_WRITE_TIME] = { "write_time", "WR TIMED", UNIT_NS, COLUMN_SPREAD },
			},
		},
		[BY_FILE] = {
			.key = "files",
			.scope = SCOPE_ITEM,
			.name_key = "path",
			.title = "FILE",
			.object = "path",
			.sort_mask = BY_BYTES,
			.columns = {
				FIGURE_COLUMNS,
				[FILE_OPENS] = { "opens", "OPENS", UNIT_COUNT },
				[FILE_NS] = { "time_ns", "TIME", UNIT_NS },
			},
		},
		[BY_FD] = {
			.key = "fds",
			.scope = SCOPE_ITEM,
			.owner_key = "pid",
			.id_key = "fd",
			.name_key = "path",
			.title = "PID:FD FILE",
			.sort_mask = BY_BYTES,
			.columns = { FIGURE_COLUMNS },
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 0xFF,
			DIRECTION_COLUMNS,
		},
		[PROCESSES] = {
			.key = "processes",
			.scope = SCOPE_PROCESS,
			.sort_mask = 0xFF,
			DIRECTION_COLUMNS,
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.name_key = "call",
			.title = "LONGEST CALLS",
			.columns = {
				{ "ns", "TIME", UNIT_NS },
				{ "fd", "FD", UNIT_COUNT },
				{ "bytes", "BYTES", UNIT_BYTES },
			},
		},
	},
	.on_stay_end = on_stay_end,
	.on_record = on_record,
	.accepts = accepts,
	.on_carry = on_carry,
	.on_anew = on_anew,
	.on_gap = on_gap,
	.on_forget = on_forget,
	.on_fact = file_use_fact,
	.on_trace_forget = file_use_forget,
	.on_trace_carry = file_use_carry,
};
