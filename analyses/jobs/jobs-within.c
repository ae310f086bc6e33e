/*
 * jobs-within: see jobs.h; executions that count only where they lie in one of another job.
 *
 *     around   begins ───────────────────────────── ends: what it holds counts now
 *     inner            begins ── ends: is held there ┘
 *
 * An inner execution is held at the one around it that began last, of its own thread, or where one
 * of the two jobs goes over threads, of any.  If nobody knows when that one ends, the one that
 * began before it has what it held.  Where several are open, each of them may be the first to end:
 * what lies in a later one lies in it, too.
 *
 * Over threads an inner execution may count long after others that began behind it.  So what comes
 * one after the other is not known there, but for the order in which they count.
 */
#include "analyses/jobs/jobs.h"
#include "engine/contract/untrusted.h"

#include <stddef.h>
#include <stdlib.h>

struct jobs_held {
	struct list_node node; /* first: the list of what it lies in is of these */
	struct list_node age;  /* the same of jobs_trace.held */
	struct across_open *in;
	uint64_t number; /* so many have been held before */
	uint64_t begin, end, cpu;
	struct doubts doubts;
	uint64_t parts[PART_COUNT];
	int64_t thread; /* shard_thread_number() */
	int32_t begun_by, ended_by;
	uint8_t job, left_out;
	bool has_parts;
	struct arrival arrival;
	struct items items;
	struct diff_values differences;
};

/* Those that count now. */
typedef VEC(struct jobs_held *) held_list;

static struct jobs_held *held_of_age(struct list_node *age)
{
	return (struct jobs_held *)((char *)age - offsetof(struct jobs_held, age));
}

static struct list *list_in(struct across_open *open, const struct job_spec *inner)
{
	return inner->is_joined ? &jobs_begun_of(open)->any : &jobs_begun_of(open)->own;
}

/* ---- what is held ---- */

/* Takes it from where it is held. */
static void unhold(struct jobs_trace *trace, const struct job_spec *inner, struct jobs_held *held)
{
	list_remove(list_in(held->in, inner), &held->node);
	list_remove(&trace->held, &held->age);
}

static void free_held(struct jobs_held *held)
{
	labels_items_fini(&held->items);
	free(held);
}

static void put_held(struct jobs_trace *trace, const struct job_spec *inner, struct jobs_held *held)
{
	held->number = ++trace->held_number;
	list_add(list_in(held->in, inner), &held->node);
	list_add(&trace->held, &held->age);
}

/* So that there is room for one more. */
static void drop_held(struct shard *shard, struct jobs_trace *trace)
{
	while (trace->held.count >= JOBS_HELD_MAX) {
		struct jobs_held *oldest = held_of_age(trace->held.first);

		unhold(trace, jobs_at(shard, oldest->job), oldest);
		shard_leave_out(shard, oldest->left_out, oldest->cpu);
		jobs_count_one(shard, oldest->job, NULL, DROPPED);
		free_held(oldest);
	}
}

/* ---- what lies in what ---- */

/* Whether what began at @around and goes on has an execution inside. */
static bool is_around(uint64_t around, uint64_t begin, uint64_t end)
{
	return around <= begin && around < end;
}

/* The last begun one that is open and around it; NULL: there is none. */
static struct across_open *held_in(struct shard *shard, struct jobs_trace *trace,
				   const struct jobs_inner *inner)
{
	const struct job_spec *job = jobs_at(shard, inner->job);
	const struct across *opens = &jobs_across_of(shard, trace, (size_t)job->within)->open;
	struct list_node *at = opens->list.last;
	struct across_open *own;

	if (!job->is_joined) {
		own = across_find(
			opens, jobs_executing(inner->noted->shard, inner->noted->thread)->serial);
		return own && is_around(own->begin, inner->begin, inner->end) ? own : NULL;
	}
	while (at && !is_around(((struct across_open *)at)->begin, inner->begin, inner->end)) {
		at = at->before;
	}
	return (struct across_open *)at;
}

/* What the execution, which ends now, may lie in although it has ended: at the same time. */
static const struct over *over_of(struct shard *shard, struct jobs_trace *trace,
				  const struct jobs_inner *inner)
{
	const struct job_spec *job = jobs_at(shard, inner->job);
	size_t around = (size_t)job->within;

	return job->is_joined ? &jobs_across_of(shard, trace, around)->machine.over
			      : &jobs_executing(inner->noted->shard, inner->noted->thread)
					 ->machines[around]
					 .over;
}

bool jobs_within_open(struct shard *shard, const struct executing *e, size_t job)
{
	const struct job_spec *is = jobs_at(shard, job);
	const struct machine *around = is->within >= 0 ? &e->machines[is->within] : NULL;

	return !around ||
	       (!is->is_joined && around->next > 0 && around->begin <= e->machines[job].begin);
}

bool jobs_within_any_open(const struct jobs_trace *trace, const struct job_spec *job,
			  uint64_t begin)
{
	const struct list_node *oldest =
		trace->across ? trace->across[job->within].open.list.first : NULL;

	return oldest && ((const struct across_open *)oldest)->begin <= begin;
}

/* ---- it counts ---- */

/* The machine that says what came before it. */
static struct machine *machine_before(struct shard *shard, struct jobs_trace *trace, size_t job,
				      const struct ordered *noted)
{
	return jobs_at(shard, job)->is_joined
		       ? &jobs_across_of(shard, trace, job)->machine
		       : &jobs_executing(noted->shard, noted->thread)->machines[job];
}

/* At an event that was noted, of the same thread unless it goes over threads. */
static void count_held(struct shard *shard, struct jobs_trace *trace, const struct jobs_held *held,
		       const struct ordered *noted)
{
	struct machine *machine = machine_before(shard, trace, held->job, noted);
	bool is_joined = jobs_at(shard, held->job)->is_joined;
	const struct arrival arrival = machine->arrival; /* of another one, which is open */
	const struct items items = machine->items;
	const struct cadence none = { 0 };
	struct jobs_ended ended = { .job = held->job,
				    .machine = machine,
				    .cadence = is_joined ? &none : &machine->cadence,
				    .begin = held->begin,
				    .end = held->end,
				    .cpu = held->cpu,
				    .parts = held->has_parts ? held->parts : NULL,
				    .differences = &held->differences,
				    .number = held->thread,
				    .begun_by = held->begun_by,
				    .ended_by = held->ended_by };

	machine->arrival = held->arrival;
	machine->items = held->items;
	shard_leave_out(shard, held->left_out, held->cpu);
	if (!is_joined) {
		/* Of one thread they count in the order of their begins. */
		jobs_count_follow(jobs_at(shard, held->job), machine, held->begin, &held->doubts);
		ended.thread = noted->thread;
		ended.shard = noted->shard;
		shard_leave_out(noted->shard, held->left_out, held->cpu);
	}
	jobs_count_ended(shard, &ended);
	machine->arrival = arrival;
	machine->items = items;
}

ORDER_POINTERS(by_number, struct jobs_held, UP(number))

/* What is added from here on is of the event that was noted again. */
static void count_now(struct shard *shard, struct jobs_trace *trace, held_list *all,
		      const struct ordered *noted, uint64_t cpu)
{
	vec_sort(all, by_number);
	VEC_EACH(all, held) {
		count_held(shard, trace, *held, noted);
		free_held(*held);
	}
	shard_leave_out(shard, noted->left_out, cpu);
	shard_leave_out(noted->shard, noted->left_out, cpu);
	vec_fini(all);
}

/* Adds what is held there to those that count. */
static void take_all_held(struct shard *shard, struct jobs_trace *trace, struct list *list,
			  held_list *all)
{
	while (list->first) {
		struct jobs_held *held = (struct jobs_held *)list->first;

		unhold(trace, jobs_at(shard, held->job), held);
		*vec_push(all) = held;
	}
}

static struct jobs_held *hold_inner(const struct jobs_inner *inner, const struct machine *machine)
{
	const struct ordered *noted = inner->noted;
	struct jobs_held *held = mem_alloc(sizeof(*held));

	held->begin = inner->begin;
	held->end = inner->end;
	held->cpu = inner->cpu;
	held->doubts = machine->doubts;
	held->thread = inner->parts ? shard_thread_number(noted->thread) : 0;
	held->begun_by = inner->begun_by;
	held->ended_by = inner->ended_by;
	held->job = (uint8_t)inner->job;
	held->left_out = noted->left_out;
	held->has_parts = inner->parts;
	if (inner->parts) {
		memcpy(held->parts, inner->parts, sizeof(held->parts));
	}
	held->arrival = inner->arrival;
	held->items = *inner->items;
	held->differences = *inner->differences;
	*inner->items = (struct items){ 0 };
	return held;
}

void jobs_within_ended(struct shard *shard, struct jobs_trace *trace,
		       const struct jobs_inner *inner)
{
	const struct job_spec *job = jobs_at(shard, inner->job);
	const struct over *over = over_of(shard, trace, inner);
	struct across_open *in = held_in(shard, trace, inner);
	held_list now = { 0 };
	struct jobs_held *held;

	assert(job->within >= 0);
	jobs_count_none(shard, inner->job, inner->items);
	if (over->end == inner->end && is_around(over->begin, inner->begin, inner->end)) {
		*vec_push(&now) =
			hold_inner(inner, machine_before(shard, trace, inner->job, inner->noted));
		count_now(shard, trace, &now, inner->noted, inner->cpu);
	} else if (in) {
		drop_held(shard, trace);
		shard_leave_out(shard, inner->noted->left_out, inner->cpu);
		held = hold_inner(inner, machine_before(shard, trace, inner->job, inner->noted));
		held->in = in;
		put_held(trace, job, held);
	}
}

/* ---- what they lie in ---- */

static void note_over(struct over *over, uint64_t begin, uint64_t end)
{
	over->begin = over->end == end && over->begin < begin ? over->begin : begin;
	over->end = end;
}

/* It ended at what was noted: what lies in it counts. */
static void end_around(struct shard *shard, struct jobs_trace *trace, size_t job,
		       struct across_open *open, const struct ordered *noted, uint64_t cpu)
{
	held_list all = { 0 };

	take_all_held(shard, trace, &jobs_begun_of(open)->own, &all);
	/* Many may be open whose ends nobody sees. */
	for (struct list_node *at = jobs_at(shard, job)->is_around_any && trace->held.count > 0
					    ? &open->node
					    : NULL;
	     at; at = at->after) {
		take_all_held(shard, trace, &jobs_begun_of((struct across_open *)at)->any, &all);
	}
	note_over(&jobs_across_of(shard, trace, job)->machine.over, open->begin, noted->ts);
	count_now(shard, trace, &all, noted, cpu);
}

/* Nobody knows when it ends: what it has lies in the one before it, or in none. */
static void leave_around(struct shard *shard, struct jobs_trace *trace, struct across_open *open)
{
	struct across_open *before = (struct across_open *)open->node.before;
	struct list *lists[] = { &jobs_begun_of(open)->own, &jobs_begun_of(open)->any };

	for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
		while (lists[i]->first) {
			struct jobs_held *held = (struct jobs_held *)lists[i]->first;

			list_remove(lists[i], &held->node);
			held->in = i > 0 ? before : NULL;
			if (held->in) {
				list_add(&jobs_begun_of(before)->any, &held->node);
			} else {
				list_remove(&trace->held, &held->age);
				free_held(held);
			}
		}
	}
}

/* It is open no longer, and is freed. */
static void remove_around(struct shard *shard, struct jobs_trace *trace, size_t job,
			  struct across_open *open)
{
	struct across *opens = &jobs_across_of(shard, trace, job)->open;

	leave_around(shard, trace, open);
	if (across_find(opens, open->key) == open) { /* else it had no room */
		across_take(opens, open);
	}
	jobs_across_free(open);
}

void jobs_around_taken(struct shard *shard, struct jobs_trace *trace, size_t job,
		       struct across_open *open, const struct ordered *ended)
{
	if (ended && jobs_at(shard, job)->is_around) {
		end_around(shard, trace, job, open, ended, JOBS_NOTED(ended->words[1])[STEP_CPU]);
	}
	remove_around(shard, trace, job, open);
}

/* ---- of a thread ---- */

static struct across_open *around_of(struct shard *shard, struct jobs_trace *trace,
				     const struct executing *e, size_t job)
{
	return across_find(&jobs_across_of(shard, trace, job)->open, e->serial);
}

void jobs_around_begins(struct shard *shard, struct jobs_trace *trace,
			const struct ordered *ordered)
{
	size_t job = NOTE_JOB(ordered->words[0]);
	struct executing *e = jobs_executing(ordered->shard, ordered->thread);
	struct across *opens = &jobs_across_of(shard, trace, job)->open;
	struct across_open *open;

	e->serial = e->serial == 0 ? ++trace->serial : e->serial;
	open = around_of(shard, trace, e, job);
	if (open) {
		remove_around(shard, trace, job, open);
	}
	open = mem_alloc(sizeof(*open));
	*open = (struct across_open){ .key = e->serial,
				      .begin = ordered->ts,
				      .more = mem_alloc(sizeof(struct jobs_begun)) };
	open = across_add(opens, open);
	if (open) {
		jobs_count_one(shard, job, NULL, DROPPED);
		remove_around(shard, trace, job, open);
	}
}

void jobs_around_ends(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered)
{
	size_t job = NOTE_JOB(ordered->words[0]);
	struct executing *e = jobs_executing(ordered->shard, ordered->thread);
	struct across_open *open = around_of(shard, trace, e, job);

	note_over(&e->machines[job].over, ordered->words[1], ordered->ts);
	if (open) {
		end_around(shard, trace, job, open, ordered, (ordered->words[0] >> 8) - 1);
		remove_around(shard, trace, job, open);
	}
}

void jobs_around_cut(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered)
{
	size_t job = NOTE_JOB(ordered->words[0]);
	struct across_open *open =
		around_of(shard, trace, jobs_executing(ordered->shard, ordered->thread), job);

	if (open) {
		remove_around(shard, trace, job, open);
	}
}

void jobs_around_over(struct shard *shard, struct jobs_trace *trace, struct executing *e)
{
	for (size_t j = 0; e->serial > 0 && j < jobs_asked(shard); j++) {
		struct across_open *open =
			jobs_at(shard, j)->is_around ? around_of(shard, trace, e, j) : NULL;

		if (open && !jobs_at(shard, j)->is_across) {
			remove_around(shard, trace, j, open);
		}
	}
	e->serial = 0;
}

/* ---- files ---- */

void jobs_within_forget(struct jobs_trace *trace)
{
	while (trace->held.first) {
		struct jobs_held *held = held_of_age(trace->held.first);

		list_remove(&trace->held, &held->age);
		jobs_begun_of(held->in)->own = jobs_begun_of(held->in)->any = (struct list){ 0 };
		free_held(held);
	}
}

static void inner_codec(struct codec *codec, struct jobs_held *held, uint64_t *in)
{
	codec_each(codec, in, &held->job, &held->left_out, &held->has_parts, &held->begin,
		   &held->end, &held->cpu);
	codec_each(codec, &held->doubts.missing, &held->doubts.again);
	codec_each(codec, &held->thread, &held->begun_by, &held->ended_by, &held->arrival.ts,
		   &held->arrival.skipped, &held->arrival.from);
	for (unsigned int part = 0; held->has_parts && part < PART_COUNT; part++) {
		codec_u64(codec, &held->parts[part]);
	}
	labels_items_codec(codec, &held->items);
	diff_values_codec(codec, &held->differences);
}

/* Where a held execution from a file lies; NULL: it is not sound. */
static struct across_open *place_again(const struct checkpoint *checkpoint,
				       const struct jobs_trace *trace, const struct jobs_held *held,
				       uint64_t in)
{
	const struct period_set *asked = checkpoint->periods;
	const struct job_spec *job =
		held->job < asked->jobs.count ? asked->jobs.at[held->job] : NULL;
	struct across_open *open = job && job->within >= 0 && held->has_parts == !job->is_across
					   ? across_find(&trace->across[job->within].open, in)
					   : NULL;

	return open && is_around(open->begin, held->begin, held->end) && held->begin <= held->end &&
			       held->arrival.ts <= held->begin && held->arrival.from < ARRIVALS
		       ? open
		       : NULL;
}

void jobs_within_checkpoint(const struct checkpoint *checkpoint, struct jobs_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	size_t count = codec_count(codec, trace->held.count, 61);
	struct list_node *at = trace->held.first;

	codec_u64(codec, &trace->serial);
	codec_check(codec, count <= JOBS_HELD_MAX);
	for (size_t i = 0; i < count && !codec->is_wrong; i++) {
		struct jobs_held *held =
			codec_reads(codec) ? mem_alloc(sizeof(*held)) : held_of_age(at);
		uint64_t in = codec_reads(codec) ? 0 : held->in->key;

		inner_codec(codec, held, &in);
		if (!codec_reads(codec)) {
			at = at->after;
			continue;
		}
		held->in = place_again(checkpoint, trace, held, in);
		if (!codec_check(codec, held->in)) {
			free_held(held);
			return;
		}
		put_held(trace, checkpoint->periods->jobs.at[held->job], held);
	}
}
