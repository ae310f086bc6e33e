/*
 * cmd: the commands.  Each is one file that ends in a descriptor; main.c has the table of them.
 */
#ifndef SILLAGE_CMD_CMD_H
#define SILLAGE_CMD_CMD_H

#include <signal.h>

#include "cmd/options/options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_HELD = 3, EXIT_LOST = 4 };
/* Standard output was a pipe and its reader has ended, as `head` does: no reason for a message. */
#define EXIT_CLOSED (128 + SIGPIPE)

struct command {
	const char *name;
	const char *args;    /* in the usage line */
	const char *summary; /* one line */
	const char *examples;
	unsigned int options;                      /* FOR_... */
	unsigned int args_min, args_max;           /* args_max: 0: any */
	int (*run)(const struct options *options); /* returns the exit status */
};

extern const struct command cmd_live, cmd_analyze, cmd_top, cmd_list, cmd_replay, cmd_triggers,
	cmd_lami, cmd_capture, cmd_report, cmd_map, cmd_merge, cmd_overview, cmd_setup, cmd_watch,
	cmd_export, cmd_history, cmd_compare;

#endif
