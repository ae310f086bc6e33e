/*
 * calls-open: see calls.h; which end belongs to which begin.
 *
 *     thread 7   request 1 begins   span begins   span ends     request 2 begins
 *                                   (in it)
 *     thread 9                                                     request 1 ends: by its key
 *
 * A call by thread ends with the newest of its name on the thread; what began later by thread, and
 * is open, has no end.  One by key ends with the newest of its key on the thread, else anywhere in
 * the process.  A key of which there was one value tells nothing yet: threads decide, and an end
 * that no call of its thread has is held until another value comes.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/calls/calls.h"
#include "symbols/symbols.h"

/* Where the words of a note are. */
static const uint64_t *words_of(const struct ordered *ordered)
{
	return (const uint64_t *)(uintptr_t)ordered->words[NOTE_WORDS];
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t words[] = { a, b };
	uint64_t hash = hash_bytes(0, words, sizeof(words));

	return hash ? hash : 1;
}

/* ---- names ---- */

/* What a name is made of: of the event's what the other event has, too; or of what the user asked
 * for: NAME and what "*" stands for, and without NAME all before that. */
struct call_parts {
	uint64_t rest, id;
	const char *event, *name, *stem;
	size_t len, stem_len; /* of event and stem */
};

/* Whether it is called by its address, unless the user says how it is called. */
static bool is_function(const struct call_parts *parts)
{
	return !*parts->name && calls_are_functions(parts->event);
}

/* "service:span" of "service:span_begin", "service:span flush" with a name, and of a function the
 * address alone. */
static struct call_name *make_name(const struct call_parts *parts, const char *sub)
{
	size_t len = parts->len;
	const char *colon = strchr(parts->event, ':');
	size_t provider = colon ? (size_t)(colon - parts->event) : 0;
	bool of_function = *sub && is_function(parts);
	struct call_name *name = mem_alloc(sizeof(*name) + 2 * strlen(parts->event) +
					   strlen(parts->name) + parts->stem_len + strlen(sub) + 4);

	while (len > 1 && strchr("_-.:", parts->event[len - 1]) && parts->stem_len == 0) {
		len--;
	}
	name->rest = parts->rest;
	name->is_function = of_function;
	(void)sprintf(name->text, "%s%s%.*s%.*s%s%s", parts->name,
		      *parts->name && parts->stem_len > 0 ? " " : "",
		      of_function || *parts->name ? 0 : (int)len, parts->event,
		      (int)parts->stem_len, parts->stem, *sub && !of_function ? " " : "", sub);
	name->provider = name->text + strlen(name->text) + 1;
	(void)sprintf(name->provider, "%.*s", (int)provider, parts->event);
	return name;
}

static void part_asked(struct call_parts *parts, const struct period *call, uint64_t number,
		       bool is_end)
{
	(void)period_call_takes(call, is_end, parts->event, &parts->stem, &parts->stem_len);
	parts->rest = mix(call->ends_as + 1, hash_bytes(0, parts->stem, parts->stem_len));
	parts->id = mix(mix(number, is_end), parts->rest);
	parts->name = call->is->has_name ? call->name : "";
	parts->len =
		parts->stem_len > 0 ? (size_t)(parts->stem - parts->event) : strlen(parts->event);
}

static struct call_parts parts_of(struct shard *shard, const struct ordered *ordered)
{
	uint64_t flags = ordered->words[NOTE_FLAGS];
	struct call_parts parts = {
		.event = shard_event_name(shard, (uint32_t)ordered->words[NOTE_CLASS]),
		.name = "",
		.stem = "",
	};

	if (flags & 1u << CALL_ASKED) {
		uint64_t number = words_of(ordered)[WORD_MORE];

		part_asked(&parts, shard_periods(shard)->calls.at[number], number,
			   ordered->kind == OWN_END);
	} else {
		parts.len =
			flags & 1u << CALL_PHASE ? strlen(parts.event) : calls_rest(parts.event);
		parts.rest = parts.id = hash_bytes(0, parts.event, parts.len);
	}
	return parts;
}

void calls_add_name(struct calls_trace *trace, struct call_name *name)
{
	*call_names_put(&trace->names, name->id, NULL) = name;
	list_add(&trace->names_used, &name->node);
}

static void touch_name(struct calls_trace *trace, struct call_name *name)
{
	list_remove(&trace->names_used, &name->node);
	list_add(&trace->names_used, &name->node);
}

static void drop_name(struct calls_trace *trace, struct call_name *name)
{
	(void)call_names_drop(&trace->names, name->id);
	list_remove(&trace->names_used, &name->node);
	free(name->shown);
	free(name);
}

#define NAMES_TRIED 64

/* Makes room for one more, in place of the one that was used longest ago: functions of processes
 * that have ended, for one.  False: too many have to stay. */
static bool make_room_for_name(struct calls_trace *trace)
{
	for (unsigned int i = 0; i < NAMES_TRIED && trace->names.used >= CALLS_NAMES_MAX; i++) {
		struct call_name *oldest = (struct call_name *)trace->names_used.first;

		if (oldest->uses > 0 || oldest->shown) {
			touch_name(trace, oldest);
		} else {
			drop_name(trace, oldest);
		}
	}
	return trace->names.used < CALLS_NAMES_MAX;
}

/* What is called so; where too many are in use, only the events tell them apart. */
static struct call_name *noted_name(struct shard *shard, struct calls_trace *trace,
				    const struct ordered *ordered, const char *sub)
{
	const struct call_parts parts = parts_of(shard, ordered);
	uint64_t id = hash_text(parts.id, sub), process = words_of(ordered)[WORD_PROCESS];
	struct call_name **found, *name;

	if (*sub && is_function(&parts)) {
		id = mix(id, process); /* another one has another function there */
	}
	found = call_names_get(&trace->names, id);
	if (!found && *sub && !make_room_for_name(trace)) {
		shard_trace_row(shard, TOTALS)[UNNAMED]++;
		return noted_name(shard, trace, ordered, "");
	}
	name = found ? *found : make_name(&parts, sub);
	if (found) {
		touch_name(trace, name);
	} else {
		name->id = id;
		name->process = process;
		name->address = strtoull(sub, NULL, 16);
		calls_add_name(trace, name);
	}
	if (name->is_function) {
		calls_name_function(trace, name, ordered->ts);
	}
	return name;
}

/* ---- open calls ---- */

/* That of its first call or exec, whatever tid it takes. */
static uint64_t thread_id(const struct ordered *ordered)
{
	uint64_t *id = shard_thread_state(ordered->shard, ordered->thread);

	if (*id == 0) {
		*id = (uint64_t)(uint32_t)shard_tid(ordered->thread) << 32 |
		      shard_incarnation(ordered->thread);
	}
	return *id;
}

static struct call_thread *stack_of(struct calls_trace *trace, const struct ordered *ordered)
{
	uint64_t id = thread_id(ordered);
	bool is_new;
	struct call_thread **found = call_threads_put(&trace->threads, id, &is_new);

	if (is_new) {
		*found = mem_alloc(sizeof(**found));
		(*found)->id = id;
		(*found)->number = shard_thread_number(ordered->thread);
	}
	return *found;
}

static void link_key(struct calls_trace *trace, struct program_call *call)
{
	bool is_new;
	struct program_call **newest = calls_by_key_put(&trace->by_key, call->key, &is_new);

	call->older = is_new ? NULL : *newest;
	if (call->older) {
		call->older->newer = call;
	}
	*newest = call;
}

static void unlink_key(struct calls_trace *trace, struct program_call *call)
{
	if (call->older) {
		call->older->newer = call->newer;
	}
	if (call->newer) {
		call->newer->older = call->older;
	} else if (call->older) {
		*calls_by_key_get(&trace->by_key, call->key) = call->older;
	} else {
		(void)calls_by_key_drop(&trace->by_key, call->key);
	}
}

/* It is open no longer; the caller owns it.  @ns: how long it lay within the one below it. */
static void take_off(struct calls_trace *trace, struct program_call *call, uint64_t ns)
{
	struct call_thread *on = call->on;
	size_t at = on->stack.count;

	while (on->stack.at[at - 1] != call) {
		at--;
		assert(at > 0);
	}
	if (at > 1) {
		on->stack.at[at - 2]->within += ns;
	}
	memmove(on->stack.at + at - 1, on->stack.at + at,
		(on->stack.count - at) * sizeof(*on->stack.at));
	on->stack.count--;
	list_remove(&trace->open, &call->node);
	if (call->key) {
		unlink_key(trace, call);
	}
}

void calls_free(struct program_call *call)
{
	call->name->uses--;
	free(call->counters);
	free(call);
}

/* It has no end; what lay within it lay within the one below it. */
static void end_unseen(struct shard *shard, struct calls_trace *trace, struct program_call *call,
		       unsigned int why)
{
	shard_trace_row(shard, TOTALS)[why]++;
	take_off(trace, call, call->within);
	calls_free(call);
}

static bool may_end(const struct program_call *call, const struct call_end *end)
{
	return call->name->rest == end->name->rest && (call->begins & end->begins) &&
	       call->key == end->key && (!end->has_sub || call->name == end->name);
}

/* The newest of the thread's calls that the end may be of. */
static struct program_call *find_on(const struct call_thread *on, const struct call_end *end)
{
	for (size_t i = on->stack.count; i-- > 0;) {
		if (may_end(on->stack.at[i], end)) {
			return on->stack.at[i];
		}
	}
	return NULL;
}

/* The same on any thread: of those that began up to the end. */
static struct program_call *find_by_key(const struct calls_trace *trace, const struct call_end *end)
{
	struct program_call *const *newest = calls_by_key_get(&trace->by_key, end->key);
	struct program_call *call = newest ? *newest : NULL;

	while (call && (call->begin > end->ts || !may_end(call, end))) {
		call = call->older;
	}
	return call;
}

/* ---- keys ---- */

static struct call_keys *find_keys(const struct calls_trace *trace, uint64_t id)
{
	struct call_keys **found = call_keys_of_get(&trace->keys, id);

	return found ? *found : NULL;
}

static void forget_keys(struct calls_trace *trace, struct call_keys *keys)
{
	VEC_EACH(&keys->held, end) {
		if (end->name) { /* else it is from a file that is not sound */
			end->name->uses--;
		}
	}
	trace->held_count -= keys->held.count;
	(void)call_keys_of_drop(&trace->keys, keys->id);
	list_remove(&trace->keys_used, &keys->node);
	vec_fini(&keys->held);
	free(keys);
}

struct call_keys *calls_new_keys(struct calls_trace *trace, uint64_t id)
{
	struct call_keys *keys = mem_alloc(sizeof(*keys));

	keys->id = id;
	*call_keys_of_put(&trace->keys, id, NULL) = keys;
	list_add(&trace->keys_used, &keys->node);
	return keys;
}

static struct call_keys *used_keys(struct shard *shard, struct calls_trace *trace, uint64_t process,
				   const struct call_name *name)
{
	uint64_t id = mix(process, name->rest);
	struct call_keys *keys = find_keys(trace, id);

	if (keys) {
		list_remove(&trace->keys_used, &keys->node);
		list_add(&trace->keys_used, &keys->node);
		return keys;
	}
	if (trace->keys_used.count >= CALLS_KEYS_MAX) {
		keys = (struct call_keys *)trace->keys_used.first;
		shard_trace_row(shard, TOTALS)[UNMATCHED] += keys->held.count;
		forget_keys(trace, keys);
	}
	return calls_new_keys(trace, id);
}

static bool is_by_key(const struct calls_trace *trace, const struct program_call *call)
{
	const struct call_keys *keys =
		call->key ? find_keys(trace, mix(call->process, call->name->rest)) : NULL;

	return keys && keys->varies;
}

/* ---- ends ---- */

/* The call has ended.  What lies on the top of its thread lay within the call below it. */
static void finish_call(struct shard *shard, struct calls_trace *trace, struct program_call *call,
			const struct call_end *end, const struct ordered *ordered)
{
	const struct call_thread *on = call->on;
	bool is_within = on->id == end->thread && on->stack.at[on->stack.count - 1] == call;
	uint64_t ns = end->ts > call->begin ? end->ts - call->begin : 0;

	if (call->begins == 1u << CALL_ASKED &&
	    shard_periods(shard)->calls.at[call->asked]->links[0].met) {
		keys_met_agree(shard_periods(shard)->calls.at[call->asked]->links[0].met);
	}
	take_off(trace, call, is_within ? ns : call->within);
	calls_add(shard, call, end, ordered);
	calls_free(call);
}

static void end_elsewhere(struct shard *shard, struct calls_trace *trace, struct call_end *end,
			  const struct ordered *ordered)
{
	struct program_call *call = find_by_key(trace, end);

	end->is_by_key = true;

	if (call) {
		finish_call(shard, trace, call, end, ordered);
	} else {
		shard_trace_row(shard, TOTALS)[UNMATCHED]++;
	}
}

/* A key is used.  With its second value it tells calls apart, and what was held is decided. */
static struct call_keys *use_key(struct shard *shard, struct calls_trace *trace,
				 const struct ordered *ordered, const struct call_end *by)
{
	struct call_keys *keys = used_keys(shard, trace, by->process, by->name);

	keys->varies |= by->begins == 1u << CALL_ASKED; /* the user says that it tells */
	if (keys->first == 0) {
		keys->first = by->key;
	} else if (keys->first != by->key && !keys->varies) {
		keys->varies = true;
		for (size_t i = 0; i < keys->held.count; i++) {
			shard_leave_out(shard, keys->held.at[i].left_out, keys->held.at[i].cpu);
			end_elsewhere(shard, trace, &keys->held.at[i], NULL);
			keys->held.at[i].name->uses--;
		}
		trace->held_count -= keys->held.count;
		vec_fini(&keys->held);
		shard_leave_out(shard, ordered->left_out, by->cpu);
	}
	return keys;
}

/* Calls by thread that began behind @call, which ends, and have not. */
static void break_above(struct shard *shard, struct calls_trace *trace, struct program_call *call)
{
	struct call_thread *on = call->on;

	for (size_t i = on->stack.count; on->stack.at[--i] != call;) {
		if (!is_by_key(trace, on->stack.at[i])) {
			end_unseen(shard, trace, on->stack.at[i], BROKEN);
		}
	}
}

static void hold_end(struct shard *shard, struct calls_trace *trace, struct call_keys *keys,
		     const struct call_end *end)
{
	if (keys->held.count >= CALLS_HELD_MAX) {
		shard_trace_row(shard, TOTALS)[UNMATCHED]++;
		return;
	}
	end->name->uses++;
	*vec_push(&keys->held) = *end;
	trace->held_count++;
}

static const char *sub_of(const struct ordered *ordered)
{
	uint64_t flags = ordered->words[NOTE_FLAGS];

	return flags & CALL_HAS_SUB
		       ? (const char *)(words_of(ordered) + calls_words(flags) - SUB_WORDS)
		       : "";
}

static struct counters_event asked_counters(const struct period *asked,
					    const struct ordered *ordered)
{
	const struct definition *what = asked->steps[ordered->kind == OWN_END].what;

	return (struct counters_event){ words_of(ordered)[WORD_CPU],
					words_of(ordered) + WORD_COUNTERS,
					what->has_tid ? 0 : shard_tid(ordered->thread) };
}

static struct call_end end_of(struct shard *shard, struct calls_trace *trace,
			      const struct ordered *ordered)
{
	uint64_t flags = ordered->words[NOTE_FLAGS];
	const uint64_t *words = words_of(ordered), *key = words + calls_word_key(flags);
	const struct period *asked =
		flags & 1u << CALL_ASKED ? shard_periods(shard)->calls.at[words[WORD_MORE]] : NULL;
	struct call_end end = { .ts = ordered->ts,
				.cpu = words[WORD_CPU],
				.lost_ts = ordered->ts > trace->lost_ts ? trace->lost_ts
									: trace->lost_before,
				.process = words[WORD_PROCESS],
				.thread = thread_id(ordered),
				.number = shard_thread_number(ordered->thread),
				.begins = (uint8_t)flags,
				.left_out = ordered->left_out,
				.has_failed = flags & CALL_HAS_FAILED,
				.has_sub = flags & CALL_HAS_SUB };

	end.name = noted_name(shard, trace, ordered, sub_of(ordered));
	if (flags & CALL_HAS_KEY) {
		end.key = mix(mix(end.process, end.name->rest), key[KEY_HASH]);
		end.field = key[KEY_FIELD];
		memcpy(end.value, key + KEY_VALUE, sizeof(end.value));
	}
	end.asked = asked ? words[WORD_MORE] : 0;
	if (flags & CALL_HAS_DIFFS) {
		end.counters = asked_counters(asked, ordered);
	}
	if (end.key && asked && asked->is->links[0].has_tid) {
		end.key = mix(end.key, end.thread);
	}
	return end;
}

void calls_end(struct shard *shard, struct calls_trace *trace, const struct ordered *ordered)
{
	struct call_end end = end_of(shard, trace, ordered);
	struct call_keys *keys = end.key ? use_key(shard, trace, ordered, &end) : NULL;
	struct program_call *call = find_on(stack_of(trace, ordered), &end);

	if (call) {
		if (!keys || !keys->varies) {
			break_above(shard, trace, call);
		}
		end.is_by_key = keys && keys->varies;
		finish_call(shard, trace, call, &end, ordered);
	} else if (!keys) {
		shard_trace_row(shard, TOTALS)[UNMATCHED]++;
	} else if (keys->varies) {
		end_elsewhere(shard, trace, &end, ordered);
	} else {
		hold_end(shard, trace, keys, &end);
	}
}

/* ---- begins ---- */

/* Makes room for one more; what is open for the longest goes.  False: nothing has to. */
static bool make_room(struct shard *shard, struct calls_trace *trace, const struct call_thread *on)
{
	bool is_deep = on->stack.count >= CALLS_DEPTH_MAX;

	if (!is_deep && trace->open.count < CALLS_OPEN_MAX) {
		return false;
	}
	end_unseen(shard, trace,
		   is_deep ? on->stack.at[0] : (struct program_call *)trace->open.first, DROPPED);
	return true;
}

void calls_open(struct calls_trace *trace, struct program_call *call)
{
	call->name->uses++;
	*vec_push(&call->on->stack) = call;
	list_add(&trace->open, &call->node);
	if (call->key) {
		link_key(trace, call);
	}
}

static struct program_call *open_call(struct shard *shard, struct calls_trace *trace,
				      const struct call_end *like, struct call_thread *on,
				      uint32_t depth)
{
	struct program_call *call = mem_alloc(sizeof(*call));

	*call = (struct program_call){ .name = like->name,
				       .on = on,
				       .process = like->process,
				       .key = like->key,
				       .begin = like->ts,
				       .cpu = like->cpu,
				       .depth = depth,
				       .asked = (uint32_t)like->asked,
				       .begins = like->begins,
				       .left_out = like->left_out };
	if (like->counters.words) {
		call->counters = counters_begin(shard_periods(shard)->calls.at[like->asked]->is,
						&like->counters);
	}
	calls_open(trace, call);
	return call;
}

void calls_begin(struct shard *shard, struct calls_trace *trace, const struct ordered *ordered)
{
	struct call_end like = end_of(shard, trace, ordered);
	struct call_thread *on = stack_of(trace, ordered);
	struct program_call *call;
	bool is_old;

	like.has_sub = true; /* it is called so, or has no other name */
	if (like.key) {
		(void)use_key(shard, trace, ordered, &like);
	}
	call = find_on(on, &like);
	is_old = call && call_is_tainted(call, &like);
	if (is_old) {
		end_unseen(shard, trace, call, REPLACED);
	}
	if (make_room(shard, trace, on) || is_old) {
		call = find_on(on, &like);
	}
	if (call) {
		calls_deepens(shard, open_call(shard, trace, &like, on, call->depth + 1), ordered);
	} else {
		(void)open_call(shard, trace, &like, on, 1);
	}
}

void calls_over(struct shard *shard, struct calls_trace *trace, const struct ordered *ordered)
{
	struct call_thread **found = call_threads_get(&trace->threads, thread_id(ordered));
	struct call_thread *on = found ? *found : NULL;

	for (size_t i = on ? on->stack.count : 0; i-- > 0;) {
		if (!is_by_key(trace, on->stack.at[i])) {
			end_unseen(shard, trace, on->stack.at[i], BROKEN);
		}
	}
	if (on) {
		on->is_over = true;
		calls_show_over(on, ordered);
	}
	*(uint64_t *)shard_thread_state(ordered->shard, ordered->thread) = 0; /* of the next life */
}

void calls_renamed(struct calls_trace *trace, const struct ordered *ordered)
{
	struct call_thread **found = call_threads_get(&trace->threads, thread_id(ordered));

	if (found) {
		(*found)->number = shard_thread_number(ordered->thread);
	}
}

/* ---- the end of the trace ---- */

void calls_forget(struct calls_trace *trace)
{
	while (trace->open.first) {
		struct program_call *call = (struct program_call *)trace->open.first;

		list_remove(&trace->open, &call->node);
		calls_free(call);
	}
	HASH_EACH(call_threads, &trace->threads, thread) {
		vec_fini(&thread->value->stack);
		free(thread->value);
	}
	while (trace->keys_used.first) {
		forget_keys(trace, (struct call_keys *)trace->keys_used.first);
	}
	while (trace->names_used.first) {
		drop_name(trace, (struct call_name *)trace->names_used.first);
	}
	calls_by_key_fini(&trace->by_key);
	call_threads_fini(&trace->threads);
	call_names_fini(&trace->names);
	call_keys_of_fini(&trace->keys);
	symbols_free(trace->symbols);
}
