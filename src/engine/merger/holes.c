/*
 * holes: see holes.h.
 */
#include "engine/merger/holes.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "engine/merger/cpus.h"
#include "engine/merger/merger-state.h"
#include "engine/merger/ordered.h"

static bool has_holes(const struct merger *merger)
{
	return tables_has_event(&merger->tables, "sched_switch");
}

/* ---- stitching ---- */

/*
 * Whether no hole that is not found yet can be before the partial.  A gap at its start tells that
 * who runs there is unknown in any case.  Only switches depend on what was before.
 */
static bool may_stitch(const struct merger_stream *stream, const struct partial *partial,
		       uint64_t known)
{
	return !stream->owns_cpu || partial->covered_from <= known ||
	       (partial->initial == INITIAL_GAP && partial->initial_ts <= partial->begin) ||
	       (stream->has_stitched && partial->covered_from - partial->begin <= HOLE_NS);
}

void holes_stitch(struct merger_stream *stream, uint64_t known)
{
	assert(stream->waiting <= stream->ready.count);
	while (stream->waiting > 0) {
		struct partial *partial = stream->ready.at[stream->ready.count - stream->waiting];

		if (!may_stitch(stream, partial, known)) {
			return;
		}
		stream->waiting--;
		stream->merger->waiting--;
		stream->has_stitched = true;
		cpus_take(stream, partial);
	}
}

static void stitch_all(struct merger *merger, uint64_t known)
{
	for (size_t i = 0; merger->waiting > 0 && i < merger->streams.count; i++) {
		holes_stitch(merger->streams.at[i], known);
	}
}

/* ---- finding ---- */

void holes_advance(struct merger *merger, uint64_t known)
{
	uint64_t begin;

	/* Behind the kernel's trace the events of others tell that time goes on, wherever their
	 * packets end. */
	uint64_t seen = merger->is_joined && merger->last_ts < known ? merger->last_ts : known;

	assert(merger->has_started);
	while (coverage_next_hole(&merger->coverage, seen, &begin)) {
		/* A trace begins with its first event, whatever empty packets are before. */
		if (begin < merger->first_ts || !has_holes(merger)) {
			continue;
		}
		stitch_all(merger, begin);
		merger_each_cpu(merger, cpu, cpus_lose(merger, cpu, begin));
		*vec_push(&merger->holes) = begin;
	}
	stitch_all(merger, known);
}

bool holes_had_one_since(const struct merger *merger, uint64_t ts)
{
	return merger->has_started && has_holes(merger) &&
	       (merger->coverage.is_open || ts < merger->coverage.since);
}

bool holes_are_decided(const struct merger *merger, uint64_t ts)
{
	return merger->is_over || coverage_is_decided(&merger->coverage, ts) || !has_holes(merger);
}

uint64_t merger_silent_since(const struct merger *merger)
{
	return merger->has_started && merger->coverage.is_open ? merger->coverage.until : 0;
}

void holes_cut(struct merger *merger)
{
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; has_holes(merger) && i < merger->streams.count; i++) {
		struct merger_stream *stream = merger->streams.at[i];

		if (!stream->is_cut || !stream->has_until) {
			continue;
		}
		begin = stream->until < begin ? stream->until : begin;
		if (stream->owns_cpu) {
			cpus_lose(merger, stream->cpu, stream->until);
			stream->cpu->state = CPU_UNKNOWN;
		}
	}
	if (merger->holes.count > 0 && begin < merger->holes.at[merger->holes.count - 1]) {
		begin = merger->holes.at[merger->holes.count - 1];
	}
	begin = begin < merger->window_begin ? merger->window_begin : begin;
	if (begin < merger->last_ts) {
		*vec_push(&merger->holes) = begin;
	}
}

/* ---- rounds ---- */

bool holes_is_next(const struct merger *merger, uint64_t bound)
{
	return merger->holes.count > 0 && merger->holes.at[0] < bound &&
	       merger->holes.at[0] < merger->close_at;
}

/* Packets cover their end: what happened there was before the hole.  A round may have gone beyond
 * the begin, before the hole was known; there are no records then. */
uint64_t holes_bound(const struct merger *merger)
{
	uint64_t bound = merger->holes.at[0] + 1;

	return bound < merger->last_bound ? merger->last_bound : bound;
}

void holes_apply(struct merger *merger)
{
	assert(merger->tasks_running == 0); /* all shards are touched */
	assert(merger->holes.count > 0);
	tables_lose(&merger->tables, merger->holes.at[0]);
	ordered_run(&merger->tables); /* what hooks noted: a checkpoint may come next */
	merger_each_cpu(merger, cpu, cpus_pass_hole(cpu, merger->holes.at[0]));
	memmove(merger->holes.at, merger->holes.at + 1,
		--merger->holes.count * sizeof(merger->holes.at[0]));
}
