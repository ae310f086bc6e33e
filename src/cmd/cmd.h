/*
 * cmd: one file per command, ending in one descriptor.
 */
#ifndef SILLAGE_CMD_CMD_H
#define SILLAGE_CMD_CMD_H

#include "options.h"

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

extern const struct command cmd_live, cmd_analyze, cmd_list, cmd_replay;

/* A line on standard error: "sillage: ...". */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
