/*
 * jobs-files: see jobs.h; records and states from files, from which any bytes may come.
 */
#include "analyses/jobs/jobs.h"
#include "engine/contract/untrusted.h"

static bool accepts_step(const struct untrusted_record *untrusted, const struct job_spec *job,
			 size_t definition)
{
	size_t at = jobs_step_items(job, definition);
	const uint64_t *words = untrusted->numbers + at;
	uint64_t count = untrusted->count - at, used;

	if (!job->is_across || untrusted->count <= at || !labels_are_items(words, count)) {
		return false;
	}
	used = labels_items_count(words);
	return job->looked.count == 0 ||
	       (used < count && labels_are_items(words + used, count - used));
}

static bool accepts_match(const struct untrusted_record *untrusted, const struct job_spec *job,
			  size_t definition)
{
	size_t at = jobs_match_items(job, definition);

	if (job->is_across || !jobs_has_words(job, definition)) {
		return !job->is_across;
	}
	return untrusted_has(untrusted, at + (job->group.count > 0)) &&
	       (job->group.count == 0 ||
		labels_are_items(untrusted->numbers + at, untrusted->count - at));
}

bool jobs_accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;
	const struct period_set *asked = untrusted->periods;
	size_t job = record->arg16 / MATCH_DEFINITIONS, at = record->arg16 % MATCH_DEFINITIONS;
	bool is_definition =
		asked && job < asked->jobs.count && at < asked->jobs.at[job]->is->event_count;

	if (untrusted->has_current && record->kind != OWN_STEP && record->kind != OWN_NAME) {
		return false;
	}
	switch (record->kind) {
	case OWN_STEP:
	case OWN_STEP_OF:
		return is_definition && accepts_step(untrusted, asked->jobs.at[job], at);
	case OWN_NAME:
		return untrusted->count >= STEP_NAME_WORDS;
	case OWN_MATCH:
		return is_definition && accepts_match(untrusted, asked->jobs.at[job], at);
	case OWN_SET:
		return untrusted_has(untrusted, 2);
	case OWN_EXPIRE:
		return untrusted_has(untrusted, 3);
	case OWN_WOKEN:
	case OWN_SIGNAL:
		return record->arg32 > 0;
	case OWN_LABEL:
		return labels_accepts(untrusted);
	case OWN_WAKE:
	case OWN_EXPIRED:
	case OWN_LOST:
	case OWN_GAP:
		return true;
	default:
		return false;
	}
}

void jobs_cadence_codec(struct codec *codec, struct cadence *cadence)
{
	codec_each(codec, &cadence->begun, &cadence->period, &cadence->nominal, &cadence->jitter,
		   &cadence->has_begun, &cadence->has_period, &cadence->has_jitter);
	codec_check(codec, cadence->has_period || !cadence->has_jitter);
}

bool jobs_machine_codec(struct codec *codec, struct machine *machine, const struct job_spec *job)
{
	codec_each(codec, &machine->next, &machine->is_stepped, &machine->begin,
		   &machine->arrival.ts, &machine->arrival.skipped, &machine->arrival.from,
		   &machine->has_before, &machine->before);
	codec_each(codec, &machine->ended, &machine->grid.at, &machine->grid.votes,
		   &machine->grid.is_known, &machine->run, &machine->is_doubted,
		   &machine->is_again);
	codec_each(codec, &machine->over.begin, &machine->over.end, &machine->doubts.missing,
		   &machine->doubts.again);
	jobs_cadence_codec(codec, &machine->cadence);
	for (unsigned int part = 0; part < PART_COUNT; part++) {
		codec_u64(codec, &machine->ns[part]);
	}
	labels_items_codec(codec, &machine->items);
	diff_codec(codec, &machine->counters);
	return codec_check(codec, machine->next < job->is->event_count &&
					  machine->arrival.ts <= machine->begin &&
					  machine->arrival.from < ARRIVALS);
}

void jobs_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	size_t count = checkpoint->periods ? checkpoint->periods->jobs.count : 0;
	struct executing *e = state;
	bool has_machines = e->machines;

	thread_phase_codec(codec, &e->phase);
	codec_each(codec, &e->slept, &e->tid, &e->serial, &has_machines);
	for (unsigned int part = 0; part < PART_COUNT; part++) {
		codec_u64(codec, &e->ns[part]);
	}
	if (!codec_check(codec, !has_machines || count > 0) || !has_machines) {
		return;
	}
	if (codec_reads(codec)) {
		e->machines = mem_alloc(count * sizeof(*e->machines));
		e->machine_count = (uint8_t)count;
	}
	for (size_t j = 0; j < count; j++) {
		(void)jobs_machine_codec(codec, &e->machines[j], checkpoint->periods->jobs.at[j]);
	}
}
