/*
 * fd-table: what the file descriptors of each process lead to (doc/definitions.md, 2.5).
 *
 * A table belongs to a process, by its pid.  It starts as a copy of the parent's table, is filled
 * by what calls return and by state dumps of the tracer, and ends with the last thread of the
 * process.  Two other keys stand for a process that is not known yet:
 *
 *     FD_KEY_THREAD   a thread whose process is unknown    fd_join() moves it to the process
 *     FD_KEY_ADDRESS  a table of a state dump, by its      fd_dump_owner() moves it to the process,
 *                     address in the kernel                and all entries of the dump that follow
 *
 * A state dump takes time, and the traced programs go on.  So an entry that a call set since the
 * dump began is not overwritten by the dump (fd_entry.dump).
 *
 * Invariants:
 * - At most FDS_MAX entries and tables exist together, and FDS_OF_ONE_MAX entries in one table.
 *   Beyond that, new entries are dropped.
 * - An entry without a file says that the descriptor is closed.  A missing entry says nothing.
 * - A row belongs to one process, so a copied entry has none.
 *
 * A call may sleep while another thread gives its descriptor away: it uses the file of its entry.
 * So an entry keeps the file before the last change, and when each of the two began.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"

enum fd_kind { FD_UNKNOWN, FD_FILE, FD_INET, FD_UNIX, FD_SOCKET, FD_PIPE, FD_ANON, FD_KINDS };

/* "file", "inet", ... */
const char *fd_kind_name(enum fd_kind kind);

struct keyed_row;

/* What a descriptor leads to; reference-counted. */
struct fd_file {
	uint32_t refs;
	uint8_t kind;            /* enum fd_kind */
	struct keyed_row *keyed; /* its row, NULL: not requested yet */
	char name[];             /* a path, "inet 10.0.0.1:80", "(pipe)" */
};

struct fd_file *fd_file_new(enum fd_kind kind, const char *name); /* with one reference */
struct fd_file *fd_file_ref(struct fd_file *file);
void fd_file_unref(struct fd_file *file); /* NULL is fine */

struct fd_entry {
	struct fd_file *file;         /* NULL: was closed */
	struct keyed_row *keyed;      /* its row, NULL: not requested yet */
	struct fd_file *former;       /* NULL: was closed, or is not known */
	uint64_t since, former_since; /* ns; 0: since before the trace, as far as is known */
	uint32_t dump;                /* state dumps that had begun when it was set */
	bool closes_on_exec;
};

/* The working directory, as the kernel numbers it. */
#define FD_DIRECTORY (-100)

/* All tables of one trace. */
struct fd_tables;

/* Keys that are no pid; FD_KEY_NONE: no table. */
#define FD_KEY_NONE UINT64_MAX
#define FD_KEY_THREAD(tid, n)                                                                      \
	((uint64_t)1 << 62 | (uint64_t)((n)&0x3FFFFFFF) << 32 | (uint32_t)(tid))
#define FD_KEY_ADDRESS(address) ((uint64_t)1 << 63 | (address))

struct fd_tables *fd_tables_new(void);
void fd_tables_free(struct fd_tables *tables); /* NULL is fine */
/* Writes the tables, or reads into empty ones.  A file that several descriptors shared becomes
 * several equal files, which makes no difference. */
void fd_tables_codec(struct codec *codec, struct fd_tables *tables);

/* The entry of an open descriptor, valid until the next change; NULL: nothing is known of it. */
struct fd_entry *fd_find(struct fd_tables *tables, uint64_t key, int32_t fd);
/* The same, also of one that is closed. */
struct fd_entry *fd_known(struct fd_tables *tables, uint64_t key, int32_t fd);
/* What the descriptor led to at @ts, if the entry knows; NULL: nothing is known of that. */
struct fd_file *fd_file_at(const struct fd_entry *entry, uint64_t ts);
/* What changes from here on changes at @ts. */
void fd_tables_at(struct fd_tables *tables, uint64_t ts);
/* The descriptor leads to @file from here on; takes over the reference to it. */
void fd_put(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
	    bool closes_on_exec);
/* The same, and it always did, as far as is known. */
void fd_put_known(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file);
/* The same, as a state dump says it. */
void fd_put_dumped(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
		   bool closes_on_exec);
void fd_close(struct fd_tables *tables, uint64_t key, int32_t fd);
/* Closes those from @first to @last, or (@on_exec) has them closed by exec. */
void fd_close_range(struct fd_tables *tables, uint64_t key, uint32_t first, uint32_t last,
		    bool on_exec);

void fd_exec(struct fd_tables *tables, uint64_t key);
/* A new process of one thread; @parent FD_KEY_NONE: not known. */
void fd_fork(struct fd_tables *tables, uint64_t parent, uint64_t child);
/* Another thread of the process.  The table of the key @former moves to it. */
void fd_join(struct fd_tables *tables, uint64_t former, uint64_t key);
/* A thread has ended. */
void fd_leave(struct fd_tables *tables, uint64_t key);

void fd_dump_begins(struct fd_tables *tables);
/* The table at this address in the kernel belongs to the process. */
void fd_dump_owner(struct fd_tables *tables, uint64_t address, uint64_t key);
