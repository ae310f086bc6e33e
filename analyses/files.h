/*
 * files: what its two parts share: files.c (calls, thread by thread) and file-use.c (what they do
 * to descriptors and files, in time order over all threads).
 */
#ifndef SILLAGE_ANALYSES_FILES_H
#define SILLAGE_ANALYSES_FILES_H

#include "analyses/fd-table.h"
#include "analyses/file-calls.h"
#include "engine/shard.h"

enum table_index { TOTALS, BY_OPERATION, BY_KIND, BY_FILE, BY_FD, THREADS, PROCESSES, LONGEST };
/* Of all, a kind, a file and a descriptor: these come first. */
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

/* A call that has ended, as a fact. */
struct call_fact {
	uint64_t key, ns;
	int64_t ret;
	int32_t fd, fd2;
	int64_t arg;
	int32_t arg2;
	uint8_t call, flags;
	bool owns_path; /* else it lies in a partial, which stays for the round */
	union {
		char *path; /* CALL_HAS_OUT is not set; NULL: none */
		uint32_t out[2];
	};
};

_Static_assert(sizeof(struct call_fact) <= FACT_WORDS * sizeof(uint64_t), "it fits a fact");

/* Facts, and their words. */
enum {
	FACT_CALL,
	FACT_FORK,  /* parent's key, child's key */
	FACT_JOIN,  /* former key, key */
	FACT_LEAVE, /* key */
	FACT_EXEC,  /* key */
	FACT_DUMP,
	FACT_DUMP_OWNER, /* address, key */
	FACT_DUMP_FD,    /* key, descriptor, flags, path in a partial */
};

/* ---- file-use.c ---- */

/* The state of a trace. */
struct files {
	struct fd_tables *tables;
	struct item *kinds[FD_KINDS];
	struct fd_file *unnamed[FD_KINDS]; /* of which no more than that is known */
};

void file_use_fact(struct shard *shard, void *state, const struct fact *fact);
void file_use_forget(void *state);
void file_use_carry(const struct carried *carried, void *state);

#endif
