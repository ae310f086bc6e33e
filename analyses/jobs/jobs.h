/*
 * jobs: executions of patterns that --job names (query/job.h), live and recorded.
 *
 * The definitions are those of reports (doc/definitions.md, 6.1 and 6.2), so that a report of the
 * same trace has the same figures.  They are found in steps:
 *
 *     jobs-worker.c   worker   which definitions an event meets, and for which thread
 *     jobs.c          shard    thread by thread: its state, and where executions begin and end
 *     jobs-count.c    trace    in order over all: what released a thread (kernel/release.h), and
 * the figures of executions
 *     jobs-across.c   trace    in order over all: executions that go over threads (query/across.h)
 *     jobs-within.c   trace    in order over all: those that count where they lie in another job's
 *     jobs-files.c             records and states from files
 *
 * Rows of groups and names for ids: analyses/labels.
 *
 *     CPU     timer expires, wakes thread 7 ─────────────┐ ordered events
 *     thread  7 sleeps ──────────────── woken ── runs: begins ──── ends
 *                                         └─ NOTE_SLEPT  └─ NOTE_BEGIN └─ NOTE_END: figures
 *
 * What happens on a CPU (timers, wake-ups, signals) are records of an entity, the CPU, so that it
 * has one order.  At the same time the ordered events of entities come before those of threads.
 */
#pragma once

#include "analyses/counters/counters.h"
#include "analyses/labels/labels.h"
#include "engine/contract/analysis-rare.h"
#include "kernel/release.h"
#include "kernel/thread-phase.h"
#include "query/across.h"

enum { TOTALS, BY_JOB, PARTS, THREADS, PROCESSES, WORST, DIFFERENCES };

/* Columns of the trace and of a job. */
enum {
	MISSES,
	MISSES_RUN,
	SKIPPED,
	UNARRIVED,
	ABANDONED,
	CUT,
	OVERLAPPED,
	DROPPED,
	OPEN,
	OPEN_MISSES,
	FIGURES
};
enum { ALL_ENDED = FIGURES, ALL_OLDEST_NS, ALL_FORGOTTEN };
enum { JOB_DURATION = FIGURES, JOB_RESPONSE, JOB_LATE, JOB_PERIOD, JOB_JITTER };
enum { WORST_RESPONSE, WORST_DURATION, WORST_LATE };
enum { THREAD_DURATION, THREAD_RESPONSE, THREAD_MISSES };

/* How an execution's time divides. */
enum job_part {
	PART_RUNNING,
	PART_PREEMPTED,
	PART_WAITING,
	PART_BLOCKED,
	PART_UNKNOWN,
	PART_COUNT
};

static inline enum job_part jobs_part_of(enum phase phase)
{
	static const uint8_t parts[PHASES] = {
		[PHASE_UNKNOWN] = PART_UNKNOWN, [PHASE_NEW] = PART_WAITING,
		[PHASE_RUNNING] = PART_RUNNING, [PHASE_BLOCKED] = PART_BLOCKED,
		[PHASE_WAIT] = PART_WAITING,    [PHASE_PREEMPTED] = PART_PREEMPTED,
		[PHASE_DEAD] = PART_UNKNOWN,
	};

	assert(phase < PHASES);
	return parts[phase];
}

/* ---- records: jobs-worker.c makes them ---- */

enum {
	OWN_MATCH = RECORD_OWN, /* of a thread: the event meets definition arg16; see below */
	OWN_WAKE,               /* of a thread: as in sched */
	/* Of a CPU. */
	OWN_SET,     /* words: timer, when it expires */
	OWN_EXPIRE,  /* words: timer, now, whether that is known; it is handled until ... */
	OWN_EXPIRED, /* ... here */
	OWN_WOKEN,   /* thread arg32 */
	OWN_SIGNAL,  /* number arg64 for thread arg32 */
	OWN_LOST,    /* events are missing; arg32: of any thread, as no switches say who ran */
	/* Of one entity. */
	OWN_LABEL, /* see labels_note() */
	/* Of another one, if jobs go over threads. */
	OWN_STEP, /* the event, which is about thread arg32, meets definition arg16; words: below */
	OWN_NAME, /* thread arg32 is called as the words say, STEP_NAME_WORDS of them */
	OWN_GAP,  /* events are missing; arg32: of which jobs */
	/* The same as OWN_STEP, of a thread: traces were joined, and its parts count. */
	OWN_STEP_OF,
};

/* What is missing where traces were joined: of one that is not the kernel's, or of the kernel's.
 * Jobs that name no such event have all that they need. */
enum { MISSING_ANY, MISSING_BESIDE, MISSING_KERNEL, MISSING_KINDS };

#define ENTITY_LABELS (UINT64_MAX - 1) /* no CPU has this number */
#define ENTITY_ACROSS (UINT64_MAX - 2)

/* OWN_MATCH: arg16 has the job and the definition, arg64 the CPU; of an event that says more arg64
 * is where its words are: the CPU, counters and the items.  arg32 is 1 if the event meets a later
 * definition of the job for this thread, too: then that record came before. */
enum { MATCH_CPU, MATCH_COUNTERS };
#define MATCH_WORDS_MAX   (MATCH_COUNTERS + COUNTERS_WORDS_MAX + ITEMS_WORDS)
#define MATCH_DEFINITIONS JOB_EVENTS_MAX

static inline bool jobs_has_words(const struct job_spec *job, size_t at)
{
	return job->group.count > 0 || job->events[at].diff_count > 0;
}

static inline size_t jobs_match_items(const struct job_spec *job, size_t at)
{
	return MATCH_COUNTERS + counters_words(job->events[at].diff_count);
}

/* OWN_STEP: job and definition in arg16; words: the CPU, what job_key() gave, counters, the items,
 * and if names are looked up those ids. */
enum { STEP_CPU, STEP_KEY, STEP_COUNTERS };
#define STEP_WORDS_MAX  (STEP_COUNTERS + COUNTERS_WORDS_MAX + 2 * ITEMS_WORDS)
#define STEP_NAME_WORDS (ACROSS_NAME_BYTES / sizeof(uint64_t))

static inline size_t jobs_step_items(const struct job_spec *job, size_t at)
{
	return STEP_COUNTERS + counters_words(job->events[at].diff_count);
}

/* OWN_WAKE: enum wake_kind in arg16, the CPU in arg64. */
#define WAKE_KIND      0xFF
#define WAKE_TENTATIVE 0x100 /* nothing in the trace confirms wake-ups */
#define WAKE_CALM      0x200 /* it does not come from the expiry of a timer */

struct jobs_worker {
	bool is_known;         /* whether the trace has expiries */
	unsigned int expiries; /* whether the expiry of a timer is being handled */
	/* Of each job the definition that was looked at last, its event, and the thread for which
	 * that event meets a definition. */
	struct {
		const struct plan_event *class;
		size_t at;
		int64_t thread; /* 0: it meets none so far */
	} met[JOBS_ASKED_MAX];
};

size_t jobs_worker_needs_of(const struct period_set *asked, struct need **ret);
void jobs_worker_lost(struct worker *worker, void *state, uint64_t ts, bool is_over);

/* ---- jobs-asked.c: what of struct analysis_rare is about the user's wishes ---- */

bool jobs_missing_of(const struct period_set *asked, const struct event_names *names,
		     struct missing_events *ret);
bool jobs_needs_essential(const struct period_set *asked, const struct essential *essential);
bool jobs_is_asked(const struct period_set *asked, size_t table, unsigned int column,
		   const char *name);

/* ---- the state of a thread: jobs.c has it ---- */

/* The grid of a period on which executions arrive whose arrival is not known otherwise. */
struct grid {
	uint64_t at; /* a point of it */
	uint64_t
		votes; /* begins that agree with it, less those that do not; 0: there is none yet */
	bool is_known; /* `at` is an arrival that is known, and begins have no say */
};

/* Of a job that others lie in: those executions that ended last, at one time. */
struct over {
	uint64_t begin; /* of the one that began first */
	uint64_t end;
};

/* Of an execution, or one before it: the begin of the last one ... */
struct doubts {
	uint64_t missing; /* before which events are missing, or when they were */
	uint64_t again;   /* before which others would have begun */
};

/* How regularly executions begin. */
struct cadence {
	uint64_t begun;   /* when the last one did */
	uint64_t period;  /* since the one before did */
	uint64_t nominal; /* its period, as it should be; 0: not known */
	uint64_t jitter;  /* how far it is from that, else from the period before */
	bool has_begun, has_period, has_jitter;
};

/* The executions of a job on a thread. */
struct machine {
	uint8_t next;    /* the definition to match; 0: not begun */
	bool is_stepped; /* the last event that met a definition was the next one's */
	bool is_doubted; /* events are missing since the last execution began */
	bool is_again;   /* others would have begun since, but for it */
	uint64_t begin;
	uint64_t ns[PART_COUNT];
	/* Written in on_ordered only. */
	struct arrival arrival;
	bool has_before;
	uint64_t ended;   /* when the execution before ended */
	uint64_t before;  /* the arrival of the execution before */
	struct grid grid; /* of a job with a period */
	struct cadence cadence;
	uint64_t run;     /* misses one after the other */
	struct over over; /* of a job that others lie in */
	struct doubts doubts;
	struct items items; /* of the execution that began last, and so are: */
	struct diff_begin *counters;
	struct diff_values differences; /* where it ends */
};

struct executing {
	struct thread_phase phase;
	uint64_t slept;          /* when its last sleep ended; 0: none did */
	uint64_t ns[PART_COUNT]; /* of all its phases that have ended */
	int32_t tid;             /* 0: not noted yet */
	/* Of on_ordered only: its number among those with executions that others lie in; 0: none.
	 */
	uint64_t serial;
	uint8_t machine_count;
	struct machine *machines; /* by job; NULL: it has executed none */
};

static inline struct executing *jobs_executing(struct shard *shard, struct thread *thread)
{
	return shard_thread_state(shard, thread);
}

/* Whether executions that may go over threads have parts, where one thread begins and ends them. */
static inline bool jobs_has_parts(const struct period_set *asked, const struct job_spec *job)
{
	return job->of_programs && asked->with_kernel;
}

/* Whether what is missing, MISSING_..., may be of the job. */
static inline bool jobs_may_miss(const struct job_spec *job, unsigned int missing)
{
	return missing == MISSING_BESIDE ? job->of_programs
					 : missing != MISSING_KERNEL || job->of_kernel;
}

/* Whether some job lies in another one. */
static inline bool jobs_any_within(const struct period_set *asked)
{
	bool any = false;

	for (size_t j = 0; asked && j < asked->jobs.count; j++) {
		any |= asked->jobs.at[j]->is_around;
	}
	return any;
}

static inline size_t jobs_asked(const struct shard *shard)
{
	const struct period_set *asked = shard_periods(shard);

	return asked ? asked->jobs.count : 0;
}

static inline const struct job_spec *jobs_at(const struct shard *shard, size_t job)
{
	return shard_periods(shard)->jobs.at[job];
}

/* Of an execution with this period; UINT64_MAX: it has none. */
static inline uint64_t jobs_deadline(const struct job_spec *job, uint64_t nominal)
{
	return job->deadline_ns == UINT64_MAX && nominal > 0 ? nominal : job->deadline_ns;
}

/* ---- ordered events ---- */

enum {
	NOTE_SET,    /* timer, when it expires */
	NOTE_EXPIRE, /* timer, now, whether that is known */
	NOTE_EXPIRED,
	NOTE_WOKEN,  /* tid */
	NOTE_SIGNAL, /* tid, number */
	NOTE_LOST,   /* whether of any thread */
	NOTE_LOSE,   /* nothing was traced for a while */
	/* Of threads. */
	NOTE_SLEPT,   /* a wake-up ended its sleep */
	NOTE_FORKED,  /* the tid has, or will have, a new thread */
	NOTE_RENAMED, /* its former tid */
	NOTE_BEGIN,   /* job, end of its last sleep, BEGIN_... bits */
	NOTE_CUT,     /* job, that others lie in: events are missing, it may have ended */
	NOTE_END,     /* job and CPU, begin, parts */
	NOTE_ABANDON, /* job, as its thread ends; begin; whether it counts */
	NOTE_DIED,    /* the thread has ended; there may be another one with its state */
	NOTE_OVER,    /* the same, however it ended; only where jobs lie in others */
	NOTE_WORDS,   /* of an execution: job, where the words of the record are, definition */
	/* Of one entity. */
	NOTE_LABEL, /* the source of the label, and where the words of its record are */
	/* Of another one. */
	/* arg16 and arg32 of the record, and where its words are; if it is of a thread, its parts
	 * up to then */
	NOTE_STEP,
	NOTE_NAME, /* tid, and where the name is */
	NOTE_GAP,
};

/* What may be between an execution's begin and that of the one before. */
#define BEGIN_DOUBTED 1 /* events are missing */
#define BEGIN_AGAIN   2 /* others would have begun */

/* NOTE_STEP, in words[2]: it is of a thread, whose parts are in words[3] and behind. */
#define NOTE_STANDS 0x10000

#define JOBS_NOTED(word) ((const uint64_t *)(uintptr_t)(word))

/* How the time of a thread has divided up to an event; what is in none of these is unknown.  A
 * wake-up may show later that what was unknown then was blocked. */
struct jobs_stand {
	int64_t thread; /* shard_thread_number(); 0: of an unknown one */
	uint32_t incarnation;
	uint64_t ns[PART_UNKNOWN];
};

/* What an open execution has beside struct across_open. */
struct jobs_begun {
	struct jobs_stand stand; /* of who began it */
	struct arrival arrival;
	struct cadence cadence;
	struct items items;
	struct diff_begin *counters; /* NULL: of no interest */
	/* Ended ones that lie in it (struct jobs_held): of its own thread, and over threads. */
	struct list own, any;
};

static inline struct jobs_begun *jobs_begun_of(const struct across_open *open)
{
	return open->more;
}

/* What comes one after the other of one key. */
struct keyed_machine {
	struct list_node node; /* first: the list is of these */
	uint64_t key;
	struct machine machine;
};
HASH_MAP(keyed_machines, struct keyed_machine *)

/* A job that goes over threads, or that others lie in. */
struct jobs_across {
	/* `more` is a struct jobs_begun.  Of one thread each: by executing.serial. */
	struct across open;
	struct machine machine; /* what comes one after the other; its execution is the last one */
	/* With a period, the same of each key; the one that was used last is the last. */
	struct keyed_machines by_key;
	struct list keyed;
};

/* The state of a trace. */
struct jobs_trace {
	struct release release;
	struct called called;
	struct across_names names;
	uint64_t lost;              /* when events of any thread were missing last; 0: never */
	struct jobs_across *across; /* by job; NULL: nothing came of any */
	size_t across_count;
	/* Executions that have ended, and count if the one that they lie in ends: of all jobs, the
	 * last that ended is the last; and how many there were. */
	struct list held;
	uint64_t held_number;
	uint64_t serial; /* the last one of a thread */
	/* Joined traces: events are missing behind what came at `ts`. */
	struct {
		uint64_t ts;
		bool is_open, of[MISSING_KINDS];
	} gap;
};

/* ---- jobs-count.c: figures ---- */

/* The analysis' on_ordered(). */
void jobs_count_ordered(struct shard *shard, void *state, const struct ordered *ordered);
/* Adds one to a figure of the trace and of the job, in the row of these items.  NULL: they are not
 * known. */
void jobs_count_one(struct shard *shard, size_t job, const struct items *items,
		    unsigned int figure);
/* The same of an execution that was open and is dropped, whose items are not all known: CUT, where
 * events are missing and it may have ended. */
void jobs_count_dropped(struct shard *shard, size_t job, const struct items *items,
			unsigned int figure);
/* What is open since `begin`. */
struct jobs_open {
	const struct arrival *arrival;
	uint64_t begin, nominal;
};
/* It is open at a window's end. */
void jobs_count_open(struct shard *shard, size_t job, const struct items *items,
		     const struct jobs_open *open, uint64_t end);
/* It begins at @ts: fills its arrival, if it is not known, with that on the grid of the period.
 * @is_doubted: how many have come since the last one is not known. */
void jobs_count_begun(const struct job_spec *job, struct machine *machine, uint64_t ts,
		      uint64_t period, bool is_doubted);
/* It begins at @ts.  @is_doubted: another one may have begun since the last one did. */
void jobs_count_cadence(struct cadence *cadence, uint64_t ts, uint64_t period, bool is_doubted);
/* Both, of one that began at @begin with @doubts, and comes next of those that count. */
void jobs_count_follow(const struct job_spec *job, struct machine *machine, uint64_t begin,
		       const struct doubts *doubts);
/* Items of an open execution are known. */
void jobs_count_items(struct shard *shard, size_t job, struct items *items, const uint64_t *words);

/* An execution that ended, of a machine. */
struct jobs_ended {
	size_t job;
	struct machine *machine;
	const struct cadence *cadence; /* when it had begun */
	uint64_t begin, end, cpu;
	const uint64_t *parts; /* NULL: it goes over threads */
	const struct diff_values *differences;
	struct thread *thread; /* NULL: it goes over threads, or its thread may be gone: */
	int64_t number;        /* shard_thread_number() */
	struct shard *shard;   /* of the thread */
	int32_t begun_by;      /* without a thread: a tid; 0 and below: nobody ... */
	int32_t ended_by;      /* ... and that at its end */
};
void jobs_count_ended(struct shard *shard, const struct jobs_ended *ended);
/* The thread of an execution ended at @end, before it did. */
void jobs_count_abandoned(struct shard *shard, struct machine *machine, size_t job, uint64_t end);
/* The row of an execution that may have been open when a window ended, and does not count now. */
void jobs_count_none(struct shard *shard, size_t job, const struct items *items);

/* The analysis' label_of(), on_trace_forget() and on_trace_checkpoint(). */
char *jobs_count_label_of(const void *state, const struct period_set *asked, size_t table,
			  const char *name, const char *by);
void jobs_count_forget(void *state);
void jobs_count_checkpoint(const struct checkpoint *checkpoint, void *state);

/* ---- jobs-within.c ---- */

/* An execution that ended, of a job that lies in another one; it takes the items. */
struct jobs_inner {
	size_t job;
	uint64_t begin, end, cpu;
	struct arrival arrival;
	struct items *items;
	const uint64_t *parts; /* NULL: it goes over threads */
	const struct diff_values *differences;
	const struct ordered *noted; /* its end; of that thread, unless it goes over threads */
	int32_t begun_by, ended_by;
};
void jobs_within_ended(struct shard *shard, struct jobs_trace *trace,
		       const struct jobs_inner *inner);
/* Whether an execution that has not ended lies in one of its thread that has not. */
bool jobs_within_open(struct shard *shard, const struct executing *e, size_t job);
/* The same for those in one over threads: begun at @begin. */
bool jobs_within_any_open(const struct jobs_trace *trace, const struct job_spec *job,
			  uint64_t begin);

/* An execution that others may lie in begins, ends, or nobody knows when it ends: of a thread. */
void jobs_around_begins(struct shard *shard, struct jobs_trace *trace,
			const struct ordered *ordered);
void jobs_around_ends(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered);
void jobs_around_cut(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered);
/* The thread has ended. */
void jobs_around_over(struct shard *shard, struct jobs_trace *trace, struct executing *e);
/* Of one over threads, which is open no longer: it ended at the event that was noted, or not. */
void jobs_around_taken(struct shard *shard, struct jobs_trace *trace, size_t job,
		       struct across_open *open, const struct ordered *ended);
void jobs_within_forget(struct jobs_trace *trace);
/* After jobs_across_checkpoint(): they lie in what is open. */
void jobs_within_checkpoint(const struct checkpoint *checkpoint, struct jobs_trace *trace);

/* ---- jobs-across.c ---- */

/* Of a job, made when new. */
struct jobs_across *jobs_across_of(struct shard *shard, struct jobs_trace *trace, size_t job);
void jobs_across_free(struct across_open *open);

/* A step of an execution, of which the thread makes it (OWN_STEP_OF). */
void jobs_across_note(struct shard *shard, struct thread *thread, const struct record *record,
		      const uint64_t *numbers);
void jobs_across_take(struct shard *shard, struct jobs_trace *trace, const struct ordered *ordered);
/* Time goes on to @ts: what a gap before that cuts is cut. */
void jobs_across_settle(struct shard *shard, struct jobs_trace *trace, uint64_t ts);
/* The analysis' on_ordered_hole() and on_ordered_window_end(). */
void jobs_across_hole(struct shard *shard, void *state, uint64_t ts);
void jobs_across_window_end(struct shard *shard, void *state, uint64_t end);
void jobs_across_forget(struct jobs_trace *trace);
void jobs_across_checkpoint(const struct checkpoint *checkpoint, struct jobs_trace *trace);

/* ---- jobs-files.c ---- */

/* The analysis' accepts() and on_checkpoint(). */
bool jobs_accepts(const struct untrusted_record *untrusted);
void jobs_checkpoint(const struct checkpoint *checkpoint, void *state);
/* Of what machines have in checkpoints; false: it is not sound. */
void jobs_cadence_codec(struct codec *codec, struct cadence *cadence);
bool jobs_machine_codec(struct codec *codec, struct machine *machine, const struct job_spec *job);

/* The job in the first word of NOTE_BEGIN and NOTE_END. */
#define NOTE_JOB(word) ((size_t)((word)&0xFF))
