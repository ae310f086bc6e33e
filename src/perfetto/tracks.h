/*
 * tracks: tracks of the viewer, with slices, instants and counters.
 *
 * A track is named by its number.  Slices of one track nest: the last one that was begun ends
 * first.  Times of one track should not decrease.  Texts are repaired to valid UTF-8.
 */
#pragma once

#include "perfetto/writer.h"

/* A track below another one; @parent 0: at the top. */
uint64_t tracks_add(struct perfetto *writer, uint64_t parent, const char *name);
/* The track of a thread, which the viewer shows with its states; it drops one without a process.
 * @name NULL: unknown. */
uint64_t tracks_add_thread(struct perfetto *writer, int32_t pid, int32_t tid, const char *name);
/* The track of a process.  @name NULL: unknown. */
uint64_t tracks_add_process(struct perfetto *writer, int32_t pid, const char *name);
/* @unit: of Perfetto__CounterDescriptor__Unit. */
uint64_t tracks_add_counter(struct perfetto *writer, uint64_t parent, const char *name,
			    Perfetto__CounterDescriptor__Unit unit);

/* A wake-up or the like from one slice to another, of these numbers (0: none): it ends at one slice
 * and begins at another. */
struct tracks_flow {
	uint64_t in, out;
};

/* What is said of an event. */
struct tracks_said {
	const char *name, *category; /* NULL: none */
	struct tracks_flow flow;
	Perfetto__DebugAnnotation **args; /* NULL: none */
	size_t arg_count;
};

/* The event begins, ends or is an instant. */
void tracks_put(struct perfetto *writer, uint64_t track, uint64_t ts,
		Perfetto__TrackEvent__Type type, const struct tracks_said *said);

/* ---- the same in short ---- */

void tracks_begin(struct perfetto *writer, uint64_t track, uint64_t ts, const char *name,
		  struct tracks_flow flow);
void tracks_end(struct perfetto *writer, uint64_t track, uint64_t ts);
void tracks_instant(struct perfetto *writer, uint64_t track, uint64_t ts, const char *name);
void tracks_count(struct perfetto *writer, uint64_t track, uint64_t ts, uint64_t value);
