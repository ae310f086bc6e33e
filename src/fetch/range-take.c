/*
 * range-take: what comes of a session: metadata, streams and packets; see range-session.h.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "ctf/clock.h"
#include "ctf/decoder.h"
#include "ctf/plan/plan.h"
#include "fetch/range-state.h"
#include "output/plain-name.h"

#define SAME_NAME_MAX 10000 /* channels of one name in one trace */

/* ---- the end ---- */

void range_take_over(struct reading *reading)
{
	reading->is_over = true;
	(void)event_base_loopbreak(reading->base);
}

void range_take_fail(struct reading *reading, int code, const char *fmt, ...)
{
	char text[sizeof(reading->err->text)];
	va_list args;

	if (!reading->is_over) {
		va_start(args, fmt);
		(void)vsnprintf(text, sizeof(text), fmt, args);
		va_end(args);
		reading->r = err_raise(reading->err, code, "%s: %s", reading->job->name, text);
	}
	range_take_over(reading);
}

/* ---- files ---- */

/* Writes all bytes at @offset of the file; -errno. */
static int write_at(const char *path, uint64_t offset, const uint8_t *bytes, uint64_t len,
		    uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint64_t done = 0;
	ssize_t put = 0;
	int r = 0;

	if (fd < 0) {
		return -errno;
	}
	while (done < len && put >= 0) {
		put = pwrite(fd, bytes + done, len - done, (off_t)(offset + done));
		done += put > 0 ? (uint64_t)put : 0;
	}
	if (put < 0 || ftruncate(fd, (off_t)(offset + size)) < 0) {
		r = -errno;
	}
	if (close(fd) < 0 && r == 0) {
		r = -errno;
	}
	return r;
}

static void put(struct reading *reading, const char *path, uint64_t offset, const uint8_t *bytes,
		uint64_t len, uint64_t size)
{
	int r = write_at(path, offset, bytes, len, size);

	if (r < 0) {
		range_take_fail(reading, r, "%s: %s", path, strerror(-r));
	}
}

/* The path of a file that no other stream has. */
static char *own_path(const struct reading *reading, const char *dir, const char *channel)
{
	char *plain = plain_name(channel), *path = mem_printf("%s/%s", dir, plain);

	for (unsigned int i = 2; i < SAME_NAME_MAX; i++) {
		bool is_taken = strcmp(plain, "metadata") == 0 && i == 2;

		for (size_t k = 0; k < reading->streams.count && !is_taken; k++) {
			is_taken = strcmp(reading->streams.at[k]->path, path) == 0;
		}
		if (!is_taken) {
			break;
		}
		free(path);
		path = mem_printf("%s/%s-%u", dir, plain, i);
	}
	free(plain);
	return path;
}

/* ---- traces and metadata ---- */

static struct source_trace *find_trace(struct reading *reading, uint64_t relay_id)
{
	struct range_job *job = reading->job;
	struct source_trace *trace;

	for (size_t i = 0; i < reading->traces.count; i++) {
		if (reading->traces.at[i]->result->relay_id == relay_id) {
			return reading->traces.at[i];
		}
	}
	trace = mem_alloc(sizeof(*trace));
	trace->reading = reading;
	trace->result = mem_alloc(sizeof(*trace->result));
	trace->result->relay_id = relay_id;
	trace->metadata = metadata_stream_new();
	trace->builder = plan_builder_new(metadata_stream_arena(trace->metadata), NULL, 0, false);
	if (job->dir) {
		trace->result->dir = mem_printf("%s/t%zu", job->dir, job->traces.count);
		if (mkdir(trace->result->dir, 0700) < 0) {
			range_take_fail(reading, -errno, "%s: %s", trace->result->dir,
					strerror(errno));
		}
	}
	assert(job->traces.count == reading->traces.count);
	*vec_push(&job->traces) = trace->result;
	*vec_push(&reading->traces) = trace;
	return trace;
}

void range_take_metadata(void *user, uint64_t trace_id, const uint8_t *bytes, uint64_t len)
{
	struct source_trace *trace = find_trace(user, trace_id);
	struct reading *reading = user;
	char *path = NULL;
	struct stat status;
	struct err err;

	trace->is_current = false;
	if (trace->has_failed) {
		return; /* the copy has what is wrong; more could fill the disk */
	}
	if (trace->result->dir) {
		path = mem_printf("%s/metadata", trace->result->dir);
		put(reading, path, stat(path, &status) == 0 ? (uint64_t)status.st_size : 0, bytes,
		    len, len);
		free(path);
	}
	if (metadata_stream_feed(trace->metadata, bytes, len, &err) < 0) {
		trace->has_failed = true; /* who analyses it says why */
	}
}

bool range_take_metadata_end(void *user, uint64_t trace_id)
{
	struct source_trace *trace = find_trace(user, trace_id);
	const struct metadata *types = metadata_stream_types(trace->metadata);
	struct plan *plan = NULL;
	struct err err;

	if (!trace->has_failed &&
	    (metadata_stream_end(trace->metadata, &err) < 0 || !types->has_trace)) {
		return false;
	}
	if (!trace->has_failed && !trace->is_current) {
		if (plan_build(trace->builder, types, &plan, &err) < 0) {
			trace->has_failed = true;
		} else {
			plan_unref(trace->plan);
			trace->plan = plan;
		}
	}
	trace->is_current = true;
	return true;
}

bool range_take_ends_packet(void *user, uint64_t trace_id)
{
	const struct source_trace *trace = find_trace(user, trace_id);

	return !trace->has_failed && metadata_stream_ends_packet(trace->metadata);
}

/* ---- streams ---- */

/* The stream of this id that has ended. */
static struct source_stream *find_ended(const struct reading *reading, uint64_t id)
{
	for (size_t i = 0; i < reading->streams.count; i++) {
		if (reading->streams.at[i]->id == id && reading->streams.at[i]->is_done) {
			return reading->streams.at[i];
		}
	}
	return NULL;
}

void *range_take_stream(void *user, const struct viewer_stream *announced)
{
	struct reading *reading = user;
	struct source_stream *stream = find_ended(reading, announced->id);
	struct source_trace *trace = find_trace(reading, announced->trace_id);

	if (!trace->result->path) {
		trace->result->path = mem_strdup(announced->path);
	}
	if (stream && stream->trace == trace) { /* all its packets may come again */
		stream->repeats_to = stream->last;
		stream->is_done = false;
		return stream;
	}
	assert(!trace->result->dir == !reading->job->dir);
	stream = mem_alloc(sizeof(*stream));
	stream->trace = trace;
	stream->id = announced->id;
	stream->heard = now_monotonic_ns();
	stream->path = trace->result->dir
			       ? own_path(reading, trace->result->dir, announced->channel)
			       : NULL;
	*vec_push(&reading->streams) = stream;
	return stream;
}

void range_take_stream_end(void *user, void *arg)
{
	struct source_stream *stream = arg;

	stream->is_done = true;
}

/* Notes packets that are missing in this place. */
static void lose(struct source_stream *stream, uint64_t packets, const char *why)
{
	struct range_job *job = stream->trace->reading->job;
	struct range_trace *trace = stream->trace->result;
	struct recorded_lost *last =
		trace->lost.count > 0 ? &trace->lost.at[trace->lost.count - 1] : NULL;

	job->lost += packets;
	if (!stream->path) {
		return;
	}
	if (last && last->offset == stream->offset && strcmp(last->file, stream->path) == 0 &&
	    strcmp(last->why, why) == 0) {
		last->packets += packets;
		return;
	}
	*vec_push(&trace->lost) = (struct recorded_lost){ .file = mem_strdup(stream->path),
							  .offset = stream->offset,
							  .packets = packets,
							  .why = mem_strdup(why) };
}

void range_take_stream_broken(void *user, void *arg, uint32_t status)
{
	struct reading *reading = user;
	char why[96];

	(void)snprintf(why, sizeof(why),
		       "requests for an index are answered with status %" PRIu32
		       "; what follows is lost",
		       status);
	lose(arg, 0, why);
	if (reading->job->say) {
		reading->job->say("%s: %s", reading->job->name, why);
	}
}

void range_take_not_followed(void *user, const struct viewer_stream *announced, const char *why)
{
	const struct reading *reading = user;

	if (reading->job->say) {
		reading->job->say("%s: stream %s of %s is not followed: %s", reading->job->name,
				  announced->channel, announced->path, why);
	}
}

void range_take_new_streams_broken(void *user, uint32_t status)
{
	const struct reading *reading = user;

	if (reading->job->say) {
		reading->job->say("%s: requests for new streams are answered with status %" PRIu32
				  "; streams that appear later are missing",
				  reading->job->name, status);
	}
}

void range_take_packet_lost(void *user, void *arg, const struct viewer_index *index,
			    const char *why)
{
	struct source_stream *stream = arg;

	stream->is_fetching = false;
	lose(stream, 1, why);
}

/* Whether the packet has events, and begins behind the range. */
static bool is_behind(const struct source_stream *stream, const uint8_t *bytes, uint64_t len)
{
	const struct reading *reading = stream->trace->reading;
	struct packet_info info;
	struct clock clock;
	struct err err;

	if (!stream->reaches_end || !stream->trace->plan ||
	    packet_info_read(reading->decoder, stream->trace->plan, bytes, len, PACKET_BYTES_MAX,
			     &info, &err) < 0 ||
	    !info.has_begin) {
		return false;
	}
	clock_init(&clock, info.stream->clock);
	return info.content_bits > info.events_at_bits &&
	       clock_ns(&clock, info.begin) >= reading->job->end;
}

void range_take_packet(void *user, void *arg, const struct viewer_index *index, uint8_t *bytes,
		       uint64_t len)
{
	struct reading *reading = user;
	struct source_stream *stream = arg;
	uint64_t size = index->packet_bits / 8;

	assert(stream->path);
	assert(stream->is_fetching);
	size = size < len ? len : size;
	stream->is_fetching = false;
	put(reading, stream->path, stream->offset, bytes, len, size);
	stream->is_behind |= is_behind(stream, bytes, len);
	free(bytes);
	stream->offset += size;
	reading->job->packets++;
	reading->job->bytes += size;
}

/* ---- which packets ---- */

/* Whether times decide over packets. */
static bool needs_times(const struct range_job *job)
{
	return !job->dir || job->from > 0 || job->end < UINT64_MAX || job->newest < UINT64_MAX;
}

/* The times of a packet, in ns; false: they are unknown. */
static bool read_times(const struct source_stream *stream, const struct viewer_index *index,
		       uint64_t *ret_begin, uint64_t *ret_end)
{
	const struct plan_stream *class =
		stream->trace->plan ? plan_stream(stream->trace->plan, index->class_id) : NULL;
	struct clock clock;

	if (!class || !class->clock || (index->begin == 0 && index->end == 0)) {
		return false;
	}
	clock_init(&clock, class->clock);
	*ret_begin = clock_ns(&clock, index->begin);
	*ret_end = clock_ns(&clock, index->end);
	return true;
}

static void note_times(struct source_stream *stream, uint64_t begin, uint64_t end)
{
	struct units_span *span = &stream->trace->reading->job->span;

	span->first = begin < span->first ? begin : span->first;
	span->last = end > span->last ? end : span->last;
	stream->last = end > stream->last ? end : stream->last;
	stream->known_until = stream->last;
}

/* The first packet behind the range tells what was lost at its end, and the first one with events
 * that the trace goes on.  Those of the next INITIAL_WAIT_NS may tell which thread ran (see
 * src/recorded/recorded.c). */
static enum client_wish take_by_time(struct source_stream *stream, uint64_t begin, uint64_t end)
{
	const struct range_job *job = stream->trace->reading->job;

	if (begin > job->newest) {
		stream->is_done = true;
		return CLIENT_PASS;
	}
	if (end < job->from || (stream->repeats_to > 0 && end <= stream->repeats_to)) {
		return CLIENT_PASS;
	}
	if (begin >= job->end) {
		stream->is_done = stream->is_behind && begin - job->end >= INITIAL_WAIT_NS;
		stream->reaches_end = true;
	}
	return CLIENT_FETCH;
}

enum client_wish range_take_wants_packet(void *user, void *arg, const struct viewer_index *index)
{
	struct source_stream *stream = arg;
	struct reading *reading = user;
	enum client_wish wish = CLIENT_FETCH;
	uint64_t begin, end;

	if (stream->is_done) {
		return CLIENT_PASS; /* requested before that was known */
	}
	if (needs_times(reading->job) && !stream->trace->is_current &&
	    now_monotonic_ns() - reading->begun < WALK_METADATA_NS) {
		return CLIENT_WAIT;
	}
	stream->heard = now_monotonic_ns();
	if (read_times(stream, index, &begin, &end)) {
		note_times(stream, begin, end);
		wish = take_by_time(stream, begin, end);
	}
	wish = reading->job->dir ? wish : CLIENT_PASS;
	stream->is_fetching = wish == CLIENT_FETCH;
	return wish;
}

bool range_take_may_fetch(void *user, void *arg)
{
	const struct source_stream *stream = arg;
	const struct reading *reading = user;

	return !stream->is_done && !reading->is_over;
}

/* The stream has nothing more now. */
void range_take_idle(void *user, void *arg, bool has_beacon, uint64_t cycles)
{
	const struct reading *reading = user;
	struct source_stream *stream = arg;
	const struct plan *plan = stream->trace->plan;
	struct clock clock;

	if (has_beacon && plan && plan->stream_count > 0 && plan->streams[0].clock) {
		clock_init(&clock, plan->streams[0].clock);
		if (clock_ns(&clock, cycles) > stream->known_until) {
			stream->known_until = clock_ns(&clock, cycles);
			stream->heard = now_monotonic_ns();
		}
	}
	stream->reaches_end |= stream->known_until >= reading->job->end;
	stream->is_done |=
		!reading->job->dir || reading->job->end == UINT64_MAX || stream->reaches_end;
}
