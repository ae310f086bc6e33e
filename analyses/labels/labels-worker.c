/*
 * labels-worker: see labels.h; what an event tells.
 */
#include <string.h>

#include "analyses/labels/labels.h"
#include "base/hash.h"

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
	uint64_t plain = 0;

	*hash = link->by_process ? fields_hash_owner(0, event, &side->running) : 0;
	for (size_t i = 0; i < link->key_count; i++) {
		struct query_value has;

		if (!fields_get(event, keys[i], &has)) {
			return false;
		}
		*hash = query_value_hash(*hash, &has);
		plain = link->by_process ? query_value_hash(plain, &has) : 0;
		if (values) {
			labels_put_value(values + i * VALUE_WORDS, &has);
		}
	}
	if (link->by_process && link->met) {
		keys_met_note(link->met, keys == side->before, plain,
			      fields_owner(event, &side->running));
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

/* ---- items ---- */

size_t labels_put_items(uint64_t words[ITEMS_WORDS], const struct label_set *set,
			const struct label_group *group, const struct label_at *at,
			const struct fields_event *event)
{
	char *to = (char *)(words + 1);
	char item[ITEM_BYTES];

	for (size_t i = 0; i < group->count; i++) {
		size_t len;

		label_item(item, set, &group->uses[i], &at[i], event);
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
	uint64_t words[LABEL_WORDS_MAX];
	char *name = (char *)(words + LABEL_TEXT);
	struct record *record;

	if (!label_told((char *)(words + LABEL_ID), name, labels, source, &event)) {
		return;
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

	if (fields_meet(&of, from->what, from->conditions)) {
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
