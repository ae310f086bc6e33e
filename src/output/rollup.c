/*
 * rollup: see rollup.h.
 */
#include "output/rollup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/tables/columns.h"
#include "engine/tables/keyed.h"
#include "engine/tables/longest.h"

/* A row of a long window; `row` points to the other members. */
struct rollup_row {
	struct report_row row;
	struct thread_view view;
	struct instance instance;
	char *name, *keyed, *by; /* owned */
	uint64_t values[COLUMNS_MAX];
};

/* The text by which the row is found again.  A shown name may become known after the row began. */
static const char *key_of(const struct rollup_row *row)
{
	return row->row.keyed ? row->row.keyed : row->row.name ? row->row.name : "";
}

static uint32_t row_hash(const struct rollup_row *row)
{
	uint64_t hash = hash_text(row->row.id, key_of(row));

	return hash_mix(hash ^ (uint64_t)row->row.owner << 32);
}

static bool row_equal(const struct rollup_row *a, const struct rollup_row *b)
{
	return a->row.id == b->row.id && a->row.owner == b->row.owner &&
	       strcmp(key_of(a), key_of(b)) == 0;
}

KHASH_INIT(rollup_rows, struct rollup_row *, char, 0, row_hash, row_equal)

struct rollup_table {
	const struct table *table;
	uint16_t unknown; /* in the last short window */
	struct columns columns;
	khash_t(rollup_rows) * by_key;
	VEC(struct rollup_row *) all; /* of the window; single instances have no key */
	VEC(struct report_row) rows;  /* the same, sorted, for the report */
};

struct rollup {
	uint64_t interval_ns;
	size_t top;
	const struct selection *selection;
	bool is_open; /* a long window has begun, and not ended */
	uint64_t seq;
	struct report report;
	VEC(struct missing_event) missing;
	VEC(struct report_table) shown; /* a table of the report for each of tables */
	VEC(struct rollup_table *) tables;
};

struct rollup *rollup_new(uint64_t interval_ns, size_t top, const struct selection *selection)
{
	struct rollup *rollup = mem_alloc(sizeof(*rollup));

	assert(interval_ns > 0);
	rollup->interval_ns = interval_ns;
	rollup->top = top;
	rollup->selection = selection;
	return rollup;
}

static void empty(struct rollup_table *table)
{
	for (size_t i = 0; i < table->all.count; i++) {
		columns_empty(&table->columns, table->all.at[i]->values);
		free(table->all.at[i]->name);
		free(table->all.at[i]->keyed);
		free(table->all.at[i]->by);
		free(table->all.at[i]);
	}
	table->all.count = 0;
	table->rows.count = 0;
	kh_clear(rollup_rows, table->by_key);
}

void rollup_free(struct rollup *rollup)
{
	if (!rollup) {
		return;
	}
	for (size_t t = 0; t < rollup->tables.count; t++) {
		struct rollup_table *table = rollup->tables.at[t];

		empty(table);
		kh_destroy(rollup_rows, table->by_key);
		columns_fini(&table->columns);
		vec_fini(&table->all);
		vec_fini(&table->rows);
		free(table);
	}
	vec_fini(&rollup->tables);
	vec_fini(&rollup->shown);
	vec_fini(&rollup->missing);
	free(rollup);
}

/* ---- rows ---- */

static struct rollup_table *table_of(struct rollup *rollup, const struct report_table *from)
{
	struct rollup_table *table;

	for (size_t i = 0; i < rollup->tables.count; i++) {
		if (rollup->tables.at[i]->table == from->table) {
			return rollup->tables.at[i];
		}
	}
	table = mem_alloc(sizeof(*table));
	table->table = from->table;
	columns_append(&table->columns, from->table);
	table->by_key = kh_init(rollup_rows);
	*vec_push(&rollup->tables) = table;
	*vec_push(&rollup->shown) = (struct report_table){ .analysis = from->analysis,
							   .table = from->table,
							   .is_whole = from->is_whole };
	return table;
}

static void show_name(struct rollup_row *to, const struct report_row *from)
{
	if (from->name && (!to->name || strcmp(to->name, from->name) != 0)) {
		free(to->name);
		to->name = mem_strdup(from->name);
	}
	to->row.name = to->name;
	if (from->by && (!to->by || strcmp(to->by, from->by) != 0)) {
		free(to->by);
		to->by = mem_strdup(from->by);
	}
	to->row.by = to->by;
}

static void show_thread(struct rollup_row *to, const struct report_row *from)
{
	if (from->thread) {
		to->view = *from->thread;
		to->row.thread = &to->view;
	}
}

static struct rollup_row *new_row(struct rollup_table *table, const struct report_row *from)
{
	struct rollup_row *row = mem_alloc(sizeof(*row));

	row->row = *from;
	show_name(row, from);
	row->keyed = from->keyed ? mem_strdup(from->keyed) : NULL;
	row->row.keyed = row->keyed;
	row->row.values = row->values;
	*vec_push(&table->all) = row;
	return row;
}

static struct rollup_row *row_of(struct rollup_table *table, const struct report_row *from)
{
	struct rollup_row like = { .row = *from };
	khint_t at = kh_get(rollup_rows, table->by_key, &like);
	struct rollup_row *row;
	int is_new;

	if (at != kh_end(table->by_key)) {
		show_name(kh_key(table->by_key, at), from);
		return kh_key(table->by_key, at);
	}
	row = new_row(table, from);
	(void)kh_put(rollup_rows, table->by_key, row, &is_new);
	return row;
}

/* Figures at the end of a window are those of the last short window. */
static void forget_last(struct rollup_table *table)
{
	for (uint32_t c = 0; c < table->columns.count; c++) {
		bool is_last = table->columns.kinds[c] == COLUMN_LAST ||
			       table->columns.kinds[c] == COLUMN_LAST_MAX;

		for (size_t i = 0; is_last && i < table->all.count; i++) {
			table->all.at[i]->values[c] = 0;
		}
	}
}

static void add_instance(struct rollup_table *table, const struct report_row *from)
{
	struct rollup_row *row = new_row(table, from);

	row->instance = *from->instance;
	row->row.instance = &row->instance;
	row->row.name = row->instance.keyed.name;
	show_thread(row, from);
}

static void add_rows(struct rollup_table *table, const struct report_table *from)
{
	table->unknown = from->unknown;
	forget_last(table);
	for (size_t i = 0; i < from->row_count; i++) {
		struct rollup_row *row;

		if (from->rows[i].instance) {
			add_instance(table, &from->rows[i]);
			continue;
		}
		row = row_of(table, &from->rows[i]);
		show_thread(row, &from->rows[i]);
		columns_add(&table->columns, row->values, from->rows[i].values);
	}
}

/* ---- order ---- */

static int by_instance(const void *left, const void *right)
{
	const struct report_row *a = left, *b = right;

	return longest_compare(a->instance, a->thread, b->instance, b->thread);
}

static void sort(struct rollup *rollup, struct rollup_table *table)
{
	size_t most = longest_shown(rollup->top);

	table->rows.count = 0;
	for (size_t i = 0; i < table->all.count; i++) {
		*vec_push(&table->rows) = table->all.at[i]->row;
	}
	if (table->table->scope != SCOPE_LONGEST) {
		report_sort(table->table, rollup->selection, table->rows.at, table->rows.count,
			    rollup->top);
	} else if (table->rows.count > 1) {
		qsort(table->rows.at, table->rows.count, sizeof(table->rows.at[0]), by_instance);
		table->rows.count = table->rows.count < most ? table->rows.count : most;
	}
}

/* ---- windows ---- */

static void begin(struct rollup *rollup, const struct report *window)
{
	for (size_t t = 0; t < rollup->tables.count; t++) {
		empty(rollup->tables.at[t]);
	}
	rollup->is_open = true;
	rollup->report = (struct report){ .kind = REPORT_WINDOW,
					  .seq = rollup->seq++,
					  .begin = window->begin,
					  .complete = true };
}

static void add_figures(struct report *to, const struct report *from)
{
	assert(from->begin >= to->begin);
	to->end = from->end;
	to->complete &= from->complete;
	to->has_lag = from->has_lag;
	to->lag_ns = from->lag_ns;
	to->events += from->events;
	to->discarded += from->discarded;
	to->lost_packets += from->lost_packets;
	to->bad_packets += from->bad_packets;
	to->late_events += from->late_events;
}

static const struct report *finish(struct rollup *rollup)
{
	assert(rollup->is_open);
	assert(rollup->shown.count == rollup->tables.count);
	for (size_t t = 0; t < rollup->tables.count; t++) {
		sort(rollup, rollup->tables.at[t]);
		rollup->shown.at[t].rows = rollup->tables.at[t]->rows.at;
		rollup->shown.at[t].row_count = rollup->tables.at[t]->rows.count;
		rollup->shown.at[t].unknown = rollup->tables.at[t]->unknown;
	}
	rollup->report.tables = rollup->shown.at;
	rollup->report.table_count = rollup->shown.count;
	rollup->is_open = false;
	return &rollup->report;
}

/* Events that come during the long window are recorded from there on. */
static void add_missing(struct rollup *rollup, const struct report *window)
{
	rollup->missing.count = 0;
	vec_append(&rollup->missing, window->missing, window->missing_count);
	rollup->report.missing = rollup->missing.at;
	rollup->report.missing_count = rollup->missing.count;
}

static void add(struct rollup *rollup, const struct report *window, rollup_show *show, void *user)
{
	if (!rollup->is_open) {
		begin(rollup, window);
	}
	add_figures(&rollup->report, window);
	add_missing(rollup, window);
	for (size_t t = 0; t < window->table_count; t++) {
		add_rows(table_of(rollup, &window->tables[t]), &window->tables[t]);
	}
	if (window->end / rollup->interval_ns > rollup->report.begin / rollup->interval_ns) {
		show(user, finish(rollup));
	}
}

void rollup_report(struct rollup *rollup, const struct report *report, rollup_show *show,
		   void *user)
{
	if (rollup && report->kind == REPORT_WINDOW) {
		add(rollup, report, show, user);
		return;
	}
	if (rollup && report->kind == REPORT_TOTAL && rollup->is_open) {
		show(user, finish(rollup)); /* the trace ends within a long window */
	}
	show(user, report);
}
