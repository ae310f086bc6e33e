/*
 * executions-pattern: from a pattern to requests, for executions.c, which matches events.
 */
#pragma once

#include "ctf/plan/plan.h"
#include "deep/executions/arrivals.h"
#include "deep/executions/executions.h"
#include "query/job.h"

#define EXECUTIONS_DEFINITIONS_MAX JOB_EVENTS_MAX

/* One event of a pattern. */
struct executions_part {
	const struct definition *is;
	const struct job_event *of; /* its fields, which the request has */
	size_t request;             /* its index */
};

struct executions_pattern {
	struct executions_part at[EXECUTIONS_DEFINITIONS_MAX];
	size_t count;
	bool is_across; /* from one thread to another */
};

/* The first requests follow the running threads and the owners of tids. */
enum { REQUEST_SWITCH, REQUEST_EXEC, REQUEST_FORK, REQUEST_ARRIVALS };
#define REQUESTS_OWN (REQUEST_ARRIVALS + ARRIVALS_REQUESTS)
enum { SWITCH_PREV, SWITCH_NEXT };
enum { EXEC_TID, EXEC_OLD_TID };
enum { FORK_TID };

/* What a pattern needs from the trace. */
struct executions_requests {
	struct plan_request at[REQUESTS_OWN + EXECUTIONS_DEFINITIONS_MAX];
	size_t count;
};

/* Makes the parts of a job, which has to outlive them. */
void executions_pattern_init(struct executions_pattern *pattern, const struct job_spec *job);

/* Fills @requests, which points into the pattern's job. */
void executions_pattern_request(const struct executions_pattern *pattern,
				struct executions_requests *requests);
