/*
 * user-spans: see user-spans.h.
 */
#include "perfetto/user-spans.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/calls/calls.h"
#include "base/limits.h"
#include "base/text/utf8.h"
#include "perfetto/trace.h"
#include "symbols/callstack.h"
#include "symbols/symbols.h"

/* As the analysis of calls has them; of the first two the one that matches. */
#define FIELDS                                                                                     \
	CALL_KEY_NAMES, "context.vtid", "context.vpid", "@context.procname", "context.tid", "ret", \
		"@name"

const struct plan_request user_spans_requests[] = {
	{ .event = "*",
	  .fields = { FIELDS, "?ph", "?phase" },
	  .group = 1,
	  .takes = calls_has_phase },
	{ .event = "*", .fields = { FIELDS, "addr" }, .group = 1 },
	[SPAN_STATEDUMP] = { .event = "lttng_ust_statedump:procname", .fields = { "@procname" } },
	[SPAN_CALLSTACK] = CALLSTACK_REQUEST,
};
const size_t user_spans_request_count = ARRAY_COUNT(user_spans_requests);

_Static_assert(SPAN_VTID == (int)CALL_VTID && SPAN_PROCNAME == (int)CALL_PROCNAME,
	       "the fields are those of calls");

/* Spans of a name and of what tells them apart in it. */
struct span_kind {
	bool is_apart;     /* one outlived one around it ... */
	bool is_elsewhere; /* ... or ended on another thread than it began on */
};

/* What the events of a pair have in common. */
struct span_name {
	char *text;
	uint64_t first_key;     /* 0: none was seen */
	bool varies;            /* there was another key */
	struct span_kind other; /* of those for which there is no room */
};

HASH_MAP(span_names, struct span_name *)
HASH_MAP(span_kinds, struct span_kind *)
HASH_MAP(span_threads, struct span_thread *)
HASH_MAP(process_names, char *)
HASH_MAP(spans_by_key, struct user_span *)

struct user_spans {
	struct symbols *symbols;
	struct call_sides *sides;
	struct span_name **of_class; /* by index; NULL: none of a pair */
	struct span_names names;
	struct span_kinds kinds; /* by name and sub */
	struct span_threads threads, cpus;
	struct spans_by_key by_key; /* the newest of each */
	struct process_names processes;
	size_t open_count;
	bool has_looked;
};

/* ---- names ---- */

/* "service:request" of "service:request_begin" */
static char *stem_of(const char *event)
{
	size_t len = calls_rest(event);

	len = len > 0 ? len : strlen(event);
	while (len > 1 && strchr("_-.:", event[len - 1])) {
		len--;
	}
	return mem_printf("%.*s", (int)len, event);
}

static struct span_name *span_name_of(struct user_spans *spans, const char *event, uint8_t begins)
{
	char *text = stem_of(event);
	uint64_t hash = hash_text(begins, text);
	bool is_new;
	struct span_name **at = span_names_put(&spans->names, hash, &is_new);

	if (is_new) {
		*at = mem_alloc(sizeof(**at));
		(*at)->text = text;
	} else {
		free(text);
	}
	return *at;
}

struct user_spans *user_spans_new(const struct plan *plan, struct symbols *symbols)
{
	struct user_spans *spans = mem_alloc(sizeof(*spans));

	spans->symbols = symbols;
	spans->sides = calls_sides_of(plan, NULL);
	spans->of_class = mem_alloc((plan->class_count + 1) * sizeof(struct span_name *));
	for (const struct event_class *class = plan->metadata->events;
	     class && class->index < plan->class_count; class = class->next) {
		uint8_t begins = spans->sides->at[class->index].begins;

		if (begins != 0) {
			spans->of_class[class->index] = span_name_of(spans, class->name, begins);
		}
	}
	return spans;
}

/* Without keys that vary spans belong to threads. */
bool user_spans_are_apart(const struct user_span *span)
{
	return span->kind->is_apart || (span->kind->is_elsewhere && span->name->varies);
}

const char *user_spans_text(const struct user_span *span)
{
	return span->name->text;
}

/* ---- fields ---- */

static bool field_value_of(const struct reader_event *event, unsigned int field,
			   struct query_value *ret)
{
	return reader_has(event, field) &&
	       query_value_of(plan_field_of(event->class, event->binding, field),
			      &event->values[field], QUERY_ELEMENT_NONE, ret);
}

static enum span_role span_role_of(const struct reader_event *event, const struct call_side *side)
{
	struct query_value value;
	enum call_phase phase;

	if (side->begins != 1u << CALL_PHASE) {
		return side->is_end ? SPAN_ENDS : SPAN_BEGINS;
	}
	if (!field_value_of(event, CALL_PHASE_FIELD, &value) &&
	    !field_value_of(event, CALL_PH, &value)) {
		return SPAN_NONE;
	}
	phase = calls_phase_of(&value);
	return phase == PHASE_BEGIN ? SPAN_BEGINS : phase == PHASE_END ? SPAN_ENDS : SPAN_NONE;
}

/* What tells spans of two events apart, as text. */
static size_t span_sub_of(const struct reader_event *event, const struct call_side *side,
			  char *text, size_t size)
{
	struct query_value value;

	text[0] = '\0';
	if (side->is_function && field_value_of(event, CALL_ADDR, &value)) {
		(void)snprintf(text, size, "0x%" PRIx64, value.is.u);
	} else if (side->has_name && field_value_of(event, CALL_NAME, &value)) {
		(void)utf8_copy(text, size, value.is.bytes,
				strnlen((const char *)value.is.bytes, value.is.len));
	}
	return strlen(text);
}

/* @address: its text, if it has no name. */
static const char *function_name(const struct user_spans *spans, const struct reader_event *event,
				 const char *address)
{
	struct query_value value;
	const char *name = NULL;

	if (spans->symbols && field_value_of(event, CALL_ADDR, &value)) {
		name = symbols_find(spans->symbols, reader_i64(event, SPAN_VPID, 0), event->ts,
				    value.is.u);
	}
	return name ? name : address;
}

/* ---- threads ---- */

struct span_thread *user_spans_thread(struct user_spans *spans, const struct reader_event *event)
{
	bool has_tid = reader_has(event, SPAN_VTID);
	int32_t tid = (int32_t)reader_i64(event, SPAN_VTID, -1);
	int32_t pid = (int32_t)reader_i64(event, SPAN_VPID, -1);
	uint64_t key = has_tid ? (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid : event->cpu;
	bool is_new;
	struct span_thread **at =
		span_threads_put(has_tid ? &spans->threads : &spans->cpus, key, &is_new);

	if (is_new) {
		*at = mem_alloc(sizeof(**at));
		**at = (struct span_thread){ .pid = pid, .tid = tid, .cpu = event->cpu };
	}
	return *at;
}

const char *user_spans_process(const struct user_spans *spans, int32_t pid)
{
	char **name = pid >= 0 ? process_names_get(&spans->processes, (uint32_t)pid) : NULL;

	return name ? *name : NULL;
}

void user_spans_name(struct user_spans *spans, int32_t pid, const struct value *name)
{
	char text[PERFETTO_NAME];
	bool is_new = false;
	char **at = pid >= 0 ? process_names_put(&spans->processes, (uint32_t)pid, &is_new) : NULL;

	if (is_new) {
		trace_name(text, name);
		*at = mem_strdup(text);
	}
}

struct symbols *user_spans_symbols(const struct user_spans *spans)
{
	return spans->symbols;
}

/* ---- what is open ---- */

static void unlink_span(struct user_spans *spans, struct user_span *span)
{
	if (span->older) {
		span->older->newer = span->newer;
	}
	if (span->newer) {
		span->newer->older = span->older;
	} else if (span->key != 0 && span->older) {
		*spans_by_key_put(&spans->by_key, span->key, NULL) = span->older;
	} else if (span->key != 0) {
		(void)spans_by_key_drop(&spans->by_key, span->key);
	}
}

/* Its place in the open ones of its thread. */
static size_t place_in_thread(const struct user_span *span)
{
	size_t at = span->thread->open.count;

	while (at > 0 && span->thread->open.at[at - 1] != span) {
		at--;
	}
	assert(at > 0);
	return at - 1;
}

static void remove_span(struct user_spans *spans, struct user_span *span)
{
	struct span_thread *thread = span->thread;
	size_t at = place_in_thread(span);

	memmove(&thread->open.at[at], &thread->open.at[at + 1],
		(--thread->open.count - at) * sizeof(struct user_span *));
	unlink_span(spans, span);
	spans->open_count--;
}

void user_spans_drop(struct user_spans *spans, struct user_span *span)
{
	remove_span(spans, span);
	free(span);
}

static struct span_kind *span_kind_of(struct user_spans *spans, struct span_name *name,
				      uint64_t sub)
{
	uint64_t key = hash_bytes(sub, &name, sizeof(struct span_name *));
	struct span_kind **known = span_kinds_get(&spans->kinds, key);

	if (!known && spans->kinds.used >= CALLS_NAMES_MAX) {
		return &name->other;
	}
	if (!known) {
		known = span_kinds_put(&spans->kinds, key, NULL);
		*known = mem_alloc(sizeof(**known));
	}
	return *known;
}

static struct user_span *open_span(struct user_spans *spans, struct span_thread *thread,
				   struct span_name *name, uint64_t key, uint64_t sub)
{
	struct user_span *span, **newest;

	if (spans->open_count >= CALLS_OPEN_MAX) {
		return NULL;
	}
	if (thread->open.count >= CALLS_DEPTH_MAX && !spans->has_looked) {
		user_spans_drop(spans, thread->open.at[0]); /* its end is missing */
	} else if (thread->open.count >= CALLS_DEPTH_MAX) {
		return NULL;
	}
	span = mem_alloc(sizeof(*span));
	*span = (struct user_span){ .thread = thread,
				    .name = name,
				    .kind = span_kind_of(spans, name, sub),
				    .key = key,
				    .sub = sub };
	if (key != 0) {
		newest = spans_by_key_put(&spans->by_key, key, NULL);
		span->older = *newest;
		if (span->older) {
			span->older->newer = span;
		}
		*newest = span;
	}
	*vec_push(&thread->open) = span;
	spans->open_count++;
	return span;
}

/* The newest of the key, first of all on the thread. */
static struct user_span *newest_of_key(const struct user_spans *spans,
				       const struct span_thread *thread, uint64_t key)
{
	struct user_span **newest = spans_by_key_get(&spans->by_key, key), *found = NULL;
	unsigned int turns = 0;

	for (struct user_span *one = newest ? *newest : NULL; one && turns < 64; one = one->older) {
		if (one->thread == thread) {
			return one;
		}
		turns++;
	}
	found = newest ? *newest : NULL;
	return found;
}

static struct user_span *open_of(const struct user_spans *spans, const struct span_thread *thread,
				 const struct span_name *name, uint64_t key, uint64_t sub)
{
	if (key != 0) {
		return newest_of_key(spans, thread, key);
	}
	for (size_t i = thread->open.count; i-- > 0;) {
		struct user_span *one = thread->open.at[i];

		if (one->name == name && one->sub == sub && one->key == 0) {
			return one;
		}
	}
	return NULL;
}

/* The first pass: what the end tells of the names. */
static void look_at_end(struct user_span *span, const struct span_thread *thread)
{
	for (size_t i = place_in_thread(span) + 1; i < span->thread->open.count; i++) {
		span->thread->open.at[i]->is_crossed = true;
	}
	span->kind->is_apart |= span->is_crossed;
	span->kind->is_elsewhere |= span->thread != thread;
}

/* A hash of the event's key and all that it belongs to; 0: it has none. */
static uint64_t span_key_of(struct user_spans *spans, const struct reader_event *event,
			    const struct call_side *side, struct span_name *name, uint64_t sub)
{
	struct query_value value;
	uint64_t key, process = reader_u64(event, SPAN_VPID, 0);

	if (side->key == FIELD_NONE || !field_value_of(event, side->key, &value)) {
		return 0;
	}
	key = query_value_hash(0, &value) | 1;
	if (!spans->has_looked) {
		name->varies |= name->first_key != 0 && name->first_key != key;
		name->first_key = key;
	} else if (!name->varies) {
		return 0;
	}
	key = hash_bytes(key, &name, sizeof(struct span_name *));
	key = hash_bytes(key, &process, sizeof(process));
	return hash_bytes(key, &sub, sizeof(sub)) | 1;
}

void user_spans_take(struct user_spans *spans, const struct reader_event *event,
		     struct span_step *step)
{
	uint32_t class = event->class->class->index;
	struct span_name *name = spans->of_class[class];
	const struct call_side *side = &spans->sides->at[class];
	struct span_thread *thread;
	uint64_t key, sub;
	char text[128];

	step->role = name ? span_role_of(event, side) : SPAN_NONE;
	if (step->role == SPAN_NONE) {
		return;
	}
	thread = user_spans_thread(spans, event);
	sub = span_sub_of(event, side, text, sizeof(text)) > 0 ? hash_text(0, text) : 0;
	key = span_key_of(spans, event, side, name, sub);
	if (key == 0 && thread->tid < 0) {
		step->role = SPAN_NONE; /* events of a CPU do not nest */
		return;
	}
	if (step->role == SPAN_BEGINS) {
		step->span = open_span(spans, thread, name, key, sub);
		if (step->span) {
			step->span->begin = event->ts;
		}
		if (side->is_function) {
			(void)snprintf(step->name, sizeof(step->name), "%s",
				       function_name(spans, event, text));
		} else {
			(void)snprintf(step->name, sizeof(step->name), "%.60s%s%s", name->text,
				       *text ? " " : "", text);
		}
	} else {
		step->span = open_of(spans, thread, name, key, sub);
		if (step->span && !spans->has_looked) {
			look_at_end(step->span, thread);
		}
	}
	step->role = step->span ? step->role : SPAN_NONE;
}

void user_spans_forget(struct user_spans *spans, void (*drop)(void *user, struct user_span *span),
		       void *user)
{
	struct span_threads *tables[] = { &spans->threads, &spans->cpus };

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		HASH_EACH(span_threads, tables[i], one) {
			struct span_thread *thread = one->value;

			while (thread->open.count > 0) {
				struct user_span *span = thread->open.at[thread->open.count - 1];

				if (drop) {
					drop(user, span);
				}
				user_spans_drop(spans, span);
			}
		}
	}
}

void user_spans_looked(struct user_spans *spans)
{
	user_spans_forget(spans, NULL, NULL);
	spans->has_looked = true;
}

void user_spans_free(struct user_spans *spans)
{
	struct span_threads *tables[] = { &spans->threads, &spans->cpus };

	user_spans_forget(spans, NULL, NULL);
	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		HASH_EACH(span_threads, tables[i], one) {
			vec_fini(&one->value->open);
			free(one->value);
		}
		span_threads_fini(tables[i]);
	}
	HASH_EACH(span_names, &spans->names, one) {
		free(one->value->text);
		free(one->value);
	}
	HASH_EACH(span_kinds, &spans->kinds, one) {
		free(one->value);
	}
	HASH_EACH(process_names, &spans->processes, one) {
		free(one->value);
	}
	process_names_fini(&spans->processes);
	span_names_fini(&spans->names);
	span_kinds_fini(&spans->kinds);
	spans_by_key_fini(&spans->by_key);
	free(spans->of_class);
	free(spans->sides);
	free(spans);
}
