/*
 * merge-state: what the parts of the merger share: merge.c (streams, watermark,
 * windows) and automaton.c (records -> threads and CPUs).
 */
#ifndef SILLAGE_ENGINE_MERGE_STATE_H
#define SILLAGE_ENGINE_MERGE_STATE_H

#include "engine/merge.h"
#include "engine/rows.h"

struct held {
	struct partial *partial;
	uint64_t seq;
};

struct merge_stream {
	struct merge *merge;
	uint32_t ordinal; /* of registration */
	struct stream_identity identity;
	bool is_identified, is_excluded, is_ended;
	struct cpu *cpu; /* NULL: names no CPU */
	bool owns_cpu;   /* its records say who runs there */

	uint64_t next_seq; /* the next partial in sequence */
	uint64_t until;    /* ns: merged up to here */
	bool has_until;
	uint64_t known_seq, known_ts; /* applies once known_seq chunks are merged */
	bool has_known;
	uint64_t end_seq; /* the stream ends after so many chunks, UINT64_MAX: not yet */

	VEC(struct held) early;      /* came out of sequence */
	VEC(struct partial *) ready; /* in sequence, records not all used */
	size_t ready_first;
	size_t record;    /* next record of the first ready partial */
	uint64_t last_ts; /* of records used: time does not go back */
};

/* A stream that has records, while they are used. */
struct heap_entry {
	uint64_t ts;   /* of its next record */
	uint64_t rank; /* among streams, for records of one time */
	struct merge_stream *stream;
};

/* What fell into a window that is not closed yet. */
struct pending_slice {
	struct slice slice;
	struct tally *tallies;
};

struct merge {
	const struct map_setup *setup;
	merge_emit_fn *emit;
	void *user;
	struct rows rows;
	VEC(struct merge_stream *) streams;
	VEC(struct heap_entry) heap; /* streams by their next record */
	VEC(struct pending_slice) slices;
	size_t held_bytes;

	bool has_started;
	bool is_before_range; /* the open window is what came before the range */
	bool window_is_long;  /* covers a jump of the clock */
	bool window_has_gap;
	uint64_t window_begin, window_end; /* ns, of the open window */
	int64_t window;                    /* its number since the epoch */
	uint64_t window_seq;               /* of the next report */
	uint64_t begin;                    /* ns: of what is reported */
	uint64_t first_ts, last_ts;        /* of events taken */
	uint64_t taken_events;             /* when merge_advance() last looked ... */
	uint64_t taken_ns;                 /* ... and the wall clock when they last became more */
	uint64_t closed_end;               /* ns: end of the last closed window */
	uint32_t heads;                    /* CPUs in CPU_HEAD */
	struct slice applied;              /* sums of slices in the open window */
	uint64_t window_events, window_late;
	uint64_t total_events;
	uint64_t late_events; /* of the slice being applied */
	size_t running;       /* index of the analysis whose call runs */
	struct merge_account account;
};

/* Applies one record; @partial has its names and numbers. */
void automaton_record(struct merge_stream *stream, const struct partial *partial,
		      const struct record *record, uint64_t ts);

/* Charges each CPU's time up to @until. */
void automaton_charge(struct merge *merge, uint64_t until);

/* Settles who ran on a CPU at first: from the partial's evidence, or nobody known. */
void automaton_head(struct merge_stream *stream, const struct partial *partial);
void automaton_head_unknown(struct merge *merge, struct cpu *cpu);

#endif
