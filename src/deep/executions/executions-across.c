/*
 * executions-across: see executions-across.h.
 */
#include "deep/executions/executions-across.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- what threads are called ---- */

static void tell_name(struct executions_across *across, const struct reader_event *event,
		      unsigned int tid, unsigned int name)
{
	if (reader_has(event, tid) && reader_has(event, name)) {
		across->executions->forgotten +=
			across_names_tell(&across->names, (int32_t)event->values[tid].i,
					  event->values[name].bytes, event->values[name].len);
	}
}

/* The last component of the path is the name. */
static void tell_path(struct executions_across *across, const struct reader_event *event)
{
	const struct value *path = &event->values[EXEC_PATH];
	size_t len =
		reader_has(event, EXEC_PATH) ? strnlen((const char *)path->bytes, path->len) : 0;
	const uint8_t *slash = len > 0 ? memrchr(path->bytes, '/', len) : NULL;
	size_t dir = slash ? (size_t)(slash + 1 - path->bytes) : 0;

	if (len > 0 && reader_has(event, EXEC_TID)) {
		across->executions->forgotten +=
			across_names_tell(&across->names, (int32_t)event->values[EXEC_TID].i,
					  path->bytes + dir, len - dir);
	}
}

static void tell_names(struct executions_across *across, const struct reader_event *event)
{
	switch (event->binding->request) {
	case REQUEST_SWITCH:
		tell_name(across, event, SWITCH_PREV, SWITCH_PREV_NAME);
		tell_name(across, event, SWITCH_NEXT, SWITCH_NEXT_NAME);
		break;
	case REQUEST_FORK:
		tell_name(across, event, FORK_TID, FORK_NAME);
		break;
	case REQUEST_DUMP:
		tell_name(across, event, DUMP_TID, DUMP_NAME);
		break;
	case REQUEST_EXEC:
		tell_path(across, event);
		break;
	}
}

/* The context procname names the thread that runs. */
static void take_context(struct executions_across *across, const struct executions_part *part,
			 const struct reader_event *as, int32_t tid)
{
	uint8_t at = part->of->running.procname;

	if (!part->is->has_tid && at != FIELD_NONE && reader_has(as, at)) {
		across->executions->forgotten += across_names_tell(
			&across->names, tid, as->values[at].bytes, as->values[at].len);
	}
}

/* ---- executions ---- */

/* What is open keeps of the events so far. */
struct begun {
	char *by; /* its keys, in the texts of the executions; NULL: it has none */
	struct executions_items items;
	struct diff_begin counters;
};

/* An event as a part of the pattern has it. */
struct across_event {
	uint64_t ts;
	int32_t tid;
	struct fields_event of;
	struct diff_begin counters;
};

static const struct begun *begun_of(const struct across_open *open)
{
	return open->more;
}

static void free_open(struct across_open *open)
{
	free(open->more);
	free(open);
}

/* NOBODY: of an idle CPU, or it is not known. */
static uint32_t owner(const struct executions_across *across, int32_t tid, uint64_t ts)
{
	return tid > 0 ? owners_at(across->owners, tid, NULL, ts, ts) : NOBODY;
}

/* The states of a thread of it, which may be NOBODY. */
static void sum_states(const struct executions_across *across, uint32_t thread,
		       const struct execution *one, uint64_t ns[STATES])
{
	if (thread != NOBODY) {
		timeline_thread_sums(across->timeline->threads.at[thread], one->begin, one->end,
				     ns);
	}
}

static void add_across(struct executions_across *across, const struct across_open *open,
		       uint32_t last, uint64_t end, const struct diff_begin *counters)
{
	struct execution one = { .thread = open->thread,
				 .last = last,
				 .begin = open->begin,
				 .end = end,
				 .by = begun_of(open)->by,
				 .arrival.ts = open->begin };

	if (one.begin < across->timeline->begin || end > across->timeline->end) {
		return;
	}
	one.row = executions_named_row(across->named, &begun_of(open)->items);
	sum_states(across, one.thread, &one, one.ns);
	if (execution_leaves(&one)) {
		one.of_last = (uint32_t)across->executions->of_last.count;
		sum_states(across, last, &one, vec_push(&across->executions->of_last)->ns);
	}
	executions_add_differences(across->executions, &one, &begun_of(open)->counters, counters,
				   false);
	*vec_push(&across->executions->all) = one;
}

static bool is_in_range(const struct executions_across *across, const struct across_open *open)
{
	return open->begin >= across->timeline->begin;
}

/* Of the event that begins it, which is the first of the pattern; from malloc(). */
static struct begun *begun_new(const struct executions_across *across,
			       const struct across_event *event)
{
	struct begun *begun = mem_alloc(sizeof(*begun));
	char text[JOB_KEY_BYTES];
	size_t len = across->job->has_keys ? job_key_text(across->job, &event->of, text) : 0;

	*begun = (struct begun){ .counters = event->counters };
	begun->by = len > 0 ? arena_strndup(&across->executions->texts, text, len) : NULL;
	if (event->ts >= across->timeline->begin) { /* else it is left out */
		executions_named_add(across->named, 0, &event->of, &begun->items);
	}
	return begun;
}

static void open_across(struct executions_across *across, uint64_t key,
			const struct across_event *event)
{
	struct across_open *open = across_find(&across->open, key);
	uint64_t ts = event->ts;

	if (open) {
		across->executions->overlapped += ts >= across->timeline->begin;
		if (!across->job->has_keys) {
			return; /* the first one counts */
		}
		across_take(&across->open, open);
		free_open(open);
	}
	open = mem_alloc(sizeof(*open));
	*open = (struct across_open){ .key = key,
				      .begin = ts,
				      .tid = event->tid,
				      .thread = owner(across, event->tid, ts),
				      .more = begun_new(across, event) };
	open = across_add(&across->open, open);
	if (open) {
		across->executions->dropped += is_in_range(across, open);
		free_open(open);
	}
}

static void close_across(struct executions_across *across, uint64_t key,
			 const struct across_event *event)
{
	struct across_open *open = across_find(&across->open, key);

	if (open) {
		struct begun *begun = open->more;

		if (across->job->has_keys) {
			keys_met_agree(across->job->is->links[0].met);
		}

		if (is_in_range(across, open)) {
			executions_named_add(across->named, 1, &event->of, &begun->items);
		}
		across_take(&across->open, open);
		add_across(across, open, owner(across, event->tid, event->ts), event->ts,
			   &event->counters);
		free_open(open);
		across->reached = across->pattern->count;
	}
}

/* Whether the event is this part of the pattern, and which keys and thread it has. */
static bool meets_part(struct executions_across *across, size_t at,
		       const struct reader_event *event, int32_t current, uint64_t *key,
		       struct across_event *ret)
{
	const struct executions_part *part = &across->pattern->at[at];
	struct reader_event as;
	int32_t tid = executions_pattern_tid(part, event, current);

	if (!executions_pattern_matches(part, event, tid, current) ||
	    !executions_pattern_fields(part, event, &as, &ret->of)) {
		return false;
	}
	ret->ts = event->ts;
	ret->tid = tid;
	ret->counters = executions_pattern_counters(part, event, current);
	take_context(across, part, &as, tid);
	return pattern_has_who(&part->is->who, tid, across_names_of(&across->names, tid)) &&
	       job_key(across->job, at, &ret->of, key) && job_key_with(across->job, tid, key);
}

/* An end may be the next begin. */
void executions_across_take(struct executions_across *across, const struct reader_event *event,
			    int32_t current)
{
	struct across_event as;
	uint64_t key;

	assert(across->pattern->count == 2);
	if (across->job->has_names) {
		tell_names(across, event);
	}
	if (meets_part(across, 1, event, current, &key, &as)) {
		close_across(across, key, &as);
	}
	if (!meets_part(across, 0, event, current, &key, &as)) {
		return;
	}
	if (executions_named_wants(across->named, &as.of)) {
		open_across(across, key, &as);
		across->reached = across->reached > 0 ? across->reached : 1;
	} else {
		across->executions->unwanted += as.ts >= across->timeline->begin;
	}
}

void executions_across_cut(struct executions_across *across)
{
	struct across_open *open;

	while ((open = across_next(&across->open))) {
		across->executions->cut += is_in_range(across, open);
		free_open(open);
	}
}

void executions_across_end(struct executions_across *across)
{
	struct across_open *open;

	while ((open = across_next(&across->open))) {
		struct execution one = { .thread = open->thread,
					 .last = open->thread,
					 .begin = open->begin,
					 .end = across->timeline->end,
					 .by = begun_of(open)->by,
					 .row = executions_named_row(across->named,
								     &begun_of(open)->items),
					 .arrival.ts = open->begin,
					 .is_open = true };

		if (is_in_range(across, open) && one.begin <= one.end) {
			sum_states(across, one.thread, &one, one.ns);
			*vec_push(&across->executions->open) = one;
		}
		free_open(open);
	}
	across_names_fini(&across->names);
}
