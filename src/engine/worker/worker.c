/*
 * worker: packets, events and slices; see worker.h.
 */
#include "engine/worker/records.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/now.h"
#include "ctf/clock.h"
#include "engine/worker/guard.h"
#include "kernel/task-state.h"

/* ---- needs ---- */

#define CONTEXT_NEED(event, ...)                                                                   \
	{                                                                                          \
		event, { NULL }, worker_on_context, .is_extra = true, .is_of_wakers = true,        \
						    __VA_ARGS__                                    \
	}
#define PAIR_NEEDS(number, entry, exit, kind)                                                      \
	CONTEXT_NEED(entry, .user = (number)), CONTEXT_NEED(exit, .user = (number) | CONTEXT_ENDS),

const struct need worker_needs[WORKER_NEEDS] = {
	{ "sched_switch",
	  { "@prev_comm", "prev_tid", "prev_prio", "prev_state", "@next_comm", "next_tid",
	    "next_prio", "context.pid" },
	  worker_on_switch,
	  0 },
	{ "sched_process_fork",
	  { "@child_comm", "child_tid", "child_pid", "child_ns_inum", "parent_ns_inum" },
	  worker_on_fork,
	  0 },
	{ "sched_process_exec", { "@filename", "tid", "old_tid" }, worker_on_exec, 0 },
	{ "lttng_statedump_process_state",
	  { "@name", "tid", "pid", "vpid", "ns_level", "ns_inum", "vtid" },
	  worker_on_process,
	  0 },
	{ "lttng_statedump_process_pid_ns",
	  { "tid", "vpid", "ns_level", "ns_inum", "vtid" },
	  worker_on_container },
	WORKER_PLACE_NEED,
	WAKE_PAIRS_OF(PAIR_NEEDS) CONTEXT_NEED(WAKE_VECTORS, .user_of = worker_vector_user),
};

/* ---- lifecycle ---- */

struct worker *worker_new(const struct setup *setup)
{
	struct worker *worker = mem_alloc(sizeof(*worker));

	worker->setup = setup;
	worker->states = mem_alloc(setup->state_size + 1);
	worker->draft = partial_new();
	worker->states_form = UINT16_MAX; /* none */
	worker_groups_init(worker);
	return worker;
}

static void forget_plan(struct worker *worker)
{
	for (size_t i = 0; i < ANALYSES_MAX; i++) {
		free(worker->of_plan[i]);
		worker->of_plan[i] = NULL;
	}
}

void worker_free(struct worker *worker)
{
	if (!worker) {
		return;
	}
	decoder_fini(&worker->decoder);
	forget_plan(worker);
	free(worker->states);
	free(worker->passed.counts);
	free(worker->passed.seen);
	worker_groups_fini(worker);
	partial_free(worker->draft);
	free(worker->buffer);
	free(worker);
}

/* ---- slices ---- */

/* The open slice, if there is one, ends at @ts; no record of it is later. */
static void close_slice(struct worker *worker, uint64_t ts)
{
	struct slice *slice = &worker->slice;
	const struct partial *partial = worker->partial;

	if (!worker->has_slice) {
		return;
	}
	assert(partial->slices.count == 0 ||
	       partial->slices.at[partial->slices.count - 1].window < slice->window);
	worker_end_oncpu(worker, ts, true);
	worker_end_slice(worker, ts);
	slice->keyed_count = (uint32_t)worker->partial->keyed_rows.count - slice->keyed_first;
	slice->tally_first = (uint32_t)worker->partial->tallies.count;
	slice->tally_count = (uint32_t)worker->passed.seen_count;
	worker_take_slice(worker);
	for (size_t i = 0; i < worker->passed.seen_count; i++) {
		uint32_t index = worker->passed.seen[i];

		*vec_push(&worker->partial->tallies) =
			(struct tally){ .class_index = index,
					.count = worker->passed.counts[index] };
		slice->events += worker->passed.counts[index];
		worker->passed.counts[index] = 0;
	}
	*vec_push(&worker->partial->slices) = *slice;
	worker->passed.seen_count = 0;
	worker->has_slice = false;
}

static void empty_slice(struct worker *worker)
{
	struct slice *slice = &worker->slice;

	memset(slice, 0, offsetof(struct slice, shards));
	slice->chains = RECORD_NONE;
	slice->keyed_first = (uint32_t)worker->partial->keyed_rows.count;
	memset(worker->keyed_chains, 0xFF, sizeof(worker->keyed_chains));
	worker_forget_groups(worker);
}

/* Events before the limit, in cycles, need no correction of their time and no other slice. */
static void set_limit(struct worker *worker)
{
	uint64_t end = worker->slice_end_ns;

	end = end > worker->packet_end_ns ? worker->packet_end_ns + 1 : end;
	worker->passed.limit = worker->has_slice ? clock_cycles(&worker->clock, end) : 0;
}

/* Opens the slice that @ts lies in: its window, cut at the bounds of the range. */
static void open_slice(struct worker *worker, uint64_t ts)
{
	const struct setup *setup = worker->setup;
	uint64_t interval = setup->window_ns;
	uint64_t begin = ts / interval * interval;
	uint64_t end = begin <= UINT64_MAX - interval ? begin + interval : UINT64_MAX;

	empty_slice(worker);
	worker->slice.window = setup_window(setup, ts);
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
	assert(begin <= ts);
	assert(ts < end);
	worker->slice_begin_ns = begin;
	worker->slice_end_ns = end;
	worker->has_slice = true;
	set_limit(worker);
}

void worker_to_slice(struct worker *worker, uint64_t ts)
{
	if (!worker->has_slice || ts >= worker->slice_end_ns || ts < worker->slice_begin_ns) {
		close_slice(worker, worker->slice_end_ns - 1);
		open_slice(worker, ts);
	}
}

/* ---- events ---- */

static void grow_tallies(struct worker *worker, uint32_t class_count)
{
	if (class_count <= worker->tally_room) {
		return;
	}
	worker->passed.counts =
		mem_realloc(worker->passed.counts, class_count * sizeof(*worker->passed.counts));
	worker->passed.seen =
		mem_realloc(worker->passed.seen, class_count * sizeof(*worker->passed.seen));
	memset(worker->passed.counts + worker->tally_room, 0,
	       (class_count - worker->tally_room) * sizeof(*worker->passed.counts));
	worker->tally_room = class_count;
}

static void count_event(struct worker *worker, uint32_t index)
{
	assert_hot(index < worker->tally_room);
	if (worker->passed.counts[index]++ == 0) {
		worker->passed.seen[worker->passed.seen_count++] = index;
	}
}

static inline void deliver(struct worker *worker, const struct plan_binding *binding,
			   struct trace_event *event)
{
	const struct route *route = &worker->setup->routes[binding->request];

	event->values = &worker->decoder.values[binding->base];
	event->binding = binding;
	event->present = binding->present;
	worker->analysis = route->analysis;
	route->on_event(worker, worker->states + route->state, event, binding->user);
}

static void dispatch(struct worker *worker, const struct plan_event *class, uint64_t ts)
{
	const struct plan_binding *binding = class->bindings, *end = binding + class->binding_count;
	struct trace_event event = { .ts = ts, .class = class };

	decoder_copy(&worker->decoder, class);
	for (; binding != end; binding++) {
		deliver(worker, binding, &event);
	}
}

/* The time of an event must lie within its packet, and not before that of the event before. */
static uint64_t clamp_ts(const struct worker *worker, uint64_t ts)
{
	ts = ts > worker->packet_end_ns ? worker->packet_end_ns : ts;
	return ts < worker->last_ts ? worker->last_ts : ts;
}

/* The time of events that are only counted was not converted yet. */
static void note_time(struct worker *worker)
{
	worker->last_ts = clamp_ts(worker, clock_ns(&worker->clock, worker->last_cycles));
}

static void note_anomaly(struct worker *worker)
{
	worker->slice.anomalies++;
	if (worker->partial->first_anomaly == UINT64_MAX) {
		worker->partial->first_anomaly = worker->packet_number;
	}
}

static void on_event(struct worker *worker, const struct ctf_event *event)
{
	uint64_t ts, ns;

	/* Nearly always: not before the last event, and within the slice. */
	if (event->cycles >= worker->last_cycles && event->cycles < worker->passed.limit) {
		worker->last_cycles = event->cycles;
		count_event(worker, event->class->index);
		if (event->class->binding_count > 0) {
			worker->last_ts = clock_ns(&worker->clock, event->cycles);
			dispatch(worker, event->class, worker->last_ts);
		}
		return;
	}
	note_time(worker);
	ns = clock_ns(&worker->clock, event->cycles);
	ts = clamp_ts(worker, ns);
	worker_to_slice(worker, ts);
	if (ts != ns) {
		note_anomaly(worker);
	}
	worker->last_ts = ts;
	if (event->cycles > worker->last_cycles) {
		worker->last_cycles = event->cycles;
	}
	count_event(worker, event->class->index);
	dispatch(worker, event->class, ts);
}

/* ---- packets ---- */

/* The packet cannot be read from @floor on: a gap, counted in the slice of @ts. */
static void packet_fault(struct worker *worker, const struct packet *packet, const char *text,
			 uint64_t floor, uint64_t ts)
{
	struct partial_fault *fault = vec_push(&worker->partial->faults);

	fault->packet = packet->number;
	(void)snprintf(fault->text, sizeof(fault->text), "%.190s", text);
	worker_note_gap(worker, floor, packet->end == PACKET_END_UNKNOWN ? floor : packet->end);
	worker_to_slice(worker, ts);
	worker->slice.bad_packets += !worker->has_left;
}

static void note_leaving(struct worker *worker)
{
	worker->has_left = true;
	now_has_left = true;
}

/* An event that is wanted and in order, called by decoder_each(). */
static void on_plain_event(void *user, const struct ctf_event *event)
{
	struct worker *worker = user;
	struct trace_event plain;

	worker->last_ts = clock_ns(&worker->clock, event->cycles);
	assert_hot(worker->last_ts >= worker->slice_begin_ns);
	assert_hot(worker->last_ts < worker->slice_end_ns);
	assert_hot(worker->last_ts <= worker->packet_end_ns);
	if (event->class == worker->switches.class) {
		worker_on_plain_switch(worker, worker->last_ts, event->fields);
		return;
	}
	if (event->fields) {
		decoder_load_fixed(&worker->decoder, event->class, event->fields);
	}
	if (event->class->binding_count == 1 && event->class->copy_count == 0) {
		plain.ts = worker->last_ts;
		plain.class = event->class;
		deliver(worker, event->class->bindings, &plain);
	} else {
		dispatch(worker, event->class, worker->last_ts);
	}
}

/* Goes through the events up to the first that is not in order, which it returns. */
static int next_wanted(struct worker *worker, struct ctf_event *event)
{
	struct decoder *d = &worker->decoder;
	int r;

	if (!d->stream->skips || d->clock < worker->last_cycles) {
		worker->passed.events = 0;
		return decoder_next(d, event);
	}
	r = decoder_each(d, &worker->passed, on_plain_event, worker, event);
	worker->last_cycles = worker->passed.clock;
	return r;
}

/* The next event, or a fault where the process has to end in the middle of a long packet. */
static int next_unless_due(struct worker *worker, struct ctf_event *event)
{
	int r = next_wanted(worker, event);

	if (r > 0 && now_must_leave()) {
		note_leaving(worker);
		return decoder_fail(&worker->decoder, "the run was interrupted", 0);
	}
	return r;
}

/* -1: the packet could not be decoded to its end; the fault is noted. */
static int worker_events(struct worker *worker, const struct packet *packet)
{
	struct partial *partial = worker->partial;
	struct decoder *d = &worker->decoder;
	uint64_t events = 0, first = 0;
	struct ctf_event event = { 0 };
	int r;

	r = decoder_next(d, &event);
	first = event.cycles;
	while (r > 0) {
		events++;
		on_event(worker, &event);
		r = next_unless_due(worker, &event);
		events += worker->passed.events;
	}
	if (events > 0) {
		note_time(worker);
		if (partial->first_ts == UINT64_MAX) {
			uint64_t ts = clock_ns(&worker->clock, first);

			ts = ts > packet->limit ? packet->limit : ts;
			partial->first_ts = ts < packet->floor ? packet->floor : ts;
		}
		partial->last_ts = worker->last_ts;
	}
	partial->events += events;
	if (r < 0) {
		struct err err;

		(void)decoder_fault(d, &err);
		packet_fault(worker, packet, err.text, worker->last_ts, worker->last_ts);
	}
	return r;
}

/* Nothing of the packet can be read. */
static void unreadable(struct worker *worker, const struct packet *packet, const char *text)
{
	packet_fault(worker, packet, text, packet->floor,
		     packet->begin > worker->last_ts ? packet->begin : worker->last_ts);
}

/* The bytes of the packet: its own, or those in the file.  NULL: an error. */
static const uint8_t *packet_bytes(struct worker *worker, const struct packet *packet,
				   struct err *err)
{
	uint64_t done = 0;

	if (packet->bytes) {
		return packet->bytes;
	}
	if (worker->chunk->mapped) {
		return worker->chunk->mapped + packet->file_offset;
	}
	if (packet->size > worker->buffer_size) {
		free(worker->buffer);
		worker->buffer = mem_alloc(packet->size);
		worker->buffer_size = packet->size;
	}
	while (done < packet->size) {
		uint64_t piece = packet->size - done < READ_PIECE_BYTES ? packet->size - done
									: READ_PIECE_BYTES;
		ssize_t got = pread(worker->chunk->fd, worker->buffer + done, piece,
				    (off_t)(packet->file_offset + done));

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (now_must_leave()) {
			note_leaving(worker);
			(void)err_raise(err, -EINTR, "the run was interrupted");
			return NULL;
		}
		if (got <= 0) {
			(void)err_raise(err, -EIO, "reading %" PRIu64 " bytes at %" PRIu64 ": %s",
					packet->size, packet->file_offset,
					got < 0 ? strerror(errno) : "the file ends before");
			return NULL;
		}
		done += (uint64_t)got;
	}
	return worker->buffer;
}

/* Decodes the bytes of a packet. */
static void worker_content(struct worker *worker, const struct packet *packet, const uint8_t *bytes)
{
	struct packet_info info;
	uint64_t claimed; /* size of the content in bits, as the packet says */
	bool is_cut;
	struct err err;

	if (packet_info_read(&worker->decoder, worker->plan, bytes, packet->size, PACKET_BYTES_MAX,
			     &info, &err) < 0) {
		unreadable(worker, packet, err.text);
		return;
	}
	claimed = info.content_bits;
	is_cut = packet_info_cut(&info, packet->size);
	clock_init(&worker->clock, info.stream->clock);
	decoder_start(&worker->decoder, worker->plan, &info, bytes, packet->size);
	worker->last_ts = packet->floor > worker->last_ts ? packet->floor : worker->last_ts;
	worker->last_cycles = clock_cycles(&worker->clock, worker->last_ts);
	worker->packet_number = packet->number;
	worker->packet_end_ns = packet->limit;
	set_limit(worker);
	if (worker_events(worker, packet) == 0 && is_cut) {
		(void)snprintf(err.text, sizeof(err.text),
			       "its content is %" PRIu64 " bits, of which only %" PRIu64
			       " are there",
			       claimed, packet->size * 8);
		packet_fault(worker, packet, err.text, worker->last_ts, worker->last_ts);
	}
}

/* The same for a packet in a mapped file, which may be truncated meanwhile. */
static void worker_guarded(struct worker *worker, const struct packet *packet, const uint8_t *bytes)
{
	struct guard guard;

	if (sigsetjmp(guard.jump, 0) == 0) {
		guard_enter(&guard, bytes, packet->size);
		worker_content(worker, packet, bytes);
	} else {
		packet_fault(worker, packet, "the file became shorter, or cannot be read",
			     worker->last_ts, worker->last_ts);
	}
	guard_leave();
}

/* Lost events are counted in the slice in which the packet that reports them begins: the window in
 * which they were lost may be closed.  Nothing after that is older. */
static void count_lost(struct worker *worker, const struct packet *packet)
{
	worker->last_ts = packet->begin > worker->last_ts ? packet->begin : worker->last_ts;
	worker_to_slice(worker, worker->last_ts);
	worker->slice.discarded += packet->discarded;
	worker->slice.lost_packets += packet->lost_packets;
}

static void worker_packet(struct worker *worker, const struct packet *packet)
{
	const uint8_t *bytes;
	struct err err;

	assert(packet->floor <= packet->begin);
	assert(packet->begin <= packet->end);
	assert(packet->end <= packet->limit);
	if (packet->has_gap) {
		worker_note_gap(worker, packet->floor, packet->begin);
		count_lost(worker, packet);
	}
	if (packet->size == 0) {
		return; /* nothing but a gap */
	}
	worker->partial->packets++;
	worker->partial->bytes += packet->size;
	bytes = packet_bytes(worker, packet, &err);
	if (!bytes) {
		unreadable(worker, packet, err.text);
	} else if (worker->chunk->mapped) {
		worker_guarded(worker, packet, bytes);
	} else {
		worker_content(worker, packet, bytes);
	}
}

/* Names are looked up in metadata once for all chunks of a plan. */
static void learn_plan(struct worker *worker)
{
	if (worker->plan_serial != worker->plan->serial) {
		worker->plan_serial = worker->plan->serial;
		worker->wakes = (struct wake_source){ 0 };
		forget_plan(worker);
		worker->contexts = 0;
		worker->is_rt = task_state_is_rt(worker->plan->metadata);
		worker->by_cpu = worker->plan->whole && worker_has_event(worker, "sched_switch");
		worker_set_states(worker, task_state_encoding(worker->plan->metadata));
	}
}

/* No slice is open when a chunk begins: the first event finds that the limit is 0. */
static void worker_reset(struct worker *worker, struct chunk *chunk)
{
	worker->chunk = chunk;
	worker->plan = chunk->plan;
	learn_plan(worker);
	assert(!worker->partial);
	assert(!chunk->partial);
	assert(worker->draft->groups.count == 0);
	assert(worker->draft->records.count == 0);
	assert(worker->passed.seen_count == 0);
	worker->partial = partial_cache_take(worker->setup->partial_cache);
	worker->partial->begin = chunk->begin;
	worker->partial->covered_from =
		chunk->packets.count > 0 ? chunk->packets.at[0].begin : chunk->begin;
	worker->partial->covered_until = worker->partial->covered_from; /* if no packet is read */
	worker->has_slice = worker->has_left = false;
	worker->packet_end_ns = UINT64_MAX;
	worker->passed.limit = 0;
	worker->last_ts = chunk->begin;
	worker->known = KNOWN_INITIAL;
	worker->fit = FITS_NOBODY;
	worker->tid = 0;
	worker->serves = false;
	worker->since = chunk->begin;
	worker->switches = (struct switch_layout){ 0 };
	worker->oncpu = SIZE_MAX;
	worker->group = RECORD_NONE;
	worker->initial_group = RECORD_NONE;
	worker->analysis = 0;
	worker->resting = worker->setup->follows_rt && !worker->is_rt ? SETUP_BASE_RESTS : 0;
	worker->oncpu_ends = worker->setup->callers.on_oncpu_end &
			     ~(worker->is_rt ? 0 : worker->setup->oncpu_ends_of_rt);
	worker->passed.unwanted = worker->resting && worker->setup->may_rest == SETUP_BASE_RESTS
					  ? SKIP_REST
					  : SKIP_PASS;
	memset(worker->states, 0, worker->setup->state_size);
	grow_tallies(worker, chunk->plan->class_count);
}

/* Calls madvise() for the pages of a mapped file that the packets of the chunk lie in. */
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
		/* The next chunk shares the last page.  It reads it again if it must: otherwise one
		 * page of each chunk would stay. */
		end = ((uintptr_t)(chunk->mapped + last->file_offset + last->size) + page - 1) /
		      page * page;
		for (; begin < end && !now_must_leave(); begin += READ_PIECE_BYTES) {
			uintptr_t left = end - begin;

			(void)madvise((void *)begin,
				      left < READ_PIECE_BYTES ? left : READ_PIECE_BYTES, advice);
		}
	}
}

/* What analyses have gathered belongs to the open slice, but a packet without events may lie after
 * it. */
static uint64_t end_of_oncpu(const struct worker *worker)
{
	return worker->has_slice && worker->last_ts >= worker->slice_end_ns
		       ? worker->slice_end_ns - 1
		       : worker->last_ts;
}

/* Up to where the stream is known behind the packet, and what that covers. */
static void note_end(struct worker *worker, const struct packet *packet)
{
	uint64_t covered = packet->end == PACKET_END_UNKNOWN ? UINT64_MAX : packet->end;
	struct partial *partial = worker->partial;

	partial->end = packet->end;
	if (packet->end == PACKET_END_UNKNOWN || packet->may_overlap ||
	    (packet->limit == PACKET_END_UNKNOWN && worker->last_ts > packet->end)) {
		partial->end = worker->last_ts;
	}
	if (partial->covered_until < covered) {
		partial->covered_until = covered;
	}
}

void worker_run_chunk(struct worker *worker, struct chunk *chunk)
{
	worker_reset(worker, chunk);
	advise_pages(chunk, MADV_POPULATE_READ); /* faster than one page fault each */
	for (size_t i = 0; i < chunk->packets.count; i++) {
		if (now_must_leave()) {
			now_has_left = true;
			break;
		}
		worker_packet(worker, &chunk->packets.at[i]);
		note_end(worker, &chunk->packets.at[i]);
	}
	advise_pages(
		chunk,
		MADV_DONTNEED); /* pages count as memory of the process while they are mapped */
	worker_end_oncpu(worker, end_of_oncpu(worker), false);
	worker_note_last(worker);
	close_slice(worker, end_of_oncpu(worker));
	if (CHECKS_ON) {
		partial_check_worker(worker->partial, chunk->plan->class_count);
	}
	chunk->partial = worker->partial;
	worker->partial = NULL;
}
