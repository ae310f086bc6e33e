/*
 * storing: --store of live and analyze, and how long windows stay.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "options/options.h"

struct engine_config;
struct output;
struct store;

/* Opens the store of --store, if it is given: all that @output gets goes there by way of @also, and
 * @config asks for what it needs.  @may_wait: the run may wait for it.  -EINVAL: wrong usage. */
int storing_open(const struct options *options, bool may_wait, struct engine_config *config,
		 struct output *output, struct output *also, struct err *err);
/* NULL: there is none. */
struct store *storing_in(const struct output *output);
/* Waits until all is stored; says what is lost.  Negative: some is. */
int storing_close(const struct options *options, struct output *output);
