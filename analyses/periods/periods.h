/*
 * periods: the time between events that the user names (query/period.h), and names for ids
 * (query/label.h).
 *
 *     periods-worker.c   worker   which step of a period an event is, its thread, keys and group
 *     periods.c          shard    periods of two events, by thread or by keys: each shard its own
 *     periods-chains.c   trace    periods of more events, or where each one counts
 *
 * Rows of groups and names for ids: analyses/labels.
 *
 * A period of two events is a record of the thread, or of an entity: one of BUCKETS, by a hash of
 * the keys.  A chain goes from thread to thread and from key to key, so its records are of one
 * entity, and become ordered events; names of ids do the same.
 */
#pragma once

#include "analyses/counters/counters.h"
#include "analyses/labels/labels.h"
#include "engine/contract/missing.h"
#include "query/period.h"

enum { TOTALS, BY_NAME, THREADS, PROCESSES, LONGEST, DIFFERENCES };
enum { ENDED, RESTARTED, UNMATCHED, CUT, UNTIMED, DROPPED, OPEN, OLDEST_NS, FORGOTTEN };
enum { TIME };

extern const struct analysis analysis_periods;

/* ---- records ---- */

enum {
	OWN_BEGIN = RECORD_OWN, /* of two events; the period in arg16 */
	OWN_END,
	OWN_STEP,  /* of a chain: the period in arg16, and the step from STEP_SHIFT on */
	OWN_LABEL, /* see labels_note() */
};

/* Entities: those that periods by keys are spread over, and what has one order. */
#define BUCKETS       4096
#define ENTITY_CHAINS BUCKETS
#define ENTITY_LABELS (BUCKETS + 1)

#define STEP_SHIFT 8
_Static_assert(PERIODS_MAX <= 1 << STEP_SHIFT, "a period fits below the step");

/*
 * Words beside a record of a period: hashes of its keys (of a chain: of those that it shares with
 * the event before, and after), the CPU, the value of each key (of a chain: none), counters, if
 * their differences are asked for, and items.
 */
enum { WORD_KEY, WORD_AFTER, WORD_CPU, WORD_VALUES };
#define WORDS_MAX (WORD_VALUES + PERIOD_KEYS_MAX * VALUE_WORDS + COUNTERS_WORDS_MAX + ITEMS_WORDS)

static inline size_t periods_word_counters(const struct period *period)
{
	return WORD_VALUES + (period->is_chain ? 0 : period->links[0].key_count * VALUE_WORDS);
}

static inline size_t periods_word_items(const struct period *period)
{
	return periods_word_counters(period) + counters_words(period->is->diff_count);
}

size_t periods_needs_of(const struct period_set *periods, struct need **ret);

/* ---- periods that ended ---- */

/* Adds what the event's words have, see labels_add_items(). */
static inline void periods_add_items(struct items *items, const struct period *period,
				     const uint64_t *words)
{
	labels_add_items(items, &period->group, words + periods_word_items(period));
}

/* A period that ended. */
struct ended {
	uint16_t period;
	bool is_tainted;
	uint64_t begin, end, cpu;
	struct thread *thread; /* of what belongs to one; else NULL */
	int32_t begun_by;      /* of what belongs to none: the tid that began it; -1: unknown */
	const struct visits *visits; /* the same: the threads of its events; else NULL */
	const struct items *items;
	const uint64_t *words; /* of its end */
	const struct diff_values *differences;
};

void periods_add(struct shard *shard, const struct ended *ended);

/* The counters of an event, from its words.  @noted: the tid that ran, where the worker did not
 * know it. */
static inline struct counters_event periods_counters_of(const struct period *period,
							const uint64_t *words, int32_t noted)
{
	return (struct counters_event){ words[WORD_CPU], words + periods_word_counters(period),
					noted };
}

/* ---- the state of a trace ---- */

struct chain;
HASH_MAP(chains, struct chain *)

struct periods_trace {
	struct chains chains;   /* by period, step and keys */
	struct list chain_list; /* the one that moved last is the last */
	struct called called;
};

enum { NOTE_STEP, NOTE_LABEL };
/* Words of both notes: arg16 and arg32 of the record, and its words. */
enum { NOTE_WHICH, NOTE_TID, NOTE_WORDS };

void periods_chains_step(struct shard *shard, struct periods_trace *trace,
			 const struct ordered *ordered);
void periods_chains_window_end(struct shard *shard, void *state, uint64_t end);
void periods_chains_forget(struct periods_trace *trace);
void periods_chains_checkpoint(const struct checkpoint *checkpoint, struct periods_trace *trace);
