/*
 * jobs-pattern: from a pattern to requests, for jobs.c, which matches events.
 */
#ifndef SILLAGE_DEEP_JOBS_PATTERN_H
#define SILLAGE_DEEP_JOBS_PATTERN_H

#include "ctf/plan/plan.h"
#include "deep/jobs/arrivals.h"
#include "deep/jobs/jobs.h"
#include "query/job.h"

#define JOBS_DEFINITIONS_MAX JOB_EVENTS_MAX

/* One event of a pattern. */
struct jobs_part {
	const struct definition *is;
	size_t request;                 /* index of the request that has the event's fields */
	uint8_t fields[CONDITIONS_MAX]; /* index of the request's field, by condition */
	uint8_t tid_field;              /* the context that names the running thread */
};

struct jobs_pattern {
	struct jobs_part at[JOBS_DEFINITIONS_MAX];
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
struct jobs_requests {
	struct plan_request at[REQUESTS_OWN + JOBS_DEFINITIONS_MAX];
	size_t count;
};

/* Makes the parts of a job, which has to outlive them. */
void jobs_pattern_init(struct jobs_pattern *pattern, const struct job_spec *job);

/* Fills @requests, which points into @pattern, and the pattern's indexes into it.  -EINVAL: an
 * event has conditions on too many fields. */
int jobs_pattern_request(struct jobs_pattern *pattern, struct jobs_requests *requests,
			 struct err *err);

#endif
