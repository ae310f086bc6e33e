/*
 * reader: see reader.h.
 */
#include "store/reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "engine/tables/columns.h"
#include "store/reader-state.h"
#include "store/rows/head.h"
#include "store/store.h"

/* ---- opening ---- */

struct store_trace reader_trace_of(sqlite3_stmt *row)
{
	return (struct store_trace){
		.number = sqlite3_column_int64(row, 0),
		.id = sqlite_text(row, 5),
		.uuid = sqlite_text(row, 6),
		.identity = { .host = sqlite_text(row, 1),
			      .session = sqlite_text(row, 2),
			      .domain = sqlite_text(row, 3),
			      .path = sqlite_text(row, 4),
			      .tracer = sqlite_text(row, 7) },
	};
}

void reader_trace_fini(struct store_trace *trace)
{
	output_trace_fini(&trace->identity);
	free(trace->id);
	free(trace->uuid);
}

static int read_traces(struct store_reader *reader, struct err *err)
{
	sqlite3_stmt *all = NULL;
	int r = sqlite_prepare(reader->db, reader->path,
			       READER_TRACES " ORDER BY host, session, domain, path, id", &all,
			       err);
	int step = SQLITE_DONE;

	while (r == 0 && (step = sqlite3_step(all)) == SQLITE_ROW) {
		*vec_push(&reader->traces) = reader_trace_of(all);
	}
	r = r < 0 || step == SQLITE_DONE ? r : sqlite_failed(reader->db, reader->path, err);
	(void)sqlite3_finalize(all);
	return r;
}

/* @wanted: the distributions that are read. */
static int open_rows(struct store_reader *reader, size_t a, size_t t, uint16_t wanted,
		     struct err *err)
{
	struct read_table *table = reader->tables[a][t];
	char name[STORE_NAME_MAX], *columns;
	int r = 0;

	sqlite_cursor_close(&table->cursor);
	table->cursor = (struct sqlite_cursor){ 0 };
	table->lacks = 0;
	table->wanted = wanted;
	store_table_name(analyses[a], t, name);
	columns = sqlite_columns_of(reader->db, name, table->columns, table->count, wanted,
				    &table->lacks);
	if (columns) {
		r = sqlite_cursor_open(reader->db, reader->path, name, columns, &table->cursor,
				       err);
	}
	for (unsigned int c = 0; c < table->kinds.count; c++) {
		uint16_t sum_of = analyses[a]->tables[t].columns[c].sum_of;

		if (sum_of && !(table->lacks & sum_of)) {
			table->lacks &= (uint16_t) ~(1u << c);
		}
	}
	free(columns);
	return r;
}

static int open_table(struct store_reader *reader, size_t a, size_t t, struct err *err)
{
	struct read_table *table = mem_alloc(sizeof(*table));

	reader->tables[a][t] = table;
	table->count = store_columns(analyses[a], &analyses[a]->tables[t], table->columns);
	columns_append(&table->kinds, &analyses[a]->tables[t]);
	return open_rows(reader, a, t, ALL_COLUMNS, err);
}

static int open_tables(struct store_reader *reader, struct err *err)
{
	static const struct store_column columns[] = {
		{ .name = "end" },         { .name = "complete" },     { .name = "events" },
		{ .name = "discarded" },   { .name = "lost_packets" }, { .name = "bad_packets" },
		{ .name = "late_events" }, { .name = "anomalies" },    { .name = "misfits" },
		{ .name = "missing" },     { .name = "unknown" },
	};
	uint16_t none;
	char *list = sqlite_columns_of(reader->db, "windows", columns, ARRAY_COUNT(columns),
				       ALL_COLUMNS, &none);
	int r = sqlite_cursor_open(reader->db, reader->path, "windows", list ? list : "",
				   &reader->heads, err);

	r = r < 0 ? r
		  : sqlite_cursor_open(reader->db, reader->path, "threads",
				       ", tid, nth, was_tid, was_nth, is_reused, pid, comm, prio,"
				       " container",
				       &reader->views, err);
	free(list);
	for (size_t a = 0; r == 0 && analyses[a]; a++) {
		for (size_t t = 0;
		     r == 0 && t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			r = open_table(reader, a, t, err);
		}
	}
	return r;
}

static int open_file(struct store_reader *reader, const char *url, struct err *err)
{
	const char *path = store_file_of(url, err);
	bool is_new = false;
	int r;

	if (!path) {
		return -EINVAL;
	}
	reader->path = mem_strdup(path);
	r = sqlite_open_read(path, &reader->db, &is_new, err);
	if (r == 0 && is_new) {
		r = err_raise(err, -EINVAL, "%s: is no store: it is empty", path);
	}
	/* One state of the store, whatever is written meanwhile. */
	return r < 0 ? r : sqlite_run(reader->db, path, "BEGIN", err);
}

static int open_server(struct store_reader *reader, const char *url, const atomic_bool *stop,
		       struct err *err)
{
	int r = mirror_open(url, stop, &reader->mirror, err);

	if (r == 0) {
		reader->db = mirror_database(reader->mirror);
		reader->path = mem_strdup(mirror_name(reader->mirror));
	}
	return r;
}

int store_reader_open(const char *url, const atomic_bool *stop, struct store_reader **ret,
		      struct err *err)
{
	struct store_reader *reader = mem_alloc(sizeof(*reader));
	int r = store_is_clickhouse(url) ? open_server(reader, url, stop, err)
					 : open_file(reader, url, err);

	r = r < 0 ? r : read_traces(reader, err);
	r = r < 0 ? r : open_tables(reader, err);
	if (r < 0) {
		store_reader_close(reader);
		return r;
	}
	store_reader_want(reader, analyses, NULL, true);
	*ret = reader;
	return 0;
}

int store_reader_check(const char *url, struct err *err)
{
	struct store_reader *reader = NULL;
	int r;

	if (store_is_clickhouse(url)) {
		return mirror_check_url(url, err);
	}
	r = store_reader_open(url, NULL, &reader, err);
	if (r == 0) {
		store_reader_close(reader);
	}
	return r;
}

static void empty_rows(struct read_table *table)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		columns_empty(&table->kinds, table->rows.at[i].values);
	}
	table->rows.count = 0;
	table->shown.count = 0;
	table->unwritten = 0;
}

void store_reader_close(struct store_reader *reader)
{
	if (!reader) {
		return;
	}
	if (reader->members.count > 0) {
		reader_many_close(reader);
		return;
	}
	sqlite_cursor_close(&reader->heads);
	sqlite_cursor_close(&reader->views);
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			struct read_table *table = reader->tables[a][t];

			if (table) {
				empty_rows(table);
				sqlite_cursor_close(&table->cursor);
				columns_fini(&table->kinds);
				vec_fini(&table->rows);
				vec_fini(&table->shown);
				free(table);
			}
		}
	}
	vec_fini_each(&reader->traces, reader_trace_fini);
	vec_fini(&reader->report_tables);
	vec_fini(&reader->missing);
	vec_fini(&reader->known_views);
	vec_fini(&reader->parts);
	arena_fini(&reader->texts);
	if (reader->mirror) {
		mirror_close(reader->mirror);
	} else {
		(void)sqlite3_close(reader->db);
	}
	free(reader->path);
	free(reader->unknown);
	free(reader->missing_text);
	free(reader);
}

const char *store_reader_name(const struct store_reader *reader)
{
	return reader->path;
}

const struct store_trace *store_reader_traces(const struct store_reader *reader, size_t *ret_count)
{
	*ret_count = reader->traces.count;
	return reader->traces.at;
}

void store_reader_want(struct store_reader *reader, const struct analysis *const *list,
		       const struct selection *selection, bool wants_containers)
{
	reader->list = list;
	reader->selection = selection;
	reader->wants_containers = wants_containers;
	reader->only = NULL;
	reader->needs_threads = true;
	for (size_t m = 0; m < reader->members.count; m++) {
		store_reader_want(reader->members.at[m].reader, list, selection, wants_containers);
	}
}

void store_reader_say_all(struct store_reader *reader)
{
	reader->says_all = true;
}

int store_reader_want_tables(struct store_reader *reader, const uint16_t (*tables)[TABLES_MAX],
			     struct err *err)
{
	int r = 0;

	reader->only = tables;
	reader->needs_threads = false;
	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			reader->needs_threads |=
				tables[a][t] != 0 && analyses[a]->tables[t].scope == SCOPE_THREAD;
			if (r == 0 && tables[a][t] != 0 && reader->tables[a][t]) {
				r = open_rows(reader, a, t, tables[a][t], err);
			}
		}
	}
	for (size_t m = 0; r == 0 && m < reader->members.count; m++) {
		r = store_reader_want_tables(reader->members.at[m].reader, tables, err);
	}
	return r;
}

/* ---- one window ---- */

static int failed(struct store_reader *reader, struct err *err)
{
	return sqlite_failed(reader->db, reader->path, err);
}

static bool is_by_cpu(const struct table *table)
{
	return table->id_key && strcmp(table->id_key, "cpu") == 0;
}

static bool is_instance_wanted(const struct selection *selection, const struct table *table,
			       const struct store_row *row)
{
	const struct instance *instance = &row->instance;
	uint8_t selects = selection_of(selection) & ~table->of_all;

	return instance->ns >= selection->min_ns && instance->ns <= selection->max_ns &&
	       (!(selects & OF_ALL_CPUS) || instance->cpu == UINT64_MAX ||
		selection_wants_cpu(selection, instance->cpu)) &&
	       (!(selects & OF_ALL_THREADS) ||
		(row->row.thread && selection_wants_thread(selection, &row->view))) &&
	       selection_wants_irq(selection, table, instance->keyed.id, instance->keyed.name);
}

static bool is_row_wanted(const struct selection *selection, const struct table *table,
			  const struct store_row *row)
{
	switch (table->scope) {
	case SCOPE_THREAD:
		return selection_wants_thread(selection, &row->view);
	case SCOPE_CPU:
		return selection_wants_cpu(selection, row->row.id);
	case SCOPE_KEYED:
		return (!is_by_cpu(table) || selection_wants_cpu(selection, row->row.id)) &&
		       selection_wants_irq(selection, table, row->row.id, row->row.name);
	case SCOPE_LONGEST:
		return is_instance_wanted(selection, table, row);
	default:
		return true;
	}
}

static bool is_left_out(const struct store_reader *reader, size_t a, size_t t)
{
	return reader->only && reader->only[a][t] == 0;
}

bool store_reader_needs(const struct store_reader *reader, size_t a, size_t t)
{
	const struct table *table = &analyses[a]->tables[t];

	return !is_left_out(reader, a, t) &&
	       (table->scope != SCOPE_CONTAINER || reader->only || reader->wants_containers);
}

static int read_rows(struct store_reader *reader, size_t a, size_t t,
		     const struct sqlite_place *place, struct err *err)
{
	struct read_table *table = reader->tables[a][t];
	const struct table *of = &analyses[a]->tables[t];
	struct store_cell cells[STORE_COLUMNS_MAX];
	int r = store_reader_needs(reader, a, t) ? sqlite_cursor_seek(&table->cursor, place) : 0;

	assert(table->rows.count == 0);
	while (r > 0) {
		struct store_row *row = vec_push(&table->rows);

		sqlite_cells(&table->cursor, table->columns, table->count, table->wanted, cells);
		if (store_take_row(of, table->columns, table->count, cells, &reader->texts, row) <
		    0) {
			return err_raise(err, -EINVAL, "%s: damaged: a row of %s is impossible",
					 reader->path, of->key ? of->key : "the totals");
		}
		table->unwritten |= row->unwritten;
		if (reader->selection) {
			store_show_kind(of, row, selection_by_service(reader->selection));
		}
		if (reader->selection && !is_row_wanted(reader->selection, of, row)) {
			columns_empty(&table->kinds, row->values);
			table->rows.count--;
		}
		r = sqlite_cursor_next(&table->cursor, place);
	}
	return r < 0 ? failed(reader, err) : 0;
}

/* Rows do not move any more: they may point to each other's members. */
static void show_rows(struct read_table *table)
{
	assert(table->shown.count == 0);
	VEC_EACH(&table->rows, row) {
		row->row.values = row->values;
		row->row.thread = row->row.thread ? &row->view : NULL;
		row->row.instance = row->row.instance ? &row->instance : NULL;
		row->row.keyed = row->row.keyed ? row->keyed : NULL;
		if (row->row.instance) {
			row->row.name = row->instance.keyed.name;
		}
		*vec_push(&table->shown) = row->row;
	}
}

/* Figures that are those of all, whatever is selected: of a window it is not known which thread or
 * CPU had a part of them. */
static bool is_whole(const struct selection *selection, const struct table *table)
{
	uint8_t selected = selection ? selection_of(selection) : 0;
	uint8_t told_apart = table->scope == SCOPE_THREAD || table->scope == SCOPE_PROCESS ||
					     table->scope == SCOPE_CONTAINER
				     ? OF_ALL_THREADS
			     : table->scope == SCOPE_CPU || is_by_cpu(table) ? OF_ALL_CPUS
			     : table->scope == SCOPE_LONGEST ? OF_ALL_THREADS | OF_ALL_CPUS
							     : 0;

	return (selected & table->of_all) ||
	       (selected & ~told_apart & (OF_ALL_THREADS | OF_ALL_CPUS));
}

/* Instances of some lists do not say on which CPU they were: all are shown. */
static bool has_unknown_cpus(const struct selection *selection, const struct read_table *table,
			     const struct table *of)
{
	if (!selection || of->scope != SCOPE_LONGEST || !(selection_of(selection) & OF_ALL_CPUS)) {
		return false;
	}
	for (size_t i = 0; i < table->rows.count; i++) {
		if (table->rows.at[i].instance.cpu == UINT64_MAX) {
			return true;
		}
	}
	return false;
}

/* The figures of a table that the window's head calls unknown. */
static uint16_t unknown_in(struct store_reader *reader, size_t a, size_t t)
{
	struct read_table *table = reader->tables[a][t];

	if (table->unknown_of != reader->unknown_number) {
		table->unknown = store_head_unknown(reader->unknown, analyses[a], t);
		table->unknown_of = reader->unknown_number;
	}
	return table->unknown;
}

static void take_unknown(struct store_reader *reader, const char *text)
{
	if (!reader->unknown || strcmp(reader->unknown, text) != 0) {
		free(reader->unknown);
		reader->unknown = mem_strdup(text);
		reader->unknown_number++;
	}
}

static int read_analysis(struct store_reader *reader, size_t a, const struct sqlite_place *place,
			 struct err *err)
{
	int r = 0;

	for (size_t t = 0; r == 0 && t < TABLES_MAX && reader->tables[a][t]; t++) {
		struct read_table *table = reader->tables[a][t];
		const struct table *of = &analyses[a]->tables[t];

		if (scope_is_of_pairs(of->scope) || is_left_out(reader, a, t)) {
			continue;
		}
		empty_rows(table);
		r = read_rows(reader, a, t, place, err);
		if (of->scope == SCOPE_TRACE && table->rows.count == 0) {
			/* The trace always has its row. */
			memset(vec_push(&table->rows), 0, sizeof(table->rows.at[0]));
			table->unwritten = ALL_COLUMNS;
		}
		show_rows(table);
		*vec_push(&reader->report_tables) = (struct report_table){
			.analysis = analyses[a],
			.table = of,
			.rows = table->shown.at,
			.row_count = table->shown.count,
			.unknown = table->lacks | table->unwritten | unknown_in(reader, a, t),
			.is_of_services = selection_by_service(reader->selection),
			.is_whole = is_whole(reader->selection, of) ||
				    has_unknown_cpus(reader->selection, table, of)
		};
	}
	return r;
}

/* A store of others may name any number: what is not kept has no name. */
static const char *kept_event(const char *text, size_t len)
{
	const char *kept = missing_kept(text, len);

	return kept ? kept : "(another event)";
}

/* Lines of "cpu:sched_switch". */
static void read_missing(struct store_reader *reader, uint64_t lists, const char *text)
{
	if (reader->missing_text && reader->missing_lists == lists &&
	    strcmp(reader->missing_text, text) == 0) {
		return;
	}
	free(reader->missing_text);
	reader->missing_text = mem_strdup(text);
	reader->missing_lists = lists;
	reader->missing.count = 0;
	for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
		const char *colon = memchr(at, ':', (size_t)(end - at));

		for (size_t a = 0; colon && analyses[a]; a++) {
			if (strlen(analyses[a]->name) == (size_t)(colon - at) &&
			    strncmp(analyses[a]->name, at, (size_t)(colon - at)) == 0 &&
			    lists >> a & 1) {
				*vec_push(&reader->missing) = (struct missing_event){
					.analysis = analyses[a],
					.event = kept_event(colon + 1, (size_t)(end - colon - 1)),
				};
			}
		}
	}
}

static int read_views(struct store_reader *reader, const struct sqlite_place *place,
		      struct err *err)
{
	int r = reader->needs_threads ? sqlite_cursor_seek(&reader->views, place) : 0;

	reader->known_views.count = 0;
	while (r > 0) {
		sqlite3_stmt *at = reader->views.scan;
		struct report_view *view = vec_push(&reader->known_views);
		const char *comm = (const char *)sqlite3_column_text(at, 8);

		*view = (struct report_view){ .is_reused = sqlite3_column_int(at, 6) };
		view->id = (uint64_t)(uint32_t)sqlite3_column_int64(at, 2) << 32 |
			   (uint32_t)sqlite3_column_int64(at, 3);
		view->was = (uint64_t)(uint32_t)sqlite3_column_int64(at, 4) << 32 |
			    (uint32_t)sqlite3_column_int64(at, 5);
		view->view.tid = (int32_t)sqlite3_column_int64(at, 2);
		view->view.pid = sqlite3_column_int(at, 7);
		(void)snprintf(view->view.comm, sizeof(view->view.comm), "%s", comm ? comm : "");
		view->view.has_prio = sqlite3_column_type(at, 9) != SQLITE_NULL;
		view->view.prio = sqlite3_column_int(at, 9);
		report_set_container(&view->view, (uint64_t)sqlite3_column_int64(at, 10));
		if (reader->selection) {
			store_show_kind_of(&view->view, selection_by_service(reader->selection));
		}
		r = sqlite_cursor_next(&reader->views, place);
	}
	return r < 0 ? failed(reader, err) : 0;
}

/* Only a row of windows without an event is longer than its windows. */
static uint64_t empty_windows(const struct store_window *window, const struct report *report)
{
	uint64_t length = window->end - window->begin;

	return report->events == 0 && length > window->level ? length / window->level : 0;
}

static void read_head(sqlite3_stmt *at, const struct store_window *window, struct report *ret)
{
	ret->end = (uint64_t)sqlite3_column_int64(at, 2) - window->ahead_ns;
	ret->complete = sqlite3_column_int(at, 3);
	ret->group = window->group;
	if (!(window->lists & STORE_HEAD)) {
		return; /* another window of this time has them */
	}
	ret->events = (uint64_t)sqlite3_column_int64(at, 4);
	for (int i = 0; i < LOSSES; i++) {
		ret->lost.of[i] = (uint64_t)sqlite3_column_int64(at, 5 + i);
	}
	ret->empty = empty_windows(window, ret);
}

/* Which of the expected analyses the time of this window has. */
static void read_parts(struct store_reader *reader, const struct store_window *window)
{
	uint64_t ns = window->end - window->begin;

	assert(window->begin <= window->end);
	reader->parts.count = 0;
	for (size_t a = 0; analyses[a]; a++) {
		bool is_known = window->lists >> a & 1;

		if (window->expected >> a & 1 && (is_known || window->group == 0)) {
			*vec_push(&reader->parts) =
				(struct report_part){ .analysis = analyses[a],
						      .known_ns = is_known ? ns : 0,
						      .of_ns = window->group == 0 ? ns : 0 };
		}
	}
}

int store_reader_read(struct store_reader *reader, const struct store_window *window,
		      struct report *ret, struct err *err)
{
	struct sqlite_place place;
	const char *missing, *unknown; /* until the cursor goes on */
	bool is_whole;
	int r;

	if (reader->members.count > 0) {
		return reader_many_read(reader, window, ret, err);
	}
	assert(window->trace < reader->traces.count && window->ahead_ns <= window->begin);
	place = (struct sqlite_place){ (int64_t)window->level, (int64_t)window->begin,
				       reader->traces.at[window->trace].number };
	r = sqlite_cursor_seek(&reader->heads, &place);
	if (r <= 0) {
		return r < 0 ? failed(reader, err)
			     : err_raise(err, -EINVAL, "%s: damaged: a window is missing",
					 reader->path);
	}
	*ret = (struct report){ .kind = REPORT_WINDOW, .begin = store_window_at(window) };
	read_head(reader->heads.scan, window, ret);
	missing = (const char *)sqlite3_column_text(reader->heads.scan, 11);
	unknown = (const char *)sqlite3_column_text(reader->heads.scan, 12);
	arena_reset(&reader->texts);
	reader->report_tables.count = 0;
	is_whole = missing && unknown && ret->lost.of[LOSS_MISFITS] <= ret->lost.of[LOSS_ANOMALIES];
	if (is_whole) {
		take_unknown(reader, unknown);
	}
	r = is_whole ? read_views(reader, &place, err)
		     : err_raise(err, -EINVAL, "%s: damaged", reader->path);
	for (size_t a = 0; r == 0 && analyses[a]; a++) {
		if (window->lists >> a & 1) {
			r = read_analysis(reader, a, &place, err);
		}
	}
	if (r == 0) {
		read_missing(reader, window->lists, missing);
	}
	read_parts(reader, window);
	ret->tracer = missing_tracer(reader->traces.at[window->trace].identity.tracer);
	ret->tables = reader->report_tables.at;
	ret->table_count = reader->report_tables.count;
	ret->missing = reader->missing.at;
	ret->missing_count = reader->missing.count;
	ret->views = reader->known_views.at;
	ret->view_count = reader->known_views.count;
	ret->parts = reader->parts.at;
	ret->part_count = reader->parts.count;
	return r;
}
