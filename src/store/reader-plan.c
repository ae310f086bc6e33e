/*
 * reader-plan: which windows of a store are read; see reader.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader-choice.h"

struct levels {
	VEC(uint64_t) at;
};

/* ---- lengths ---- */

/* In order, each once. */
static void add_level(struct levels *levels, uint64_t level)
{
	size_t at = levels->at.count;

	while (at > 0 && levels->at.at[at - 1] > level) {
		at--;
	}
	if (at > 0 && levels->at.at[at - 1] == level) {
		return;
	}
	(void)vec_push(&levels->at);
	memmove(levels->at.at + at + 1, levels->at.at + at,
		(levels->at.count - at - 1) * sizeof(levels->at.at[0]));
	levels->at.at[at] = level;
	assert(at == 0 || levels->at.at[at - 1] < level);
}

/* Adds the lengths of its windows. */
static int read_levels(struct store_reader *reader, struct levels *ret, struct err *err)
{
	sqlite3_stmt *next = NULL;
	uint64_t level = 0;
	int r = sqlite_prepare(reader->db, reader->path, SQLITE_NEXT_LEVEL, &next, err);

	while (r == 0 &&
	       (r = sqlite_next_level(reader->db, reader->path, next, &level, err)) == 0 &&
	       level > 0) {
		add_level(ret, level);
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
	assert(ordered.at.count == levels->at.count);
	vec_fini(&levels->at);
	levels->at.at = ordered.at.at;
	levels->at.count = ordered.at.count;
	levels->at.room = ordered.at.room;
}

/* ---- a store on a server ---- */

/* @wanted: by trace of all stores. */
static int fetch_heads(const struct choice_source *source, const bool *wanted, uint64_t begin,
		       uint64_t end, struct err *err)
{
	struct store_reader *reader = source->reader;

	if (!reader->mirror) {
		return 0;
	}
	mirror_want_none(reader->mirror);
	for (size_t i = 0; i < reader->traces.count; i++) {
		if (wanted[reader_choice_global(source, (uint32_t)i)]) {
			mirror_want(reader->mirror, reader->traces.at[i].number);
		}
	}
	return mirror_heads(reader->mirror, begin, end, err);
}

/* All rows of the windows of one length. */
static int fetch_level(struct store_reader *reader, uint64_t level, const struct span *span,
		       uint64_t lists, struct err *err)
{
	int r = reader->needs_threads
			? mirror_threads(reader->mirror, level, span->begin, span->end, err)
			: 0;

	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			if (r == 0 && lists >> a & 1 && store_reader_needs(reader, a, t)) {
				r = mirror_rows(reader->mirror, a, t, level, span->begin, span->end,
						err);
			}
		}
	}
	return r;
}

static int fetch_rows(const struct choice_source *source, const struct levels *levels,
		      const struct store_windows *windows, struct err *err)
{
	struct store_reader *reader = source->reader;
	int r = 0;

	for (size_t l = 0; r == 0 && reader->mirror && l < levels->at.count; l++) {
		struct span span = { UINT64_MAX, 0 };
		uint64_t lists = 0;

		VEC_EACH(&windows->at, window) {
			if (window->level == levels->at.at[l] && window->member == source->member) {
				span.begin =
					window->begin < span.begin ? window->begin : span.begin;
				span.end = window->begin >= span.end ? window->begin + 1 : span.end;
				lists |= window->lists;
			}
		}
		if (span.end > 0) {
			r = fetch_level(reader, levels->at.at[l], &span, lists, err);
		}
	}
	return r;
}

/* The stores that windows come from: @reader, or its members. */
static size_t list_sources(struct store_reader *reader, struct choice_source **ret)
{
	size_t count = reader->members.count > 0 ? reader->members.count : 1;
	struct choice_source *sources = mem_alloc(count * sizeof(*sources));

	sources[0] = (struct choice_source){ .reader = reader };
	for (uint32_t m = 0; m < reader->members.count; m++) {
		const struct reader_member *member = &reader->members.at[m];

		sources[m] =
			(struct choice_source){ member->reader, m, member->global, member->own };
	}
	*ret = sources;
	return count;
}

int store_reader_windows(struct store_reader *reader, const bool *wanted, uint64_t interval_ns,
			 uint64_t begin, uint64_t end, struct store_windows *ret, struct err *err)
{
	struct reader_choice choice;
	struct levels levels = { 0 };
	struct choice_source *sources;
	size_t count = list_sources(reader, &sources);
	int r = 0;

	assert(interval_ns > 0);
	for (size_t m = 0; r == 0 && m < count; m++) {
		r = fetch_heads(&sources[m], wanted, begin, end, err);
		r = r < 0 ? r : read_levels(sources[m].reader, &levels, err);
	}
	order(&levels, interval_ns);
	reader_choice_init(&choice, reader, wanted, begin, end);
	for (size_t i = 0; r == 0 && i < levels.at.count; i++) {
		for (size_t m = 0; r == 0 && m < count; m++) {
			r = reader_choice_take(&choice, &sources[m], levels.at.at[i], err);
		}
	}
	reader_choice_windows(&choice, ret);
	reader_choice_fini(&choice);
	vec_fini(&levels.at);
	free(sources);
	return r < 0 || reader->defers_rows ? r : store_reader_rows(reader, ret, err);
}

void store_reader_defer_rows(struct store_reader *reader)
{
	reader->defers_rows = true;
}

int store_reader_rows(struct store_reader *reader, const struct store_windows *windows,
		      struct err *err)
{
	struct levels levels = { 0 };
	struct choice_source *sources;
	size_t count = list_sources(reader, &sources);
	int r = 0;

	VEC_EACH(&windows->at, window) {
		add_level(&levels, window->level);
	}
	for (size_t m = 0; r == 0 && m < count; m++) {
		r = fetch_rows(&sources[m], &levels, windows, err);
	}
	vec_fini(&levels.at);
	free(sources);
	return r;
}

int reader_step_gaps(sqlite3_stmt *gaps, uint64_t begin, uint64_t end, store_gap_fn *each,
		     void *user)
{
	int step;

	sqlite_bind(gaps, 1, begin, end < INT64_MAX ? end : INT64_MAX);
	while ((step = sqlite3_step(gaps)) == SQLITE_ROW) {
		const char *why = (const char *)sqlite3_column_text(gaps, 3);

		each(user, (uint64_t)sqlite3_column_int64(gaps, 0),
		     (uint64_t)sqlite3_column_int64(gaps, 1),
		     (uint64_t)sqlite3_column_int64(gaps, 2), why ? why : "");
	}
	return step;
}

int store_reader_gaps(struct store_reader *reader, uint64_t begin, uint64_t end, store_gap_fn *each,
		      void *user, struct err *err)
{
	sqlite3_stmt *gaps = NULL;
	int step = SQLITE_DONE, r;

	if (reader->members.count > 0) {
		return reader_many_gaps(reader, begin, end, each, user, err);
	}
	r = sqlite_prepare(reader->db, reader->path, READER_GAPS, &gaps, err);
	step = r == 0 ? reader_step_gaps(gaps, begin, end, each, user) : step;
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

	if (reader->members.count > 0) {
		return reader_many_span(reader, ret_first, ret_last, err);
	}
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
