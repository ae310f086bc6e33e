/*
 * map-state: what the parts of the worker share: map.c (packets, events, slices) and
 * map-run.c (who runs).
 */
#ifndef SILLAGE_ENGINE_MAP_STATE_H
#define SILLAGE_ENGINE_MAP_STATE_H

#include "ctf/decode.h"
#include "engine/clock.h"
#include "engine/map.h"

#define NAME_CACHE 256 /* threads whose name is remembered; a power of two */

/* Who gets an event of a request. */
struct map_route {
	map_fn *on_event;
	uint32_t user;
	uint8_t analysis;
};

struct name_cache {
	int32_t tid;
	uint32_t index; /* into partial->names; NAME_NONE: empty */
	uint64_t pid;
	uint8_t raw[NAME_BYTES]; /* the name as traced, whatever follows its zero */
};

struct map {
	const struct map_setup *setup;
	struct chunk *chunk;
	struct partial *partial;
	const struct plan *plan;
	struct clock clock;
	uint8_t *states;
	uint8_t analysis; /* whose handler runs */

	/* the slice of the window being filled */
	uint64_t slice_begin_ns, slice_end_ns;
	uint64_t slice_end_cycles; /* first cycle of the next slice */
	int64_t window;
	bool has_slice;
	struct slice slice;
	struct decoder_passed passed;
	uint32_t tally_room;

	uint64_t last_ts; /* ns, of the stream */
	uint64_t last_cycles;

	/* who runs */
	bool is_known;
	int32_t tid;
	size_t stay; /* index of the IN record of the stay; SIZE_MAX: none in this chunk */
	uint8_t stay_comm[NAME_BYTES]; /* of the thread, as it was switched in */
	bool has_stay_comm;            /* and the IN record has not yet got it */
	bool has_exec;       /* the stay's thread got another name: IN and OUT must stay apart */
	uint16_t old_states; /* how prev_state is encoded, see sched.h */
	struct name_cache names[NAME_CACHE];

	size_t records_room; /* to begin a partial with */
	uint8_t *buffer;     /* of one packet, when reading from a file */
	size_t buffer_size;
	struct decoder decoder;
};

/* What the engine itself needs of events. */
map_fn map_on_switch, map_on_fork, map_on_exec, map_on_process;

/* Tells the analyses that the current stay ends, or (@is_window) that its window does. */
void map_end_stay(struct map *map, uint64_t ts, bool is_window);
/* The name of an IN record that stays one: a STAY gets the name seen at its end instead. */
void map_name_stay(struct map *map);
/* From @ts on it is not known who runs. */
void map_note_gap(struct map *map, uint64_t ts);

#endif
