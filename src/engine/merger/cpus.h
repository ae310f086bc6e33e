/*
 * cpus: which thread ran on each CPU, across chunks (CPU stitching).
 *
 * A worker knows which thread runs only between the first and the last evidence in its chunk:
 * a sched_switch, an exec with a new tid, or a gap.  The merger fills in the time between the last
 * evidence of one chunk and the first of the next one:
 *
 *     chunks  |─────────── chunk 0 ────────────|──────── chunk 1 ────────|────── chunk 2 ──────
 *     events       5→7    7→0      0→7               7→9         gap            4→0
 *     worker        |──7───|───0────|                 |─────9─────|              |────0────
 *                                   tail_ts           initial_ts  tail_ts        initial_ts
 *                                   tail: 7           initial: 7  tail: unknown  initial: 4
 *     merger  |──5──|               |────────7────────|           |───unknown────|
 *               (a)                         (b)                         (c)
 *
 *     (a) The initial thread: the first switch of the CPU says that 5 left.  Records of chunk 0
 *         before that switch belong to 5 (KEY_INITIAL in the partial).  Windows wait for this.
 *     (b) The tail of chunk 0 and the first evidence of chunk 1 agree: a segment of 7.  If they
 *         disagree, a switch is missing: the segment is broken, and the window not complete.
 *         A switch that does not fit shows that not all switches are there: what runs behind it is
 *         unknown until one fits.  Of a chunk's first switch only the merger knows.
 *     (c) After a gap the thread is unknown up to the next evidence.  That 4 left then does not
 *         say when it came.
 *
 * Segments are charged to windows by cpus_charge(), which cuts them at the bounds.  Unknown time
 * is charged to "unknown" and never to a thread.
 *
 * Each CPU has a state (struct cpu, tables.h), valid from `since` on:
 *
 *     CPU_INITIAL ──first evidence──► CPU_KNOWN ──gap──► CPU_UNKNOWN
 *          │                              ▲                   │  ▲
 *          │                              └──next evidence────┘  │
 *          └──no evidence in time, or the first one is a gap─────┘
 *
 * Streams of a CPU other than its owner carry records that do not name their thread.  For these,
 * the CPU has a list of changes (cpu->running), made from the owner's records.  It is kept from
 * the first such stream on; before that, only its last state is.
 *
 * Invariants: a CPU's segments are in time order, do not overlap, and end at `since` or before;
 * its changes are in time order (cpus_check()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cpu;
struct merger;
struct merger_stream;
struct partial;

/* Stitches the next partial of a stream; the merger has started. */
void cpus_take(struct merger_stream *stream, struct partial *partial);

/* Whether windows wait for the first switches of the CPU. */
bool cpus_is_awaited(const struct cpu *cpu);
/* They come too late, or not at all: its initial thread stays unknown, or its first switch is
 * believed. */
void cpus_give_up(struct merger *merger, struct cpu *cpu);

/*
 * Finds the CPUs that have left: all of their streams have ended.  Such a CPU is absent, neither
 * idle nor unknown, from where they ended, if the trace has an event more than HOLE_NS behind that.
 */
void cpus_find_left(struct merger *merger);
/* Whether it is known of each CPU that has left before @end. */
bool cpus_are_decided(const struct merger *merger, uint64_t end);

/* A hole begins at @ts: who runs from there to the next evidence is unknown. */
void cpus_lose(struct merger *merger, struct cpu *cpu, uint64_t ts);
/* Rounds have come to the begin of the hole. */
void cpus_pass_hole(struct cpu *cpu, uint64_t ts);

/* Extends all lists of changes up to the last round: before a checkpoint, which leaves out records
 * that were used. */
void cpus_note_running(struct merger *merger);

/* Gives the records before @bound that name no thread to the threads that ran then. */
void cpus_resolve(struct merger *merger, uint64_t bound);

/* The partial is used up and about to be freed. */
void cpus_forget(struct merger_stream *stream, const struct partial *partial);

/* Charges the time of all CPUs up to @bound; @closes: the open window ends there. */
void cpus_charge(struct merger *merger, uint64_t bound, bool closes);

/* Whether the invariants hold that a checkpoint may violate. */
bool cpus_is_sound(const struct cpu *cpu);

/* Asserts the invariants of one CPU that has an owner. */
void cpus_check(const struct cpu *cpu);
