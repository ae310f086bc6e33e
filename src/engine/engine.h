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
struct trace;
struct stream;

/* Something lost or wrong in a trace; -1 members do not apply. */
struct engine_warning {
	const char *what; /* a fixed word: "packet", "discarded", ... */
	char message[512];
	const char *stream_name;
	int64_t packet;
};

/* A partial as bytes. */
struct packed {
	VEC(uint8_t) bytes;
	int failure; /* errno: it could not be made, 0: it could */
};

/*
 * Where partials go instead of being merged (engine/exchange/partial-file.h).  The packer's
 * functions are called by workers, each with a packer of its own; the others by the coordinator,
 * in the order of what they report.  Streams go by a number.
 */
struct engine_export {
	void *user;
	void *(*packer_new)(void);
	void (*packer_free)(void *packer);
	void (*pack)(void *packer, uint32_t stream, uint64_t seq, struct partial *partial,
		     struct packed *ret);
	void (*stream)(void *user, uint32_t stream, const struct stream_identity *identity);
	void (*partial)(void *user, const struct packed *packed, const struct partial *partial,
			const struct plan *plan);
	/* Nothing older than @ts comes after @seq chunks. */
	void (*known)(void *user, uint32_t stream, uint64_t seq, uint64_t ts);
	void (*end)(void *user, uint32_t stream, uint64_t seq); /* @seq chunks were all */
	void (*finish)(void *user);                             /* the trace is over */
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
	/* Partials go there instead of being merged; NULL: they are merged.  Has to outlive the
	 * engine. */
	const struct engine_export *exporter;
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

#endif
