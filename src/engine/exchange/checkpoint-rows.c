/*
 * checkpoint-rows: figures of a row, and keyed rows; see checkpoint.h.
 */
#include "base/limits.h"
#include "engine/contract/untrusted.h"
#include "engine/exchange/checkpoint.h"
#include "engine/tables/columns.h"
#include "engine/tables/tables.h"

/* ---- figures ---- */

void checkpoint_rows_one(struct codec *codec, const struct columns *columns, uint64_t *row)
{
	for (uint32_t i = 0; i < columns->count; i++) {
		if (columns->kinds[i] == COLUMN_HISTOGRAM) {
			struct histogram *histogram = (struct histogram *)(uintptr_t)row[i];

			histogram_codec(codec, &histogram);
			row[i] = (uint64_t)(uintptr_t)histogram;
		} else {
			codec_u64(codec, &row[i]);
		}
	}
}

void checkpoint_rows_sums(struct codec *codec, const struct columns *columns, struct sums *sums)
{
	codec_bool(codec, &sums->is_touched);
	checkpoint_rows_one(codec, columns, sums->window);
	checkpoint_rows_one(codec, columns, sums->total);
}

/* ---- keyed rows ---- */

/* The row of a key that was read; NULL: no table has such keys. */
static struct keyed_row *keyed_read(struct keyed_rows *keyed_rows, const struct layout *layout,
				    const struct keyed_row *like)
{
	const struct analysis *analysis;

	if (like->analysis >= layout->setup->analysis_count || like->table >= TABLES_MAX) {
		return NULL;
	}
	analysis = layout->setup->analyses[like->analysis];
	if (analysis->tables[like->table].scope != SCOPE_KEYED ||
	    !analysis->tables[like->table].columns[0].key) {
		return NULL;
	}
	return keyed_find(keyed_rows, &layout->keyed_columns[like->analysis][like->table],
			  like->analysis, like->table, &like->key);
}

static void keyed_row_codec(struct codec *codec, struct keyed_rows *keyed_rows,
			    const struct layout *layout, struct keyed_row *keyed)
{
	struct keyed_row like = { .analysis = keyed ? keyed->analysis : 0,
				  .table = keyed ? keyed->table : 0 };
	bool is_touched = keyed && keyed->is_touched;
	const struct columns *columns;

	if (keyed) {
		assert(keyed->analysis < layout->setup->analysis_count);
		assert(keyed->table < TABLES_MAX);
		like.key = keyed->key;
	}
	codec_each(codec, &like.analysis, &like.table);
	row_key_codec(codec, &like.key);
	codec_bool(codec, &is_touched);
	if (codec_reads(codec)) {
		keyed = keyed_read(keyed_rows, layout, &like);
	}
	if (!codec_check(codec, keyed != NULL) || !keyed) {
		return;
	}
	columns = &layout->keyed_columns[keyed->analysis][keyed->table];
	codec_text(codec, &keyed->label);
	checkpoint_rows_one(codec, columns, keyed->window);
	if (keyed_rows->has_totals) {
		checkpoint_rows_one(codec, columns, keyed->total);
	}
	keyed->is_touched = is_touched;
}

void checkpoint_rows_keyed(struct codec *codec, struct keyed_rows *keyed_rows,
			   const struct layout *layout)
{
	size_t count = codec_count(codec, keyed_rows->all.count, 3 + 8 + ROW_KEY_NAME_BYTES);

	for (size_t i = 0; i < count; i++) {
		bool is_new = codec_reads(codec);

		keyed_row_codec(codec, keyed_rows, layout, is_new ? NULL : keyed_rows->all.at[i]);
		if (!codec_check(codec, keyed_rows->all.count == i + 1)) {
			break;
		}
	}
	if (codec_reads(codec)) { /* keyed_find() adds all of them */
		keyed_rows->touched.count = 0;
		for (size_t i = 0; i < keyed_rows->all.count; i++) {
			if (keyed_rows->all.at[i]->is_touched) {
				*vec_push(&keyed_rows->touched) = keyed_rows->all.at[i];
			}
		}
	}
}
