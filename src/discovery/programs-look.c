/*
 * programs-look: see programs.h; which event follows which, by key and by thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "ctf/metadata/type.h"
#include "deep/reader.h"
#include "discovery/programs-state.h"
#include "kernel/thread-list.h"
#include "query/pattern.h"
#include "query/value.h"

enum { VTID, VPID, PROCNAME, FIRST_FIELD };
_Static_assert(FIRST_FIELD + PROGRAM_FIELDS_MAX <= PLAN_FIELDS_MAX, "one request has them all");

/* An event that came last of a class with a key. */
struct program_last {
	uint8_t class;
	uint64_t ts, number;
};

struct program_key {
	uint64_t count; /* events of it */
	VEC(struct program_last) lasts;
};

/* ---- what there is ---- */

static bool says_own_words(const char *event)
{
	return strncmp(event, "lttng_ust_", 10) == 0;
}

bool program_is_id(const char *field)
{
	static const char *const ends[] = { "id",   "handle", "ptr", "seq", "cookie",
					    "addr", "token",  "tag", "key" };
	size_t len = strlen(field);

	for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
		size_t of = strlen(ends[i]);

		if (len >= of && strcmp(field + len - of, ends[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* Texts are names of kinds as a rule. */
static bool may_be_key(const struct type *type, const char *name)
{
	return type->kind == TYPE_INT || (type->kind == TYPE_STRING && program_is_id(name));
}

/* How many classes have a field of the name that may be a key. */
static size_t classes_with(const struct metadata *types, const char *name)
{
	size_t count = 0;

	for (const struct event_class *class = types->events; class; class = class->next) {
		for (size_t i = 0; class->fields && i < class->fields->field_count; i++) {
			const struct type_field *field = &class->fields->fields[i];

			count += field->name && may_be_key(field->type, name) &&
				 !says_own_words(class->name) &&
				 strcmp(type_name(field->name), name) == 0;
		}
	}
	return count;
}

static void add_key_field(struct program_look *look, const struct metadata *types, const char *name)
{
	for (size_t i = 1; i < look->fields.count; i++) {
		if (strcmp(look->fields.at[i] + 1, name) == 0) {
			return;
		}
	}
	if (classes_with(types, name) < 2) {
		return; /* it joins nothing */
	}
	if (look->fields.count > PROGRAM_FIELDS_MAX) {
		look->is_cut = true;
		return;
	}
	*vec_push(&look->fields) = mem_printf(PLAN_ANY "%s", name);
}

/* Those that are called like ids come first. */
static void add_key_fields(struct program_look *look, const struct metadata *types, bool of_ids)
{
	for (const struct event_class *class = types->events; class; class = class->next) {
		for (size_t i = 0; class->fields && i < class->fields->field_count; i++) {
			const struct type_field *field = &class->fields->fields[i];
			const char *name = field->name ? type_name(field->name) : "";

			if (*name && program_is_id(name) == of_ids &&
			    may_be_key(field->type, name) && !says_own_words(class->name)) {
				add_key_field(look, types, name);
			}
		}
	}
}

static void take_program_types(struct program_look *look, const struct plan *plan)
{
	const struct metadata *types = plan->metadata;

	*vec_push(&look->fields) = NULL; /* BY_THREAD */
	add_key_fields(look, types, true);
	add_key_fields(look, types, false);
	look->class_count = plan->class_count;
	look->number_of = mem_alloc((plan->class_count + 1) * sizeof(*look->number_of));
	for (const struct event_class *class = types->events;
	     class && class->index < plan->class_count; class = class->next) {
		/* What no pattern has room for could not be asked for. */
		bool has_room = look->classes.count < PROGRAM_CLASSES_MAX &&
				strlen(class->name) < PATTERN_WORD_BYTES;
		bool is_wanted = !says_own_words(class->name);

		look->number_of[class->index] =
			has_room && is_wanted ? (int16_t)look->classes.count : -1;
		look->is_cut |= is_wanted && !has_room;
		if (has_room && is_wanted) {
			*vec_push(&look->classes) = mem_strdup(class->name);
		}
	}
	look->pairs =
		mem_alloc((look->fields.count * look->classes.count * look->classes.count + 1) *
			  sizeof(*look->pairs));
	look->uses =
		mem_alloc((look->fields.count * look->classes.count + 1) * sizeof(*look->uses));
}

/* ---- what follows what ---- */

static struct program_last *program_last_of(struct program_key *key, uint8_t class)
{
	for (size_t i = 0; i < key->lasts.count; i++) {
		if (key->lasts.at[i].class == class) {
			return &key->lasts.at[i];
		}
	}
	return NULL;
}

static struct program_key *program_key_of(struct program_look *look, uint64_t hash)
{
	struct program_key **found = program_keys_get(&look->keys, hash);

	if (!found && look->keys.used >= DISCOVERY_KEYS_MAX) {
		look->is_cut = true;
		return NULL;
	}
	if (!found) {
		found = program_keys_put(&look->keys, hash, NULL);
		*found = mem_alloc(sizeof(**found));
	}
	return *found;
}

/* The event came with the value, of a process: it follows those that came since it did last. */
static void count_key(struct program_look *look, size_t field, const uint64_t value[2],
		      uint8_t class, uint64_t ts)
{
	const uint64_t words[] = { field, value[0], value[1] };
	struct program_key *key = program_key_of(look, hash_bytes(0, words, sizeof(words)));
	struct program_last *last;
	uint64_t since;

	if (!key) {
		return;
	}
	last = program_last_of(key, class);
	since = last ? last->number : 0;
	for (size_t i = 0; i < key->lasts.count; i++) {
		const struct program_last *other = &key->lasts.at[i];

		if (other->class != class && other->number > since) {
			struct program_pair *pair = program_pair(look, field, other->class, class);

			pair->matched++;
			pair->first += last == NULL;
			pair->ns += ts - other->ts;
		}
	}
	if (!last) {
		last = vec_push(&key->lasts);
		program_use(look, field, class)->distinct++;
	}
	*last = (struct program_last){ .class = class, .ts = ts, .number = ++key->count };
	program_use(look, field, class)->count++;
}

static void count_time(struct program_look *look, const struct reader_event *event, uint8_t class,
		       uint64_t thread)
{
	uint64_t hash = hash_bytes(thread, &class, sizeof(class));
	struct program_series **series = program_series_of_get(&look->series, hash);
	const struct value *name = &event->values[PROCNAME];
	bool is_new = !series;

	if (look->times >= DISCOVERY_TIMES_MAX ||
	    (is_new && look->series.used >= DISCOVERY_SERIES_MAX)) {
		look->is_cut = true;
		return;
	}
	if (is_new) {
		series = program_series_of_put(&look->series, hash, NULL);
		*series = mem_alloc(sizeof(**series));
		(*series)->class = class;
		(*series)->process = reader_u64(event, VPID, 0);
		(*series)->tid = (int32_t)reader_i64(event, VTID, -1);
		if (reader_has(event, PROCNAME)) {
			memcpy((*series)->comm, name->bytes, name->len < 15 ? name->len : 15);
		}
	}
	*vec_push(&(*series)->times) = event->ts;
	look->times++;
}

static bool is_of_who(const struct program_look *look, const struct reader_event *event)
{
	const struct discovery_config *config = look->config;
	const struct value *name = &event->values[PROCNAME];
	char comm[16] = "";

	if (config->end > 0 && (event->ts < config->begin || event->ts >= config->end)) {
		return false;
	}
	if (!config->who) {
		return true;
	}
	if (reader_has(event, PROCNAME)) {
		memcpy(comm, name->bytes, name->len < 15 ? name->len : 15);
	}
	return thread_list_has(config->who, (int32_t)reader_i64(event, VTID, -1), comm);
}

static void count_program_event(struct program_look *look, const struct reader_event *event,
				uint8_t class)
{
	uint64_t key[] = { reader_u64(event, VPID, 0), reader_u64(event, VTID, event->cpu) };

	look->events++;
	count_key(look, BY_THREAD, key, class, event->ts);
	count_time(look, event, class, hash_bytes(0, key, sizeof(key)));
	for (size_t i = 1; i < look->fields.count; i++) {
		unsigned int at = FIRST_FIELD + (unsigned int)i - 1;
		struct query_value value;

		if (reader_has(event, at) &&
		    query_value_of(plan_field_of(event->class, event->binding, at),
				   &event->values[at], QUERY_ELEMENT_NONE, &value)) {
			key[1] = query_value_hash(0, &value);
			count_key(look, i, key, class, event->ts);
		}
	}
}

int program_look_at(const struct reader_setup *setup, struct program_look *look, struct err *err)
{
	struct plan_request request = {
		.event = "*", .fields = { "context.vtid", "context.vpid", "@context.procname" }
	};
	struct reader *reader = reader_open(setup, NULL, 0, err);
	struct reader_event event;

	if (reader) {
		take_program_types(look, reader_plan(reader));
		for (size_t i = 1; i < look->fields.count; i++) {
			request.fields[FIRST_FIELD + i - 1] = look->fields.at[i];
		}
		reader_close(reader);
		reader = reader_open(setup, &request, 1, err);
	}
	while (reader && reader_next(reader, &event) &&
	       !(look->config->stop && atomic_load(look->config->stop))) {
		/* A trace that is being written may have more classes by now. */
		if (event.class && event.class->class->index < look->class_count &&
		    look->number_of[event.class->class->index] >= 0 && is_of_who(look, &event)) {
			count_program_event(look, &event,
					    (uint8_t)look->number_of[event.class->class->index]);
		}
	}
	look->is_cut |= now_is_leaving() || (look->config->stop && atomic_load(look->config->stop));
	reader_close(reader);
	return reader ? 0 : -EINVAL;
}

void program_look_fini(struct program_look *look)
{
	HASH_EACH(program_keys, &look->keys, one) {
		vec_fini(&one->value->lasts);
		free(one->value);
	}
	HASH_EACH(program_series_of, &look->series, one) {
		vec_fini(&one->value->times);
		free(one->value);
	}
	program_keys_fini(&look->keys);
	program_series_of_fini(&look->series);
	for (size_t i = 1; i < look->fields.count; i++) {
		free(look->fields.at[i]);
	}
	VEC_EACH(&look->classes, class) {
		free(*class);
	}
	vec_fini(&look->fields);
	vec_fini(&look->classes);
	free(look->number_of);
	free(look->pairs);
	free(look->uses);
}
