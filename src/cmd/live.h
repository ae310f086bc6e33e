/*
 * live: what `live`, `top` and `watch` share: sessions of relays are followed until they end.
 */
#pragma once

#include "cmd/cmd.h"

struct capture_order;
struct loop;
struct output;

/* The full screen, in the place of an output of the options. */
struct live_screen {
	struct output *output;
	int (*open)(struct err *err);                    /* takes the terminal */
	void (*close)(void);                             /* gives it back */
	bool (*on_input)(void *user, struct loop *loop); /* false: the user quits */
	void *user;                                      /* for on_input */
	/* If @dir is set, captures go there, with all that is kept, and then to these functions
	 * (captures_config.on_written, loop_config.on_captured). */
	const char *dir;
	void (*on_written)(void *user, struct capture_order *order);
	void (*on_captured)(void *user, const struct capture_order *order);
};

/* Follows the sessions that @args name (URLs, up to NULL).  @screen NULL: the options say what is
 * printed, and where.  Returns the exit status. */
int live_follow(const struct options *options, const char **args, const struct live_screen *screen);
