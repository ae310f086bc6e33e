/*
 * count: how many events of each name, and what was lost.
 *
 * The cheapest health signal (doc/definitions.md, 4.1, 4.2).  It needs no decoded event: the engine
 * counts events by class anyway.
 */
#include "engine/contract/analysis-rare.h"
#include "engine/contract/merge.h"
#include "engine/contract/partial.h"

enum { TOTALS, BY_NAME, TROUBLE };
enum { EVENTS, DISCARDED, LOST_PACKETS };
enum { BAD_PACKETS, LATE_EVENTS, ANOMALIES };

static void on_slice(struct shard *shard, const struct slice *slice,
		     const struct stream_identity *stream, uint64_t late_events)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS);
	uint64_t *trouble = shard_trace_row(shard, TROUBLE);

	totals[DISCARDED] += slice->discarded;
	totals[LOST_PACKETS] += slice->lost_packets;
	trouble[BAD_PACKETS] += slice->bad_packets;
	trouble[LATE_EVENTS] += late_events;
	trouble[ANOMALIES] += slice->anomalies;
}

static void on_tally(struct shard *shard, uint32_t event_name, uint64_t count)
{
	shard_trace_row(shard, TOTALS)[EVENTS] += count;
	shard_event_row(shard, event_name, BY_NAME)[0] += count;
}

const struct analysis analysis_count = {
	.name = "count",
	.summary = "events by name, discarded events, lost packets",
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS,
			.columns = {
				[EVENTS] = { "events", "events", UNIT_COUNT },
				[DISCARDED] = { "discarded", "discarded", UNIT_COUNT },
				[LOST_PACKETS] = { "lost_packets", "packets lost", UNIT_COUNT },
			},
		},
		[BY_NAME] = {
			.key = "by_name",
			.scope = SCOPE_EVENT,
			.of_all = OF_ALL_THREADS,
			.sort_mask = 1,
			.columns = { { "count", "EVENTS", UNIT_COUNT, COLUMN_SUM, true } },
		},
		[TROUBLE] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS,
			.columns = {
				[BAD_PACKETS] = { "bad_packets", NULL, UNIT_COUNT },
				[LATE_EVENTS] = { "late_events", NULL, UNIT_COUNT },
				[ANOMALIES] = { "anomalies", NULL, UNIT_COUNT },
			},
		},
	},
	.rare = &(const struct analysis_rare){ .on_slice = on_slice, .on_tally = on_tally },
};
