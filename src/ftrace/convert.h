/*
 * convert: sub-buffers of ftrace in, a CTF trace as lttng-modules 2.13 lays it out, out.
 *
 *     formats ──► convert_format()                       ┌──► metadata(): text, which grows
 *     sub-buffers ──► convert_page(), by CPU ──► merge ──┤
 *     events of our own ──► convert_event()              └──► packet(): one stream for each CPU
 *
 * It knows no tracefs, file or socket: a recorder, a relay and trace.dat share it.
 *
 * Events get the names and fields of LTTng where a table has them, and keep those of ftrace
 * otherwise: uprobes:begin is begin, or uprobes_begin where another system has the name.  Of each
 * CPU events keep their order; what one event tells of a thread is known to later ones of all CPUs,
 * since they are converted in the order of time:
 *
 *     convert_until(time)   promises that all sub-buffers are there that have events before @time
 *
 * A promise that is broken costs no event: those that come late lack what others told.
 *
 * A sequence of calls:
 *
 *     convert_new()
 *     convert_layout()                          how sub-buffers look
 *     convert_format() ... convert_class() ...
 *     convert_start()                           metadata() is called
 *     { convert_page() ... convert_event() ... convert_until() ... convert_flush() } ...
 *     convert_finish()
 *     convert_free()
 *
 * convert_format() and convert_class() may follow later too: the text of metadata then gets more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ftrace/format.h"
#include "ftrace/page.h"

struct convert;

#define CONVERT_UUID_BYTES 16
/* The tracer that the environment names. */
#define CONVERT_TRACER "sillage-ftrace"

/* A packet that is whole.  A stream's packets come in order. */
struct convert_packet {
	uint32_t cpu; /* its stream */
	const uint8_t *bytes;
	size_t len; /* content_bits / 8, with padding */
	uint64_t content_bits;
	uint64_t begin, end; /* on the clock of the trace */
	uint64_t seq;        /* 0, 1, ... of its stream */
	uint64_t discarded;  /* events of the stream that were lost, from its begin on */
	uint64_t events;     /* in it; 0: it says only that nothing came until its end */
};

/* What takes the trace.  0, or a negative errno with the reason, which ends the conversion. */
struct convert_sink {
	/* More text of the metadata, whole declarations; before any packet that needs it. */
	int (*metadata)(void *user, const char *text, size_t len, struct err *err);
	int (*packet)(void *user, const struct convert_packet *packet, struct err *err);
	/* What became known of threads, in order of time; NULL is fine for each.  They are called
	 * before the event is written; convert_event() may be called, with its time or a later one.
	 */
	void (*executed)(void *user, uint64_t time, uint32_t cpu, int32_t tid);
	/* Behind the event: a thread is new, of the place of who made it (convert_place()). */
	void (*forked)(void *user, uint64_t time, uint32_t cpu, int32_t tid);
	/* A process, or a thread of it, is in another control group, whose path may be cut. */
	void (*moved)(void *user, uint64_t time, uint32_t cpu, int32_t tid, const char *path);
	/* A call has returned a descriptor of a file: who looks at once may know its path, and say
	 * it with convert_path(). */
	void (*opened)(void *user, uint32_t cpu, int32_t pid, int32_t fd);
	void *user;
};

/* Whose system calls: numbers, names and arguments. */
enum convert_machine {
	CONVERT_MACHINE_UNKNOWN, /* calls have numbers only */
	CONVERT_X86_64,
	CONVERT_I386,
	CONVERT_ARM64,
	CONVERT_ARM,
	CONVERT_MACHINES,
};
/* As uname(2) says ("x86_64", "aarch64", "armv7l", "i686"). */
enum convert_machine convert_machine_of(const char *uname_machine);

/* An entry of the trace's environment: a text, or a number if that is NULL. */
struct convert_env {
	const char *name, *text;
	int64_t number;
};

struct convert_setup {
	uint8_t uuid[CONVERT_UUID_BYTES]; /* of the trace */
	/* What the environment says, beside `domain`, which is kernel, and the tracer.  It is read
	 * by convert_new() alone. */
	const struct convert_env *env;
	size_t env_count;
	/* The clock: its name, a text that identifies it (the machine's boot id) or NULL, what it
	 * was at the epoch, and ticks per second. */
	const char *clock_name;
	const char *clock_uuid;
	int64_t clock_offset;
	uint64_t clock_frequency;
	/* Times of records are ticks: ns are ticks * mult >> shift; a mult of 0: they are ns. */
	uint32_t clock_mult, clock_shift;
	enum convert_machine machine;
	uint32_t cpus;         /* streams: CPUs from 0 on */
	uint32_t packet_bytes; /* at most; a power of two from 4 KiB on */
	uint64_t begin;        /* time of the first packets; 0: that of their first events */
	/* What a buffer had: of each CPU all sub-buffers come before convert_until(), and what is
	 * before the last that was overwritten is not of the trace. */
	bool is_snapshot;
	uint32_t pid_ns; /* of the host: the inode; 0: not known */
};

/* Ticks of such a clock in ns, which all other times are in. */
static inline uint64_t convert_ns(const struct convert_setup *setup, uint64_t ticks)
{
	return setup->clock_mult == 0 ? ticks
				      : (uint64_t)((unsigned __int128)ticks * setup->clock_mult >>
						   setup->clock_shift);
}

struct convert *convert_new(const struct convert_setup *setup, const struct convert_sink *sink,
			    struct err *err);
void convert_free(struct convert *convert);

void convert_layout(struct convert *convert, const struct ftrace_layout *layout);

/* Events of this format are converted from now on.  @format stays the caller's, and has to stay
 * there for as long as @convert.  Which role an event has in LTTng's words is known by its system
 * and name.  -EEXIST: the id is taken by another format. */
int convert_format(struct convert *convert, const struct ftrace_format *format, struct err *err);
/* What is to be said of events that the table knows, of which a field is of a form that it does not
 * know, or one is missing without which they tell nothing; NULL: there is none.  The caller frees
 * it. */
char *convert_odd(const struct convert *convert);
/* LTTng's name of an ftrace event, or its own; the caller frees it. */
char *convert_name(const char *system, const char *name);
/*
 * An event that ftrace does not have: a state dump's, a container's.  @members: pairs NAME:TYPE
 * with blanks between them; a type is s or u with the bytes of an integer (and x: hexadecimal, o:
 * octal), c16: 16 characters, str: a text that ends with a zero.
 *
 *     convert_class(convert, "lttng_statedump_block_device", "dev:u4 diskname:str")
 *
 * Returns its id.
 */
uint32_t convert_class(struct convert *convert, const char *name, const char *members);
/* Such an event, laid out as its class says, little-endian and without gaps.  It waits for its turn
 * in time; one that is late gets the time of the last event of its stream. */
void convert_event(struct convert *convert, uint32_t class_id, uint32_t cpu, uint64_t time,
		   const void *payload, size_t len);

/* The same of what a descriptor of a process leads to at @time, which is later than all that was
 * converted.  It is dropped if events before that time close the descriptor, or open it again. */
void convert_path(struct convert *convert, int32_t pid, int32_t fd, uint32_t class_id, uint32_t cpu,
		  uint64_t time, const void *payload, size_t len);

/* What is known of a thread from elsewhere. */
struct convert_known {
	int32_t tid, pid;
	uint32_t pid_ns;  /* the inode of its namespace of PIDs; 0: not known */
	const char *name; /* NULL: not known */
	int32_t priority; /* with the name; as LTTng has it: 20 is usual */
	bool is_compat;   /* it runs a 32-bit program */
};
void convert_thread(struct convert *convert, const struct convert_known *known);
/* A number that who looks at threads has given one; those that it makes have it, too.  0: none. */
void convert_place(struct convert *convert, int32_t tid, uint32_t place);
struct convert_placed {
	int32_t pid; /* as far as it is known: a thread is else its own */
	uint32_t pid_ns, place;
};
struct convert_placed convert_placed(const struct convert *convert, int32_t tid);
/* Calls for each thread of a process that is known; @pid of one of them. */
void convert_each_of(const struct convert *convert, int32_t pid,
		     void (*call)(void *user, int32_t tid), void *user);

int convert_start(struct convert *convert, struct err *err);

/* The next sub-buffer of a CPU, which is copied.  -EINVAL: it is none; the next one can be right.
 */
int convert_page(struct convert *convert, uint32_t cpu, const uint8_t *bytes, size_t len,
		 struct err *err);
/* So many more events of a CPU were lost, behind what was given so far: what is said when a buffer
 * was overwritten, and no sub-buffer told. */
void convert_lost(struct convert *convert, uint32_t cpu, uint64_t events);
/* Converts what was before @time; UINT64_MAX: all. */
int convert_until(struct convert *convert, uint64_t time, struct err *err);
/* Ends the packet of each stream at @time, which no earlier event follows; streams without an event
 * since their last packet get an empty one if @with_empty. */
int convert_flush(struct convert *convert, uint64_t time, bool with_empty, struct err *err);
/* The same at the end of the trace, of streams that have ever had an event or a loss. */
int convert_finish(struct convert *convert, uint64_t time, struct err *err);

/* The account of a stream. */
struct convert_account {
	uint64_t read;       /* records of sub-buffers */
	uint64_t written;    /* of them: events in packets */
	uint64_t unwanted;   /* of them: no format is known, or they are of no use by themselves */
	uint64_t too_large;  /* of them: no packet has room; they count as lost */
	uint64_t bad;        /* of them: shorter than their format says; they count as lost */
	uint64_t own;        /* events of convert_event() */
	uint64_t derived;    /* switches that the kernel withheld, made from what followed them */
	uint64_t lost;       /* what the packets say, in all */
	uint64_t unnumbered; /* of the lost: places where the kernel did not say how many, taken for
			      * one each */
	uint64_t bad_pages;  /* sub-buffers that could not be read to their end */
};
void convert_account(const struct convert *convert, uint32_t cpu, struct convert_account *ret);
/* How often an event was written, by LTTng's name; 0: never. */
uint64_t convert_count(const struct convert *convert, const char *name);
