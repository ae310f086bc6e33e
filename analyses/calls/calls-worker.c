/*
 * calls-worker: see calls.h; an event becomes a record of its thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyses/calls/calls.h"

static const struct call_side *event_side(struct worker *worker, const struct trace_event *event)
{
	const struct call_sides *sides = worker_of_plan(worker);

	assert_hot(event->class->class->index < sides->count);
	return &sides->at[event->class->class->index];
}

static bool field_value(const struct trace_event *event, unsigned int field,
			struct query_value *ret)
{
	return query_value_of(plan_field_of(event->class, event->binding, field),
			      &event->values[field], QUERY_ELEMENT_NONE, ret);
}

/* What tells calls of two events apart: a name, or the address of a function. */
static bool put_sub(const struct trace_event *event, const struct call_side *side, char *sub)
{
	if (side->is_function && event_has(event, CALL_ADDR)) {
		(void)snprintf(sub, SUB_BYTES, "0x%" PRIx64, event_u64(event, CALL_ADDR, 0));
	} else if (side->has_name && event_has(event, CALL_NAME)) {
		const struct value *name = event_text(event, CALL_NAME);

		hash_brief(sub, SUB_BYTES, name->bytes, name->len);
	}
	return *sub != 0;
}

/* Whether the program says that the call failed. */
static bool says_failed(const struct trace_event *event)
{
	return event_has(event, CALL_RET) &&
	       (plan_field_of(event->class, event->binding, CALL_RET)->flags & STEP_SIGNED) &&
	       event_i64(event, CALL_RET, 0) < 0;
}

static void emit_side(struct worker *worker, const struct trace_event *event,
		      const struct call_side *side, bool is_end)
{
	static const struct thread_fields fields = { CALL_TID, CALL_VTID, CALL_VPID,
						     CALL_PROCNAME };
	uint64_t words[CALL_WORDS_MAX] = { 0 };
	size_t at = WORD_MORE;
	uint16_t flags = side->begins;
	struct query_value key;
	struct record *record;
	int64_t thread;

	words[WORD_PROCESS] = event_u64(event, CALL_VPID, 0);
	words[WORD_CPU] = worker_cpu(worker);
	if (side->key != FIELD_NONE && field_value(event, side->key, &key)) {
		flags |= CALL_HAS_KEY;
		words[at + KEY_HASH] = query_value_hash(0, &key);
		labels_put_value(&words[at + KEY_VALUE], &key);
		words[at + KEY_FIELD] = side->key;
		at += KEY_WORDS;
	}
	if (put_sub(event, side, (char *)&words[at])) {
		flags |= CALL_HAS_SUB;
	}
	flags |= is_end && says_failed(event) ? CALL_HAS_FAILED : 0;
	thread = worker_thread_of(worker, event, &fields); /* which may make a record, too */
	record = worker_emit(worker, event->ts, thread, is_end ? OWN_END : OWN_BEGIN);
	record->arg16 = flags;
	record->arg32 = (int32_t)event->class->index;
	record->arg64 = worker_numbers(worker, words, calls_words(flags));
}

static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	const struct call_side *side = event_side(worker, event);

	if (side->begins != 0) {
		emit_side(worker, event, side, side->is_end);
	}
}

/* One class for both. */
static void on_phase(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct query_value value;
	bool has =
		field_value(event, CALL_PHASE_FIELD, &value) || field_value(event, CALL_PH, &value);
	enum call_phase phase = has ? calls_phase_of(&value) : PHASE_NONE;

	if (phase != PHASE_NONE) {
		emit_side(worker, event, event_side(worker, event), phase == PHASE_END);
	}
}

void calls_on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	if (!is_over) {
		(void)worker_emit_entity(worker, ts, 0, OWN_LOST);
	}
}

const struct need calls_needs[CALL_NEEDS] = {
	{ "*",
	  { CALL_KEY_NAMES, "context.vtid", "context.vpid", "@context.procname", "context.tid",
	    "ret", "@name", "addr" },
	  on_event,
	  .domain = PLAN_NOT "kernel",
	  .takes = calls_has_word },
	{ "*",
	  { CALL_KEY_NAMES, "context.vtid", "context.vpid", "@context.procname", "context.tid",
	    "ret", "@name", "?ph", "?phase" },
	  on_phase,
	  .domain = PLAN_NOT "kernel",
	  .takes = calls_has_phase },
};
