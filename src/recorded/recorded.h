/*
 * recorded: traces in directories, as a front of the engine.
 *
 * A trace is a directory with a file `metadata`; every other file in it is a stream
 * (CTF 1.8.3, section 7).  Packets are found by their own headers, and only headers are
 * read here: workers read the rest.  Streams are fed in order of time, so that the
 * merger never holds more than a few chunks of each.
 */
#ifndef SILLAGE_RECORDED_RECORDED_H
#define SILLAGE_RECORDED_RECORDED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "ctf/decode.h"
#include "ctf/metadata.h"

struct engine;
struct trace;

struct recorded_paths {
	VEC(char *) at;
};

/* The trace directories at or below @path, sorted.  -errno, or -ENOENT if there is none. */
int recorded_find(const char *path, struct recorded_paths *paths, struct err *err);
void recorded_paths_fini(struct recorded_paths *paths);

/* Feeds the metadata file of @dir to @metadata. */
int recorded_read_metadata(const char *dir, struct metadata_stream *metadata, struct err *err);

/* One stream file, read packet by packet. */
struct recorded_file {
	char *name;
	int fd;
	uint64_t size, offset; /* of the packet that @info describes */
	bool has_info;
	struct packet_info info;
	char *fault; /* why it ended before its end; NULL: it did not */
	uint8_t *head;
	size_t head_room;
};

struct recorded_files {
	VEC(struct recorded_file) at;
};

/* Opens all streams of @dir and looks at the first packet of each. */
int recorded_open_files(const char *dir, const struct plan *plan, struct decoder *decoder,
			struct recorded_files *files, struct err *err);
void recorded_files_fini(struct recorded_files *files);

/* Goes to the next packet; has_info is false at the end. */
void recorded_next(struct recorded_file *file, const struct plan *plan, struct decoder *decoder);

/* A trace opened to read its packets, without the engine.  Close it also when opening failed. */
struct recorded {
	struct metadata_stream *metadata;
	struct plan_builder *builder;
	struct plan *plan;
	struct decoder *decoder;
	struct recorded_files files;
};
int recorded_open(const char *dir, struct recorded *trace, struct err *err);
void recorded_close(struct recorded *trace);

/* When the first packet of the trace in @dir begins. */
int recorded_first_ns(const char *dir, uint64_t *ret_ns, struct err *err);

/* Plays one trace through the engine, to its total.  @progress may be NULL. */
struct recorded_run {
	struct engine *engine;
	void *user; /* of trace_new() */
	uint64_t chunk_bytes;
	uint64_t range_end;
	void (*progress)(void *user, uint64_t done, uint64_t total);
	const atomic_bool *stop; /* set by a signal: finish with what there is */
	void (*on_trace)(void *user, struct trace *trace); /* once metadata is read */
};
int recorded_analyze(const char *dir, const struct recorded_run *run, struct err *err);

#endif
