/*
 * reader-plan: which windows of a store are read; see reader.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader-state.h"

struct levels {
	VEC(uint64_t) at;
};

/* ---- lengths ---- */

static int read_levels(struct store_reader *reader, struct levels *ret, struct err *err)
{
	sqlite3_stmt *next = NULL;
	int64_t last = 0;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT min(level) FROM windows WHERE level > ?", &next, err);

	while (r == 0) {
		(void)sqlite3_bind_int64(next, 1, last);
		if (sqlite3_step(next) != SQLITE_ROW) {
			r = sqlite_failed(reader->db, reader->path, err);
		} else if (sqlite3_column_type(next, 0) == SQLITE_NULL) {
			break;
		}
		last = sqlite3_column_int64(next, 0);
		*vec_push(&ret->at) = (uint64_t)last;
		(void)sqlite3_reset(next);
	}
	(void)sqlite3_finalize(next);
	return r;
}

/* The longest that fit come first; then longer ones, the shortest first. */
static void order(struct levels *levels, uint64_t interval_ns)
{
	struct levels ordered = { 0 };

	for (size_t i = levels->at.count; i-- > 0;) {
		if (interval_ns % levels->at.at[i] == 0 || interval_ns == UINT64_MAX) {
			*vec_push(&ordered.at) = levels->at.at[i];
		}
	}
	for (size_t i = 0; i < levels->at.count; i++) {
		if (interval_ns % levels->at.at[i] != 0 && interval_ns != UINT64_MAX) {
			*vec_push(&ordered.at) = levels->at.at[i];
		}
	}
	vec_fini(&levels->at);
	levels->at.at = ordered.at.at;
	levels->at.count = ordered.at.count;
	levels->at.room = ordered.at.room;
}

/* ---- times ---- */

struct span {
	uint64_t begin, end;
};

struct spans {
	VEC(struct span) at;
};

static int by_begin(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* What overlaps or meets becomes one. */
static void unite(struct spans *spans)
{
	size_t kept = 0;

	if (spans->at.count > 1) {
		qsort(spans->at.at, spans->at.count, sizeof(spans->at.at[0]), by_begin);
	}
	for (size_t i = 0; i < spans->at.count; i++) {
		struct span *last = kept > 0 ? &spans->at.at[kept - 1] : NULL;

		if (last && spans->at.at[i].begin <= last->end) {
			last->end =
				spans->at.at[i].end > last->end ? spans->at.at[i].end : last->end;
		} else {
			spans->at.at[kept++] = spans->at.at[i];
		}
	}
	spans->at.count = kept;
}

/* Adds what the windows of one trace leave of the range. */
static void add_rest(const struct span *range, const struct spans *covered, struct spans *ret)
{
	uint64_t at = range->begin;

	for (size_t i = 0; i < covered->at.count; i++) {
		if (covered->at.at[i].begin > at) {
			*vec_push(&ret->at) = (struct span){ at, covered->at.at[i].begin };
		}
		at = covered->at.at[i].end > at ? covered->at.at[i].end : at;
	}
	if (at < range->end) {
		*vec_push(&ret->at) = (struct span){ at, range->end };
	}
}

/* Whether it lies in a time that no window covers yet. */
static bool is_free(const struct spans *covered, const struct span *window)
{
	size_t low = 0, high = covered->at.count;

	while (low < high) { /* the first that ends behind its begin */
		size_t middle = low + (high - low) / 2;

		if (covered->at.at[middle].end <= window->begin) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low == covered->at.count || covered->at.at[low].begin >= window->end;
}

/* ---- windows ---- */

struct choice {
	struct store_reader *reader;
	const bool *wanted;
	struct span range;
	struct spans *covered; /* by trace: by longer windows, or others that are taken */
	struct store_windows *ret;
};

static uint32_t trace_of(const struct store_reader *reader, int64_t number)
{
	for (uint32_t i = 0; i < reader->traces.count; i++) {
		if (reader->traces.at[i].number == number) {
			return i;
		}
	}
	return UINT32_MAX;
}

static void take(struct choice *choice, uint64_t level, sqlite3_stmt *row, struct spans *fresh)
{
	struct span window = { (uint64_t)sqlite3_column_int64(row, 0),
			       (uint64_t)sqlite3_column_int64(row, 1) };
	uint32_t trace = trace_of(choice->reader, sqlite3_column_int64(row, 2));
	/* A window of one moment covers it. */
	struct span shown = { window.begin,
			      window.end > window.begin ? window.end : window.begin + 1 };
	struct span *last;

	if (trace == UINT32_MAX || !choice->wanted[trace] || window.end < window.begin ||
	    !is_free(&choice->covered[trace], &shown)) {
		return;
	}
	/* Of windows of one length that overlap, the one that begins first is taken. */
	last = fresh[trace].at.count > 0 ? &fresh[trace].at.at[fresh[trace].at.count - 1] : NULL;
	if (last && last->end > window.begin) {
		return;
	}
	*vec_push(&fresh[trace].at) = window;
	*vec_push(&choice->ret->at) =
		(struct store_window){ level, window.begin, window.end, trace };
}

static int take_range(struct choice *choice, uint64_t level, const struct span *range,
		      struct spans *fresh, struct err *err)
{
	struct store_reader *reader = choice->reader;
	sqlite3_stmt *rows = NULL;
	int step = SQLITE_DONE;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT begin, \"end\", trace FROM windows WHERE level = ? AND"
			       " begin >= ? AND begin < ? ORDER BY level, begin, trace",
			       &rows, err);

	if (r == 0) {
		uint64_t end = range->end < INT64_MAX ? range->end : INT64_MAX;

		(void)sqlite3_bind_int64(rows, 1, (int64_t)level);
		(void)sqlite3_bind_int64(rows, 2, (int64_t)range->begin);
		(void)sqlite3_bind_int64(rows, 3, (int64_t)end);
		while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
			take(choice, level, rows, fresh);
		}
	}
	r = r < 0 || step == SQLITE_DONE ? r : sqlite_failed(reader->db, reader->path, err);
	(void)sqlite3_finalize(rows);
	return r;
}

/* Takes the windows of one length where none was taken. */
static int take_level(struct choice *choice, uint64_t level, struct err *err)
{
	size_t traces = choice->reader->traces.count;
	struct spans rest = { 0 };
	struct spans *fresh = mem_alloc((traces + 1) * sizeof(*fresh));
	int r = 0;

	for (size_t i = 0; i < traces; i++) {
		if (choice->wanted[i]) {
			add_rest(&choice->range, &choice->covered[i], &rest);
		}
	}
	unite(&rest);
	for (size_t i = 0; r == 0 && i < rest.at.count; i++) {
		r = take_range(choice, level, &rest.at.at[i], fresh, err);
	}
	for (size_t i = 0; i < traces; i++) {
		vec_append(&choice->covered[i].at, fresh[i].at.at, fresh[i].at.count);
		unite(&choice->covered[i]);
		vec_fini(&fresh[i].at);
	}
	vec_fini(&rest.at);
	free(fresh);
	return r;
}

static int by_trace(const void *left, const void *right)
{
	const struct store_window *a = left, *b = right;

	if (a->trace != b->trace) {
		return a->trace < b->trace ? -1 : 1;
	}
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* ---- a store on a server ---- */

static int fetch_heads(struct store_reader *reader, const bool *wanted, uint64_t begin,
		       uint64_t end, struct err *err)
{
	bool *by_number;
	int r;

	if (!reader->mirror) {
		return 0;
	}
	by_number = mem_alloc(reader->traces.count + 1);
	for (size_t i = 0; i < reader->traces.count; i++) {
		by_number[reader->traces.at[i].number] = wanted[i];
	}
	r = mirror_heads(reader->mirror, by_number, begin, end, err);
	free(by_number);
	return r;
}

/* All rows of the windows of one length. */
static int fetch_level(struct store_reader *reader, uint64_t level, const struct span *span,
		       struct err *err)
{
	int r = reader->needs_threads
			? mirror_threads(reader->mirror, level, span->begin, span->end, err)
			: 0;

	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			if (r == 0 && store_reader_wants(reader, analyses[a]) &&
			    store_reader_needs(reader, a, t)) {
				r = mirror_rows(reader->mirror, a, t, level, span->begin, span->end,
						err);
			}
		}
	}
	return r;
}

static int fetch_rows(struct store_reader *reader, const struct levels *levels,
		      const struct store_windows *windows, struct err *err)
{
	int r = 0;

	for (size_t l = 0; r == 0 && reader->mirror && l < levels->at.count; l++) {
		struct span span = { UINT64_MAX, 0 };

		for (size_t i = 0; i < windows->at.count; i++) {
			const struct store_window *window = &windows->at.at[i];

			if (window->level == levels->at.at[l]) {
				span.begin =
					window->begin < span.begin ? window->begin : span.begin;
				span.end = window->begin >= span.end ? window->begin + 1 : span.end;
			}
		}
		if (span.end > 0) {
			r = fetch_level(reader, levels->at.at[l], &span, err);
		}
	}
	return r;
}

int store_reader_windows(struct store_reader *reader, const bool *wanted, uint64_t interval_ns,
			 uint64_t begin, uint64_t end, struct store_windows *ret, struct err *err)
{
	struct choice choice = {
		.reader = reader, .wanted = wanted, .range = { begin, end }, .ret = ret
	};
	struct levels levels = { 0 };
	int r = fetch_heads(reader, wanted, begin, end, err);

	assert(interval_ns > 0);
	r = r < 0 ? r : read_levels(reader, &levels, err);
	order(&levels, interval_ns);
	choice.covered = mem_alloc((reader->traces.count + 1) * sizeof(*choice.covered));
	for (size_t i = 0; r == 0 && i < levels.at.count; i++) {
		r = take_level(&choice, levels.at.at[i], err);
	}
	if (ret->at.count > 1) {
		qsort(ret->at.at, ret->at.count, sizeof(ret->at.at[0]), by_trace);
	}
	r = r < 0 ? r : fetch_rows(reader, &levels, ret, err);
	for (size_t i = 0; i < reader->traces.count; i++) {
		vec_fini(&choice.covered[i].at);
	}
	free(choice.covered);
	vec_fini(&levels.at);
	return r;
}

int store_reader_gaps(struct store_reader *reader, uint64_t begin, uint64_t end, store_gap_fn *each,
		      void *user, struct err *err)
{
	sqlite3_stmt *gaps = NULL;
	int step = SQLITE_DONE;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT begin, \"end\", windows, why FROM gaps"
			       " WHERE \"end\" > ? AND begin < ? ORDER BY 1, 2",
			       &gaps, err);

	(void)sqlite3_bind_int64(gaps, 1, (int64_t)begin);
	(void)sqlite3_bind_int64(gaps, 2, end < INT64_MAX ? (int64_t)end : INT64_MAX);
	while (r == 0 && (step = sqlite3_step(gaps)) == SQLITE_ROW) {
		const char *why = (const char *)sqlite3_column_text(gaps, 3);

		each(user, (uint64_t)sqlite3_column_int64(gaps, 0),
		     (uint64_t)sqlite3_column_int64(gaps, 1),
		     (uint64_t)sqlite3_column_int64(gaps, 2), why ? why : "");
	}
	r = r < 0 || step == SQLITE_DONE ? r : sqlite_failed(reader->db, reader->path, err);
	(void)sqlite3_finalize(gaps);
	return r;
}

/* The first begin and the last end of one length.  A window ends at most its length behind its
 * begin, so only the last ones are looked at. */
static int read_span(struct store_reader *reader, uint64_t level, uint64_t *ret_first,
		     uint64_t *ret_last, struct err *err)
{
	static const char sql[] = "SELECT (SELECT min(begin) FROM windows WHERE level = ?1),"
				  " (SELECT max(\"end\") FROM windows WHERE level = ?1 AND begin >="
				  " (SELECT max(begin) FROM windows WHERE level = ?1) - ?1)";
	sqlite3_stmt *span = NULL;
	int r = sqlite_prepare(reader->db, reader->path, sql, &span, err);

	(void)sqlite3_bind_int64(span, 1, (int64_t)level);
	if (r == 0 && sqlite3_step(span) != SQLITE_ROW) {
		r = sqlite_failed(reader->db, reader->path, err);
	} else if (r == 0) {
		uint64_t first = (uint64_t)sqlite3_column_int64(span, 0);
		uint64_t last = (uint64_t)sqlite3_column_int64(span, 1);

		*ret_first = first < *ret_first ? first : *ret_first;
		*ret_last = last > *ret_last ? last : *ret_last;
	}
	(void)sqlite3_finalize(span);
	return r;
}

int store_reader_span(struct store_reader *reader, uint64_t *ret_first, uint64_t *ret_last,
		      struct err *err)
{
	struct levels levels = { 0 };
	int r;

	if (reader->mirror) {
		return mirror_span(reader->mirror, ret_first, ret_last, err);
	}
	r = read_levels(reader, &levels, err);
	*ret_first = levels.at.count > 0 ? UINT64_MAX : 0;
	*ret_last = 0;
	for (size_t i = 0; r == 0 && i < levels.at.count; i++) {
		r = read_span(reader, levels.at.at[i], ret_first, ret_last, err);
	}
	vec_fini(&levels.at);
	return r;
}
