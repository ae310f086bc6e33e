/*
 * view-rows: the rows of a list: filtered, sorted, below their processes.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/screen/view-state.h"

static bool row_matches(const struct view *view, const struct report_table *table,
			const struct report_row *row)
{
	char text[CELL_MAX];

	format_row(text, table->table, row, FORMAT_WHOLE_NAME);
	return !view->filter[0] || strcasestr(text, view->filter);
}

static int by_cell(const void *left, const void *right, void *arg)
{
	const struct report_row *a = *(const struct report_row *const *)left;
	const struct report_row *b = *(const struct report_row *const *)right;
	double x = format_number(arg, a), y = format_number(arg, b);

	if (x != y) {
		return x > y ? -1 : 1;
	}
	return a < b ? -1 : a > b; /* the reported order */
}

/* @cell: NULL: as reported. */
static void sort_rows(const struct view *view, const struct report_row **rows, size_t count,
		      struct cell *cell)
{
	if (cell && count > 1) {
		qsort_r(rows, count, sizeof(*rows), by_cell, cell);
	}
	for (size_t i = 0; view->is_reversed && i < count / 2; i++) {
		const struct report_row *row = rows[i];

		rows[i] = rows[count - 1 - i];
		rows[count - 1 - i] = row;
	}
}

bool view_orders(const struct view_listing *listing, size_t cell)
{
	const struct cell *one = &listing->cells[cell];
	bool is_sum = one->column->kind != COLUMN_HISTOGRAM || one->part == HISTOGRAM_SUM;

	assert(cell < listing->cell_count);
	return listing->table->table->sort_mask >> one->at & 1 && is_sum;
}

/* ---- threads below their processes ---- */

bool view_is_process(const struct view_listing *listing, const struct report_row *row)
{
	const struct report_table *processes = listing->processes;

	return processes && row >= processes->rows && row < processes->rows + processes->row_count;
}

/* The list of processes that has the figures of this one of threads; NULL: there is none, or it is
 * by name. */
static const struct report_table *processes_of(const struct snapshot *snapshot,
					       const struct report_table *threads)
{
	const struct report_table *found =
		threads->table->scope == SCOPE_THREAD
			? snapshot_table(snapshot, threads->analysis->name, SCOPE_PROCESS)
			: NULL;

	return found && !found->is_by_name ? found : NULL;
}

static void map_cells(struct view_listing *listing)
{
	struct cell cells[CELLS_MAX];
	size_t count = format_parts(listing->processes, cells);

	for (size_t i = 0; i < listing->cell_count; i++) {
		const struct cell *wanted = &listing->cells[i];

		for (size_t k = 0; k < count; k++) {
			if (cells[k].part == wanted->part &&
			    strcmp(cells[k].column->key, wanted->column->key) == 0) {
				listing->process_cells[i] = cells[k];
			}
		}
	}
}

static bool is_first_thread(const struct report_row *row)
{
	return row->thread->tid == row->thread->pid;
}

/* Each process, then its threads; what is of no process that is listed comes last. */
static void below_processes(const struct view *view, struct view_listing *listing)
{
	const struct report_table *processes = listing->processes;
	const struct report_row **threads = listing->rows.at, **order;
	size_t count = listing->rows.count;
	struct cell *sort = NULL;

	map_cells(listing);
	if (view->sort < listing->cell_count && listing->process_cells[view->sort].column) {
		sort = &listing->process_cells[view->sort];
	}
	order = mem_alloc((processes->row_count + 1) * sizeof(*order));
	for (size_t i = 0; i < processes->row_count; i++) {
		order[i] = &processes->rows[i];
	}
	sort_rows(view, order, processes->row_count, sort);
	listing->rows = (typeof(listing->rows)){ 0 };
	for (size_t p = 0; p < processes->row_count; p++) {
		size_t at = listing->rows.count, of = 0;

		*vec_push(&listing->rows) = order[p];
		for (size_t i = 0; i < count; i++) {
			if (threads[i] && threads[i]->thread->pid == order[p]->thread->pid &&
			    threads[i]->thread->pid >= 0) {
				*vec_push(&listing->rows) = threads[i];
				threads[i] = NULL;
				of++;
			}
		}
		if (of == 0 && !row_matches(view, processes, order[p])) {
			listing->rows.count = at;
		} else if (of == 1 && is_first_thread(listing->rows.at[at + 1])) {
			listing->rows.count--; /* the same once more */
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (threads[i]) {
			*vec_push(&listing->rows) = threads[i];
		}
	}
	free(order);
	free(threads);
}

void view_list(const struct view *view, const struct snapshot *snapshot,
	       const struct report_table *table, struct view_listing *listing)
{
	memset(listing, 0, sizeof(*listing));
	listing->table = table;
	listing->cell_count = format_parts(table, listing->cells);
	assert(listing->cell_count <= CELLS_MAX);
	for (size_t i = 0; i < table->row_count; i++) {
		if (row_matches(view, table, &table->rows[i])) {
			*vec_push(&listing->rows) = &table->rows[i];
		}
	}
	sort_rows(view, listing->rows.at, listing->rows.count,
		  view->sort < listing->cell_count ? &listing->cells[view->sort] : NULL);
	listing->processes = view->is_tree ? processes_of(snapshot, table) : NULL;
	if (listing->processes) {
		below_processes(view, listing);
	}
}
