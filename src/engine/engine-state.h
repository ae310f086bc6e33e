/*
 * engine-state: what the parts of the front's half share: engine.c (traces, and what workers did)
 * and stream.c (streams and chunks).
 */
#ifndef SILLAGE_ENGINE_ENGINE_STATE_H
#define SILLAGE_ENGINE_ENGINE_STATE_H

#include "engine/engine.h"
#include "engine/pool.h"
#include "engine/stream.h"
#include "engine/trace.h"

struct chunk_job;
struct metadata_stream;
struct plan_builder;

struct engine {
	struct engine_config config;
	struct setup setup;
	struct pool *pool;
	VEC(struct trace *) traces;
	uint64_t chunk_held; /* bytes of packets in chunks, filling or in flight */
};

struct trace {
	struct engine *engine;
	void *user;
	struct metadata_stream *metadata;
	VEC(struct metadata_stream *) old_metadata; /* plans in use may point into them */
	struct plan_builder *builder;
	VEC(struct plan_builder *) old_builders;
	struct plan *plan;
	struct merger *merger;
	VEC(struct stream *) streams;
	size_t in_flight; /* chunks */
	unsigned int warnings;
	bool has_finished;
	bool is_restored; /* from a state: its metadata has to be what it was */
};

struct stream {
	struct trace *trace;
	struct merger_stream *merger;
	char *name;
	uint64_t submitted;        /* chunks */
	struct chunk_job *filling; /* NULL: no packet since the last was submitted */
	bool is_away, is_ended;
	bool has_anomalies; /* that was said */

	/* of the packet before */
	bool has_packet;
	uint64_t packets;
	uint64_t end; /* ns */
	uint64_t seq_num;
	uint64_t discarded;
	bool has_gap;      /* the next packet is behind a gap nobody announced */
	bool is_resumed;   /* so it is if it is not known to be the next one */
	bool may_repeat;   /* it is read from its begin again: what was seen comes first */
	uint64_t gap_lost; /* packets lost in it */
};

/* Deals with one job that is done; false: there is none. */
bool engine_reap(struct engine *engine, bool wait);

/* With --stats: adds the processor time from start to stop to the coordinator's merging. */
struct engine_timer {
	uint64_t start, others;
};
struct engine_timer engine_timer_start(const struct engine *engine);
void engine_timer_stop(struct engine *engine, const struct engine_timer *timer);

#endif
