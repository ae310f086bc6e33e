/*
 * history: see history.h.
 */
#include "history/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"

struct history_stream {
	char *name;
	uint64_t begin, seq_num; /* of its first packet by time; UINT64_MAX: there is none */
	bool is_passed;          /* earlier ones are there, and not wanted */
};

struct history_trace {
	struct history *history;
	VEC(uint8_t) metadata;
	VEC(struct history_packet) packets; /* in order of arrival; `stream` is one of `streams` */
	size_t first; /* index of the oldest packet; earlier ones were dropped */
	VEC(struct history_stream) streams; /* each name once */
	uint64_t stored;                    /* sum of weight() */
	uint64_t gone;                      /* packets up to here were dropped by bytes; 0: none */
	uint64_t hold;                      /* ns: nothing from here on is dropped by age */
};

struct history {
	uint64_t ns, bytes_max;
	struct account *account;
	VEC(struct history_trace *) traces;
	uint64_t stored; /* sum over the traces */
};

struct history *history_new(uint64_t ns, uint64_t bytes_max, struct account *account)
{
	struct history *history = mem_alloc(sizeof(*history));

	history->ns = ns;
	history->bytes_max = bytes_max;
	history->account = account;
	return history;
}

void history_free(struct history *history)
{
	if (history) {
		assert(history->traces.count == 0);
		assert(history->stored == 0);
		vec_fini(&history->traces);
		free(history);
	}
}

uint64_t history_bytes(const struct history *history)
{
	return history->stored;
}

/* ---- traces ---- */

struct history_trace *history_trace_new(struct history *history)
{
	struct history_trace *trace = mem_alloc(sizeof(*trace));

	trace->history = history;
	trace->hold = UINT64_MAX;
	*vec_push(&history->traces) = trace;
	return trace;
}

/* The bytes that a packet takes, with its structures: small packets are many. */
static uint64_t weight(const struct retained *retained)
{
	return retained->stored + sizeof(*retained) + sizeof(struct history_packet);
}

/* Of that, what is in memory. */
static uint64_t held_of(const struct retained *retained)
{
	return retained_memory(retained) + sizeof(struct history_packet);
}

static void drop_first(struct history_trace *trace)
{
	struct retained *retained;

	assert(trace->first < trace->packets.count);
	retained = trace->packets.at[trace->first++].retained;
	assert(trace->stored >= weight(retained));
	assert(trace->history->stored >= trace->stored);
	trace->history->stored -= weight(retained);
	trace->stored -= weight(retained);
	account_give(trace->history->account, ACCOUNT_HISTORY, held_of(retained));
	retained_leave(retained, trace->history->account);
	/* Moves the rest to the front once more than half of the array is unused. */
	if (trace->first * 2 > trace->packets.count) {
		trace->packets.count -= trace->first;
		memmove(trace->packets.at, trace->packets.at + trace->first,
			trace->packets.count * sizeof(*trace->packets.at));
		trace->first = 0;
	}
}

static bool is_empty(const struct history_trace *trace)
{
	return trace->first == trace->packets.count;
}

void history_clear(struct history_trace *trace)
{
	while (!is_empty(trace)) {
		drop_first(trace);
	}
	for (size_t i = 0; i < trace->streams.count; i++) {
		free(trace->streams.at[i].name);
	}
	trace->streams.count = 0;
	trace->packets.count = trace->first = 0;
	trace->gone = 0;
}

void history_trace_free(struct history_trace *trace)
{
	struct history *history;
	size_t others = 0;

	if (!trace) {
		return;
	}
	history = trace->history;
	history_clear(trace);
	for (size_t i = 0; i < history->traces.count; i++) {
		if (history->traces.at[i] != trace) {
			history->traces.at[others++] = history->traces.at[i];
		}
	}
	assert(others + 1 == history->traces.count);
	assert(trace->stored == 0);
	history->traces.count = others;
	vec_fini(&trace->streams);
	vec_fini(&trace->packets);
	vec_fini(&trace->metadata);
	free(trace);
}

void history_metadata(struct history_trace *trace, const void *bytes, size_t len)
{
	vec_append(&trace->metadata, (const uint8_t *)bytes, len);
}

void history_metadata_restart(struct history_trace *trace)
{
	trace->metadata.count = 0;
}

/* ---- packets ---- */

/* Streams are few and packets are large: a linear search is cheap. */
static struct history_stream *stream_of(struct history_trace *trace, const char *name)
{
	for (size_t i = 0; i < trace->streams.count; i++) {
		if (strcmp(trace->streams.at[i].name, name) == 0) {
			return &trace->streams.at[i];
		}
	}
	*vec_push(&trace->streams) =
		(struct history_stream){ .name = mem_strdup(name), .begin = UINT64_MAX };
	return &trace->streams.at[trace->streams.count - 1];
}

/* Workers give packets back in any order. */
static void note_first(struct history_stream *stream, const struct retained *retained)
{
	if (retained->begin < stream->begin) {
		stream->begin = retained->begin;
		stream->seq_num = retained->info.seq_num;
	}
}

/* Where the first packet of a stream is not its number 0, those before it were never had, unless
 * they are known to be there. */
static uint64_t gone_of(const struct history_trace *trace)
{
	uint64_t gone = trace->gone;

	VEC_EACH(&trace->streams, stream) {
		if (!stream->is_passed && stream->seq_num > 0 && stream->seq_num != UINT64_MAX &&
		    stream->begin > gone) {
			gone = stream->begin;
		}
	}
	return gone;
}

static void drop_old(struct history_trace *trace, uint64_t closed)
{
	uint64_t ns = trace->history->ns;
	uint64_t horizon = closed > ns ? closed - ns : 0;

	horizon = trace->hold < horizon ? trace->hold : horizon;
	while (!is_empty(trace) && trace->packets.at[trace->first].retained->end < horizon) {
		drop_first(trace);
	}
}

/* The trace with the most bytes drops its oldest packet. */
static void make_room(struct history *history)
{
	struct history_trace *largest = history->traces.at[0];
	const struct retained *retained;
	uint64_t end;

	for (size_t i = 1; i < history->traces.count; i++) {
		if (history->traces.at[i]->stored > largest->stored) {
			largest = history->traces.at[i];
		}
	}
	assert(!is_empty(largest)); /* the sum is above the limit, so the largest has a packet */
	retained = largest->packets.at[largest->first].retained;
	end = retained->end == UINT64_MAX ? retained->begin : retained->end;
	largest->gone = end > largest->gone ? end : largest->gone;
	drop_first(largest);
}

void history_give_way(struct history *history)
{
	const struct account *account = history->account;

	while (account && history->stored > 0 &&
	       account_of(account, ACCOUNT_HISTORY) > account_history_room(account)) {
		make_room(history);
	}
}

void history_add(struct history_trace *trace, const char *stream, struct retained *retained,
		 uint64_t closed)
{
	struct history *history = trace->history;
	struct history_stream *its = stream_of(trace, stream);

	note_first(its, retained);
	*vec_push(&trace->packets) =
		(struct history_packet){ .stream = its->name, .retained = retained };
	trace->stored += weight(retained);
	history->stored += weight(retained);
	account_take(history->account, ACCOUNT_HISTORY, held_of(retained));
	drop_old(trace, closed);
	while (history->stored > history->bytes_max) {
		make_room(history);
	}
	history_give_way(history);
}

void history_passed(struct history_trace *trace, const char *name)
{
	stream_of(trace, name)->is_passed = true;
}

void history_gone(struct history_trace *trace, uint64_t end)
{
	trace->gone = end > trace->gone ? end : trace->gone;
}

void history_hold(struct history_trace *trace, uint64_t begin)
{
	trace->hold = begin;
}

/* ---- for captures ---- */

void history_take(const struct history_trace *trace, uint64_t begin, uint64_t end,
		  struct history_stretch *ret_stretch)
{
	memset(ret_stretch, 0, sizeof(*ret_stretch));
	vec_append(&ret_stretch->metadata, trace->metadata.at, trace->metadata.count);
	ret_stretch->gone = gone_of(trace);
	for (size_t i = trace->first; i < trace->packets.count; i++) {
		const struct history_packet *packet = &trace->packets.at[i];

		if (packet->retained->begin <= end && packet->retained->end >= begin) {
			*vec_push(&ret_stretch->packets) =
				(struct history_packet){ .stream = mem_strdup(packet->stream),
							 .retained =
								 retained_ref(packet->retained) };
		}
	}
}

void history_stretch_fini(struct history_stretch *stretch)
{
	for (size_t i = 0; i < stretch->packets.count; i++) {
		free(stretch->packets.at[i].stream);
		retained_unref(stretch->packets.at[i].retained);
	}
	vec_fini(&stretch->packets);
	vec_fini(&stretch->metadata);
}
