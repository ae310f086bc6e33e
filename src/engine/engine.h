/*
 * engine: traces in, reports out.
 *
 * The front (the live loop, or the reader of recorded traces) gives each trace its
 * metadata and, stream by stream and in order, its packets.  The engine cuts them
 * into chunks, finds gaps between them, has workers map them and merges the result.
 *
 *     engine_new
 *       trace_new ── trace_metadata ── stream_new ── stream_packet ... stream_end ── trace_finish
 *     engine_step      (again and again: takes what workers have done, emits windows)
 *     engine_free
 *
 * Live and recorded differ only in who calls: the same bytes give the same report.
 * All functions belong to one thread.
 */
#ifndef SILLAGE_ENGINE_ENGINE_H
#define SILLAGE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/contract/analysis.h"
#include "engine/merger/merger.h"
#include "engine/stats.h"
#include "engine/tables/report.h"

struct engine;
struct retained;
struct partial_writer;
struct trace;
struct stream;

/* Something lost or wrong in a trace; -1 members do not apply. */
struct engine_warning {
	const char *what; /* a fixed word: "packet", "discarded", ... */
	char message[512];
	const char *stream_name;
	int64_t packet;
};

struct engine_config {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	uint64_t interval_ns;
	/* Of windows that are put together from those and shown; 0: those are. */
	uint64_t shown_interval_ns;
	uint64_t range_begin, range_end; /* 0 and UINT64_MAX: all */
	bool wants_windows;              /* else only totals are reported */
	bool expects_beginning; /* a stream whose first packet is not its very first is warned of */
	unsigned int jobs;
	uint64_t chunk_bytes;
	uint64_t max_memory;
	size_t top; /* rows of each table that the reports' reader will look at, 0: all */
	const struct selection *selection; /* NULL: all rows; has to outlive the engine */
	const struct period_set *periods;  /* NULL: none; has to outlive the engine */
	struct retained_file *store; /* of kept packets, NULL: they stay in memory; the same */
	struct stats *stats;         /* NULL: not wanted */
	/* Where what workers found goes, instead of being merged (partials.h); NULL: it is merged.
	 */
	struct partial_writer *partials;
	/* Callbacks, with the user pointer of trace_new(). */
	void (*on_report)(void *user, const struct report *report);
	void (*on_warning)(void *user, const struct engine_warning *warning);
	/* A packet that came with its bytes has been analysed; takes the reference.  NULL: packets
	 * are not kept.  @stream: the name of its stream. */
	void (*on_retained)(void *user, const char *stream, struct retained *retained);
};

struct engine *engine_new(const struct engine_config *config);
void engine_free(struct engine *engine);

/* Takes finished chunks and advances merges; @wait: for at least one, if any is in flight. */
void engine_step(struct engine *engine, bool wait, uint64_t now_ns);

/* Bytes of packets and partials held, and whether more may be brought in. */
uint64_t engine_held_bytes(const struct engine *engine);
bool engine_has_room(const struct engine *engine);
/* Waits for room, if any can be had: for more than one chunk. */
void engine_make_room(struct engine *engine);
size_t engine_in_flight(const struct engine *engine); /* jobs at the workers */
/* A JOB_FIND of the front's; is_reaped after one of the engine_steps that follow. */
void engine_submit(struct engine *engine, struct job *job);
/* Steps until it is. */
void engine_await(struct engine *engine, const struct job *job);
/* Readable when engine_step() has work, for an event loop; -1 when there are no workers. */
int engine_event_fd(struct engine *engine);

/* ---- traces ---- */

struct trace *trace_new(struct engine *engine, void *user);

/* Another user pointer for reports and warnings: the trace is followed anew. */
void trace_set_user(struct trace *trace, void *user);
void trace_warn(struct trace *trace, const struct engine_warning *warning);

/* Frees the trace and its streams; its chunks in flight are waited for. */
void trace_free(struct trace *trace);

/*
 * More metadata.  @is_last: no more will come, so an end inside a declaration is an
 * error.  -EINVAL or -ENOMEM: the trace cannot be read.
 */
int trace_metadata(struct trace *trace, const void *bytes, size_t len, bool is_last,
		   struct err *err);

/* Forgets the metadata text: the same trace is attached to again and sends it anew. */
void trace_metadata_restart(struct trace *trace);

/* NULL until there is metadata that makes a plan. */
const struct plan *trace_plan(const struct trace *trace);
bool trace_uuid(const struct trace *trace, uint8_t ret_uuid[16]);

/* All streams have ended: the last window and the total. */
void trace_finish(struct trace *trace, uint64_t now_ns);
void trace_total_so_far(struct trace *trace);
const struct merger_account *trace_account(const struct trace *trace);
uint64_t trace_watermark(const struct trace *trace);
/* The end of the last window that was closed; 0: none was. */
uint64_t trace_closed_until(const struct trace *trace);

/* ---- state (rolling.h) ---- */

/* Waits for workers, and closes the windows that can be closed: nothing is on its way. */
void trace_pause(struct trace *trace, uint64_t now_ns);
/* Writes a paused trace, or reads into a new one.  Streams that are read are away, and taken up
 * again as after a lost connection. */
void trace_codec(struct trace *trace, struct codec *codec);
/* Streams that are away have ended: no more of them comes. */
void trace_end_away(struct trace *trace);

/* ---- streams ---- */

/* @name is for warnings (a channel or file name); it is copied. */
struct stream *stream_new(struct trace *trace, const char *name);

/*
 * The next packet, whose header and context have been read into @info.  Live: @bytes is
 * moved in and has the content.  Recorded: @bytes is NULL, the packet is at @offset of @fd, and
 * of @mapped if that is not NULL, which must stay until the trace is freed.
 *
 * A packet that the stream had already (a connection was lost and made again) is
 * dropped.  If its stream is one that went away with a connection, this continues it.
 */
struct stream_input {
	const struct packet_info *info;
	uint8_t *bytes;
	uint64_t len; /* of @bytes; may be less than the packet claims: a worker reports that */
	int fd;
	const uint8_t *mapped;
	uint64_t offset;
};
void stream_packet(struct stream *stream, const struct stream_input *input);

/* Recorded: what the stream's first packet will be, before it comes. */
void stream_expect(struct stream *stream, const struct packet_info *info);

/* Bytes that should have been a packet but are not: a gap, and one bad packet. */
void stream_bad_packet(struct stream *stream, const char *message);

/* A packet was announced but could not be had: a gap, and one lost packet. */
void stream_lost_packet(struct stream *stream, const char *message);
/* Live: the time stamp of a beacon, in cycles; nothing older comes. */
void stream_known(struct stream *stream, uint64_t cycles);
/* Recorded: what the next packet will be. */
void stream_next(struct stream *stream, const struct packet_info *info);
/* Hands what has gathered to a worker; false if there is nothing. */
bool stream_flush(struct stream *stream);
void stream_end(struct stream *stream);
/* The connection is gone: what follows, if anything, is behind a gap. */
void stream_away(struct stream *stream);
void stream_exclude(struct stream *stream, bool excluded);
uint64_t stream_until(const struct stream *stream);
/* Whether it may yet tell who ran first on its CPU: not if that is known by now. */
bool stream_waits_for_initial(const struct stream *stream);
const char *stream_name(const struct stream *stream);

#endif
