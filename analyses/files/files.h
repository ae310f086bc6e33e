/*
 * files: what is read and written where: files, sockets, pipes; by path, descriptor and process;
 * and how long each kind of operation takes (doc/definitions.md, 2.5 and 4.6).
 *
 * `io` counts the same calls faster, because it need not know what a descriptor leads to.  That
 * needs the order of all calls of all threads of a process: fds.h has them.  Here operations are
 * counted as calls are paired, and bytes in time order (files-use.c).  A call is charged to what
 * its descriptor led to when the call was entered.
 */
#pragma once

#include "analyses/files/fds.h"
#include "kernel/call-result.h"

enum { TOTALS, BY_OPERATION, BY_KIND, BY_FILE, BY_FD, THREADS, PROCESSES, LONGEST };
/* The first columns of the trace, of a kind, a file and a descriptor. */
enum { READ_BYTES, WRITE_BYTES, READS, WRITES, ERRORS, FIGURES };
enum { KIND_READ_TIME = FIGURES, KIND_WRITE_TIME };
enum { FILE_OPENS = FIGURES, FILE_NS };
enum { OP_CALLS, OP_ERRORS, OP_TIME, OP_ERROR_TIME };

/* The state of a trace. */
struct files {
	struct fds fds;
	struct keyed_row *kinds[FD_KINDS];
};

/* Of FDS_NOTE_CALL: counts the call, and applies it. */
void files_use_ordered(struct shard *shard, struct files *files, const struct ordered *ordered);
