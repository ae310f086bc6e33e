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
 * between merger_host.submit() and merger_task_done().
 */
#ifndef SILLAGE_ENGINE_MERGER_MERGER_H
#define SILLAGE_ENGINE_MERGER_MERGER_H

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

/* What a merge needs of whoever owns it. */
struct merger_host {
	void *user;
	/* A window has closed, or the total is there.  The report dies with the call. */
	void (*emit)(void *user, const struct report *report);
	/* Has a worker run the job, and then calls merger_task_done(). */
	void (*submit)(void *user, struct job *job);
	/* Returns when some job has ended, and the owner has dealt with it. */
	void (*wait)(void *user);
	unsigned int tasks_max; /* at once; 0: there are no workers */
};

struct merger *merger_new(const struct setup *setup, const struct merger_host *host);
void merger_free(struct merger *merger); /* no task may be running */

/* A job of this merge has been run. */
void merger_task_done(struct merger *merger);
/* Waits for the tasks that are running. */
void merger_wait(struct merger *merger);

/* Event names by class index, from the newest plan.  Classes only ever get more. */
void merger_set_classes(struct merger *merger, const struct plan *plan);
/* The next class has this name. */
void merger_add_class(struct merger *merger, const char *name);

/* A number of the merge's own. */
uint32_t merger_stream_number(const struct merger_stream *stream);
struct merger_stream *merger_stream_at(const struct merger *merger, uint32_t number); /* or NULL */
/* Chunks that were taken in sequence. */
uint64_t merger_stream_submitted(const struct merger_stream *stream);

/* A stream holds the watermark from here on until it is known further, or ended. */
struct merger_stream *merger_stream_new(struct merger *merger);

void merger_stream_identify(struct merger_stream *stream, const struct stream_identity *identity);
const struct stream_identity *merger_stream_identity(const struct merger_stream *stream);

/* Nothing older than @ts comes after the @seq chunks submitted so far. */
void merger_stream_known(struct merger_stream *stream, uint64_t seq, uint64_t ts);

/* No chunk comes after the @seq submitted so far. */
void merger_stream_end(struct merger_stream *stream, uint64_t seq);

/* While set, the stream does not hold the watermark (it is silent or lost). */
void merger_stream_exclude(struct merger_stream *stream, bool excluded);

/* The time up to which the stream is merged, 0 if nothing is known of it. */
uint64_t merger_stream_until(const struct merger_stream *stream);
/* Whether it is yet to tell who ran first on its CPU, as far as partials were taken. */
bool merger_stream_waits(const struct merger_stream *stream);

/* Takes a finished partial; they may come in any order.  Takes ownership. */
void merger_take(struct merger_stream *stream, uint64_t seq, struct partial *partial);

/* Memory for more, of all merges together. */
enum merger_room {
	ROOM_ENOUGH,
	ROOM_LITTLE, /* what can be used up should be, if it is worth it */
	ROOM_NONE,
};

/*
 * Closes the windows that the watermark has passed, in tasks of the host's: what is begun
 * goes on at the next call.  @now_ns: wall clock for the lag, 0: recorded.
 */
void merger_advance(struct merger *merger, enum merger_room room, uint64_t now_ns);

/* All there is has been taken: closes the last window and emits the total. */
void merger_finish(struct merger *merger, uint64_t now_ns);

/* Goes on until nothing is begun: what can be closed is.  For who writes the merge (rolling.h). */
void merger_drain(struct merger *merger, uint64_t now_ns);

/* -EINVAL: the plan's classes are not those that the merge knows.  (It may have less as yet.) */
int merger_check_classes(const struct merger *merger, const struct plan *plan, struct err *err);

/* The total up to the last closed window, emitted now. */
void merger_emit_total(struct merger *merger, bool so_far);

/* Bytes of partials held. */
size_t merger_held_bytes(const struct merger *merger);
uint64_t merger_watermark(const struct merger *merger);
/* The end of the last window that was closed; 0: none was. */
uint64_t merger_closed_until(const struct merger *merger);
/* Events, packets, bytes taken so far. */
struct merger_account {
	uint64_t events, packets, bytes;
	uint64_t discarded, lost_packets, bad_packets, late_events, anomalies;
};
const struct merger_account *merger_account(const struct merger *merger);

#endif
