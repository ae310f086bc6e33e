/*
 * engine-state: the members of engine, trace and stream, for the files of the coordinator.
 *
 * engine.c takes what workers did, trace.c owns metadata and plans, stream.c cuts chunks, warn.c
 * reports.  engine/exchange reads and writes the same members for checkpoints.
 *
 * Invariants: the sum of trace.in_flight equals the pool's JOB_WORKERs; the account's chunks are
 * the sum of chunk.bytes of all chunks that are filling or in flight; a stream that is away was
 * identified and has not ended; only a stream that handed its place to another has no merger
 * stream.
 */
#pragma once

#include "base/account.h"
#include "ctf/plan/plan.h"
#include "engine/engine.h"
#include "engine/pool.h"
#include "engine/stream.h"
#include "engine/trace.h"

struct chunk_job;
struct metadata_join;
struct metadata_stream;
struct plan_builder;

struct engine {
	struct engine_config config;
	struct setup setup;
	struct pool *pool;
	VEC(struct trace *) traces;
	size_t next;             /* the trace that is looked at next, modulo their number */
	size_t left;             /* traces that the last step ended before; 0: it did all */
	uint64_t pause_at;       /* monotonic ns: when this step ends; UINT64_MAX: with its work */
	struct account *account; /* the caller's, or our own: */
	struct account own;
};

bool engine_must_pause(const struct engine *engine);

/* A trace, or one of those that were joined. */
struct trace_part {
	struct metadata_stream *metadata;
	uint32_t notes_said; /* of the metadata */
	bool ignores_uuid;
	bool is_dead;       /* its metadata could not be read before it had a trace block */
	void *user;         /* of its retained packets, as far as it is not the trace's */
	uint64_t unfetched; /* packets lost of streams that were never identified, unless the next
			     * connection announces them again */
	uint64_t refused;   /* of these, those that the relay did not give */
	/* Live, of traces that may be joined: its metadata, to compare with what comes again. */
	VEC(uint8_t) fed;
	struct metadata_stream *again; /* that comes again; NULL: none is under way */
	size_t again_bytes;            /* of it, which are those of fed */
};

struct trace {
	struct engine *engine;
	void *user;
	VEC(struct trace_part) parts; /* one, unless traces were joined; then the kernel's first */
	struct metadata_join *join;   /* NULL: there is one part */
	size_t joined;                /* parts that are in it, the first ones */
	bool expects_parts;           /* see trace_expect_parts() */
	VEC(struct metadata_stream *) old_metadata; /* plans in flight point into them */
	struct plan_builder *builder;
	VEC(struct plan_builder *) old_builders;
	struct plan *plan;
	struct plan *former_plan; /* live: of the metadata of the connection before */
	struct merger *merger;
	VEC(struct stream *) streams;
	size_t in_flight; /* chunks at the workers, or done and not reaped */
	unsigned int warnings;
	uint32_t classes;      /* of events that the account has */
	uint64_t duplicates;   /* packets that came again */
	uint64_t unplaced;     /* packets lost of streams that were never identified */
	uint64_t refound;      /* packets that were lost, and that the next connection announced */
	bool is_live;          /* see trace_set_live() */
	uint64_t silent_since; /* ns: the silence that was warned of last; 0: none */
	bool is_placed;        /* live: whether its times can be shown is decided */
	bool has_finished;
	bool has_said_unmatched; /* the user selected what is not in the trace */
	bool has_said_host;      /* why it is none of the host whose containers have names */
	bool is_restored;        /* from a checkpoint: its metadata must be the same */
};

struct stream {
	struct trace *trace;
	uint32_t part;                /* of the trace */
	struct merger_stream *merger; /* NULL: another stream continues this one */
	char *name;
	uint64_t submitted;        /* chunks: the seq of the next one */
	struct chunk_job *filling; /* NULL: no packet since the last chunk */
	bool is_away, is_ended;
	bool has_anomalies;   /* a warning reported them */
	bool has_told_remedy; /* for events that the tracer discards */
	/* The first chunk with an anomaly so far, and the packet; packet + 1, 0: none. */
	uint64_t anomaly_seq, anomaly_after;

	/* The previous packet. */
	bool has_packet;
	uint64_t packets; /* so far */
	uint64_t end;     /* ns */
	uint64_t seq_num;
	uint64_t discarded;
	bool has_gap;        /* the next packet follows a gap that no counter shows */
	bool is_resumed;     /* a gap, too, unless its number is the next one */
	bool may_repeat;     /* packets that were seen may come again, first */
	bool may_return;     /* it has ended; all its packets may come again, in another stream */
	bool is_renumbered;  /* sequence numbers began again: only times show what was seen */
	uint64_t gap_lost;   /* packets known to be lost in it */
	uint64_t away_lost;  /* packets announced and not fetched when it went away */
	uint64_t owed;       /* the same of connections before, and not come since */
	uint64_t final_lost; /* packets after the last one that were lost as it ended, and stay lost
			      */
};

/* That its packets are read by; NULL: the metadata comes again. */
static inline struct plan *stream_plan(const struct stream *stream)
{
	return (struct plan *)trace_part_plan(stream->trace, stream->part);
}

/* ---- trace-parts.c ---- */

struct metadata_stream *trace_new_part(const struct trace *trace);
/* The types of all parts, or those that have come, as trace.h says.  NULL: of those that are needed
 * one is not there. */
int trace_all_types(struct trace *trace, const struct metadata **ret, struct err *err);
/* Of traces that may be joined: compares what comes again, and keeps what is new, which is left. */
int trace_take_fed(struct trace *trace, struct trace_part *part, const uint8_t **bytes, size_t *len,
		   struct err *err);
/* The others go on meanwhile, with the plan of all. */
void trace_restart_part(struct trace *trace, uint32_t part);

/* ---- engine.c ---- */

/* Takes one finished job, with @wait for it to finish; false: no job is in the pool, or done. */
bool engine_reap(struct engine *engine, bool wait);

/* With --stats: adds the CPU time from start to stop to the coordinator's merging. */
struct engine_timer {
	uint64_t start, others;
};
struct engine_timer engine_timer_start(const struct engine *engine);
void engine_timer_stop(struct engine *engine, const struct engine_timer *timer);
