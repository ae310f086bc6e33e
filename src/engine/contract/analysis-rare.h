/*
 * analysis-rare: what few analyses have, behind the one pointer analysis.rare.
 */
#pragma once

#include "engine/contract/analysis.h"

struct cpu;
struct event_names;
struct missing_events;
struct slice;

/* What a stream's first packet says; @cpu_id UINT64_MAX: it names no CPU. */
struct stream_identity {
	uint64_t class_id, cpu_id, instance_id;
	bool has_switches;
	bool misses_start; /* packets before the first one were not seen */
	uint64_t begin;    /* ns: of the first packet */
	bool is_beside;    /* of traces that were joined: it is not of the kernel's */
};

/* A part of an on-CPU interval. */
struct run_part {
	uint64_t ts, ns;
	uint32_t cpu_number; /* as in switch_in */
};

/* All optional. */
struct analysis_rare {
	/* ---- where the user says what is wanted (setup.periods) ---- */

	/* In place of needs: returns an array that the caller frees, and its length. */
	size_t (*needs_of)(const struct period_set *periods, struct need **ret);
	/* In place of essentials: adds the events that the trace lacks to @ret; false: all figures
	 * are unknown. */
	bool (*missing_of)(const struct period_set *periods, const struct event_names *names,
			   struct missing_events *ret);
	/* Whether what is wanted needs an essential, which is one of the analysis.  NULL: it
	 * does. */
	bool (*needs_essential)(const struct period_set *periods,
				const struct essential *essential);
	/* Whether some of what is wanted, with a name that matches the pattern (NULL: any), has the
	 * figure.  NULL: all have. */
	bool (*is_asked)(const struct period_set *periods, size_t table, unsigned int column,
			 const char *name);
	/* What a keyed row, or an instance (its @name and @by), is called by what the trace told up
	 * to the end of the window: a text from malloc().  NULL: its name says all. */
	char *(*label_of)(const void *state, const struct period_set *periods, size_t table,
			  const char *name, const char *by);

	/* ---- the worker's half ---- */

	/* What the handlers want to know of the trace's types, made once for a plan: one block from
	 * malloc().  worker_of_plan() gives it. */
	void *(*of_plan)(const struct plan *plan, const struct period_set *periods);
	/* Options that would measure what the types suggest and nobody asked for; from malloc(),
	 * words for a shell.  NULL: there are none. */
	char *(*hint_of)(const struct metadata *types, const struct period_set *asked);

	/* Events are missing from @ts on; after on_oncpu_end().  With @is_over: an event at @ts,
	 * the first behind those that are missing, says which thread runs.  That is called only for
	 * streams that show switches, and if the event is in the same chunk. */
	void (*on_lost)(struct worker *worker, void *state, uint64_t ts, bool is_over);

	/* The open slice ends, at @ts: its window does, or the chunk.  Emit what was gathered in
	 * it, with that time stamp.  Unlike on_oncpu_end() it costs nothing at switches. */
	void (*on_slice_end)(struct worker *worker, void *state, uint64_t ts);

	/* ---- the merger's half ---- */

	/* The thread ran for @ns more, from @ts on.  Such a part may come after a switch in on
	 * another CPU: where switches are lost, a thread seems to be on several. */
	void (*on_run)(struct shard *shard, struct thread *thread, const struct run_part *part);
	/* The life of the thread ends at @ts.  Its records up to that time may still come. */
	void (*on_end)(struct shard *shard, struct thread *thread, uint64_t ts);
	/* What the thread does goes on at @end, where spans are handed over (shard_span()): that up
	 * to there is told. */
	void (*on_spans_end)(struct shard *shard, struct thread *thread, uint64_t end);
	/* No system call that the thread entered before is still open: RECORD_NO_OPEN_CALLS. */
	void (*on_no_open_calls)(struct shard *shard, struct thread *thread);
	/* When the trace began, this CPU (its id) ran the thread @tid, 0: the idle one.  @unknown
	 * stands for the CPU's unknown threads. */
	void (*on_initial_cpu)(struct shard *shard, struct thread *unknown, uint64_t cpu,
			       int32_t tid, uint64_t ts);
	/* The window ends at @end.  Called after the ordered events before that. */
	void (*on_ordered_window_end)(struct shard *shard, void *state, uint64_t end);
	/* Nothing was traced for a while, from @ts on.  Called after the ordered events before. */
	void (*on_ordered_hole)(struct shard *shard, void *state, uint64_t ts);
	/* A CPU spent @ns in this way. */
	void (*on_cpu)(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns);
	/* What fell into one window of one stream, before its records. */
	void (*on_slice)(struct shard *shard, const struct slice *slice,
			 const struct stream_identity *stream, uint64_t late_events);
	/* @count events of this name; of all classes together. */
	void (*on_tally)(struct shard *shard, uint32_t event_name, uint64_t count);
};

/* ---- for the engine ---- */

/* Never NULL. */
static inline const struct analysis_rare *analysis_rare(const struct analysis *analysis)
{
	static const struct analysis_rare none;

	return analysis->rare ? analysis->rare : &none;
}

/* on_record()'s question for a record from a file, by function or by shape. */
bool analysis_accepts(const struct analysis *analysis, const struct untrusted_record *untrusted);
/* Writes or reads the state of a thread or entity, by function or by fields. */
void analysis_checkpoint(const struct analysis *analysis, const struct checkpoint *checkpoint,
			 void *state);
/* Asserts what the descriptor promises; called once for each analysis of a run. */
void analysis_check(const struct analysis *analysis);
/* The index of its (first) table of threads; TABLES_MAX: it has none. */
size_t analysis_thread_table(const struct analysis *analysis);
