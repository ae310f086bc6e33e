/*
 * tracedat: a file of trace-cmd (trace.dat), versions 6 and 7, as what it holds.
 *
 *     tracedat.c   the begin of the file, and version 6: parts in a fixed order
 *     sections.c   version 7: sections, which may be compressed, and options that name them
 *     contents.c   what is in a part or section: formats, names of tasks
 *     optional.c    what an option says: buffers, clock, machine
 *     lost.c       the kernel's account of its buffers
 *     pages.c      the sub-buffers of a CPU, one after the other, unpacked
 *
 * Source: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5), and files that trace-cmd 3.1 wrote.  Each byte
 * is hostile; bounds are in tracedat-limits.h.  Numbers are in the byte order of the traced
 * machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "tracedat/unpack.h"

/* The text of an event's file `format`. */
struct tracedat_format {
	char *system, *text;
	size_t len;
};

/* A thread's name when the recording ended. */
struct tracedat_task {
	int32_t tid;
	char *name;
};

/* Where the sub-buffers of a CPU are. */
struct tracedat_cpu {
	uint32_t cpu;
	uint64_t offset, bytes; /* in the file: packed if the buffer is */
};

/* One ring buffer of the kernel. */
struct tracedat_buffer {
	char *name;          /* of the instance; "": the main one */
	char *clock;         /* what counts its times; "": not said */
	uint32_t page_bytes; /* of a sub-buffer */
	bool is_packed;
	VEC(struct tracedat_cpu) cpus;
};

/* What the kernel counted of the buffer of a CPU. */
struct tracedat_lost {
	char *buffer;
	uint32_t cpu;
	uint64_t entries;                          /* left in the kernel */
	uint64_t read;                             /* taken out of it */
	uint64_t overrun, commit_overrun, dropped; /* lost */
};

struct tracedat {
	char *path;
	int fd;
	uint64_t bytes;
	unsigned int version;
	bool is_big;             /* byte order: the largest byte first */
	unsigned int long_bytes; /* of programs: 4 or 8 */
	uint32_t page_bytes;
	enum unpack_method packed_by;
	char *header_page; /* the text of events/header_page; NULL: it is not there */
	VEC(struct tracedat_format) formats;
	size_t format_bytes; /* of their texts */
	VEC(struct tracedat_task) tasks;
	VEC(struct tracedat_buffer) buffers;
	VEC(struct tracedat_lost) lost;
	char *lost_buffer; /* whose account is read */
	uint32_t cpus;     /* that the machine has; 0: not said */
	char *clock;       /* of the main buffer; NULL: not said */
	char *uname;       /* "Linux HOST RELEASE MACHINE"; NULL: not said */
	const char *calls; /* the machine by names of the kernel's functions; NULL: not known */
	/* Times: (ticks * mult >> shift) + offset; a mult of 0: they are ns. */
	uint32_t mult, shift;
	int64_t offset;
	uint32_t options;   /* that were read */
	uint32_t texts;     /* buffers that are text, of latency tracers */
	bool has_own_clock; /* version 6: the clock's text is behind the buffer */
};

/* The first bytes of such a file. */
#define TRACEDAT_MAGIC       "\x17\x08\x44tracing"
#define TRACEDAT_MAGIC_BYTES 10

/* Reads all but the events.  -errno with the reason. */
int tracedat_open(const char *path, struct tracedat *dat, struct err *err);
/* Also when opening failed. */
void tracedat_close(struct tracedat *dat);
