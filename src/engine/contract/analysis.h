/*
 * analysis: the descriptor of an analysis, and what its hooks are given.
 *
 * An analysis is one file that ends in one const descriptor.  It has two halves:
 *
 *   worker half  Handlers run in workers, on one chunk, and know nothing else.  They get the events
 *                and fields that `needs` names (need.h), and emit records (handler.h).
 *   merger half  Hooks get, of each thread or entity, the records of all streams in time order.
 *                They add to rows of the analysis' tables (merge.h, report-shape.h).
 *
 * If you want ...             | worker half, calls          | merger half, hooks or calls
 * ----------------------------|-----------------------------|---------------------------------
 * sums in any order           | worker_keyed_row()          | nothing
 * figures by thread           | worker_emit()               | on_record
 * time between two events     | worker_emit(), twice        | on_record, a state of the thread
 * few records, many events    | worker state, on_oncpu_end  | on_record
 * time on and off the CPU     | nothing                     | on_switch_in, on_switch_out
 * a disk, interrupts of a CPU | worker_emit_entity()        | on_record
 * order over several threads  | worker_emit()               | shard_note_ordered(), on_ordered
 * what threads do to others   | worker_emit()               | the same, shard_pair_row()
 * the longest instances       | nothing                     | shard_longest()
 * a level at a window's end   | nothing                     | on_window_end
 * counts of events, losses    | nothing                     | analysis-rare.h
 *
 * doc/adding-an-analysis.md is the tutorial.
 */
#pragma once

#include "engine/contract/need.h"
#include "engine/contract/record.h"
#include "engine/contract/report-shape.h"

struct analysis_rare;
struct checkpoint;
struct ordered;
struct period_set;
struct shard;
struct untrusted_record;

struct switch_in {
	uint64_t ts;
	uint64_t cpu;        /* its id, UINT64_MAX: none */
	uint32_t cpu_number; /* as run_part has it */
	int32_t prio;        /* -128 to 127 */
	bool is_migration;
	/* If it is known already: when it leaves, and the flags of that; on_switch_out() says the
	 * same then.  Else 0. */
	uint64_t out_ts;
	uint16_t out_flags;
};

struct switch_out {
	uint64_t ts;
	uint64_t cpu;   /* its id, UINT64_MAX: none */
	uint16_t flags; /* RECORD_DEAD, SLEEPS, PREEMPTED */
	bool is_tie; /* at the same ns it is switched in elsewhere: it moves, whatever the flags */
};

/* How a thread is known to be on a CPU without a switch-in. */
enum seen {
	SEEN_FIRST,   /* it ran there when the trace began */
	SEEN_RENAMED, /* it took another tid there: exec, by a thread that did not lead */
	SEEN_LEAVING, /* it is switched out there: on_switch_out() follows */
};

/* Why a state may be wrong: what the thread began may be over. */
enum doubt {
	DOUBT_EVENTS = 1,   /* events are missing where it ran (shard_may_miss()) */
	DOUBT_SWITCHES = 2, /* and perhaps switches: it may have left its CPU */
	DOUBT_HOLE = 4,     /* nothing was traced for a while, of any thread or entity; and both */
	DOUBT_THREAD = 8, /* it stands for the unknown threads of a CPU: another one from now on */
};

struct analysis {
	const char *name;
	const char *summary;             /* one line */
	struct table tables[TABLES_MAX]; /* ends at the first without columns */
	const struct need *needs;        /* may be NULL */
	size_t need_count;
	/* Without which events which figures are unknown; NULL: all are always known. */
	const struct essential *essentials;
	size_t essential_count;
	bool uses_threads;        /* the merger's half is called for threads and switches */
	bool names_wakers;        /* it calls worker_note_waker() */
	size_t worker_state_size; /* zeroed at the start of each chunk */
	size_t thread_state_size; /* zeroed when a thread, or an entity, appears */
	size_t trace_state_size;  /* zeroed when the trace begins; for on_ordered */

	/* ---- the worker's half, optional ---- */
	/* The time of the current thread on its CPU ends: it is switched out, events are missing,
	 * or the chunk ends.  With @is_window only the window ends, and the thread stays.  Emit
	 * what was gathered, with the time stamp @ts. */
	void (*on_oncpu_end)(struct worker *worker, void *state, uint64_t ts, bool is_window);
	bool oncpu_end_is_for_rt; /* only where soft interrupts can be preempted */

	/* ---- the merger's half, optional ----
	 * Several shards are at work at once: touch nothing but what the shard gives.  Calls for
	 * one thread come in time order; on_switch_out() behind all others of its ns. */
	/* A record that the worker's half emitted.  @numbers: those of worker_numbers(), indexed by
	 * record->arg64. */
	void (*on_record)(struct shard *shard, const struct record *record, const uint64_t *numbers,
			  struct thread *thread);
	void (*on_switch_in)(struct shard *shard, struct thread *thread,
			     const struct switch_in *in);
	void (*on_switch_out)(struct shard *shard, struct thread *thread,
			      const struct switch_out *out);
	void (*on_fork)(struct shard *shard, struct thread *thread, uint64_t ts);
	/* At @ts the thread is on the CPU, whose id is @cpu; no switch-in may have said so. */
	void (*on_seen)(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
			enum seen how);
	/* From @ts on the state of the thread or entity may be wrong: @what has bits of enum doubt.
	 * NULL: it is zeroed, as if the thread had just appeared. */
	void (*on_doubt)(struct shard *shard, struct thread *thread, uint64_t ts,
			 unsigned int what);
	/* The window ends at @end.  Called for each live thread and entity; for a dead one only
	 * once, unless there are records of it again. */
	void (*on_window_end)(struct shard *shard, struct thread *thread, uint64_t end);
	/* It has nothing to do for a thread of which on_switch_out() said last that it exits. */
	bool is_over_at_exit;
	/* The state of a thread or entity is about to be forgotten: free what it points to. */
	void (*on_forget)(void *state);
	/* An event noted by shard_note_ordered(), in time order over all threads (at the same time:
	 * by tid), after each round.  Nothing else is at work then, so @state, the trace's own, may
	 * be touched.  @shard is for figures of the trace, keyed rows and the longest; threads have
	 * their own (ordered->shard). */
	void (*on_ordered)(struct shard *shard, void *state, const struct ordered *ordered);
	void (*on_trace_forget)(void *state);

	/* ---- records and states that come from files (untrusted.h) ---- */
	/* By kind: how many words lie beside a record (worker_numbers()), or RECORD_TEXT
	 * (worker_text()).  NULL: none has any. */
	const uint8_t *record_words; /* [RECORD_KINDS] */
	/* Whether on_record() may be given the record: what it uses as an index, a length or a
	 * text is right.  NULL: any record is, with the words that it has to have. */
	bool (*accepts)(const struct untrusted_record *untrusted);
	/* Writes the state of a thread or entity, or reads it into a zeroed one: codec_each().
	 * NULL: it consists of uint64_t. */
	void (*on_checkpoint)(const struct checkpoint *checkpoint, void *state);
	/* The same for the state of the trace; required if there is one. */
	void (*on_trace_checkpoint)(const struct checkpoint *checkpoint, void *state);

	const struct analysis_rare *rare; /* analysis-rare.h; NULL: none of it */
};

/* All analyses, in the order of reports; ends with NULL.  Made from the list in analyses/. */
extern const struct analysis *const analyses[];

#define ANALYSES_MAX 32
