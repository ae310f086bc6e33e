/*
 * options: the command line, from one table.
 *
 * The table (cmd/options.c) says for each option its names, argument, help text and the
 * commands that take it; --help and the man page's test come from it too.
 */
#ifndef SILLAGE_CMD_OPTIONS_H
#define SILLAGE_CMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "engine/tables/report.h"
#include "query/period.h"

enum {
	FOR_LIVE = 1,
	FOR_ANALYZE = 2,
	FOR_LIST = 4,
	FOR_REPLAY = 8,
	FOR_TOP = 16,
	FOR_TRIGGERS = 32,
	FOR_LAMI = 64,
	FOR_CAPTURE = 128,
	FOR_REPORT = 256,
	FOR_MAP = 512,
	FOR_MERGE = 1024,
};

struct options {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	const char *format, *output, *from, *begin, *end, *to;
	uint64_t interval_ns;
	bool has_interval;
	uint64_t top;
	bool has_top;
	bool has_jobs;
	uint64_t jobs;
	uint64_t chunk_bytes, max_memory;
	uint64_t duration_ns, windows; /* 0: no limit */
	uint64_t retry_ns;             /* UINT64_MAX: for ever; 0: not at all */
	uint64_t grace_ns;
	double speed; /* 0: as fast as possible */
	uint64_t loops;
	uint64_t live_timer_ns;
	const char *session, *host;
	bool wait_viewer, as_now;
	bool stats;
	const char *metrics;
	struct selection selection;
	struct period_set periods;
	bool freq;
	uint64_t freq_bins; /* 0: powers of two */
	bool mi_version, metadata, test_compatibility;
	VEC(const char *) triggers, trigger_files; /* borrowed */
	const char *on_trigger; /* NULL: capture if there is a history, else print */
	const char *check;
	bool dry_run;
	uint64_t trigger_interval_ns; /* 0: as interval_ns */
	bool has_history, has_before;
	uint64_t history_ns;    /* UINT64_MAX: as far back as history_bytes allows */
	uint64_t history_bytes; /* 0: as max_memory */
	uint64_t before_ns, after_ns;
	const char *capture_dir, *control;
	const char *history_dir; /* NULL: in memory */
	const char *job;         /* a pattern or model; NULL: none */
	const char *within;      /* another, NULL: none */
	uint64_t deadline_ns;    /* UINT64_MAX: none */
	uint64_t every_ns;       /* 0: none */
	const char *state;       /* file to go on from, and to leave; NULL: none */
	const char *thread;      /* to explain: a tid or a name; NULL: the one that matters most */
	uint64_t keep_count, keep_bytes, per_hour; /* UINT64_MAX: all */
	const char *on_lag;                        /* keep, skip */
	uint64_t lag_limit_ns;
	uint64_t linger_ns;
	bool wants_help;
	int verbosity;     /* -1 quiet, 0, 1 verbose */
	const char **args; /* ends with NULL */
	void *memory;      /* what args point into */
};

/*
 * Parses the words after the command.  -EINVAL (one line in @err, exit status 2) or 0;
 * 1: a list was asked for and printed, exit status 0.
 */
int options_parse(struct options *options, unsigned int command, int argc, const char **argv,
		  struct err *err);
void options_fini(struct options *options);

/* The options of a command, a line each. */
void options_print_help(unsigned int command, FILE *out);

/* A completion for bash; @commands ends with an empty name. */
struct options_command {
	const char *name;
	unsigned int options;
};
void options_print_completion(const struct options_command *commands, FILE *out);

/* The word of @words (ends with NULL) most like @word, or NULL if none is near. */
const char *options_nearest(const char *word, const char *const *words);

#endif
