/*
 * periods: the time between events that the user names (query/period.h), and names for ids
 * (query/label.h).
 *
 *     periods-worker.c   worker   which step of a period an event is, its thread, keys and group
 *     periods.c          shard    periods of two events, by thread or by keys: each shard its own
 *     periods-chains.c   trace    periods of more events, or where each one counts
 *     periods-labels.c   trace    what ids are called, and the names of rows by that
 *
 * A period of two events is a record of the thread, or of an entity: one of BUCKETS, by a hash of
 * the keys.  A chain goes from thread to thread and from key to key, so its records are of one
 * entity, and become ordered events; names of ids do the same.
 */
#ifndef SILLAGE_ANALYSES_PERIODS_PERIODS_H
#define SILLAGE_ANALYSES_PERIODS_PERIODS_H

#include "base/hash.h"
#include "base/limits.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/missing.h"
#include "query/period.h"

enum table_index { TOTALS, BY_NAME, THREADS, PROCESSES, LONGEST };
enum { ENDED, RESTARTED, UNMATCHED, CUT, UNTIMED, DROPPED, OPEN, OLDEST_NS, FORGOTTEN };
enum { TIME };

extern const struct analysis analysis_periods;

/* ---- records ---- */

enum {
	OWN_BEGIN = RECORD_OWN, /* of two events; the period in arg16 */
	OWN_END,
	OWN_STEP,  /* of a chain: the period in arg16, and the step from STEP_SHIFT on */
	OWN_LABEL, /* the source of the label in arg16; its words are at LABEL_... */
};

/* Entities: those that periods by keys are spread over, and what has one order. */
#define BUCKETS       4096
#define ENTITY_CHAINS BUCKETS
#define ENTITY_LABELS (BUCKETS + 1)

#define STEP_SHIFT 8
_Static_assert(PERIODS_MAX <= 1 << STEP_SHIFT, "a period fits below the step");

/*
 * Words beside a record of a period: hashes of its keys (of a chain: of those that it shares with
 * the event before, and after), the CPU, the value of each key (of a chain: none), and items.
 */
enum { WORD_KEY, WORD_AFTER, WORD_CPU, WORD_VALUES };

/* The value of a key: a number, or the beginning of a text. */
enum { VALUE_KIND, VALUE_FIRST, VALUE_WORDS = 3 };
enum { VALUE_UNSIGNED, VALUE_SIGNED, VALUE_TEXT };
#define VALUE_TEXT_BYTES ((VALUE_WORDS - VALUE_FIRST) * sizeof(uint64_t))

/*
 * Items: what tells rows of a group apart, "size=5" or "callback=94@12".  First a word with the
 * lengths, ITEM_BITS for each; 0: the event lacks it.  Then texts that end in a 0, one after the
 * other.
 */
#define ITEM_BYTES      96 /* its zero included */
#define ITEM_BITS       16
#define ITEM_TEXT_WORDS (PERIOD_GROUPS_MAX * ITEM_BYTES / sizeof(uint64_t))
#define WORDS_MAX       (WORD_VALUES + PERIOD_KEYS_MAX * VALUE_WORDS + 1 + ITEM_TEXT_WORDS)

/* An id of a label as text: "94", or "94@12" if it is of process 12.  Longer ones end in a hash. */
#define ID_BYTES 64
_Static_assert(LABEL_NAME_BYTES + ID_BYTES <= ITEM_BYTES, "NAME=ID fits an item");

/* Words of OWN_LABEL: the length of the name, the id, and the name, which ends in a 0. */
enum { LABEL_LEN, LABEL_ID, LABEL_TEXT = LABEL_ID + ID_BYTES / sizeof(uint64_t) };
#define LABEL_WORDS_MAX (LABEL_TEXT + LABEL_TEXT_BYTES_MAX / sizeof(uint64_t))

static inline size_t periods_word_items(const struct period *period)
{
	return WORD_VALUES + (period->is_chain ? 0 : period->links[0].key_count * VALUE_WORDS);
}

static inline size_t periods_item_len(const uint64_t *items, size_t i)
{
	return items[0] >> i * ITEM_BITS & ((1u << ITEM_BITS) - 1);
}

/* The text of an item, or NULL. */
static inline const char *periods_item(const uint64_t *items, size_t i)
{
	const char *at = (const char *)(items + 1);

	for (size_t k = 0; k < i; k++) {
		at += periods_item_len(items, k) > 0 ? periods_item_len(items, k) + 1 : 0;
	}
	return periods_item_len(items, i) > 0 ? at : NULL;
}

size_t periods_needs_of(const struct period_set *periods, struct need **ret);

/* ---- periods that ended ---- */

/* What was given at the begin, or later, for each item of the group; from malloc(), NULL: none. */
struct items {
	char *at[PERIOD_GROUPS_MAX];
};

/* Adds what is not known yet. */
void periods_items_add(struct items *items, const struct period *period, const uint64_t *words);
void periods_items_fini(struct items *items);
void periods_items_codec(struct codec *codec, struct items *items);

/* A period that ended. */
struct ended {
	uint16_t period;
	bool is_tainted;
	uint64_t begin, end, cpu;
	struct thread *thread; /* of what belongs to one; else NULL */
	int32_t begun_by;      /* of what belongs to none: the tid that began it; -1: unknown */
	const struct items *items;
	const uint64_t *words; /* of its end */
};

void periods_add(struct shard *shard, const struct ended *ended);

/* ---- the state of a trace ---- */

struct chain;
struct known;
KHASH_INIT(chains, uint64_t, struct chain *, 1, hash_mix, hash_equal)
KHASH_MAP_INIT_STR(known, struct known *)

/* A list from what was used longest ago to what was used last. */
struct periods_list {
	struct periods_node *first, *last;
	size_t count;
};

struct periods_node {
	struct periods_node *before, *after;
};

void periods_list_add(struct periods_list *list, struct periods_node *node); /* as the last */
void periods_list_remove(struct periods_list *list, struct periods_node *node);

struct periods_trace {
	khash_t(chains) * chains; /* by period, step and keys; NULL: there was none */
	struct periods_list chain_list;
	khash_t(known) * known; /* by "LABEL:ID"; NULL: there was none */
	struct periods_list known_list;
};

enum { NOTE_STEP, NOTE_LABEL };
/* Words of both notes: arg16 and arg32 of the record, and its words. */
enum { NOTE_WHICH, NOTE_TID, NOTE_WORDS };

void periods_chains_step(struct shard *shard, struct periods_trace *trace,
			 const struct ordered *ordered);
void periods_chains_window_end(struct shard *shard, void *state, uint64_t end);
void periods_chains_forget(struct periods_trace *trace);
void periods_chains_checkpoint(const struct checkpoint *checkpoint, struct periods_trace *trace);

/* Takes a name that the trace tells. */
void periods_labels_take(struct shard *shard, struct periods_trace *trace,
			 const struct ordered *ordered);
void periods_labels_forget(struct periods_trace *trace);
void periods_labels_checkpoint(const struct checkpoint *checkpoint, struct periods_trace *trace);
/* The analysis' label_of(). */
char *periods_label_of(const void *state, const struct period_set *periods, size_t table,
		       const char *name, const char *by);

#endif
