/*
 * options: the command line, from one table.
 *
 * A row of the table (options-table.c) has all that there is to an option: its names, argument
 * and help text, the commands that take it, the kind of its value and the member of struct options
 * that the value goes to.  Parsing, --help, suggestions and the completion read the same rows.
 *
 * What it promises: after options_parse() returned 0, every member has a value that its option
 * allows, or its default; options that exclude each other, or have no effect, are refused.  Members
 * point into memory that options_fini() frees.
 */
#pragma once

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
	FOR_OVERVIEW = 2048,
	FOR_SETUP = 4096,
	FOR_WATCH = 8192,
	FOR_EXPORT = 16384,
	FOR_HISTORY = 32768,
	FOR_COMPARE = 65536,
	FOR_RECORD = 131072,
	FOR_INDEX = 262144,
	FOR_SERVE = 524288,
	FOR_API = 1048576,
	FOR_EVENTS = 2097152,
	FOR_PACK = 4194304,
};

/* A text of NULL: the option was not given. */
struct options {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	bool has_analyses, has_per;
	unsigned int command; /* FOR_...: that they are of */
	const char *format, *output, *begin, *end, *at, *to;
	bool is_instant; /* of report --at: the range ends there, and has no length to speak of */
	bool has_format;
	const char *table;  /* --table */
	const char *tables; /* csv, of which `format` is json: which one, "": all; NULL: none */
	uint64_t interval_ns;
	bool has_interval;
	uint64_t top;
	bool has_top;
	bool has_width;
	uint64_t width; /* of tables in text; 0: no limit */
	bool has_jobs;
	uint64_t jobs;
	uint64_t index_bytes; /* --every of index */
	bool has_index_bytes, beside;
	uint64_t tile_ns; /* --tiles of index */
	bool has_tiles;
	const char *tiles_by; /* NULL: thread */
	uint64_t chunk_bytes, max_memory;
	bool has_max_memory;
	uint64_t duration_ns, windows; /* 0: no limit */
	uint64_t retry_ns;             /* UINT64_MAX: for ever; 0: not at all */
	uint64_t grace_ns;
	bool has_state_every;
	uint64_t state_every_ns; /* how often --state is saved before the end; 0: never */
	const char *from;        /* --from as it was given */
	bool from_beginning;
	uint64_t from_ns; /* from_beginning is false: from this time on; 0: from now on */
	double speed;     /* 0: as fast as possible */
	uint64_t loops;
	bool has_live_timer;
	uint64_t live_timer_ns;
	uint64_t buffer_bytes; /* of each CPU */
	bool overwrite;
	const char *session, *host;
	bool wait_viewer, as_now;
	bool stats;
	const char *metrics, *web, *server_config;
	const char *listen;   /* serve: NULL: loopback, at `port` */
	uint64_t port;        /* serve; 0: one that is free */
	uint64_t max_time_ns; /* serve: of an answer */
	bool is_insecure;
	const char *metrics_profile; /* NULL: full */
	struct selection selection;
	bool names_of_host; /* containers have the names that this host knows: --containers auto */
	struct display display;
	struct period_set periods;
	bool phases;
	bool freq;
	bool buckets;       /* JSON: all buckets of distributions */
	uint64_t freq_bins; /* 0: powers of two */
	bool mi_version, metadata, test_compatibility;
	VEC(const char *) triggers, trigger_files; /* the texts are borrowed */
	const char *on_trigger;                    /* NULL: capture with a history, else print */
	const char *check;                         /* NULL: the argument */
	bool has_check;
	const char *baseline; /* the store that triggers are compared with; NULL: none */
	bool dry_run;
	VEC(const char *) fails;      /* conditions that fail the run */
	bool strict;                  /* so does what is missing */
	const char *junit, *tap;      /* files of test cases; NULL: none */
	uint64_t trigger_interval_ns; /* 0: as interval_ns */
	bool has_history, has_before;
	uint64_t history_ns;    /* UINT64_MAX: as far back as history_bytes allows */
	uint64_t history_bytes; /* 0: not given */
	uint64_t before_ns, after_ns;
	const char *capture_dir, *control;
	const char *history_dir; /* NULL: in memory */
	const char *job_text;    /* what --job of report says; NULL: nothing */
	struct job_spec *job;    /* the same; NULL: none */
	struct job_spec *within; /* another, in which its executions lie */
	const char *around;      /* the same of all that --job names: it is one of `periods` */
	bool discover;
	const char *start;    /* an event that jobs begin with; NULL: any */
	double support;       /* of discovery: a share; 0: as usual */
	uint64_t support_min; /* or a number of executions; 0: as usual */
	uint64_t events_max;  /* of discovery: of a thread; 0: as usual */
	uint64_t executions;  /* of a job that count; 0: all */
	bool resources;       /* report: timers, futexes and message queues */
	uint64_t deadline_ns; /* UINT64_MAX: none */
	uint64_t every_ns;    /* 0: none */
	bool has_worst;
	uint64_t worst;        /* executions to explain */
	const char *state;     /* checkpoint file: read at the start, written at the end */
	uint64_t slices;       /* of an overview */
	double compromise;     /* of an overview; negative: the suggested one */
	const char *hierarchy; /* of an overview: cpu, process; service: process, with
				* selection.by_service */
	const char *thread;    /* to explain: a tid or a name; NULL: the most important one */
	uint64_t keep_count, keep_bytes, per_hour; /* UINT64_MAX: no limit */
	const char *on_lag;                        /* keep, skip */
	uint64_t lag_limit_ns;
	uint64_t linger_ns;
	bool wants_help;
	VEC(const char *) ust;      /* patterns of user-space events; the texts are borrowed */
	VEC(const char *) recorded; /* names and patterns of --event */
	const char *tracer;         /* of the kernel; NULL: as there is one */
	const char *relay;
	const char *rate; /* setup: events, or a trace; NULL: not given */
	uint64_t away_ns; /* setup: how long the reader may be away */
	bool run;
	bool regenerate;        /* a state dump, where it is missed */
	const char *store_keep; /* how long; NULL: as usual */
	const char *store_also; /* length of longer windows beside them; NULL: the usual one */
	const char *store;      /* where windows stay; NULL: nowhere */
	bool merged;            /* history: one report of all traces */
	bool no_args;           /* export: the fields of events are left out */
	bool samples;           /* export -f folded: of call stacks */
	bool anonymous;         /* pack: without names */
	const char *key; /* pack: the file of the key that replaces them; NULL: it is thrown away */
	const char *kallsyms; /* export, report; NULL: those of this host, if they may be */
	bool follow;          /* history: also what lands from now on */
	bool per_host;        /* history: a row for each host */
	/* compare: one that is for such sides alone, or for them and not for JSON. */
	const char *of_traces, *of_stores, *of_both;
	VEC(const char *) figures;             /* of these rows; the texts are borrowed */
	const char *stored_sort;               /* history: --sort as it was given */
	const char *begin_option, *end_option; /* what messages call begin and end */
	int verbosity;                         /* -1 quiet, 0, 1 verbose */
	const char **args;                     /* what is no option; ends with NULL */
	void *memory;                          /* of values, arguments and what was given */
};

/*
 * Parses the words after the command.  -EINVAL: one line in @err, the exit status is 2.  1: an
 * option asked for a list, which was printed; the exit status is 0.  Call options_fini() whatever
 * the result.  Arguments and what was given are there whatever the result.
 */
int options_parse(struct options *options, unsigned int command, int argc, const char **argv,
		  struct err *err);
void options_fini(struct options *options);
/* Prints the options that were given for a shell, each behind a space, but for those that @drops.
 */
void options_put_given(const struct options *options, bool (*drops)(const char *name), FILE *out);
/* Of report with --job: the job of --model that it names; NULL: it has a pattern of its own. */
const struct job_spec *options_job_of_model(const struct options *options);
/* Calls @each for each option that was given, in their order; @value: NULL: it has none. */
void options_each_given(const struct options *options,
			void (*each)(void *user, const char *name, const char *value), void *user);
/* Whether history refuses the option with --per host: it is about lists. */
bool options_is_of_lists(const char *name);

/* Chooses the analyses of periods and jobs if, and only if, there are some to measure; -EINVAL: one
 * was asked for that has none.  @may_have: also without, since what is shown was measured before.
 */
int options_choose_asked(struct options *options, bool may_have, struct err *err);
/* Without -a: those of traces of the kernel, or of programs, or both. */
void options_choose_usual(struct options *options, bool has_kernel, bool has_user);
/* Of this host's kernel, on the whole screen: who waits, and what each thread does now, too. */
void options_choose_screen(struct options *options);
/* Whether something is asked for, and all of it is of programs (--ust, events of periods, ...). */
bool options_are_of_user(const struct options *options);

/* The name of a command. */
const char *options_command(unsigned int command);

/* Prints the options of a command, a line each. */
void options_print_help(unsigned int command, const char *name, FILE *out);

/* Prints a completion for a shell, NULL: bash; @commands ends with a name of NULL.  False: there is
 * none for that shell. */
struct options_command {
	const char *name, *summary;
	unsigned int options;
};
bool options_print_completion(const char *shell, const struct options_command *commands, FILE *out);

/* The one of @words (ends with NULL) that is most like @word; NULL: none is near. */
const char *options_nearest(const char *word, const char *const *words);
