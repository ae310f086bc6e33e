/*
 * jobs-worker: see jobs.h; which definitions of jobs an event meets, and what releases threads.
 */
#include "analyses/jobs/jobs.h"
#include "engine/contract/partial.h"

#include <string.h>

/* ---- wake-ups ---- */

enum { EXPIRIES_UNKNOWN, EXPIRIES_NONE, EXPIRIES_ONE };

/* A record of the CPU that the stream is of. */
static struct record *emit_of_cpu(struct worker *worker, uint64_t ts, unsigned int kind)
{
	return worker_emit_entity(worker, ts, worker_cpu(worker), kind);
}

/* Whether the expiry of a timer may be the source of what happens now. */
static bool may_expire(struct worker *worker, struct jobs_worker *jobs)
{
	if (!jobs->is_known && !worker_has_event(worker, "timer_hrtimer_expire_entry") &&
	    !worker_has_event(worker, "hrtimer_expire_entry")) {
		jobs->expiries = EXPIRIES_NONE;
	}
	jobs->is_known = true;
	return jobs->expiries != EXPIRIES_NONE;
}

static void on_wake(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t wake_event)
{
	enum { TID, SUCCESS };
	const struct wake_source *wakes = worker_wakes(worker);
	enum wake_kind kind = wake_source_kind(wakes, wake_event);
	int64_t tid = event_i64(event, TID, 0);
	bool may_be_timer = may_expire(worker, state);
	struct record *record;

	if (kind == WAKE_NONE || !wake_source_wakes(tid, event_u64(event, SUCCESS, 1))) {
		return;
	}
	if (kind != WAKE_CONFIRMS) {
		emit_of_cpu(worker, event->ts, OWN_WOKEN)->arg32 = (int32_t)tid;
	}
	record = worker_emit(worker, event->ts, (int32_t)tid, OWN_WAKE);
	record->arg64 = worker_cpu(worker);
	record->arg16 = (uint16_t)(kind | (wakes->has_wakeup ? 0 : WAKE_TENTATIVE) |
				   (may_be_timer ? 0 : WAKE_CALM));
}

/* ---- timers and signals ---- */

static void on_set(struct worker *worker, void *state, const struct trace_event *event,
		   uint32_t user)
{
	enum { TIMER, EXPIRES, SOFT };
	uint64_t words[2] = { event_u64(event, TIMER, 0),
			      event_u64(event, SOFT, event_u64(event, EXPIRES, 0)) };

	if (event_has(event, TIMER) && event_has(event, EXPIRES)) {
		uint64_t at = worker_numbers(worker, words, 2);

		emit_of_cpu(worker, event->ts, OWN_SET)->arg64 = at;
	}
}

static void on_expire(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t user)
{
	enum { TIMER, NOW };
	struct jobs_worker *jobs = state;
	uint64_t words[3] = { event_u64(event, TIMER, 0), event_u64(event, NOW, 0),
			      event_has(event, NOW) };

	if (event_has(event, TIMER)) {
		uint64_t at = worker_numbers(worker, words, 3);

		emit_of_cpu(worker, event->ts, OWN_EXPIRE)->arg64 = at;
		jobs->expiries = EXPIRIES_ONE;
	}
}

static void on_expired(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t user)
{
	struct jobs_worker *jobs = state;

	(void)emit_of_cpu(worker, event->ts, OWN_EXPIRED);
	jobs->expiries = EXPIRIES_NONE;
}

static void on_signal(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t user)
{
	enum { SIGNAL, TID, RESULT };
	int32_t tid = (int32_t)event_i64(event, TID, 0);
	struct record *record;

	if (event_has(event, SIGNAL) && tid > 0 && event_i64(event, RESULT, 0) == 0) {
		record = emit_of_cpu(worker, event->ts, OWN_SIGNAL);
		record->arg32 = tid;
		record->arg64 = event_u64(event, SIGNAL, 0);
	}
}

/* Whether jobs go over threads; @by_name: to or from some that have names. */
static bool has_across(const struct period_set *asked, bool by_name)
{
	bool any = false;

	for (size_t j = 0; asked && j < asked->jobs.count; j++) {
		any |= by_name ? asked->jobs.at[j]->has_names : asked->jobs.at[j]->is_across;
	}
	return any;
}

void jobs_worker_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	struct jobs_worker *jobs = state;

	if (is_over) {
		return;
	}
	jobs->expiries = EXPIRIES_UNKNOWN;
	jobs->is_known = false; /* whether there are expiries at all is looked up again */
	emit_of_cpu(worker, ts, OWN_LOST)->arg32 = !worker_has_event(worker, "sched_switch");
	if (has_across(worker_periods(worker), false)) {
		worker_emit_entity(worker, ts, ENTITY_ACROSS, OWN_GAP)->arg32 =
			worker_is_beside(worker)   ? MISSING_BESIDE
			: worker_is_joined(worker) ? MISSING_KERNEL
						   : MISSING_ANY;
	}
}

/* What releases threads of a kernel. */
static const struct need kernel_needs[] = {
	WAKE_ROWS(WAKE_NEED, on_wake, "tid", "success"),
	{ "timer_hrtimer_start", { "hrtimer", "expires", "softexpires" }, on_set, 0 },
	{ "hrtimer_start", { "hrtimer", "expires", "softexpires" }, on_set, 0 },
	{ "timer_hrtimer_expire_entry", { "hrtimer", "now" }, on_expire, 0 },
	{ "hrtimer_expire_entry", { "hrtimer", "now" }, on_expire, 0 },
	{ "timer_hrtimer_expire_exit", { NULL }, on_expired, 0 },
	{ "hrtimer_expire_exit", { NULL }, on_expired, 0 },
	{ "signal_generate", { "sig", "pid", "result" }, on_signal, 0 },
};

/* ---- definitions ---- */

/* Whether the event meets the definition; *tid is the thread that its conditions name. */
static bool holds(const struct definition *is, const struct job_event *fields,
		  const struct fields_event *event, int32_t *tid)
{
	bool has_tid = false;

	for (size_t i = 0; i < is->count; i++) {
		const struct pattern_condition *condition = &is->conditions[i];
		struct query_value value;

		if (!fields_get(event, fields->conditions[i], &value)) {
			return false;
		}
		if (condition->is_tid && !has_tid && value.kind == QUERY_NUMBER) {
			*tid = (int32_t)value.is.i;
			has_tid = true;
		} else if (!pattern_condition_holds(condition, &value, *tid)) {
			return false;
		}
	}
	return true;
}

static void put_job_counters(struct worker *worker, const struct trace_event *event,
			     const struct job_event *at, const struct fields_event *of,
			     uint64_t *words)
{
	counters_put(worker, event,
		     &(struct counters_side){ at->diffs, at->diff_count, &at->running }, of, words);
}

/* The words of a record: where they are, or the CPU. */
static uint64_t match_words(struct worker *worker, const struct trace_event *event,
			    const struct job_spec *job, size_t number,
			    const struct fields_event *of)
{
	const struct job_event *at = &job->events[number];
	uint64_t words[MATCH_WORDS_MAX] = { [MATCH_CPU] = worker_cpu(worker) };
	size_t count = jobs_match_items(job, number);

	if (!jobs_has_words(job, number)) {
		return words[MATCH_CPU];
	}
	put_job_counters(worker, event, at, of, words + MATCH_COUNTERS);
	if (job->group.count > 0) {
		count += labels_put_items(words + count, &worker_periods(worker)->labels,
					  &job->group, at->groups, of);
	}
	return worker_numbers(worker, words, count);
}

/* ---- over threads ---- */

/* The thread of a record: its tid, or the current one's once it is known. */
static void note_whose(struct worker *worker, struct record *record, int64_t thread)
{
	if (thread == TID_CURRENT) {
		worker_note_current(worker, record);
	} else {
		record->arg32 = key_tid(thread);
	}
}

static void emit_name(struct worker *worker, uint64_t ts, int64_t thread, const void *name,
		      size_t len)
{
	uint64_t words[STEP_NAME_WORDS] = { 0 };
	struct record *record;
	uint64_t at;

	memcpy(words, name, strnlen(name, len < sizeof(words) - 1 ? len : sizeof(words) - 1));
	at = worker_numbers(worker, words, STEP_NAME_WORDS);
	record = worker_emit_entity(worker, ts, ENTITY_ACROSS, OWN_NAME);
	record->arg64 = at;
	note_whose(worker, record, thread);
}

/* @user: how many names the event tells, each in a field behind which is the thread's. */
static void on_named(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t count)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct value *name = &event->values[2 * i];
		int64_t tid = event_i64(event, 2 * i + 1, 0);

		if (event_has(event, 2 * i) && tid > 0) {
			emit_name(worker, event->ts, tid, name->bytes, name->len);
		}
	}
}

static void on_named_exec(struct worker *worker, void *state, const struct trace_event *event,
			  uint32_t user)
{
	enum { FILENAME, TID };
	const struct value *path = &event->values[FILENAME];
	size_t len = event_has(event, FILENAME) ? strnlen((const char *)path->bytes, path->len) : 0;
	const uint8_t *slash = len > 0 ? memrchr(path->bytes, '/', len) : NULL;
	size_t dir = slash ? (size_t)(slash + 1 - path->bytes) : 0;

	if (len > 0 && event_i64(event, TID, 0) > 0) {
		emit_name(worker, event->ts, event_i64(event, TID, 0), path->bytes + dir,
			  len - dir);
	}
}

/* What tells the names of threads (doc/definitions.md, 6.1). */
static const struct need name_needs[] = {
	{ "sched_switch", { "@prev_comm", "prev_tid", "@next_comm", "next_tid" }, on_named, 2 },
	{ "sched_process_fork", { "@child_comm", "child_tid" }, on_named, 1 },
	{ "lttng_statedump_process_state", { "@name", "tid" }, on_named, 1 },
	{ "sched_process_exec", { "@filename", "tid" }, on_named_exec, 0 },
};

/* In joined traces it is a record of the thread, whose parts are known where it is. */
static struct record *step_record(struct worker *worker, uint64_t ts, int64_t thread)
{
	struct record *record;

	if (worker_is_joined(worker)) {
		return worker_emit(worker, ts, thread, OWN_STEP_OF);
	}
	record = worker_emit_entity(worker, ts, ENTITY_ACROSS, OWN_STEP);
	note_whose(worker, record, thread);
	return record;
}

/* The event that meets definition @user, of thread @tid or the current one. */
static void emit_step(struct worker *worker, const struct trace_event *event, uint32_t user,
		      int32_t tid)
{
	const struct period_set *asked = worker_periods(worker);
	size_t at = user % MATCH_DEFINITIONS;
	const struct job_spec *job = asked->jobs.at[user / MATCH_DEFINITIONS];
	const struct job_event *fields = &job->events[at];
	const struct fields_event of = labels_event(worker, &fields->fields, event);
	uint64_t words[STEP_WORDS_MAX] = { [STEP_CPU] = worker_cpu(worker) };
	bool by_field = job->is->events[at].has_tid;
	int64_t thread = by_field ? tid : worker_thread_of(worker, event, &fields->running);
	struct record *record;
	size_t count;
	uint64_t where;

	if (!job_key(job, at, &of, &words[STEP_KEY])) {
		return;
	}
	if (!by_field && job->has_names && fields->running.procname != FIELD_NONE &&
	    event_has(event, fields->running.procname)) {
		const struct value *name = &event->values[fields->running.procname];

		emit_name(worker, event->ts, thread, name->bytes, name->len);
	}
	put_job_counters(worker, event, fields, &of, words + STEP_COUNTERS);
	count = jobs_step_items(job, at);
	count += labels_put_items(words + count, &asked->labels, &job->group, fields->groups, &of);
	if (job->looked.count > 0) {
		count += labels_put_items(words + count, &asked->labels, &job->looked,
					  fields->looked, &of);
	}
	where = worker_numbers(worker, words, count);
	record = step_record(worker, event->ts, thread);
	record->arg16 = (uint16_t)user;
	record->arg64 = where;
}

/* @user: the job and its definition, as in arg16 of the record. */
static void on_match(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct jobs_worker *jobs = state;
	size_t number = user / MATCH_DEFINITIONS, at = user % MATCH_DEFINITIONS;
	const struct job_spec *job = worker_periods(worker)->jobs.at[number];
	const struct definition *is = &job->is->events[at];
	const struct fields_event of = labels_event(worker, &job->events[at].fields, event);
	struct record *record;
	uint64_t words;
	int32_t tid = 0;
	int64_t thread;

	/* Definitions are looked at in falling order, for each event. */
	if (jobs->met[number].class != event->class || jobs->met[number].at <= at) {
		jobs->met[number].thread = 0;
	}
	jobs->met[number].class = event->class;
	jobs->met[number].at = at;
	if (!holds(is, &job->events[at], &of, &tid)) {
		return;
	}
	if (job->is_across) {
		emit_step(worker, event, user, tid);
		return;
	}
	thread = is->has_tid ? tid : worker_thread_of(worker, event, &job->events[at].running);
	if (thread <= 0 && thread != TID_CURRENT && !key_is_user(thread)) {
		return; /* of an unknown thread, or the idle one */
	}
	words = match_words(worker, event, job, at, &of);
	record = worker_emit(worker, event->ts, thread, OWN_MATCH);
	record->arg16 = (uint16_t)user;
	record->arg64 = words;
	record->arg32 = jobs->met[number].thread == thread;
	jobs->met[number].thread = thread;
}

/* @user: the source of a label. */
static void on_label(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	labels_note(worker, event, user, ENTITY_LABELS, OWN_LABEL);
}

/* Whether some job is of events of a kernel. */
static bool has_of_kernel(const struct period_set *asked)
{
	bool any = false;

	for (size_t j = 0; asked && j < asked->jobs.count; j++) {
		any |= asked->jobs.at[j]->of_kernel;
	}
	return any;
}

/* Of an event that meets several definitions of a job the last comes first: so it makes one step of
 * a thread, as each event does. */
size_t jobs_worker_needs_of(const struct period_set *asked, struct need **ret)
{
	size_t count = 0;
	bool has_labels = false, has_kernel = asked && (asked->with_kernel || has_of_kernel(asked));

	for (size_t j = 0; asked && j < asked->jobs.count; j++) {
		count += asked->jobs.at[j]->is->event_count;
		has_labels |= label_is_used(&asked->jobs.at[j]->group) ||
			      label_is_used(&asked->jobs.at[j]->looked);
	}
	count += (has_labels ? asked->labels.sources.count : 0) + ARRAY_COUNT(name_needs) +
		 ARRAY_COUNT(kernel_needs);
	*ret = mem_alloc((count + 1) * sizeof(**ret));
	count = 0;
	for (size_t i = 0; has_kernel && i < ARRAY_COUNT(kernel_needs); i++) {
		(*ret)[count++] = kernel_needs[i];
	}
	count += has_labels ? labels_needs_of(&asked->labels, on_label, *ret + count) : 0;
	for (size_t i = 0; has_across(asked, true) && i < ARRAY_COUNT(name_needs); i++) {
		(*ret)[count++] = name_needs[i];
	}
	for (size_t j = 0; asked && j < asked->jobs.count; j++) {
		const struct job_spec *job = asked->jobs.at[j];

		for (size_t d = job->is_left_out ? 0 : job->is->event_count; d-- > 0;) {
			struct need *need = &(*ret)[count++];

			need->event = job->is->events[d].event;
			memcpy(need->fields, job->events[d].fields.at, sizeof(need->fields));
			need->on_event = on_match;
			need->user = (uint32_t)(j * MATCH_DEFINITIONS + d);
		}
	}
	return count;
}
