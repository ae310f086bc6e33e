/*
 * labels-worker: see labels.h; what an event tells.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyses/labels/labels.h"
#include "base/hash.h"

bool labels_conditions_hold(const struct definition *what, const uint8_t *fields,
			    const struct fields_event *event)
{
	for (size_t i = 0; i < what->count; i++) {
		const struct pattern_condition *condition = &what->conditions[i];
		struct query_value value;

		if (!fields_get(event, fields[i], &value) ||
		    (!condition->is_tid && !pattern_condition_holds(condition, &value, 0))) {
			return false;
		}
	}
	return true;
}

/* ---- values ---- */

void labels_put_value(uint64_t value[VALUE_WORDS], const struct query_value *has)
{
	char number[QUERY_NUMBER_BYTES];
	size_t len;
	const char *text;

	if (has->kind == QUERY_NUMBER && has->type->label_count == 0 && !has->shown) {
		value[VALUE_KIND] = has->is_signed ? VALUE_SIGNED : VALUE_UNSIGNED;
		value[VALUE_FIRST] = has->is.u;
		return;
	}
	text = query_value_text(has, true, number, &len);
	value[VALUE_KIND] = VALUE_TEXT;
	if (len > VALUE_TEXT_BYTES) {
		value[VALUE_KIND] = hash_bytes(0, text, len);
		value[VALUE_KIND] += value[VALUE_KIND] < VALUE_KINDS ? VALUE_KINDS : 0;
		len = VALUE_TEXT_BYTES;
	}
	memcpy(value + VALUE_FIRST, text, len);
}

/* ---- keys ---- */

bool labels_put_keys(const struct period_side *side, const uint8_t *keys,
		     const struct period_link *link, const struct fields_event *event,
		     uint64_t *hash, uint64_t *values)
{
	*hash = link->by_process ? fields_hash_owner(0, event, &side->running) : 0;
	for (size_t i = 0; i < link->key_count; i++) {
		struct query_value has;

		if (!fields_get(event, keys[i], &has)) {
			return false;
		}
		*hash = query_value_hash(*hash, &has);
		if (values) {
			labels_put_value(values + i * VALUE_WORDS, &has);
		}
	}
	return true;
}

int64_t labels_thread_of(struct worker *worker, const struct period_side *side,
			 const struct trace_event *event)
{
	if (side->thread != FIELD_NONE) {
		const struct fields_event of = labels_event(worker, &side->fields, event);

		return (int32_t)fields_i64(&of, side->thread, 0);
	}
	return worker_thread_of(worker, event, &side->running);
}

/* ---- texts ---- */

/* A text that may be longer than its room: then the hash of all of it stands for its end. */
struct label_text {
	char *at;
	size_t room, len;
	uint64_t hash; /* of what is longer than its room */
};

static void put(struct label_text *text, const void *bytes, size_t len)
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

static void end(struct label_text *text)
{
	if (text->len > text->room) {
		hash_brief_end(text->at, text->room + 1, text->hash);
	}
}

/* Adds the value of a field; false: the event lacks it. */
static bool put_value(struct label_text *text, const struct fields_event *event, uint8_t field,
		      bool by_label)
{
	char number[QUERY_NUMBER_BYTES];
	struct query_value value;
	const char *is;
	size_t len;

	if (!fields_get(event, field, &value)) {
		return false;
	}
	is = query_value_text(&value, by_label, number, &len);
	put(text, is, len);
	return true;
}

/* Writes the id of a label; false: the event lacks part of it.  The number of an enumeration is
 * part of an id: another event may have it without labels. */
static bool put_id(char id[ID_BYTES], const struct label *label, const struct label_at *at,
		   const struct fields_event *event)
{
	struct label_text text = { .at = id, .room = ID_BYTES - 1 };

	memset(id, 0, ID_BYTES);
	for (size_t i = 0; i < label->key_count; i++) {
		if (i > 0) {
			put(&text, ",", 1);
		}
		if (!put_value(&text, event, at->keys[i], false)) {
			return false;
		}
	}
	if (label->by_process) {
		char pid[24];
		int64_t vpid = fields_i64(event, at->process, 0);

		put(&text, pid, (size_t)snprintf(pid, sizeof(pid), "@%" PRId64, vpid));
	}
	end(&text);
	return text.len > 0;
}

/* Writes "size=5", or the id of a label; "": the event lacks it. */
static void put_item(char item[ITEM_BYTES], const struct label_set *set,
		     const struct label_use *use, const struct label_at *at,
		     const struct fields_event *event)
{
	struct label_text text = { .at = item, .room = ITEM_BYTES - 1 };
	const char *name = label_use_name(set, use);
	char id[ID_BYTES];

	memset(item, 0, ITEM_BYTES);
	put(&text, name, strlen(name));
	put(&text, "=", 1);
	if (use->label < 0) {
		if (!put_value(&text, event, at->keys[0], true)) {
			item[0] = '\0';
		}
		end(&text);
	} else if (put_id(id, &set->all.at[use->label], at, event)) {
		put(&text, id, strlen(id));
	} else {
		item[0] = '\0';
	}
}

size_t labels_put_items(uint64_t words[ITEMS_WORDS], const struct label_set *set,
			const struct label_group *group, const struct label_at *at,
			const struct fields_event *event)
{
	char *to = (char *)(words + 1);
	char item[ITEM_BYTES];

	for (size_t i = 0; i < group->count; i++) {
		size_t len;

		put_item(item, set, &group->uses[i], &at[i], event);
		len = strlen(item);
		words[0] |= (uint64_t)len << i * ITEM_BITS;
		memcpy(to, item, len > 0 ? len + 1 : 0);
		to += len > 0 ? len + 1 : 0;
	}
	return 1 + ((size_t)(to - (char *)(words + 1)) + sizeof(*words) - 1) / sizeof(*words);
}

/* ---- names ---- */

static void note_name(struct worker *worker, const struct trace_event *at, uint32_t number,
		      uint64_t entity, unsigned int kind)
{
	const struct label_set *labels = &worker_periods(worker)->labels;
	const struct label_source *source = labels->sources.at[number];
	const struct fields_event event = labels_event(worker, &source->fields, at);
	int of = source->value.label;
	uint64_t words[LABEL_WORDS_MAX] = { 0 };
	char *name = (char *)(words + LABEL_TEXT);
	struct label_text text = { .at = name, .room = LABEL_TEXT_BYTES_MAX - 1 };
	bool has_name;
	struct record *record;

	if (!put_id((char *)(words + LABEL_ID), &labels->all.at[source->label], &source->id,
		    &event)) {
		return;
	}
	has_name = of < 0 ? put_value(&text, &event, source->value_at.keys[0], true)
			  : put_id(name, &labels->all.at[of], &source->value_at, &event);
	if (!has_name) {
		return;
	}
	if (of < 0 && text.len > text.room) {
		memset(name + text.room - 3, '.', 3);
	}
	words[LABEL_LEN] = strlen(name);
	record = worker_emit_entity(worker, at->ts, entity, kind);
	record->arg16 = (uint16_t)number;
	record->arg64 = worker_numbers(worker, words, LABEL_TEXT + words[LABEL_LEN] / 8 + 1);
}

/* Of the words, which are many, nothing is touched for an event that is not meant. */
void labels_note(struct worker *worker, const struct trace_event *event, uint32_t source,
		 uint64_t entity, unsigned int kind)
{
	const struct label_source *from = worker_periods(worker)->labels.sources.at[source];
	const struct fields_event of = labels_event(worker, &from->fields, event);

	if (labels_conditions_hold(from->what, from->conditions, &of)) {
		note_name(worker, event, source, entity, kind);
	}
}

size_t labels_needs_of(const struct label_set *set, handler_fn *on_label, struct need *needs)
{
	size_t count = 0;

	for (size_t i = 0; i < set->sources.count; i++) {
		const struct label_source *source = set->sources.at[i];
		struct need *need = &needs[count];

		if (!source->is_left_out) {
			need->event = source->what->event;
			memcpy(need->fields, source->fields.at, sizeof(need->fields));
			need->on_event = on_label;
			need->user = (uint32_t)i;
			count++;
		}
	}
	return count;
}
