/*
 * files: what is read and written where: files, sockets, pipes, by path, descriptor and process,
 * and how long each kind of operation takes (analyses reference, 2.5 and 4.6).
 *
 * `io` counts the same calls faster, for it need not know what a descriptor leads to.  That takes
 * an order over all threads of a process, so that it is done in three steps:
 *
 *     worker        pairs entry and exit within a stay, else emits what it saw   OWN_CALL, OPEN,
 * EXIT shard         pairs the rest; operations                                   FACT_CALL facts
 * all calls in time order, with the table of their process (fd-table.h)
 *
 * What a descriptor led to when a call returned is what the call is charged to.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "analyses/fd-table.h"
#include "analyses/file-calls.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/columns.h"
#include "engine/map.h"
#include "engine/shard.h"

enum table_index { TOTALS, BY_OPERATION, BY_KIND, BY_FILE, BY_FD, THREADS, PROCESSES, LONGEST };
/* Of all, a kind, a file and a descriptor: these come first. */
enum { READ_BYTES, WRITE_BYTES, READS, WRITES, ERRORS, FIGURES };
enum { KIND_READ_TIME = FIGURES, KIND_WRITE_TIME };
enum { FILE_OPENS = FIGURES, FILE_NS };
enum { OP_CALLS, OP_ERRORS, OP_TIME, OP_ERROR_TIME };

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

static const struct {
	const char *name;
	uint8_t operation, effect;
} calls[FILE_CALL_COUNT] = {
#define X(name_, operation_, effect_, ...) [FILE_CALL_##name_] = { #name_, operation_, effect_ },
	FILE_CALLS(X)
#undef X
};

static const char *const operation_names[OPERATIONS] = {
	[OP_READ] = "read",   [OP_WRITE] = "write", [OP_BOTH] = "both", [OP_OPEN] = "open",
	[OP_CLOSE] = "close", [OP_SYNC] = "sync",   [OP_WAIT] = "wait", [OP_ASYNC] = "async",
};

/* Of the kernel's headers, on most machines. */
#define CLOSE_ON_EXEC        02000000 /* O_CLOEXEC, SOCK_CLOEXEC, EFD_CLOEXEC, ... */
#define MEMORY_CLOSE_ON_EXEC 1
#define RANGE_ON_EXEC        4
#define COMMAND_DUP          0
#define COMMAND_DUP_CLOEXEC  1030
#define COMMAND_SET_FLAGS    2

/* ---- one call ---- */

enum {
	CALL_HAS_RET = 1,
	CALL_HAS_NS = 2,
	CALL_HAS_OUT = 4,
	CALL_HAS_ENTRY = 8,
	CALL_IS_ALONE = 16, /* an exit while another call was open: it ends nothing */
};

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

/* The same as a fact. */
struct call_fact {
	uint64_t key, ns;
	int64_t ret;
	int32_t fd, fd2;
	int64_t arg;
	int32_t arg2;
	uint8_t call, flags;
	union {
		char *path; /* CALL_HAS_OUT is not set: of the fact; NULL: none */
		uint32_t out[2];
	};
};

_Static_assert(sizeof(struct call_fact) <= FACT_WORDS * sizeof(uint64_t), "it fits a fact");
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

static uint64_t numbers_of(struct map *map, const struct call *call, const char *path)
{
	uint64_t words[CALL_WORDS + (FILE_NAME_MAX + 7) / 8];

	memcpy(words, call, sizeof(*call));
	if (call->path_len > 0) {
		words[CALL_WORDS + (call->path_len - 1u) / 8] = 0;
		memcpy(words + CALL_WORDS, path, call->path_len);
	}
	return map_numbers(map, words, CALL_WORDS + (call->path_len + 7u) / 8);
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

enum {
	FACT_CALL,
	FACT_FORK,  /* parent's key, child's key */
	FACT_JOIN,  /* former key, key */
	FACT_LEAVE, /* key */
	FACT_EXEC,  /* key */
	FACT_DUMP,
	FACT_DUMP_OWNER, /* address, key */
	FACT_DUMP_FD,    /* key, descriptor, flags, path */
};

static char *path_of(const uint64_t *words, uint8_t len)
{
	char *path = len > 0 ? mem_alloc(len + 1u) : NULL;

	if (path) {
		memcpy(path, words, len);
	}
	return path;
}

static struct item_key key_of_operation(const struct shard *shard, uint32_t operation)
{
	(void)shard;
	return item_key_of(0, operation_names[operation], ITEM_NAME_BYTES);
}

static void add_operation(struct shard *shard, const struct call *call)
{
	uint8_t operation = calls[call->call].operation;
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

/* A call that has ended; @path becomes the fact's. */
static void add_call(struct shard *shard, struct thread *thread, uint64_t ts,
		     const struct call *call, char *path)
{
	uint8_t operation = calls[call->call].operation;
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
		free(path);
		return;
	}
	fact.key = key_of(thread, shard_thread_state(shard, thread));
	if (call->flags & CALL_HAS_OUT) {
		memcpy(fact.out, call->out, sizeof(fact.out));
		free(path);
	} else {
		fact.path = path;
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
		path = path_of(numbers + record->a + CALL_WORDS, call.path_len);
	}
	add_call(shard, thread, record->ts, &call, path);
}

static void open_call(struct thread_files *files, const uint64_t *words)
{
	memcpy(&files->open, words, sizeof(files->open));
	free(files->path);
	files->path = path_of(words + CALL_WORDS, files->open.path_len);
	files->is_open = true;
	files->is_tainted = false;
}

static void end_call(struct shard *shard, struct thread *thread, struct thread_files *files,
		     uint64_t ts, const uint64_t *words)
{
	struct call exit, *open = &files->open;

	memcpy(&exit, words, sizeof(exit));
	if (!files->is_open || (exit.flags & CALL_IS_ALONE) ||
	    (exit.call != FILE_CALL_UNNAMED && exit.call != open->call)) {
		add_call(shard, thread, ts, &exit, NULL);
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
	add_call(shard, thread, ts, open, files->path);
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
	fact->words[3] = (uint64_t)(uintptr_t)path_of(words + CALL_WORDS, call.path_len);
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
		open_call(files, numbers + record->a);
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

	files->is_tainted = true;
}

static void on_forget(void *state)
{
	struct thread_files *files = state;

	free(files->path);
}

/* ---- facts: all threads in time order ---- */

struct files {
	struct fd_tables *tables;
	struct item *kinds[FD_KINDS];
	struct fd_file *unnamed[FD_KINDS]; /* of which no more than that is known */
};

static struct fd_file *unnamed(struct files *files, enum fd_kind kind)
{
	char name[32];

	if (!files->unnamed[kind]) {
		(void)snprintf(name, sizeof(name), "(%s)", fd_kind_name(kind));
		files->unnamed[kind] = fd_file_new(kind, name);
	}
	return files->unnamed[kind];
}

/* What the kernel calls a file, in a state dump. */
static enum fd_kind kind_of_name(const char *name)
{
	static const struct {
		const char *begin;
		enum fd_kind kind;
	} kinds[] = { { "pipe:", FD_PIPE }, { "socket:", FD_SOCKET }, { "/", FD_FILE } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(name, kinds[i].begin, strlen(kinds[i].begin)) == 0) {
			return kinds[i].kind;
		}
	}
	return FD_ANON;
}

static enum fd_kind kind_of_family(int64_t family)
{
	switch (family) {
	case AF_INET:
	case AF_INET6:
		return FD_INET;
	case AF_UNIX:
		return FD_UNIX;
	default:
		return FD_SOCKET;
	}
}

/* ---- rows of files ---- */

static uint64_t *row_of(struct shard *shard, unsigned int table, struct item **item, uint64_t id,
			const char *name)
{
	if (!*item) {
		*item = shard_item_named(shard, table, id, name);
	}
	return shard_item_again(shard, *item);
}

/* ---- use of a descriptor ---- */

/* What a call did to one descriptor. */
struct use {
	const struct call_fact *call;
	struct fd_file *file;
	struct fd_entry *entry; /* NULL: not known */
	int32_t fd;
	bool is_write;
	uint64_t bytes;
};

static bool moves_bytes(uint8_t operation)
{
	return operation == OP_READ || operation == OP_WRITE || operation == OP_BOTH;
}

static uint64_t bytes_of(const struct call_fact *call)
{
	if (!moves_bytes(calls[call->call].operation)) {
		return 0;
	}
	switch (call->call) {
	case FILE_CALL_recvmmsg:
	case FILE_CALL_recvmmsg_time32:
	case FILE_CALL_sendmmsg:
		return 0; /* they return messages */
	case FILE_CALL_mq_timedsend:
	case FILE_CALL_mq_timedsend_time32:
		return (call->flags & CALL_HAS_RET) && call->ret == 0 ? (uint64_t)call->arg : 0;
	default:
		return (call->flags & CALL_HAS_RET) && call->ret > 0 ? (uint64_t)call->ret : 0;
	}
}

static bool has_failed(const struct call_fact *call)
{
	return (call->flags & CALL_HAS_RET) && call->ret < 0;
}

/* Reads, writes or neither, if the call only asked something of the file. */
static void add_figures(uint64_t *row, const struct use *use, bool moves)
{
	if (moves) {
		row[use->is_write ? WRITE_BYTES : READ_BYTES] += use->bytes;
		row[use->is_write ? WRITES : READS]++;
	}
	row[ERRORS] += has_failed(use->call);
}

/* Columns of a thread's row: read and written, of each of these. */
enum { DISK, NET, OTHER, UNKNOWN };

static unsigned int direction_of(uint8_t kind)
{
	switch ((enum fd_kind)kind) {
	case FD_FILE:
		return DISK;
	case FD_INET:
		return NET;
	case FD_UNKNOWN:
		return UNKNOWN;
	default:
		return OTHER;
	}
}

static void add_time(uint64_t *row, unsigned int column, const struct call_fact *call)
{
	if ((call->flags & CALL_HAS_NS) && !has_failed(call)) {
		column_add(row, column, call->ns);
	}
}

static void add_use(struct shard *shard, struct files *files, const struct fact *fact,
		    struct use *use, bool moves)
{
	const char *kind = fd_kind_name(use->file->kind);
	uint64_t pid = use->call->key > INT32_MAX ? UINT32_MAX : use->call->key;
	struct item *item = NULL;
	uint64_t *row;

	if (moves) {
		row = row_of(shard, BY_KIND, &files->kinds[use->file->kind], 0, kind);
		add_figures(row, use, true);
		add_time(row, use->is_write ? KIND_WRITE_TIME : KIND_READ_TIME, use->call);
		add_figures(shard_trace_row(shard, TOTALS), use, true);
		row = shard_thread_row(fact->shard, fact->thread, THREADS);
		row[2 * direction_of(use->file->kind) + use->is_write] += use->bytes;
	}
	row = row_of(shard, BY_FILE, &use->file->item, 0, use->file->name);
	add_figures(row, use, moves);
	row[FILE_NS] += use->call->flags & CALL_HAS_NS ? use->call->ns : 0;
	if (use->fd >= 0) {
		row = row_of(shard, BY_FD, use->entry ? &use->entry->item : &item,
			     pid << 32 | (uint32_t)use->fd, use->file->name);
		add_figures(row, use, moves);
	}
}

static struct use use_of(struct files *files, const struct call_fact *call, int32_t fd,
			 bool is_write)
{
	struct use use = { .call = call, .fd = fd, .is_write = is_write, .bytes = bytes_of(call) };
	bool shows_socket = calls[call->call].effect == DOES_SOCKET_USE;

	if (!(call->flags & CALL_HAS_ENTRY)) {
		use.fd = -1;
	}
	use.entry = use.fd < 0 ? NULL : fd_find(files->tables, call->key, fd);
	if (use.fd >= 0 && shows_socket && (!use.entry || use.entry->file->kind == FD_UNKNOWN)) {
		fd_put(files->tables, call->key, fd, fd_file_ref(unnamed(files, FD_SOCKET)), false);
		use.entry = fd_find(files->tables, call->key, fd);
	}
	use.file =
		use.entry ? use.entry->file : unnamed(files, shows_socket ? FD_SOCKET : FD_UNKNOWN);
	return use;
}

/* ---- what calls make of descriptors ---- */

static void set(struct files *files, const struct call_fact *call, int64_t fd, struct fd_file *file,
		bool closes_on_exec)
{
	if (fd >= 0 && fd <= INT32_MAX) {
		fd_put(files->tables, call->key, (int32_t)fd, file, closes_on_exec);
	} else {
		fd_file_unref(file);
	}
}

/* A path that is relative to a directory of the process. */
static struct fd_file *opened(struct files *files, const struct call_fact *call)
{
	const char *path = call->flags & CALL_HAS_OUT || !call->path ? "" : call->path;
	const struct fd_entry *base = NULL;
	char text[2 * FILE_NAME_MAX + 2];
	size_t len;

	if (path[0] != '/' && call->fd >= 0) {
		base = fd_find(files->tables, call->key, call->fd);
	}
	if (!path[0]) {
		return fd_file_ref(unnamed(files, FD_FILE));
	}
	(void)snprintf(text, sizeof(text), "%s%s%s", base ? base->file->name : "", base ? "/" : "",
		       path);
	len = strlen(text);
	return fd_file_new(FD_FILE, len > FILE_NAME_MAX ? text + len - FILE_NAME_MAX : text);
}

static struct fd_file *peer(struct files *files, enum fd_kind kind, const struct call_fact *call,
			    uint32_t port)
{
	uint8_t address[4];
	char text[64];

	if (kind != FD_INET || !(call->flags & CALL_HAS_OUT)) {
		return fd_file_ref(unnamed(files, kind));
	}
	memcpy(address, &call->out[0], sizeof(address));
	(void)snprintf(text, sizeof(text), "inet %u.%u.%u.%u:%u", address[0], address[1],
		       address[2], address[3], port & 0xFFFF);
	return fd_file_new(FD_INET, text);
}

static void accepted(struct files *files, const struct call_fact *call)
{
	const struct fd_entry *listening = fd_find(files->tables, call->key, call->fd);
	enum fd_kind kind = call->arg2 != 0 ? kind_of_family(call->arg2)
			    : listening     ? (enum fd_kind)listening->file->kind
					    : FD_SOCKET;

	kind = kind == FD_FILE || kind == FD_UNKNOWN ? FD_SOCKET : kind;
	set(files, call, call->ret, peer(files, kind, call, call->out[1]),
	    call->arg & CLOSE_ON_EXEC);
}

static void connected(struct files *files, const struct call_fact *call)
{
	const struct fd_entry *entry = fd_find(files->tables, call->key, call->fd);
	bool is_ours = entry && entry->closes_on_exec;

	if (call->ret >= 0 || call->ret == -EINPROGRESS) {
		set(files, call, call->fd,
		    peer(files, kind_of_family(call->arg), call, (uint32_t)call->arg2), is_ours);
	}
}

static void duplicated(struct files *files, const struct call_fact *call, int64_t to,
		       bool closes_on_exec)
{
	const struct fd_entry *entry = fd_find(files->tables, call->key, call->fd);

	if (to != call->fd) {
		set(files, call, to, entry ? fd_file_ref(entry->file) : NULL, closes_on_exec);
	}
}

static void made_pair(struct files *files, const struct call_fact *call, enum fd_kind kind,
		      bool closes_on_exec)
{
	for (unsigned int i = 0; (call->flags & CALL_HAS_OUT) && i < 2; i++) {
		set(files, call, (int32_t)call->out[i], fd_file_ref(unnamed(files, kind)),
		    closes_on_exec);
	}
}

static void made_anon(struct files *files, const struct call_fact *call, const char *what,
		      enum fd_kind kind, bool closes_on_exec)
{
	char text[FILE_NAME_MAX + 16];
	bool has_name = !(call->flags & CALL_HAS_OUT) && call->path;

	(void)snprintf(text, sizeof(text), "%s:%s", what,
		       has_name ? call->path : calls[call->call].name);
	set(files, call, call->ret, fd_file_new(kind, text), closes_on_exec);
}

static void controlled(struct files *files, const struct call_fact *call)
{
	struct fd_entry *entry = fd_find(files->tables, call->key, call->fd);

	if (call->arg == COMMAND_DUP || call->arg == COMMAND_DUP_CLOEXEC) {
		duplicated(files, call, call->ret, call->arg == COMMAND_DUP_CLOEXEC);
	} else if (call->arg == COMMAND_SET_FLAGS && entry) {
		entry->closes_on_exec = call->arg2 & 1;
	}
}

/* Of a call that succeeded, or is known to do its work all the same. */
static void take_effect(struct files *files, const struct call_fact *call)
{
	bool flag = call->arg & CLOSE_ON_EXEC;

	switch ((enum effect)calls[call->call].effect) {
	case DOES_NOTHING:
	case DOES_SOCKET_USE:
	case DOES_OPEN: /* on_call() did it */
		break;
	case DOES_SOCKET:
		set(files, call, call->ret, fd_file_ref(unnamed(files, kind_of_family(call->arg))),
		    call->arg2 & CLOSE_ON_EXEC);
		break;
	case DOES_SOCKET_PAIR:
		made_pair(files, call, kind_of_family(call->arg), call->arg2 & CLOSE_ON_EXEC);
		break;
	case DOES_PIPE:
		made_pair(files, call, FD_PIPE, flag);
		break;
	case DOES_ACCEPT:
		accepted(files, call);
		break;
	case DOES_CONNECT:
		connected(files, call);
		break;
	case DOES_DUP:
		duplicated(files, call, call->ret, false);
		break;
	case DOES_DUP_TO:
		duplicated(files, call, call->fd2, flag);
		break;
	case DOES_FCNTL:
		controlled(files, call);
		break;
	case DOES_ANON:
		made_anon(files, call, "anon", FD_ANON, flag);
		break;
	case DOES_QUEUE:
		made_anon(files, call, "mqueue", FD_ANON, true);
		break;
	case DOES_MEMORY:
		made_anon(files, call, "memory", FD_FILE, call->arg & MEMORY_CLOSE_ON_EXEC);
		break;
	case DOES_CLOSE:
		fd_close(files->tables, call->key, call->fd);
		break;
	case DOES_CLOSE_RANGE:
		fd_close_range(files->tables, call->key, (uint32_t)call->fd, (uint32_t)call->fd2,
			       call->arg & RANGE_ON_EXEC);
		break;
	}
}

/* Linux frees the descriptor even if close is interrupted or what was written cannot be. */
static bool does_its_work(const struct call_fact *call)
{
	uint8_t effect = calls[call->call].effect;

	if (!(call->flags & CALL_HAS_ENTRY) || !(call->flags & CALL_HAS_RET)) {
		return false;
	}
	return call->ret >= 0 || effect == DOES_CONNECT ||
	       (effect == DOES_CLOSE && call->ret != -EBADF);
}

/* ---- calls ---- */

static void note_longest(struct shard *shard, const struct fact *fact, const struct use *use)
{
	const struct call_fact *call = use->call;
	const char *name = calls[call->call].name;
	const char *path = use->fd < 0 && use->file->kind == FD_UNKNOWN ? "" : use->file->name;
	size_t room = ITEM_NAME_BYTES - 2 - strlen(name), len = strlen(path);
	char text[ITEM_NAME_BYTES];

	(void)snprintf(text, sizeof(text), "%s %s", name, len > room ? path + len - room : path);
	shard_longest(shard, LONGEST,
		      &(struct instance){ .ns = call->ns,
					  .end = fact->ts,
					  .more = { use->fd, (int64_t)use->bytes },
					  .cpu = UINT64_MAX,
					  .thread = fact->thread,
					  .item = item_key_of(0, text, sizeof(text)) });
}

static void on_call(struct shard *shard, struct files *files, const struct fact *fact,
		    const struct call_fact *call)
{
	enum operation operation = (enum operation)calls[call->call].operation;
	bool opens = calls[call->call].effect == DOES_OPEN;
	bool moves = moves_bytes(calls[call->call].operation);
	struct use use = use_of(files, call, call->fd, operation == OP_WRITE);

	if (moves || (operation == OP_SYNC && use.fd >= 0)) {
		add_use(shard, files, fact, &use, moves);
	}
	if (operation == OP_BOTH) {
		struct use other = use_of(files, call, call->fd2, true);

		add_use(shard, files, fact, &other, true);
	}
	if (opens) {
		use.fd = call->ret >= 0 && call->ret <= INT32_MAX ? (int32_t)call->ret : -1;
		use.file = opened(files, call);
	}
	if (operation != OP_NONE && (call->flags & CALL_HAS_NS) &&
	    shard_is_long(shard, LONGEST, call->ns)) {
		note_longest(shard, fact, &use);
	}
	if (does_its_work(call)) {
		if (opens) {
			row_of(shard, BY_FILE, &use.file->item, 0, use.file->name)[FILE_OPENS]++;
			fd_put(files->tables, call->key, use.fd, fd_file_ref(use.file),
			       call->arg & CLOSE_ON_EXEC);
		} else {
			take_effect(files, call);
		}
	}
	if (opens) {
		fd_file_unref(use.file);
	}
}

static void on_fact(struct shard *shard, void *state, const struct fact *fact)
{
	struct files *files = state;
	const uint64_t *words = fact->words;
	struct call_fact call;
	char *path;

	if (!files->tables) {
		files->tables = fd_tables_new();
	}
	switch (fact->kind) {
	case FACT_CALL:
		memcpy(&call, words, sizeof(call));
		on_call(shard, files, fact, &call);
		if (!(call.flags & CALL_HAS_OUT)) {
			free(call.path);
		}
		break;
	case FACT_FORK:
		fd_fork(files->tables, words[0], words[1]);
		break;
	case FACT_JOIN:
		fd_join(files->tables, words[0], words[1]);
		break;
	case FACT_LEAVE:
		fd_leave(files->tables, words[0]);
		break;
	case FACT_EXEC:
		fd_exec(files->tables, words[0]);
		break;
	case FACT_DUMP:
		fd_dump_begins(files->tables);
		break;
	case FACT_DUMP_OWNER:
		fd_dump_owner(files->tables, words[0], words[1]);
		break;
	case FACT_DUMP_FD:
		path = (char *)(uintptr_t)words[3];
		if (path) {
			fd_put_dumped(files->tables, words[0], (int32_t)words[1],
				      fd_file_new(kind_of_name(path), path),
				      words[2] & CLOSE_ON_EXEC);
		}
		free(path);
		break;
	}
}

static void on_trace_forget(void *state)
{
	struct files *files = state;

	for (size_t i = 0; i < FD_KINDS; i++) {
		fd_file_unref(files->unnamed[i]);
	}
	fd_tables_free(files->tables);
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
			.object = "fd",
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
	.on_anew = on_anew,
	.on_gap = on_gap,
	.on_forget = on_forget,
	.on_fact = on_fact,
	.on_trace_forget = on_trace_forget,
};
