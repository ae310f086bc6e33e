/*
 * executions-across: for executions.c, those that go over threads (query/across.h).
 */
#pragma once

#include "deep/executions/executions-named.h"
#include "query/across.h"

struct executions_across {
	const struct executions_pattern *pattern;
	const struct job_spec *job;
	const struct timeline *timeline;
	const struct owners *owners;
	struct executions *executions; /* to add to */
	struct executions_named *named;
	/* All zero at first. */
	struct across open; /* `thread` is where it began; NOBODY: unknown, or an idle CPU */
	struct across_names names;
	size_t reached; /* how many definitions of the pattern were met, at most */
};

/* Takes an event; @current runs on its CPU from there on. */
void executions_across_take(struct executions_across *across, const struct reader_event *event,
			    int32_t current);
/* Events are missing: what is open may have ended there. */
void executions_across_cut(struct executions_across *across);
/* The range ends: what is open stays so.  Frees everything. */
void executions_across_end(struct executions_across *across);
