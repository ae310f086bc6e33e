/*
 * calls-pairs: see calls.h; which event classes of a trace are begins and ends of calls.
 *
 *     service:request_begin ─┐ the same, but for the last word
 *     service:request_end   ─┴─► a pair, by the key "id", which both have
 *
 * Metadata alone decides, so the same events are calls in whatever order they come.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyses/calls/calls.h"
#include "engine/contract/missing.h"
#include "symbols/symbols-here.h"

/* ---- words ---- */

enum word { NONE, ENTRY, BEGIN, START, ENTER, IN, ISSUE, EXIT, END, STOP, LEAVE, OUT, COMPLETE };

static const char *const words[] = {
	[ENTRY] = "entry", [BEGIN] = "begin", [START] = "start", [ENTER] = "enter",
	[IN] = "in",       [ISSUE] = "issue", [EXIT] = "exit",   [END] = "end",
	[STOP] = "stop",   [LEAVE] = "leave", [OUT] = "out",     [COMPLETE] = "complete",
};

/* Where an end fits two begins of the trace, the one that is listed first counts. */
static const struct {
	uint8_t begin, end; /* enum word */
	uint8_t is;         /* enum call_begin */
} pairs[] = {
	{ ENTRY, EXIT, CALL_ENTRY }, { BEGIN, END, CALL_BEGIN },      { START, STOP, CALL_START },
	{ START, END, CALL_START },  { ENTER, EXIT, CALL_ENTER },     { ENTER, LEAVE, CALL_ENTER },
	{ IN, OUT, CALL_IN },        { ISSUE, COMPLETE, CALL_ISSUE },
};

bool calls_begins_word(const char *event, size_t at)
{
	char before = event[at - 1], first = event[at];
	bool is_small = (before >= 'a' && before <= 'z') || (before >= '0' && before <= '9');

	return strchr("_-.:", before) || (is_small && first >= 'A' && first <= 'Z');
}

static enum word last_word(const char *event, size_t *ret_rest)
{
	size_t len = strlen(event);

	for (size_t i = ENTRY; i < ARRAY_COUNT(words); i++) {
		size_t of = strlen(words[i]);

		if (len > of + 1 && strcasecmp(event + len - of, words[i]) == 0 &&
		    calls_begins_word(event, len - of)) {
			*ret_rest = len - of;
			return (enum word)i;
		}
	}
	*ret_rest = 0;
	return NONE;
}

size_t calls_rest(const char *event)
{
	size_t rest;

	(void)last_word(event, &rest);
	return rest;
}

bool calls_are_functions(const char *event)
{
	static const char provider[] = "lttng_ust_cyg_profile";

	return strncmp(event, provider, sizeof(provider) - 1) == 0;
}

bool calls_has_word(const struct event_class *class)
{
	return calls_rest(class->name) > 0;
}

/* ---- fields ---- */

static const char *const keys[CALL_KEYS] = { CALL_KEY_NAMES };

static const struct type *payload_field(const struct event_class *class, const char *name)
{
	for (size_t i = 0; class->fields && i < class->fields->field_count; i++) {
		const struct type_field *field = &class->fields->fields[i];

		if (field->name && strcmp(type_name(field->name), name) == 0) {
			return field->type;
		}
	}
	return NULL;
}

static bool says_text(const struct type *type)
{
	return type && (type->kind == TYPE_STRING ||
			((type->kind == TYPE_ARRAY || type->kind == TYPE_SEQUENCE) &&
			 type_is_text(type->element)));
}

static bool says_number(const struct type *type)
{
	return type && (type->kind == TYPE_INT || type->kind == TYPE_ENUM);
}

/* The fields that may be a key, by bit. */
static uint8_t possible_keys(const struct event_class *class)
{
	uint8_t has = 0;

	for (size_t i = 0; i < CALL_KEYS; i++) {
		const struct type *type = payload_field(class, keys[i] + 1);

		has |= (uint8_t)((says_number(type) || says_text(type)) << i);
	}
	return has;
}

/* "begin", "B", "req_start"; something has to stand before a word. */
static enum call_phase phase_named(const char *text, size_t len)
{
	char name[33] = "x-";
	size_t rest;
	enum word word;

	if (len == 1) {
		return *text == 'B' || *text == 'b'   ? PHASE_BEGIN
		       : *text == 'E' || *text == 'e' ? PHASE_END
						      : PHASE_NONE;
	}
	if (len + 3 > sizeof(name)) {
		return PHASE_NONE;
	}
	memcpy(name + 2, text, len);
	word = last_word(name, &rest);
	return word == NONE ? PHASE_NONE : word < EXIT ? PHASE_BEGIN : PHASE_END;
}

enum call_phase calls_phase_of(const struct query_value *value)
{
	char number[QUERY_NUMBER_BYTES];
	size_t len, first = 0;
	const char *text;

	if (value->kind == QUERY_NUMBER && !query_value_label(value, &first) &&
	    value->is.u <= UINT8_MAX) {
		char letter = (char)value->is.u;

		return phase_named(&letter, 1);
	}
	text = query_value_text(value, true, number, &len);
	return phase_named(text, len);
}

/* Whether its labels name a begin and an end; without labels values are letters. */
static bool tells_phase(const struct type *type)
{
	unsigned int has = 0;

	for (size_t i = 0; says_number(type) && i < type->label_count; i++) {
		has |= 1u << phase_named(type->labels[i].name, strlen(type->labels[i].name));
	}
	return says_text(type) || (says_number(type) && type->label_count == 0) ||
	       (has >> PHASE_BEGIN & has >> PHASE_END & 1);
}

bool calls_has_phase(const struct event_class *class)
{
	return !calls_has_word(class) && (tells_phase(payload_field(class, "phase")) ||
					  tells_phase(payload_field(class, "ph")));
}

/* ---- pairs ---- */

/* A class that has one of the words. */
struct worded {
	const struct event_class *class;
	size_t rest;
	enum word word;
};

static int by_rest(const void *left, const void *right)
{
	const struct worded *a = left, *b = right;
	size_t len = a->rest < b->rest ? a->rest : b->rest;
	int order = strncmp(a->class->name, b->class->name, len);

	return order != 0 ? order : a->rest < b->rest ? -1 : a->rest > b->rest;
}

/* The only bit; FIELD_NONE: there are several, or none. */
static uint8_t only_key(uint8_t has)
{
	return has != 0 && (has & (has - 1)) == 0 ? (uint8_t)__builtin_ctz(has) : FIELD_NONE;
}

const char *calls_common_key(const struct event_class *begin, const struct event_class *end)
{
	uint8_t key = only_key(possible_keys(begin) & possible_keys(end));

	return key == FIELD_NONE ? NULL : keys[key] + 1;
}

static bool is_named(const struct event_class *class)
{
	return says_text(payload_field(class, "name"));
}

/* What all classes of a begin and its ends have. */
static void share(struct call_sides *sides, const struct worded *all, size_t count,
		  enum call_begin begin)
{
	uint8_t has = UINT8_MAX;
	bool named = true;

	for (size_t i = 0; i < count; i++) {
		if (sides->at[all[i].class->index].begins == 1u << begin) {
			has &= possible_keys(all[i].class);
			named &= is_named(all[i].class);
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct call_side *side = &sides->at[all[i].class->index];

		if (side->begins == 1u << begin) {
			side->key = only_key(has);
			side->has_name = named;
		}
	}
}

/* Classes whose names have the same rest. */
static void pair(struct call_sides *sides, const struct worded *all, size_t count)
{
	unsigned int has = 0;

	for (size_t i = 0; i < count; i++) {
		has |= 1u << all[i].word;
	}
	for (size_t p = ARRAY_COUNT(pairs); p-- > 0;) {
		for (size_t i = 0; i < count; i++) {
			struct call_side *side = &sides->at[all[i].class->index];
			bool is_end = all[i].word == pairs[p].end;

			if ((has >> pairs[p].begin & has >> pairs[p].end & 1) &&
			    (is_end || all[i].word == pairs[p].begin)) {
				side->begins = (uint8_t)(1u << pairs[p].is);
				side->is_end = is_end;
				side->is_function = calls_are_functions(all[i].class->name);
			}
		}
	}
	for (unsigned int begin = 0; begin < CALL_PHASE; begin++) {
		share(sides, all, count, (enum call_begin)begin);
	}
}

static size_t same_rest(const struct worded *all, size_t count)
{
	size_t same = 1;

	while (same < count && by_rest(&all[0], &all[same]) == 0) {
		same++;
	}
	return same;
}

/* ---- what the user asks for ---- */

/* By hash of what "*" stands for: which of both events the trace has, by bit. */
HASH_MAP(call_stems, uint8_t)

/* Whether the class has what the other event has to agree in; contexts are not of the class. */
static bool has_keys(const struct event_class *class, const struct period *call, size_t step)
{
	const struct expression_link *link = &call->is->links[0];
	bool has = true;

	for (size_t i = 0; i < link->key_count; i++) {
		const char *key = step == 0 ? link->keys[i].begin : link->keys[i].end;
		char name[PATTERN_WORD_BYTES] = "";
		uint32_t unused;

		memcpy(name, key, fields_split(key, &unused));
		has &= key[0] == '$' || strncmp(key, "context.", 8) == 0 ||
		       payload_field(class, name);
	}
	return has;
}

/* Marks the classes of a call: those of which both events are there. */
static void ask_for(struct call_sides *sides, const struct metadata *types,
		    const struct period *call, uint32_t number)
{
	struct call_stems stems = { 0 };

	for (size_t turn = 0; turn < 2; turn++) {
		for (const struct event_class *class = types->events;
		     class && class->index < sides->count; class = class->next) {
			for (uint32_t step = 0; step < 2; step++) {
				const char *stem;
				size_t len;
				bool is_new, takes = period_call_takes(call, step, class->name,
								       &stem, &len) &&
						     has_keys(class, call, step);
				uint8_t *has =
					takes ? call_stems_put(&stems, hash_bytes(1, stem, len),
							       &is_new)
					      : NULL;

				*(has ? has : &(uint8_t){ 0 }) |= (uint8_t)(1u << step);
				if (has && *has == 3 && turn == 1) {
					calls_asked(sides, number * 2 + step)[class->index] = 1;
					sides->at[class->index].begins = 1u << CALL_ASKED;
				}
			}
		}
	}
	call_stems_fini(&stems);
}

static struct call_sides *sides_of_types(const struct metadata *types, uint32_t class_count,
					 const struct period_set *periods)
{
	size_t asked = periods ? periods->calls.count : 0;
	struct call_sides *sides =
		mem_alloc(sizeof(*sides) + class_count * (sizeof(sides->at[0]) + 2 * asked));
	struct worded *all = mem_alloc((class_count + 1) * sizeof(*all));
	size_t count = 0;

	sides->count = class_count;
	for (uint32_t i = 0; i < asked; i++) {
		if (!periods->calls.at[i]->is_left_out) {
			ask_for(sides, types, periods->calls.at[i], i);
		}
	}
	for (const struct event_class *class = types->events; class && class->index < sides->count;
	     class = class->next) {
		struct call_side *side = &sides->at[class->index];

		side->key = FIELD_NONE;
		if (side->begins) {
			continue; /* the user says what it is */
		}
		if (calls_has_phase(class)) {
			side->begins = 1u << CALL_PHASE;
			side->key = only_key(possible_keys(class));
			side->has_name = is_named(class);
		} else {
			all[count] = (struct worded){ .class = class };
			all[count].word = last_word(class->name, &all[count].rest);
			count += all[count].word != NONE;
		}
	}
	if (count > 1) {
		qsort(all, count, sizeof(*all), by_rest);
	}
	for (size_t i = 0, same; i < count; i += same) {
		same = same_rest(all + i, count - i);
		pair(sides, all + i, same);
	}
	free(all);
	return sides;
}

void *calls_sides_of(const struct plan *plan, const struct period_set *periods)
{
	struct call_sides *sides = sides_of_types(plan->metadata, plan->class_count, periods);
	bool has_functions = false;

	for (size_t i = 0; i < sides->count; i++) {
		has_functions |= sides->at[i].is_function;
	}
	sides->here = has_functions && !plan_has_event(plan, "lttng_ust_statedump:bin_info") &&
				      symbols_here_is_of(plan->metadata)
			      ? plan->metadata
			      : NULL;
	return sides;
}

struct call_sides *calls_sides_in(const struct metadata *types, const struct period_set *periods)
{
	uint32_t count = 0;

	for (const struct event_class *class = types->events; class; class = class->next) {
		count = class->index >= count ? class->index + 1 : count;
	}
	return sides_of_types(types, count, periods);
}
