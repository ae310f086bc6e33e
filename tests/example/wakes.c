/*
 * wakes: wake-ups by target CPU (doc/adding-an-analysis.md).
 */
#include "engine/contract/handler.h"

enum { CPUS };    /* tables */
enum { WAKEUPS }; /* columns */

static void on_wakeup(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t user)
{
	enum { TARGET_CPU }; /* the order of the fields in the need */

	worker_keyed_row(worker, CPUS, event_u64(event, TARGET_CPU, 0), NULL, 0)[WAKEUPS]++;
}

static const struct need needs[] = {
	{ "sched_wakeup", { "target_cpu" }, on_wakeup },
};

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_wakeup") },
};

const struct analysis analysis_wakes = {
	.name = "wakes",
	.summary = "wake-ups by target CPU",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.tables = {
		[CPUS] = {
			.key = "cpus",
			.scope = SCOPE_KEYED,
			.id_key = "cpu",
			.title = "CPU",
			.sort_mask = 1u << WAKEUPS,
			.of_all = OF_ALL_THREADS, /* it belongs to no thread: --pid changes nothing */
			.columns = { [WAKEUPS] = { "wakeups", "WAKE-UPS", UNIT_COUNT } },
		},
	},
};
