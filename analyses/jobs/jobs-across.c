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

/* What an open execution has beside struct across_open. */
struct begun {
	struct arrival arrival;
	struct cadence cadence;
	struct items items;
};

static struct begun *begun_of(const struct across_open *open)
{
	return open->more;
}

static void free_open(struct across_open *open)
{
	labels_items_fini(&begun_of(open)->items);
	free(open->more);
	free(open);
}

static struct jobs_across *across_of(struct shard *shard, struct jobs_trace *trace, size_t job)
{
	if (!trace->across) {
		trace->across_count = jobs_asked(shard);
		trace->across = mem_alloc(trace->across_count * sizeof(*trace->across));
	}
	assert(job < trace->across_count);
	return &trace->across[job];
}

/* ---- executions ---- */

static void drop_begun(struct shard *shard, size_t job, struct across_open *open,
		       unsigned int figure)
{
	jobs_count_dropped(shard, job, &begun_of(open)->items, figure);
	free_open(open);
}

/* A step of an execution: the event, as jobs-worker.c has it. */
struct jobs_step {
	size_t job;
	uint64_t ts, key;
	int32_t tid;
	const uint64_t *words;
};

static void begin_across(struct shard *shard, struct jobs_across *across,
			 const struct jobs_step *step)
{
	const struct job_spec *job = jobs_at(shard, step->job);
	struct across_open *open = across_find(&across->open, step->key);
	struct begun *more;

	if (open && !job->has_keys) {
		jobs_count_one(shard, step->job, NULL, OVERLAPPED); /* the first one counts */
		return;
	}
	if (open) {
		across_take(&across->open, open);
		drop_begun(shard, step->job, open, OVERLAPPED); /* the key was given again */
	}
	across->machine.begin = step->ts;
	across->machine.arrival = (struct arrival){ .ts = step->ts };
	jobs_count_begun(&across->machine, step->ts, job->period_ns);
	jobs_count_cadence(&across->machine.cadence, step->ts, job->period_ns, false);
	open = mem_alloc(sizeof(*open));
	*open = (struct across_open){ .key = step->key, .begin = step->ts, .tid = step->tid };
	open->more = more = mem_alloc(sizeof(*more));
	more->arrival = across->machine.arrival;
	more->cadence = across->machine.cadence;
	labels_add_items(&more->items, &job->group, step->words + STEP_ITEMS);
	open = across_add(&across->open, open);
	if (open) {
		drop_begun(shard, step->job, open, DROPPED);
	}
}

static void end_across(struct shard *shard, struct jobs_across *across,
		       const struct jobs_step *step)
{
	struct across_open *open = across_find(&across->open, step->key);
	struct machine *machine = &across->machine;

	if (!open) {
		return;
	}
	across_take(&across->open, open);
	jobs_count_items(shard, step->job, &begun_of(open)->items, step->words + STEP_ITEMS);
	labels_items_fini(&machine->items);
	machine->items = begun_of(open)->items;
	machine->arrival = begun_of(open)->arrival;
	machine->begin = open->begin;
	jobs_count_ended(shard, &(struct jobs_ended){ .job = step->job,
						      .machine = machine,
						      .cadence = &begun_of(open)->cadence,
						      .begin = open->begin,
						      .end = step->ts,
						      .cpu = step->words[STEP_CPU],
						      .begun_by = open->tid });
	begun_of(open)->items = (struct items){ 0 };
	free_open(open);
}

static void take_step(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered)
{
	size_t at = ordered->words[2] % MATCH_DEFINITIONS;
	struct jobs_step step = { .job = ordered->words[2] / MATCH_DEFINITIONS,
				  .ts = ordered->ts,
				  .tid = (int32_t)ordered->words[0],
				  .words = JOBS_NOTED(ordered->words[1]) };
	const struct job_spec *job = jobs_at(shard, step.job);

	step.key = step.words[STEP_KEY];
	if (!pattern_has_who(&job->is->events[at].who, step.tid,
			     across_names_of(&trace->names, step.tid)) ||
	    !job_key_with(job, step.tid, &step.key)) {
		return;
	}
	if (at == 0) {
		begin_across(shard, across_of(shard, trace, step.job), &step);
	} else {
		end_across(shard, across_of(shard, trace, step.job), &step);
	}
}

/* Any of them may have ended in what is missing. */
static void cut_opens(struct shard *shard, struct jobs_trace *trace)
{
	for (size_t j = 0; j < trace->across_count; j++) {
		struct across_open *open;

		while ((open = across_next(&trace->across[j].open))) {
			drop_begun(shard, j, open, CUT);
		}
		trace->across[j].machine.cadence = (struct cadence){ 0 };
	}
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
		cut_opens(shard, trace);
		break;
	}
}

void jobs_across_hole(struct shard *shard, void *state, uint64_t ts)
{
	cut_opens(shard, state);
}

void jobs_across_window_end(struct shard *shard, void *state, uint64_t end)
{
	struct jobs_trace *trace = state;

	for (size_t j = 0; j < trace->across_count; j++) {
		const struct list_node *at = trace->across[j].open.list.first;

		for (; at; at = at->after) {
			const struct across_open *open = (const struct across_open *)at;

			jobs_count_open(shard, j, &begun_of(open)->items, &begun_of(open)->arrival,
					open->begin, end);
		}
	}
}

/* ---- files ---- */

void jobs_across_forget(struct jobs_trace *trace)
{
	for (size_t j = 0; j < trace->across_count; j++) {
		struct across_open *open;

		while ((open = across_next(&trace->across[j].open))) {
			free_open(open);
		}
		labels_items_fini(&trace->across[j].machine.items);
	}
	free(trace->across);
	trace->across = NULL;
	trace->across_count = 0;
	across_names_fini(&trace->names);
}

static void open_codec(struct codec *codec, struct across_open *open)
{
	struct begun *more = open->more;

	codec_each(codec, &open->key, &open->begin, &open->tid, &more->arrival.ts,
		   &more->arrival.from);
	jobs_cadence_codec(codec, &more->cadence);
	labels_items_codec(codec, &more->items);
}

static void opens_codec(struct codec *codec, struct across *across)
{
	size_t count = codec_count(codec, across->list.count, 29);
	struct list_node *at = across->list.first;

	for (size_t i = 0; i < count && codec_check(codec, count <= JOBS_OPEN_MAX); i++) {
		struct across_open *open = (struct across_open *)at;

		if (!codec_reads(codec)) {
			open_codec(codec, open);
			at = at->after;
			continue;
		}
		open = mem_alloc(sizeof(*open));
		open->more = mem_alloc(sizeof(struct begun));
		open_codec(codec, open);
		if (!codec_check(codec, begun_of(open)->arrival.ts <= open->begin &&
						begun_of(open)->arrival.from < ARRIVALS &&
						!across_find(across, open->key))) {
			free_open(open);
			return;
		}
		(void)across_add(across, open);
	}
}

void jobs_across_checkpoint(const struct checkpoint *checkpoint, struct jobs_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	size_t count = checkpoint->periods ? checkpoint->periods->jobs.count : 0;
	bool has_any = trace->across;

	across_names_codec(codec, &trace->names);
	codec_each(codec, &has_any);
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
		opens_codec(codec, &across->open);
		if (!codec_check(codec, job->is_across || across->open.list.count == 0)) {
			return;
		}
	}
}
