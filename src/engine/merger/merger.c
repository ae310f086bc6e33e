/*
 * merge: streams and the watermark.  Rounds are in round.c, windows in window.c, who runs in
 * seam.c.
 */
#include "engine/merger/merger.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/merger/merger-state.h"

/* ---- lifecycle ---- */

struct merge *merge_new(const struct setup *setup, const struct merge_host *host)
{
	struct merge *merge = mem_alloc(sizeof(*merge));

	merge->setup = setup;
	merge->host = *host;
	merge->first_ts = UINT64_MAX;
	merge->seam = partial_new();
	rows_init(&merge->rows, setup);
	return merge;
}

static void stream_free(struct merge_stream *stream)
{
	for (size_t i = 0; i < stream->early.count; i++) {
		partial_free(stream->early.at[i].partial);
	}
	for (size_t i = 0; i < stream->ready.count; i++) {
		partial_free(stream->ready.at[i]);
	}
	vec_fini(&stream->early);
	vec_fini(&stream->ready);
	free(stream);
}

void merge_free(struct merge *merge)
{
	if (!merge) {
		return;
	}
	assert(merge->tasks_running == 0);
	for (size_t i = 0; i < merge->streams.count; i++) {
		stream_free(merge->streams.at[i]);
	}
	partial_free(merge->seam);
	vec_fini(&merge->streams);
	vec_fini(&merge->order);
	vec_fini(&merge->renames);
	vec_fini(&merge->round.entries);
	rows_fini(&merge->rows);
	free(merge);
}

void merge_set_classes(struct merge *merge, const struct plan *plan)
{
	merge_wait(merge); /* tasks look event names up */
	rows_set_classes(&merge->rows, plan);
}

int merge_check_classes(const struct merge *merge, const struct plan *plan, struct err *err)
{
	const struct rows *rows = &merge->rows;

	for (size_t i = 0; i < rows->class_names.count && i < plan->class_count; i++) {
		const char *name = rows->names.at[rows->class_names.at[i]]->name;

		if (strcmp(plan->classes[i]->class->name, name) != 0) {
			return err_raise(err, -EINVAL,
					 "event class %zu is not %.100s, as it was before", i,
					 name);
		}
	}
	return 0;
}

void merge_add_class(struct merge *merge, const char *name)
{
	merge_wait(merge);
	rows_add_class(&merge->rows, name);
}

/* ---- streams ---- */

uint32_t merge_stream_number(const struct merge_stream *stream)
{
	return stream->ordinal;
}

struct merge_stream *merge_stream_at(const struct merge *merge, uint32_t number)
{
	return number < merge->streams.count ? merge->streams.at[number] : NULL;
}

uint64_t merge_stream_submitted(const struct merge_stream *stream)
{
	return stream->next_seq;
}

struct merge_stream *merge_stream_new(struct merge *merge)
{
	struct merge_stream *stream = mem_alloc(sizeof(*stream));

	stream->merge = merge;
	stream->ordinal = (uint32_t)merge->streams.count;
	stream->end_seq = UINT64_MAX;
	*vec_push(&merge->streams) = stream;
	merge->order.count = 0;
	return stream;
}

/* The stream of the lowest class that has switches says who runs on a CPU. */
static void own_cpu(struct merge_stream *stream)
{
	struct merge *merge = stream->merge;
	struct cpu *cpu = stream->cpu;
	bool is_new = cpu->owner == NULL;

	if (!stream->identity.has_switches) {
		return;
	}
	if (!is_new && cpu->owner->identity.class_id <= stream->identity.class_id) {
		return;
	}
	if (!is_new) {
		cpu->owner->owns_cpu = false;
	}
	cpu->owner = stream;
	stream->owns_cpu = true;
	if (is_new) {
		cpu->state = CPU_INITIAL;
		merge->initial_count++;
		if (merge->has_started) {
			cpu->since = merge->window_begin;
			cpu->initial_limit = merger_initial_limit(merge, stream->identity.begin);
		}
	}
}

void merge_stream_identify(struct merge_stream *stream, const struct stream_identity *identity)
{
	assert(!stream->is_identified);
	stream->identity = *identity;
	stream->is_identified = true;
	stream->merge->order.count = 0;
	if (identity->cpu_id != UINT64_MAX) {
		stream->cpu = rows_cpu(&stream->merge->rows, identity->cpu_id);
		own_cpu(stream);
	}
}

const struct stream_identity *merge_stream_identity(const struct merge_stream *stream)
{
	return stream->is_identified ? &stream->identity : NULL;
}

static void apply_known(struct merge_stream *stream)
{
	if (stream->has_known && stream->known_seq <= stream->next_seq) {
		if (!stream->has_until || stream->known_ts > stream->until) {
			stream->until = stream->known_ts;
		}
		stream->has_until = true;
		stream->has_known = false;
	}
	if (stream->end_seq <= stream->next_seq) {
		stream->is_ended = true;
	}
}

void merge_stream_known(struct merge_stream *stream, uint64_t seq, uint64_t ts)
{
	stream->known_seq = seq;
	stream->known_ts = ts;
	stream->has_known = true;
	apply_known(stream);
}

void merge_stream_end(struct merge_stream *stream, uint64_t seq)
{
	stream->end_seq = seq;
	apply_known(stream);
}

void merge_stream_exclude(struct merge_stream *stream, bool excluded)
{
	stream->is_excluded = excluded;
}

uint64_t merge_stream_until(const struct merge_stream *stream)
{
	return stream->has_until ? stream->until : 0;
}

bool merge_stream_waits(const struct merge_stream *stream)
{
	return stream->owns_cpu && stream->cpu->state == CPU_INITIAL;
}

/* ---- taking partials ---- */

static void take_in_sequence(struct merge_stream *stream, struct partial *partial)
{
	struct merge *merge = stream->merge;

	stream->next_seq++;
	merge->account.events += partial->events;
	merge->account.packets += partial->packets;
	merge->account.bytes += partial->bytes;
	if (partial->first_ts < merge->first_ts) {
		merge->first_ts = partial->first_ts;
	}
	if (partial->last_ts > merge->last_ts) {
		merge->last_ts = partial->last_ts;
	}
	if (partial->end > stream->until || !stream->has_until) {
		stream->until = partial->end;
		stream->has_until = true;
	}
	if (merge->has_started) {
		seam_take(stream, partial);
	}
	*vec_push(&stream->ready) = partial;
	apply_known(stream);
}

void merge_take(struct merge_stream *stream, uint64_t seq, struct partial *partial)
{
	assert(seq >= stream->next_seq);
	partial->held_bytes = partial_bytes(partial);
	if (stream->merge->setup->has_facts) { /* a round's records may each make one */
		partial->held_bytes += partial->records.count * sizeof(struct fact);
	}
	stream->merge->held_bytes += partial->held_bytes;
	*vec_push(&stream->early) = (struct held){ .partial = partial, .seq = seq };
	for (size_t i = 0; i < stream->early.count;) {
		struct held held = stream->early.at[i];

		if (held.seq != stream->next_seq) {
			i++;
			continue;
		}
		stream->early.at[i] = stream->early.at[--stream->early.count];
		take_in_sequence(stream, held.partial);
		i = 0;
	}
}

size_t merge_held_bytes(const struct merge *merge)
{
	return merge->held_bytes;
}

const struct merge_account *merge_account(const struct merge *merge)
{
	return &merge->account;
}

uint64_t merge_closed_until(const struct merge *merge)
{
	return merge->closed_end;
}

uint64_t merge_watermark(const struct merge *merge)
{
	uint64_t low = UINT64_MAX;

	for (size_t i = 0; i < merge->streams.count; i++) {
		const struct merge_stream *stream = merge->streams.at[i];

		if (stream->is_ended || stream->is_excluded) {
			continue;
		}
		if (!stream->has_until) {
			return 0;
		}
		low = stream->until < low ? stream->until : low;
	}
	return low;
}
