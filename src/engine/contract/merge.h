/*
 * merge: what the merger's half of an analysis may call.
 *
 * Hooks that take a shard run inside it.  Several shards are at work at once, so an analysis
 * touches nothing but what the shard gives.  Rows are those of the open window, and are added to;
 * the engine closes windows and adds them to totals.
 */
#pragma once

#include "engine/contract/analysis.h"
#include "engine/contract/row.h"

struct cpu;
struct keyed_row;
struct period_set;
struct thread_view;

/* ---- rows: the columns of one of the analysis' tables, in the open window ---- */

uint64_t *shard_trace_row(struct shard *shard, unsigned int table);
uint64_t *shard_cpu_row(struct shard *shard, struct cpu *cpu, unsigned int table);
uint64_t *shard_thread_row(struct shard *shard, struct thread *thread, unsigned int table);
/* In on_ordered() and after it, where a thread may be gone meanwhile: a number for it, 0 for an
 * unknown one; and the row of the thread that has the number now, NULL: none. */
int64_t shard_thread_number(const struct thread *thread);
uint64_t *shard_thread_row_of(struct shard *shard, int64_t number, unsigned int table);
uint64_t *shard_event_row(struct shard *shard, uint32_t event_name, unsigned int table);
/* Valid until another keyed row is asked for. */
uint64_t *shard_keyed_row(struct shard *shard, unsigned int table, const struct row_key *key);

/* The same by a small number, an event class for one; for one table of an analysis.  It is fast:
 * the key is made once. */
uint64_t *shard_indexed_row(struct shard *shard, unsigned int table, uint32_t index,
			    struct row_key (*key_of)(const struct shard *shard, uint32_t index));

/* The keyed row itself.  It stays, can be asked for its columns again, which is fast, and can be
 * given a label. */
struct keyed_row *shard_keyed(struct shard *shard, unsigned int table, const struct row_key *key);
/* The same by a name of any length. */
struct keyed_row *shard_keyed_named(struct shard *shard, unsigned int table, uint64_t id,
				    const char *name);
uint64_t *shard_keyed_again(struct shard *shard, struct keyed_row *keyed);
/* Shown in place of the key's name from here on; copied. */
void keyed_label(struct keyed_row *keyed, const char *label);

/* Whether what is added to the table now does not count: the user selected other threads or CPUs.
 * Rows are given all the same, but a keyed row that is given then must not be kept. */
bool shard_leaves_out(const struct shard *shard, unsigned int table);

/* ---- pairs: rows of the table of SCOPE_PAIR, in on_ordered() only (tables/pairs.h) ---- */

/* Members of pairs: these, or threads from PAIR_FIRST on. */
enum pair_member_id {
	PAIR_OTHERS,  /* of a row that is the sum of rows which had the least */
	PAIR_IDLE,    /* nobody */
	PAIR_UNKNOWN, /* it is not known who */
	PAIR_FIRST,
};

/* The thread's member, the same one under any tid as long as the thread has a row.  It stays valid
 * as long as that, a row, or whoever called shard_pair_use() and not yet shard_pair_release() needs
 * it. */
uint32_t shard_pair_member(struct shard *shard, struct thread *thread);
void shard_pair_use(struct shard *shard, uint32_t member);
void shard_pair_release(struct shard *shard, uint32_t member);
/* In on_trace_checkpoint(): a member that was read is in use; false: there is no such one. */
bool shard_pair_claim(struct shard *shard, uint32_t member);
/* The row of @of and @by in the open window.  Valid until the next call. */
uint64_t *shard_pair_row(struct shard *shard, unsigned int table, uint32_t of, uint32_t by);
/* Bounds the rows, if there are more than PAIRS_MAX.  All that is known has to be added before, so
 * that which rows are kept does not depend on windows. */
void shard_pair_fold(struct shard *shard, unsigned int table);
/* What is added from here on is of a thread whose ordered event had @left_out, and of this CPU. */
void shard_leave_out(struct shard *shard, uint8_t left_out, uint64_t cpu);

/* ---- spans: what threads did when, for who adds that up by finer times than windows ---- */

/* What is charged to @column of the first table of threads, and where; an analysis that tells spans
 * (analysis_rare.on_spans_end) tells all that it charges there.  Those of one thread come in order
 * of time, and do not overlap. */
struct thread_span {
	uint64_t from, to; /* ns */
	uint64_t cpu;      /* its id, UINT64_MAX: none */
	uint64_t id;       /* of the thread's rows (report_row.id) */
	const struct thread_view *view;
	uint32_t column;
};
/* Does nothing where nobody wants them. */
void shard_span(struct shard *shard, struct thread *thread, const struct thread_span *span);

/* ---- the longest ---- */

/* Keeps the instance if it is one of the longest. */
void shard_longest(struct shard *shard, unsigned int table, const struct instance *instance);
/* Whether an instance of @ns may be, so that it is worth describing.  In a table in which only some
 * have a name, those come first: one that has is worth it also if the table lists unnamed ones. */
bool shard_is_long(const struct shard *shard, unsigned int table, uint64_t ns);
bool shard_lists_unnamed(const struct shard *shard, unsigned int table);

/* In on_ordered_window_end(): each that may be kept, whose thread is known, to say what it is. */
void shard_each_long(struct shard *shard, unsigned int table,
		     void (*each)(struct shard *shard, struct instance *instance));

/* ---- state and order ---- */

/* The analysis' state of a thread or entity (analysis.thread_state_size). */
void *shard_thread_state(struct shard *shard, struct thread *thread);
/* In on_window_end(), on_slice() and on_cpu(): the state of the trace.  Nothing else is at work
 * then. */
void *shard_trace_state(const struct shard *shard);
/* An event that has to be seen in time order over all threads. */
#define ORDERED_WORDS 7
struct ordered {
	uint64_t ts;
	struct thread *thread;
	struct shard *shard; /* of the thread */
	uint8_t owner;       /* index of the analysis in the run */
	uint8_t kind;        /* the analysis' own */
	uint8_t left_out;    /* shard.left_out when it was noted */
	bool is_last;        /* behind what the thread has at the same time; set by who notes it */
	uint64_t words[ORDERED_WORDS];
};

/* Notes an event for on_ordered(); fill in the words.  Valid until the next call. */
struct ordered *shard_note_ordered(struct shard *shard, struct thread *thread, uint64_t ts,
				   unsigned int kind);

/* ---- where records come from ---- */

/* The stream class (LTTng: the channel) that on_record()'s record came from. */
uint64_t shard_channel(const struct shard *shard);
/* Whether traces were joined; and whether what is applied is of one that is not the kernel's. */
bool shard_is_joined(const struct shard *shard);
bool shard_source_is_beside(const struct shard *shard);
/* The CPU of the stream, by its id; UINT64_MAX: none. */
uint64_t shard_source_cpu(const struct shard *shard);
/* In on_doubt(), with DOUBT_EVENTS: whether events of @channel may be missing.  Not, if only
 * another channel misses events and the running thread stays known. */
bool shard_may_miss(const struct shard *shard, uint64_t channel);
/* The name of an event class. */
const char *shard_event_name(const struct shard *shard, uint32_t class_index);

/* ---- threads, entities, CPUs ---- */

int32_t shard_tid(const struct thread *thread); /* below 0: unknown */
/* The number of a thread among those that had its tid; or the number of an entity. */
uint32_t shard_incarnation(const struct thread *thread);
bool shard_is_dead(const struct thread *thread);
/* When a dead thread ended.  It takes time in proportion to the threads that ended. */
uint64_t shard_end_ts(const struct shard *shard, const struct thread *thread);
/* When the thread was last switched in, 0: not known. */
uint64_t shard_switch_in_ts(const struct thread *thread);
/* Whether it is known that the thread leaves its CPU to sleep at @ts; on_switch_out() follows. */
bool shard_sleeps_at(const struct shard *shard, const struct thread *thread, uint64_t ts);
/* The number of an entity (worker_emit_entity), its low 32 bits; UINT64_MAX for UINT64_MAX. */
uint64_t shard_entity_id(const struct thread *entity);
/* In on_window_end() of an entity that is a CPU: that one, whose figures are added next.  NULL:
 * none that has switches, or not selected. */
struct cpu *shard_cpu_at_end(struct shard *shard, uint64_t id);
/* In on_window_end(): ns from when on nothing comes from the CPU of this id any more; UINT64_MAX:
 * it is there. */
uint64_t shard_cpu_absent_from(const struct shard *shard, uint64_t id);
/* Of a record behind that: ns up to which anything came of the CPU of this id, whose streams have
 * all ended: whether it has left is known at the end of a window.  UINT64_MAX: it goes on. */
uint64_t shard_cpu_heard_until(const struct shard *shard, uint64_t id);
/* The id of a CPU, as traced. */
uint64_t shard_cpu_id(const struct cpu *cpu);

/* ---- the run ---- */

/* The periods that the user named; NULL: none. */
const struct period_set *shard_periods(const struct shard *shard);
