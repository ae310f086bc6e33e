/*
 * merge: the exact rolling state of one trace.
 *
 *     partials of stream 0  ──┐                   ┌─► shard 0: threads ──┐
 *     partials of stream 1  ──┼─► seam: CPUs ─────┼─► ...                ├─► windows, total
 *     ...                   ──┘  up to a bound    └─► shard 63           ┘
 *
 * The watermark is the smallest time up to which any stream is known.  Nothing older
 * can still arrive, so everything before it has one meaning, whatever the cut into
 * chunks, the number of workers and the order in which they finish.
 *
 * A window closes when the watermark passes its end, and never changes afterwards.
 * Data for a closed window ("late") is counted in the open one.
 *
 * Who ran on a CPU before its first sched_switch is known from that switch, which may
 * lie beyond the first window.  So the first windows wait for it, at most INITIAL_WAIT_NS
 * of trace time; this makes a result depend on the trace's bytes only.
 *
 * A merge belongs to one thread, the front; only its shards are worked on by others,
 * between merge_host.submit() and merge_task_done().
 */
#ifndef SILLAGE_ENGINE_MERGER_MERGER_H
#define SILLAGE_ENGINE_MERGER_MERGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/contract/analysis.h"
#include "engine/contract/partial.h"
#include "engine/pool.h"
#include "engine/tables/report.h"
#include "engine/worker/worker.h"

struct merge;
struct merge_stream;

/* What a merge needs of whoever owns it. */
struct merge_host {
	void *user;
	/* A window has closed, or the total is there.  The report dies with the call. */
	void (*emit)(void *user, const struct report *report);
	/* Has a worker run the job, and then calls merge_task_done(). */
	void (*submit)(void *user, struct job *job);
	/* Returns when some job has ended, and the owner has dealt with it. */
	void (*wait)(void *user);
	unsigned int tasks_max; /* at once; 0: there are no workers */
};

struct merge *merge_new(const struct setup *setup, const struct merge_host *host);
void merge_free(struct merge *merge); /* no task may be running */

/* A job of this merge has been run. */
void merge_task_done(struct merge *merge);
/* Waits for the tasks that are running. */
void merge_wait(struct merge *merge);

/* Event names by class index, from the newest plan.  Classes only ever get more. */
void merge_set_classes(struct merge *merge, const struct plan *plan);
/* The next class has this name. */
void merge_add_class(struct merge *merge, const char *name);

/* A number of the merge's own. */
uint32_t merge_stream_number(const struct merge_stream *stream);
struct merge_stream *merge_stream_at(const struct merge *merge, uint32_t number); /* or NULL */
/* Chunks that were taken in sequence. */
uint64_t merge_stream_submitted(const struct merge_stream *stream);

/* A stream holds the watermark from here on until it is known further, or ended. */
struct merge_stream *merge_stream_new(struct merge *merge);

/* What the stream's first packet says; @cpu_id UINT64_MAX: it names no CPU. */
struct stream_identity {
	uint64_t class_id, cpu_id, instance_id;
	bool has_switches;
	bool starts_late; /* packets before the first one were not seen */
	uint64_t begin;   /* ns: of the first packet */
};
void merge_stream_identify(struct merge_stream *stream, const struct stream_identity *identity);
const struct stream_identity *merge_stream_identity(const struct merge_stream *stream);

/* Nothing older than @ts comes after the @seq chunks submitted so far. */
void merge_stream_known(struct merge_stream *stream, uint64_t seq, uint64_t ts);

/* No chunk comes after the @seq submitted so far. */
void merge_stream_end(struct merge_stream *stream, uint64_t seq);

/* While set, the stream does not hold the watermark (it is silent or lost). */
void merge_stream_exclude(struct merge_stream *stream, bool excluded);

/* The time up to which the stream is merged, 0 if nothing is known of it. */
uint64_t merge_stream_until(const struct merge_stream *stream);
/* Whether it is yet to tell who ran first on its CPU, as far as partials were taken. */
bool merge_stream_waits(const struct merge_stream *stream);

/* Takes a finished partial; they may come in any order.  Takes ownership. */
void merge_take(struct merge_stream *stream, uint64_t seq, struct partial *partial);

/* Memory for more, of all merges together. */
enum merge_room {
	ROOM_ENOUGH,
	ROOM_LITTLE, /* what can be used up should be, if it is worth it */
	ROOM_NONE,
};

/*
 * Closes the windows that the watermark has passed, in tasks of the host's: what is begun
 * goes on at the next call.  @now_ns: wall clock for the lag, 0: recorded.
 */
void merge_advance(struct merge *merge, enum merge_room room, uint64_t now_ns);

/* All there is has been taken: closes the last window and emits the total. */
void merge_finish(struct merge *merge, uint64_t now_ns);

/* Goes on until nothing is begun: what can be closed is.  For who writes the merge (rolling.h). */
void merge_settle(struct merge *merge, uint64_t now_ns);

/* -EINVAL: the plan's classes are not those that the merge knows.  (It may have less as yet.) */
int merge_check_classes(const struct merge *merge, const struct plan *plan, struct err *err);

/* The total up to the last closed window, emitted now. */
void merge_emit_total(struct merge *merge, bool so_far);

/* Bytes of partials held. */
size_t merge_held_bytes(const struct merge *merge);
uint64_t merge_watermark(const struct merge *merge);
/* The end of the last window that was closed; 0: none was. */
uint64_t merge_closed_until(const struct merge *merge);
/* Events, packets, bytes taken so far. */
struct merge_account {
	uint64_t events, packets, bytes;
	uint64_t discarded, lost_packets, bad_packets, late_events, anomalies;
};
const struct merge_account *merge_account(const struct merge *merge);

#endif
