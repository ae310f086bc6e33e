/*
 * run: what the runs of commands share: their status, stopping, time ranges, the engine's
 * configuration from the options, URLs of relays, outputs.
 *
 * Functions that return int without saying more return 0, or a negative errno with the reason in
 * @err.  Only run_output() and run_checkpoint_file() print.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>

#include "options/options.h"

struct actions;
struct checkpoint_file;
struct engine_config;
struct loop_config;
struct metadata;
struct output;
struct partial_file_setup;
struct recorded_path;
struct recorded_paths;
struct trace_identity;
struct url;

/* ---- status, and stopping ---- */

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_HELD = 3, EXIT_LOST = 4 };
/* Standard output was a pipe and its reader has ended, as `head` does: no reason for a message. */
#define EXIT_CLOSED (128 + SIGPIPE)

/* True: finish with what was read so far.  Set by a signal after run_stop_on_signals(), or by a
 * command whose output cannot be written. */
extern atomic_bool run_stop;

/* The exit status after a signal that set run_stop: 128 and its number.  0: none did. */
int run_signal_status(void);
void run_stop_on_signals(void); /* SIGINT, SIGTERM */
void run_end_on_signals(void);  /* they end the process at once: there is nothing to finish */

/* ---- traces ---- */

/*
 * Adds the traces at or below the directory @arg, or those of the sessions that the URL @arg names,
 * as far as the options ask for them.  A URL is fetched once, the first time, into a directory that
 * is removed when the program ends.  -errno; -EINTR: a signal came.
 */
int run_find(const struct options *options, const char *arg, struct recorded_paths *paths,
	     struct err *err);

/* --begin and --end; 0 and UINT64_MAX without them.  A time without a date is on a day of @path,
 * and one before the newest is before its end; if @path is NULL, they are only checked. */
int run_range(const struct options *options, const struct recorded_path *path, uint64_t *ret_begin,
	      uint64_t *ret_end, struct err *err);

/* The same in @span, whose first and last moment are known; NULL: they are only checked. */
struct units_span;
int run_range_in(const struct options *options, const struct units_span *span, uint64_t *ret_begin,
		 uint64_t *ret_end, struct err *err);

/* Whether a total shows that the trace has nothing in the range, which is an error. */
bool run_misses_range(const struct report *total, const struct engine_config *config);

/* Of each trace whether another one has the same host, session and domain; from malloc(). */
bool *run_find_alike(const struct recorded_paths *paths);

/* Fills @identity from the trace's metadata.  It frees what @identity held, so that must be zeroed
 * or filled. */
void run_identify(struct trace_identity *identity, const struct metadata *types,
		  const struct recorded_path *path);

/* ---- the engine's configuration ---- */

/* The engine's windows, and those that are shown, which may be longer (--trigger-interval). */
void run_fill_intervals(const struct options *options, const struct actions *actions,
			struct engine_config *config);
/* Which lists the engine makes: more than those that are shown, if a trigger looks at them. */
void run_fill_lists(const struct options *options, const struct actions *actions,
		    struct engine_config *config);
/* Whether --phases, or a trigger, needs phases (phases/phases.h). */
bool run_wants_phases(const struct options *options, const struct actions *actions);
/* Adds the analyses of CPUs and waits, which phases need, to a list that ends with NULL. */
void run_add_states(const struct analysis *list[ANALYSES_MAX]);
/* The triggers and the gate of the options; NULL: there are none.  run_actions_free() frees both.
 */
int run_actions(const struct options *options, struct actions **ret_actions, struct err *err);
void run_actions_free(struct actions *actions); /* NULL is fine */
/* With --quiet: why the run fails of which nothing is what the user selected.  Else each trace has
 * said so. */
void run_say_unmatched(const struct options *options);
/* At the end of a run: what the gate makes of its exit status @status.  Says it and writes the
 * files of --junit and --tap.  With --quiet it says what data are missing, and no verdict. */
int run_gate(const struct options *options, struct actions *actions, int status);
/* The same for a gate of its own; NULL: there is none. */
struct gate;
int run_end_gate(const struct options *options, const struct gate *gate, int status);
/* What a file of partials or checkpoints records about the run; the caller finishes it. */
/* Reports list containers for others than the output, which shows them only if it did before. */
void run_list_containers(struct output *output, struct engine_config *config);
void run_partial_file_setup(const struct options *options, const struct engine_config *config,
			    struct partial_file_setup *ret);
/* The file of --state; NULL without that option.  @config has the analyses of the run. */
int run_checkpoint_file(const struct options *options, const struct engine_config *config,
			struct checkpoint_file **ret, struct err *err);

/* ---- relays ---- */

/* Parses all of @args.  The caller calls run_urls_free(), also after a failure. */
int run_urls(const char **args, struct url **ret_urls, size_t *ret_count, struct err *err);
void run_urls_free(struct url *urls, size_t count);
/* For live and top; config->actions is set already. */
void run_fill_loop(const struct options *options, struct loop_config *config);

/* ---- output ---- */

/* The form, the place and the rows that the options ask for. */
struct output run_output_of(const struct options *options);
/* Opens @output, calls @work and closes it.  Prints what fails; returns the exit status. */
int run_output(const struct options *options, struct output *output,
	       int (*work)(const struct options *options, struct output *output));
/* The exit status of a run whose output, or anything else, failed.  Says why, unless the reader of
 * a pipe has ended. */
int run_failed(const struct output *output, const struct err *err);
