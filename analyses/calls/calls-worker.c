/*
 * calls-worker: see calls.h; an event becomes a record of its thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyses/calls/calls.h"
#include "symbols/symbols-here.h"

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

static void emit_call(struct worker *worker, const struct trace_event *event, int64_t thread,
		      bool is_end, uint16_t flags, uint64_t words[CALL_WORDS_MAX])
{
	struct record *record =
		worker_emit(worker, event->ts, thread, is_end ? OWN_END : OWN_BEGIN);

	words[WORD_CPU] = worker_cpu(worker);
	record->arg16 = flags;
	record->arg32 = (int32_t)event->class->index;
	record->arg64 = worker_numbers(worker, words, calls_words(flags));
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

	words[WORD_PROCESS] = event_u64(event, CALL_VPID, 0);
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
	emit_call(worker, event, worker_thread_of(worker, event, &fields), is_end, flags, words);
}

/* ---- images of programs, for names of functions ---- */

static void emit_image(void *user, const struct symbols_event *image)
{
	uint64_t words[IMAGE_WORDS + SYMBOLS_TEXT_MAX / sizeof(uint64_t)];
	struct worker *worker = user;
	size_t count = IMAGE_WORDS + (image->len + 7) / 8;
	struct record *record;

	words[count - 1] = 0;
	words[IMAGE_SAYS] = image->says;
	words[IMAGE_PID] = (uint64_t)image->place.pid;
	words[IMAGE_BASE] = image->place.base;
	words[IMAGE_NUMBER] = image->number;
	words[IMAGE_LEN] = image->len;
	if (image->len > 0) {
		memcpy(&words[IMAGE_WORDS], image->bytes, image->len);
	}
	record = worker_emit_entity(worker, image->ts, 0, OWN_IMAGE);
	record->arg64 = worker_numbers(worker, words, count);
}

static void on_image(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct symbols_event image;

	if (symbols_read(user, event->present, event->values, event->ts, &image)) {
		emit_image(worker, &image);
	}
}

/* What a trace does not say of the process of a function, once a chunk. */
static void ask_process_here(struct worker *worker, struct calls_chunk *chunk,
			     const struct trace_event *event)
{
	const struct call_sides *sides = worker_of_plan(worker);
	int64_t pid = event_i64(event, CALL_VPID, 0);
	size_t at = 0;

	while (at < chunk->looked_count && chunk->looked[at] != pid) {
		at++;
	}
	if (at == chunk->looked_count && at < CALLS_LOOKED_MAX) {
		chunk->looked[chunk->looked_count++] = pid;
		symbols_here_each(sides->here, pid, event->ts, emit_image, worker);
	}
}

/* ---- calls by name ---- */

static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	const struct call_side *side = event_side(worker, event);

	if (side->is_function && ((const struct call_sides *)worker_of_plan(worker))->here) {
		ask_process_here(worker, state, event);
	}
	if (side->begins != 0 && side->begins != 1u << CALL_ASKED) {
		emit_side(worker, event, side, side->is_end);
	}
}

/* One class for both. */
static void on_phase(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct query_value value;
	const struct call_side *side = event_side(worker, event);
	bool has =
		side->begins == 1u << CALL_PHASE && (field_value(event, CALL_PHASE_FIELD, &value) ||
						     field_value(event, CALL_PH, &value));
	enum call_phase phase = has ? calls_phase_of(&value) : PHASE_NONE;

	if (phase != PHASE_NONE) {
		emit_side(worker, event, side, phase == PHASE_END);
	}
}

/* ---- what the user asks for ---- */

/* The hash of the key, and the value of the first part that is a field.  False: calls belong to
 * their thread alone. */
static bool put_asked_key(struct worker *worker, const struct period *call, bool is_end,
			  const struct fields_event *event, uint64_t key[KEY_WORDS],
			  bool *ret_lacks)
{
	const struct expression_link *link = &call->is->links[0];
	const struct period_side *side = &call->steps[is_end];
	const uint8_t *keys = is_end ? side->before : side->after;
	uint64_t values[PERIOD_KEYS_MAX * VALUE_WORDS] = { 0 };
	size_t shown = 0;

	if (!link->has_keys || (link->has_tid && link->key_count == 0)) {
		return false;
	}
	*ret_lacks = !labels_put_keys(side, keys, &call->links[0], event, &key[KEY_HASH], values);
	while (shown + 1 < link->key_count && keys[shown] >= FIELD_MADE) {
		shown++;
	}
	key[KEY_FIELD] = shown;
	memcpy(&key[KEY_VALUE], &values[shown * VALUE_WORDS], VALUE_WORDS * sizeof(*values));
	return true;
}

/* "name", or both texts of a group. */
static bool put_asked_sub(const struct period *call, const struct fields_event *event, char *sub)
{
	size_t room = SUB_BYTES / (call->group.count > 0 ? call->group.count : 1), used = 0;

	for (size_t i = 0; i < call->group.count; i++) {
		char number[QUERY_NUMBER_BYTES];
		struct query_value value;
		const char *text;
		size_t len;

		if (!fields_get(event, call->steps[0].groups[i].keys[0], &value)) {
			continue;
		}
		text = query_value_text(&value, true, number, &len);
		if (used > 0 && len > 0) {
			sub[used++] = ' ';
		}
		hash_brief(sub + used, room - (i > 0), text, len);
		used = strlen(sub);
	}
	return used > 0;
}

static bool has_asked_failed(const struct period *call, const struct fields_event *event)
{
	const struct definition *error = &call->is->error;
	struct query_value value;

	if (error->count > 0) {
		return fields_meet(event, error, call->errors);
	}
	return fields_get(event, call->result, &value) && value.kind == QUERY_NUMBER &&
	       value.is_signed && value.is.i < 0;
}

static void emit_asked(struct worker *worker, const struct trace_event *event, uint32_t number,
		       const struct fields_event *of)
{
	const struct period *call = worker_periods(worker)->calls.at[number >> 1];
	const struct period_side *side = &call->steps[number & 1];
	uint64_t words[CALL_WORDS_MAX] = { 0 };
	uint16_t flags = 1u << CALL_ASKED;
	bool is_end = number & 1, lacks = false;
	size_t at;

	flags |= side->diff_count > 0 ? CALL_HAS_DIFFS : 0;
	at = calls_word_key(flags);
	counters_put(worker, event,
		     &(struct counters_side){ side->diffs, side->diff_count, &side->running }, of,
		     words + WORD_COUNTERS);
	words[WORD_MORE] = number >> 1;
	words[WORD_PROCESS] =
		call->links[0].by_process ? (uint64_t)fields_owner(of, &side->running) : 0;
	if (put_asked_key(worker, call, is_end, of, &words[at], &lacks)) {
		flags |= CALL_HAS_KEY;
		at += KEY_WORDS;
	}
	if (!is_end && put_asked_sub(call, of, (char *)&words[at])) {
		flags |= CALL_HAS_SUB;
	}
	flags |= is_end && has_asked_failed(call, of) ? CALL_HAS_FAILED : 0;
	if (!lacks) {
		emit_call(worker, event, labels_thread_of(worker, side, event), is_end, flags,
			  words);
	}
}

/* @user: as of calls_asked(). */
static void on_asked(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	const struct period *call = worker_periods(worker)->calls.at[user >> 1];
	const struct period_side *side = &call->steps[user & 1];
	const struct fields_event of = labels_event(worker, &side->fields, event);

	if (calls_asked(worker_of_plan(worker), user)[event->class->class->index] &&
	    fields_meet(&of, side->what, side->conditions)) {
		emit_asked(worker, event, user, &of);
	}
}

static void add_image_needs(struct need *needs)
{
	for (uint32_t i = 0; i < symbols_request_count; i++) {
		needs[i] = (struct need){ .event = symbols_requests[i].event,
					  .on_event = on_image,
					  .user = i,
					  .domain = PLAN_NOT "kernel",
					  .is_extra = true,
					  .is_beside = true };
		memcpy(needs[i].fields, symbols_requests[i].fields, sizeof(needs[i].fields));
	}
}

void calls_on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	if (!is_over) {
		(void)worker_emit_entity(worker, ts, 0, OWN_LOST);
	}
}

static const struct need by_name[] = {
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

/* Who says which calls there are, has what is recorded for these; others that it has count, too.
 * Of an event that ends a call and begins one the end comes first.  What ends several calls is one
 * event: of the first of them. */
size_t calls_needs_of(const struct period_set *periods, struct need **ret)
{
	size_t asked = periods ? periods->calls.count : 0, count = ARRAY_COUNT(by_name);

	*ret = mem_alloc((count + 2 * asked + symbols_request_count) * sizeof(**ret));
	memcpy(*ret, by_name, sizeof(by_name));
	for (size_t i = 0; i < ARRAY_COUNT(by_name); i++) {
		(*ret)[i].is_extra = asked > 0;
	}
	for (uint32_t i = 0; i < asked; i++) {
		const struct period *call = periods->calls.at[i];

		for (uint32_t step = call->is_left_out ? 0 : 2; step-- > 0;) {
			struct need *need = &(*ret)[count];

			if (step == 1 && call->ends_as != i) {
				continue;
			}
			*need = (struct need){ .event = call->is->events[step].event,
					       .on_event = on_asked,
					       .user = i << 1 | step };
			memcpy(need->fields, call->steps[step].fields.at, sizeof(need->fields));
			count++;
		}
	}
	add_image_needs(&(*ret)[count]);
	return count + symbols_request_count;
}
