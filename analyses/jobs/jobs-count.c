/*
 * jobs-count: see jobs.h; what releases threads, and the figures of executions, once it is known
 * when they arrived.
 */
#include "analyses/jobs/jobs.h"
#include "engine/contract/untrusted.h"

#include <stdlib.h>

static struct row_key key_of_job(const struct shard *shard, uint32_t job)
{
	const char *name = jobs_at(shard, job)->name;

	return row_key_of(0, name, strlen(name));
}

static bool has_items(const struct items *items)
{
	return items && (items->at[0] || items->at[1]);
}

/* The row of a job and of what divides it. */
static uint64_t *named_row(struct shard *shard, unsigned int table, size_t job,
			   const struct items *items)
{
	char named[NAMED_BYTES];

	labels_put_name(named, jobs_at(shard, job)->name, items);
	return shard_keyed_again(shard, shard_keyed_named(shard, table, 0, named));
}

static uint64_t *job_row(struct shard *shard, size_t job, const struct items *items)
{
	return has_items(items) ? named_row(shard, BY_JOB, job, items)
				: shard_indexed_row(shard, BY_JOB, (uint32_t)job, key_of_job);
}

static uint64_t *parts_row(struct shard *shard, size_t job, const struct items *items)
{
	const struct row_key key = key_of_job(shard, (uint32_t)job);

	return has_items(items) ? named_row(shard, PARTS, job, items)
				: shard_keyed_row(shard, PARTS, &key);
}

void jobs_count_one(struct shard *shard, size_t job, const struct items *items, unsigned int figure)
{
	shard_trace_row(shard, TOTALS)[figure]++;
	job_row(shard, job, items)[figure]++;
}

/* An execution that was open when a window ended has no longer the row that it had then: in this
 * window that one is asked for, so that nothing is open in it. */
static void leave_row(struct shard *shard, const struct items *items, size_t job)
{
	if (jobs_at(shard, job)->group.count > 0) {
		(void)job_row(shard, job, items);
	}
}

void jobs_count_none(struct shard *shard, size_t job, const struct items *items)
{
	(void)job_row(shard, job, items);
}

void jobs_count_dropped(struct shard *shard, size_t job, const struct items *items,
			unsigned int figure)
{
	leave_row(shard, items, job);
	jobs_count_one(shard, job, NULL, figure);
}

void jobs_count_open(struct shard *shard, size_t job, const struct items *items,
		     const struct jobs_open *open, uint64_t end)
{
	uint64_t arrived = open->arrival->ts;

	jobs_count_one(shard, job, items, OPEN);
	column_raise(shard_trace_row(shard, TOTALS), ALL_OLDEST_NS,
		     end > open->begin ? end - open->begin : 0);
	if (end > arrived && end - arrived > jobs_deadline(jobs_at(shard, job), open->nominal)) {
		jobs_count_one(shard, job, items, OPEN_MISSES);
	}
}

void jobs_count_items(struct shard *shard, size_t job, struct items *items, const uint64_t *words)
{
	leave_row(shard, items, job);
	labels_add_items(items, &jobs_at(shard, job)->group, words);
}

/* How late a begin is.  Where no arrival is known, most begins decide where the grid is, and of
 * those that agree the earliest (doc/definitions.md, 6.2). */
static uint64_t late_on_grid(struct grid *grid, uint64_t begin, uint64_t period)
{
	uint64_t late = grid->votes > 0 ? (begin - grid->at) % period : 0;
	bool is_early = late >= period - period / RELEASE_PARTS;
	bool agrees = is_early || late <= period / RELEASE_PARTS;

	assert(period > 0);
	if (grid->is_known) {
		return is_early ? 0 : late;
	}
	if (grid->votes == 0 || is_early) {
		grid->at = begin;
		late = 0;
	}
	if (agrees) {
		grid->votes++;
	} else if (--grid->votes == 0) {
		*grid = (struct grid){ .at = begin, .votes = 1 };
		late = 0;
	}
	return late;
}

/* Fills the arrival, if it is not known, with one on the grid: without sleep since the execution
 * before, the first one behind that of it. */
void jobs_count_begun(const struct job_spec *job, struct machine *machine, uint64_t begin,
		      uint64_t period, bool is_doubted)
{
	struct grid *grid = &machine->grid;
	bool is_awake = machine->has_before && begin - machine->ended <= period / RELEASE_PARTS;

	if (job->is->is_fixed && period > 0) {
		release_point(&machine->arrival, machine->has_before ? &machine->before : NULL,
			      period, is_doubted);
	} else if (machine->arrival.from != ARRIVAL_UNKNOWN) {
		*grid = (struct grid){ .at = machine->arrival.ts, .votes = 1, .is_known = true };
	} else if (period > 0 && is_awake && begin >= period && machine->before <= begin - period) {
		machine->arrival.from = ARRIVAL_GRID;
		machine->arrival.ts = machine->before + period;
	} else if (period > 0 && begin >= grid->at) {
		machine->arrival.from = ARRIVAL_GRID;
		machine->arrival.ts = begin - late_on_grid(grid, begin, period);
	}
}

void jobs_count_cadence(struct cadence *cadence, uint64_t ts, uint64_t period, bool is_doubted)
{
	uint64_t nominal = period > 0 ? period : cadence->period;
	bool has_nominal = period > 0 || cadence->has_period;

	cadence->has_period = cadence->has_begun && !is_doubted && ts >= cadence->begun;
	cadence->period = cadence->has_period ? ts - cadence->begun : 0;
	cadence->has_jitter = cadence->has_period && has_nominal;
	cadence->jitter =
		cadence->period > nominal ? cadence->period - nominal : nominal - cadence->period;
	cadence->nominal = period;
	cadence->begun = ts;
	cadence->has_begun = true;
}

void jobs_count_follow(const struct job_spec *job, struct machine *machine, uint64_t begin,
		       const struct doubts *doubts)
{
	bool is_missing = doubts->missing > machine->cadence.begun;

	jobs_count_begun(job, machine, begin, job->period_ns,
			 is_missing || doubts->again > machine->cadence.begun);
	jobs_count_cadence(&machine->cadence, begin, job->period_ns, is_missing);
}

/* With a period: arrivals between two successive ones.  Else: expiries before the begin. */
static uint64_t skipped_of(const struct machine *machine, uint64_t period)
{
	uint64_t ns, periods;

	if (period == 0) {
		return machine->arrival.skipped;
	}
	ns = machine->has_before && machine->arrival.ts > machine->before
		     ? machine->arrival.ts - machine->before
		     : 0;
	periods = (ns + period / 2) / period;
	return periods > 1 ? periods - 1 : 0;
}

static void count_miss(struct shard *shard, struct machine *machine, size_t job, bool is_miss)
{
	machine->run = is_miss ? machine->run + 1 : 0;
	if (is_miss) {
		jobs_count_one(shard, job, &machine->items, MISSES);
		column_raise(shard_trace_row(shard, TOTALS), MISSES_RUN, machine->run);
		column_raise(job_row(shard, job, &machine->items), MISSES_RUN, machine->run);
	}
}

static void note_worst(struct shard *shard, const struct jobs_ended *ended, uint64_t response,
		       uint64_t late)
{
	const struct job_spec *job = jobs_at(shard, ended->job);
	struct instance instance = {
		.ns = response,
		.end = ended->end,
		.more = { (int64_t)(ended->end - ended->begin), (int64_t)late },
		.cpu = ended->cpu,
		.thread = ended->thread,
		.has_begun_by = !ended->thread && ended->begun_by > 0,
	};

	if (shard_is_long(shard, WORST, response)) {
		instance.begun_by = instance.has_begun_by ? ended->begun_by : 0;
		if (instance.has_begun_by) {
			visits_add(&instance.visits, ended->begin, ended->begun_by);
			visits_add(&instance.visits, ended->end, ended->ended_by);
		}
		(void)labels_name_instance(&instance, job->name, &job->group,
					   &ended->machine->items);
		shard_longest(shard, WORST, &instance);
	}
}

/* What belongs to a thread.  One that may go over threads has parts where one thread began and
 * ended it, and no row of that. */
static void add_of_thread(struct shard *shard, const struct jobs_ended *ended, uint64_t response)
{
	uint64_t *row = parts_row(shard, ended->job, &ended->machine->items);

	for (unsigned int part = 0; part < PART_COUNT; part++) {
		column_add(row, part, ended->parts[part]);
	}
	if (jobs_at(shard, ended->job)->is_across) {
		return;
	}
	row = ended->thread ? shard_thread_row(ended->shard, ended->thread, THREADS)
			    : shard_thread_row_of(shard, ended->number, THREADS);
	if (!row) {
		return; /* it is not known any more */
	}
	column_add(row, THREAD_DURATION, ended->end - ended->begin);
	column_add(row, THREAD_RESPONSE, response);
	row[THREAD_MISSES] +=
		response > jobs_deadline(jobs_at(shard, ended->job), ended->cadence->nominal);
}

/* Now its arrival is known, too. */
void jobs_count_ended(struct shard *shard, const struct jobs_ended *ended)
{
	size_t number = ended->job;
	const struct job_spec *job = jobs_at(shard, number);
	struct machine *machine = ended->machine;
	uint64_t begin = ended->begin, duration = ended->end - begin;
	uint64_t late = begin - machine->arrival.ts, response = duration + late;
	uint64_t skipped = skipped_of(machine, ended->cadence->nominal);
	uint64_t *row = shard_trace_row(shard, TOTALS);

	assert(machine->arrival.ts <= begin && begin <= ended->end);
	row[ALL_ENDED]++;
	row[SKIPPED] += skipped;
	row[UNARRIVED] += machine->arrival.from == ARRIVAL_UNKNOWN;
	row = job_row(shard, number, &machine->items);
	row[SKIPPED] += skipped;
	row[UNARRIVED] += machine->arrival.from == ARRIVAL_UNKNOWN;
	column_add(row, JOB_DURATION, duration);
	column_add(row, JOB_RESPONSE, response);
	column_add(row, JOB_LATE, late);
	if (ended->cadence->has_period) {
		column_add(row, JOB_PERIOD, ended->cadence->period);
	}
	if (ended->cadence->has_jitter) {
		column_add(row, JOB_JITTER, ended->cadence->jitter);
	}
	count_miss(shard, machine, number, response > jobs_deadline(job, ended->cadence->nominal));
	if (ended->parts) {
		add_of_thread(shard, ended, response);
	}
	counters_add(shard, DIFFERENCES, job->is, job->name, &machine->items, ended->differences);
	machine->has_before = true;
	machine->before = machine->arrival.ts;
	machine->ended = ended->end;
	note_worst(shard, ended, response, late);
}

static void end_of_thread(struct shard *shard, struct jobs_trace *trace,
			  const struct ordered *ordered)
{
	const uint64_t *words = ordered->words;
	struct machine *machines = jobs_executing(ordered->shard, ordered->thread)->machines;
	struct machine *machine = &machines[NOTE_JOB(words[0])];
	const struct jobs_ended ended = { .job = NOTE_JOB(words[0]),
					  .machine = &machines[NOTE_JOB(words[0])],
					  .cadence = &machines[NOTE_JOB(words[0])].cadence,
					  .begin = words[1],
					  .end = ordered->ts,
					  .cpu = (words[0] >> 8) - 1,
					  .parts = words + 2,
					  .differences = &machine->differences,
					  .thread = ordered->thread,
					  .shard = ordered->shard };

	if (jobs_at(shard, ended.job)->within >= 0) {
		jobs_within_ended(shard, trace,
				  &(struct jobs_inner){ .job = ended.job,
							.begin = ended.begin,
							.end = ended.end,
							.cpu = ended.cpu,
							.arrival = machine->arrival,
							.items = &machine->items,
							.parts = ended.parts,
							.differences = ended.differences,
							.noted = ordered,
							.begun_by = shard_tid(ordered->thread) });
		return;
	}
	jobs_count_ended(shard, &ended);
	if (jobs_at(shard, ended.job)->is_around) {
		jobs_around_ends(shard, trace, ordered);
	}
}

/* What may be between the execution that begins and the one before. */
static void note_doubts(struct doubts *doubts, const struct jobs_trace *trace,
			const struct ordered *ordered)
{
	if (ordered->words[2] & BEGIN_DOUBTED) {
		doubts->missing = ordered->ts;
	} else if (trace->lost > doubts->missing) {
		doubts->missing = trace->lost;
	}
	if (ordered->words[2] & BEGIN_AGAIN) {
		doubts->again = ordered->ts;
	}
}

static void begin_of_thread(struct shard *shard, struct jobs_trace *trace,
			    const struct ordered *ordered)
{
	size_t job = NOTE_JOB(ordered->words[0]);
	const struct job_spec *spec = jobs_at(shard, job);
	struct machine *machine = &jobs_executing(ordered->shard, ordered->thread)->machines[job];

	labels_items_fini(&machine->items);
	machine->arrival = release_begin(&trace->release, shard_tid(ordered->thread), job,
					 ordered->ts, ordered->words[1]);
	note_doubts(&machine->doubts, trace, ordered);
	if (spec->within < 0) { /* else it may not count */
		jobs_count_follow(spec, machine, ordered->ts, &machine->doubts);
	}
	if (spec->is_around) {
		jobs_around_begins(shard, trace, ordered);
	}
}

/* What its event @at says beside that it happened. */
static void take_words_of(struct shard *shard, struct machine *machine, size_t number, size_t at,
			  const uint64_t *words)
{
	const struct job_spec *job = jobs_at(shard, number);
	const struct counters_event counters = { words[MATCH_CPU], words + MATCH_COUNTERS, 0 };

	if (at == 0) {
		free(machine->counters);
		machine->counters = counters_begin(job->is, &counters);
	} else if (at + 1 == job->is->event_count) {
		machine->differences =
			counters_between(job->is, machine->counters, &counters, NULL, true);
	}
	if (job->group.count > 0) {
		jobs_count_items(shard, number, &machine->items, words + jobs_match_items(job, at));
	}
}

static void abandon(struct shard *shard, const struct ordered *ordered)
{
	size_t job = NOTE_JOB(ordered->words[0]);
	struct machine *machine = &jobs_executing(ordered->shard, ordered->thread)->machines[job];

	if (!ordered->words[2]) {
		jobs_count_none(shard, job, &machine->items);
		return;
	}
	if (jobs_at(shard, job)->within >= 0) {
		jobs_count_follow(jobs_at(shard, job), machine, ordered->words[1],
				  &machine->doubts);
	}
	jobs_count_abandoned(shard, machine, job, ordered->ts);
}

/* Its thread ended before it did. */
void jobs_count_abandoned(struct shard *shard, struct machine *machine, size_t job, uint64_t end)
{
	jobs_count_one(shard, job, &machine->items, ABANDONED);
	count_miss(shard, machine, job,
		   end > machine->arrival.ts &&
			   end - machine->arrival.ts >
				   jobs_deadline(jobs_at(shard, job), machine->cadence.nominal));
}

/* What comes next of the tid belongs to another thread. */
static void forget_machines(struct machine *machines, size_t count)
{
	for (size_t j = 0; machines && j < count; j++) {
		machines[j].has_before = false;
		machines[j].grid = (struct grid){ 0 };
		machines[j].cadence = (struct cadence){ 0 };
		machines[j].run = 0;
		machines[j].over = (struct over){ 0 };
		machines[j].doubts = (struct doubts){ 0 };
	}
}

/* What an execution's thread says. */
static void take_of_thread(struct shard *shard, struct jobs_trace *trace,
			   const struct ordered *ordered)
{
	struct release *release = &trace->release;
	size_t job = NOTE_JOB(ordered->words[0]);
	struct executing *e = jobs_executing(ordered->shard, ordered->thread);
	int32_t tid = shard_tid(ordered->thread);

	switch (ordered->kind) {
	case NOTE_BEGIN:
		begin_of_thread(shard, trace, ordered);
		break;
	case NOTE_CUT:
		jobs_around_cut(shard, trace, ordered);
		break;
	case NOTE_WORDS:
		take_words_of(shard, &e->machines[job], job, ordered->words[2],
			      JOBS_NOTED(ordered->words[1]));
		break;
	case NOTE_END:
		release_end(release, tid, job, ordered->ts);
		end_of_thread(shard, trace, ordered);
		break;
	case NOTE_ABANDON:
		abandon(shard, ordered);
		break;
	case NOTE_DIED:
		forget_machines(e->machines, release->jobs);
		release_forget(release, tid);
		jobs_around_over(shard, trace, e);
		break;
	case NOTE_OVER:
		jobs_around_over(shard, trace, e);
		break;
	case NOTE_SLEPT:
		release_slept(release, tid, ordered->ts);
		break;
	case NOTE_FORKED:
		release_forget(release, tid);
		break;
	case NOTE_RENAMED: /* of one time, events come by tid */
		release_rename(release, (int32_t)ordered->words[0], tid, ordered->ts);
		break;
	}
}

/* What happens on a CPU. */
static void take_of_cpu(struct jobs_trace *trace, const struct ordered *ordered)
{
	struct release *release = &trace->release;
	uint64_t cpu = shard_entity_id(ordered->thread), ts = ordered->ts;
	const uint64_t *words = ordered->words;
	const int64_t now = (int64_t)words[1];

	switch (ordered->kind) {
	case NOTE_SET:
		release_set(release, words[0], (int64_t)words[1]);
		break;
	case NOTE_EXPIRE:
		release_expire(release, cpu, ts, words[0], words[2] ? &now : NULL);
		break;
	case NOTE_EXPIRED:
		release_expired(release, cpu, ts);
		break;
	case NOTE_WOKEN:
		(void)release_woken(release, cpu, ts, (int32_t)words[0]);
		break;
	case NOTE_SIGNAL:
		release_signal(release, cpu, ts, (int32_t)words[0], (int32_t)words[1]);
		break;
	case NOTE_LOST:
		trace->lost = words[0] ? ts : trace->lost;
		release_lose_cpu(release, cpu);
		break;
	case NOTE_LOSE:
		release_lose(release);
		break;
	}
}

void jobs_count_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct jobs_trace *trace = state;
	uint64_t *totals;

	trace->release.jobs = jobs_asked(shard);
	jobs_across_settle(shard, trace, ordered->ts);
	if (ordered->kind == NOTE_LABEL) {
		totals = shard_trace_row(shard, TOTALS);
		totals[ALL_FORGOTTEN] +=
			labels_take(&trace->called, &shard_periods(shard)->labels,
				    ordered->words[0], JOBS_NOTED(ordered->words[1]));
	} else if (ordered->kind >= NOTE_STEP) {
		jobs_across_take(shard, trace, ordered);
	} else if (ordered->kind < NOTE_SLEPT) {
		take_of_cpu(trace, ordered);
	} else {
		take_of_thread(shard, trace, ordered);
	}
}

/* ---- names for ids ---- */

static const struct job_spec *job_called(const struct period_set *asked, const char *name,
					 size_t len)
{
	for (size_t j = 0; j < asked->jobs.count; j++) {
		const struct job_spec *job = asked->jobs.at[j];

		if (strlen(job->name) == len && memcmp(job->name, name, len) == 0) {
			return job;
		}
	}
	return NULL;
}

char *jobs_count_label_of(const void *state, const struct period_set *asked, size_t table,
			  const char *name, const char *by)
{
	const struct jobs_trace *trace = state;
	size_t len = strcspn(name, " ");
	char named[PATTERN_NAME_BYTES + PATTERN_WORD_BYTES];
	const struct job_spec *job = asked ? job_called(asked, name, len) : NULL;
	struct labels_row row = { .items = table == WORST ? by
							  : name + len + strspn(name + len, " "),
				  .has_ids_only = table == WORST && name[len] };

	if (!job || job->group.count == 0 || !row.items) {
		return NULL;
	}
	row.name = job->name;
	row.group = &job->group;
	if (table == DIFFERENCES) { /* a counter comes first */
		row.items = counters_row_items(name, named);
		row.name = named;
	}
	return labels_name_of(&trace->called, &asked->labels, &row);
}

void jobs_count_forget(void *state)
{
	struct jobs_trace *trace = state;

	release_fini(&trace->release);
	called_forget(&trace->called);
	jobs_across_forget(trace);
}

void jobs_count_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct jobs_trace *trace = state;

	trace->release.jobs = checkpoint->periods ? checkpoint->periods->jobs.count : 0;
	release_codec(checkpoint->codec, &trace->release);
	codec_u64(checkpoint->codec, &trace->lost);
	called_codec(checkpoint->codec, &trace->called,
		     checkpoint->periods ? &checkpoint->periods->labels : NULL);
	jobs_across_checkpoint(checkpoint, trace);
}
