/*
 * options-parts: what the parts of the options share: cmd/options.c (the table, parsing, help) and
 * cmd/options-take.c (values).
 */
#ifndef SILLAGE_CMD_OPTIONS_PARTS_H
#define SILLAGE_CMD_OPTIONS_PARTS_H

#include "cmd/options.h"

enum option_id {
	OPTION_ANALYSES = 1,
	OPTION_FORMAT,
	OPTION_INTERVAL,
	OPTION_TOP,
	OPTION_JOBS,
	OPTION_OUTPUT,
	OPTION_CHUNK_SIZE,
	OPTION_MAX_MEMORY,
	OPTION_DURATION,
	OPTION_WINDOWS,
	OPTION_FROM,
	OPTION_GRACE,
	OPTION_ON_LAG,
	OPTION_LAG_LIMIT,
	OPTION_RETRY,
	OPTION_NO_RETRY,
	OPTION_BEGIN,
	OPTION_END,
	OPTION_TO,
	OPTION_SPEED,
	OPTION_LOOP,
	OPTION_SESSION,
	OPTION_HOST,
	OPTION_LIVE_TIMER,
	OPTION_WAIT_VIEWER,
	OPTION_LINGER,
	OPTION_AS_NOW,
	OPTION_STATS,
	OPTION_METRICS,
	OPTION_TRIGGER,
	OPTION_TRIGGERS,
	OPTION_ON_TRIGGER,
	OPTION_HISTORY,
	OPTION_HISTORY_DIR,
	OPTION_BEFORE,
	OPTION_AFTER,
	OPTION_CAPTURE_DIR,
	OPTION_KEEP,
	OPTION_PER_HOUR,
	OPTION_CONTROL,
	OPTION_STATE,
	OPTION_THREAD,
	OPTION_JOB,
	OPTION_DEADLINE,
	OPTION_EVERY,
	OPTION_WITHIN,
	OPTION_DRY_RUN,
	OPTION_TRIGGER_INTERVAL,
	OPTION_CHECK,
	OPTION_MI_VERSION,
	OPTION_METADATA,
	OPTION_TEST_COMPATIBILITY,
	OPTION_OUTPUT_PROGRESS,
	OPTION_TID,
	OPTION_IRQ,
	OPTION_PER,
	OPTION_FREQ_BINS,
	OPTION_PID,
	OPTION_COMM,
	OPTION_CPU,
	OPTION_SORT,
	OPTION_MIN,
	OPTION_MAX,
	OPTION_FREQ,
	OPTION_PERIOD,
	OPTION_UST_SPAN,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_HELP,
};

/* The name of an option, without dashes. */
const char *options_name(enum option_id id);

/* ---- cmd/options-take.c ---- */

/* -EINVAL: there is no @word; did they mean one of @words? */
int options_refuse(struct err *err, const char *what, const char *word, const char *const *words);

/* An option, with its argument; 1: it was a question, and is answered. */
int options_take(struct options *o, enum option_id id, const char *value, struct err *err);
int options_analyses(struct options *options, const char *value, struct err *err);

/* What has to fit together when all are taken. */
int options_finish(struct options *options, unsigned int command, struct err *err);

#endif
