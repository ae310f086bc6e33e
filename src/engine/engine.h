/*
 * engine: traces in, reports out.
 *
 * The coordinator is the one thread that owns an engine: the live loop, or the reader of recorded
 * traces.  It gives each trace its metadata and each stream its packets, in their order.  The
 * engine cuts packets into chunks, finds gaps, has workers decode chunks into partials, and merges
 * partials into windows and totals.
 *
 *     engine_new
 *       trace_new ── trace_metadata ── stream_new ── stream_packet ... stream_end ── trace_finish
 *     engine_step      (repeatedly: takes finished jobs, merges, reports windows)
 *     engine_free
 *
 *     coordinator                    workers (pool.h)
 *     stream_packet
 *       a chunk is full ──submit──►  chunk-job: decode; pack for an export
 *     engine_step       ◄──reap────  partial
 *       merger_take, merger_advance
 *         a large round ──submit──►  merger tasks
 *       on_report
 *
 * Live and recorded traces differ only in the caller: the same bytes give the same report.
 *
 * Memory: the engine never blocks a caller who brings more packets.  It counts the bytes of chunks
 * and partials; the caller asks engine_has_room() before it brings more.
 *
 * All functions belong to the coordinator; callbacks are called on its thread, except those of an
 * export's packer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/contract/analysis.h"
#include "engine/merger/merger.h"
#include "engine/stats.h"
#include "engine/tables/report.h"

struct account;
struct engine;
struct retained;
struct thread_span;
struct trace;
struct stream;

/* Something lost or wrong in a trace.  A packet of -1 and a NULL stream do not apply. */
struct engine_warning {
	const char *what; /* a fixed word: "packet", "discarded", ... */
	char message[512];
	const char *stream_name;
	int64_t packet;
	uint64_t begin, end; /* ns: the time of a loss; 0: not known */
};

/* A partial as bytes. */
struct packed {
	VEC(uint8_t) bytes;
	int failure; /* errno if packing failed, else 0 */
};

/*
 * Where partials go instead of being merged (engine/exchange/partial-file.h).  The packer's
 * functions run in workers, each with a packer of its own; the others run in the coordinator, in
 * the order of what they report.  A number identifies a stream.
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
	/* After @seq chunks, every event is at @ts or later. */
	void (*known)(void *user, uint32_t stream, uint64_t seq, uint64_t ts);
	void (*end)(void *user, uint32_t stream, uint64_t seq); /* after @seq chunks */
	/* The trace has ended; @lost packets are of no stream that was identified. */
	void (*finish)(void *user, uint64_t lost);
};

struct engine_config {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	/* Of these, those that reports have; ends with NULL.  NULL: all.  Must outlive the engine.
	 */
	const struct analysis *const *reported;
	uint64_t interval_ns;
	/* Windows that the output combines from those and shows; 0: it shows those. */
	uint64_t shown_interval_ns;
	bool keeps_windows; /* each one is reported, also in a long row of empty ones */
	uint64_t range_begin, range_end; /* ns; 0 and UINT64_MAX: all */
	bool wants_windows;              /* else only totals */
	bool wants_containers;           /* lists of containers */
	bool wants_places;               /* with the container of each process */
	/* What the containers of a host are called, of traces of it; NULL: traces alone say it.
	 * Must outlive the engine. */
	const struct host_containers *host_containers;
	bool wants_order; /* all rows are in order, not only the first @top */
	bool is_usual;    /* nobody asked for these analyses: of other traces nothing is missed */
	bool wants_views; /* reports list what became known of threads */
	bool expects_beginning; /* warn of a stream whose first packets are missing */
	unsigned int jobs;
	uint64_t chunk_bytes;
	uint64_t max_memory;
	/* Of this process, with a bound of its own; NULL: the engine has one of max_memory.  Must
	 * outlive the engine. */
	struct account *account;
	size_t top;                        /* rows of each table that the output uses, 0: all */
	const struct selection *selection; /* NULL: all rows; must outlive the engine */
	const struct period_set *periods;  /* NULL: none; must outlive the engine */
	struct retained_file
		*store;      /* of retained packets; NULL: memory; must outlive the engine */
	struct stats *stats; /* NULL: not wanted */
	/* Partials go there instead of being merged; NULL: merge them.  Must outlive the engine. */
	const struct engine_export *exporter;
	/* Callbacks, with the user pointer of trace_new(). */
	void (*on_report)(void *user, const struct report *report);
	void (*on_warning)(void *user, const struct engine_warning *warning);
	/* Spans of threads (struct thread_span), of one thread after the other, as analyses with
	 * on_spans_end tell them; then, with @count 0, the time up to which all were given.  NULL:
	 * nobody wants them.  What they point to is valid until the latter returns. */
	void (*on_spans)(void *user, const struct thread_span *spans, size_t count, uint64_t until);
	/* A packet that came with its bytes has been analysed; the callee takes the reference.
	 * NULL: packets are not retained.  @stream: the name of its stream. */
	void (*on_retained)(void *user, const char *stream, struct retained *retained);
};

struct engine *engine_new(const struct engine_config *config);
void engine_free(struct engine *engine);

/* Takes finished jobs and merges.  @wait: for at least one job, if any is in flight.  @now_ns: the
 * wall clock, for the lag of live windows; 0: recorded. */
void engine_step(struct engine *engine, bool wait, uint64_t now_ns);
/* A step of a live run ends after TURN_NS.  Whether the last one did: there is more to do. */
bool engine_has_more(const struct engine *engine);

/* Bytes of packets and partials in memory, the account that they are in, and whether the caller
 * may bring more. */
uint64_t engine_held_bytes(const struct engine *engine);
struct account *engine_account(const struct engine *engine);
bool engine_has_room(const struct engine *engine);
/* Waits until there is room, or until nothing is in flight that could free some. */
void engine_make_room(struct engine *engine);
/* Steps until nothing is in flight: what merging knows then depends on the packets alone. */
void engine_settle(struct engine *engine);
size_t engine_in_flight(const struct engine *engine); /* jobs in the pool */
/* Runs a JOB_FIND of the caller in the pool; a later engine_step() sets is_reaped. */
void engine_submit(struct engine *engine, struct job *job);
/* Steps until the job is reaped. */
void engine_await(struct engine *engine, const struct job *job);
/* Readable when engine_step() has work, for an event loop; -1 without workers. */
int engine_event_fd(struct engine *engine);
