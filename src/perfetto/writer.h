/*
 * writer: a file of Perfetto's, written while it is made, in bounded memory.
 *
 *     writer_put() ─────────────► block of packets ─┐
 *     writer_event(), a CPU each ► block of events ─┼─► worker: pack, deflate ─► file, in order
 *
 * A block is deflated by itself into one packet (compressed_packets), which any version of the
 * viewer reads, and which lets workers of a pool do the expensive part.  Blocks are written in the
 * order in which they were closed: the file does not depend on the number of workers.
 *
 * Owns    blocks, the pool, the numbers of hosts and tracks.  The caller owns the stream.
 * Time    all times are ns since the epoch.  The viewer takes events of ftrace for times of the
 *         clock since boot, so a snapshot of each host says that both clocks are the same.
 * Text    messages must hold valid UTF-8 (base/text/utf8.h), interned texts need not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "perfetto.pb-c.h"

#define PERFETTO_CLOCK 6 /* the clock of all times: that since boot, as for events of ftrace */

/* CPUs from here on: the viewer refuses the file. */
#define PERFETTO_CPUS_MAX 1024

/* Bytes of a thread's name: 16 that may all have to be replaced, and a zero. */
#define PERFETTO_NAME 49

struct perfetto;
struct perfetto_block;

/* An event of ftrace and all that it points to, so that none is allocated. */
struct perfetto_event {
	Perfetto__FtraceEvent event;
	union {
		Perfetto__PrintFtraceEvent print;
		Perfetto__SchedSwitchFtraceEvent sched_switch;
		Perfetto__SchedWakingFtraceEvent sched_waking;
		Perfetto__SoftirqEntryFtraceEvent softirq_entry;
		Perfetto__SoftirqExitFtraceEvent softirq_exit;
		Perfetto__IrqHandlerEntryFtraceEvent irq_entry;
		Perfetto__IrqHandlerExitFtraceEvent irq_exit;
		Perfetto__TaskNewtaskFtraceEvent newtask;
		Perfetto__SchedProcessFreeFtraceEvent free;
	};
	char names[2][PERFETTO_NAME];
};

/* @workers 0: blocks are deflated in the calling thread. */
struct perfetto *writer_new(FILE *out, unsigned int workers);
/* Writes what is left, and frees the writer.  Failed writes are the stream's to report. */
void writer_end(struct perfetto *writer);

/*
 * What follows is of this host (NULL: unknown), whose kernel has this release (NULL: unknown). @ts:
 * some time of the trace.  The first host of a file has no machine id.
 */
void writer_host(struct perfetto *writer, const char *host, const char *release, uint64_t ts);
/* The number of hosts so far; of the current one, from 0. */
uint32_t writer_hosts(const struct perfetto *writer);
uint32_t writer_host_number(const struct perfetto *writer);

/* Adds a packet; sets what all packets of tracks and hosts need. */
void writer_put(struct perfetto *writer, Perfetto__TracePacket *packet);
/* The flag of packets that use interned texts. */
#define WRITER_HAS_INTERNED 2
/* Closes the open block of packets: they stand before all blocks of events that close later. */
void writer_flush(struct perfetto *writer);
/* Writes all closed blocks: what their events point to may be freed. */
void writer_wait(struct perfetto *writer);

/* A number that no track of the file had. */
uint64_t writer_number(struct perfetto *writer);

/* Texts that are written once for each host.  The number of one of this kind, which the next packet
 * may use; 0: there are too many, write it as it is. */
enum writer_text {
	WRITER_CATEGORIES,
	WRITER_NAMES,
	WRITER_ARGS,
	WRITER_VALUES,
	WRITER_FUNCTIONS,
	WRITER_PATHS,
	WRITER_TEXTS
};
uint64_t writer_intern(struct perfetto *writer, enum writer_text kind, const char *text);

/* The same of parts of stacks, which stand in the packet's own interned data.  There is always room
 * for so many as writer_make_room() was asked for; it may make all numbers invalid. */
enum writer_part { WRITER_MAPPINGS, WRITER_FRAMES, WRITER_STACKS, WRITER_PARTS };
uint64_t writer_intern_part(struct perfetto *writer, enum writer_part kind, const void *bytes,
			    size_t len, bool *ret_is_new);
void writer_make_room(struct perfetto *writer, size_t count);

/* ---- events of one CPU ---- */

/* The next event of *@block, a block of this CPU, with its time and thread.  A full block is closed
 * and replaced; a NULL one is made.  The caller sets the event's kind. */
struct perfetto_event *writer_event(struct perfetto *writer, struct perfetto_block **block,
				    uint32_t cpu, uint64_t ts, int32_t tid);
/* Events are missing before the block's next one. */
void writer_lose(struct perfetto *writer, struct perfetto_block **block);
/* Closes *@block, if there is one; it becomes NULL. */
void writer_close(struct perfetto *writer, struct perfetto_block **block);

/* Events and packets that were written so far, and bytes of the file. */
struct writer_seen {
	uint64_t events, packets, bytes;
};
struct writer_seen writer_seen(const struct perfetto *writer);
