/*
 * recorded: see recorded.h.
 */
#include "recorded/recorded.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "engine/clock.h"
#include "engine/engine.h"

/* ---- finding traces ---- */

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool is_dir(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool has_metadata(const char *dir)
{
	char *path = mem_printf("%s/metadata", dir);
	struct stat status;
	bool has = stat(path, &status) == 0 && S_ISREG(status.st_mode);

	free(path);
	return has;
}

static int find_below(const char *dir, unsigned int depth, struct recorded_paths *paths,
		      struct err *err)
{
	struct dirent **entries;
	int count;

	if (has_metadata(dir)) {
		*vec_push(&paths->at) = mem_strdup(dir);
		return 0;
	}
	if (depth == TRACE_DEPTH_MAX) {
		return 0;
	}
	count = scandir(dir, &entries, visible, alphasort);
	if (count < 0) {
		return err_raise(err, -errno, "%s: %s", dir, strerror(errno));
	}
	for (int i = 0; i < count; i++) {
		char *path = mem_printf("%s/%s", dir, entries[i]->d_name);

		if (is_dir(path)) {
			(void)find_below(path, depth + 1, paths, err); /* others go on */
		}
		free(path);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

int recorded_find(const char *path, struct recorded_paths *paths, struct err *err)
{
	size_t before = paths->at.count;
	int r;

	if (!is_dir(path)) {
		struct stat status;

		if (stat(path, &status) < 0) {
			return err_raise(err, -errno, "%s: %s", path, strerror(errno));
		}
		return err_raise(err, -ENOTDIR, "%s: not a trace: a trace is a directory", path);
	}
	r = find_below(path, 0, paths, err);
	if (r < 0) {
		return r;
	}
	if (paths->at.count == before) {
		return err_raise(err, -ENOENT,
				 "%s: not a trace: there is no file \"metadata\" in it "
				 "or below it",
				 path);
	}
	return 0;
}

void recorded_paths_fini(struct recorded_paths *paths)
{
	for (size_t i = 0; i < paths->at.count; i++) {
		free(paths->at.at[i]);
	}
	vec_fini(&paths->at);
}

/* ---- metadata ---- */

typedef int feed_fn(void *user, const void *bytes, size_t len, struct err *err);

static int read_whole(const char *path, feed_fn *feed, void *user, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t got;
	int r = 0;

	if (fd < 0) {
		return err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	while (r == 0 && (got = read(fd, buffer, sizeof(buffer))) != 0) {
		if (got < 0) {
			r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
		} else {
			r = feed(user, buffer, (size_t)got, err);
			if (r < 0) {
				r = err_note(err, r, "%s", path);
			}
		}
	}
	(void)close(fd);
	return r;
}

static int feed_stream(void *user, const void *bytes, size_t len, struct err *err)
{
	return metadata_stream_feed(user, bytes, len, err);
}

static int feed_trace(void *user, const void *bytes, size_t len, struct err *err)
{
	return trace_metadata(user, bytes, len, false, err);
}

int recorded_read_metadata(const char *dir, struct metadata_stream *metadata, struct err *err)
{
	char *path = mem_printf("%s/metadata", dir);
	int r = read_whole(path, feed_stream, metadata, err);

	if (r == 0) {
		r = metadata_stream_end(metadata, err);
		if (r < 0) {
			r = err_note(err, r, "%s", path);
		}
	}
	free(path);
	return r;
}

static int trace_read_metadata(const char *dir, struct trace *trace, struct err *err)
{
	char *path = mem_printf("%s/metadata", dir);
	int r = read_whole(path, feed_trace, trace, err);

	if (r == 0) {
		r = trace_metadata(trace, "", 0, true, err);
		if (r < 0) {
			r = err_note(err, r, "%s", path);
		}
	}
	free(path);
	return r;
}

/* ---- stream files ---- */

static void end_file(struct recorded_file *file, char *fault)
{
	file->has_info = false;
	file->fault = fault;
}

/* Reads the head of the packet at the file's offset, more of it if need be. */
static int read_head(struct recorded_file *file, const struct plan *plan, struct decoder *decoder,
		     size_t want, struct err *err)
{
	uint64_t left = file->size - file->offset;
	size_t len = left < want ? left : want;
	ssize_t got;

	if (len > file->head_room) {
		file->head = mem_realloc(file->head, len);
		file->head_room = len;
	}
	got = pread(file->fd, file->head, len, (off_t)file->offset);
	if (got < 0) {
		return err_raise(err, -errno, "%s", strerror(errno));
	}
	if ((size_t)got < len) {
		return err_raise(err, -EIO, "the file became shorter");
	}
	return packet_info_read(decoder, plan, file->head, len, left, &file->info, err);
}

static void look(struct recorded_file *file, const struct plan *plan, struct decoder *decoder)
{
	size_t want = PACKET_HEAD_BYTES;
	struct err err;
	int r;

	if (file->offset >= file->size) {
		end_file(file, NULL);
		return;
	}
	do {
		r = read_head(file, plan, decoder, want, &err);
		want *= 16;
	} while (r == -ENODATA && want <= PACKET_BYTES_MAX);
	file->has_info = r == 0;
	if (r == 0 && file->info.size_bits / 8 > PACKET_BYTES_MAX) {
		r = err_raise(&err, -EPROTO, "a packet of %" PRIu64 " bytes, the limit is %" PRIu64,
			      file->info.size_bits / 8, PACKET_BYTES_MAX);
	}
	if (r < 0) {
		end_file(file,
			 mem_printf("at byte %" PRIu64 " of the file: %s; what follows cannot "
				    "be read",
				    file->offset, err.text));
	}
}

void recorded_next(struct recorded_file *file, const struct plan *plan, struct decoder *decoder)
{
	assert(file->has_info);
	file->offset += file->info.size_bits / 8;
	look(file, plan, decoder);
}

static int open_file(const char *dir, const char *name, const struct plan *plan,
		     struct decoder *decoder, struct recorded_files *files, struct err *err)
{
	char *path = mem_printf("%s/%s", dir, name);
	struct recorded_file file = { 0 };
	struct stat status;

	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file.fd < 0 || fstat(file.fd, &status) < 0) {
		int r = err_raise(err, -errno, "%s: %s", path, strerror(errno));

		if (file.fd >= 0) {
			(void)close(file.fd);
		}
		free(path);
		return r;
	}
	free(path);
	if (!S_ISREG(status.st_mode)) {
		(void)close(file.fd);
		return 0;
	}
	file.name = mem_strdup(name);
	file.size = (uint64_t)status.st_size;
	look(&file, plan, decoder);
	*vec_push(&files->at) = file;
	return 0;
}

int recorded_open_files(const char *dir, const struct plan *plan, struct decoder *decoder,
			struct recorded_files *files, struct err *err)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, visible, alphasort);
	int r = 0;

	if (count < 0) {
		return err_raise(err, -errno, "%s: %s", dir, strerror(errno));
	}
	for (int i = 0; i < count; i++) {
		if (r == 0 && strcmp(entries[i]->d_name, "metadata") != 0) {
			r = open_file(dir, entries[i]->d_name, plan, decoder, files, err);
		}
		free(entries[i]);
	}
	free(entries);
	return r;
}

void recorded_files_fini(struct recorded_files *files)
{
	for (size_t i = 0; i < files->at.count; i++) {
		struct recorded_file *file = &files->at.at[i];

		(void)close(file->fd);
		free(file->name);
		free(file->fault);
		free(file->head);
	}
	vec_fini(&files->at);
}

/* ---- a trace by itself ---- */

int recorded_open(const char *dir, struct recorded *trace, struct err *err)
{
	int r;

	memset(trace, 0, sizeof(*trace));
	trace->metadata = metadata_stream_new();
	metadata_stream_keep_text(trace->metadata);
	trace->decoder = mem_alloc(sizeof(*trace->decoder));
	r = recorded_read_metadata(dir, trace->metadata, err);
	if (r < 0) {
		return r;
	}
	trace->builder = plan_builder_new(metadata_stream_arena(trace->metadata), NULL, 0, false);
	r = plan_build(trace->builder, metadata_stream_types(trace->metadata), &trace->plan, err);
	if (r < 0) {
		return err_note(err, r, "%s/metadata", dir);
	}
	return recorded_open_files(dir, trace->plan, trace->decoder, &trace->files, err);
}

void recorded_close(struct recorded *trace)
{
	recorded_files_fini(&trace->files);
	plan_unref(trace->plan);
	plan_builder_free(trace->builder);
	metadata_stream_free(trace->metadata);
	decoder_free(trace->decoder);
}

/* ---- playing a trace through the engine ---- */

struct play {
	const struct recorded_run *run;
	struct trace *trace;
	const struct plan *plan;
	struct decoder *decoder;
	struct recorded_files files;
	VEC(struct stream *) streams; /* by file */
	uint64_t total, done;         /* bytes */
};

static uint64_t begin_ns(const struct recorded_file *file)
{
	struct clock clock;

	if (!file->info.has_begin) {
		return 0;
	}
	clock_init(&clock, file->info.stream->clock);
	return clock_ns(&clock, file->info.begin);
}

int recorded_first_ns(const char *dir, uint64_t *ret_ns, struct err *err)
{
	struct recorded trace;
	int r = recorded_open(dir, &trace, err);

	if (r == 0) {
		uint64_t first = UINT64_MAX;

		for (size_t i = 0; i < trace.files.at.count; i++) {
			const struct recorded_file *file = &trace.files.at.at[i];

			if (file->has_info && begin_ns(file) < first) {
				first = begin_ns(file);
			}
		}
		*ret_ns = first;
	}
	recorded_close(&trace);
	return r;
}

/* The file whose next packet is the oldest; SIZE_MAX if all have ended. */
static size_t oldest(const struct play *play)
{
	size_t found = SIZE_MAX;
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; i < play->files.at.count; i++) {
		const struct recorded_file *file = &play->files.at.at[i];

		if (file->has_info && (found == SIZE_MAX || begin_ns(file) < begin)) {
			found = i;
			begin = begin_ns(file);
		}
	}
	return found;
}

static void end_stream(struct play *play, size_t i)
{
	if (play->files.at.at[i].fault) {
		stream_bad_packet(play->streams.at[i], play->files.at.at[i].fault);
	}
	stream_end(play->streams.at[i]);
}

/* Feeds packets of one file until they make a chunk. */
static void feed_chunk(struct play *play, size_t i)
{
	struct recorded_file *file = &play->files.at.at[i];
	struct stream *stream = play->streams.at[i];
	uint64_t bytes = 0;

	while (file->has_info && bytes < play->run->chunk_bytes) {
		struct stream_input input = { .info = &file->info,
					      .fd = file->fd,
					      .offset = file->offset };

		if (begin_ns(file) >= play->run->range_end) {
			file->has_info = false;
			break;
		}
		bytes += file->info.size_bits / 8;
		stream_packet(stream, &input);
		recorded_next(file, play->plan, play->decoder);
	}
	play->done += bytes;
	(void)stream_flush(stream);
	if (file->has_info) {
		stream_known(stream, file->info.begin);
	} else {
		end_stream(play, i);
	}
}

static void feed_all(struct play *play)
{
	const struct recorded_run *run = play->run;
	size_t next;

	while ((next = oldest(play)) != SIZE_MAX && !(run->stop && *run->stop)) {
		while (!engine_has_room(run->engine) && engine_in_flight(run->engine) > 0) {
			engine_step(run->engine, true, 0);
		}
		feed_chunk(play, next);
		engine_step(run->engine, false, 0);
		if (run->progress) {
			run->progress(run->user, play->done, play->total);
		}
	}
}

static void open_streams(struct play *play)
{
	for (size_t i = 0; i < play->files.at.count; i++) {
		struct recorded_file *file = &play->files.at.at[i];

		*vec_push(&play->streams) = stream_new(play->trace, file->name);
		play->total += file->size;
		if (file->has_info) {
			stream_expect(play->streams.at[i], &file->info);
		} else {
			end_stream(play, i);
		}
	}
}

int recorded_analyze(const char *dir, const struct recorded_run *run, struct err *err)
{
	struct play play = { .run = run };
	int r;

	play.trace = trace_new(run->engine, run->user);
	r = trace_read_metadata(dir, play.trace, err);
	if (r < 0) {
		trace_free(play.trace);
		return r;
	}
	play.plan = trace_plan(play.trace);
	play.decoder = mem_alloc(sizeof(*play.decoder));
	run->on_trace(run->user, play.trace);
	r = recorded_open_files(dir, play.plan, play.decoder, &play.files, err);
	if (r == 0) {
		open_streams(&play);
		feed_all(&play);
		trace_finish(play.trace, 0);
	}
	trace_free(play.trace);
	recorded_files_fini(&play.files);
	vec_fini(&play.streams);
	decoder_free(play.decoder);
	return r;
}
