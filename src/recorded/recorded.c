/*
 * recorded: see recorded.h.
 */
#include "recorded/recorded.h"
#include "recorded/ahead.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "ctf/clock.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "kernel/perf-names.h"

/* ---- metadata ---- */

struct text {
	VEC(char) all;
};

static int read_whole(const char *path, struct text *text, struct err *err)
{
	int fd = foreign_open(path, 0, err), r = 0;
	char buffer[65536];
	ssize_t got;

	if (fd < 0) {
		return fd;
	}
	/* One byte beyond the limit is enough to be refused. */
	while (r == 0 && text->all.count <= METADATA_BYTES_MAX &&
	       (got = read(fd, buffer, sizeof(buffer))) != 0) {
		if (got < 0) {
			r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
		} else if (now_must_leave()) {
			r = err_raise(err, -EINTR, "%s: the run was interrupted", path);
		} else {
			vec_append(&text->all, buffer, (size_t)got);
		}
	}
	(void)close(fd);
	return r;
}

typedef int take_fn(void *user, const void *bytes, size_t len, struct err *err);

static int take_alone(void *user, const void *bytes, size_t len, struct err *err)
{
	int r = metadata_stream_feed(user, bytes, len, err);

	return r < 0 ? r : metadata_stream_finish(user, err);
}

struct traced {
	struct trace *trace;
	uint32_t part;
};

static int take_traced(void *user, const void *bytes, size_t len, struct err *err)
{
	const struct traced *of = user;

	return trace_part_metadata(of->trace, of->part, bytes, len, true, err);
}

/* Takes the metadata of the newest chunk, which contains that of all chunks.  It is taken as a
 * whole: declarations may be in any order. */
static int read_metadata(const struct recorded_path *path, take_fn *take, void *user,
			 struct err *err)
{
	char *file = NULL;
	struct text text = { 0 };
	int r;

	assert(path->dirs.count > 0);
	file = mem_printf("%s/metadata", path->dirs.at[path->dirs.count - 1]);
	r = read_whole(file, &text, err);
	if (r == 0) {
		r = take(user, text.all.at, text.all.count, err);
		if (r < 0) {
			r = err_note(err, r, "%s", file);
		}
	}
	vec_fini(&text.all);
	free(file);
	return r;
}

int recorded_read_metadata(const struct recorded_path *path, struct metadata_stream *metadata,
			   struct err *err)
{
	return read_metadata(path, take_alone, metadata, err);
}

/* ---- a trace without the engine ---- */

int recorded_open(const struct recorded_path *path, struct recorded *trace, struct err *err)
{
	return recorded_open_for(path, NULL, 0, trace, err);
}

int recorded_open_for(const struct recorded_path *path, const struct plan_request *requests,
		      size_t request_count, struct recorded *trace, struct err *err)
{
	int r;

	memset(trace, 0, sizeof(*trace));
	trace->metadata = metadata_stream_new();
	metadata_stream_keep_text(trace->metadata);
	trace->decoder = mem_alloc(sizeof(*trace->decoder));
	r = recorded_read_metadata(path, trace->metadata, err);
	if (r < 0) {
		return r;
	}
	trace->builder = plan_builder_new(metadata_stream_arena(trace->metadata), requests,
					  request_count, false);
	plan_builder_rename(trace->builder, &perf_names);
	r = plan_build(trace->builder, metadata_stream_types(trace->metadata), &trace->plan, err);
	if (r < 0) {
		return err_note(err, r, "%s/metadata", path->dirs.at[path->dirs.count - 1]);
	}
	r = recorded_open_files(path, trace->plan, trace->decoder, &trace->files, err);
	if (r == 0 && trace->files.have_other_uuid) {
		plan_ignore_uuid(trace->builder, trace->plan);
		recorded_files_fini(&trace->files);
		r = recorded_open_files(path, trace->plan, trace->decoder, &trace->files, err);
	}
	return r;
}

void recorded_close(struct recorded *trace)
{
	recorded_files_fini(&trace->files);
	plan_unref(trace->plan);
	plan_builder_free(trace->builder);
	metadata_stream_free(trace->metadata);
	decoder_free(trace->decoder);
}

/* ---- a trace through the engine ---- */

/* The trace, or one of those that are read as one. */
struct play_part {
	const struct recorded_path *path;
	const struct plan *plan;
	struct recorded_files files;
	VEC(bool) told; /* by path->lost: it was reported */
};

struct source {
	struct play_part *part;
	struct recorded_file *file;
	struct ahead *ahead;
	struct stream *stream;
	uint64_t behind; /* ns: begin of the last packet with events behind the range; 0: none */
	bool is_over;    /* no further packet is wanted */
};

struct play {
	const struct recorded_run *run;
	struct trace *trace;
	struct decoder *decoder;
	VEC(struct play_part) parts;
	VEC(struct source) sources; /* by part and file */
	uint64_t total, done;       /* bytes */
	uint64_t ended;  /* ns: the last of the streams that end before the range's end */
	uint64_t marked; /* bytes done at the last mark */
};

/* @is_there: the packet says that. */
static uint64_t packet_ns(const struct packet_info *info, bool is_there, uint64_t cycles)
{
	struct clock clock;

	if (!is_there) {
		return 0;
	}
	clock_init(&clock, info->stream->clock);
	return clock_ns(&clock, cycles);
}

static uint64_t begin_ns(const struct packet_info *info)
{
	return packet_ns(info, info->has_begin, info->begin);
}

/* Index of the source with the oldest next packet; SIZE_MAX: all have ended. */
static size_t oldest(const struct play *play)
{
	size_t found = SIZE_MAX;
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; i < play->sources.count; i++) {
		const struct source *source = &play->sources.at[i];
		const struct found_packet *packet =
			source->is_over ? NULL : ahead_packet(source->ahead);

		if (packet && (found == SIZE_MAX || begin_ns(&packet->info) < begin)) {
			found = i;
			begin = begin_ns(&packet->info);
		}
	}
	return found;
}

static void report_fault(struct stream *stream, char *fault)
{
	if (fault) {
		stream_bad_packet(stream, fault);
		free(fault);
	}
}

/* Whether the packet has events, and all of them are at the range's end or later. */
static bool has_events_behind(const struct play *play, const struct packet_info *info)
{
	return info->content_bits > info->events_at_bits && begin_ns(info) >= play->run->range_end;
}

/* Whether a place is before @offset of the file's part. */
static bool is_before(const struct recorded_file *file, const struct recorded_lost *lost,
		      size_t part, uint64_t offset)
{
	for (size_t i = 0; i <= part && i < file->parts.count; i++) {
		if (strcmp(file->parts.at[i].path, lost->file) == 0) {
			return i < part || lost->offset <= offset;
		}
	}
	return false;
}

/* Reports packets that are missing before @offset of the file's part. */
static void tell_lost(const struct source *source, size_t part, uint64_t offset)
{
	for (size_t k = 0; k < source->part->path->lost.count; k++) {
		const struct recorded_lost *lost = &source->part->path->lost.at[k];
		char message[256];

		if (source->part->told.at[k] || !is_before(source->file, lost, part, offset)) {
			continue;
		}
		source->part->told.at[k] = true;
		(void)snprintf(message, sizeof(message),
			       lost->packets == 1 ? "%" PRIu64 " packet is lost: %s"
						  : "%" PRIu64 " packets are lost: %s",
			       lost->packets, lost->why);
		stream_lost_packets(source->stream, lost->packets, message);
	}
}

/* Counts those of streams without any packet, which have no file. */
static void count_lost(const struct play *play, const struct play_part *part)
{
	VEC_EACH(&part->path->lost, lost) {
		bool has_file = false;

		for (size_t i = 0; i < part->files.at.count; i++) {
			const struct recorded_file *file = &part->files.at.at[i];

			has_file |= is_before(file, lost, file->parts.count - 1, UINT64_MAX);
		}
		trace_lose(play->trace, has_file ? 0 : lost->packets);
	}
}

/*
 * The first packet behind the range tells what was lost at the end of the range, and the first one
 * with events that the trace goes on there (a tracer that rotates leaves packets without).  So the
 * range does not end with the last event in it.  Where streams end shortly before the range does,
 * one more than HOLE_NS later tells that their CPUs have left.  A stream that still waits for its
 * first switch, which names the initial thread, is read INITIAL_WAIT_NS further: windows wait as
 * long for it. Whether it waits is known when all its chunks are done: the speed of workers must
 * not decide.
 */
static bool is_over(const struct play *play, const struct source *source, uint64_t begin)
{
	uint64_t range_end = play->run->range_end;

	if (source->behind == 0 || begin < range_end || source->behind - play->ended <= HOLE_NS) {
		return false;
	}
	if (begin - range_end >= INITIAL_WAIT_NS) {
		return true;
	}
	engine_settle(play->run->engine);
	return !stream_waits_for_initial(source->stream);
}

/* Feeds packets of one file until they make a chunk. */
static void feed_chunk(struct play *play, size_t i)
{
	struct source *source = &play->sources.at[i];
	struct recorded_file *file = source->file;
	struct stream *stream = source->stream;
	const struct found_packet *packet = ahead_packet(source->ahead);
	size_t part = packet->part;
	uint64_t bytes = 0, end = 0;

	/* The packets of one chunk are in one file. */
	while (packet && bytes < play->run->chunk_bytes && packet->part == part &&
	       !(source->behind != 0 && bytes > 0)) {
		struct stream_input input = { .info = &packet->info,
					      .fd = file->parts.at[part].fd,
					      .mapped = recorded_map_file(&file->parts.at[part]),
					      .offset = packet->offset };

		if (is_over(play, source, begin_ns(&packet->info))) {
			source->is_over = true;
			packet = NULL;
			break;
		}
		if (has_events_behind(play, &packet->info)) {
			source->behind = begin_ns(&packet->info);
		}
		tell_lost(source, part, packet->offset);
		bytes += packet->info.size_bits / 8;
		end = packet_ns(&packet->info, packet->info.has_end, packet->info.end);
		stream_packet(stream, &input);
		ahead_next(source->ahead);
		report_fault(stream, ahead_take_fault(source->ahead));
		packet = ahead_packet(source->ahead);
	}
	play->done += bytes;
	(void)stream_flush(stream);
	if (packet) {
		stream_next(stream, &packet->info);
	} else if (!play->run->on_pause) {
		if (!source->is_over) {
			tell_lost(source, part, UINT64_MAX);
			if (end > play->ended && end < play->run->range_end) {
				play->ended = end;
			}
		}
		stream_end(stream);
	}
}

/* Tells the caller what comes next, every so many bytes. */
static void mark(struct play *play)
{
	struct recorded_places places = { .done = play->done, .ended = play->ended };

	if (!play->run->on_mark || play->done - play->marked < play->run->mark_bytes) {
		return;
	}
	play->marked = play->done;
	trace_pause(play->trace, 0);
	VEC_EACH(&play->sources, source) {
		const struct found_packet *packet = ahead_packet(source->ahead);
		struct recorded_place *place = vec_push(&places.at);

		*place = (struct recorded_place){ 0 };
		stream_facts(source->stream, &place->stream);
		assert(packet || place->stream.is_over);
		if (packet) {
			place->part = (uint32_t)packet->part;
			place->offset = packet->offset;
		}
	}
	play->run->on_mark(play->run->user, play->trace, &places);
	vec_fini(&places.at);
}

/* False: a signal ended it. */
static bool feed_all(struct play *play)
{
	const struct recorded_run *run = play->run;
	size_t next;

	while ((next = oldest(play)) != SIZE_MAX) {
		if (run->stop && *run->stop) {
			if (run->on_stop) {
				run->on_stop(run->user);
			}
			return false;
		}
		engine_make_room(run->engine);
		feed_chunk(play, next);
		engine_step(run->engine, false, 0);
		if (run->progress) {
			run->progress(run->user, play->done, play->total);
		}
		mark(play);
	}
	return true;
}

static void add_sizes(struct play *play)
{
	VEC_EACH(&play->parts, part) {
		VEC_EACH(&part->files.at, file) {
			for (size_t k = 0; k < file->parts.count; k++) {
				play->total += file->parts.at[k].size;
			}
		}
	}
}

static void add_play_sources(struct play *play, uint32_t number)
{
	struct play_part *part = &play->parts.at[number];

	VEC_EACH(&part->files.at, file) {
		struct source source = { .part = part,
					 .file = file,
					 .stream = stream_new(play->trace, number, file->name) };

		report_fault(source.stream, recorded_take_fault(file));
		if (file->has_info) {
			stream_expect(source.stream, &file->info);
		}
		*vec_push(&play->sources) = source;
	}
}

static void begin_streams(struct play *play)
{
	for (uint32_t i = 0; i < play->parts.count; i++) {
		add_play_sources(play, i);
	}
	VEC_EACH(&play->sources, source) {
		if (!source->file->has_info) { /* others may tell what it was */
			stream_end(source->stream);
		}
		source->ahead = ahead_new(play->run->engine, source->file, source->part->plan);
	}
}

/* ---- what is read as one ---- */

static void add_play_part(struct play *play, const struct recorded_path *path)
{
	struct play_part *part = vec_push(&play->parts);

	*part = (struct play_part){ .path = path };
	for (size_t i = 0; i < path->lost.count; i++) {
		*vec_push(&part->told) = false;
	}
}

static void play_part_fini(struct play_part *part)
{
	recorded_files_fini(&part->files);
	vec_fini(&part->told);
}

/* All of it has to be there before the plan of all is made. */
static int read_all_metadata(struct play *play, struct err *err)
{
	int r = 0;

	for (uint32_t i = 1; i < play->parts.count; i++) {
		(void)trace_add_part(play->trace);
	}
	for (uint32_t i = 0; r == 0 && i < play->parts.count; i++) {
		r = read_metadata(play->parts.at[i].path, take_traced,
				  &(struct traced){ play->trace, i }, err);
	}
	return r;
}

static int open_part(struct play *play, uint32_t number, struct err *err)
{
	struct play_part *part = &play->parts.at[number];
	int r;

	part->plan = trace_part_plan(play->trace, number);
	r = recorded_open_files(part->path, part->plan, play->decoder, &part->files, err);
	if (r == 0 && part->files.have_other_uuid && trace_part_ignore_uuid(play->trace, number)) {
		recorded_files_fini(&part->files);
		r = recorded_open_files(part->path, part->plan, play->decoder, &part->files, err);
	}
	return r;
}

static int open_all(struct play *play, struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < play->parts.count; i++) {
		r = open_part(play, i, err);
	}
	return r;
}

/* ---- where an index leads to ---- */

/* What was lost before a place was told before. */
static void pass_told(const struct source *source, const struct recorded_place *place)
{
	size_t part = source->is_over ? SIZE_MAX : place->part;
	uint64_t offset = source->is_over ? UINT64_MAX : place->offset;

	for (size_t k = 0; k < source->part->path->lost.count; k++) {
		source->part->told.at[k] |=
			is_before(source->file, &source->part->path->lost.at[k], part, offset);
	}
}

/* The stream goes on where it was, at the same packet and with the same counters. */
static int go_to_place(struct play *play, size_t known, const struct recorded_place *place,
		       struct source *source, struct err *err)
{
	pass_told(source, place);
	if (source->is_over) {
		return 0;
	}
	source->stream =
		place->stream.is_known ? stream_go_on(play->trace, known, &place->stream) : NULL;
	return source->stream && recorded_go_to(source->file, source->part->plan, play->decoder,
						place->part, place->offset)
		       ? 0
		       : err_raise(err, -EBADMSG, "%s: it has other packets", source->file->name);
}

/* All streams; an index is of one trace. */
static int go_on(struct play *play, const struct recorded_places *places, struct err *err)
{
	struct play_part *part = &play->parts.at[0];
	size_t known = 0;
	int r = 0;

	if (places->at.count != part->files.at.count) {
		return err_raise(err, -EBADMSG, "%s: it has other files", part->path->name);
	}
	for (size_t i = 0; r == 0 && i < places->at.count; i++) {
		struct source *source = vec_push(&play->sources);

		*source = (struct source){ .part = part,
					   .file = &part->files.at.at[i],
					   .is_over = places->at.at[i].stream.is_over };
		r = go_to_place(play, known, &places->at.at[i], source, err);
		known += places->at.at[i].stream.is_known;
	}
	for (size_t i = 0; r == 0 && i < places->at.count; i++) {
		struct source *source = &play->sources.at[i];

		source->ahead = source->is_over
					? NULL
					: ahead_new(play->run->engine, source->file, part->plan);
	}
	play->done = play->marked = places->done;
	play->ended = places->ended;
	return r;
}

/* All streams, at their first packets or where a checkpoint was made. */
static int begin(struct play *play, struct err *err)
{
	const struct recorded_run *run = play->run;
	struct recorded_places places = { 0 };
	int r = 0;

	if (run->on_open && play->parts.count == 1) {
		r = run->on_open(run->opener, play->trace, &play->parts.at[0].files, &places, err);
	}
	add_sizes(play);
	if (r > 0) {
		r = go_on(play, &places, err);
	} else if (r == 0) {
		begin_streams(play);
	}
	vec_fini(&places.at);
	return r;
}

/* Feeds all there is, up to the total or the pause. */
static void play_all(struct play *play)
{
	const struct recorded_run *run = play->run;
	bool is_whole;

	trace_end_away(play->trace);
	is_whole = feed_all(play);
	if (run->on_pause) {
		trace_pause(play->trace, 0);
		run->on_pause(run->user, play->trace);
		return;
	}
	if (!is_whole) {
		trace_cut(play->trace);
	}
	VEC_EACH(&play->parts, part) {
		count_lost(play, part);
	}
	trace_finish(play->trace, 0);
}

int recorded_analyze(const struct recorded_path *path, const struct recorded_run *run,
		     struct err *err)
{
	struct play play = { .run = run };
	int r;

	add_play_part(&play, path);
	for (size_t i = 0; run->joined && i < run->joined->at.count; i++) {
		add_play_part(&play, &run->joined->at.at[i]);
	}
	play.trace = trace_new(run->engine, run->user);
	r = read_all_metadata(&play, err);
	if (r == 0 && run->session) {
		recorded_session_of(path, run->session);
		trace_set_beside(play.trace, &run->session->beside.all);
	}
	play.decoder = mem_alloc(sizeof(*play.decoder));
	r = r < 0 ? r : run->on_trace(run->user, play.trace, err);
	r = r < 0 ? r : open_all(&play, err);
	if (r == 0) {
		trace_warn_notes(play.trace);
		r = begin(&play, err);
	}
	if (r == 0) {
		play_all(&play);
	}
	VEC_EACH(&play.sources, source) {
		ahead_free(source->ahead);
	}
	trace_free(play.trace);
	vec_fini_each(&play.parts, play_part_fini);
	vec_fini(&play.sources);
	decoder_free(play.decoder);
	return r;
}
