/*
 * calls-checkpoint: see calls.h; the state of a trace in a file, from which any bytes may come.
 */
#include <stdlib.h>
#include <string.h>

#include "analyses/calls/calls.h"
#include "base/vec.h"
#include "engine/contract/untrusted.h"

/* ---- names in the order of their use, threads in that of their numbers ---- */

ORDER_POINTERS(threads_by_id, struct call_thread, UP(id))

/* Its text, and behind that what provides it. */
static struct call_name *read_name(const struct call_name *as, const char *text,
				   const char *provider)
{
	size_t len = strlen(text) + 1;
	struct call_name *name = mem_alloc(sizeof(*name) + len + strlen(provider) + 1);

	*name = *as;
	name->symbol = name->why = NULL;
	name->uses = 0;
	name->provider = name->text + len;
	memcpy(name->text, text, len);
	strcpy(name->provider, provider);
	return name;
}

static void codec_name(struct codec *codec, struct calls_trace *trace, const struct call_name *name)
{
	static const struct call_name none;
	struct call_name as = name ? *name : none;
	char *text = name ? (char *)name->text : NULL, *provider = name ? name->provider : NULL;

	codec_each(codec, &as.id, &as.rest, &as.is_function, &as.process, &as.address, &as.images,
		   &as.looked);
	codec_text(codec, &as.shown);
	codec_text(codec, &text);
	codec_text(codec, &provider);
	if (!codec_reads(codec)) {
		return;
	}
	if (codec_check(codec, text && !call_names_get(&trace->names, as.id))) {
		calls_add_name(trace, read_name(&as, text, provider ? provider : ""));
	} else {
		free(as.shown);
	}
	free(text);
	free(provider);
}

static void codec_thread(struct codec *codec, struct calls_trace *trace, struct call_thread *thread)
{
	struct call_thread as = { 0 };

	as = thread ? *thread : as;
	codec_each(codec, &as.id, &as.number, &as.is_shown, &as.is_over);
	if (codec_reads(codec) && codec_check(codec, !call_threads_get(&trace->threads, as.id))) {
		thread = mem_alloc(sizeof(*thread));
		*thread = as;
		*call_threads_put(&trace->threads, as.id, NULL) = thread;
	}
}

static void codec_names(struct codec *codec, struct calls_trace *trace)
{
	const struct list_node *at = trace->names_used.first;
	size_t count = codec_count(codec, trace->names.used, 61);

	for (size_t i = 0; i < count && !codec->is_wrong; i++) {
		const struct call_name *name = (const struct call_name *)at;

		at = at ? at->after : NULL;
		codec_name(codec, trace, name);
	}
}

static void codec_threads(struct codec *codec, struct calls_trace *trace)
{
	VEC(struct call_thread *) all = { 0 };
	size_t count = codec_count(codec, trace->threads.used, 18);

	if (!codec_reads(codec)) {
		HASH_EACH(call_threads, &trace->threads, thread) {
			*vec_push(&all) = thread->value;
		}
		vec_sort(&all, threads_by_id);
	}
	for (size_t i = 0; i < count; i++) {
		codec_thread(codec, trace, i < all.count ? all.at[i] : NULL);
	}
	vec_fini(&all);
}

/* ---- calls ---- */

static struct call_name *known_name(struct codec *codec, const struct calls_trace *trace,
				    uint64_t id)
{
	struct call_name *const *name = call_names_get(&trace->names, id);

	return codec_check(codec, name) ? *name : NULL;
}

static struct call_thread *known_thread(struct codec *codec, const struct calls_trace *trace,
					uint64_t id)
{
	struct call_thread *const *thread = call_threads_get(&trace->threads, id);

	return codec_check(codec, thread) ? *thread : NULL;
}

static void codec_call(struct codec *codec, struct program_call *call, uint64_t *name,
		       uint64_t *thread)
{
	codec_each(codec, name, thread, &call->process, &call->key, &call->begin, &call->within);
	codec_each(codec, &call->cpu, &call->depth, &call->asked, &call->begins, &call->left_out);
	diff_codec(codec, &call->counters);
}

/* What has counters is of a call that the user asked for. */
static bool has_asked(const struct period_set *periods, const struct program_call *call)
{
	return !call->counters ||
	       (call->begins == 1u << CALL_ASKED && periods && call->asked < periods->calls.count);
}

static void codec_calls(const struct checkpoint *checkpoint, struct calls_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	struct list_node *at = trace->open.first;
	size_t count = codec_count(codec, trace->open.count, 67);

	for (size_t i = 0; i < count && codec_check(codec, count <= CALLS_OPEN_MAX); i++) {
		struct program_call read = { 0 }, *call = at ? (struct program_call *)at : &read;
		uint64_t name = at ? call->name->id : 0, thread = at ? call->on->id : 0;

		codec_call(codec, call, &name, &thread);
		if (!codec_reads(codec)) {
			at = at->after;
			continue;
		}
		read.name = known_name(codec, trace, name);
		read.on = known_thread(codec, trace, thread);
		if (!read.name || !read.on ||
		    !codec_check(codec, read.on->stack.count < CALLS_DEPTH_MAX &&
						has_asked(checkpoint->periods, &read))) {
			free(read.counters);
			return;
		}
		call = mem_alloc(sizeof(*call));
		*call = read;
		calls_open(trace, call);
	}
}

/* ---- keys ---- */

static void codec_end(struct codec *codec, const struct calls_trace *trace, struct call_end *end)
{
	uint64_t name = end->name ? end->name->id : 0;

	codec_each(codec, &end->ts, &end->cpu, &end->process, &end->thread, &end->number, &name);
	codec_each(codec, &end->key, &end->field, &end->value[0], &end->value[1], &end->value[2]);
	codec_each(codec, &end->lost_ts, &end->begins, &end->left_out, &end->has_failed,
		   &end->has_sub);
	if (codec_reads(codec)) {
		end->name = known_name(codec, trace, name);
		if (end->name) {
			end->name->uses++;
		}
		(void)codec_check(codec, end->field < CALL_KEYS && end->begins != 1u << CALL_ASKED);
	}
}

static void codec_held(struct codec *codec, struct calls_trace *trace, struct call_keys *keys)
{
	size_t count = codec_count(codec, keys->held.count, 100);

	for (size_t i = 0; i < count && codec_check(codec, count <= CALLS_HELD_MAX); i++) {
		struct call_end *end = codec_at(codec, &keys->held, i);

		codec_end(codec, trace, end);
	}
	trace->held_count += codec_reads(codec) ? keys->held.count : 0;
}

static void codec_keys(struct codec *codec, struct calls_trace *trace)
{
	struct list_node *at = trace->keys_used.first;
	size_t count = codec_count(codec, trace->keys_used.count, 21);

	for (size_t i = 0; i < count && codec_check(codec, count <= CALLS_KEYS_MAX); i++) {
		struct call_keys *keys = (struct call_keys *)at;
		uint64_t id = at ? keys->id : 0;

		codec_u64(codec, &id);
		if (codec_reads(codec)) {
			if (!codec_check(codec, !call_keys_of_get(&trace->keys, id))) {
				return;
			}
			keys = calls_new_keys(trace, id);
		} else {
			at = at->after;
		}
		codec_each(codec, &keys->first, &keys->varies);
		codec_held(codec, trace, keys);
	}
}

void calls_checkpoint(const struct checkpoint *checkpoint, struct calls_trace *trace)
{
	struct codec *codec = checkpoint->codec;

	codec_names(codec, trace);
	codec_threads(codec, trace);
	codec_calls(checkpoint, trace);
	codec_keys(codec, trace);
	codec_each(codec, &trace->lost_ts, &trace->lost_before);
	calls_codec_images(codec, trace);
}
