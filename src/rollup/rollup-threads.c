/*
 * rollup-threads: what windows know of threads, and what is added up from threads.
 *
 * Names, processes and numbers of threads may become known later than their figures.  The engine
 * shows a window with what is known at its end, so a long window has to do the same: what became
 * known is applied to the rows of the short windows before.  Rows of processes and containers are
 * made of those of threads at the end only: by then it is known which process a thread is of.
 */
#include <assert.h>
#include <stdlib.h>

#include <stdio.h>

#include "base/limits.h"
#include "engine/contract/row-key.h"
#include "rollup/rollup-state.h"

/* ---- what became known ---- */

static void take_out(struct rollup_table *table, struct rollup_row *row)
{
	assert(rollup_row_known(table, row->row.id) == row);
	(void)rollup_rows_remove(&table->by_key, NULL, rollup_rows_seek(&table->by_key, NULL, row));
}

/* A row whose number another thread has now: windows of two runs, which number threads each on its
 * own.  It gets one that no run gives, so that it can be stored. */
static void set_aside(struct rollup_table *table, struct rollup_row *row)
{
	uint32_t nth = UINT32_MAX;

	do {
		row->row.id = row->row.id >> 32 << 32 | nth--;
	} while (rollup_row_known(table, row->row.id));
	*rollup_rows_add(&table->by_key, NULL, row) = row;
}

static void give_number(struct rollup_table *table, struct rollup_row *row, uint64_t id)
{
	struct rollup_row *other = rollup_row_known(table, id);

	assert(rollup_row_known(table, id) != row);
	if (other) {
		take_out(table, other);
		set_aside(table, other);
	}
	row->row.id = id;
	*rollup_rows_add(&table->by_key, NULL, row) = row;
}

/*
 * Threads that have another number, all of one window at once: one may have the number that another
 * one had.  A thread that is new has nothing to do with rows that have its number.
 */
static void renumber(struct rollup_table *table, const struct report *window)
{
	VEC(struct rollup_row *) moved = { 0 };
	VEC(struct rollup_row *) others = { 0 };

	for (size_t i = 0; i < window->view_count; i++) {
		const struct report_view *view = &window->views[i];
		bool is_moved = view->was != 0 && view->was != view->id;
		struct rollup_row *row = NULL;

		if (is_moved || view->was == 0) {
			row = rollup_row_known(table, is_moved ? view->was : view->id);
		}
		*vec_push(&moved) = is_moved ? row : NULL;
		if (row) {
			take_out(table, row);
		}
		if (row && !is_moved) {
			*vec_push(&others) = row;
		}
	}
	assert(moved.count == window->view_count);
	for (size_t i = 0; i < moved.count; i++) {
		if (moved.at[i]) {
			give_number(table, moved.at[i], window->views[i].id);
		}
	}
	for (size_t i = 0; i < others.count; i++) {
		set_aside(table, others.at[i]);
	}
	vec_fini(&moved);
	vec_fini(&others);
}

static void show_begun_by(struct rollup_row *row, const struct report_view *view)
{
	row->view = view->view;
	if (view->is_reused) {
		row->view = (struct thread_view){ .pid = -1, .tid = view->view.tid };
	}
	row->row.thread = &row->view;
}

static void learn_instances(struct rollup_table *table, const struct report_view *view)
{
	VEC_EACH_OF(&table->all, row) {
		struct instance *instance = &row->instance;

		if (instance->thread_id != 0 &&
		    (instance->thread_id == view->id || instance->thread_id == view->was)) {
			instance->thread_id = view->id;
			row->view = view->view;
			row->row.thread = &row->view;
		} else if (instance->has_begun_by && instance->begun_by > 0 &&
			   instance->begun_by == view->view.tid) {
			show_begun_by(row, view);
		}
	}
}

static void learn(struct rollup_table *table, const struct report_view *view)
{
	struct rollup_row *row;

	if (table->table->scope == SCOPE_LONGEST) {
		learn_instances(table, view);
	}
	if (table->table->scope != SCOPE_THREAD) {
		return;
	}
	row = rollup_row_known(table, view->id);
	if (row) {
		row->view = view->view;
		row->row.thread = &row->view;
	}
}

/* The long window has it once, with what it was called before the long window. */
static void note(struct rollup *rollup, const struct report_view *view)
{
	uint32_t *at = rollup_views_get(&rollup->view_at, view->was);
	struct report_view kept = *view;
	uint32_t index = (uint32_t)rollup->views.count;

	assert(!at || *at < rollup->views.count);
	if (at) {
		index = *at;
		kept.was = rollup->views.at[index].was;
		(void)rollup_views_drop(&rollup->view_at, view->was);
	} else {
		(void)vec_push(&rollup->views);
	}
	rollup->views.at[index] = kept;
	*rollup_views_put(&rollup->view_at, view->id, NULL) = index;
}

void rollup_learn(struct rollup *rollup, const struct report *window)
{
	for (size_t t = 0; t < rollup->tables.count; t++) {
		if (rollup->tables.at[t]->table->scope == SCOPE_THREAD) {
			renumber(rollup->tables.at[t], window);
		}
	}
	for (size_t i = 0; i < window->view_count; i++) {
		for (size_t t = 0; t < rollup->tables.count; t++) {
			learn(rollup->tables.at[t], &window->views[i]);
		}
		if (!rollup->account) { /* else views are as many as threads are */
			note(rollup, &window->views[i]);
		}
	}
}

/* ---- processes and containers ---- */

void rollup_note_names(struct rollup *rollup, const struct report_table *from)
{
	for (size_t i = 0; i < from->row_count; i++) {
		struct rollup_name *name = NULL;

		for (size_t k = 0; k < rollup->names.count && !name; k++) {
			name = rollup->names.at[k].id == from->rows[i].id ? &rollup->names.at[k]
									  : NULL;
		}
		if (!name) {
			name = vec_push(&rollup->names);
			name->id = from->rows[i].id;
		}
		(void)snprintf(name->name, sizeof(name->name), "%s", from->rows[i].name);
	}
}

/* A leader may do nothing in the window, so that it has no row. */
void rollup_note_leaders(struct rollup *rollup, const struct report_table *from)
{
	for (size_t i = 0; i < from->row_count; i++) {
		const struct report_row *row = &from->rows[i];

		if (row->thread && row->thread->pid >= 0 && row->named_by == 0 &&
		    row->thread->comm[0]) {
			*rollup_leaders_put(&rollup->leaders, (uint64_t)row->thread->pid, NULL) =
				*row->thread;
		} else if (row->thread && row->thread->pid >= 0 && row->named_by != 0) {
			/* It is gone, and another thread of the process is not. */
			(void)rollup_leaders_drop(&rollup->leaders, (uint64_t)row->thread->pid);
		}
	}
}

struct rollup_table *rollup_threads_of(struct rollup *rollup, const struct rollup_table *table)
{
	if (rollup->joins || !scope_is_of_threads(table->table->scope)) {
		return NULL;
	}
	for (size_t t = 0; t < rollup->tables.count; t++) {
		if (rollup->tables.at[t]->analysis == table->analysis &&
		    rollup->tables.at[t]->table->scope == SCOPE_THREAD) {
			return rollup->tables.at[t];
		}
	}
	return NULL;
}

/* The thread that names the process also says which container it is in. */
static void name_process(struct rollup_row *process, const struct rollup_row *thread)
{
	const struct thread_view *view = &thread->view;

	if (view->comm[0] && process->view.pid >= 0 &&
	    process_name_by(&process->named, view->tid, view->pid, thread->row.id)) {
		report_set_container(&process->view, report_container_id(view));
		memcpy(process->view.comm, view->comm, sizeof(view->comm));
	}
}

static struct rollup_row *process_of(const struct rollup *rollup, struct rollup_table *table,
				     const struct rollup_row *thread)
{
	const struct thread_view *leader =
		rollup_leaders_get(&rollup->leaders, (uint64_t)thread->view.pid);
	struct thread_view view = { .tid = -1, .pid = thread->view.pid };
	struct report_row like = { .id = (uint64_t)view.pid };
	struct rollup_row *row;

	assert(table->table->scope == SCOPE_PROCESS);
	like.name = view.pid < 0 ? view.comm : NULL;
	row = rollup_row_of(table, &like, 0);
	if (!row->row.thread) {
		row->view = view;
		row->row.thread = &row->view;
	}
	if (leader && view.pid >= 0) {
		row->view = *leader;
		if (leader->container == 0) { /* stores have it of threads only */
			report_set_container(&row->view, report_container_id(&thread->view));
		}
		return row;
	}
	name_process(row, thread);
	row->row.named_by =
		row->named.rank > 0 && row->named.rank != PROCESS_UNNAMED ? row->named.rank : 0;
	return row;
}

static const char *name_of(const struct rollup *rollup, const struct thread_view *view)
{
	const char *name = report_is_placed(view)
				   ? NULL
				   : selection_container(rollup->selection, view->container);
	uint64_t id = report_container_id(view);

	for (size_t i = 0; !name && i < rollup->names.count; i++) {
		name = rollup->names.at[i].id == id ? rollup->names.at[i].name : NULL;
	}
	return name ? name : "";
}

static struct rollup_row *container_of(struct rollup *rollup, struct rollup_table *table,
				       const struct rollup_row *thread)
{
	struct report_row like = { .id = report_container_id(&thread->view),
				   .name = name_of(rollup, &thread->view),
				   .keyed = "" };

	assert(table->table->scope == SCOPE_CONTAINER);
	return rollup_row_of(table, &like, 0);
}

/* By container: rows of processes say which one they are in. */
static void place_processes(const struct rollup *rollup, struct rollup_table *table)
{
	VEC_EACH_OF(&table->all, row) {
		bool is_known = row->view.container != 0;

		free(row->by);
		row->by = mem_strdup(is_known ? name_of(rollup, &row->view) : "");
		row->row.by = row->by;
		row->row.owner =
			is_known ? (int64_t)report_container_id(&row->view) : REPORT_NO_NUMBER;
	}
}

void rollup_group(struct rollup *rollup, struct rollup_table *table)
{
	struct rollup_table *threads = rollup_threads_of(rollup, table);

	for (size_t i = 0; threads && i < threads->all.count; i++) {
		const struct rollup_row *thread = threads->all.at[i];
		struct rollup_row *row;

		if (!thread->row.thread || !rollup_row_is_shown(threads, thread)) {
			continue; /* its levels were those of a window before */
		}
		row = table->table->scope == SCOPE_PROCESS ? process_of(rollup, table, thread)
							   : container_of(rollup, table, thread);
		columns_add(&table->columns, row->values, thread->values);
	}
	if (threads && table->table->has_containers && rollup->places) {
		place_processes(rollup, table);
	}
}

/*
 * ---- within an account ----
 *
 * A range has a row for each thread that lived in it, and nobody knows how many those are.  When
 * the account is full, those that did nothing for longest give way: what they did is added to the
 * row of their name and container, so sums, maxima and distributions by name stay exact.
 *
 *     web-7 (4711)  web-7 (4712)  web-8 (4713)      ──►      web-7   web-8
 */

/* A row, its places in a table, in the index and in the report. */
#define ROW_BYTES (sizeof(struct rollup_row) + 5 * sizeof(void *) + sizeof(struct report_row))

HASH_MAP(rollup_seen, uint64_t) /* by the hash of a thread: the last window that it was in */

void rollup_bound(struct rollup *rollup, struct account *account)
{
	assert(!rollup->is_open && account);
	rollup->account = account;
}

uint64_t rollup_ended(const struct rollup *rollup)
{
	return rollup->ended;
}

void rollup_charge(const struct rollup *rollup, const struct rollup_table *table,
		   struct rollup_row *row)
{
	uint64_t bytes = ROW_BYTES;

	row->seen = rollup->windows;
	if (!rollup->account) {
		return;
	}
	for (uint32_t c = 0; table->columns.has_histograms && c < table->columns.count; c++) {
		if (table->columns.kinds[c] == COLUMN_HISTOGRAM) {
			bytes += histogram_bytes(
				(const struct histogram *)(uintptr_t)row->values[c]);
		}
	}
	account_take(rollup->account, ACCOUNT_ROWS, bytes);
	account_give(rollup->account, ACCOUNT_ROWS, row->bytes);
	row->bytes = (uint32_t)bytes;
}

/* Rows that can give way.  Joining, those of processes are no sums of threads. */
static bool can_fold(const struct rollup *rollup, const struct rollup_table *table)
{
	return table->table->scope == SCOPE_THREAD ||
	       (rollup->joins && table->table->scope == SCOPE_PROCESS);
}

/* A thread has a row in the table of each analysis, and all of them stay or go. */
static void note_seen(const struct rollup *rollup, struct rollup_seen *seen)
{
	VEC_EACH_OF(&rollup->tables, table) {
		for (size_t i = 0; can_fold(rollup, table) && i < table->all.count; i++) {
			const struct rollup_row *row = table->all.at[i];
			bool is_new;
			uint64_t *last = rollup_seen_put(seen, rollup_row_hash(row), &is_new);

			*last = is_new || row->seen > *last ? row->seen : *last;
		}
	}
}

ORDER_VALUES(by_window, uint64_t)

/* Half of the threads were seen then or before; none of the last window. */
static uint64_t find_cut(const struct rollup *rollup, struct rollup_seen *seen)
{
	VEC(uint64_t) windows = { 0 };
	uint64_t cut;

	HASH_EACH(rollup_seen, seen, one) {
		*vec_push(&windows) = one->value;
	}
	vec_sort(&windows, by_window);
	cut = windows.count > 0 ? windows.at[windows.count / 2] : 0;
	vec_fini(&windows);
	return cut < rollup->windows ? cut : rollup->windows - 1;
}

/* The row of all that have the name, and are in the same container. */
static struct rollup_row *ended_of(struct rollup *rollup, struct rollup_table *table,
				   const struct rollup_row *row)
{
	bool is_named = table->ended < KEYED_ROWS_MAX;
	struct thread_view view = { .tid = -1,
				    .pid = -1,
				    .container = row->view.container,
				    .container_level = row->view.container_level };
	struct report_row like = { .id = ROW_KEY_NO_ID | report_container_id(&view),
				   .keyed = view.comm };
	size_t count = table->all.count;
	struct rollup_row *ended;

	assert(row->row.thread && !row->is_ended);
	(void)snprintf(view.comm, sizeof(view.comm), "%s",
		       is_named && row->view.comm[0] ? row->view.comm : "(ended)");
	ended = rollup_row_of(table, &like, 0);
	if (table->all.count > count) {
		ended->view = view;
		ended->row.thread = &ended->view;
		ended->is_ended = true;
		table->ended++;
	}
	rollup->ended++;
	return ended;
}

static void fold_table(struct rollup *rollup, struct rollup_table *table, struct rollup_seen *seen,
		       uint64_t cut)
{
	size_t count = table->all.count, kept = 0;

	for (size_t i = 0; i < count; i++) { /* those that are made meanwhile come behind */
		struct rollup_row *row = table->all.at[i], *ended;
		const uint64_t *last = rollup_seen_get(seen, rollup_row_hash(row));

		assert(last);
		if (row->is_ended || *last > cut || !row->row.thread) {
			table->all.at[kept++] = row;
			continue;
		}
		(void)rollup_rows_remove(&table->by_key, NULL,
					 rollup_rows_seek(&table->by_key, NULL, row));
		ended = ended_of(rollup, table, row);
		columns_move(&table->columns, ended->values, row->values);
		rollup_charge(rollup, table, ended);
		rollup_row_free(rollup, table, row);
	}
	memmove(table->all.at + kept, table->all.at + count,
		(table->all.count - count) * sizeof(table->all.at[0]));
	table->all.count -= count - kept;
}

/* Leaders of processes of which no thread has a row are not asked for any more. */
static void forget_leaders(struct rollup *rollup)
{
	struct rollup_leaders kept = { 0 };

	VEC_EACH_OF(&rollup->tables, table) {
		for (size_t i = 0; table->table->scope == SCOPE_THREAD && i < table->all.count;
		     i++) {
			uint64_t pid = (uint64_t)table->all.at[i]->view.pid;
			const struct thread_view *leader =
				rollup_leaders_get(&rollup->leaders, pid);

			if (leader) {
				*rollup_leaders_put(&kept, pid, NULL) = *leader;
			}
		}
	}
	rollup_leaders_fini(&rollup->leaders);
	rollup->leaders = kept;
}

void rollup_fold(struct rollup *rollup)
{
	struct rollup_seen seen = { 0 };
	uint64_t cut;

	if (!rollup->account || account_may_last(rollup->account, 0)) {
		return;
	}
	note_seen(rollup, &seen);
	cut = find_cut(rollup, &seen);
	VEC_EACH_OF(&rollup->tables, table) {
		if (can_fold(rollup, table)) {
			fold_table(rollup, table, &seen, cut);
		}
	}
	rollup_seen_fini(&seen);
	forget_leaders(rollup);
}
