/*
 * reader: see reader.h.
 *
 * Each stream has two batches of decoded events: the front, which is read here, and the back, which
 * a helper fills meanwhile.  A back that no helper has begun when it is needed is filled here.
 */
#include "deep/reader.h"

#include <pthread.h>
#include <stdlib.h>

#include "deep/batch.h"

#define HELPERS_MAX 8 /* decoding is a third of what is done with an event, and less */

/* Of a back: FREE may be queued, QUEUED may be taken out of the queue, READY becomes the front. */
enum back_state { BACK_FREE, BACK_QUEUED, BACK_FILLING, BACK_READY };

struct lane {
	struct cursor cursor;
	struct batch *front, *back;
	uint32_t at;           /* the front's next event */
	enum back_state state; /* under the mutex, as is: */
	struct lane *next;     /* in the queue */
	uint64_t events, first, last;
	uint64_t since;            /* as in its events */
	struct reader_event event; /* the next one of the stream */
};

struct reader {
	struct recorded trace;
	struct lane *lanes;
	size_t count;
	struct lane **heap; /* those that have an event, by its time */
	size_t heap_count;
	bool has_given; /* the event of the first of them */
	size_t cpu_count;
	reader_warn_fn *warn;
	void *user;

	pthread_t helpers[HELPERS_MAX];
	unsigned int helper_count;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t is_queued, is_filled;
	struct lane *queue, **queue_end;
	bool is_stopping;
};

const struct plan *reader_plan(const struct reader *reader)
{
	return reader->trace.plan;
}

size_t reader_cpu_count(const struct reader *reader)
{
	return reader->cpu_count;
}

/* ---- helpers ---- */

/* Under the mutex. */
static void queue_back(struct reader *reader, struct lane *lane)
{
	lane->state = BACK_QUEUED;
	lane->next = NULL;
	*reader->queue_end = lane;
	reader->queue_end = &lane->next;
}

/* Takes one out of the queue; under the mutex. */
static void unqueue(struct reader *reader, struct lane *lane)
{
	struct lane **at = &reader->queue;

	while (*at != lane) {
		at = &(*at)->next;
	}
	*at = lane->next;
	if (reader->queue_end == &lane->next) {
		reader->queue_end = at;
	}
	lane->state = BACK_FILLING;
}

static void *help(void *user)
{
	struct reader *reader = user;

	(void)pthread_mutex_lock(&reader->mutex);
	while (!reader->is_stopping) {
		struct lane *lane = reader->queue;

		if (!lane) {
			(void)pthread_cond_wait(&reader->is_queued, &reader->mutex);
			continue;
		}
		unqueue(reader, lane);
		(void)pthread_mutex_unlock(&reader->mutex);
		batch_fill(lane->back, &lane->cursor);
		(void)pthread_mutex_lock(&reader->mutex);
		lane->state = BACK_READY;
		(void)pthread_cond_signal(&reader->is_filled);
	}
	(void)pthread_mutex_unlock(&reader->mutex);
	return NULL;
}

/* As many as can be started; one thread less than there may be, since this one decodes, too. */
static void start_helpers(struct reader *reader, unsigned int threads)
{
	(void)pthread_mutex_init(&reader->mutex, NULL);
	(void)pthread_cond_init(&reader->is_queued, NULL);
	(void)pthread_cond_init(&reader->is_filled, NULL);
	reader->queue_end = &reader->queue;
	while (reader->helper_count + 1 < threads && reader->helper_count < HELPERS_MAX &&
	       reader->helper_count < reader->count &&
	       pthread_create(&reader->helpers[reader->helper_count], NULL, help, reader) == 0) {
		reader->helper_count++;
	}
	for (size_t i = 0; reader->helper_count > 0 && i < reader->count; i++) {
		(void)pthread_mutex_lock(&reader->mutex);
		queue_back(reader, &reader->lanes[i]);
		(void)pthread_cond_signal(&reader->is_queued);
		(void)pthread_mutex_unlock(&reader->mutex);
	}
}

static void stop_helpers(struct reader *reader)
{
	(void)pthread_mutex_lock(&reader->mutex);
	reader->is_stopping = true;
	(void)pthread_cond_broadcast(&reader->is_queued);
	(void)pthread_mutex_unlock(&reader->mutex);
	for (unsigned int i = 0; i < reader->helper_count; i++) {
		(void)pthread_join(reader->helpers[i], NULL);
	}
	(void)pthread_cond_destroy(&reader->is_queued);
	(void)pthread_cond_destroy(&reader->is_filled);
	(void)pthread_mutex_destroy(&reader->mutex);
}

/* Has the back filled, by whom ever. */
static void wait_for_back(struct reader *reader, struct lane *lane)
{
	bool is_mine;

	(void)pthread_mutex_lock(&reader->mutex);
	is_mine = lane->state == BACK_FREE || lane->state == BACK_QUEUED;
	if (lane->state == BACK_QUEUED) {
		unqueue(reader, lane);
	}
	while (!is_mine && lane->state != BACK_READY) {
		(void)pthread_cond_wait(&reader->is_filled, &reader->mutex);
	}
	(void)pthread_mutex_unlock(&reader->mutex);
	if (is_mine) {
		batch_fill(lane->back, &lane->cursor);
	}
}

/* The back becomes the front, and what was the front is filled anew. */
static void swap_batches(struct reader *reader, struct lane *lane)
{
	struct batch *filled = lane->back;

	lane->back = lane->front;
	lane->front = filled;
	lane->at = 0;
	(void)pthread_mutex_lock(&reader->mutex);
	lane->state = BACK_FREE;
	if (reader->helper_count > 0 && !filled->is_last) {
		queue_back(reader, lane);
		(void)pthread_cond_signal(&reader->is_queued);
	}
	(void)pthread_mutex_unlock(&reader->mutex);
	for (size_t i = 0; reader->warn && i < filled->words.count; i++) {
		reader->warn(reader->user, filled->words.at[i]);
	}
	lane->first = filled->first_ts < lane->first ? filled->first_ts : lane->first;
}

/* ---- events ---- */

/* Goes to the stream's next event; false: it has no more. */
static bool advance(struct reader *reader, struct lane *lane)
{
	const struct batch_event *event;

	while (lane->at == lane->front->count) {
		if (lane->front->is_last) {
			lane->events += lane->front->passed;
			lane->last = lane->front->last_ts;
			return false;
		}
		wait_for_back(reader, lane);
		swap_batches(reader, lane);
	}
	event = &lane->front->events[lane->at++];
	lane->event = (struct reader_event){ .ts = event->ts,
					     .cpu = lane->front->cpu,
					     .stream = lane->front->stream,
					     .since = lane->since,
					     .class = event->class };
	if (event->class) {
		lane->event.binding = event->class->bindings;
		lane->event.values = &lane->front->values.at[event->values];
	}
	lane->events += event->passed;
	return true;
}

static bool is_before(const struct lane *a, const struct lane *b)
{
	return a->event.ts != b->event.ts ? a->event.ts < b->event.ts : a < b;
}

/* Moves what is at the top of the heap to where it belongs. */
static void sift(struct reader *reader)
{
	struct lane **heap = reader->heap, *moved = heap[0];
	size_t at = 0, count = reader->heap_count;

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && is_before(heap[child + 1], heap[child]);
		if (!is_before(heap[child], moved)) {
			break;
		}
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

static void push(struct reader *reader, struct lane *lane)
{
	struct lane **heap = reader->heap;
	size_t at = reader->heap_count++;

	for (; at > 0 && is_before(lane, heap[(at - 1) / 2]); at = (at - 1) / 2) {
		heap[at] = heap[(at - 1) / 2];
	}
	heap[at] = lane;
}

bool reader_next(struct reader *reader, struct reader_event *event)
{
	if (reader->has_given) {
		if (!advance(reader, reader->heap[0])) {
			reader->heap[0] = reader->heap[--reader->heap_count];
		}
		if (reader->heap_count > 0) {
			sift(reader);
		}
	}
	reader->has_given = reader->heap_count > 0;
	if (reader->has_given) {
		*event = reader->heap[0]->event;
	}
	return reader->has_given;
}

void reader_seen(const struct reader *reader, struct reader_seen *ret_seen)
{
	*ret_seen = (struct reader_seen){ .first = UINT64_MAX };
	for (size_t i = 0; i < reader->count; i++) {
		const struct lane *lane = &reader->lanes[i];

		ret_seen->events += lane->events;
		ret_seen->first = lane->first < ret_seen->first ? lane->first : ret_seen->first;
		ret_seen->last = lane->last > ret_seen->last ? lane->last : ret_seen->last;
	}
}

/* ---- lifecycle ---- */

/* Whether no stream before this one is of its CPU. */
static bool is_first_of_cpu(const struct reader *reader, size_t i)
{
	const struct recorded_file *files = reader->trace.files.at.at;

	for (size_t k = 0; k < i; k++) {
		if (files[k].has_info && files[k].info.cpu_id == files[i].info.cpu_id) {
			return false;
		}
	}
	return files[i].has_info && files[i].info.cpu_id != UINT64_MAX;
}

/* When a stream begins whose first packets are gone, as in a snapshot; 0: they are not. */
static uint64_t begin_if_late(const struct recorded_file *file)
{
	const struct packet_info *info = &file->info;
	struct clock clock;

	if (!file->has_info || !info->has_begin || info->seq_num == 0 ||
	    info->seq_num == UINT64_MAX) {
		return 0;
	}
	clock_init(&clock, info->stream->clock);
	return clock_ns(&clock, info->begin);
}

struct reader *reader_open(const struct reader_setup *setup, const struct plan_request *requests,
			   size_t request_count, struct err *err)
{
	struct reader *reader = mem_alloc(sizeof(*reader));

	reader->warn = setup->warn;
	reader->user = setup->user;
	if (recorded_open_for(setup->path, requests, request_count, &reader->trace, err) < 0) {
		recorded_close(&reader->trace);
		free(reader);
		return NULL;
	}
	reader->count = reader->trace.files.at.count;
	reader->lanes = mem_alloc((reader->count + 1) * sizeof(*reader->lanes));
	reader->heap = mem_alloc((reader->count + 1) * sizeof(struct lane *));
	for (size_t i = 0; i < reader->count; i++) {
		struct lane *lane = &reader->lanes[i];

		reader->cpu_count += is_first_of_cpu(reader, i);
		batch_cursor_init(&lane->cursor, reader->trace.plan, requests,
				  &reader->trace.files.at.at[i]);
		lane->front = mem_alloc(sizeof(*lane->front)); /* empty, and not the last */
		lane->back = mem_alloc(sizeof(*lane->back));
		lane->first = UINT64_MAX;
		lane->since = begin_if_late(&reader->trace.files.at.at[i]);
	}
	start_helpers(reader, setup->threads);
	for (size_t i = 0; i < reader->count; i++) {
		if (advance(reader, &reader->lanes[i])) {
			push(reader, &reader->lanes[i]);
		}
	}
	return reader;
}

void reader_close(struct reader *reader)
{
	if (!reader) {
		return;
	}
	stop_helpers(reader);
	for (size_t i = 0; i < reader->count; i++) {
		struct lane *lane = &reader->lanes[i];

		batch_cursor_fini(&lane->cursor);
		batch_free(lane->front);
		batch_free(lane->back);
	}
	free(reader->lanes);
	free(reader->heap);
	recorded_close(&reader->trace);
	free(reader);
}
