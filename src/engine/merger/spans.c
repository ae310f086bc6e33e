/*
 * spans: see spans.h.
 */
#include "engine/merger/spans.h"

#include <assert.h>

#include "engine/merger/merger-state.h"

void spans_hand_over(struct merger *merger, uint64_t until)
{
	const struct merger_host *host = &merger->host;

	assert(merger->tasks_running == 0);
	merger->hands_spans = false;
	for (size_t s = 0; s < SHARDS; s++) {
		struct shard *shard = &merger->tables.shards[s];

		shard_close_window(shard);
		shard_end_spans(shard, until);
		if (host->spans && shard->spans.count > 0) {
			host->spans(host->user, shard->spans.at, shard->spans.count, 0);
		}
		shard->spans.count = 0;
	}
	if (host->spans) {
		host->spans(host->user, NULL, 0, until);
	}
}
