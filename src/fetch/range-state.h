/*
 * range-state: shared by the parts of range-session: range-session.c (the connection, and when it
 * is over) and range-take.c (metadata, streams and packets).
 */
#pragma once

#include "fetch/range-session.h"
#include "relay/client.h"

struct reading;

/* A trace while it is read. */
struct source_trace {
	struct reading *reading;
	struct range_trace *result; /* owned by the job */
	struct metadata_stream *metadata;
	struct plan_builder *builder;
	struct plan *plan;
	bool is_current; /* all metadata that was announced is here */
	bool has_failed; /* it cannot be understood: times are unknown */
};

struct source_stream {
	struct source_trace *trace;
	uint64_t id;
	char *path;           /* of its file; NULL: only the span is wanted */
	uint64_t offset;      /* in the file: where the next packet goes */
	uint64_t last;        /* ns: the end of the last packet that was announced */
	uint64_t known_until; /* ns */
	uint64_t heard;       /* monotonic ns: when something newer last came */
	uint64_t repeats_to;  /* ns: announced again after its end: what ends until then was read */
	bool is_fetching;
	bool is_done;     /* nothing more of it is wanted */
	bool is_behind;   /* a packet with events that begins behind the range was fetched */
	bool reaches_end; /* its data, or a beacon, is at the end of the range or behind */
};

struct reading {
	struct range_job *job;
	struct event_base *base;
	struct event *timer;
	struct relay_connection *connection;
	struct client *client;
	struct decoder *decoder;
	VEC(struct source_trace *) traces;
	VEC(struct source_stream *) streams;
	uint64_t begun; /* monotonic ns */
	bool is_attached, is_over, said_waiting;
	int r;
	struct err *err;
};

/* ---- range-take.c ---- */

/* The reading ends; of failures the first one counts. */
void range_take_over(struct reading *reading);
void range_take_fail(struct reading *reading, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* client_events (relay/client.h) */

void range_take_metadata(void *user, uint64_t trace_id, const uint8_t *bytes, uint64_t len);
bool range_take_metadata_end(void *user, uint64_t trace_id);
bool range_take_ends_packet(void *user, uint64_t trace_id);
void *range_take_stream(void *user, const struct viewer_stream *announced);
void range_take_stream_end(void *user, void *arg);
void range_take_stream_broken(void *user, void *arg, uint32_t status);
void range_take_not_followed(void *user, const struct viewer_stream *announced, const char *why);
void range_take_new_streams_broken(void *user, uint32_t status);
void range_take_packet_lost(void *user, void *arg, const struct viewer_index *index,
			    const char *why);
void range_take_packet(void *user, void *arg, const struct viewer_index *index, uint8_t *bytes,
		       uint64_t len);
enum client_wish range_take_wants_packet(void *user, void *arg, const struct viewer_index *index);
bool range_take_may_fetch(void *user, void *arg);
void range_take_idle(void *user, void *arg, bool has_beacon, uint64_t cycles);
