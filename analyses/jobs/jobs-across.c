/*
 * jobs-across: see jobs.h; executions that go over threads.
 *
 *     event ── ends the open one of its key ──► figures
 *           └─ then begins one: an end may be the next begin
 *
 * Worker and shards only tell which definitions an event meets (OWN_STEP), and what threads are
 * called.  All of it is of one entity, so it comes in the order in which it was traced.
 */
#include "analyses/jobs/jobs.h"
#include "engine/contract/untrusted.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void jobs_across_free(struct across_open *open)
{
	assert(jobs_begun_of(open)->own.count + jobs_begun_of(open)->any.count == 0);
	labels_items_fini(&jobs_begun_of(open)->items);
	free(jobs_begun_of(open)->counters);
	free(open->more);
	free(open);
}

struct jobs_across *jobs_across_of(struct shard *shard, struct jobs_trace *trace, size_t job)
{
	if (!trace->across) {
		trace->across_count = jobs_asked(shard);
		trace->across = mem_alloc(trace->across_count * sizeof(*trace->across));
	}
	assert(job < trace->across_count);
	return &trace->across[job];
}

/* ---- records ---- */

void jobs_across_note(struct shard *shard, struct thread *thread, const struct record *record,
		      const uint64_t *numbers)
{
	const struct executing *e = jobs_executing(shard, thread);
	struct ordered *note = shard_note_ordered(shard, thread, record->ts, NOTE_STEP);
	enum job_part now = jobs_part_of((enum phase)e->phase.phase);
	bool is_known = shard_tid(thread) > 0;

	note->words[0] = (uint32_t)(is_known ? shard_tid(thread) : -1);
	note->words[1] = (uint64_t)(uintptr_t)(numbers + record->arg64);
	note->words[2] = record->arg16 | (is_known ? NOTE_STANDS : 0);
	memcpy(note->words + 3, e->ns, PART_UNKNOWN * sizeof(*e->ns));
	if (now < PART_UNKNOWN && record->ts > e->phase.since) {
		note->words[3 + now] += record->ts - e->phase.since;
	}
}

/* ---- executions ---- */

/* It is open no longer, and has not ended. */
static void drop_begun(struct shard *shard, struct jobs_trace *trace, size_t job,
		       struct across_open *open, unsigned int figure)
{
	jobs_count_dropped(shard, job, &jobs_begun_of(open)->items, figure);
	jobs_around_taken(shard, trace, job, open, NULL);
}

/* A step of an execution: the event, as jobs-worker.c has it. */
struct jobs_step {
	size_t job, at; /* its definition */
	uint64_t ts, key;
	int32_t tid;
	const uint64_t *words;
	const struct ordered *noted;
	struct jobs_stand stand; /* of the thread that makes it */
};

static const uint64_t *step_items(const struct job_spec *job, const struct jobs_step *step)
{
	return step->words + jobs_step_items(job, step->at);
}

static struct counters_event step_counters(const struct job_spec *job, const struct jobs_step *step)
{
	return (struct counters_event){ step->words[STEP_CPU], step->words + STEP_COUNTERS,
					job->is->events[step->at].has_tid ? 0 : step->tid };
}

/* What a name that is looked up says of the execution, or NULL. */
static const char *looked_up(const struct jobs_trace *trace, const struct job_spec *job, int use,
			     const struct jobs_step *step)
{
	const uint64_t *words = step_items(job, step);
	const char *id = labels_item_id(words + labels_items_count(words), (size_t)use);

	assert(use >= 0 && job->looked.uses[use].label >= 0);
	return id ? called_find(&trace->called, (unsigned int)job->looked.uses[use].label, id)
		  : NULL;
}

/* Whether it is one of those that are wanted: by its name at this time. */
static bool is_wanted(const struct jobs_trace *trace, const struct job_spec *job,
		      const struct jobs_step *step)
{
	const char *name = job->only >= 0 ? looked_up(trace, job, job->only, step) : NULL;

	return job->only < 0 || (name && fnmatch(job->is->only_is, name, 0) == 0);
}

#define PERIOD_NS_MAX (UINT64_C(1) << 62) /* a name may be any number */

static uint64_t period_of(const struct jobs_trace *trace, const struct job_spec *job,
			  const struct jobs_step *step)
{
	const char *name = job->due >= 0 ? looked_up(trace, job, job->due, step) : NULL;
	uint64_t ns = name && isdigit((unsigned char)*name) ? strtoull(name, NULL, 10) : 0;

	return job->due < 0 ? job->period_ns : ns < PERIOD_NS_MAX ? ns : 0;
}

static void free_keyed(struct jobs_across *across, struct keyed_machine *keyed)
{
	(void)keyed_machines_drop(&across->by_key, keyed->key);
	list_remove(&across->keyed, &keyed->node);
	labels_items_fini(&keyed->machine.items);
	free(keyed->machine.counters);
	free(keyed);
}

/* As the one that was used last. */
static struct keyed_machine *add_keyed(struct jobs_across *across, uint64_t key)
{
	struct keyed_machine *keyed = mem_alloc(sizeof(*keyed));

	if (across->keyed.count >= JOBS_OPEN_MAX) {
		free_keyed(across, (struct keyed_machine *)across->keyed.first);
	}
	keyed->key = key;
	*keyed_machines_put(&across->by_key, key, NULL) = keyed;
	list_add(&across->keyed, &keyed->node);
	return keyed;
}

/* What comes one after the other: of a job with a period each key by itself. */
static struct machine *machine_of(struct jobs_across *across, const struct job_spec *job,
				  uint64_t key)
{
	struct keyed_machine **found, *keyed;

	if (!job->has_keys || !job_has_period(job)) {
		return &across->machine;
	}
	found = keyed_machines_get(&across->by_key, key);
	if (!found) {
		return &add_keyed(across, key)->machine;
	}
	keyed = *found;
	list_remove(&across->keyed, &keyed->node);
	list_add(&across->keyed, &keyed->node);
	return &keyed->machine;
}

static void begin_across(struct shard *shard, struct jobs_trace *trace,
			 const struct jobs_step *step)
{
	const struct job_spec *job = jobs_at(shard, step->job);
	struct jobs_across *across = jobs_across_of(shard, trace, step->job);
	const struct counters_event counters = step_counters(job, step);
	struct across_open *open = across_find(&across->open, step->key);
	uint64_t period;
	struct machine *machine;
	struct jobs_begun *more;

	if (!is_wanted(trace, job, step)) {
		return;
	}

	machine = machine_of(across, job, step->key);
	machine->is_again |= open != NULL;
	if (open && !job->has_keys) {
		jobs_count_one(shard, step->job, NULL, OVERLAPPED); /* the first one counts */
		return;
	}
	if (open) {
		drop_begun(shard, trace, step->job, open, OVERLAPPED); /* the key was given again */
	}
	period = period_of(trace, job, step);
	machine->begin = step->ts;
	machine->arrival = (struct arrival){ .ts = step->ts };
	if (job->within < 0) {
		jobs_count_begun(job, machine, step->ts, period,
				 machine->is_again || !machine->cadence.has_begun);
		jobs_count_cadence(&machine->cadence, step->ts, period, false);
	}
	machine->is_again = false;
	open = mem_alloc(sizeof(*open));
	*open = (struct across_open){ .key = step->key, .begin = step->ts, .tid = step->tid };
	open->more = more = mem_alloc(sizeof(*more));
	more->stand = step->stand;
	more->arrival = machine->arrival;
	more->cadence = machine->cadence;
	labels_add_items(&more->items, &job->group, step_items(job, step));
	more->counters = counters_begin(job->is, &counters);
	open = across_add(&across->open, open);
	if (open) {
		drop_begun(shard, trace, step->job, open, DROPPED);
	}
}

/* How the time of the execution divides, if one thread began and ends it; NULL: it goes over
 * threads.  What was unknown at the begin and turned out to be blocked is not of the execution. */
static const uint64_t *parts_between(const struct across_open *open, const struct jobs_step *step,
				     uint64_t ret_parts[PART_COUNT])
{
	const struct jobs_stand *began = &jobs_begun_of(open)->stand;
	uint64_t left = step->ts - open->begin;

	if (began->thread == 0 || began->thread != step->stand.thread ||
	    began->incarnation != step->stand.incarnation) {
		return NULL;
	}
	for (unsigned int part = 0; part < PART_UNKNOWN; part++) {
		uint64_t ns = step->stand.ns[part] - began->ns[part];

		ret_parts[part] = ns < left ? ns : left;
		left -= ret_parts[part];
	}
	ret_parts[PART_UNKNOWN] = left;
	return ret_parts;
}

/* It counts, if it lies in one of another job. */
static void end_inside(struct shard *shard, struct jobs_trace *trace, const struct jobs_step *step,
		       struct across_open *open, const struct diff_values *differences)
{
	uint64_t parts[PART_COUNT];

	jobs_within_ended(shard, trace,
			  &(struct jobs_inner){ .job = step->job,
						.begin = open->begin,
						.end = step->ts,
						.cpu = step->words[STEP_CPU],
						.arrival = jobs_begun_of(open)->arrival,
						.items = &jobs_begun_of(open)->items,
						.differences = differences,
						.parts = parts_between(open, step, parts),
						.noted = step->noted,
						.begun_by = open->tid,
						.ended_by = step->tid });
}

static void count_across(struct shard *shard, struct jobs_trace *trace,
			 const struct jobs_step *step, struct across_open *open,
			 const struct diff_values *differences)
{
	struct jobs_across *across = jobs_across_of(shard, trace, step->job);
	struct machine *machine = machine_of(across, jobs_at(shard, step->job), step->key);
	uint64_t parts[PART_COUNT];

	labels_items_fini(&machine->items);
	machine->items = jobs_begun_of(open)->items;
	machine->arrival = jobs_begun_of(open)->arrival;
	machine->begin = open->begin;
	jobs_count_ended(shard, &(struct jobs_ended){ .job = step->job,
						      .machine = machine,
						      .cadence = &jobs_begun_of(open)->cadence,
						      .begin = open->begin,
						      .end = step->ts,
						      .cpu = step->words[STEP_CPU],
						      .differences = differences,
						      .parts = parts_between(open, step, parts),
						      .begun_by = open->tid,
						      .ended_by = step->tid });
	jobs_begun_of(open)->items = (struct items){ 0 };
}

static void end_across(struct shard *shard, struct jobs_trace *trace, const struct jobs_step *step)
{
	const struct job_spec *job = jobs_at(shard, step->job);
	const struct counters_event counters = step_counters(job, step);
	struct across *opens = &jobs_across_of(shard, trace, step->job)->open;
	struct across_open *open = across_find(opens, step->key);
	struct diff_values differences;

	if (!open) {
		return;
	}
	if (job->has_keys) {
		keys_met_agree(job->is->links[0].met);
	}
	jobs_count_items(shard, step->job, &jobs_begun_of(open)->items, step_items(job, step));
	differences =
		counters_between(job->is, jobs_begun_of(open)->counters, &counters, NULL, false);
	if (job->within < 0) {
		count_across(shard, trace, step, open, &differences);
	} else {
		end_inside(shard, trace, step, open, &differences);
	}
	jobs_around_taken(shard, trace, step->job, open, step->noted);
}

static void take_step(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered)
{
	uint16_t user = (uint16_t)ordered->words[2];
	size_t at = user % MATCH_DEFINITIONS;
	struct jobs_step step = { .job = user / MATCH_DEFINITIONS,
				  .at = at,
				  .ts = ordered->ts,
				  .tid = (int32_t)ordered->words[0],
				  .words = JOBS_NOTED(ordered->words[1]),
				  .noted = ordered };
	const struct job_spec *job = jobs_at(shard, step.job);

	if (ordered->words[2] & NOTE_STANDS) {
		step.stand.thread = shard_thread_number(ordered->thread);
		step.stand.incarnation = shard_incarnation(ordered->thread);
		memcpy(step.stand.ns, ordered->words + 3, sizeof(step.stand.ns));
	}
	step.key = step.words[STEP_KEY];
	if (!pattern_has_who(&job->is->events[at].who, step.tid,
			     across_names_of(&trace->names, step.tid)) ||
	    !job_key_with(job, step.tid, &step.key)) {
		return;
	}
	if (at == 0) {
		begin_across(shard, trace, &step);
	} else {
		end_across(shard, trace, &step);
	}
}

/* Any of them may have ended in what is missing. */
static void cut_opens(struct shard *shard, struct jobs_trace *trace, unsigned int missing)
{
	for (size_t j = 0; j < trace->across_count; j++) {
		struct list *opens = &trace->across[j].open.list;

		if (!jobs_may_miss(jobs_at(shard, j), missing)) {
			continue;
		}
		/* What is of a thread is cut with it (NOTE_CUT). */
		while (jobs_at(shard, j)->is_across && opens->first) {
			drop_begun(shard, trace, j, (struct across_open *)opens->first, CUT);
		}
		trace->across[j].machine.cadence = (struct cadence){ 0 };
		for (struct list_node *at = trace->across[j].keyed.first; at; at = at->after) {
			((struct keyed_machine *)at)->machine.cadence = (struct cadence){ 0 };
		}
	}
}

void jobs_across_settle(struct shard *shard, struct jobs_trace *trace, uint64_t ts)
{
	if (!trace->gap.is_open || ts <= trace->gap.ts) {
		return;
	}
	for (unsigned int missing = 0; missing < MISSING_KINDS; missing++) {
		if (trace->gap.of[missing]) {
			cut_opens(shard, trace, missing);
		}
	}
	memset(&trace->gap, 0, sizeof(trace->gap));
}

/* Where traces were joined, what threads do at a time is noted behind what entities do. */
static void miss_events(struct shard *shard, struct jobs_trace *trace,
			const struct ordered *ordered)
{
	unsigned int missing = (unsigned int)ordered->words[0];

	if (missing == MISSING_ANY || missing >= MISSING_KINDS) {
		cut_opens(shard, trace, MISSING_ANY);
		return;
	}
	trace->gap.ts = ordered->ts;
	trace->gap.is_open = trace->gap.of[missing] = true;
}

void jobs_across_take(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered)
{
	switch (ordered->kind) {
	case NOTE_STEP:
		take_step(shard, trace, ordered);
		break;
	case NOTE_NAME:
		shard_trace_row(shard, TOTALS)[ALL_FORGOTTEN] +=
			across_names_tell(&trace->names, (int32_t)ordered->words[0],
					  JOBS_NOTED(ordered->words[1]), ACROSS_NAME_BYTES);
		break;
	case NOTE_GAP:
		miss_events(shard, trace, ordered);
		break;
	}
}

void jobs_across_hole(struct shard *shard, void *state, uint64_t ts)
{
	jobs_across_settle(shard, state, UINT64_MAX);
	cut_opens(shard, state, shard_is_joined(shard) ? MISSING_KERNEL : MISSING_ANY);
}

void jobs_across_window_end(struct shard *shard, void *state, uint64_t end)
{
	struct jobs_trace *trace = state;

	jobs_across_settle(shard, trace, end);
	for (size_t j = 0; j < trace->across_count; j++) {
		const struct list_node *at = trace->across[j].open.list.first;
		const struct job_spec *job = jobs_at(shard, j);

		for (; at && job->is_across; at = at->after) {
			const struct across_open *open = (const struct across_open *)at;

			if (job->within >= 0 && !jobs_within_any_open(trace, job, open->begin)) {
				jobs_count_none(shard, j, &jobs_begun_of(open)->items);
				continue;
			}
			jobs_count_open(shard, j, &jobs_begun_of(open)->items,
					&(struct jobs_open){ &jobs_begun_of(open)->arrival,
							     open->begin,
							     jobs_begun_of(open)->cadence.nominal },
					end);
		}
	}
}

/* ---- files ---- */

void jobs_across_forget(struct jobs_trace *trace)
{
	jobs_within_forget(trace);
	for (size_t j = 0; j < trace->across_count; j++) {
		struct across_open *open;

		while ((open = across_next(&trace->across[j].open))) {
			jobs_across_free(open);
		}
		labels_items_fini(&trace->across[j].machine.items);
		free(trace->across[j].machine.counters);
		while (trace->across[j].keyed.first) {
			free_keyed(&trace->across[j],
				   (struct keyed_machine *)trace->across[j].keyed.first);
		}
		keyed_machines_fini(&trace->across[j].by_key);
	}
	free(trace->across);
	trace->across = NULL;
	trace->across_count = 0;
	across_names_fini(&trace->names);
}

static void open_codec(struct codec *codec, struct across_open *open)
{
	struct jobs_begun *more = open->more;

	codec_each(codec, &open->key, &open->begin, &open->tid, &more->arrival.ts,
		   &more->arrival.from, &more->stand.thread, &more->stand.incarnation);
	for (unsigned int part = 0; part < PART_UNKNOWN; part++) {
		codec_u64(codec, &more->stand.ns[part]);
	}
	jobs_cadence_codec(codec, &more->cadence);
	labels_items_codec(codec, &more->items);
	diff_codec(codec, &more->counters);
}

static void opens_codec(struct codec *codec, struct across *across)
{
	size_t count = codec_count(codec, across->list.count, 30);
	struct list_node *at = across->list.first;

	for (size_t i = 0; i < count && codec_check(codec, count <= JOBS_OPEN_MAX); i++) {
		struct across_open *open = (struct across_open *)at;

		if (!codec_reads(codec)) {
			open_codec(codec, open);
			at = at->after;
			continue;
		}
		open = mem_alloc(sizeof(*open));
		open->more = mem_alloc(sizeof(struct jobs_begun));
		open_codec(codec, open);
		if (!codec_check(codec, jobs_begun_of(open)->arrival.ts <= open->begin &&
						jobs_begun_of(open)->arrival.from < ARRIVALS &&
						!across_find(across, open->key))) {
			jobs_across_free(open);
			return;
		}
		(void)across_add(across, open);
	}
}

static void keyed_codec(struct codec *codec, struct jobs_across *across, const struct job_spec *job)
{
	size_t count = codec_count(codec, across->keyed.count, 81);
	struct list_node *at = across->keyed.first;
	const bool reads = codec_reads(codec);

	codec_check(codec, count <= JOBS_OPEN_MAX);
	for (size_t i = 0; i < count && !codec->is_wrong; i++) {
		struct keyed_machine *keyed = (struct keyed_machine *)at;
		uint64_t key = reads ? 0 : keyed->key;

		codec_u64(codec, &key);
		if (reads) {
			if (!codec_check(codec, !keyed_machines_get(&across->by_key, key))) {
				return;
			}
			keyed = add_keyed(across, key);
		} else {
			at = at->after;
		}
		(void)jobs_machine_codec(codec, &keyed->machine, job);
	}
}

void jobs_across_checkpoint(const struct checkpoint *checkpoint, struct jobs_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	size_t count = checkpoint->periods ? checkpoint->periods->jobs.count : 0;
	bool has_any = trace->across;

	across_names_codec(codec, &trace->names);
	codec_each(codec, &trace->gap.ts, &trace->gap.is_open, &trace->gap.of[MISSING_BESIDE],
		   &trace->gap.of[MISSING_KERNEL], &has_any);
	if (!codec_check(codec, !has_any || count > 0) || !has_any) {
		return;
	}
	if (codec_reads(codec)) {
		trace->across = mem_alloc(count * sizeof(*trace->across));
		trace->across_count = count;
	}
	for (size_t j = 0; j < count; j++) {
		const struct job_spec *job = checkpoint->periods->jobs.at[j];
		struct jobs_across *across = &trace->across[j];

		if (!jobs_machine_codec(codec, &across->machine, job)) {
			return;
		}
		keyed_codec(codec, across, job);
		opens_codec(codec, &across->open);
		if (!codec_check(codec, job->is_across || job->is_around ||
						across->open.list.count == 0)) {
			return;
		}
	}
	jobs_within_checkpoint(checkpoint, trace);
}
