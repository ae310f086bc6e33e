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

/* ---- events ---- */

bool executions_pattern_fields(const struct executions_part *part, const struct reader_event *event,
			       struct reader_event *as, struct fields_event *fields)
{
	if (!reader_as(event, part->request, as)) {
		return false;
	}
	*fields = (struct fields_event){ &part->of->fields, as->class, as->binding, as->values,
					 as->cpu };
	return true;
}

int32_t executions_pattern_tid(const struct executions_part *part, const struct reader_event *event,
			       int32_t current)
{
	struct reader_event as;
	struct fields_event of;
	struct query_value value;

	if (!part->is->has_tid || !executions_pattern_fields(part, event, &as, &of)) {
		return current;
	}
	for (size_t i = 0; i < part->is->count; i++) {
		if (part->is->conditions[i].is_tid &&
		    fields_get(&of, part->of->conditions[i], &value) &&
		    value.kind == QUERY_NUMBER) {
			return (int32_t)value.is.i;
		}
	}
	return current;
}

bool executions_pattern_matches(const struct executions_part *part,
				const struct reader_event *event, int32_t tid, int32_t current)
{
	struct reader_event as;
	struct fields_event of;

	if ((!part->is->has_tid && tid != current) ||
	    !executions_pattern_fields(part, event, &as, &of)) {
		return false;
	}
	for (size_t i = 0; i < part->is->count; i++) {
		struct query_value value;

		if (!fields_get(&of, part->of->conditions[i], &value) ||
		    !pattern_condition_holds(&part->is->conditions[i], &value, tid)) {
			return false;
		}
	}
	return true;
}

struct diff_begin executions_pattern_counters(const struct executions_part *part,
					      const struct reader_event *event, int32_t current)
{
	struct diff_begin counters = { .cpu = event->cpu, .thread = current > 0 ? current : 0 };
	struct reader_event as;
	struct fields_event of;

	if (part->of->diff_count > 0 && executions_pattern_fields(part, event, &as, &of)) {
		diff_put(counters.words, part->of->diffs, part->of->diff_count, &of);
	}
	return counters;
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
				const struct label_set *labels,
				struct executions_requests *requests)
{
	static const struct plan_request own[REQUEST_ARRIVALS] = {
		[REQUEST_SWITCH] = { .event = "sched_switch",
				     .fields = { [SWITCH_PREV] = "prev_tid",
						 [SWITCH_NEXT] = "next_tid",
						 [SWITCH_STATE] = "prev_state",
						 [SWITCH_PREV_NAME] = "@prev_comm",
						 [SWITCH_NEXT_NAME] = "@next_comm" } },
		[REQUEST_EXEC] = { .event = "sched_process_exec",
				   .fields = { [EXEC_TID] = "tid",
					       [EXEC_OLD_TID] = "old_tid",
					       [EXEC_PATH] = "@filename" } },
		[REQUEST_FORK] = { .event = "sched_process_fork",
				   .fields = { [FORK_TID] = "child_tid",
					       [FORK_NAME] = "@child_comm" } },
		[REQUEST_DUMP] = { .event = "lttng_statedump_process_state",
				   .fields = { [DUMP_TID] = "tid", [DUMP_NAME] = "@name" } },
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
	for (size_t i = 0; labels && i < labels->sources.count; i++) {
		const struct label_source *source = labels->sources.at[i];

		add(requests, source->what->event, source->fields.at);
	}
}
