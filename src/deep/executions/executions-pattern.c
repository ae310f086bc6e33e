/*
 * executions-pattern: see executions-pattern.h.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "deep/executions/executions-pattern.h"

/* ---- patterns ---- */

void executions_pattern_init(struct executions_pattern *pattern, const struct job_spec *job)
{
	*pattern = (struct executions_pattern){ .count = job->is->event_count,
						.is_across = job->is_across };
	for (size_t i = 0; i < pattern->count; i++) {
		pattern->at[i].is = &job->is->events[i];
	}
}

/* ---- requests ---- */

/* Index of the request for @event, which is added if it is new. */
static size_t request_of(struct executions_requests *requests, const char *event)
{
	size_t i = 0;

	while (i < requests->count && strcmp(requests->at[i].event, event) != 0) {
		i++;
	}
	if (i == requests->count) {
		assert(i < ARRAY_COUNT(requests->at));
		requests->at[requests->count].event = event;
		requests->at[requests->count].group = (uint16_t)requests->count;
		requests->count++;
	}
	return i;
}

/* Index of the field in the request, to which it is added if it is new; -EINVAL: no room. */
static int field_of(struct plan_request *request, const char *field, struct err *err)
{
	for (uint8_t i = 0; i < PLAN_FIELDS_MAX; i++) {
		if (!request->fields[i]) {
			request->fields[i] = field;
		}
		if (strcmp(request->fields[i], field) == 0) {
			return i;
		}
	}
	return err_raise(err, -EINVAL, "%s: conditions on more than %d fields", request->event,
			 PLAN_FIELDS_MAX);
}

int executions_pattern_request(struct executions_pattern *pattern,
			       struct executions_requests *requests, struct err *err)
{
	assert(pattern->count >= 2); /* expression_parse() */
	memset(requests, 0, sizeof(*requests));
	(void)request_of(requests, "sched_switch");
	requests->at[REQUEST_SWITCH].fields[SWITCH_PREV] = "prev_tid";
	requests->at[REQUEST_SWITCH].fields[SWITCH_NEXT] = "next_tid";
	(void)request_of(requests, "sched_process_exec");
	requests->at[REQUEST_EXEC].fields[EXEC_TID] = "tid";
	requests->at[REQUEST_EXEC].fields[EXEC_OLD_TID] = "old_tid";
	(void)request_of(requests, "sched_process_fork");
	requests->at[REQUEST_FORK].fields[FORK_TID] = "child_tid";
	for (size_t i = 0; i < ARRIVALS_REQUESTS; i++) {
		size_t at = request_of(requests, arrivals_requests[i].event);

		assert(at == REQUEST_ARRIVALS + i);
		memcpy(requests->at[at].fields, arrivals_requests[i].fields,
		       sizeof(requests->at[at].fields));
	}
	assert(requests->count == REQUESTS_OWN);
	for (size_t d = 0; d < pattern->count; d++) {
		struct executions_part *part = &pattern->at[d];
		int tid;

		part->request = request_of(requests, part->is->event);
		for (size_t i = 0; i < part->is->count; i++) {
			int field = field_of(&requests->at[part->request],
					     part->is->conditions[i].field, err);

			if (field < 0) {
				return field;
			}
			part->fields[i] = (uint8_t)field;
		}
		tid = field_of(&requests->at[part->request], "context.tid", err);
		if (tid < 0) {
			return tid;
		}
		part->tid_field = (uint8_t)tid;
	}
	return 0;
}
