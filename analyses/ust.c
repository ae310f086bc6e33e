/*
 * ust: events of user programs, by process, by log level and by logger (doc/definitions.md, 4.11).
 *
 * The contexts vpid and procname identify processes, if they are traced.  All events of an agent
 * (java.util.logging, log4j, Python) have one class: their level and logger are fields.
 */
#include <string.h>

#include "engine/contract/analysis-rare.h"
#include "engine/contract/handler.h"
#include "engine/contract/missing.h"

enum { PROCESSES, LEVELS, LOGGERS, EVENTS, LOGGER_LEVELS };

/* ---- levels ---- */

/* Who defines the levels of an event. */
enum scale { OF_LTTNG, OF_JUL, OF_LOG4J, OF_PYTHON, OF_LOG4J2, SCALES };

/* The number of a level is that of its scale behind SCALE_SIZE for each scale before. */
#define SCALE_SIZE INT64_C(1000000)
#define NO_LEVEL   15

static uint32_t scale_of(const char *event)
{
	static const char *const prefixes[SCALES] = { [OF_JUL] = "lttng_jul:",
						      [OF_LOG4J] = "lttng_log4j:",
						      [OF_PYTHON] = "lttng_python:",
						      [OF_LOG4J2] = "lttng_log4j2:" };

	for (uint32_t i = OF_JUL; i < SCALES; i++) {
		if (strncmp(event, prefixes[i], strlen(prefixes[i])) == 0) {
			return i;
		}
	}
	return OF_LTTNG;
}

static const struct {
	uint64_t level;
	const char *name;
} names[] = {
	{ 0, "EMERG" },
	{ 1, "ALERT" },
	{ 2, "CRIT" },
	{ 3, "ERR" },
	{ 4, "WARNING" },
	{ 5, "NOTICE" },
	{ 6, "INFO" },
	{ 7, "DEBUG_SYSTEM" },
	{ 8, "DEBUG_PROGRAM" },
	{ 9, "DEBUG_PROCESS" },
	{ 10, "DEBUG_MODULE" },
	{ 11, "DEBUG_UNIT" },
	{ 12, "DEBUG_FUNCTION" },
	{ 13, "DEBUG_LINE" },
	{ 14, "DEBUG" },
	{ NO_LEVEL, "none" },
	{ OF_JUL * SCALE_SIZE + 1000, "JUL SEVERE" },
	{ OF_JUL * SCALE_SIZE + 900, "JUL WARNING" },
	{ OF_JUL * SCALE_SIZE + 800, "JUL INFO" },
	{ OF_JUL * SCALE_SIZE + 700, "JUL CONFIG" },
	{ OF_JUL * SCALE_SIZE + 500, "JUL FINE" },
	{ OF_JUL * SCALE_SIZE + 400, "JUL FINER" },
	{ OF_JUL * SCALE_SIZE + 300, "JUL FINEST" },
	{ OF_LOG4J * SCALE_SIZE + 50000, "log4j FATAL" },
	{ OF_LOG4J * SCALE_SIZE + 40000, "log4j ERROR" },
	{ OF_LOG4J * SCALE_SIZE + 30000, "log4j WARN" },
	{ OF_LOG4J * SCALE_SIZE + 20000, "log4j INFO" },
	{ OF_LOG4J * SCALE_SIZE + 10000, "log4j DEBUG" },
	{ OF_LOG4J * SCALE_SIZE + 5000, "log4j TRACE" },
	{ OF_PYTHON * SCALE_SIZE + 50, "Python CRITICAL" },
	{ OF_PYTHON * SCALE_SIZE + 40, "Python ERROR" },
	{ OF_PYTHON * SCALE_SIZE + 30, "Python WARNING" },
	{ OF_PYTHON * SCALE_SIZE + 20, "Python INFO" },
	{ OF_PYTHON * SCALE_SIZE + 10, "Python DEBUG" },
	{ OF_LOG4J2 * SCALE_SIZE + 100, "log4j2 FATAL" },
	{ OF_LOG4J2 * SCALE_SIZE + 200, "log4j2 ERROR" },
	{ OF_LOG4J2 * SCALE_SIZE + 300, "log4j2 WARN" },
	{ OF_LOG4J2 * SCALE_SIZE + 400, "log4j2 INFO" },
	{ OF_LOG4J2 * SCALE_SIZE + 500, "log4j2 DEBUG" },
	{ OF_LOG4J2 * SCALE_SIZE + 600, "log4j2 TRACE" },
};

static uint64_t level_named(size_t i)
{
	return i < ARRAY_COUNT(names) ? names[i].level : UINT64_MAX;
}

static const char *level_name(uint64_t level)
{
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		if (names[i].level == level) {
			return names[i].name;
		}
	}
	return NULL;
}

/* Of an agent's event the level is in @field; programs may have levels of their own. */
static uint64_t level_of(const struct trace_event *event, unsigned int field, uint32_t scale)
{
	int64_t level = event->class->class->loglevel;

	if (scale != OF_LTTNG && event_has(event, field)) {
		level = event_i64(event, field, 0);
		level = level < 0 ? 0 : level < SCALE_SIZE ? level : SCALE_SIZE - 1;
		return (uint64_t)(scale * SCALE_SIZE + level);
	}
	return level < 0 || level >= NO_LEVEL ? NO_LEVEL : (uint64_t)level;
}

/* ---- what comes again and again ---- */

/* Events of one class by one thread; those that share their place are added to rows. */
#define TALLIES    64
#define NAME_BYTES ROW_KEY_NAME_BYTES /* a longer name is counted at once */
struct ust_tally {
	const struct event_class *class; /* NULL: it is free */
	uint64_t id, level, count;
	char name[NAME_BYTES];
	uint8_t len;
	bool has_name;
};

struct ust_worker {
	struct ust_tally tallies[TALLIES];
};

/* @name: NULL: it has none. */
static void add_rows(struct worker *worker, const struct ust_tally *tally,
		     const struct event_class *class, const void *name, size_t len)
{
	worker_keyed_row(worker, PROCESSES, tally->id, name, len)[0] += tally->count;
	worker_keyed_row(worker, LEVELS, tally->level, NULL, 0)[0] += tally->count;
	worker_keyed_row(worker, EVENTS, tally->id, class->name, strlen(class->name))[0] +=
		tally->count;
}

static void add_tally(struct worker *worker, struct ust_tally *tally)
{
	add_rows(worker, tally, tally->class, tally->has_name ? tally->name : NULL, tally->len);
	tally->class = NULL;
}

static bool is_of_tally(const struct ust_tally *tally, const struct event_class *class,
			const struct ust_tally *one)
{
	return tally->class == class && tally->id == one->id && tally->level == one->level &&
	       tally->has_name == one->has_name && tally->len == one->len &&
	       memcmp(tally->name, one->name, one->len) == 0;
}

static void count_in(struct worker *worker, struct ust_worker *own, const struct event_class *class,
		     const struct ust_tally *one)
{
	uint64_t hash = class->index * 31 + one->id * 7 + one->level;
	struct ust_tally *tally;

	hash = hash_bytes(hash, one->name, sizeof(one->name));
	tally = &own->tallies[hash % TALLIES];
	if (!is_of_tally(tally, class, one)) {
		if (tally->class) {
			add_tally(worker, tally);
		}
		*tally = *one;
		tally->class = class;
	}
	tally->count++;
}

static void on_slice_end(struct worker *worker, void *state, uint64_t ts)
{
	struct ust_worker *own = state;

	for (size_t i = 0; i < TALLIES; i++) {
		if (own->tallies[i].class) {
			add_tally(worker, &own->tallies[i]);
		}
	}
}

/* ---- events ---- */

static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t scale)
{
	enum { VPID, PROCNAME, LEVEL, LOGGER };
	const struct value *name = event_text(event, PROCNAME);
	const struct value *logger = scale != OF_LTTNG ? event_text(event, LOGGER) : NULL;
	struct ust_tally one = {
		.id = event_has(event, VPID) ? event_u64(event, VPID, 0) & UINT32_MAX
					     : ROW_KEY_NO_ID,
		.level = level_of(event, LEVEL, scale),
		.has_name = name != NULL,
	};

	size_t len = name ? strnlen((const char *)name->bytes, name->len) : 0;

	if (len < NAME_BYTES) {
		memcpy(one.name, len > 0 ? name->bytes : (const void *)"", len);
		one.len = (uint8_t)len;
		count_in(worker, state, event->class->class, &one);
	} else {
		one.count = 1;
		add_rows(worker, &one, event->class->class, name->bytes, name->len);
	}
	if (logger) {
		worker_keyed_row(worker, LOGGERS, 0, logger->bytes, logger->len)[0]++;
		worker_keyed_row(worker, LOGGER_LEVELS, one.level, logger->bytes, logger->len)[0]++;
	}
}

static const struct need needs[] = {
	{ "*",
	  { "context.vpid", "@context.procname", "int_loglevel", "@logger_name" },
	  on_event,
	  .domain = "ust",
	  .user_of = scale_of },
};

static const struct essential essentials[] = {
	{ ANY_EVENT(MISSING_USER), .domain = "ust" },
};

const struct analysis analysis_ust = {
	.name = "ust",
	.summary = "events of user programs, by process, name, log level and logger",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct ust_worker),
	.rare = &(const struct analysis_rare){ .on_slice_end = on_slice_end },
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
			.id_named = level_named,
			.title = "LOG LEVEL",
			.sort_mask = 1,
			.columns = { { "events", "EVENTS", UNIT_COUNT, COLUMN_SUM, true } },
		},
		[LOGGERS] = {
			.key = "loggers",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.name_key = "logger",
			.title = "LOGGER",
			.sort_mask = 1,
			.columns = { { "events", "EVENTS", UNIT_COUNT, COLUMN_SUM, true } },
		},
		[EVENTS] = {
			.key = "events",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "vpid",
			.name_key = "event",
			.title = "PID EVENT",
			.sort_mask = 1,
			.columns = { { "events", "EVENTS", UNIT_COUNT, COLUMN_SUM, true } },
		},
		[LOGGER_LEVELS] = {
			.key = "logger_levels",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "level",
			.id_name = level_name,
			.id_named = level_named,
			.name_key = "logger",
			.title = "LOG LEVEL LOGGER",
			.sort_mask = 1,
			.columns = { { "events", "EVENTS", UNIT_COUNT, COLUMN_SUM, true } },
		},
	},
};
