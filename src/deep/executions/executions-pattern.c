/*
 * executions-pattern: see executions-pattern.h.
 */
#include <assert.h>
#include <string.h>

#include "deep/executions/executions-pattern.h"

/* ---- patterns ---- */

void executions_pattern_init(struct executions_pattern *pattern, const struct job_spec *job)
{
	*pattern = (struct executions_pattern){ .count = job->is->event_count,
						.is_across = job->is_across };
	for (size_t i = 0; i < pattern->count; i++) {
		pattern->at[i] = (struct executions_part){
			.is = &job->is->events[i],
			.of = &job->events[i],
			.request = REQUESTS_OWN + i,
		};
	}
}

/* ---- requests ---- */

/* Adds a request, of up to PLAN_FIELDS_MAX fields. */
static void add(struct executions_requests *requests, const char *event, const char *const *fields)
{
	struct plan_request *request = &requests->at[requests->count];

	assert(requests->count < ARRAY_COUNT(requests->at));
	request->event = event;
	request->group = (uint16_t)requests->count++;
	memcpy(request->fields, fields, sizeof(request->fields));
}

void executions_pattern_request(const struct executions_pattern *pattern,
				struct executions_requests *requests)
{
	static const struct plan_request own[REQUEST_ARRIVALS] = {
		[REQUEST_SWITCH] = { .event = "sched_switch",
				     .fields = { [SWITCH_PREV] = "prev_tid",
						 [SWITCH_NEXT] = "next_tid" } },
		[REQUEST_EXEC] = { .event = "sched_process_exec",
				   .fields = { [EXEC_TID] = "tid", [EXEC_OLD_TID] = "old_tid" } },
		[REQUEST_FORK] = { .event = "sched_process_fork",
				   .fields = { [FORK_TID] = "child_tid" } },
	};

	assert(pattern->count >= 2); /* expression_parse() */
	memset(requests, 0, sizeof(*requests));
	for (size_t i = 0; i < REQUEST_ARRIVALS; i++) {
		add(requests, own[i].event, own[i].fields);
	}
	for (size_t i = 0; i < ARRIVALS_REQUESTS; i++) {
		add(requests, arrivals_requests[i].event, arrivals_requests[i].fields);
	}
	assert(requests->count == REQUESTS_OWN);
	for (size_t i = 0; i < pattern->count; i++) {
		add(requests, pattern->at[i].is->event, pattern->at[i].of->fields.at);
	}
}
