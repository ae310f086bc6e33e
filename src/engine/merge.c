/*
 * merge: streams, the watermark, windows.  What records mean is in automaton.c.
 */
#include "engine/merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/merge-state.h"

/* ---- lifecycle ---- */

struct merge *merge_new(const struct map_setup *setup, merge_emit_fn *emit, void *user)
{
	struct merge *merge = mem_alloc(sizeof(*merge));

	merge->setup = setup;
	merge->emit = emit;
	merge->user = user;
	merge->first_ts = UINT64_MAX;
	rows_init(&merge->rows, setup);
	return merge;
}

static void stream_free(struct merge_stream *stream)
{
	for (size_t i = 0; i < stream->early.count; i++) {
		partial_free(stream->early.at[i].partial);
	}
	for (size_t i = stream->ready_first; i < stream->ready.count; i++) {
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
	for (size_t i = 0; i < merge->streams.count; i++) {
		stream_free(merge->streams.at[i]);
	}
	for (size_t i = 0; i < merge->slices.count; i++) {
		free(merge->slices.at[i].tallies);
	}
	vec_fini(&merge->streams);
	vec_fini(&merge->heap);
	vec_fini(&merge->slices);
	rows_fini(&merge->rows);
	free(merge);
}

void merge_set_classes(struct merge *merge, const struct plan *plan)
{
	rows_set_classes(&merge->rows, plan);
}

/* ---- streams ---- */

struct merge_stream *merge_stream_new(struct merge *merge)
{
	struct merge_stream *stream = mem_alloc(sizeof(*stream));

	stream->merge = merge;
	stream->ordinal = (uint32_t)merge->streams.count;
	stream->end_seq = UINT64_MAX;
	*vec_push(&merge->streams) = stream;
	return stream;
}

/* The end of the window that has @ts. */
static uint64_t window_end_of(const struct merge *merge, uint64_t ts)
{
	uint64_t interval = merge->setup->interval_ns;
	uint64_t begin = ts / interval * interval;

	return begin > UINT64_MAX - interval ? UINT64_MAX : begin + interval;
}

static uint64_t head_limit_of(const struct merge *merge, uint64_t begin)
{
	uint64_t end = window_end_of(merge, begin);

	return end > UINT64_MAX - HEAD_WAIT_NS ? UINT64_MAX : end + HEAD_WAIT_NS;
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
		cpu->state = CPU_HEAD;
		merge->heads++;
		if (merge->has_started) {
			cpu->since = merge->window_begin;
			cpu->head_limit = head_limit_of(merge, stream->identity.begin);
		}
	}
}

void merge_stream_identify(struct merge_stream *stream, const struct stream_identity *identity)
{
	assert(!stream->is_identified);
	stream->identity = *identity;
	stream->is_identified = true;
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

bool merge_stream_is_known(const struct merge_stream *stream)
{
	return stream->has_until || stream->has_known || stream->is_identified;
}

uint64_t merge_stream_until(const struct merge_stream *stream)
{
	return stream->has_until ? stream->until : 0;
}

/* ---- taking partials ---- */

static void keep_slices(struct merge *merge, const struct partial *partial)
{
	for (size_t i = 0; i < partial->slices.count; i++) {
		const struct slice *slice = &partial->slices.at[i];
		struct pending_slice *pending;

		if (slice->window == WINDOW_BEFORE || slice->window == WINDOW_AFTER) {
			continue;
		}
		pending = vec_push(&merge->slices);
		pending->slice = *slice;
		pending->tallies = mem_alloc((slice->tally_count + 1) * sizeof(struct tally));
		if (slice->tally_count > 0) {
			memcpy(pending->tallies, partial->tallies.at + slice->tally_first,
			       slice->tally_count * sizeof(struct tally));
		}
	}
}

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
	keep_slices(merge, partial);
	if (merge->has_started && stream->cpu) {
		automaton_head(stream, partial);
	}
	*vec_push(&stream->ready) = partial;
	apply_known(stream);
}

void merge_take(struct merge_stream *stream, uint64_t seq, struct partial *partial)
{
	assert(seq >= stream->next_seq);
	stream->merge->held_bytes += partial_bytes(partial);
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

/* ---- records in time order ---- */

/* Goes on to the next partial that has a record; frees those that are used up. */
static const struct record *next_partial(struct merge_stream *stream)
{
	while (stream->ready_first < stream->ready.count) {
		struct partial *partial = stream->ready.at[stream->ready_first];

		if (stream->record < partial->records.count) {
			return &partial->records.at[stream->record];
		}
		stream->merge->held_bytes -= partial_bytes(partial);
		partial_free(partial);
		stream->record = 0;
		stream->ready_first++;
	}
	stream->ready.count = 0;
	stream->ready_first = 0;
	return NULL;
}

/* The next record of a stream, or NULL. */
static const struct record *next_record(struct merge_stream *stream)
{
	if (stream->ready_first < stream->ready.count) {
		const struct partial *partial = stream->ready.at[stream->ready_first];

		if (stream->record < partial->records.count) {
			return &partial->records.at[stream->record];
		}
	}
	return next_partial(stream);
}

static uint64_t record_ts(const struct merge_stream *stream, const struct record *record)
{
	return record->ts < stream->last_ts ? stream->last_ts : record->ts;
}

/* Streams by what they are, so that the order of arrival does not matter. */
static int by_identity(const void *left, const void *right)
{
	const struct merge_stream *a = ((const struct heap_entry *)left)->stream;
	const struct merge_stream *b = ((const struct heap_entry *)right)->stream;

	if (a->identity.class_id != b->identity.class_id) {
		return a->identity.class_id < b->identity.class_id ? -1 : 1;
	}
	if (a->identity.cpu_id != b->identity.cpu_id) {
		return a->identity.cpu_id < b->identity.cpu_id ? -1 : 1;
	}
	return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

/* Time, then stream.  One comparison of both: which is less cannot be foreseen. */
static bool entry_before(const struct heap_entry *a, const struct heap_entry *b)
{
	unsigned __int128 left = (unsigned __int128)a->ts << 64 | a->rank;
	unsigned __int128 right = (unsigned __int128)b->ts << 64 | b->rank;

	return left < right;
}

static void sift_down(struct merge *merge, size_t at)
{
	struct heap_entry *heap = merge->heap.at;
	struct heap_entry moved = heap[at];
	size_t count = merge->heap.count, child;

	while ((child = at * 2 + 1) < count) {
		child += child + 1 < count && entry_before(&heap[child + 1], &heap[child]);
		if (!entry_before(&heap[child], &moved)) {
			break;
		}
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/*
 * Uses the records of the first stream for as long as it stays the first.  False: the first
 * of all is not before @bound.
 */
static bool use_records(struct merge *merge, uint64_t bound)
{
	struct heap_entry *first = &merge->heap.at[0];
	struct merge_stream *stream = first->stream;
	const struct heap_entry never = { .ts = UINT64_MAX, .rank = UINT64_MAX };
	const struct heap_entry *second = merge->heap.count > 1 ? &first[1] : &never;
	const struct record *record = next_record(stream);

	if (merge->heap.count > 2 && entry_before(&first[2], second)) {
		second = &first[2];
	}
	while (record) {
		uint64_t ts = first->ts;

		if (ts >= bound) {
			return false;
		}
		automaton_record(stream, stream->ready.at[stream->ready_first], record, ts);
		stream->last_ts = ts;
		stream->record++;
		record = next_record(stream);
		if (record) {
			first->ts = record_ts(stream, record);
			if (entry_before(second, first)) {
				sift_down(merge, 0);
				return true;
			}
		}
	}
	*first = merge->heap.at[--merge->heap.count];
	sift_down(merge, 0);
	return true;
}

static void use_all_before(struct merge *merge, uint64_t bound)
{
	merge->heap.count = 0;
	for (size_t i = 0; i < merge->streams.count; i++) {
		struct merge_stream *stream = merge->streams.at[i];
		const struct record *record = next_record(stream);

		if (record) {
			*vec_push(&merge->heap) =
				(struct heap_entry){ .ts = record_ts(stream, record),
						     .stream = stream };
		}
	}
	if (merge->heap.count > 1) {
		qsort(merge->heap.at, merge->heap.count, sizeof(merge->heap.at[0]), by_identity);
	}
	for (size_t i = 0; i < merge->heap.count; i++) {
		merge->heap.at[i].rank = i;
	}
	for (size_t i = merge->heap.count / 2; i-- > 0;) {
		sift_down(merge, i);
	}
	while (merge->heap.count > 0 && use_records(merge, bound)) {
	}
}

/* ---- windows ---- */

static void apply_slice(struct merge *merge, struct pending_slice *pending, bool is_late)
{
	struct slice *slice = &pending->slice;
	uint64_t events = 0;

	for (uint32_t i = 0; i < slice->tally_count; i++) {
		events += pending->tallies[i].count;
	}
	merge->late_events = is_late ? events : 0;
	for (size_t a = 0; a < merge->setup->analysis_count; a++) {
		const struct analysis *analysis = merge->setup->analyses[a];

		merge->running = a;
		if (analysis->on_slice) {
			analysis->on_slice(merge, slice);
		}
		for (uint32_t i = 0; analysis->on_tally && i < slice->tally_count; i++) {
			const struct tally *tally = &pending->tallies[i];

			analysis->on_tally(merge, merge->rows.class_names.at[tally->class_index],
					   tally->count);
		}
	}
	merge->applied.discarded += slice->discarded;
	merge->applied.lost_packets += slice->lost_packets;
	merge->applied.bad_packets += slice->bad_packets;
	merge->account.discarded += slice->discarded;
	merge->account.lost_packets += slice->lost_packets;
	merge->account.bad_packets += slice->bad_packets;
	merge->account.anomalies += slice->anomalies;
	merge->account.late_events += merge->late_events;
	merge->window_events += events;
	merge->window_late += merge->late_events;
}

/* Adds what fell into the open window, or into closed ones: that is late. */
static void apply_slices(struct merge *merge, int64_t last)
{
	size_t kept = 0;

	for (size_t i = 0; i < merge->slices.count; i++) {
		struct pending_slice *pending = &merge->slices.at[i];

		if (pending->slice.window > last) {
			merge->slices.at[kept++] = *pending;
			continue;
		}
		apply_slice(merge, pending, pending->slice.window < merge->window);
		free(pending->tallies);
	}
	merge->slices.count = kept;
}

static bool any_excluded(const struct merge *merge)
{
	for (size_t i = 0; i < merge->streams.count; i++) {
		if (merge->streams.at[i]->is_excluded && !merge->streams.at[i]->is_ended) {
			return true;
		}
	}
	return false;
}

static void emit_window(struct merge *merge, uint64_t end, uint64_t now_ns)
{
	const struct slice *applied = &merge->applied;
	struct report_memory memory = { 0 };
	struct report report = {
		.kind = REPORT_WINDOW,
		.seq = merge->window_seq++,
		.begin = merge->window_begin,
		.end = end,
		.complete = !merge->window_has_gap && !merge->window_is_long &&
			    !any_excluded(merge) && merge->window_late == 0 &&
			    applied->discarded + applied->lost_packets + applied->bad_packets == 0,
		.has_lag = now_ns != 0,
		.lag_ns = (int64_t)(now_ns - end),
		.events = merge->window_events,
		.discarded = applied->discarded,
		.lost_packets = applied->lost_packets,
		.bad_packets = applied->bad_packets,
		.late_events = merge->window_late,
	};

	rows_report(&merge->rows, false, &report, &memory);
	merge->emit(merge->user, &report);
	report_memory_fini(&memory);
}

/* A CPU that is still unknown at the window's end stays so, in the next one too. */
static bool any_unknown_cpu(const struct merge *merge)
{
	for (khint_t i = kh_begin(merge->rows.cpus); i != kh_end(merge->rows.cpus); i++) {
		if (kh_exist(merge->rows.cpus, i) && kh_value(merge->rows.cpus, i)->owner &&
		    kh_value(merge->rows.cpus, i)->state == CPU_UNKNOWN) {
			return true;
		}
	}
	return false;
}

static void close_window(struct merge *merge, uint64_t end, int64_t last, uint64_t now_ns)
{
	bool keep = !merge->is_before_range;

	automaton_charge(merge, end);
	if (keep) {
		apply_slices(merge, last);
		if (merge->setup->wants_windows) {
			emit_window(merge, end, now_ns);
		}
		merge->total_events += merge->window_events;
	}
	rows_close_window(&merge->rows, keep);
	memset(&merge->applied, 0, sizeof(merge->applied));
	merge->window_events = 0;
	merge->window_late = 0;
	merge->window_has_gap = any_unknown_cpu(merge);
	merge->closed_end = end;
	if (merge->is_before_range) {
		merge->is_before_range = false;
		merge->begin = end;
	}
}

/* The earliest window that anything can still fall into. */
static int64_t next_window_with_data(const struct merge *merge, uint64_t watermark)
{
	int64_t next = watermark == UINT64_MAX ? INT64_MAX
					       : (int64_t)(watermark / merge->setup->interval_ns);

	for (size_t i = 0; i < merge->slices.count; i++) {
		if (merge->slices.at[i].slice.window < next) {
			next = merge->slices.at[i].slice.window;
		}
	}
	return next;
}

/* The window that begins at @begin; one that bridges a jump of the clock is longer. */
static void open_window(struct merge *merge, uint64_t begin, uint64_t watermark)
{
	int64_t next = next_window_with_data(merge, watermark);

	merge->window_begin = begin;
	merge->window_end = window_end_of(merge, begin);
	merge->window = (int64_t)(begin / merge->setup->interval_ns);
	merge->window_is_long = false;
	if (next != INT64_MAX && next - merge->window > WINDOW_JUMP_MAX) {
		merge->window_end = (uint64_t)next * merge->setup->interval_ns;
		merge->window_is_long = true;
	}
	if (begin < merge->setup->range_begin) {
		merge->is_before_range = true;
		merge->window_end = merge->setup->range_begin;
	} else if (merge->window_end > merge->setup->range_end) {
		merge->window_end = merge->setup->range_end;
	}
}

/* The number of the last slice that falls into the open window. */
static int64_t last_number(const struct merge *merge)
{
	return merge->window_is_long ? (int64_t)(merge->window_end / merge->setup->interval_ns) - 1
				     : merge->window;
}

/* ---- advancing ---- */

static void start_cpus(struct merge *merge)
{
	for (khint_t i = kh_begin(merge->rows.cpus); i != kh_end(merge->rows.cpus); i++) {
		if (kh_exist(merge->rows.cpus, i)) {
			kh_value(merge->rows.cpus, i)->since = merge->window_begin;
			kh_value(merge->rows.cpus, i)->head_limit =
				head_limit_of(merge, merge->window_begin);
		}
	}
}

/* A trace begins with its first event; before that there is nothing to report. */
static bool start(struct merge *merge, uint64_t watermark)
{
	if (merge->has_started) {
		return true;
	}
	if (merge->first_ts == UINT64_MAX || watermark <= merge->first_ts) {
		return false;
	}
	merge->has_started = true;
	merge->begin = merge->first_ts;
	open_window(merge, merge->first_ts, watermark);
	start_cpus(merge);
	for (size_t i = 0; i < merge->streams.count; i++) {
		struct merge_stream *stream = merge->streams.at[i];

		for (size_t k = stream->ready_first; stream->cpu && k < stream->ready.count; k++) {
			automaton_head(stream, stream->ready.at[k]);
		}
	}
	return true;
}

/* Whether all first threads are known, or have been waited for long enough. */
static bool settle_heads(struct merge *merge, uint64_t watermark)
{
	for (khint_t i = kh_begin(merge->rows.cpus);
	     merge->heads > 0 && i != kh_end(merge->rows.cpus); i++) {
		struct cpu *cpu =
			kh_exist(merge->rows.cpus, i) ? kh_value(merge->rows.cpus, i) : NULL;

		if (cpu && cpu->owner && cpu->state == CPU_HEAD &&
		    (watermark >= cpu->head_limit || cpu->owner->is_ended)) {
			automaton_head_unknown(merge, cpu);
		}
	}
	return merge->heads == 0;
}

/*
 * A trace ends with its last event, so a window with none at or beyond its end may be the
 * last one, and not a whole one.  Only a live trace that is idle closes it nevertheless.
 */
static bool may_close(struct merge *merge, uint64_t end, uint64_t now_ns)
{
	if (merge->account.events != merge->taken_events) {
		merge->taken_events = merge->account.events;
		merge->taken_ns = now_ns;
	}
	return merge->last_ts >= end || (now_ns != 0 && now_ns - merge->taken_ns >= IDLE_CLOSE_NS);
}

static bool in_range(const struct merge *merge)
{
	return merge->window_begin < merge->setup->range_end;
}

void merge_advance(struct merge *merge, uint64_t now_ns)
{
	uint64_t watermark = merge_watermark(merge);

	if (merge->streams.count == 0 || watermark == UINT64_MAX || !start(merge, watermark) ||
	    !settle_heads(merge, watermark)) {
		return;
	}
	while (in_range(merge)) {
		uint64_t end = merge->window_end;

		use_all_before(merge, watermark < end ? watermark : end);
		if (watermark < end || !may_close(merge, end, now_ns)) {
			return;
		}
		close_window(merge, end, last_number(merge), now_ns);
		open_window(merge, end, watermark);
	}
	use_all_before(merge, watermark); /* beyond the range: nothing is kept */
}

void merge_finish(struct merge *merge, uint64_t now_ns)
{
	uint64_t last;

	if (!start(merge, UINT64_MAX)) {
		merge_emit_total(merge, false);
		return;
	}
	(void)settle_heads(merge, UINT64_MAX);
	last = merge->last_ts < merge->setup->range_end ? merge->last_ts : merge->setup->range_end;
	while (in_range(merge) && merge->window_end <= last) {
		uint64_t end = merge->window_end;

		use_all_before(merge, end);
		close_window(merge, end, last_number(merge), now_ns);
		open_window(merge, end, UINT64_MAX);
	}
	if (in_range(merge) && last >= merge->window_begin) {
		use_all_before(merge, UINT64_MAX);
		close_window(merge, last, INT64_MAX - 1, now_ns);
	}
	merge_emit_total(merge, false);
}

void merge_emit_total(struct merge *merge, bool so_far)
{
	struct report_memory memory = { 0 };
	struct report report = {
		.kind = so_far ? REPORT_SO_FAR : REPORT_TOTAL,
		.begin = merge->begin,
		.end = merge->closed_end,
		.complete = merge->account.discarded + merge->account.lost_packets +
				    merge->account.bad_packets + merge->account.late_events ==
			    0,
		.events = merge->total_events,
		.discarded = merge->account.discarded,
		.lost_packets = merge->account.lost_packets,
		.bad_packets = merge->account.bad_packets,
		.late_events = merge->account.late_events,
	};

	rows_report(&merge->rows, true, &report, &memory);
	merge->emit(merge->user, &report);
	report_memory_fini(&memory);
}

/* ---- for analyses ---- */

uint64_t *merge_trace_row(struct merge *merge, unsigned int table)
{
	return merge->rows.trace.window + merge->rows.offsets[merge->running][table];
}

uint64_t *merge_cpu_row(struct merge *merge, struct cpu *cpu, unsigned int table)
{
	return cpu->sums.window + merge->rows.offsets[merge->running][table];
}

uint64_t *merge_thread_row(struct merge *merge, struct thread *thread, unsigned int table)
{
	rows_touch_thread(&merge->rows, thread);
	return thread->sums.window + merge->rows.offsets[merge->running][table];
}

uint64_t *merge_event_row(struct merge *merge, uint32_t event_name, unsigned int table)
{
	struct event_name *name = merge->rows.names.at[event_name];

	rows_touch_name(&merge->rows, name);
	return name->sums.window + merge->rows.offsets[merge->running][table];
}

void *merge_thread_state(struct merge *merge, struct thread *thread)
{
	return (char *)thread->states + merge->rows.thread_state_offsets[merge->running];
}

uint64_t merge_late_events(const struct merge *merge)
{
	return merge->late_events;
}
