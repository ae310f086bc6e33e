/*
 * sqlite-write: see sqlite-write.h.
 */
#include "store/sqlite/sqlite-write.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/now.h"
#include "store/rows/head.h"
#include "store/sqlite/sqlite-write-state.h"

/* ---- opening ---- */

static int prepare_all(struct sqlite_writer *writer, struct err *err)
{
	const struct sqlite_statement all[] = {
		{ &writer->put_trace,
		  "INSERT INTO traces(id, uuid, host, session, domain, path, tracer)"
		  " VALUES(?, ?, ?, ?, ?, ?, ?)"
		  " ON CONFLICT(id) DO UPDATE SET domain = excluded.domain, path = excluded.path,"
		  " tracer = coalesce(excluded.tracer, tracer)" },
		{ &writer->find_trace, "SELECT trace FROM traces WHERE id = ?" },
		{ &writer->find_window,
		  "SELECT complete, analyses, events, \"end\", missing, unknown"
		  " FROM windows WHERE level = ? AND begin = ? AND trace = ?" },
		{ &writer->put_window, "INSERT OR REPLACE INTO windows(" SQLITE_WINDOWS
				       ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
		{ &writer->put_thread, "INSERT OR REPLACE INTO threads(" SQLITE_THREADS
				       ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
		{ &writer->remove_threads,
		  "DELETE FROM threads WHERE level = ? AND begin = ? AND trace = ?" },
		{ &writer->remove_window,
		  "DELETE FROM windows WHERE level = ? AND begin = ? AND trace = ?" },
		{ &writer->put_loss,
		  "INSERT OR REPLACE INTO losses(trace, what, stream, packet, begin, \"end\","
		  " message) VALUES(?, ?, ?, ?, ?, ?, ?)" },
		{ &writer->put_trigger, "INSERT OR REPLACE INTO triggers(trace, name, \"end\","
					" begin, json) VALUES(?, ?, ?, ?, ?)" },
		{ &writer->put_capture, "INSERT OR REPLACE INTO captures(host, session, begin,"
					" \"end\", path, json) VALUES(?, ?, ?, ?, ?, ?)" },
		{ &writer->put_phase,
		  "INSERT OR REPLACE INTO phases(trace, slice_ns, begin, \"end\", number, slices,"
		  " open, change, json) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)" },
		{ &writer->put_gap,
		  "INSERT INTO gaps(begin, \"end\", windows, why) VALUES(?, ?, ?, ?)" },
	};

	return sqlite_prepare_all(writer->db, writer->path, all, ARRAY_COUNT(all), err);
}

#define WAL_TRIES    500
#define WAL_PAUSE_NS (10 * 1000000L)

/* Another run that begins the store holds it shortly.  SQLite does not wait where the journal
 * changes: both would wait for each other. */
static int use_wal(sqlite3 *db, const char *path, struct err *err)
{
	const struct timespec pause = { .tv_nsec = WAL_PAUSE_NS };
	int r = SQLITE_BUSY;

	for (unsigned int i = 0; r == SQLITE_BUSY && i < WAL_TRIES && !now_must_end(); i++) {
		if (i > 0) {
			(void)nanosleep(&pause, NULL);
		}
		r = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	}
	return r == SQLITE_OK ? 0 : sqlite_failed(db, path, err);
}

int sqlite_writer_open(const char *path, uint64_t interval_ns, struct sqlite_writer **ret,
		       struct err *err)
{
	struct sqlite_writer *writer = mem_alloc(sizeof(*writer));
	bool is_new = false;
	char version[64];
	int r = sqlite_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &writer->db, &is_new,
			    err);

	assert(interval_ns > 0);
	writer->path = mem_strdup(path);
	writer->level = (int64_t)interval_ns;
	(void)snprintf(version, sizeof(version),
		       "PRAGMA application_id = %d; PRAGMA user_version = %d", SQLITE_STORE_ID,
		       STORE_VERSION);
	if (r == 0) {
		r = use_wal(writer->db, path, err);
		r = r < 0 ? r
			  : sqlite_run(writer->db, path,
				       "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384",
				       err);
	}
	r = r < 0 ? r : sqlite_run(writer->db, path, "BEGIN IMMEDIATE", err);
	r = r < 0 ? r : sqlite_run(writer->db, path, version, err);
	r = r < 0 ? r : sqlite_run(writer->db, path, sqlite_first_tables, err);
	r = r < 0 ? r : sqlite_grow_first(writer, err);
	r = r < 0 ? r : sqlite_run(writer->db, path, "COMMIT", err);
	r = r < 0 ? r : prepare_all(writer, err);
	if (r < 0) {
		sqlite_writer_close(writer);
		return r;
	}
	*ret = writer;
	return 0;
}

uint64_t sqlite_writer_bytes(struct sqlite_writer *writer)
{
	sqlite3_stmt *pages = NULL;
	uint64_t bytes = 0;
	struct err ignored;
	int r = sqlite_prepare(writer->db, writer->path,
			       "SELECT (page_count - freelist_count) * page_size FROM"
			       " pragma_page_count, pragma_freelist_count, pragma_page_size",
			       &pages, &ignored);

	if (r == 0 && sqlite3_step(pages) == SQLITE_ROW) {
		bytes = (uint64_t)sqlite3_column_int64(pages, 0);
	}
	(void)sqlite3_finalize(pages);
	return bytes;
}

void sqlite_writer_close(struct sqlite_writer *writer)
{
	if (!writer) {
		return;
	}
	sqlite_close(writer->db);
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			free(writer->tables[a][t]);
		}
	}
	vec_fini(&writer->traces);
	vec_fini(&writer->scratch.text);
	free(writer->path);
	free(writer);
}

/* ---- rows ---- */

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	if (text) {
		(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
	} else {
		(void)sqlite3_bind_null(statement, at);
	}
}

static void bind_place(sqlite3_stmt *statement, const struct sqlite_place *place)
{
	sqlite_bind(statement, 1, place->level, place->begin, place->trace);
}

static int put_row(struct sqlite_writer *writer, const struct written *table,
		   const struct store_cell *cells, struct err *err)
{
	for (size_t i = 0; i < table->count; i++) {
		int at = (int)i + 4;

		if (cells[i].is_null) {
			(void)sqlite3_bind_null(table->insert, at);
		} else if (table->columns[i].is_text) {
			(void)sqlite3_bind_text(table->insert, at, cells[i].text, (int)cells[i].len,
						SQLITE_STATIC);
		} else {
			(void)sqlite3_bind_int64(table->insert, at, cells[i].number);
		}
	}
	writer->rows++;
	return sqlite_step(writer->db, writer->path, table->insert, err);
}

static size_t index_of(const struct analysis *analysis)
{
	size_t i = 0;

	while (analyses[i] != analysis) {
		assert(analyses[i]);
		i++;
	}
	return i;
}

static int put_table(struct sqlite_writer *writer, const struct report_table *from,
		     const struct sqlite_place *place, struct err *err)
{
	struct store_cell cells[STORE_COLUMNS_MAX];
	size_t a = index_of(from->analysis), t = (size_t)(from->table - from->analysis->tables);
	struct written *table;
	int r = sqlite_table_at(writer, a, t, &table, err);

	assert(t < TABLES_MAX);
	if (r == 0) {
		bind_place(table->insert, place);
	}
	for (size_t i = 0; r == 0 && i < from->row_count; i++) {
		store_cells(from, &from->rows[i], table->columns, table->count, cells,
			    &writer->scratch);
		r = put_row(writer, table, cells, err);
	}
	return r;
}

/* ---- windows ---- */

static int put_thread(struct sqlite_writer *writer, const struct report_view *view,
		      const struct sqlite_place *place, struct err *err)
{
	sqlite3_stmt *put = writer->put_thread;

	bind_place(put, place);
	sqlite_bind(put, 4, (int32_t)(view->id >> 32), (uint32_t)view->id,
		    (int32_t)(view->was >> 32), (uint32_t)view->was, view->is_reused,
		    view->view.pid);
	bind_text(put, 10, view->view.comm);
	if (view->view.has_prio) {
		(void)sqlite3_bind_int64(put, 11, view->view.prio);
	} else {
		(void)sqlite3_bind_null(put, 11);
	}
	(void)sqlite3_bind_int64(put, 12, (int64_t)store_container(&view->view));
	writer->rows++;
	return sqlite_step(writer->db, writer->path, put, err);
}

/* What is known of a window that is there already. */
struct window_before {
	bool is_there, is_complete;
	uint64_t events, end;
	struct store_head head;
};

static int put_head(struct sqlite_writer *writer, const struct report *report,
		    const struct store_head *stays, const struct sqlite_place *place,
		    struct err *err)
{
	sqlite3_stmt *put = writer->put_window;
	const uint64_t *lost = report->lost.of;
	struct store_head head;
	int r;

	store_head_of(report, &head);
	if (stays->lists) {
		store_head_join(&head, stays);
	}
	bind_place(put, place);
	sqlite_bind(put, 4, report->end, report->complete);
	if (report->has_lag) {
		(void)sqlite3_bind_int64(put, 6, report->lag_ns);
	} else {
		(void)sqlite3_bind_null(put, 6);
	}
	sqlite_bind(put, 7, (int64_t)report->events, (int64_t)lost[LOSS_EVENTS],
		    (int64_t)lost[LOSS_PACKETS], (int64_t)lost[LOSS_BAD_PACKETS],
		    (int64_t)lost[LOSS_LATE]);
	bind_text(put, 12, head.lists);
	bind_text(put, 13, head.missing);
	bind_text(put, 14, head.unknown);
	sqlite_bind(put, 15, (int64_t)lost[LOSS_ANOMALIES], (int64_t)lost[LOSS_MISFITS]);
	writer->rows++;
	r = sqlite_step(writer->db, writer->path, put, err);
	store_head_fini(&head);
	return r;
}

/* @lists without @stays. */
static int remove_lists(struct sqlite_writer *writer, const char *lists, const char *stays,
			const struct sqlite_place *place, struct err *err)
{
	int r = 0;

	for (size_t a = 0; analyses[a]; a++) {
		if (!store_head_names(lists, analyses[a]->name) ||
		    store_head_names(stays, analyses[a]->name)) {
			continue;
		}
		for (size_t t = 0;
		     r == 0 && t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			struct written *table;

			if (scope_is_of_pairs(analyses[a]->tables[t].scope)) {
				continue; /* not stored */
			}
			r = sqlite_table_at(writer, a, t, &table, err);
			if (r == 0) {
				bind_place(table->remove, place);
				r = sqlite_step(writer->db, writer->path, table->remove, err);
			}
		}
	}
	return r;
}

static int remove_rows(struct sqlite_writer *writer, const char *lists,
		       const struct sqlite_place *place, struct err *err)
{
	int r = remove_lists(writer, lists, "", place, err);

	bind_place(writer->remove_threads, place);
	return r < 0 ? r : sqlite_step(writer->db, writer->path, writer->remove_threads, err);
}

/* The caller frees the texts of the result. */
static int find_before(struct sqlite_writer *writer, const struct sqlite_place *place,
		       struct window_before *ret, struct err *err)
{
	sqlite3_stmt *row = writer->find_window;
	int r = 0, found;

	*ret = (struct window_before){ .is_there = false };
	bind_place(row, place);
	found = sqlite3_step(row);
	if (found == SQLITE_ROW) {
		*ret = (struct window_before){ .is_there = true,
					       .is_complete = sqlite3_column_int64(row, 0),
					       .events = (uint64_t)sqlite3_column_int64(row, 2),
					       .end = (uint64_t)sqlite3_column_int64(row, 3),
					       .head = { sqlite_text_or_empty(row, 1),
							 sqlite_text_or_empty(row, 4),
							 sqlite_text_or_empty(row, 5) } };
	} else if (found != SQLITE_DONE) {
		r = sqlite_failed(writer->db, writer->path, err);
	}
	(void)sqlite3_reset(row);
	return r;
}

/*
 * A window that is there is replaced, with its rows; one that is complete only by another that is.
 * *ret_is_kept: it is not replaced.  Of the same window, which another run had with other analyses,
 * those that the new one lacks stay: *ret_stays has them, texts that the caller frees; NULL: none.
 */
static int replace(struct sqlite_writer *writer, const struct report *report,
		   const struct sqlite_place *place, bool *ret_is_kept,
		   struct store_head *ret_stays, struct err *err)
{
	struct window_before before;
	struct store_head head;
	int r = find_before(writer, place, &before, err);

	*ret_is_kept = before.is_complete && !report->complete;
	*ret_stays = (struct store_head){ NULL };
	if (r < 0 || !before.is_there || *ret_is_kept) {
		store_head_fini(&before.head);
		return r;
	}
	if (before.is_complete == report->complete && before.events == report->events &&
	    before.end == report->end) {
		store_head_of(report, &head);
		store_head_others(&before.head, head.lists, ret_stays);
		store_head_fini(&head);
	}
	if (ret_stays->lists && ret_stays->lists[0]) {
		r = remove_lists(writer, before.head.lists, ret_stays->lists, place, err);
	} else {
		r = remove_rows(writer, before.head.lists, place, err);
	}
	store_head_fini(&before.head);
	return r;
}

static int find_trace(struct sqlite_writer *writer, const struct store_item *item, int64_t *ret,
		      struct err *err)
{
	int r;

	assert(item->trace[0]);
	for (size_t i = 0; i < writer->traces.count; i++) {
		if (strcmp(writer->traces.at[i].trace, item->trace) == 0) {
			*ret = writer->traces.at[i].number;
			return 0;
		}
	}
	bind_text(writer->put_trace, 1, item->trace);
	bind_text(writer->put_trace, 2, item->uuid);
	bind_text(writer->put_trace, 3, item->host);
	bind_text(writer->put_trace, 4, item->session);
	bind_text(writer->put_trace, 5, item->domain);
	bind_text(writer->put_trace, 6, item->path);
	bind_text(writer->put_trace, 7, item->tracer);
	r = sqlite_step(writer->db, writer->path, writer->put_trace, err);
	if (r == 0) {
		struct known_trace known = { 0 };

		bind_text(writer->find_trace, 1, item->trace);
		if (sqlite3_step(writer->find_trace) != SQLITE_ROW) {
			r = sqlite_failed(writer->db, writer->path, err);
		}
		known.number = sqlite3_column_int64(writer->find_trace, 0);
		memcpy(known.trace, item->trace, sizeof(known.trace));
		(void)sqlite3_reset(writer->find_trace);
		*ret = known.number;
		if (r == 0) {
			*vec_push(&writer->traces) = known;
		}
	}
	return r;
}

static int put_window(struct sqlite_writer *writer, const struct store_item *item, int64_t trace,
		      struct err *err)
{
	const struct report *report = &item->report;
	const struct sqlite_place place = { item->level ? (int64_t)item->level : writer->level,
					    (int64_t)report->begin, trace };
	struct store_head stays;
	bool is_kept;
	int r = replace(writer, report, &place, &is_kept, &stays, err);

	assert(place.level > 0);
	if (is_kept) {
		return r;
	}
	for (size_t t = 0; r == 0 && t < report->table_count; t++) {
		r = put_table(writer, &report->tables[t], &place, err);
	}
	for (size_t i = 0; r == 0 && i < report->view_count; i++) {
		r = put_thread(writer, &report->views[i], &place, err);
	}
	r = r < 0 ? r : put_head(writer, report, &stays, &place, err);
	store_head_fini(&stays);
	return r;
}

/* ---- all else ---- */

static int put_loss(struct sqlite_writer *writer, const struct store_item *item, int64_t trace,
		    struct err *err)
{
	sqlite3_stmt *put = writer->put_loss;

	(void)sqlite3_bind_int64(put, 1, trace);
	bind_text(put, 2, item->name);
	bind_text(put, 3, item->stream ? item->stream : "");
	sqlite_bind(put, 4, item->packet, item->begin, item->end);
	bind_text(put, 7, item->text);
	return sqlite_step(writer->db, writer->path, put, err);
}

static int put_trigger(struct sqlite_writer *writer, const struct store_item *item, int64_t trace,
		       struct err *err)
{
	sqlite3_stmt *put = writer->put_trigger;

	(void)sqlite3_bind_int64(put, 1, trace);
	bind_text(put, 2, item->name);
	sqlite_bind(put, 3, item->end, item->begin);
	bind_text(put, 5, item->text);
	return sqlite_step(writer->db, writer->path, put, err);
}

static int put_capture(struct sqlite_writer *writer, const struct store_item *item, struct err *err)
{
	sqlite3_stmt *put = writer->put_capture;

	bind_text(put, 1, item->host ? item->host : "");
	bind_text(put, 2, item->session ? item->session : "");
	sqlite_bind(put, 3, item->begin, item->end);
	bind_text(put, 5, item->path ? item->path : "");
	bind_text(put, 6, item->text);
	return sqlite_step(writer->db, writer->path, put, err);
}

static int put_phase(struct sqlite_writer *writer, const struct store_item *item, int64_t trace,
		     struct err *err)
{
	sqlite3_stmt *put = writer->put_phase;

	sqlite_bind(put, 1, trace, writer->level, (int64_t)item->begin, (int64_t)item->end,
		    (int64_t)item->number, (int64_t)item->slices, item->is_open);
	bind_text(put, 8, item->name);
	bind_text(put, 9, item->text);
	return sqlite_step(writer->db, writer->path, put, err);
}

static int put_gap(struct sqlite_writer *writer, const struct store_gap *gap, struct err *err)
{
	sqlite3_stmt *put = writer->put_gap;

	sqlite_bind(put, 1, gap->begin, gap->end, gap->windows);
	bind_text(put, 4, gap->why);
	return sqlite_step(writer->db, writer->path, put, err);
}

static int put_item(struct sqlite_writer *writer, const struct store_item *item, struct err *err)
{
	int64_t trace = 0;
	int r = item->trace[0] ? find_trace(writer, item, &trace, err) : 0;

	if (r < 0) {
		return r;
	}
	switch (item->kind) {
	case STORE_WINDOW:
		return put_window(writer, item, trace, err);
	case STORE_LOSS:
		return put_loss(writer, item, trace, err);
	case STORE_TRIGGER:
		return put_trigger(writer, item, trace, err);
	case STORE_PHASE:
		return put_phase(writer, item, trace, err);
	default:
		return put_capture(writer, item, err);
	}
}

/* Traces and tables that the transaction made are gone with it. */
static void forget(struct sqlite_writer *writer)
{
	writer->traces.count = 0;
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			struct written *table = writer->tables[a][t];

			if (table) {
				(void)sqlite3_finalize(table->insert);
				(void)sqlite3_finalize(table->remove);
				free(table);
				writer->tables[a][t] = NULL;
			}
		}
	}
}

int sqlite_writer_begin(struct sqlite_writer *writer, struct err *err)
{
	writer->rows = 0;
	return sqlite_run(writer->db, writer->path, "BEGIN IMMEDIATE", err);
}

int sqlite_writer_end(struct sqlite_writer *writer, int r, struct err *err)
{
	r = r < 0 ? r : sqlite_run(writer->db, writer->path, "COMMIT", err);
	if (r < 0) {
		(void)sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
		forget(writer);
	}
	return r;
}

int sqlite_writer_add(struct sqlite_writer *writer, const struct store_item *item, struct err *err)
{
	return put_item(writer, item, err);
}

int sqlite_writer_add_gap(struct sqlite_writer *writer, const struct store_gap *gap,
			  struct err *err)
{
	return put_gap(writer, gap, err);
}

int sqlite_writer_remove(struct sqlite_writer *writer, const struct sqlite_place *place,
			 struct err *err)
{
	struct window_before before;
	int r = find_before(writer, place, &before, err);

	r = r < 0 || !before.is_there ? r : remove_rows(writer, before.head.lists, place, err);
	bind_place(writer->remove_window, place);
	r = r < 0 ? r : sqlite_step(writer->db, writer->path, writer->remove_window, err);
	store_head_fini(&before.head);
	return r;
}

int sqlite_writer_remove_others(struct sqlite_writer *writer, uint64_t before, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && sqlite_other_tables[i]; i++) {
		char *sql = mem_printf("DELETE FROM %s WHERE \"end\" <= %" PRIu64
				       " AND begin < %" PRIu64,
				       sqlite_other_tables[i], before, before);

		r = sqlite_run(writer->db, writer->path, sql, err);
		free(sql);
	}
	return r;
}

int sqlite_writer_put(struct sqlite_writer *writer, struct store_item *const *items, size_t count,
		      const struct store_gap *gap, uint64_t *ret_rows, struct err *err)
{
	int r = sqlite_writer_begin(writer, err);

	r = r < 0 || !gap ? r : put_gap(writer, gap, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = put_item(writer, items[i], err);
	}
	r = sqlite_writer_end(writer, r, err);
	*ret_rows += r == 0 ? writer->rows : 0;
	return r;
}
