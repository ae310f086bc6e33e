/*
 * items: rows of tables that are not about threads or CPUs, and the longest instances.
 *
 * Each shard adds to items of its own; when a window closes they are added to those of the trace,
 * which has the totals.  Nothing of a name from a trace is unbounded: beyond KEYED_ROWS_MAX
 * items of a table, others go into one.
 */
#ifndef SILLAGE_ENGINE_TABLES_KEYED_H
#define SILLAGE_ENGINE_TABLES_KEYED_H

#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"
#include "engine/tables/report.h"

struct keyed_row {
	struct row_key key;
	uint8_t analysis, table;
	bool is_touched;          /* in the open window */
	char *label;              /* shown in place of the key's name; NULL: none */
	uint64_t *window, *total; /* total: NULL in shards */
};

/* The hash lies beside it: items are far apart, and only one that is likely the right one is looked
 * at. */
struct keyed_ref {
	uint32_t hash;
	struct keyed_row *keyed;
};

static inline struct keyed_ref keyed_ref_to(struct keyed_row *keyed)
{
	return (struct keyed_ref){
		.hash = row_key_hash(&keyed->key) ^ (uint32_t)(keyed->analysis << 8 | keyed->table),
		.keyed = keyed,
	};
}

static inline uint32_t keyed_ref_hash(struct keyed_ref ref)
{
	return ref.hash;
}

static inline bool keyed_ref_equal(struct keyed_ref a, struct keyed_ref b)
{
	return a.hash == b.hash && a.keyed->analysis == b.keyed->analysis &&
	       a.keyed->table == b.keyed->table && row_key_equal(&a.keyed->key, &b.keyed->key);
}

KHASH_INIT(keyed_rows, struct keyed_ref, char, 0, keyed_ref_hash, keyed_ref_equal)

/* The name of the item in which others are that are too many. */
#define KEYED_OTHERS "(others)"

/* Items found lately: most are looked for again and again. */
#define KEYED_RECENT 64

struct keyed_rows {
	bool has_totals;
	struct keyed_row *recent[KEYED_RECENT];             /* by what is quickly said of a key */
	uint32_t counts[ANALYSES_MAX][TABLES_MAX];          /* items of each table */
	struct keyed_row *others[ANALYSES_MAX][TABLES_MAX]; /* NULL: not too many */
	khash_t(keyed_rows) * by_key;
	VEC(struct keyed_row *) all;
	VEC(struct keyed_row *) touched;
};

void keyed_init(struct keyed_rows *keyed_rows, bool has_totals);
void keyed_fini(struct keyed_rows *keyed_rows, const struct columns (*columns)[TABLES_MAX]);

/* Made when new, with room for @columns. */
struct keyed_row *keyed_find(struct keyed_rows *keyed_rows, const struct columns *columns,
			     unsigned int analysis, unsigned int table, const struct row_key *key);

/* What the item is shown as from here on. */
void keyed_label(struct keyed_row *keyed, const char *label);

/* The item is used in the open window. */
static inline void keyed_touch(struct keyed_rows *keyed_rows, struct keyed_row *keyed)
{
	if (!keyed->is_touched) {
		keyed->is_touched = true;
		*vec_push(&keyed_rows->touched) = keyed;
	}
}

/* Adds the open window of @from to that of @to, and empties it. */
void keyed_collect(struct keyed_rows *to, struct keyed_rows *from,
		   const struct columns (*columns)[TABLES_MAX]);
/* Adds the open window to the total, or drops it. */
void keyed_close(struct keyed_rows *keyed_rows, const struct columns (*columns)[TABLES_MAX],
		 bool keep);

#endif
