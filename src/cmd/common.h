/*
 * common: what several commands share.
 */
#ifndef SILLAGE_CMD_COMMON_H
#define SILLAGE_CMD_COMMON_H

#include <stdatomic.h>

#include "cmd/cmd.h"

/* Set by a signal, once cmd_stop_on_signals() was called, or by who cannot go on: finish with what
 * there is. */
extern atomic_bool cmd_stop;
void cmd_stop_on_signals(void); /* SIGINT, SIGTERM */

struct engine_config;
struct loop_config;
struct output;
struct url;

struct actions;

/* Of the engine's windows, and of the shown ones, which may be longer (--trigger-interval). */
void cmd_fill_intervals(const struct options *options, const struct actions *actions,
			struct engine_config *config);
/* The triggers of the options, NULL without any; -EINVAL with the reason. */
int cmd_actions(const struct options *options, struct actions **ret_actions, struct err *err);

/* What live and top share. */
int cmd_urls(const char **args, struct url **ret_urls, size_t *ret_count, struct err *err);
void cmd_urls_free(struct url *urls, size_t count);
void cmd_fill_loop(const struct options *options, struct loop_config *config);

/* What live and analyze print, and where. */
struct output cmd_output_of(const struct options *options);
/* Opens the output, has @work done into it and closes it; an exit status. */
int cmd_output(const struct options *options, struct output *output,
	       int (*work)(const struct options *options, struct output *output));

/* --begin and --end, 0 and UINT64_MAX without them; -EINVAL with the reason.  Times without a day
 * are of the one on which @path begins, or of 1970 if that is NULL. */
struct recorded_path;
int cmd_range(const struct options *options, const struct recorded_path *path, uint64_t *ret_begin,
	      uint64_t *ret_end, struct err *err);

/* What a trace says of itself; @identity has been zeroed, or has those of another. */
struct metadata;
struct trace_identity;
void cmd_identify(struct trace_identity *identity, const struct metadata *types, const char *path);

/* What files of partials and states say of a run; to be finished. */
struct partial_file_setup;
void cmd_partial_file_setup(const struct options *options, const struct engine_config *config,
			    struct partial_file_setup *ret);

/* The file of --state, NULL without one; @config: what is analysed.  -EINVAL with the reason. */
struct checkpoint_file;
int cmd_checkpoint_file(const struct options *options, const struct engine_config *config,
			struct checkpoint_file **ret, struct err *err);

#endif
