/*
 * fds: the descriptors of processes, followed through their system calls and state dumps.
 *
 * An analysis that wants to know what a descriptor leads to (files, state) has in its states one
 * struct of each half, its needs have those of the calls that it follows, and its hooks call the
 * functions below.  A call passes three steps:
 *
 *     fds-worker.c    worker   pairs entry and exit within an on-CPU interval,
 *                              else emits a record of each
 *     fds.c           shard    pairs those, thread by thread
 *     fds-effects.c   trace    all calls as ordered events: what they do to the table of the
 *                              process (fd-table.h)
 *
 * A path lies beside the record of its call.  The ordered event of a call points to it there, or
 * owns a copy if entry and exit were paired by the shard (owns_path).  A partial lives until the
 * ordered events of its round are through.
 */
#pragma once

#include <stdlib.h>

#include "analyses/files/fd-table.h"
#include "base/limits.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"
#include "kernel/call-pairing.h"
#include "kernel/file-calls.h"

/* By enum file_call. */
struct file_call_kind {
	const char *name;
	uint8_t operation, effect;
};

extern const struct file_call_kind file_calls[FILE_CALL_COUNT];

enum {
	FDS_CALL_HAS_RET = 1,
	FDS_CALL_HAS_NS = 2,
	FDS_CALL_HAS_OUT = 4,
	FDS_CALL_HAS_ENTRY = 8,
	FDS_CALL_IS_ALONE = 16, /* an exit while another call was open: it ends nothing */
};

/* O_CLOEXEC, SOCK_CLOEXEC, EFD_CLOEXEC, ...: a value of the kernel's headers, on most machines. */
#define FDS_CLOSE_ON_EXEC 02000000

/* ---- records: fds-worker.c makes them ---- */

enum {
	FDS_CALL = RECORD_OWN, /* a whole call */
	FDS_OPEN,              /* a call that goes on after the on-CPU interval */
	FDS_EXIT,
	FDS_PID,
	FDS_FORK,
	FDS_EXEC,
	FDS_END,
	FDS_DUMP,
	FDS_DUMP_PROCESS,
	FDS_DUMP_FD,
	FDS_RECORDS_END,
};

/* A call among the numbers of a record; the path follows it. */
struct fds_call {
	uint64_t time; /* ns: of the entry; of a whole call: its duration */
	int64_t ret;
	int32_t fd, fd2;
	int64_t arg;
	int32_t arg2;
	uint8_t call, flags, path_len, unused;
	uint32_t out[2]; /* FDS_CALL_HAS_OUT: two descriptors; or an address and a port */
};

_Static_assert(FILE_CALL_UNNAMED == CALL_UNNAMED, "enum file_call identifies calls");

#define FDS_CALL_WORDS (sizeof(struct fds_call) / sizeof(uint64_t))

_Static_assert(FILE_NAME_MAX <= UINT8_MAX, "call.path_len has its length");

/* Most calls fit into the record itself, so that the merger fetches nothing else.  arg64 then holds
 * the time above the result. */
#define SHORT_NS_BITS 32

/* Words of a call with its path, which ends with a zero. */
static inline size_t fds_call_words(const struct fds_call *call)
{
	return FDS_CALL_WORDS + (call->path_len > 0 ? call->path_len / 8u + 1 : 0);
}

/* What the worker keeps from one event to the next. */
struct fds_worker {
	struct call_pairing pairing; /* open: entered in this on-CPU interval */
	struct fds_call open;        /* the call while it is open */
	bool has_emitted_pid;        /* FDS_PID, in this on-CPU interval */
	char path[FILE_NAME_MAX];
};

handler_fn fds_entry, fds_exit; /* @state: a struct fds_worker */
handler_fn fds_fork, fds_of_thread, fds_dump, fds_dump_process, fds_dump_fd; /* @state: any */
void fds_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window);

/* ---- what is wanted ---- */

#define FDS_ENTRY(event_, call, ...)                                                               \
	{                                                                                          \
		event_, { __VA_ARGS__, "context.tid", "context.pid", "@v4addr" }, FDS_ON_ENTRY,    \
			.user = FILE_CALL_##call, .is_beside = FDS_IS_BESIDE                       \
	}
#define FDS_EXIT(event_, call)                                                                     \
	{                                                                                          \
		event_, { "ret",     "context.tid", "context.pid", "@fildes",                      \
			  "@socket", "family",      "sport",       "@v4addr" },                    \
			FDS_ON_EXIT, .user = FILE_CALL_##call, .is_beside = FDS_IS_BESIDE          \
	}

/* The needs of a call (file-calls.h), and those beside calls.  The analysis defines FDS_ON_ENTRY
 * and FDS_ON_EXIT, its handlers of calls, which are fds_entry() and fds_exit() or call them; and
 * FDS_IS_BESIDE: whether it has other needs of these events. */
#define FDS_NEEDS_OF(name, operation, effect, ...)                                                 \
	FDS_ENTRY("syscall_entry_" #name, name, __VA_ARGS__),                                      \
		FDS_ENTRY("compat_syscall_entry_" #name, name, __VA_ARGS__),                       \
		FDS_ENTRY("sys_" #name, name, __VA_ARGS__),                                        \
		FDS_ENTRY("compat_sys_" #name, name, __VA_ARGS__),                                 \
		FDS_EXIT("syscall_exit_" #name, name),                                             \
		FDS_EXIT("compat_syscall_exit_" #name, name),
#define FDS_NEED(event, handler, user_, ...)                                                       \
	{                                                                                          \
		event, { __VA_ARGS__ }, handler, .user = user_, .is_beside = FDS_IS_BESIDE         \
	}
#define FDS_NEEDS                                                                                  \
	FDS_EXIT("exit_syscall", UNNAMED),                                                         \
		FDS_NEED("sched_process_fork", fds_fork, 0, "child_tid", "child_pid",              \
			 "parent_pid"),                                                            \
		FDS_NEED("sched_process_exec", fds_of_thread, FDS_EXEC, "tid"),                    \
		FDS_NEED("sched_process_exit", fds_of_thread, FDS_END, "tid"),                     \
		FDS_NEED("lttng_statedump_start", fds_dump, 0, NULL),                              \
		FDS_NEED("lttng_statedump_process_state", fds_dump_process, 0, "tid", "pid",       \
			 "file_table_address"),                                                    \
		FDS_NEED("lttng_statedump_file_descriptor", fds_dump_fd, 0, "fd", "@filename",     \
			 "pid", "file_table_address", "flags")
/* How many these are. */
#define FDS_NEEDS_OF_ONE(...) +6
#define FDS_NEEDS_OTHER       7

/* ---- the state of a thread ---- */

struct fds_thread {
	struct call_pairing pairing;
	struct fds_call open; /* what was seen of the call at its entry */
	char *path;           /* its path, owned; NULL: none */
	bool has_pid;
	bool has_left; /* the file table of its process */
	int32_t pid;
};

/* A call is over: before it is noted. */
typedef void fds_on_call(struct shard *shard, const struct fds_call *call);

/* The table of the thread's process, or its own as long as that is not known. */
uint64_t fds_key(const struct thread *thread, const struct fds_thread *fds);
/* A record below FDS_RECORDS_END, which fds_accepts(). */
void fds_take(struct shard *shard, struct thread *thread, struct fds_thread *fds,
	      const struct record *record, const uint64_t *numbers, fds_on_call *on_call);
bool fds_accepts(const struct untrusted_record *untrusted);
/* Its process is known from here on. */
void fds_set_pid(struct shard *shard, struct thread *thread, struct fds_thread *fds, uint64_t ts,
		 int32_t pid);
/* The hooks of these names. */
void fds_doubt(const struct shard *shard, struct fds_thread *fds, unsigned int what);
void fds_end(struct shard *shard, struct thread *thread, const struct fds_thread *fds, uint64_t ts);
void fds_thread_codec(struct codec *codec, struct fds_thread *fds);

/* ---- ordered events: fds.c makes them ---- */

/* A call that has ended. */
struct fds_note {
	uint64_t key, ns;
	int64_t ret;
	int32_t fd, fd2;
	int64_t arg;
	int32_t arg2;
	uint8_t call, flags;
	bool owns_path; /* else it lies in a partial */
	union {
		char *path; /* FDS_CALL_HAS_OUT is not set; NULL: none */
		uint32_t out[2];
	};
};

_Static_assert(sizeof(struct fds_note) <= ORDERED_WORDS * sizeof(uint64_t),
	       "fits an ordered event");

/* Kinds of ordered events, and their words. */
enum {
	FDS_NOTE_CALL,
	FDS_NOTE_FORK,  /* parent's key, child's key */
	FDS_NOTE_JOIN,  /* former key, key */
	FDS_NOTE_LEAVE, /* key */
	FDS_NOTE_END,   /* the life of the thread: it leaves, if it did not */
	FDS_NOTE_EXEC,  /* key */
	FDS_NOTE_DUMP,
	FDS_NOTE_DUMP_OWNER, /* address, key */
	FDS_NOTE_DUMP_FD,    /* key, descriptor, flags, path in a partial */
	FDS_NOTES,
};

static inline void fds_note_fini(const struct fds_note *note)
{
	free(note->owns_path ? note->path : NULL);
}

/* ---- the state of a trace ---- */

struct fds {
	struct fd_tables *tables;          /* NULL: nothing is known yet */
	struct fd_file *unnamed[FD_KINDS]; /* files of which only the kind is known */
};

/* An ordered event below FDS_NOTES.  @of: of ordered->thread. */
void fds_ordered(struct fds *fds, const struct ordered *ordered, const struct fds_thread *of);
/* The parts of it, for who looks at calls before they have their effect. */
void fds_ready(struct fds *fds, uint64_t ts);
bool fds_has_effect(const struct fds_note *call);
void fds_apply(struct fds *fds, const struct fds_note *call);
struct fd_file *fds_opened(struct fds *fds, const struct fds_note *call);
struct fd_file *fds_unnamed(struct fds *fds, enum fd_kind kind);
/* What the descriptor led to at @ts; NULL: not known. */
const struct fd_file *fds_file_at(struct fds *fds, uint64_t key, int32_t fd, uint64_t ts);
void fds_forget(struct fds *fds);
void fds_codec(struct codec *codec, struct fds *fds);
