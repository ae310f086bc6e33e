/*
 * periods-worker: see periods.h; which step of a period an event is, and what it says.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyses/periods/periods.h"

/* ---- what an event says ---- */

static bool conditions_hold(const struct definition *what, const uint8_t *fields,
			    const struct trace_event *event)
{
	for (size_t i = 0; i < what->count; i++) {
		const struct condition *condition = &what->conditions[i];

		if (!event_has(event, fields[i]) ||
		    (!condition->is_tid &&
		     !pattern_condition_holds(condition, &event->values[fields[i]], 0))) {
			return false;
		}
	}
	return true;
}

/* Adds keys to a hash, and fills their values, if they are wanted.  False: the event lacks one. */
static bool fill_keys(struct worker *worker, const uint8_t *keys, size_t count,
		      const struct trace_event *event, uint64_t *hash, uint64_t *values)
{
	uint64_t unused[VALUE_WORDS], cpu = worker_cpu(worker);

	for (size_t i = 0; i < count; i++) {
		uint64_t *value = values ? values + i * VALUE_WORDS : unused;
		uint8_t field = keys[i];

		if (field == FIELD_CPU) {
			*hash = hash_bytes(*hash, &cpu, sizeof(cpu));
			value[VALUE_FIRST] = cpu;
		} else if (event_has(event, field)) {
			*hash = hash_bytes(*hash, &event->values[field].u, sizeof(uint64_t));
			value[VALUE_FIRST] = event->values[field].u;
			value[VALUE_KIND] =
				event->is_signed & (1u << field) ? VALUE_SIGNED : VALUE_UNSIGNED;
		} else if (event_has(event, field + 1u)) {
			const struct value *text = &event->values[field + 1];
			size_t len = strnlen((const char *)text->bytes, text->len);

			*hash = hash_bytes(*hash, text->bytes, len);
			memcpy(value + VALUE_FIRST, text->bytes,
			       len < VALUE_TEXT_BYTES ? len : VALUE_TEXT_BYTES);
			value[VALUE_KIND] = VALUE_TEXT;
		} else {
			return false;
		}
	}
	return true;
}

static int32_t thread_of(const struct worker *worker, const struct period_side *side,
			 const struct trace_event *event)
{
	if (side->thread != FIELD_NONE) {
		return (int32_t)event_i64(event, side->thread, 0);
	}
	return event_has(event, side->vtid) ? (int32_t)event_i64(event, side->vtid, 0)
					    : worker_tid_of(worker, event, side->tid);
}

/* ---- texts ---- */

/* A text that may be longer than its room: then the hash of all of it stands for its end. */
struct text {
	char *at;
	size_t room, len;
	uint64_t hash; /* of what is longer than its room */
};

static void put(struct text *text, const void *bytes, size_t len)
{
	if (text->len + len > text->room) {
		if (text->len <= text->room) {
			text->hash = hash_bytes(0, text->at, text->len);
		}
		text->hash = hash_bytes(text->hash, bytes, len);
	}
	if (text->len < text->room) {
		size_t left = text->room - text->len;

		memcpy(text->at + text->len, bytes, len < left ? len : left);
	}
	text->len += len;
}

/* Adds the value of a field; false: the event lacks it. */
static bool put_value(struct text *text, const struct trace_event *event, uint8_t field)
{
	const struct value *value = &event->values[field];
	char number[24];

	if (event_has(event, field)) {
		int len = snprintf(number, sizeof(number),
				   event->is_signed & (1u << field) ? "%" PRId64 : "%" PRIu64,
				   value->u);

		put(text, number, (size_t)len);
	} else if (event_has(event, field + 1u)) {
		put(text, value[1].bytes, strnlen((const char *)value[1].bytes, value[1].len));
	} else {
		return false;
	}
	return true;
}

/* Writes the id of a label; false: the event lacks part of it. */
static bool put_id(char id[ID_BYTES], const struct label *label, const struct label_at *at,
		   const struct trace_event *event)
{
	struct text text = { .at = id, .room = ID_BYTES - 1 };

	memset(id, 0, ID_BYTES);
	for (size_t i = 0; i < label->key_count; i++) {
		if (i > 0) {
			put(&text, ",", 1);
		}
		if (!put_value(&text, event, at->keys[i])) {
			return false;
		}
	}
	if (label->by_process) {
		char pid[24];
		int64_t vpid = event_i64(event, at->vpid, event_i64(event, at->pid, 0));

		put(&text, pid, (size_t)snprintf(pid, sizeof(pid), "@%" PRId64, vpid));
	}
	if (text.len > text.room) {
		(void)snprintf(id + ID_BYTES - 18, 18, "~%016" PRIx64, text.hash);
	}
	return text.len > 0;
}

/* Writes "size=5", as much as fits, or the id of a label; "": the event lacks it. */
static void put_item(char item[ITEM_BYTES], const struct period_set *set,
		     const struct label_use *use, const struct label_at *at,
		     const struct trace_event *event)
{
	struct text text = { .at = item, .room = ITEM_BYTES - 1 };
	const char *name = period_group_name(set, use);
	char id[ID_BYTES];

	memset(item, 0, ITEM_BYTES);
	put(&text, name, strlen(name));
	put(&text, "=", 1);
	if (use->label < 0) {
		if (!put_value(&text, event, at->keys[0])) {
			item[0] = '\0';
		}
	} else if (put_id(id, &set->labels.all.at[use->label], at, event)) {
		put(&text, id, strlen(id));
	} else {
		item[0] = '\0';
	}
}

/* Fills the items; returns how many words they are. */
static size_t put_items(uint64_t words[1 + ITEM_TEXT_WORDS], const struct period_set *set,
			const struct period *period, const struct period_side *side,
			const struct trace_event *event)
{
	char *to = (char *)(words + 1);
	char item[ITEM_BYTES];

	for (size_t i = 0; i < period->group_count; i++) {
		size_t len;

		put_item(item, set, &period->groups[i], &side->groups[i], event);
		len = strlen(item);
		words[0] |= (uint64_t)len << i * ITEM_BITS;
		memcpy(to, item, len > 0 ? len + 1 : 0);
		to += len > 0 ? len + 1 : 0;
	}
	return 1 + ((size_t)(to - (char *)(words + 1)) + sizeof(*words) - 1) / sizeof(*words);
}

/* ---- events ---- */

/* The thread of an event that belongs to keys. */
static void note_thread(struct worker *worker, struct record *record, int32_t tid)
{
	if (tid == TID_CURRENT) {
		worker_note_current(worker, record);
	} else {
		record->arg32 = tid;
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

	return conditions_hold(&side->what, side->conditions, event);
}

static void note_step(struct worker *worker, const struct trace_event *event, uint32_t user)
{
	const struct period *period = period_of(worker, user);
	size_t step = user >> STEP_SHIFT;
	const struct period_side *side = &period->steps[step];
	uint64_t words[WORDS_MAX] = { [WORD_CPU] = worker_cpu(worker) };
	struct record *record;
	size_t count = periods_word_items(period);

	if ((step > 0 && !fill_keys(worker, side->before, period->links[step - 1].key_count, event,
				    &words[WORD_KEY], NULL)) ||
	    (step + 1 < period->step_count &&
	     !fill_keys(worker, side->after, period->links[step].key_count, event,
			&words[WORD_AFTER], NULL))) {
		return;
	}
	count += put_items(words + count, worker_periods(worker), period, side, event);
	record = worker_emit_entity(worker, event->ts, ENTITY_CHAINS, OWN_STEP);
	note_thread(worker, record, thread_of(worker, side, event));
	record->arg16 = (uint16_t)user;
	record->arg64 = worker_numbers(worker, words, count);
}

/* Of the words, which are many, nothing is touched for an event that is not meant. */
static void on_step(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	(void)state;
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
	unsigned int kind = is_end ? OWN_END : OWN_BEGIN;
	uint64_t words[WORDS_MAX] = { [WORD_CPU] = worker_cpu(worker) };
	size_t count = periods_word_items(period);
	struct record *record;

	if (!fill_keys(worker, is_end ? side->before : side->after, period->links[0].key_count,
		       event, &words[WORD_KEY], words + WORD_VALUES)) {
		return;
	}
	count += put_items(words + count, worker_periods(worker), period, side, event);
	if (period->by_thread) {
		record = worker_emit(worker, event->ts, thread_of(worker, side, event), kind);
	} else {
		record = worker_emit_entity(worker, event->ts, words[WORD_KEY] % BUCKETS, kind);
		if (kind == OWN_BEGIN) {
			note_thread(worker, record, thread_of(worker, side, event));
		}
	}
	record->arg16 = (uint16_t)(user & ((1u << STEP_SHIFT) - 1));
	record->arg64 = worker_numbers(worker, words, count);
}

static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	(void)state;
	if (is_step(worker, event, user)) {
		note_event(worker, event, user);
	}
}

static void note_label(struct worker *worker, const struct trace_event *event, uint32_t user)
{
	const struct label_set *labels = &worker_periods(worker)->labels;
	const struct label_source *source = labels->sources.at[user];
	int of = source->value.label;
	uint64_t words[LABEL_WORDS_MAX] = { 0 };
	char *name = (char *)(words + LABEL_TEXT);
	struct text text = { .at = name, .room = LABEL_TEXT_BYTES_MAX - 1 };
	bool has_name;
	struct record *record;

	if (!put_id((char *)(words + LABEL_ID), &labels->all.at[source->label], &source->id,
		    event)) {
		return;
	}
	has_name = of < 0 ? put_value(&text, event, source->value_at.keys[0])
			  : put_id(name, &labels->all.at[of], &source->value_at, event);
	if (!has_name) {
		return;
	}
	if (of < 0 && text.len > text.room) {
		memcpy(name + text.room - 3, "...", 3);
	}
	words[LABEL_LEN] = strlen(name);
	record = worker_emit_entity(worker, event->ts, ENTITY_LABELS, OWN_LABEL);
	record->arg16 = (uint16_t)user;
	record->arg64 = worker_numbers(worker, words, LABEL_TEXT + words[LABEL_LEN] / 8 + 1);
}

/* @user: the source of a label. */
static void on_label(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	const struct label_source *source = worker_periods(worker)->labels.sources.at[user];

	(void)state;
	if (conditions_hold(&source->what, source->conditions, event)) {
		note_label(worker, event, user);
	}
}

/* ---- needs ---- */

static void add_need(struct need *need, const struct definition *what, const struct fields *fields,
		     handler_fn *handler, size_t user)
{
	need->event = what->event;
	memcpy(need->fields, fields->at, sizeof(need->fields));
	need->on_event = handler;
	need->user = (uint32_t)user;
}

/* Of an event that is several steps of a period the last one comes first: it ends one and begins
 * the next. */
size_t periods_needs_of(const struct period_set *periods, struct need **ret)
{
	size_t sources = periods ? periods->labels.sources.count : 0, count = 0;

	*ret = mem_alloc((sources + (periods ? periods->all.count : 0) * PERIOD_STEPS_MAX + 1) *
			 sizeof(**ret));
	for (size_t i = 0; i < sources; i++) {
		const struct label_source *source = periods->labels.sources.at[i];

		if (!source->is_left_out) {
			add_need(&(*ret)[count++], &source->what, &source->fields, on_label, i);
		}
	}
	for (size_t i = 0; periods && i < periods->all.count; i++) {
		const struct period *period = periods->all.at[i];

		for (size_t s = period->is_left_out ? 0 : period->step_count; s-- > 0;) {
			const struct period_side *side = &period->steps[s];

			add_need(&(*ret)[count++], &side->what, &side->fields,
				 period->is_chain ? on_step : on_event, i | s << STEP_SHIFT);
		}
	}
	return count;
}
