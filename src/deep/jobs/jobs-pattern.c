/*
 * jobs-pattern: see jobs-pattern.h.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "deep/jobs/jobs-pattern.h"
#include "query/names.h"

/* ---- patterns ---- */

int jobs_pattern_parse(const char *text, struct jobs_pattern *pattern, struct err *err)
{
	struct job_pattern parsed;
	int r = job_pattern_parse(text, &parsed, err);

	memset(pattern, 0, sizeof(*pattern));
	for (size_t i = 0; r == 0 && i < parsed.count; i++) {
		pattern->at[i].is = parsed.at[i];
	}
	pattern->count = r == 0 ? parsed.count : 0;
	pattern->is_across = r == 0 && parsed.is_across;
	return r;
}

int jobs_check(const char *pattern, struct err *err)
{
	struct jobs_pattern parsed;

	return jobs_pattern_parse(pattern, &parsed, err);
}

int jobs_look_up(struct names *names, const void *pattern)
{
	struct jobs_pattern parsed;
	int r = jobs_pattern_parse(pattern, &parsed, names->err);

	for (size_t i = 0; r == 0 && i < parsed.count; i++) {
		r = names_definition(names, &parsed.at[i].is);
	}
	return r;
}

/* ---- requests ---- */

/* Index of the request for @event, which is added if it is new. */
static size_t request_of(struct jobs_requests *requests, const char *event)
{
	size_t i = 0;

	while (i < requests->count && strcmp(requests->at[i].event, event) != 0) {
		i++;
	}
	if (i == requests->count) {
		assert(i < sizeof(requests->at) / sizeof(requests->at[0]));
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

int jobs_pattern_request(struct jobs_pattern *pattern, struct jobs_requests *requests,
			 struct err *err)
{
	assert(pattern->count >= 2); /* jobs_pattern_parse() */
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
		struct jobs_part *part = &pattern->at[d];
		int tid;

		part->request = request_of(requests, part->is.event);
		for (size_t i = 0; i < part->is.count; i++) {
			int field = field_of(&requests->at[part->request],
					     part->is.conditions[i].field, err);

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
