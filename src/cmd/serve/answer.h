/*
 * answer: the reply to one request, computed by the commands that answer it.
 *
 *     request ──► words of a command ──► its lines, in a file in memory ──► reply (api/reply.h)
 *
 *     tables    analyze, of a store history        explain   report
 *     series    the same with -i                   events    events
 *     state     report --at                        compare   compare
 *     hosts     history --per host                 marks     overview, analyze; history --phases
 */
#pragma once

#include <stdio.h>

#include "cmd/serve/source.h"

struct answering {
	const char *const *sources; /* as source_find() takes them: those asked for are looked up */
	size_t source_count;
	uint64_t jobs;       /* of each command */
	uint64_t max_memory; /* the same; 0: as it has it */
	uint64_t end_ns;     /* monotonic: when sources share the time up to there; 0: no limit */
};

/* Writes the reply, or what is wrong, a line, and returns the exit status.  Standard output is
 * another while it runs. */
int answer_request(const struct answering *with, const char *text, FILE *out);
