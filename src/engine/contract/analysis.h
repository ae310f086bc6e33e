/*
 * analysis: the descriptor of an analysis, and the shapes it deals with.
 *
 * An analysis is one file that ends in one const descriptor.  It has two halves:
 *
 *   worker half  Handlers run in workers, on one chunk, and know nothing else.  They get the events
 *                and fields that `needs` names, and emit records (handler.h).
 *   merger half  Hooks get, of each thread or entity, the records of all streams in time order.
 *                They add to rows of the analysis' tables (merge.h).  Nothing else leaves an
 *                analysis.
 *
 * If you want ...             | worker half, calls          | merger half, hooks or calls
 * ----------------------------|-----------------------------|---------------------------------
 * counts of events, losses    | nothing                     | on_tally, on_slice
 * time and switches           | nothing                     | on_cpu, on_run, on_switch_in/out
 * sums in any order           | worker_keyed_row()          | nothing
 * figures by thread           | worker_emit()               | on_record
 * time between two events     | worker_emit(), twice        | on_record, a state of the thread
 * few records, many events    | worker state, on_oncpu_end  | on_record
 * a disk, interrupts of a CPU | worker_emit_entity()        | on_record
 * order over several threads  | worker_emit()               | shard_note_ordered(), on_ordered
 * what threads do to others   | worker_emit()               | the same, shard_pair_row()
 * the longest instances       | -                           | shard_longest()
 * a level at a window's end   | -                           | on_window_end
 *
 * An analysis also says which events its figures are made of (`essentials`): without them a figure
 * is unknown, not 0.
 *
 * Tables hold what commutes: sums, maxima, histograms, longest instances.  The engine owns their
 * storage, for the open window and for the total.  It closes windows, adds them to totals, sorts
 * and reports.  So windows add up to totals, and live equals recorded, for every analysis.
 *
 * doc/adding-an-analysis.md is the tutorial.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_ANALYSIS_H
#define SILLAGE_ENGINE_CONTRACT_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "ctf/decoder.h"
#include "engine/contract/partial.h"

struct worker;
struct shard;
struct thread; /* a thread, or an entity: something stateful of the analysis that is no thread */
struct cpu;
struct period_set;

/* ---- what is reported ---- */

enum unit { UNIT_COUNT, UNIT_BYTES, UNIT_NS };

enum column_kind {
	COLUMN_SUM,
	COLUMN_PRIO, /* of threads: the last known priority; holds no storage */
	COLUMN_MAX,
	/* The level when the window ends; a total has that of its last window.  The levels of
	 * shards are added up, or their maximum is taken. */
	COLUMN_LAST,
	COLUMN_LAST_MAX,
	COLUMN_HISTOGRAM, /* durations: count, sum, extremes, percentiles; see row.h */
};

struct column {
	const char *key;   /* in JSON; ends with its unit: _ns, _bytes */
	const char *title; /* in text; NULL: not shown */
	enum unit unit;
	enum column_kind kind;
	bool is_share; /* text: also as a share of the window, with a bar */
};

enum scope {
	SCOPE_TRACE, /* one row; its columns are members of the analysis' JSON object */
	SCOPE_CPU,
	SCOPE_THREAD,
	SCOPE_EVENT, /* a row an event name; in JSON an object from name to first column */
	SCOPES_FIXED,
	/* Each table of these has rows of its own. */
	SCOPE_KEYED = SCOPES_FIXED, /* a row for each key: a number, a name, or both */
	SCOPE_PROCESS,              /* the rows of the analysis' table of threads, by process */
	SCOPE_CONTAINER,            /* the same by container, which is a PID namespace */
	SCOPE_LONGEST,              /* the longest instances of something; see struct instance */
	SCOPE_PAIR,                 /* a row for two threads; of one table of a run (merge.h) */
	SCOPE_PROCESS_PAIR,         /* its rows by the processes of the two */
	SCOPE_CONTAINER_PAIR,       /* the same by their containers */
};

/* What a user selects, by bit: threads (--tid, --pid, --comm), CPUs (--cpu), interrupts (--irq). */
enum { OF_ALL_THREADS = 1, OF_ALL_CPUS = 2, OF_ALL_IRQS = 4 };

/* Scopes whose tables have the figures of the analysis' table of threads. */
static inline bool scope_is_of_threads(enum scope scope)
{
	return scope == SCOPE_PROCESS || scope == SCOPE_CONTAINER;
}

static inline bool scope_is_of_pairs(enum scope scope)
{
	return scope == SCOPE_PAIR || scope == SCOPE_PROCESS_PAIR || scope == SCOPE_CONTAINER_PAIR;
}

static inline bool scope_is_of_containers(enum scope scope)
{
	return scope == SCOPE_CONTAINER || scope == SCOPE_CONTAINER_PAIR;
}

#define COLUMNS_MAX 12
#define TABLES_MAX  8

struct table {
	const char *key; /* in JSON; NULL for SCOPE_TRACE */
	enum scope scope;
	/* Rows are sorted by the sum of these columns (histograms: their sum), largest first. */
	uint32_t sort_mask;
	struct column columns[COLUMNS_MAX]; /* ends at the first without a key */
	/* SCOPE_KEYED, SCOPE_LONGEST: what number and name are called; NULL: there is none. */
	const char *id_key, *name_key;
	/* SCOPE_LONGEST: what instance.by is called; NULL: there is none.  Pairs: what the name of
	 * the second one is called, whose number is called owner_key. */
	const char *by_key;
	const char *(*id_name)(uint64_t id); /* a name for the number, or NULL; may be NULL */
	const char *title;                   /* in text: what the rows are; NULL: by scope */
	/* SCOPE_PROCESS: the analysis has a table of containers, too.  By container, its rows say
	 * which one they are in. */
	bool has_containers;
	bool shows_means; /* in text: of a histogram only the mean, below the column's title */
	const char *lami_class; /* LAMI's class of a key: "irq", "syscall", ...; NULL: a text */
	/* SCOPE_KEYED: the upper half of the number is this other number (the process of a
	 * descriptor), the lower half is called id_key; NULL: it is one number. */
	const char *owner_key;
	/* Figures that a selection of these (OF_ALL_...) does not concern: they belong to no
	 * thread, or to no single CPU.  They stay those of all, and reports say so.  A table that
	 * is fed by on_slice, on_tally, on_cpu or worker_keyed_row() has OF_ALL_THREADS. */
	uint8_t of_all;
};

/* Something that took long.  The first column of its table is the duration; others, if any, are
 * signed numbers. */
#define INSTANCE_MORE     2
#define INSTANCE_BY_BYTES 96
struct instance {
	uint64_t ns, end; /* duration, and the time when it was over */
	int64_t more[INSTANCE_MORE];
	uint64_t cpu;          /* UINT64_MAX: left out */
	struct thread *thread; /* NULL: unknown, or see begun_by */
	struct row_key keyed;
	/* Of what belongs to no thread: the tid of the one that began it.  `thread` is NULL then.
	 */
	bool has_begun_by;
	int32_t begun_by;
	uint64_t thread_id; /* set when a window ends: report_row.id of the thread; 0: none */
	char by[INSTANCE_BY_BYTES]; /* "dev=8 sector=5": what else tells it from others; ends in a 0
				     */
};

/* ---- the worker's half ---- */

/* An event as a handler sees it: values in the order of the need's fields.  Read them with
 * event_has(), event_u64(), event_i64() and event_text() of handler.h. */
struct trace_event {
	uint64_t ts; /* ns since the epoch, never less than the event before */
	const struct plan_event *class;
	const struct value *values;
	uint16_t present; /* bit i: the class has field i, of the kind that was asked for */
	uint16_t is_signed;
};

typedef void handler_fn(struct worker *worker, void *state, const struct trace_event *event,
			uint32_t user);

struct need {
	const char *event; /* a name, or a prefix and "*" */
	/* "name": as a number; "@name": as text or bytes; "context.name": of the context. */
	const char *fields[PLAN_FIELDS_MAX];
	handler_fn *on_event;
	uint32_t user;      /* given to the handler */
	const char *domain; /* only in traces of this domain ("ust"); NULL: in all */
	/* If not NULL: gives the handler's `user` by the event's name. */
	uint32_t (*user_of)(const char *event);
	bool may_rest; /* not wanted while the analysis rests (worker_rest()) */
};

/* ---- what has to be recorded ---- */

/*
 * An event that figures are made of.  If the trace's metadata declares no event of @events, these
 * figures are unknown, which is not the same as 0: reports leave them out, and say what is missing
 * (missing.h).
 */
struct essential {
	/* Any one of them will do: names, or a prefix and "*".  NULL ends them.  The first is the
	 * one that users are told to record. */
	const char *const *events;
	/* The figures, bit by bit, of each table; all 0: all of the analysis.  A table of processes
	 * has those of the table of threads. */
	uint16_t columns[TABLES_MAX];
	const char *domain; /* only traces of this domain ("ust") have them; NULL: all */
};

/* The table of containers beside that of threads; what FIGURES are, the analysis says. */
#define CONTAINERS_TABLE                                                                           \
	.key = "containers", .scope = SCOPE_CONTAINER, .id_key = "pid_ns", .name_key = "name",     \
	.title = "CONTAINER"

#define ANY_EVENT(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define ALL_COLUMNS    ((uint16_t)((1u << COLUMNS_MAX) - 1))
#define COLUMN(name)   ((uint16_t)(1u << (name)))

struct event_names;
struct missing_events;

/* ---- the merger's half ---- */

/* What a stream's first packet says; @cpu_id UINT64_MAX: it names no CPU. */
struct stream_identity {
	uint64_t class_id, cpu_id, instance_id;
	bool has_switches;
	bool misses_start; /* packets before the first one were not seen */
	uint64_t begin;    /* ns: of the first packet */
};

struct switch_in {
	uint64_t ts;
	uint64_t cpu;        /* its id, UINT64_MAX: none */
	uint32_t cpu_number; /* as run_part has it */
	int32_t prio;        /* -128 to 127 */
	bool is_migration;
	/* When it leaves, and RECORD_... of that; 0: on_switch_out() will tell.  Else that tells
	 * the same again, right after on_switch_in(). */
	uint64_t out_ts;
	uint16_t out_flags;
};

/* A part of an on-CPU interval. */
struct run_part {
	uint64_t ts, ns;
	uint32_t cpu_number; /* as in switch_in */
};

struct switch_out {
	uint64_t ts;
	uint64_t known_ts; /* not above ts: the time of the record that tells it */
	uint64_t in_ts;    /* when it was switched in there, 0: not known */
	bool is_tie;       /* at the same ns it was switched in elsewhere, which came before */
	uint16_t flags;    /* RECORD_DEAD, SLEEPS, PREEMPTED */
};

/* An event that has to be seen in time order over all threads. */
#define ORDERED_WORDS 7
struct ordered {
	uint64_t ts;
	struct thread *thread;
	struct shard *shard; /* of the thread */
	uint8_t owner;       /* index of the analysis in the run */
	uint8_t kind;        /* the analysis' own */
	uint8_t left_out;    /* shard.left_out when it was noted */
	uint64_t words[ORDERED_WORDS];
};

/* ---- untrusted input: records and states that come from files ---- */

/*
 * What a record of one kind refers to.  From it the engine checks records that another process
 * wrote, so that on_record() can use what they say.
 */
struct record_shape {
	bool exists;
	uint8_t words;    /* so many words lie at arg64 (worker_numbers()); 0: arg64 is a number */
	bool has_text;    /* a text lies there (worker_text()) */
	bool has_current; /* arg32 may be made the current tid (worker_note_current()) */
};

/* A record of the analysis' own that came from a file: its bytes are untrusted. */
struct untrusted_record {
	const struct record *record;
	const uint64_t *numbers; /* from record->arg64 on, if that is an index ... */
	uint64_t count;          /* ... and how many there are; 0: it is none */
	uint32_t classes;        /* event classes of the trace */
	const struct period_set *periods;
	bool has_current; /* arg32 will be a tid (worker_note_current) */
};

/* Whether so many numbers lie beside the record, and arg32 stays what it is. */
static inline bool untrusted_has(const struct untrusted_record *untrusted, uint64_t count)
{
	return !untrusted->has_current && untrusted->count >= count;
}

/* State that goes to another process, or comes from one (engine/exchange/checkpoint.h). */
struct checkpoint {
	struct codec *codec;
	uint32_t classes; /* event classes of the trace */
	const struct period_set *periods;
	struct shard *shard; /* of on_trace_checkpoint(): for shard_pair_claim() */
};

/* A member of a state; the last of an array is FIELD_END. */
enum field_type { FIELD_END, FIELD_U64, FIELD_I64, FIELD_U32, FIELD_I32, FIELD_U16, FIELD_BOOL };
struct state_field {
	uint16_t offset;
	uint8_t type;
};

#define STATE_FIELD(struct_, member)                                                               \
	{                                                                                          \
		offsetof(struct_, member), _Generic(((struct_ *)0)->member, uint64_t               \
						    : FIELD_U64, int64_t                           \
						    : FIELD_I64, uint32_t                          \
						    : FIELD_U32, int32_t                           \
						    : FIELD_I32, uint16_t                          \
						    : FIELD_U16, bool                              \
						    : FIELD_BOOL)                                  \
	}

/* ---- the descriptor ---- */

struct analysis {
	const char *name;
	const char *summary;             /* one line */
	struct table tables[TABLES_MAX]; /* ends at the first without columns */
	const struct need *needs;        /* may be NULL */
	size_t need_count;
	/* In place of needs, where the user says what is wanted (setup.periods): returns an array
	 * that the caller frees, and its length. */
	size_t (*needs_of)(const struct period_set *periods, struct need **ret);
	/* Without which events which figures are unknown; NULL: all are always known. */
	const struct essential *essentials;
	size_t essential_count;
	/* In place of essentials, where the user says what is wanted: adds the events that the
	 * trace lacks to @ret; false: all figures are unknown. */
	bool (*missing_of)(const struct period_set *periods, const struct event_names *names,
			   struct missing_events *ret);
	/* There, too: whether some of what is wanted, with a name that matches the pattern (NULL:
	 * any), has the figure.  NULL: all have. */
	bool (*is_asked)(const struct period_set *periods, size_t table, unsigned int column,
			 const char *name);
	bool uses_threads;        /* the merger's half is called for threads and switches */
	size_t worker_state_size; /* zeroed at the start of each chunk */
	size_t thread_state_size; /* zeroed when a thread, or an entity, appears */
	size_t trace_state_size;  /* zeroed when the trace begins; for on_ordered */

	/*
	 * Worker's half, optional.
	 */
	/* The time of the current thread on its CPU ends: it is switched out, events are missing,
	 * or the chunk ends.  With @is_window only the window ends, and the thread stays.  Emit
	 * what was gathered, with the time stamp @ts. */
	void (*on_oncpu_end)(struct worker *worker, void *state, uint64_t ts, bool is_window);
	/* Events are missing from @ts on.  Comes after on_oncpu_end(). */
	void (*on_lost)(struct worker *worker, void *state, uint64_t ts);
	/* An event at @ts, behind those that are missing, tells again which thread runs.  Only in
	 * streams that show switches, and if it is in the same chunk. */
	void (*on_found)(struct worker *worker, void *state, uint64_t ts);

	/*
	 * Merger's half, optional.  Several shards are at work at once: touch nothing but what the
	 * shard gives.  Calls for one thread come in time order, except on_switch_out(): it may
	 * come as soon as the thread is switched in, and carries its own time.
	 */
	/* A record that the worker's half emitted.  @numbers: those of worker_numbers(), indexed by
	 * record->arg64. */
	void (*on_record)(struct shard *shard, const struct record *record, const uint64_t *numbers,
			  struct thread *thread);
	void (*on_switch_in)(struct shard *shard, struct thread *thread,
			     const struct switch_in *in);
	void (*on_switch_out)(struct shard *shard, struct thread *thread,
			      const struct switch_out *out);
	/* The thread ran for @ns more, from @ts on.  Such a part may come after a switch in on
	 * another CPU: where switches are lost, a thread seems to be on several. */
	void (*on_run)(struct shard *shard, struct thread *thread, const struct run_part *part);
	void (*on_fork)(struct shard *shard, struct thread *thread, uint64_t ts);
	/* At @ts the thread is on the CPU of shard_source_cpu(): there it took another tid (exec).
	 * Behind a gap or a hole, nobody may have seen it come. */
	void (*on_seen)(struct shard *shard, struct thread *thread, uint64_t ts);
	/* The thread was on this CPU when the trace began. */
	void (*on_initial_thread)(struct shard *shard, struct thread *thread, uint64_t cpu);
	/* When the trace began, this CPU (its id) ran the thread @tid, 0: the idle one.  @unknown
	 * stands for the CPU's unknown threads. */
	void (*on_initial_cpu)(struct shard *shard, struct thread *unknown, uint64_t cpu,
			       int32_t tid, uint64_t ts);
	/* No system call that the thread entered before is still open (RECORD_NO_OPEN_CALLS). */
	void (*on_no_open_calls)(struct shard *shard, struct thread *thread);
	/* Events are missing where the thread ran: what it began may be over (shard_may_miss). */
	void (*on_gap)(struct shard *shard, struct thread *thread);
	/* Switches may be missing: the thread may have left its CPU.  Comes before on_gap(). */
	void (*on_unseen)(struct shard *shard, struct thread *thread);
	/* From @ts on no packet covers the time of the trace.  Called for each live thread and
	 * entity, after on_unseen() and on_gap(): what it began may be over. */
	void (*on_hole)(struct shard *shard, struct thread *thread, uint64_t ts);
	/* The window ends at @end.  Called for each live thread and entity; for a dead one only
	 * once, unless there are records of it again. */
	void (*on_window_end)(struct shard *shard, struct thread *thread, uint64_t end);
	/* The state of a thread or entity is about to be forgotten: free what it points to. */
	void (*on_forget)(void *state);
	/*
	 * An event noted by shard_note_ordered(), in time order over all threads (at the same time:
	 * by tid), after each round.  Nothing else is at work then, so @state, the trace's own, may
	 * be touched.  @shard is for figures of the trace, keyed rows and the longest; threads have
	 * their own (ordered->shard).
	 */
	void (*on_ordered)(struct shard *shard, void *state, const struct ordered *ordered);
	/* The window ends at @end.  Called after the ordered events before that. */
	void (*on_ordered_window_end)(struct shard *shard, void *state, uint64_t end);
	void (*on_trace_forget)(void *state);
	/* What a keyed row, or an instance (its @name and @by), is called by what the trace told up
	 * to the end of the window: a text from malloc().  NULL: its name says all. */
	char *(*label_of)(const void *state, const struct period_set *periods, size_t table,
			  const char *name, const char *by);
	/* A CPU spent @ns in this way. */
	void (*on_cpu)(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns);
	/* What fell into one window of one stream, before its records. */
	void (*on_slice)(struct shard *shard, const struct slice *slice,
			 const struct stream_identity *stream, uint64_t late_events);
	/* So many events of this name; of all classes together. */
	void (*on_tally)(struct shard *shard, uint32_t event_name, uint64_t count);

	/*
	 * Untrusted records and checkpoints.  An analysis describes its records and states; it
	 * writes a function only where a description is not enough.
	 */
	/* By kind - RECORD_OWN.  NULL without `accepts`: no record refers to words beside it. */
	const struct record_shape *record_shapes;
	size_t record_shape_count;
	/* Whether on_record() may be given the record: what it uses as an index, a length or a
	 * text is right.  NULL: by the shapes. */
	bool (*accepts)(const struct untrusted_record *untrusted);
	/* The members of a thread's state.  NULL without `on_checkpoint`: it consists of uint64_t.
	 */
	const struct state_field *thread_state_fields;
	/* Writes the state of a thread or entity, or reads it into a zeroed one.  NULL: by the
	 * fields.  What is read is untrusted. */
	void (*on_checkpoint)(const struct checkpoint *checkpoint, void *state);
	/* The same for the state of the trace; required if there is one. */
	void (*on_trace_checkpoint)(const struct checkpoint *checkpoint, void *state);
};

/* on_record()'s question for a record from a file, by function or by shape. */
bool analysis_accepts(const struct analysis *analysis, const struct untrusted_record *untrusted);
/* Writes or reads the state of a thread or entity, by function or by fields. */
void analysis_checkpoint(const struct analysis *analysis, const struct checkpoint *checkpoint,
			 void *state);
/* Asserts what the descriptor promises; called once for each analysis of a run. */
void analysis_check(const struct analysis *analysis);

/* All analyses, in the order of reports; ends with NULL.  Made from the list in analyses/. */
extern const struct analysis *const analyses[];

#define ANALYSES_MAX 32

#endif
