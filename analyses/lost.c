/*
 * lost: what is missing, by stream (doc/definitions.md, 4.2).
 *
 * The tracer counts the events that it had no room for.  Gaps in sequence numbers show missing
 * packets.  The decoder reports packets that it cannot read.  All streams of one CPU and one
 * channel share a row.
 */
#include <inttypes.h>
#include <stdio.h>

#include "engine/contract/analysis-rare.h"
#include "engine/contract/merge.h"
#include "engine/contract/partial.h"

enum { TOTALS, STREAMS, CPUS };
enum { DISCARDED, LOST_PACKETS, BAD_PACKETS, LATE_EVENTS, ANOMALIES, EVENTS };

static void add_losses(uint64_t *row, const struct slice *slice, uint64_t late_events)
{
	row[DISCARDED] += slice->discarded;
	row[LOST_PACKETS] += slice->lost_packets;
	row[BAD_PACKETS] += slice->bad_packets;
	row[LATE_EVENTS] += late_events;
	row[ANOMALIES] += slice->anomalies + slice->misfits;
}

static void on_slice(struct shard *shard, const struct slice *slice,
		     const struct stream_identity *stream, uint64_t late_events)
{
	uint64_t cpu = stream->cpu_id == UINT64_MAX ? ROW_KEY_NO_ID : stream->cpu_id;
	char channel[ROW_KEY_NAME_BYTES];
	struct row_key key;

	(void)snprintf(channel, sizeof(channel), "%" PRIu64, stream->class_id);
	if (stream->class_id == UINT64_MAX) { /* no packet of it could be read */
		(void)snprintf(channel, sizeof(channel), "unknown");
	}
	key = row_key_of(cpu, channel, sizeof(channel));
	add_losses(shard_trace_row(shard, TOTALS), slice, late_events);
	shard_trace_row(shard, TOTALS)[EVENTS] += slice->events;
	add_losses(shard_keyed_row(shard, STREAMS, &key), slice, late_events);
}

static void on_cpu(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns)
{
	struct row_key key = { .id = shard_cpu_id(cpu) };

	if (kind == RUN_UNKNOWN) {
		shard_keyed_row(shard, CPUS, &key)[0] += ns;
	}
}

#define FIGURES                                                                                    \
	.columns = {                                                                               \
		[DISCARDED] = { "events", "EVENTS", UNIT_COUNT },                                  \
		[LOST_PACKETS] = { "packets", "PACKETS", UNIT_COUNT },                             \
		[BAD_PACKETS] = { "bad_packets", "BAD", UNIT_COUNT },                              \
		[LATE_EVENTS] = { "late_events", "LATE", UNIT_COUNT },                             \
		[ANOMALIES] = { "anomalies", "ANOMALIES", UNIT_COUNT },                            \
	}

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch"), { [CPUS] = ALL_COLUMNS } },
};

const struct analysis analysis_lost = {
	.name = "lost",
	.summary = "events and packets that are missing, by stream, and time not accounted for",
	WITH_ESSENTIALS(essentials),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS,
			.columns = {
				[DISCARDED] = { "events", "events", UNIT_COUNT },
				[LOST_PACKETS] = { "packets", "packets", UNIT_COUNT },
				[BAD_PACKETS] = { "bad_packets", "bad packets", UNIT_COUNT },
				[LATE_EVENTS] = { "late_events", "late events", UNIT_COUNT },
				[ANOMALIES] = { "anomalies", "anomalies", UNIT_COUNT },
				[EVENTS] = { "seen", "of events", UNIT_COUNT },
			},
		},
		[STREAMS] = {
			.key = "streams",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "cpu",
			.name_key = "channel",
			.title = "CPU CHANNEL",
			.sort_mask = 1u << DISCARDED | 1u << LOST_PACKETS | 1u << BAD_PACKETS,
			FIGURES,
		},
		[CPUS] = {
			CPUS_TABLE,
			.of_all = OF_ALL_THREADS,
			.sort_mask = 1,
			.columns = { { "unknown_ns", "UNKNOWN", UNIT_NS, COLUMN_SUM, true, REST_ALL } },
		},
	},
	.rare = &(const struct analysis_rare){ .on_slice = on_slice, .on_cpu = on_cpu },
};
