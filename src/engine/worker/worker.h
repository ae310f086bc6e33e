/*
 * map: a worker's half of the engine: one chunk in, one partial out.
 *
 * It decodes the chunk's packets, counts events by class and window, follows who
 * runs on the CPU as far as the chunk tells, and calls the handlers of the
 * analyses.  What it is given besides the chunk (struct setup) is immutable.
 *
 * Who runs, within a chunk:
 *
 *     chunk begin    first switch          switch              gap
 *     |--- not known here ---|--- prev/next known ---|---|-- not known --...
 *
 * Where it is not known, records carry TID_CURRENT and the merger, who has what the
 * stream carried over, puts the thread in.
 */
#ifndef SILLAGE_ENGINE_WORKER_WORKER_H
#define SILLAGE_ENGINE_WORKER_WORKER_H

#include "engine/chunk.h"
#include "engine/contract/analysis.h"

struct selection;

/* Which analyses have a function that is called often: bit i is that of analyses[i]. */
#define CALLED_OFTEN(each)                                                                         \
	each(on_oncpu_end);                                                                        \
	each(on_lost);                                                                             \
	each(on_switch_in);                                                                        \
	each(on_switch_out);                                                                       \
	each(on_run);                                                                              \
	each(on_fork);                                                                             \
	each(on_initial_thread);                                                                   \
	each(on_no_open_calls);                                                                    \
	each(on_gap);                                                                              \
	each(on_unseen);                                                                           \
	each(on_window_end);                                                                       \
	each(on_cpu);                                                                              \
	each(on_slice);                                                                            \
	each(on_tally);
struct callers {
#define CALLER(member) uint32_t member
	CALLED_OFTEN(CALLER)
#undef CALLER
};
_Static_assert(ANALYSES_MAX <= 32, "there is a bit for each");

/* For each analysis that has a function, which it is: @i. */
#define each_analysis_with(setup, member, i)                                                       \
	for (uint32_t left_ = (setup)->callers.member, i = 0;                                      \
	     left_ != 0 && (i = (uint32_t)__builtin_ctz(left_), true); left_ &= left_ - 1)

/* What a run consists of: the same for all traces and threads of a process. */
struct stats;

struct setup {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	size_t analysis_count;
	uint64_t interval_ns, shown_interval_ns;
	uint64_t window_ns; /* a window's length; longer than the interval if none is shown */
	bool wants_windows; /* else only totals are reported */
	/* Recorded traces: only [range_begin, range_end) is reported; 0 and UINT64_MAX: all. */
	uint64_t range_begin, range_end;
	unsigned int jobs;                 /* threads that will map */
	struct stats *stats;               /* NULL: not wanted */
	size_t top;                        /* rows of a table that are to be in order, 0: all */
	const struct selection *selection; /* NULL: all rows */
	const struct period_set *periods;  /* of the user; NULL: none */
	struct retained_file *store;       /* where kept packets go; NULL: they stay in memory */
	/* Derived by setup_init(). */
	struct plan_request *requests;
	struct worker_route *routes; /* by request */
	size_t request_count;
	bool uses_threads; /* if not, nobody asks who runs */
	bool has_ordered;  /* some analysis wants them */
	struct callers callers;
	uint32_t may_rest; /* analyses with a need that may, by bit */
	size_t state_offsets[ANALYSES_MAX];
	size_t state_size;
	struct partial_cache *partial_cache;
};

/* The number of the window of a time, or WINDOW_BEFORE or AFTER. */
int64_t setup_window(const struct setup *setup, uint64_t ts);

/* Fills the derived members.  Request 0 is sched_switch (REQUEST_SWITCH). */
#define REQUEST_SWITCH 0
void setup_init(struct setup *setup);
void setup_fini(struct setup *setup);

/* Scratch of one worker, reused from chunk to chunk. */
struct worker *worker_new(const struct setup *setup);
void worker_free(struct worker *worker);

/* Fills chunk->partial.  Never fails: what cannot be decoded is in the partial's faults. */
void worker_run_chunk(struct worker *worker, struct chunk *chunk);
/* Packs the packets that are kept, as long as no other job waits. */
void worker_pack_retained(struct worker *worker, struct chunk *chunk);

/* ---- for handlers ---- */

/* Emits a record of the analysis whose handler is running.  NULL-free; fill in the rest. */
struct record *worker_emit(struct worker *worker, uint64_t ts, int32_t tid, unsigned int kind);

/* The same of something that is no thread: the analysis' object with this number. */
struct record *worker_emit_entity(struct worker *worker, uint64_t ts, uint64_t entity,
				  unsigned int kind);

/* Puts the tid of the thread that runs now into the record's prio, and -1 if nobody will know
 * it.  It was emitted last. */
void worker_note_current(struct worker *worker, struct record *record);

/*
 * The columns of an item of one of the analysis' tables (of sums only), in the window that is
 * being filled, to be added to; dies at the next call.  @name may be NULL, and need not end.
 */
uint64_t *worker_keyed_row(struct worker *worker, unsigned int table, uint64_t id, const void *name,
			   size_t len);

/*
 * Whether the running handler's analysis can do without the events of those of its needs that may
 * rest.  That is a hint: it may get them all the same.  It begins each chunk awake.
 */
void worker_rest(struct worker *worker, bool rests);

/* What the user asked for. */
const struct period_set *worker_periods(const struct worker *worker);

/* The CPU of the stream, UINT64_MAX: none. */
uint64_t worker_cpu(const struct worker *worker);

/* Whether the trace has events of this name. */
bool worker_has_event(const struct worker *worker, const char *name);

/* A text as numbers beside a record: what row_key_of_numbers() reads. */
uint64_t worker_text(struct worker *worker, const void *text, size_t len);

/* The thread that runs, or TID_CURRENT. */
int32_t worker_tid(const struct worker *worker);

/* Whether calls of the thread can be paired here: every switch of this CPU is seen. */
bool worker_sees_switches(const struct worker *worker);

/* Marks the stay: its first system call event shows that no call entered before is open any
 * more; @by_exit: it is the exit of one.  False if the stay's begin is not in this chunk; the
 * handler then has to emit a record of its own. */
bool worker_mark_no_open_calls(struct worker *worker, bool by_exit);

/* Copies numbers beside the records; the index goes into a record. */
uint64_t worker_numbers(struct worker *worker, const uint64_t *numbers, size_t count);

/* The thread of an event: where the stream does not show switches its context in @field, if it
 * is traced. */
static inline int32_t worker_tid_of(const struct worker *worker, const struct trace_event *event,
				    unsigned int field)
{
	if (!worker_sees_switches(worker) && (event->present & (1u << field))) {
		return (int32_t)event->values[field].i;
	}
	return worker_tid(worker);
}

#endif
