/*
 * fold: see fold.h.
 */
#include "trigger/fold.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"

KHASH_MAP_INIT_STR(fold_names, size_t)

struct folded {
	char *name; /* the key in by_name */
	int64_t tid;
	struct thread_view view;
	uint64_t values[COLUMNS_MAX];
	struct report_row row;
};

struct fold {
	struct report_table table;
	struct columns columns;
	VEC(struct folded *) all;
	VEC(struct report_row) rows;
	khash_t(fold_names) * by_name;
};

/* Without what is another one on another day. */
static struct report_row shown(const struct table *table, struct folded *folded,
			       const struct report_row *from, bool has_id)
{
	struct report_row row = *from;
	uint64_t hash = hash_text(0, folded->name);

	if (from->thread) {
		folded->view = *from->thread;
		folded->view.tid = -1;
		folded->view.pid = -1;
		row.thread = &folded->view;
		row.id = hash;
	} else if (table->scope == SCOPE_CONTAINER) {
		row.id = hash;
	} else if (table->scope == SCOPE_KEYED && !has_id && table->name_key && from->name &&
		   from->name[0]) {
		row.id = ROW_KEY_NO_ID;
		row.owner = 0;
	}
	row.values = folded->values;
	return row;
}

static void add(struct fold *fold, const struct report_row *from, bool has_id)
{
	char *name = which_row_name(fold->table.table, from);
	struct folded *folded;
	int is_new;
	khint_t at = kh_put(fold_names, fold->by_name, name, &is_new);

	if (is_new) {
		folded = mem_alloc(sizeof(*folded));
		folded->name = name;
		folded->tid = from->thread ? from->thread->tid : -1;
		folded->row = shown(fold->table.table, folded, from, has_id);
		kh_value(fold->by_name, at) = fold->all.count;
		*vec_push(&fold->all) = folded;
	} else {
		free(name);
		folded = fold->all.at[kh_value(fold->by_name, at)];
	}
	columns_add(&fold->columns, folded->values, from->values);
}

struct fold *fold_new(const struct figure *figure, const struct report_table *from)
{
	struct fold *fold = mem_alloc(sizeof(*fold));

	assert(from->table == figure->table);
	fold->table = *from;
	fold->by_name = kh_init(fold_names);
	columns_append(&fold->columns, from->table);
	for (size_t i = 0; i < from->row_count; i++) {
		if (which_chooses(figure, &from->rows[i])) {
			add(fold, &from->rows[i], figure->has_id);
		}
	}
	for (size_t i = 0; i < fold->all.count; i++) {
		*vec_push(&fold->rows) = fold->all.at[i]->row;
	}
	fold->table.rows = fold->rows.at;
	fold->table.row_count = fold->rows.count;
	return fold;
}

void fold_free(struct fold *fold)
{
	if (!fold) {
		return;
	}
	for (size_t i = 0; i < fold->all.count; i++) {
		columns_empty(&fold->columns, fold->all.at[i]->values);
		free(fold->all.at[i]->name);
		free(fold->all.at[i]);
	}
	vec_fini(&fold->all);
	vec_fini(&fold->rows);
	kh_destroy(fold_names, fold->by_name);
	columns_fini(&fold->columns);
	free(fold);
}

const struct report_table *fold_table(const struct fold *fold)
{
	return &fold->table;
}

const char *fold_name(const struct fold *fold, size_t at)
{
	assert(at < fold->all.count);
	return fold->all.at[at]->name;
}

int64_t fold_tid(const struct fold *fold, size_t at)
{
	assert(at < fold->all.count);
	return fold->all.at[at]->tid;
}
