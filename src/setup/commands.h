/*
 * commands: the `lttng` commands that make a session which records what is wanted.
 */
#pragma once

#include <stdio.h>

#include "setup/sizes.h"
#include "setup/wanted.h"

struct command_line {
	VEC(char *) words; /* the first is "lttng"; ends with NULL */
	bool is_kernel;    /* of the kernel's channel */
};

struct command_lines {
	VEC(struct command_line) at;
};

struct commands_config {
	const char *session;
	const char *relay; /* net://HOST[:CONTROL[:DATA]]; NULL: lttng's own, on this host */
	uint64_t live_timer_ns;
	struct sizes kernel, user; /* of buffers; commands_usual_sizes() */
	/* The relay keeps only the last packets of each stream. */
	bool is_bounded;
};

/* Whether it may be the name of a session: letters, digits, "-", "_" and ".". */
bool commands_is_session_name(const char *name);
/* Sets sizes that do without a rate. */
void commands_usual_sizes(struct commands_config *config, const struct wanted *wanted);
/* The first creates the session, the last starts it. */
void commands_make(struct command_lines *lines, const struct wanted *wanted,
		   const struct commands_config *config);
/* Adds one of these words, up to NULL. */
void commands_add(struct command_lines *lines, const char *const *words);
/* A line for a shell. */
void commands_print(const struct command_line *line, FILE *out);
void commands_fini(struct command_lines *lines);
