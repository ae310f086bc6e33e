/*
 * merge-state: what the parts of the merger share: merge.c (streams, the watermark),
 * seam.c (who runs, across chunks), round.c and window.c (which are made of rounds).
 */
#ifndef SILLAGE_ENGINE_MERGER_MERGER_STATE_H
#define SILLAGE_ENGINE_MERGER_MERGER_STATE_H

#include <stdatomic.h>

#include "engine/merger/merger.h"
#include "engine/merger/round.h"
#include "engine/tables/tables.h"

struct held {
	struct partial *partial;
	uint64_t seq;
};

struct merger_stream {
	struct merger *merger;
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
	VEC(struct partial *) ready; /* in sequence, not used up */
};

struct merger_task {
	struct job job;
	struct merger *merger;
	struct accumulator *accumulator;
	unsigned int first_shard, shards;
	unsigned int stripe, stripes; /* of the entries whose tallies it adds */
};

struct merger {
	const struct setup *setup;
	struct merger_host host;
	struct tables tables;
	VEC(struct merger_stream *) streams;
	VEC(struct merger_stream *) order; /* the same by what they are, made anew when empty */
	size_t held_bytes;
	VEC(struct rename) renames; /* not yet applied, in time order */

	/* the round */
	struct round round;
	struct partial *stitched; /* records the merger itself adds; emptied with each round */
	struct merger_task tasks[SHARDS];
	unsigned int tasks_running;
	atomic_uint tasks_left; /* that have not done their part of the round */
	bool is_round_open;     /* begun and not ended */
	bool closes;            /* the open window, when the round ends */
	uint64_t last_bound;
	size_t bytes_after_round; /* held after the last round */

	bool needs_running; /* a stream's records do not say whose they are */
	bool has_started;
	bool is_before_range; /* the open window is what came before the range */
	bool window_is_long;  /* covers a jump of the clock */
	bool window_has_gap;
	uint64_t window_begin, window_end; /* ns, of the open window */
	uint64_t close_at;                 /* ns: where it really ends */
	int64_t window;                    /* its number since the epoch */
	uint64_t window_seq;               /* of the next report */
	uint64_t begin;                    /* ns: of what is reported */
	uint64_t first_ts, last_ts;        /* of events taken */
	uint64_t taken_events;             /* when merger_advance() last looked ... */
	uint64_t taken_ns;      /* ... and when they last became more (CLOCK_MONOTONIC) */
	uint64_t closed_end;    /* ns: end of the last closed window */
	uint32_t initial_count; /* CPUs in CPU_INITIAL */
	struct slice applied;   /* sums of slices in the open window */
	uint64_t window_late;
	uint64_t total_events;
	struct merger_account account;
};

/* Calls @call for each CPU that has an owner. */
#define merger_each_cpu(merger, cpu, call)                                                         \
	for (khint_t i_ = kh_begin((merger)->tables.cpus); i_ != kh_end((merger)->tables.cpus);    \
	     i_++) {                                                                               \
		if (kh_exist((merger)->tables.cpus, i_)) {                                         \
			struct cpu *cpu = kh_value((merger)->tables.cpus, i_);                     \
			if (cpu->owner) {                                                          \
				call;                                                              \
			}                                                                          \
		}                                                                                  \
	}

/* ---- seam.c ---- */

/* The next partial of a stream that has started: who ran when it began is now known. */
void cpus_take(struct merger_stream *stream, struct partial *partial);

/* Nobody will say who ran on the CPU at first. */
void cpus_give_up(struct merger *merger, struct cpu *cpu);

/* Notes who ran up to the last round, which records that were used will no longer tell. */
void cpus_note_running(struct merger *merger);

/* Finds out whose the records before @bound are that did not say. */
void cpus_resolve(struct merger *merger, uint64_t bound);

/* The partial is used up and about to be freed. */
void cpus_forget(struct merger_stream *stream, const struct partial *partial);

/* Accounts for the CPUs' time up to @bound; @closes: the window ends there. */
void cpus_charge(struct merger *merger, uint64_t bound, bool closes);

/* ---- round.c ---- */

/* Begins the round of all records before @bound; @closes: the open window ends with it. */
void round_begin(struct merger *merger, uint64_t bound, bool closes);
/* The number of the last slice that falls into the open window. */
int64_t round_last(const struct merger *merger);
/* Goes past slices of windows up to @last if those have @closed; frees partials that have none
 * left, and no record at @bound or later. */
void round_forget(struct merger_stream *stream, int64_t last, uint64_t bound, bool closed);

/* ---- window.c ---- */

/* The end of the window that has @ts. */
uint64_t merger_window_end(uint64_t interval_ns, uint64_t ts);
uint64_t merger_initial_limit(const struct merger *merger, uint64_t begin);

#endif
