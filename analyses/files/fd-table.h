/*
 * fd-table: what the file descriptors of each process lead to (doc/definitions.md, 2.5).
 *
 * A process' table begins as a copy of its parent's, is filled by what calls return and by the
 * tracer's state dump, and goes when its last thread has.  A thread whose process is not known has
 * a table for itself, which becomes part of the process' as soon as that is known.
 *
 * The dump takes its time while things go on: what a call did since it began is not overwritten
 * by what it tells.
 */
#ifndef SILLAGE_ANALYSES_FILES_FD_TABLE_H
#define SILLAGE_ANALYSES_FILES_FD_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"

enum fd_kind { FD_UNKNOWN, FD_FILE, FD_INET, FD_UNIX, FD_SOCKET, FD_PIPE, FD_ANON, FD_KINDS };

/* "file", "inet", ... */
const char *fd_kind_name(enum fd_kind kind);

struct keyed_row;

/* What a descriptor leads to; counted by reference. */
struct fd_file {
	uint32_t refs;
	uint8_t kind;        /* enum fd_kind */
	struct keyed_row *keyed; /* its row, NULL: not asked for yet */
	char name[];         /* a path, "inet 10.0.0.1:80", "(pipe)" */
};

struct fd_file *fd_file_new(enum fd_kind kind, const char *name); /* with one reference */
struct fd_file *fd_file_ref(struct fd_file *file);
void fd_file_unref(struct fd_file *file); /* NULL is fine */

struct fd_entry {
	struct fd_file *file; /* NULL: was closed */
	struct keyed_row *keyed;  /* its row, NULL: not asked for yet */
	uint32_t dump;        /* state dumps that had begun when it was set */
	bool closes_on_exec;
};

/* Of one trace; all zeroes: there is none. */
struct fd_tables;

/* Keys of tables that are no pid. */
#define FD_KEY_NONE UINT64_MAX
#define FD_KEY_THREAD(tid, n)                                                                      \
	((uint64_t)1 << 62 | (uint64_t)((n)&0x3FFFFFFF) << 32 | (uint32_t)(tid))
#define FD_KEY_ADDRESS(adress) ((uint64_t)1 << 63 | (adress))

struct fd_tables *fd_tables_new(void);
void fd_tables_free(struct fd_tables *tables); /* NULL is fine */
/* Writes them, or reads into empty ones.  What several descriptors led to is then there several
 * times, which nobody can tell. */
void fd_tables_codec(struct codec *codec, struct fd_tables *tables);

/* The entry of an open descriptor; NULL: nothing is known.  Dies at the next change. */
struct fd_entry *fd_find(struct fd_tables *tables, uint64_t key, int32_t fd);
/* The descriptor leads to @file from here on, whose reference is taken. */
void fd_put(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
	    bool closes_on_exec);
/* A state dump tells it. */
void fd_put_dumped(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
		   bool closes_on_exec);
void fd_close(struct fd_tables *tables, uint64_t key, int32_t fd);
/* Closes those from @first to @last, or (@on_exec) has them closed by exec. */
void fd_close_range(struct fd_tables *tables, uint64_t key, uint32_t first, uint32_t last,
		    bool on_exec);

void fd_exec(struct fd_tables *tables, uint64_t key);
/* A new process of one thread; @parent FD_KEY_NONE: not known. */
void fd_fork(struct fd_tables *tables, uint64_t parent, uint64_t child);
/* Another thread of the process; what is known by the key @former becomes the process'. */
void fd_join(struct fd_tables *tables, uint64_t former, uint64_t key);
/* A thread has ended. */
void fd_leave(struct fd_tables *tables, uint64_t key);

void fd_dump_begins(struct fd_tables *tables);
/* The table at the kernel's address is that of the process. */
void fd_dump_owner(struct fd_tables *tables, uint64_t address, uint64_t key);

#endif
