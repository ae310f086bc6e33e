/*
 * map: the decode loop and slices.
 */
#include "engine/worker/records.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "ctf/clock.h"
#include "engine/exchange/partial-file.h"
#include "engine/worker/guard.h"
#include "kernel/task-state.h"

/* ---- lifecycle ---- */

struct map *map_new(const struct map_setup *setup)
{
	struct map *map = mem_alloc(sizeof(*map));

	map->setup = setup;
	map->states = mem_alloc(setup->state_size + 1);
	map->draft = partial_new();
	map->states_form = UINT16_MAX; /* none */
	map_groups_init(map);
	return map;
}

void map_free(struct map *map)
{
	if (!map) {
		return;
	}
	decoder_fini(&map->decoder);
	free(map->states);
	free(map->passed.counts);
	free(map->passed.seen);
	map_groups_fini(map);
	partial_free(map->draft);
	free(map->buffer);
	kept_packer_free(map->packer);
	partials_packer_free(map->partials_packer);
	free(map);
}

/* ---- slices ---- */

static void close_slice(struct map *map)
{
	struct slice *slice = &map->slice;

	if (!map->has_slice) {
		return;
	}
	map_end_stay(map, map->slice_end_ns - 1, true);
	slice->item_count = (uint32_t)map->partial->items.count - slice->item_first;
	slice->tally_first = (uint32_t)map->partial->tallies.count;
	slice->tally_count = (uint32_t)map->passed.seen_count;
	map_take_slice(map);
	for (size_t i = 0; i < map->passed.seen_count; i++) {
		uint32_t index = map->passed.seen[i];

		*vec_push(&map->partial->tallies) =
			(struct tally){ .class_index = index, .count = map->passed.counts[index] };
		slice->events += map->passed.counts[index];
		map->passed.counts[index] = 0;
	}
	*vec_push(&map->partial->slices) = *slice;
	map->passed.seen_count = 0;
	map->has_slice = false;
}

static void empty_slice(struct map *map)
{
	struct slice *slice = &map->slice;

	memset(slice, 0, offsetof(struct slice, shards));
	slice->chains = RECORD_NONE;
	slice->item_first = (uint32_t)map->partial->items.count;
	memset(map->item_heads, 0xFF, sizeof(map->item_heads));
	map_forget_groups(map);
}

int64_t map_window(const struct map_setup *setup, uint64_t ts)
{
	if (ts < setup->range_begin) {
		return WINDOW_BEFORE;
	}
	return ts >= setup->range_end ? WINDOW_AFTER : (int64_t)(ts / setup->window_ns);
}

/* Up to where an event's time is right as it is. */
static void set_limit(struct map *map)
{
	uint64_t end = map->slice_end_ns;

	end = end > map->packet_end_ns ? map->packet_end_ns + 1 : end;
	map->passed.limit = map->has_slice ? clock_cycles(&map->clock, end) : 0;
}

/* Begins the slice that has @ts: its window, cut at the bounds of the range. */
static void open_slice(struct map *map, uint64_t ts)
{
	const struct map_setup *setup = map->setup;
	uint64_t interval = setup->window_ns;
	uint64_t begin = ts / interval * interval;
	uint64_t end = begin <= UINT64_MAX - interval ? begin + interval : UINT64_MAX;

	empty_slice(map);
	map->slice.window = map_window(setup, ts);
	if (ts < setup->range_begin) {
		begin = 0;
		end = setup->range_begin;
	} else if (ts >= setup->range_end) {
		begin = setup->range_end;
		end = UINT64_MAX;
	} else {
		begin = begin < setup->range_begin ? setup->range_begin : begin;
		end = end > setup->range_end ? setup->range_end : end;
	}
	map->slice_begin_ns = begin;
	map->slice_end_ns = end;
	map->has_slice = true;
	set_limit(map);
}

void map_to_slice(struct map *map, uint64_t ts)
{
	if (!map->has_slice || ts >= map->slice_end_ns || ts < map->slice_begin_ns) {
		close_slice(map);
		open_slice(map, ts);
	}
}

/* ---- events ---- */

static void grow_tallies(struct map *map, uint32_t class_count)
{
	if (class_count <= map->tally_room) {
		return;
	}
	map->passed.counts =
		mem_realloc(map->passed.counts, class_count * sizeof(*map->passed.counts));
	map->passed.seen = mem_realloc(map->passed.seen, class_count * sizeof(*map->passed.seen));
	memset(map->passed.counts + map->tally_room, 0,
	       (class_count - map->tally_room) * sizeof(*map->passed.counts));
	map->tally_room = class_count;
}

static void count_event(struct map *map, uint32_t index)
{
	if (map->passed.counts[index]++ == 0) {
		map->passed.seen[map->passed.seen_count++] = index;
	}
}

static void dispatch(struct map *map, const struct plan_event *class, uint64_t ts)
{
	const struct plan_binding *binding = class->bindings, *end = binding + class->binding_count;
	const struct map_route *routes = map->setup->routes;
	struct map_event event = { .ts = ts, .class = class };

	decoder_copy(&map->decoder, class);
	for (; binding != end; binding++) {
		const struct map_route *route = &routes[binding->request];

		event.values = &map->decoder.values[binding->base];
		event.present = binding->present;
		event.is_signed = binding->is_signed;
		map->analysis = route->analysis;
		route->on_event(map, map->states + route->state, &event, binding->user);
	}
}

/* A packet's time stamps must not leave it, nor go back: clamp, and count. */
static uint64_t clamp_ts(const struct map *map, uint64_t ts)
{
	ts = ts > map->packet_end_ns ? map->packet_end_ns : ts;
	return ts < map->last_ts ? map->last_ts : ts;
}

/* Of events that nobody wants the time was not asked for. */
static void note_time(struct map *map)
{
	map->last_ts = clamp_ts(map, clock_ns(&map->clock, map->last_cycles));
}

static void note_anomaly(struct map *map)
{
	map->slice.anomalies++;
	if (map->partial->first_anomaly == UINT64_MAX) {
		map->partial->first_anomaly = map->packet_number;
	}
}

static void on_event(struct map *map, const struct event *event)
{
	uint64_t ts, ns;

	/* The usual case: later than before, and in the slice; most need no time in ns. */
	if (event->cycles >= map->last_cycles && event->cycles < map->passed.limit) {
		map->last_cycles = event->cycles;
		count_event(map, event->class->index);
		if (event->class->binding_count > 0) {
			map->last_ts = clock_ns(&map->clock, event->cycles);
			dispatch(map, event->class, map->last_ts);
		}
		return;
	}
	note_time(map);
	ns = clock_ns(&map->clock, event->cycles);
	ts = clamp_ts(map, ns);
	map_to_slice(map, ts);
	if (ts != ns) {
		note_anomaly(map);
	}
	map->last_ts = ts;
	if (event->cycles > map->last_cycles) {
		map->last_cycles = event->cycles;
	}
	count_event(map, event->class->index);
	dispatch(map, event->class, ts);
}

/* ---- packets ---- */

/* The packet cannot be read, or not on: a gap from @floor on, counted at @ts. */
static void packet_fault(struct map *map, const struct packet *packet, const char *text,
			 uint64_t floor, uint64_t ts)
{
	struct partial_fault *fault = vec_push(&map->partial->faults);

	fault->packet = packet->number;
	(void)snprintf(fault->text, sizeof(fault->text), "%.190s", text);
	map_note_gap(map, floor);
	map_to_slice(map, ts);
	map->slice.bad_packets++;
}

/* An event as they should be. */
static void on_plain_event(void *user, const struct event *event)
{
	struct map *map = user;

	map->last_ts = clock_ns(&map->clock, event->cycles);
	if (event->class == map->switches.class) {
		map_on_plain_switch(map, map->last_ts, event->fields);
		return;
	}
	if (event->fields) {
		decoder_load_fixed(&map->decoder, event->class, event->fields);
	}
	dispatch(map, event->class, map->last_ts);
}

/* Goes through the events up to one that is not as they should be. */
static int next_wanted(struct map *map, struct event *event)
{
	struct decoder *d = &map->decoder;
	int r;

	if (!d->stream->skips || d->clock < map->last_cycles) {
		map->passed.events = 0;
		return decoder_next(d, event);
	}
	r = decoder_each(d, &map->passed, on_plain_event, map, event);
	map->last_cycles = map->passed.clock;
	return r;
}

/* -1: the packet could not be decoded to its end, which has been noted. */
static int map_events(struct map *map, const struct packet *packet)
{
	struct partial *partial = map->partial;
	struct decoder *d = &map->decoder;
	uint64_t events = 0, first = 0;
	struct event event = { 0 };
	int r;

	r = decoder_next(d, &event);
	first = event.cycles;
	while (r > 0) {
		events++;
		on_event(map, &event);
		r = next_wanted(map, &event);
		events += map->passed.events;
	}
	if (events > 0) {
		note_time(map);
		if (partial->first_ts == UINT64_MAX) {
			uint64_t ts = clock_ns(&map->clock, first);

			ts = ts > packet->end ? packet->end : ts;
			partial->first_ts = ts < packet->floor ? packet->floor : ts;
		}
		partial->last_ts = map->last_ts;
	}
	partial->events += events;
	if (r < 0) {
		struct err err;

		(void)decoder_fault(d, &err);
		packet_fault(map, packet, err.text, map->last_ts, map->last_ts);
	}
	return r;
}

/* Nothing of a packet can be read. */
static void unreadable(struct map *map, const struct packet *packet, const char *text)
{
	packet_fault(map, packet, text, packet->floor,
		     packet->begin > map->last_ts ? packet->begin : map->last_ts);
}

/* The packet's bytes: its own, or those in the file. */
static const uint8_t *packet_bytes(struct map *map, const struct packet *packet, struct err *err)
{
	uint64_t done = 0;

	if (packet->bytes) {
		return packet->bytes;
	}
	if (map->chunk->mapped) {
		return map->chunk->mapped + packet->file_offset;
	}
	if (packet->size > map->buffer_size) {
		free(map->buffer);
		map->buffer = mem_alloc(packet->size);
		map->buffer_size = packet->size;
	}
	while (done < packet->size) {
		ssize_t got = pread(map->chunk->fd, map->buffer + done, packet->size - done,
				    (off_t)(packet->file_offset + done));

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			(void)err_raise(err, -EIO, "reading %" PRIu64 " bytes at %" PRIu64 ": %s",
					packet->size, packet->file_offset,
					got < 0 ? strerror(errno) : "the file ends before");
			return NULL;
		}
		done += (uint64_t)got;
	}
	return map->buffer;
}

/* Decodes a packet whose bytes are there. */
static void map_content(struct map *map, const struct packet *packet, const uint8_t *bytes)
{
	struct packet_info info;
	uint64_t claimed;
	bool is_cut;
	struct err err;

	if (packet_info_read(&map->decoder, map->plan, bytes, packet->size, PACKET_BYTES_MAX, &info,
			     &err) < 0) {
		unreadable(map, packet, err.text);
		return;
	}
	claimed = info.content_bits;
	is_cut = packet_info_cut(&info, packet->size);
	clock_init(&map->clock, info.stream->clock);
	decoder_start(&map->decoder, map->plan, &info, bytes, packet->size);
	map->last_ts = packet->floor > map->last_ts ? packet->floor : map->last_ts;
	map->last_cycles = clock_cycles(&map->clock, map->last_ts);
	map->packet_number = packet->number;
	map->packet_end_ns = packet->end;
	set_limit(map);
	if (map_events(map, packet) == 0 && is_cut) {
		(void)snprintf(err.text, sizeof(err.text),
			       "its content is %" PRIu64 " bits, of which only %" PRIu64
			       " are there",
			       claimed, packet->size * 8);
		packet_fault(map, packet, err.text, map->last_ts, map->last_ts);
	}
}

/* The same of a packet in a mapped file, which may be cut while it is read. */
static void map_guarded(struct map *map, const struct packet *packet, const uint8_t *bytes)
{
	struct guard guard;

	if (sigsetjmp(guard.jump, 0) == 0) {
		guard_enter(&guard, bytes, packet->size);
		map_content(map, packet, bytes);
	} else {
		packet_fault(map, packet, "the file became shorter, or cannot be read",
			     map->last_ts, map->last_ts);
	}
	guard_leave();
}

static void map_packet(struct map *map, const struct packet *packet)
{
	const uint8_t *bytes;
	struct err err;

	/* A gap begins where the last good packet ended; what it lost is counted where the
	 * packet that reports it begins, which no closed window can contain. */
	if (packet->has_gap) {
		map_note_gap(map, packet->floor);
		map_to_slice(map, packet->begin > packet->floor ? packet->begin : packet->floor);
		map->slice.discarded += packet->discarded;
		map->slice.lost_packets += packet->lost_packets;
	}
	if (packet->size == 0) {
		return; /* only the gap */
	}
	map->partial->packets++;
	map->partial->bytes += packet->size;
	bytes = packet_bytes(map, packet, &err);
	if (!bytes) {
		unreadable(map, packet, err.text);
	} else if (map->chunk->mapped) {
		map_guarded(map, packet, bytes);
	} else {
		map_content(map, packet, bytes);
	}
}

/* A slice may not yet exist when the first event comes: none has room for it. */
static void map_reset(struct map *map, struct chunk *chunk)
{
	map->chunk = chunk;
	map->plan = chunk->plan;
	assert(map->draft->groups.count == 0 && map->draft->records.count == 0);
	map->partial = shelf_take(map->setup->shelf);
	map->partial->begin = chunk->begin;
	map->has_slice = false;
	map->packet_end_ns = UINT64_MAX;
	map->passed.limit = 0;
	map->last_ts = chunk->begin;
	map->known = KNOWN_HEAD;
	map->switches = (struct switch_layout){ 0 };
	map->stay = SIZE_MAX;
	map->group = RECORD_NONE;
	map->head_group = RECORD_NONE;
	map->analysis = 0;
	map->resting = 0;
	map->passed.unwanted = SKIP_PASS;
	map_set_states(map, sched_states_of(chunk->plan->metadata));
	memset(map->states, 0, map->setup->state_size);
	grow_tallies(map, chunk->plan->class_count);
}

/* The pages of a mapped file that the chunk's packets lie in, as madvise() has @advice. */
static void advise_pages(const struct chunk *chunk, int advice)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const struct packet *first = NULL, *last = NULL;
	uintptr_t begin, end;

	for (size_t i = 0; chunk->mapped && i < chunk->packets.count; i++) {
		if (chunk->packets.at[i].size > 0) {
			last = &chunk->packets.at[i];
			first = first ? first : last;
		}
	}
	if (first) {
		begin = (uintptr_t)(chunk->mapped + first->file_offset) / page * page;
		/* The last page is the next chunk's, too, who takes it again: else one is left
		 * of each chunk. */
		end = ((uintptr_t)(chunk->mapped + last->file_offset + last->size) + page - 1) /
		      page * page;
		if (end > begin) {
			(void)madvise((void *)begin, end - begin, advice);
		}
	}
}

/* What was gathered belongs to the slice, although packets without events may reach beyond it. */
static uint64_t end_of_stay(const struct map *map)
{
	return map->has_slice && map->last_ts >= map->slice_end_ns ? map->slice_end_ns - 1
								   : map->last_ts;
}

void map_chunk(struct map *map, struct chunk *chunk)
{
	map_reset(map, chunk);
	advise_pages(chunk, MADV_POPULATE_READ); /* together it is quicker than one by one */
	for (size_t i = 0; i < chunk->packets.count; i++) {
		map_packet(map, &chunk->packets.at[i]);
		map->partial->end = chunk->packets.at[i].end;
		if (map->partial->end == PACKET_END_UNKNOWN) {
			map->partial->end = map->last_ts;
		}
	}
	advise_pages(chunk, MADV_DONTNEED); /* else pages count as ours while they are mapped */
	map_end_stay(map, end_of_stay(map), false);
	map_note_tail(map);
	close_slice(map);
	chunk->partial = map->partial;
	map->partial = NULL;
	if (chunk->packs) {
		if (!map->partials_packer) {
			map->partials_packer = partials_packer_new();
		}
		partials_pack(map->partials_packer, chunk->number, chunk->seq, chunk->partial,
			      &chunk->packed);
	}
}

void map_pack(struct map *map, struct chunk *chunk)
{
	for (size_t i = 0; i < chunk->packets.count; i++) {
		if (!chunk->packets.at[i].kept) {
			continue;
		}
		if (!map->packer) {
			map->packer = kept_packer_new();
		}
		if (!pool_is_busy(chunk->pool)) {
			kept_pack(chunk->packets.at[i].kept, map->packer);
		}
		if (map->setup->store) {
			kept_spill(chunk->packets.at[i].kept, map->setup->store);
		}
	}
}
