/*
 * engine-fixture: an engine with one trace, and packets made by hand, as a live session has them.
 *
 * The clock has nanoseconds, windows are 1000 ns long.  Packets have a sequence number and a
 * counter of discarded events of 8 bits, which wraps.
 */
#pragma once

#include <check.h>

#include "base/mem.h"
#include "engine/engine-state.h"
#include "engine/merger/merger.h"

struct seen_report {
	enum report_kind kind;
	uint64_t begin, end, events, discarded, lost_packets;
	uint64_t figures; /* a hash of the rows of all tables */
	bool complete;
};

struct engine_fixture {
	struct engine_config
		config; /* set before engine_fixture_init(): jobs, chunk_bytes, exporter */
	struct engine *engine;
	struct trace *trace;
	struct decoder *decoder;
	VEC(struct seen_report) reports;
	VEC(char *) warnings; /* their fixed words */
};

void engine_fixture_init(struct engine_fixture *fixture);
void engine_fixture_fini(struct engine_fixture *fixture);

/* Gives the trace its metadata; a second call declares another event class. */
void engine_fixture_metadata(struct engine_fixture *fixture);

/* Joins another trace with the same metadata to one that expects it; returns the part. */
uint32_t engine_fixture_part(struct engine_fixture *fixture);

/* A packet with a switch every 100 ns from @begin to 100 ns before @end, alternately between two
 * threads of @cpu. */
struct made_packet {
	uint32_t cpu;
	uint64_t begin, end, seq;
	uint8_t discarded;
};
void engine_fixture_packet(struct engine_fixture *fixture, struct stream *stream,
			   const struct made_packet *packet);

unsigned int engine_fixture_warned(const struct engine_fixture *fixture, const char *what);
