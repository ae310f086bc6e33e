/*
 * merger: puts the partials of one trace together, in time order, and reports its windows.
 *
 *     partials of stream 0  ──┐                      ┌─► shard 0: threads ──┐
 *     partials of stream 1  ──┼─► CPU stitching ─────┼─► ...                ├─► windows, total
 *     ...                   ──┘   up to a bound      └─► shard 63           ┘
 *
 * Parts, each with a header of its own:
 *
 *     merger    streams, partials in sequence, the watermark
 *     cpus      which thread ran on each CPU, across chunks (CPU stitching)
 *     round     applies all records up to a bound, in parallel by shard
 *     ordered   replays ordered events of a round over all threads
 *     window    decides which rounds take place, and closes windows
 *
 * The watermark is the smallest time up to which every stream is known.  No older event can
 * still arrive, so the result up to the watermark is final.  It depends neither on how streams are
 * cut into chunks, nor on the number of workers, nor on the order in which they finish.
 *
 * A window closes when the watermark has passed its end.  It never changes afterwards.  An event
 * that falls into a closed window is late: it is counted in the open window, and in late_events.
 *
 * A CPU's initial thread is the one that runs when the trace begins.  The first sched_switch of
 * the CPU names it, and may lie beyond the first window.  Windows wait for that switch, for at most
 * INITIAL_WAIT_NS of trace time.  The limit is in trace time, so the result depends on the bytes
 * of the trace only.
 *
 * A merger belongs to one thread, the coordinator.  Workers touch only its shards, from
 * merger_host.submit() until merger_task_done().
 *
 * Ownership: merger_take() takes a partial over.  The merger gives it back to setup.partial_cache
 * as soon as no record and no slice of it is needed.
 *
 * Invariants (merger-check.c asserts them in debug and sanitizer builds):
 *   - a stream's partials are applied in the order of their sequence numbers, each once;
 *   - held_bytes is the sum over all partials that are held, ready or early;
 *   - each CPU has at most one owner: the stream whose switches decide which thread runs there;
 *   - a round never goes beyond the end of the open window, and one round runs at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/contract/analysis.h"
#include "engine/contract/partial.h"
#include "engine/contract/setup.h"
#include "engine/pool.h"
#include "engine/tables/report.h"

struct merger;
struct merger_stream;
struct thread_span;

/* What the merger needs of its owner. */
struct merger_host {
	void *user;
	/* A window has closed, or the total is complete.  The report is valid during the call. */
	void (*emit)(void *user, const struct report *report);
	/* Spans (engine.h).  NULL: nobody wants them. */
	void (*spans)(void *user, const struct thread_span *spans, size_t count, uint64_t until);
	/* Has a worker run the job.  The owner calls merger_task_done() afterwards. */
	void (*submit)(void *user, struct job *job);
	/* Returns when some job has ended and the owner has handled it. */
	void (*wait)(void *user);
	/* Asked after each window: true returns from merger_advance().  NULL: never. */
	bool (*must_pause)(void *user);
	unsigned int tasks_max; /* at the same time; 0: there are no workers */
	bool may_begin_late;    /* a stream without a packet may have had some before */
};

/* @setup outlives the merger. */
struct merger *merger_new(const struct setup *setup, const struct merger_host *host);
void merger_free(struct merger *merger); /* no task may be running; NULL is ignored */

/* A job of this merger has been run. */
void merger_task_done(struct merger *merger);
/* Waits for the tasks that are running. */
void merger_wait(struct merger *merger);

/* Event names by class index, from the newest plan.  Plans only ever add classes. */
void merger_set_classes(struct merger *merger, const struct plan *plan);
/* The domain that the trace's environment names, NULL: none; its tracer, NULL: LTTng. */
void merger_set_domain(struct merger *merger, const char *domain, const char *tracer);
/* The containers of the host that the trace is of. */
void merger_set_host(struct merger *merger, const struct host_containers *containers);
/* The events of other traces of its session (engine/contract/beside.h). */
void merger_set_beside(struct merger *merger, const struct event_names *beside);
/* Some stream is beside the kernel's, or may be later: from the begin on, so that all records are
 * made alike. */
void merger_note_joined(struct merger *merger);
/* The next class has this name. */
void merger_add_class(struct merger *merger, const char *name);
/* -EINVAL: the plan's classes differ from those that the merger knows.  (It may know fewer.) */
int merger_check_classes(const struct merger *merger, const struct plan *plan, struct err *err);

/* ---- streams ---- */

/* The new stream holds the watermark back until more of it is known, or it ends. */
struct merger_stream *merger_stream_new(struct merger *merger);
/* Once, before the first partial of the stream. */
void merger_stream_identify(struct merger_stream *stream, const struct stream_identity *identity);
const struct stream_identity *merger_stream_identity(const struct merger_stream *stream);

/* Streams are numbered in the order they are made. */
uint32_t merger_stream_number(const struct merger_stream *stream);
struct merger_stream *merger_stream_at(const struct merger *merger, uint32_t number); /* or NULL */
/* The number of partials taken in sequence. */
uint64_t merger_stream_submitted(const struct merger_stream *stream);

/* After the first @seq chunks, the stream has nothing older than @ts. */
void merger_stream_known(struct merger_stream *stream, uint64_t seq, uint64_t ts);
/* The stream ends after @seq chunks. */
void merger_stream_end(struct merger_stream *stream, uint64_t seq);
bool merger_stream_has_ended(const struct merger_stream *stream);
/* A stream that has ended goes on. */
void merger_stream_reopen(struct merger_stream *stream);
/* While excluded, a stream does not hold the watermark back: it is silent or lost. */
void merger_stream_exclude(struct merger_stream *stream, bool excluded);

/* ns: the time up to which the stream is merged; 0 if nothing is known of it. */
uint64_t merger_stream_until(const struct merger_stream *stream);
/* Whether windows wait for the stream to name the initial thread of its CPU. */
bool merger_stream_waits(const struct merger_stream *stream);

/* Takes a finished partial and owns it; those of one stream may come in any order. */
void merger_take(struct merger_stream *stream, uint64_t seq, struct partial *partial);

/* ---- progress ---- */

/* Memory left for partials, of all mergers together. */
enum merger_room {
	ROOM_ENOUGH,
	ROOM_LITTLE, /* apply what is held, if that is worth a round */
	ROOM_NONE,   /* apply what is held */
};

/*
 * Closes the windows that the watermark has passed.  Work may go on in the host's tasks when this
 * returns; the next call continues.  True: it paused, as the host asked.  @now_ns: wall clock, for
 * the lag; 0: a recorded trace.
 */
bool merger_advance(struct merger *merger, enum merger_room room, uint64_t now_ns);

/* At the end: @packets of streams that were never identified are lost.  They count in the window
 * that is open then, or in the total alone. */
void merger_lose(struct merger *merger, uint64_t packets);

/* The streams have more, and it will not come: windows that end later than some stream has come are
 * not complete.  merger_finish() follows. */
void merger_cut(struct merger *merger);

/* No partial comes any more: closes the last window and emits the total. */
void merger_finish(struct merger *merger, uint64_t now_ns);

/* Applies what is held up to the watermark, and advances until no task runs: before the merger is
 * written to a checkpoint. */
void merger_drain(struct merger *merger, uint64_t now_ns);

/* After that: drops what the time before the range added up, as its end does.  What is known of
 * threads and CPUs stays. */
void merger_forget_sums(struct merger *merger);
/* Read from a checkpoint that was made before a range without begin: the range begins where the
 * setup says.  False: the checkpoint is not before it. */
bool merger_set_range(struct merger *merger);
/* ns: the last event that was taken; 0: none was. */
uint64_t merger_last(const struct merger *merger);

/* Emits the total up to the last closed window, now. */
void merger_emit_total(struct merger *merger, bool so_far);

/* ns: where all packets ended if none covers the time since, for longer than HOLE_NS; else 0. */
uint64_t merger_silent_since(const struct merger *merger);

/* Bytes of the partials that are held. */
size_t merger_held_bytes(const struct merger *merger);
uint64_t merger_watermark(struct merger *merger);
/* ns: the end of the last closed window; 0: none is closed. */
uint64_t merger_closed_until(const struct merger *merger);

/* Sums since the start of the trace. */
struct merger_account {
	uint64_t events, packets, bytes; /* of partials taken in sequence */
	uint64_t discarded, lost_packets, bad_packets, late_events, anomalies; /* applied */
	uint64_t misfits; /* of the anomalies: switches that do not fit */
};
const struct merger_account *merger_account(const struct merger *merger);
