/*
 * periods-worker: see periods.h; which step of a period an event is, and what it says.
 */
#include <string.h>

#include "analyses/periods/periods.h"
#include "engine/contract/partial.h"

/* ---- events ---- */

/* The thread of an event that belongs to keys. */
static void note_thread(struct worker *worker, struct record *record, int64_t thread)
{
	if (thread == TID_CURRENT) {
		worker_note_current(worker, record);
	} else {
		record->arg32 = key_tid(thread);
	}
}

/* @user: the period, and from STEP_SHIFT on the step. */
static const struct period *period_of(const struct worker *worker, uint32_t user)
{
	return worker_periods(worker)->all.at[user & ((1u << STEP_SHIFT) - 1)];
}

static bool is_step(const struct worker *worker, const struct trace_event *event, uint32_t user)
{
	const struct period_side *side = &period_of(worker, user)->steps[user >> STEP_SHIFT];
	const struct fields_event of = labels_event(worker, &side->fields, event);

	return fields_meet(&of, side->what, side->conditions);
}

static void note_step(struct worker *worker, const struct trace_event *event, uint32_t user)
{
	const struct period *period = period_of(worker, user);
	size_t step = user >> STEP_SHIFT;
	const struct period_side *side = &period->steps[step];
	const struct fields_event of = labels_event(worker, &side->fields, event);
	uint64_t words[WORDS_MAX] = { [WORD_CPU] = worker_cpu(worker) };
	struct record *record;
	size_t count = periods_word_items(period);
	int64_t thread;

	if ((step > 0 && !labels_put_keys(side, side->before, &period->links[step - 1], &of,
					  &words[WORD_KEY], NULL)) ||
	    (step + 1 < period->step_count &&
	     !labels_put_keys(side, side->after, &period->links[step], &of, &words[WORD_AFTER],
			      NULL))) {
		return;
	}
	count += labels_put_items(words + count, &worker_periods(worker)->labels, &period->group,
				  side->groups, &of);
	thread = labels_thread_of(worker, side, event); /* which may make a record, too */
	counters_put(worker, event,
		     &(struct counters_side){ side->diffs, side->diff_count, &side->running }, &of,
		     words + periods_word_counters(period));
	record = worker_emit_entity(worker, event->ts, ENTITY_CHAINS, OWN_STEP);
	note_thread(worker, record, thread);
	record->arg16 = (uint16_t)user;
	record->arg64 = worker_numbers(worker, words, count);
}

/* Of the words, which are many, nothing is touched for an event that is not meant. */
static void on_step(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	if (is_step(worker, event, user)) {
		note_step(worker, event, user);
	}
}

/* The same of a period of two events. */
static void note_event(struct worker *worker, const struct trace_event *event, uint32_t user)
{
	const struct period *period = period_of(worker, user);
	bool is_end = user >> STEP_SHIFT;
	const struct period_side *side = &period->steps[is_end];
	const struct fields_event of = labels_event(worker, &side->fields, event);
	unsigned int kind = is_end ? OWN_END : OWN_BEGIN;
	uint64_t words[WORDS_MAX] = { [WORD_CPU] = worker_cpu(worker) };
	size_t count = periods_word_items(period);
	struct record *record;
	int64_t thread;

	if (!labels_put_keys(side, is_end ? side->before : side->after, &period->links[0], &of,
			     &words[WORD_KEY], words + WORD_VALUES)) {
		return;
	}
	count += labels_put_items(words + count, &worker_periods(worker)->labels, &period->group,
				  side->groups, &of);
	thread = labels_thread_of(worker, side, event); /* which may make a record, too */
	counters_put(worker, event,
		     &(struct counters_side){ side->diffs, side->diff_count, &side->running }, &of,
		     words + periods_word_counters(period));
	if (period->by_thread) {
		record = worker_emit(worker, event->ts, thread, kind);
	} else {
		record = worker_emit_entity(worker, event->ts, words[WORD_KEY] % BUCKETS, kind);
		note_thread(worker, record, thread);
	}
	record->arg16 = (uint16_t)(user & ((1u << STEP_SHIFT) - 1));
	record->arg64 = worker_numbers(worker, words, count);
}

static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	if (is_step(worker, event, user)) {
		note_event(worker, event, user);
	}
}

/* @user: the source of a label. */
static void on_label(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	labels_note(worker, event, user, ENTITY_LABELS, OWN_LABEL);
}

/* ---- needs ---- */

/* Of an event that is several steps of a period the last one comes first: it ends one and begins
 * the next. */
size_t periods_needs_of(const struct period_set *periods, struct need **ret)
{
	size_t sources = periods ? periods->labels.sources.count : 0, count = 0;

	*ret = mem_alloc((sources + (periods ? periods->all.count : 0) * PERIOD_STEPS_MAX + 1) *
			 sizeof(**ret));
	count = periods ? labels_needs_of(&periods->labels, on_label, *ret) : 0;
	for (size_t i = 0; periods && i < periods->all.count; i++) {
		const struct period *period = periods->all.at[i];

		for (size_t s = period->is_left_out ? 0 : period->step_count; s-- > 0;) {
			const struct period_side *side = &period->steps[s];
			struct need *need = &(*ret)[count++];

			need->event = side->what->event;
			memcpy(need->fields, side->fields.at, sizeof(need->fields));
			need->on_event = period->is_chain ? on_step : on_event;
			need->user = (uint32_t)(i | s << STEP_SHIFT);
		}
	}
	return count;
}
