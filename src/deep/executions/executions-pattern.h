/*
 * executions-pattern: from a pattern to requests, for executions.c, which matches events.
 */
#pragma once

#include "ctf/plan/plan.h"
#include "deep/executions/arrivals.h"
#include "deep/executions/executions.h"
#include "query/diff/diff.h"
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
	bool is_across; /* it goes over threads */
};

/* The first requests follow the running threads, the owners of tids and what they are called. */
enum { REQUEST_SWITCH, REQUEST_EXEC, REQUEST_FORK, REQUEST_DUMP, REQUEST_ARRIVALS };
#define REQUESTS_OWN (REQUEST_ARRIVALS + ARRIVALS_REQUESTS)
enum { SWITCH_PREV, SWITCH_NEXT, SWITCH_STATE, SWITCH_PREV_NAME, SWITCH_NEXT_NAME };
enum { EXEC_TID, EXEC_OLD_TID, EXEC_PATH };
enum { FORK_TID, FORK_NAME };
enum { DUMP_TID, DUMP_NAME };

/* What a pattern needs from the trace. */
struct executions_requests {
	struct plan_request at[REQUESTS_OWN + EXECUTIONS_DEFINITIONS_MAX + LABELS_MAX];
	size_t count;
};

/* Makes the parts of a job, which has to outlive them. */
void executions_pattern_init(struct executions_pattern *pattern, const struct job_spec *job);

/* The tid that the event is about, if it is this part: that of $tid, else @current. */
int32_t executions_pattern_tid(const struct executions_part *part, const struct reader_event *event,
			       int32_t current);
/* The event as this part has it; false: it is another one. */
bool executions_pattern_fields(const struct executions_part *part, const struct reader_event *event,
			       struct reader_event *as, struct fields_event *fields);
/* Whether the event is the part's, for thread @tid; @current runs on the event's CPU. */
bool executions_pattern_matches(const struct executions_part *part,
				const struct reader_event *event, int32_t tid, int32_t current);

/* What the event, which is the part's, says of counters; @current runs on its CPU. */
struct diff_begin executions_pattern_counters(const struct executions_part *part,
					      const struct reader_event *event, int32_t current);

/* Fills @requests, which points into the pattern's job and the labels.  Behind the parts come the
 * sources of @labels (NULL: none), in their order. */
void executions_pattern_request(const struct executions_pattern *pattern,
				const struct label_set *labels,
				struct executions_requests *requests);
