/*
 * memory: pages that the kernel allocated and freed, and time spent waiting for memory
 * (doc/definitions.md, 4.10).
 *
 * Pages count for the thread that was current, in interrupts too.  Some threads (kswapd, ksoftirqd)
 * free what others allocated, so the difference is a balance of activity, not what a thread owns.
 * A batched free is traced in addition to the free itself, and is not added to it.
 */
#include <string.h>

#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum { TOTALS, ORDERS, THREADS, PROCESSES, CONTAINERS };
/* Columns of the trace, and of a thread. */
enum { ALLOCATED, FREED, FAILED, BATCHED, KSWAPD_WAKES, RECLAIM };
enum { THREAD_ALLOCATED, THREAD_FREED, THREAD_FAILED, THREAD_RECLAIM };

enum { SUMS = KSWAPD_WAKES + 1 };

enum { OWN_SUMS = RECORD_OWN, OWN_RECLAIM_BEGIN, OWN_RECLAIM_END };

#define ORDER_MAX 63 /* log2 of pages: more than any machine has */

/* ---- worker's half ---- */

struct worker_pages {
	bool has_sums;
	uint64_t sums[SUMS];
};

enum { ORDER, PFN, PAGE };

static uint64_t pages_of(const struct trace_event *event)
{
	uint64_t order = event_u64(event, ORDER, 0);

	return order <= ORDER_MAX ? (uint64_t)1 << order : 0;
}

static bool has_failed(const struct trace_event *event)
{
	return event_u64(event, PFN, 0) == UINT64_MAX || event_u64(event, PAGE, 1) == 0;
}

static void emit_sums(struct worker *worker, struct worker_pages *pages, uint64_t ts)
{
	struct record *record = worker_emit(worker, ts, worker_tid(worker), OWN_SUMS);

	record->arg64 = worker_numbers(worker, pages->sums, SUMS);
	memset(pages, 0, sizeof(*pages));
}

/* In a stream without switches, each event may belong to another thread than the one before. */
static void note_sums(struct worker *worker, struct worker_pages *pages, uint64_t ts)
{
	pages->has_sums = true;
	if (!worker_sees_switches(worker)) {
		emit_sums(worker, pages, ts);
	}
}

static void on_pages(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t column)
{
	struct worker_pages *pages = state;
	uint64_t count = pages_of(event);

	if (column == ALLOCATED && has_failed(event)) {
		pages->sums[FAILED]++;
	} else {
		pages->sums[column] += count;
		if (event_has(event, ORDER)) {
			worker_keyed_row(worker, ORDERS, event_u64(event, ORDER, 0) & INT64_MAX,
					 NULL, 0)[column]++;
		}
	}
	note_sums(worker, pages, event->ts);
}

static void on_kswapd(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t user)
{
	struct worker_pages *pages = state;

	pages->sums[KSWAPD_WAKES]++;
	note_sums(worker, pages, event->ts);
}

static void on_reclaim(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t kind)
{
	(void)worker_emit(worker, event->ts, worker_tid(worker), kind);
}

static void on_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct worker_pages *pages = state;

	if (pages->has_sums) {
		emit_sums(worker, pages, ts);
	}
}

/* ---- merger's half ---- */

struct reclaiming {
	uint64_t start_ts; /* ns, 0: the thread does not reclaim */
	uint64_t channel;  /* of the event that began it */
};

static void add_sums(struct shard *shard, struct thread *thread, const uint64_t *sums)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS);
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	for (unsigned int i = 0; i < SUMS; i++) {
		totals[i] += sums[i];
	}
	row[THREAD_ALLOCATED] += sums[ALLOCATED];
	row[THREAD_FREED] += sums[FREED];
	row[THREAD_FAILED] += sums[FAILED];
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct reclaiming *reclaiming = shard_thread_state(shard, thread);

	switch (record->kind) {
	case OWN_SUMS:
		add_sums(shard, thread, numbers + record->arg64);
		break;
	case OWN_RECLAIM_BEGIN:
		reclaiming->start_ts = record->ts;
		reclaiming->channel = shard_channel(shard);
		break;
	case OWN_RECLAIM_END:
		if (reclaiming->start_ts != 0) {
			uint64_t ns = record->ts - reclaiming->start_ts;

			column_add(shard_trace_row(shard, TOTALS), RECLAIM, ns);
			shard_thread_row(shard, thread, THREADS)[THREAD_RECLAIM] += ns;
		}
		reclaiming->start_ts = 0;
		break;
	}
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct reclaiming *reclaiming = shard_thread_state(shard, thread);

	if ((what & DOUBT_THREAD) || shard_may_miss(shard, reclaiming->channel)) {
		reclaiming->start_ts = 0;
	}
}

#define PAGES(event_, column)                                                                      \
	{ "kmem_" event_, { "order", "pfn", "page" }, on_pages, column },                          \
	{                                                                                          \
		event_, { "order", "pfn", "page" }, on_pages, column                               \
	}

static const struct need needs[] = {
	PAGES("mm_page_alloc", ALLOCATED),
	PAGES("mm_page_free", FREED),
	PAGES("mm_page_free_batched", BATCHED),
	{ "mm_vmscan_wakeup_kswapd", { NULL }, on_kswapd, 0 },
	{ "mm_vmscan_direct_reclaim_begin", { NULL }, on_reclaim, OWN_RECLAIM_BEGIN },
	{ "mm_vmscan_direct_reclaim_end", { NULL }, on_reclaim, OWN_RECLAIM_END },
};

#define FIGURES                                                                                    \
	.columns = {                                                                               \
		[THREAD_ALLOCATED] = { "allocated_pages", "ALLOCATED", UNIT_COUNT },               \
		[THREAD_FREED] = { "freed_pages", "FREED", UNIT_COUNT },                           \
		[THREAD_FAILED] = { "failed", "FAILED", UNIT_COUNT },                              \
		[THREAD_RECLAIM] = { "reclaim_ns", "RECLAIM", UNIT_NS },                           \
	}

static const struct essential essentials[] = {
	{ ANY_EVENT("kmem_mm_page_alloc", "mm_page_alloc"),
	  { [TOTALS] = COLUMN(ALLOCATED) | COLUMN(FAILED),
	    [ORDERS] = COLUMN(ALLOCATED),
	    [THREADS] = COLUMN(THREAD_ALLOCATED) | COLUMN(THREAD_FAILED) } },
	{ ANY_EVENT("kmem_mm_page_free", "mm_page_free"),
	  { [TOTALS] = COLUMN(FREED),
	    [ORDERS] = COLUMN(FREED),
	    [THREADS] = COLUMN(THREAD_FREED) } },
	{ ANY_EVENT("kmem_mm_page_free_batched", "mm_page_free_batched"),
	  { [TOTALS] = COLUMN(BATCHED) } },
	{ ANY_EVENT("mm_vmscan_wakeup_kswapd"), { [TOTALS] = COLUMN(KSWAPD_WAKES) } },
	{ ANY_EVENT("mm_vmscan_direct_reclaim_begin"),
	  { [TOTALS] = COLUMN(RECLAIM), [THREADS] = COLUMN(THREAD_RECLAIM) } },
	{ ANY_EVENT("mm_vmscan_direct_reclaim_end"),
	  { [TOTALS] = COLUMN(RECLAIM), [THREADS] = COLUMN(THREAD_RECLAIM) } },
};

const struct analysis analysis_memory = {
	.name = "memory",
	.summary = "pages allocated and freed, failures, waiting for memory (direct reclaim)",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct worker_pages),
	.thread_state_size = sizeof(struct reclaiming),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[ALLOCATED] = { "allocated_pages", "pages allocated", UNIT_COUNT },
				[FREED] = { "freed_pages", "freed", UNIT_COUNT },
				[FAILED] = { "failed", "failed", UNIT_COUNT },
				[BATCHED] = { "freed_batched_pages", NULL, UNIT_COUNT },
				[KSWAPD_WAKES] = { "kswapd_wakes", NULL, UNIT_COUNT },
				[RECLAIM] = { "reclaim", "reclaim", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[ORDERS] = {
			.key = "orders",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "order",
			.title = "ORDER",
			.sort_mask = 1u << ALLOCATED | 1u << FREED,
			.columns = {
				[ALLOCATED] = { "allocations", "ALLOCATED", UNIT_COUNT },
				[FREED] = { "frees", "FREED", UNIT_COUNT },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << THREAD_ALLOCATED | 1u << THREAD_FREED,
			FIGURES,
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			.sort_mask = 1u << THREAD_ALLOCATED | 1u << THREAD_FREED,
			FIGURES,
		},
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << THREAD_ALLOCATED | 1u << THREAD_FREED, FIGURES },
	},
	.on_oncpu_end = on_oncpu_end,
	.on_record = on_record,
	.record_words = (const uint8_t[RECORD_KINDS]){ [OWN_SUMS] = SUMS },
	.on_doubt = on_doubt,
};
