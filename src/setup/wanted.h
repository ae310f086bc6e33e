/*
 * wanted: which events and contexts some analyses read, by the domain that records them.
 *
 * They come from the requests that the engine makes for a run with these analyses, so they are
 * always what the analyses bind.
 */
#pragma once

#include "base/vec.h"
#include "engine/contract/analysis.h"

struct wanted_names {
	VEC(char *) at; /* each once, in the order of the requests */
};

struct wanted {
	struct wanted_names kernel, calls, user; /* names or patterns; calls without their prefix */
	bool all_calls;                          /* every system call; `calls` is empty then */
	struct wanted_names kernel_contexts, user_contexts; /* types of `lttng add-context` */
};

/* @list ends with NULL; @periods: NULL if there are none.  @wanted is zeroed. */
void wanted_find(struct wanted *wanted, const struct analysis *const *list,
		 const struct period_set *periods);
/* Analyses of user space ask for all of it ("*"); other names, if there are some, narrow that. */
void wanted_narrow_user(struct wanted *wanted);
/* Adds a name or pattern of user-space events, which narrows. */
void wanted_add_user(struct wanted *wanted, const char *pattern);
bool wanted_has_kernel(const struct wanted *wanted);
void wanted_drop_kernel(struct wanted *wanted);
/* Many events: all system calls, or patterns. */
bool wanted_is_much(const struct wanted *wanted);
void wanted_fini(struct wanted *wanted);
