/*
 * items: see items.h.
 */
#include "engine/tables/keyed.h"

#include "base/limits.h"
#include "engine/tables/tables.h"

/* ---- items ---- */

void keyed_init(struct keyed_rows *keyed_rows, bool has_totals)
{
	keyed_rows->has_totals = has_totals;
	keyed_rows->by_key = kh_init(keyed_rows);
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
	kh_destroy(keyed_rows, keyed_rows->by_key);
	vec_fini(&keyed_rows->all);
	vec_fini(&keyed_rows->touched);
}

static struct keyed_row *keyed_new(struct keyed_rows *keyed_rows, const struct columns *columns,
				   struct keyed_ref like)
{
	struct keyed_row *keyed = mem_alloc(sizeof(*keyed));
	int is_new;

	*keyed = *like.keyed;
	keyed->window = mem_alloc((columns->count + 1) * sizeof(uint64_t) *
				  (keyed_rows->has_totals ? 2 : 1));
	keyed->total = keyed_rows->has_totals ? keyed->window + columns->count + 1 : NULL;
	*vec_push(&keyed_rows->all) = keyed;
	keyed_rows->counts[keyed->analysis][keyed->table]++;
	like.keyed = keyed;
	(void)kh_put(keyed_rows, keyed_rows->by_key, like, &is_new);
	return keyed;
}

static struct keyed_row *find(const struct keyed_rows *keyed_rows, struct keyed_ref like)
{
	khint_t at = kh_get(keyed_rows, keyed_rows->by_key, like);

	return at == kh_end(keyed_rows->by_key) ? NULL : kh_key(keyed_rows->by_key, at).keyed;
}

static struct keyed_row *find_or_make(struct keyed_rows *keyed_rows, const struct columns *columns,
				      unsigned int analysis, unsigned int table,
				      const struct row_key *key)
{
	struct keyed_row like = { .key = *key,
				  .analysis = (uint8_t)analysis,
				  .table = (uint8_t)table };
	struct keyed_ref ref = keyed_ref_to(&like);
	struct keyed_row **others = &keyed_rows->others[analysis][table],
			 *keyed = find(keyed_rows, ref);

	if (keyed) {
		return keyed;
	}
	if (keyed_rows->counts[analysis][table] < KEYED_ROWS_MAX) {
		return keyed_new(keyed_rows, columns, ref);
	}
	if (!*others) {
		like.key = row_key_of(ROW_KEY_NO_ID, KEYED_OTHERS, sizeof(KEYED_OTHERS));
		ref = keyed_ref_to(&like);
		keyed = find(keyed_rows, ref);
		*others = keyed ? keyed : keyed_new(keyed_rows, columns, ref);
	}
	return *others;
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

void keyed_collect(struct keyed_rows *to, struct keyed_rows *from,
		   const struct columns (*columns)[TABLES_MAX])
{
	for (size_t i = 0; i < from->touched.count; i++) {
		struct keyed_row *part = from->touched.at[i];
		const struct columns *of = &columns[part->analysis][part->table];
		struct keyed_row *sum = keyed_find(to, of, part->analysis, part->table, &part->key);

		columns_move(of, sum->window, part->window);
		if (part->label &&
		    row_key_equal(&sum->key, &part->key)) { /* it may be the others */
			keyed_label(sum, part->label);
		}
		part->is_touched = false;
	}
	from->touched.count = 0;
}

void keyed_close(struct keyed_rows *keyed_rows, const struct columns (*columns)[TABLES_MAX],
		 bool keep)
{
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
