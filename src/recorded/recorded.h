/*
 * recorded: traces in directories, as a front of the engine.
 *
 * A trace is a directory with a file `metadata`; every other file in it is a stream
 * (CTF 1.8.3, section 7).  Packets are found by their own headers, which workers read ahead
 * (ahead.h), as they read the rest.  Streams are fed in order of time, so that the merger never
 * holds more than a few chunks of each.
 */
#ifndef SILLAGE_RECORDED_RECORDED_H
#define SILLAGE_RECORDED_RECORDED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "ctf/packet-index.h"
#include "engine/trace.h"

struct engine;
struct trace;

/*
 * One trace: a directory, or those that hold it in turn, oldest first: the chunks of a
 * rotated session (`archives/CHUNK/...`) and what was not rotated out.
 */
struct recorded_path {
	char *name; /* for messages: the directory, or where the chunks of several belong */
	VEC(char *) dirs;
};

struct recorded_paths {
	VEC(struct recorded_path) at;
};

/* The traces at or below @path, sorted.  -errno, or -ENOENT if there is none. */
int recorded_find(const char *path, struct recorded_paths *paths, struct err *err);
void recorded_paths_fini(struct recorded_paths *paths);

/* Feeds the trace's metadata file, the newest, to @metadata. */
int recorded_read_metadata(const struct recorded_path *path, struct metadata_stream *metadata,
			   struct err *err);

/* A file that holds all or, in its turn, some of a stream. */
struct recorded_part {
	char *path, *index_path;
	int fd;
	uint64_t size;
	uint8_t *mapped; /* once it was asked for */
	bool has_looked; /* for its packet index */
	struct packet_index index;
};

/*
 * One stream, read packet by packet.  It may be in several files: those of rotation
 * chunks, or those that a tracer limited in size.
 *
 * Where a packet cannot be read, the next one is found by the packet index, or by its magic
 * number if there is no index that is valid.  A last packet that the file does not
 * hold whole is read as far as it goes.
 */
struct recorded_file {
	char *name;
	VEC(struct recorded_part) parts;
	size_t part;           /* the current one ... */
	int fd;                /* ... and its descriptor */
	uint64_t size, offset; /* of the packet that @info describes */
	bool has_info;
	struct packet_info info;
	char *fault; /* what could not be read before this packet, or at the end; NULL: nothing */
	uint8_t *head;
	size_t head_room;
};

struct recorded_files {
	VEC(struct recorded_file) at;
};

/* Opens all streams of a trace and looks at the first packet of each. */
int recorded_open_files(const struct recorded_path *path, const struct plan *plan,
			struct decoder *decoder, struct recorded_files *files, struct err *err);
void recorded_files_fini(struct recorded_files *files);

/* Goes to the next packet; has_info is false at the end. */
void recorded_next(struct recorded_file *file, const struct plan *plan, struct decoder *decoder);

/* A part mapped into memory, until the files are freed; NULL if that is refused. */
const uint8_t *recorded_map_file(struct recorded_part *part);

/* Takes the fault, which is the caller's to free; NULL if there is none. */
char *recorded_take_fault(struct recorded_file *file);

/* A trace opened to read its packets, without the engine.  Close it also when opening failed. */
struct recorded {
	struct metadata_stream *metadata;
	struct plan_builder *builder;
	struct plan *plan;
	struct decoder *decoder;
	struct recorded_files files;
};
int recorded_open(const struct recorded_path *path, struct recorded *trace, struct err *err);
/* The same, with a plan for @requests, which must outlive it. */
int recorded_open_for(const struct recorded_path *path, const struct plan_request *requests,
		      size_t request_count, struct recorded *trace, struct err *err);
void recorded_close(struct recorded *trace);

/* When the first packet of a trace begins. */
int recorded_first_ns(const struct recorded_path *path, uint64_t *ret_ns, struct err *err);

/* Plays one trace through the engine, to its total.  @progress may be NULL. */
struct recorded_run {
	struct engine *engine;
	void *user; /* of trace_new() */
	uint64_t chunk_bytes;
	uint64_t range_end;
	void (*progress)(void *user, uint64_t done, uint64_t total);
	const atomic_bool *stop; /* set by a signal: finish with what there is */
	/* Once metadata is read, and before any stream; negative, with the reason: it goes no
	 * further. */
	int (*on_trace)(void *user, struct trace *trace, struct err *err);
	/* What there is is not all of the trace: it does not end, but is paused.  NULL: it ends. */
	void (*on_pause)(void *user, struct trace *trace);
};
int recorded_analyze(const struct recorded_path *path, const struct recorded_run *run,
		     struct err *err);

#endif
