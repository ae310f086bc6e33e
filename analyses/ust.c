/*
 * ust: events of user programs, by process and by log level (doc/definitions.md, 4.11).
 *
 * The contexts vpid and procname identify processes, if they are traced.
 */
#include "engine/contract/handler.h"
#include "engine/contract/missing.h"

enum { PROCESSES, LEVELS };

static uint32_t level_of(const struct trace_event *event)
{
	int64_t level = event->class->class->loglevel;

	return level < 0 || level > 14 ? 15 : (uint32_t)level;
}

static const char *level_name(uint64_t level)
{
	static const char *const names[] = {
		"EMERG",        "ALERT",      "CRIT",           "ERR",           "WARNING",
		"NOTICE",       "INFO",       "DEBUG_SYSTEM",   "DEBUG_PROGRAM", "DEBUG_PROCESS",
		"DEBUG_MODULE", "DEBUG_UNIT", "DEBUG_FUNCTION", "DEBUG_LINE",    "DEBUG"
	};

	return level < ARRAY_COUNT(names) ? names[level] : "none";
}

static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	enum { VPID, PROCNAME };
	const struct value *name = event_text(event, PROCNAME);
	uint64_t id =
		event_has(event, VPID) ? event_u64(event, VPID, 0) & UINT32_MAX : ROW_KEY_NO_ID;

	worker_keyed_row(worker, PROCESSES, id, name ? name->bytes : NULL,
			 name ? name->len : 0)[0]++;
	worker_keyed_row(worker, LEVELS, level_of(event), NULL, 0)[0]++;
}

static const struct need needs[] = {
	{ "*", { "context.vpid", "@context.procname" }, on_event, .domain = "ust" },
};

static const struct essential essentials[] = {
	{ ANY_EVENT(MISSING_USER), .domain = "ust" },
};

const struct analysis analysis_ust = {
	.name = "ust",
	.summary = "events of user programs, by process and by log level",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.tables = {
		[PROCESSES] = {
			.key = "processes",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "vpid",
			.name_key = "procname",
			.title = "PID THREAD",
			.sort_mask = 1,
			.columns = { { "events", "EVENTS", UNIT_COUNT, COLUMN_SUM, true } },
		},
		[LEVELS] = {
			.key = "levels",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "level",
			.id_name = level_name,
			.title = "LOG LEVEL",
			.sort_mask = 1,
			.columns = { { "events", "EVENTS", UNIT_COUNT, COLUMN_SUM, true } },
		},
	},
};
