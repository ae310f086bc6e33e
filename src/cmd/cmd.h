/*
 * cmd: one file per command, ending in one descriptor.
 */
#ifndef SILLAGE_CMD_CMD_H
#define SILLAGE_CMD_CMD_H

#include "cmd/options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
	const char *name;
	const char *args;    /* in the usage line */
	const char *summary; /* one line */
	const char *examples;
	unsigned int options; /* FOR_... */
	unsigned int args_min;
	int (*run)(const struct options *options);
};

extern const struct command cmd_live, cmd_analyze, cmd_top, cmd_list, cmd_replay, cmd_triggers,
	cmd_lami, cmd_capture, cmd_report, cmd_map, cmd_merge;

struct output;

/* What analyze and top share: reports all traces; an exit status. */
int cmd_analyze_into(const struct options *options, struct output *output);

#endif
