/*
 * fold: see fold.h.
 */
#include "figure/fold.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"
#include "figure/by-name.h"
#include "figure/which.h"

struct folded {
	int64_t tid;
	struct thread_view view;
	uint64_t values[COLUMNS_MAX];
	struct report_row row;
};

struct fold {
	struct report_table table;
	struct columns columns;
	struct by_name by_name; /* of struct folded */
	VEC(struct report_row) rows;
};

/* Without what is another one on another day. */
static struct report_row shown(const struct table *table, const char *name, struct folded *folded,
			       const struct report_row *from, bool has_id)
{
	struct report_row row = *from;
	uint64_t hash = hash_text(0, name);

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
	char *name = which_name(fold->table.table, from);
	size_t count = fold->by_name.all.count;
	struct folded *folded = by_name_add(&fold->by_name, name, sizeof(*folded));

	if (fold->by_name.all.count > count) {
		folded->tid = from->thread ? from->thread->tid : -1;
		folded->row = shown(fold->table.table, name, folded, from, has_id);
	}
	columns_add(&fold->columns, folded->values, from->values);
	free(name);
}

static const struct folded *folded_at(const struct fold *fold, size_t at)
{
	assert(at < fold->by_name.all.count);
	return fold->by_name.all.at[at].row;
}

struct fold *fold_new(const struct figure *figure, const struct report_table *from)
{
	struct fold *fold = mem_alloc(sizeof(*fold));

	assert(from->table == figure->table);
	fold->table = *from;
	columns_append(&fold->columns, from->table);
	for (size_t i = 0; i < from->row_count; i++) {
		if (which_chooses(figure, &from->rows[i])) {
			add(fold, &from->rows[i], figure->has_id);
		}
	}
	for (size_t i = 0; i < fold->by_name.all.count; i++) {
		*vec_push(&fold->rows) = folded_at(fold, i)->row;
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
	for (size_t i = 0; i < fold->by_name.all.count; i++) {
		struct folded *folded = fold->by_name.all.at[i].row;

		columns_empty(&fold->columns, folded->values);
	}
	by_name_fini(&fold->by_name);
	vec_fini(&fold->rows);
	columns_fini(&fold->columns);
	free(fold);
}

const struct report_table *fold_table(const struct fold *fold)
{
	return &fold->table;
}

const char *fold_name(const struct fold *fold, size_t at)
{
	assert(at < fold->by_name.all.count);
	return fold->by_name.all.at[at].name;
}

int64_t fold_tid(const struct fold *fold, size_t at)
{
	return folded_at(fold, at)->tid;
}
