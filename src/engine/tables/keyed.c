/*
 * keyed: see keyed.h.
 */
#include "engine/tables/keyed.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "engine/tables/tables.h"

/* ---- lifecycle ---- */

void keyed_init(struct keyed_rows *keyed_rows, bool has_totals)
{
	keyed_rows->has_totals = has_totals;
}

void keyed_fini(struct keyed_rows *keyed_rows, const struct columns (*columns)[TABLES_MAX])
{
	for (size_t i = 0; i < keyed_rows->all.count; i++) {
		struct keyed_row *keyed = keyed_rows->all.at[i];
		const struct columns *of = &columns[keyed->analysis][keyed->table];

		columns_empty(of, keyed->window);
		if (keyed->total) {
			columns_empty(of, keyed->total);
		}
		free(keyed->window);
		free(keyed->label);
		free(keyed);
	}
	keyed_refs_fini(&keyed_rows->by_key);
	vec_fini(&keyed_rows->all);
	vec_fini(&keyed_rows->touched);
}

/* ---- rows by key ---- */

static struct keyed_row *keyed_new(struct keyed_rows *keyed_rows, const struct columns *columns,
				   struct keyed_ref like)
{
	struct keyed_row *keyed = mem_alloc(sizeof(*keyed));

	*keyed = *like.keyed;
	keyed->window = mem_alloc((columns->count + 1) * sizeof(uint64_t) *
				  (keyed_rows->has_totals ? 2 : 1));
	keyed->total = keyed_rows->has_totals ? keyed->window + columns->count + 1 : NULL;
	*vec_push(&keyed_rows->all) = keyed;
	keyed_rows->counts[keyed->analysis][keyed->table]++;
	like.keyed = keyed;
	*keyed_refs_add(&keyed_rows->by_key, NULL, like) = like;
	return keyed;
}

static struct keyed_row *find(const struct keyed_rows *keyed_rows, struct keyed_ref like)
{
	struct keyed_ref *at = keyed_refs_seek(&keyed_rows->by_key, NULL, like);

	return at ? at->keyed : NULL;
}

/* The row that all keys of a table beyond the bound share.  A trace may have a key of its name. */
static struct keyed_row *others_of(struct keyed_rows *keyed_rows, const struct columns *columns,
				   unsigned int analysis, unsigned int table)
{
	struct keyed_row **others = &keyed_rows->others[analysis][table];
	struct keyed_row like = { .analysis = (uint8_t)analysis, .table = (uint8_t)table };

	if (!*others) {
		like.key = row_key_of(ROW_KEY_NO_ID, KEYED_OTHERS, sizeof(KEYED_OTHERS));
		*others = find(keyed_rows, keyed_ref_to(&like));
	}
	if (!*others) {
		*others = keyed_new(keyed_rows, columns, keyed_ref_to(&like));
	}
	return *others;
}

static struct keyed_row *find_or_make(struct keyed_rows *keyed_rows, const struct columns *columns,
				      unsigned int analysis, unsigned int table,
				      const struct row_key *key)
{
	struct keyed_row like = { .key = *key,
				  .analysis = (uint8_t)analysis,
				  .table = (uint8_t)table };
	struct keyed_ref ref = keyed_ref_to(&like);
	struct keyed_row *keyed = find(keyed_rows, ref);

	assert(analysis < ANALYSES_MAX && table < TABLES_MAX);
	if (keyed) {
		return keyed;
	}
	if (keyed_rows->counts[analysis][table] < KEYED_ROWS_MAX) {
		return keyed_new(keyed_rows, columns, ref);
	}
	return others_of(keyed_rows, columns, analysis, table);
}

static struct keyed_row **recent_place(struct keyed_rows *keyed_rows, unsigned int analysis,
				       unsigned int table, const struct row_key *key)
{
	uint64_t word;

	memcpy(&word, key->name, sizeof(word));
	word = (key->id ^ word) * 0x9E3779B97F4A7C15ull;
	return &keyed_rows->recent[((word >> 32) + analysis * TABLES_MAX + table) % KEYED_RECENT];
}

struct keyed_row *keyed_find(struct keyed_rows *keyed_rows, const struct columns *columns,
			     unsigned int analysis, unsigned int table, const struct row_key *key)
{
	struct keyed_row **recent = recent_place(keyed_rows, analysis, table, key);
	struct keyed_row *keyed = *recent;

	if (!keyed || keyed->analysis != analysis || keyed->table != table ||
	    !row_key_equal(&keyed->key, key)) {
		keyed = find_or_make(keyed_rows, columns, analysis, table, key);
		*recent = keyed;
	}
	keyed_touch(keyed_rows, keyed);
	return keyed;
}

void keyed_label(struct keyed_row *keyed, const char *label)
{
	if (!keyed->label || strcmp(keyed->label, label) != 0) {
		free(keyed->label);
		keyed->label = mem_strdup(label);
	}
}

/* ---- windows ---- */

void keyed_collect(struct keyed_rows *to, struct keyed_rows *from,
		   const struct columns (*columns)[TABLES_MAX])
{
	assert(to != from);
	for (size_t i = 0; i < from->touched.count; i++) {
		struct keyed_row *part = from->touched.at[i];
		const struct columns *of = &columns[part->analysis][part->table];
		struct keyed_row *sum = keyed_find(to, of, part->analysis, part->table, &part->key);

		columns_move(of, sum->window, part->window);
		/* Beyond the bound it is the row of all others, which has its own name. */
		if (part->label && row_key_equal(&sum->key, &part->key)) {
			keyed_label(sum, part->label);
		}
		part->is_touched = false;
	}
	from->touched.count = 0;
}

/* Rows that are not in the window that closes: a total has the levels of its last one. */
static void end_levels(struct keyed_rows *keyed_rows, const struct columns (*columns)[TABLES_MAX])
{
	bool any = false;

	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			any |= keyed_rows->counts[a][t] > 0 && columns[a][t].level_count > 0;
		}
	}
	for (size_t i = 0; any && i < keyed_rows->all.count; i++) {
		struct keyed_row *keyed = keyed_rows->all.at[i];

		if (!keyed->is_touched && columns[keyed->analysis][keyed->table].level_count > 0) {
			columns_end_levels(&columns[keyed->analysis][keyed->table], keyed->total);
		}
	}
}

void keyed_close(struct keyed_rows *keyed_rows, const struct columns (*columns)[TABLES_MAX],
		 bool keep)
{
	assert(keyed_rows->has_totals);
	if (keep) {
		end_levels(keyed_rows, columns);
	}
	for (size_t i = 0; i < keyed_rows->touched.count; i++) {
		struct keyed_row *keyed = keyed_rows->touched.at[i];
		const struct columns *of = &columns[keyed->analysis][keyed->table];

		if (keep) {
			columns_close(of, keyed->total, keyed->window);
		} else {
			columns_empty(of, keyed->window);
		}
		keyed->is_touched = false;
	}
	keyed_rows->touched.count = 0;
}

/* ---- checks ---- */

static void check_recent(const struct keyed_rows *keyed_rows)
{
	for (size_t i = 0; i < KEYED_RECENT; i++) {
		struct keyed_row *keyed = keyed_rows->recent[i];

		assert(!keyed || find(keyed_rows, keyed_ref_to(keyed)) == keyed);
	}
}

static void check_counts(const struct keyed_rows *keyed_rows)
{
	size_t sum = 0;

	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			const struct keyed_row *others = keyed_rows->others[a][t];

			sum += keyed_rows->counts[a][t];
			assert(keyed_rows->counts[a][t] <= KEYED_ROWS_MAX + 1);
			assert(!others || keyed_rows->counts[a][t] >= KEYED_ROWS_MAX);
			assert(!others || strcmp(others->key.name, KEYED_OTHERS) == 0);
		}
	}
	assert(sum == keyed_rows->all.count);
}

void keyed_check(const struct keyed_rows *keyed_rows)
{
	size_t touched = 0;

	assert(keyed_rows->by_key.used == keyed_rows->all.count);
	for (size_t i = 0; i < keyed_rows->all.count; i++) {
		struct keyed_row *keyed = keyed_rows->all.at[i];

		assert(find(keyed_rows, keyed_ref_to(keyed)) == keyed);
		assert((keyed->total != NULL) == keyed_rows->has_totals);
		touched += keyed->is_touched;
	}
	assert(touched == keyed_rows->touched.count);
	for (size_t i = 0; i < keyed_rows->touched.count; i++) {
		assert(keyed_rows->touched.at[i]->is_touched);
	}
	check_recent(keyed_rows);
	check_counts(keyed_rows);
}
