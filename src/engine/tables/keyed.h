/*
 * items: rows of tables that are not about threads or CPUs, and the longest instances.
 *
 * Each shard adds to items of its own; when a window closes they are added to those of the trace,
 * which has the totals.  Nothing of a name from a trace is unbounded: beyond ITEMS_MAX
 * items of a table, others go into one.
 */
#ifndef SILLAGE_ENGINE_TABLES_KEYED_H
#define SILLAGE_ENGINE_TABLES_KEYED_H

#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/key.h"
#include "engine/tables/columns.h"
#include "engine/tables/report.h"

struct item {
	struct item_key key;
	uint8_t analysis, table;
	bool is_touched;          /* in the open window */
	char *label;              /* shown in place of the key's name; NULL: none */
	uint64_t *window, *total; /* total: NULL in shards */
};

/* The hash lies beside it: items are far apart, and only one that is likely the right one is looked
 * at. */
struct item_ref {
	uint32_t hash;
	struct item *item;
};

static inline struct item_ref item_ref_to(struct item *item)
{
	return (struct item_ref){
		.hash = item_hash(&item->key) ^ (uint32_t)(item->analysis << 8 | item->table),
		.item = item,
	};
}

static inline uint32_t item_ref_hash(struct item_ref ref)
{
	return ref.hash;
}

static inline bool item_ref_equal(struct item_ref a, struct item_ref b)
{
	return a.hash == b.hash && a.item->analysis == b.item->analysis &&
	       a.item->table == b.item->table && item_equal(&a.item->key, &b.item->key);
}

KHASH_INIT(items, struct item_ref, char, 0, item_ref_hash, item_ref_equal)

/* The name of the item in which others are that are too many. */
#define ITEM_OTHERS "(others)"

/* Items found lately: most are looked for again and again. */
#define ITEMS_RECENT 64

struct items {
	bool has_totals;
	struct item *recent[ITEMS_RECENT];             /* by what is quickly said of a key */
	uint32_t counts[ANALYSES_MAX][TABLES_MAX];     /* items of each table */
	struct item *others[ANALYSES_MAX][TABLES_MAX]; /* NULL: not too many */
	khash_t(items) * by_key;
	VEC(struct item *) all;
	VEC(struct item *) touched;
};

void items_init(struct items *items, bool has_totals);
void items_fini(struct items *items, const struct columns (*columns)[TABLES_MAX]);

/* Made when new, with room for @columns. */
struct item *items_find(struct items *items, const struct columns *columns, unsigned int analysis,
			unsigned int table, const struct item_key *key);

/* What the item is shown as from here on. */
void item_label(struct item *item, const char *label);

/* The item is used in the open window. */
static inline void items_touch(struct items *items, struct item *item)
{
	if (!item->is_touched) {
		item->is_touched = true;
		*vec_push(&items->touched) = item;
	}
}

/* Adds the open window of @from to that of @to, and empties it. */
void items_gather(struct items *to, struct items *from,
		  const struct columns (*columns)[TABLES_MAX]);
/* Adds the open window to the total, or drops it. */
void items_close(struct items *items, const struct columns (*columns)[TABLES_MAX], bool keep);

/* ---- longest ---- */

struct shown_instance {
	struct instance instance; /* its thread is not to be used any more */
	struct thread_view view;
	bool has_view;
};

/* Their order: longest first, then so that it does not matter in which they came.  Threads may be
 * NULL. */
int instance_compare(const struct instance *a, const struct thread_view *a_thread,
		     const struct instance *b, const struct thread_view *b_thread);

/* How many are shown where the first @top rows are. */
static inline size_t longest_shown(size_t top)
{
	return top < LONGEST_MIN ? LONGEST_MIN : top > LONGEST_MAX ? LONGEST_MAX : top;
}

/* The longest so far, in order. */
struct longest {
	size_t room;
	uint64_t min_ns, max_ns; /* others are not wanted */
	VEC(struct shown_instance) all;
};

/* Whether one of @ns may be one of them. */
static inline bool longest_may_have(const struct longest *longest, uint64_t ns)
{
	size_t count = longest->all.count;

	return ns >= longest->min_ns && ns <= longest->max_ns &&
	       (count < longest->room || ns >= longest->all.at[count - 1].instance.ns);
}

void longest_add(struct longest *longest, const struct instance *instance);
/* Notes who the threads are: they may go when the window has closed. */
void longest_gather(struct longest *to, struct longest *from);
void longest_move(struct longest *to, struct longest *from);

#endif
