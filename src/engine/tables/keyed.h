/*
 * keyed: rows of tables whose key is a number, a name, or both.
 *
 * Each accumulator has keyed rows of the open window.  When a window closes they are added to the
 * trace's, which also have the totals.  Keys come from traces, so their number is bounded: beyond
 * KEYED_ROWS_MAX rows of a table, all others share one row.
 */
#pragma once

#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"
#include "engine/tables/report.h"

struct keyed_row {
	struct row_key key;
	uint8_t analysis, table;
	bool is_touched;          /* used in the open window, and listed in `touched` */
	char *label;              /* shown in place of the key's name; NULL: none */
	uint64_t *window, *total; /* total: NULL in accumulators; the same allocation */
};

/* The hash lies beside the pointer: rows are far apart in memory, so only a row whose hash is equal
 * is read. */
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

static inline bool keyed_refs_is_used(const void *unused, const struct keyed_ref *ref)
{
	return ref->keyed;
}

static inline struct keyed_ref keyed_refs_key(const void *unused, const struct keyed_ref *ref)
{
	return *ref;
}

HASH_PROBED_BY(keyed_refs, struct keyed_ref, const void *, struct keyed_ref, keyed_ref_hash,
	       keyed_ref_equal)

/* The name of the row that all keys beyond the bound share. */
#define KEYED_OTHERS "(others)"

/* A direct-mapped cache of rows in front of the hash table: most keys come again soon. */
#define KEYED_RECENT 64

struct keyed_rows {
	bool has_totals;
	struct keyed_row *recent[KEYED_RECENT];             /* by a cheap hash of the key */
	uint32_t counts[ANALYSES_MAX][TABLES_MAX];          /* rows of each table */
	struct keyed_row *others[ANALYSES_MAX][TABLES_MAX]; /* NULL: the bound is not reached */
	struct keyed_refs by_key;
	VEC(struct keyed_row *) all;
	VEC(struct keyed_row *) touched;
};

void keyed_init(struct keyed_rows *keyed_rows, bool has_totals);
void keyed_fini(struct keyed_rows *keyed_rows, const struct columns (*columns)[TABLES_MAX]);

/* The row of a key, which is made when new, with room for @columns.  It counts as used. */
struct keyed_row *keyed_find(struct keyed_rows *keyed_rows, const struct columns *columns,
			     unsigned int analysis, unsigned int table, const struct row_key *key);

/* What the row is shown as from here on; copied. */
void keyed_label(struct keyed_row *keyed, const char *label);

/* The row is used in the open window. */
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

/* Asserts that each row is found by its key, and that counts, flags and lists agree. */
void keyed_check(const struct keyed_rows *keyed_rows);
