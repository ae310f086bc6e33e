/*
 * cmd: the commands.  Each is one file that ends in a descriptor; main.c has the table of them.
 */
#pragma once

#include "run/run.h"

struct command {
	const char *name;
	const char *args;    /* in the usage line */
	const char *summary; /* one line */
	const char *examples;
	unsigned int options;                      /* FOR_... */
	unsigned int args_min, args_max;           /* args_max: 0: any */
	int (*run)(const struct options *options); /* returns the exit status */
	/* Runs in its place where there is no argument, with its options; NULL: none does. */
	const struct command *alone;
	/* The words again, with what their argument adds (run/captured.h); NULL: nothing does. */
	const char **(*again)(const struct options *options, int argc, const char **argv,
			      int *ret_argc);
};

/* Runs it with the words behind the program's name, of which its own is the first; returns the exit
 * status.  What is wrong is said. */
int cmd_run(const struct command *command, int argc, const char **argv);
/* Prints its usage and its options. */
void cmd_print_help(const struct command *command);

/* Tells why an index was not used, and with -v that one was (index.c). */
struct index_used;
struct recorded_path;
/* Shows the tiles of the index of a trace (cmd/index-tiles.c). */
int index_show_tiles(const struct options *options, const struct recorded_path *path,
		     struct err *err);
void index_say_used(const struct options *options, const struct recorded_path *path,
		    const struct index_used *used);

extern const struct command cmd_live, cmd_analyze, cmd_top, cmd_list, cmd_replay, cmd_triggers,
	cmd_lami, cmd_capture, cmd_report, cmd_map, cmd_merge, cmd_overview, cmd_setup, cmd_watch,
	cmd_export, cmd_history, cmd_compare, cmd_record, cmd_index, cmd_serve, cmd_api, cmd_events,
	cmd_pack;
