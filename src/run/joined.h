/*
 * joined: which recorded traces are read as one: a kernel's and those of programs beside it, where
 * a job or a period is of programs' events.  All others are analysed one by one.
 */
#pragma once

#include "recorded/recorded.h"
#include "run/run.h"

/* Whether a live run reads them so; says why not, where its options ask for it. */
bool joined_live(const struct options *options);
/* Adds those of the traces. */
void joined_find(const struct options *options, const struct recorded_paths *paths,
		 recorded_ones *ret);
/* Tells of periods, jobs and calls whose keys were equal in several processes and agreed in none
 * (query/keys/keys-met.h), and the command that joins them.  At the end of a run. */
void joined_say_apart(const struct options *options);
/* Those that are read with the trace of this index; NULL: it is read alone. */
const struct recorded_paths *joined_with(const recorded_ones *ones, size_t at);
