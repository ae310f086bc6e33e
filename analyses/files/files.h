/*
 * files: what is read and written where: files, sockets, pipes; by path, descriptor and process;
 * and how long each kind of operation takes (doc/definitions.md, 2.5 and 4.6).
 *
 * `io` counts the same calls faster, because it need not know what a descriptor leads to.  That
 * needs the order of all calls of all threads of a process.  So a call passes three steps:
 *
 *     files-worker.c   worker   pairs entry and exit within an on-CPU interval,
 *                               else emits a record of each
 *     files.c          shard    pairs those, thread by thread; counts operations
 *     files-use.c      trace    all calls as ordered events: the descriptor table of the process
 *                               says which file a call used (fd-table.h)
 *
 * A call is charged to what its descriptor led to when the call was entered.
 *
 * A path lies beside the record of its call.  The ordered event of a call points to it there, or
 * owns a copy if entry and exit were paired by the shard (owns_path).  A partial lives until the
 * ordered events of its round are through.
 */
#pragma once

#include "analyses/files/fd-table.h"
#include "base/limits.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "kernel/call-pairing.h"
#include "kernel/call-result.h"
#include "kernel/file-calls.h"

enum { TOTALS, BY_OPERATION, BY_KIND, BY_FILE, BY_FD, THREADS, PROCESSES, LONGEST };
/* The first columns of the trace, of a kind, a file and a descriptor. */
enum { READ_BYTES, WRITE_BYTES, READS, WRITES, ERRORS, FIGURES };
enum { KIND_READ_TIME = FIGURES, KIND_WRITE_TIME };
enum { FILE_OPENS = FIGURES, FILE_NS };
enum { OP_CALLS, OP_ERRORS, OP_TIME, OP_ERROR_TIME };

/* By enum file_call. */
struct file_call_kind {
	const char *name;
	uint8_t operation, effect;
};

extern const struct file_call_kind file_calls[FILE_CALL_COUNT];

enum {
	CALL_HAS_RET = 1,
	CALL_HAS_NS = 2,
	CALL_HAS_OUT = 4,
	CALL_HAS_ENTRY = 8,
	CALL_IS_ALONE = 16, /* an exit while another call was open: it ends nothing */
};

/* ---- records: files-worker.c makes them ---- */

enum {
	OWN_CALL = RECORD_OWN, /* a whole call */
	OWN_OPEN,              /* a call that goes on after the on-CPU interval */
	OWN_EXIT,
	OWN_PID,
	OWN_FORK,
	OWN_EXEC,
	OWN_END,
	OWN_DUMP,
	OWN_DUMP_PROCESS,
	OWN_DUMP_FD,
};

/* A call among the numbers of a record; the path follows it. */
struct call {
	uint64_t time; /* ns: of the entry; of a whole call: its duration */
	int64_t ret;
	int32_t fd, fd2;
	int64_t arg;
	int32_t arg2;
	uint8_t call, flags, path_len, unused;
	uint32_t out[2]; /* CALL_HAS_OUT: two descriptors; or an address and a port */
};

_Static_assert(FILE_CALL_UNNAMED == CALL_UNNAMED, "enum file_call identifies calls");

#define CALL_WORDS (sizeof(struct call) / sizeof(uint64_t))

_Static_assert(FILE_NAME_MAX <= UINT8_MAX, "call.path_len has its length");

/* Most calls fit into the record itself, so that the merger fetches nothing else.  arg64 then holds
 * the time above the result. */
#define SHORT_NS_BITS 32

/* Words of a call with its path, which ends with a zero. */
static inline size_t call_words(const struct call *call)
{
	return CALL_WORDS + (call->path_len > 0 ? call->path_len / 8u + 1 : 0);
}

/* What the worker keeps from one event to the next. */
struct worker_files {
	struct call_pairing pairing; /* open: entered in this on-CPU interval */
	struct call open;            /* the call while it is open */
	bool has_emitted_pid;        /* OWN_PID, in this on-CPU interval */
	char path[FILE_NAME_MAX];
};

/* Six for each call that has a name, and seven others. */
#define FILES_NEEDS (6 * (FILE_CALL_COUNT - 1) + 7)
extern const struct need files_needs[FILES_NEEDS];
void files_worker_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window);

/* ---- ordered events: files.c makes them ---- */

/* A call that has ended. */
struct ordered_call {
	uint64_t key, ns;
	int64_t ret;
	int32_t fd, fd2;
	int64_t arg;
	int32_t arg2;
	uint8_t call, flags;
	bool owns_path; /* else it lies in a partial */
	union {
		char *path; /* CALL_HAS_OUT is not set; NULL: none */
		uint32_t out[2];
	};
};

_Static_assert(sizeof(struct ordered_call) <= ORDERED_WORDS * sizeof(uint64_t),
	       "fits an ordered event");

/* Kinds of ordered events, and their words. */
enum {
	ORDERED_CALL,
	ORDERED_FORK,  /* parent's key, child's key */
	ORDERED_JOIN,  /* former key, key */
	ORDERED_LEAVE, /* key */
	ORDERED_EXEC,  /* key */
	ORDERED_DUMP,
	ORDERED_DUMP_OWNER, /* address, key */
	ORDERED_DUMP_FD,    /* key, descriptor, flags, path in a partial */
};

/* ---- files-use.c ---- */

/* The state of a trace. */
struct files {
	struct fd_tables *tables;
	struct keyed_row *kinds[FD_KINDS];
	struct fd_file *unnamed[FD_KINDS]; /* files of which only the kind is known */
};

void files_use_ordered(struct shard *shard, void *state, const struct ordered *ordered);
void files_use_forget(void *state);
void files_use_checkpoint(const struct checkpoint *checkpoint, void *state);
