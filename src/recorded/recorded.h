/*
 * recorded: finds, opens and analyzes traces in directories.
 *
 *     recorded-find.c   which traces a path holds
 *     recorded-dat.c    a file of trace-cmd as such traces
 *     recorded-pack.c   an archive of traces
 *     looks.c           what a file is that is none
 *     recorded-join.c   which of them are one with a kernel's, or of hosts beside each other
 *     recorded-file.c   a stream as a sequence of packets, across files and damage
 *     recorded.c        metadata; a whole trace, with and without the engine
 *     ahead.c           packets found by workers in advance
 *
 * A trace is a directory with a file `metadata`; every other file in it is a stream (CTF 1.8.3,
 * section 7).  A rotated session spreads one trace over several directories, its chunks, and one
 * stream over as many files, its parts.
 *
 *     recorded_path ── dirs ──> chunk 1: metadata, channel0_0, channel0_1
 *                               chunk 2: metadata, channel0_0, channel0_1
 *     recorded_file ── parts ──────────────────────┴ both files of channel0_0
 *
 * recorded_analyze() feeds the engine in order of time, the stream with the oldest next packet
 * first, so that the merger never holds more than a few chunks of each stream.
 *
 * Damage is no error: what cannot be read is skipped and reported as a fault of the next packet, or
 * of the stream's end.  Errors are a missing directory, unreadable metadata, or files that cannot
 * be opened.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "ctf/decoder.h"
#include "ctf/metadata/kin.h"
#include "ctf/metadata/metadata.h"
#include "ctf/packet-index.h"
#include "engine/contract/beside.h"
#include "engine/stream.h"
#include "engine/trace.h"

struct engine;
struct trace;

/* Packets of a stream that are known to be missing in a place. */
struct recorded_lost {
	char *file;      /* the path of the stream's file, which may not exist */
	uint64_t offset; /* of the packet behind them; the end of the file: there is none */
	uint64_t packets;
	char *why;
};

/*
 * One trace: a directory, or the chunks of a rotated session (`archives/CHUNK/...`), oldest first,
 * and the directory that is not rotated yet.
 */
struct recorded_path {
	char *name; /* for messages: the directory, or where it would be without rotation */
	/* Of a copy: what its relay calls them, as a live run does; NULL: as its metadata does. */
	char *host, *session;
	VEC(char *) dirs;
	VEC(struct recorded_lost) lost; /* in order of their places, for each file */
	VEC(char *) notes;              /* what its readers are told, beside what it says itself */
	/* Of a copy of a part: the times of all that there was; last is 0: the copy is whole. */
	struct units_span span;
	uint64_t from; /* ns: what came before was left out; 0: nothing was */
	/* Set by recorded_join(): the offsets of this clock count, not the trace's own, which are
	 * later by shift_ns. */
	struct kin_clock on;
	int64_t shift_ns;
};

struct recorded_paths {
	VEC(struct recorded_path) at;
};

/* Whether a path is a file that is read as traces. */
bool recorded_is_file(const char *path);
/* The directory that is meant by a path: of an archive (pack/pack.h) where it was unpacked, of
 * anything else itself.  From malloc().  As recorded_find(), before any thread starts. */
char *recorded_place(const char *path);
/* Adds the traces at or below @path, sorted, or those of a trace.dat or an archive.  Call it before
 * any thread starts.  -errno; -ENOENT: it holds none. */
int recorded_find(const char *path, struct recorded_paths *paths, struct err *err);
void recorded_paths_fini(struct recorded_paths *paths);
void recorded_paths_copy(struct recorded_paths *to, const struct recorded_paths *from);

/* A kernel's trace, and those of user space that are one with it (doc/definitions.md, 5.1). */
struct recorded_one {
	size_t kernel;              /* its index */
	struct recorded_paths with; /* copies, on the kernel's clock where that is the same */
};
typedef VEC(struct recorded_one) recorded_ones;
/* Adds those of the traces from @first on.  What cannot be read is one with none.  @tell: why a
 * trace of user space beside a kernel's is one with none; NULL: nobody wants to know. */
void recorded_join(const struct recorded_paths *paths, size_t first, recorded_ones *ones,
		   void (*tell)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
void recorded_ones_fini(recorded_ones *ones);
/* Traces that are looked at together. */
typedef VEC(struct recorded_paths) recorded_groups;
/* Adds a group of copies for each of the traces from @first on.  Kernels' traces of several hosts
 * that overlap in time are one, of at most @most hosts; every other trace is a group of its own. */
void recorded_beside(const struct recorded_paths *paths, size_t first, size_t most,
		     recorded_groups *ret);
void recorded_groups_fini(recorded_groups *groups);
/* The one of the kernel's trace with this index, and the copy of the trace with this name;
 * NULL: none. */
const struct recorded_one *recorded_one_of(const recorded_ones *ones, size_t kernel);
const struct recorded_path *recorded_joined(const recorded_ones *ones, const char *name);

/* What the traces of a session record together: those of S/kernel and S/ust, or that are one. */
struct recorded_session {
	char *place; /* S; NULL: the trace that was asked about last lies in no such directory */
	struct beside beside;
	/* All that are read, of which those count that are one, where a place tells nothing; NULL:
	 * none do. */
	const struct recorded_paths *given;
	recorded_ones ones; /* of them, once they were looked at */
	bool has_looked;
};
/* Fills @session with that of the trace, unless it is the same as before. */
void recorded_session_of(const struct recorded_path *path, struct recorded_session *session);
void recorded_session_fini(struct recorded_session *session);
/* "S/archives/CHUNK/kernel" -> "S/kernel", where the trace would be without rotation. */
char *recorded_unrotated(const char *dir);
/* S of S/kernel, S/ust, S/ust/uid/... and S/ust/pid/...; NULL: it is another directory. */
char *recorded_session_place(const char *name);

/* Feeds the metadata file of the newest chunk to @metadata. */
int recorded_read_metadata(const struct recorded_path *path, struct metadata_stream *metadata,
			   struct err *err);

/* A file with a stream, or with one part of it. */
struct recorded_part {
	char *path, *index_path;
	int fd;
	uint64_t size;
	uint8_t *mapped; /* NULL before recorded_map_file() */
	bool has_looked; /* the packet index was read, or is missing */
	struct packet_index index;
};

/*
 * One stream, read packet by packet.  Its parts are the files of rotation chunks, or files that the
 * tracer limited in size.
 *
 * After a packet that cannot be read, the packet index gives the next one; without a valid index
 * the next magic number does.  A last packet that is cut off is read as far as the file goes.
 */
struct recorded_file {
	char *name;
	VEC(struct recorded_part) parts;
	size_t part;             /* index of the current part ... */
	int fd;                  /* ... its descriptor ... */
	uint64_t size;           /* ... and size */
	uint64_t offset;         /* in the part: of the current packet */
	bool has_info;           /* false: the stream has ended */
	bool has_other_uuid;     /* a packet with another UUID than the metadata was passed over */
	struct packet_info info; /* of the current packet */
	bool is_cut;             /* the file ends within the current packet */
	char *fault; /* what could not be read before it, or at the end; NULL: nothing */
	uint8_t *head;
	size_t head_room;
	bool is_searching; /* the next header to read is that of what may be a packet */
	uint64_t searched; /* bytes of the part that were read in search of readable packets */
	/* Packets of several streams are in the files: only those of the stream of @who are found.
	 * What cannot be read is said by the first of these streams. */
	bool is_shared, is_first;
	struct packet_info who;
};

struct recorded_files {
	VEC(struct recorded_file) at;
	bool have_other_uuid; /* no packet can be read, but some if their UUID does not matter */
};

/* Opens all streams of a trace and reads the header of each one's first packet. */
int recorded_open_files(const struct recorded_path *path, const struct plan *plan,
			struct decoder *decoder, struct recorded_files *files, struct err *err);
void recorded_files_fini(struct recorded_files *files);

/* Goes to the next packet; only while has_info, which becomes false at the end. */
void recorded_next(struct recorded_file *file, const struct plan *plan, struct decoder *decoder);

/* Maps a part into memory until the files are freed; NULL: the system refuses. */
const uint8_t *recorded_map_file(struct recorded_part *part);

/* Starts to decode the current packet, of which @most bytes are read.  The bytes, which the caller
 * frees when the decoder is done with them; NULL: they cannot be read. */
uint8_t *recorded_start(const struct recorded_file *file, const struct plan *plan,
			struct decoder *decoder, size_t most);

/* Takes the fault, which the caller frees; NULL: none. */
char *recorded_take_fault(struct recorded_file *file);
/* Goes to a packet that recorded_next() has found before; false: there is none. */
bool recorded_go_to(struct recorded_file *file, const struct plan *plan, struct decoder *decoder,
		    uint32_t part, uint64_t offset);

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

/* From the start of a trace's first packet to the end of its last one, by the headers of all
 * packets; of packets that do not tell it, by their events.  Without a time, or after an error:
 * UINT64_MAX and 0. */
int recorded_span(const struct recorded_path *path, uint64_t *ret_first, uint64_t *ret_last,
		  struct err *err);

/* What comes next of each file of a trace that is in the middle of being analyzed. */
struct recorded_place {
	uint64_t offset; /* of the next packet; of a stream that is over, of nothing */
	uint32_t part;   /* it is in this part of the file */
	struct stream_facts stream;
};
struct recorded_places {
	uint64_t done;                 /* bytes */
	uint64_t ended;                /* ns: the last end of the streams that are over */
	VEC(struct recorded_place) at; /* by file */
};

/* How a trace is analyzed. */
struct recorded_run {
	struct engine *engine;
	void *user; /* of trace_new() */
	uint64_t chunk_bytes;
	uint64_t range_end; /* ns: packets that begin later are not wanted */
	/* Bytes done and in all; may be NULL. */
	void (*progress)(void *user, uint64_t done, uint64_t total);
	const atomic_bool *stop; /* set by a signal: finish with what was read */
	/* Those that are read with it as one trace, which is a kernel's: recorded_join(); NULL:
	 * none. */
	const struct recorded_paths *joined;
	/* Of the trace before, and then of this one; NULL: what the other traces of its session
	 * record is of no interest. */
	struct recorded_session *session;
	/* Called when that leaves packets unread, before the total; may be NULL. */
	void (*on_stop)(void *user);
	/* Called after the metadata and before any stream; a negative result, with the reason, ends
	 * the analysis. */
	int (*on_trace)(void *user, struct trace *trace, struct err *err);
	/* The trace continues later: it is paused, not ended.  NULL: it ends. */
	void (*on_pause)(void *user, struct trace *trace);
	/* Called between two packets, after so many bytes each time; NULL: never. */
	uint64_t mark_bytes;
	void (*on_mark)(void *user, struct trace *trace, const struct recorded_places *places);
	/* Called with all files open: gives the trace a checkpoint, and where to go on from there.
	 * 1: it did; 0: the trace begins; NULL: it begins.  @ret is zeroed; the caller frees it. */
	void *opener;
	int (*on_open)(void *opener, struct trace *trace, const struct recorded_files *files,
		       struct recorded_places *ret, struct err *err);
};
/* Feeds one trace to the engine, up to its total. */
int recorded_analyze(const struct recorded_path *path, const struct recorded_run *run,
		     struct err *err);
