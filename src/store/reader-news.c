/*
 * reader-news: see reader-news.h; a file of SQLite.  What concerns a server is in
 * clickhouse/clickhouse-news.c.
 */
#include "store/reader-news.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "store/clickhouse/clickhouse-news.h"
#include "store/reader-state.h"
#include "store/store.h"

#define LEVELS_MAX 64 /* lengths of windows: a store has a few */

struct store_news {
	struct clickhouse_news *server; /* NULL: it is a file */
	VEC(struct store_trace) traces;
	/* Of a file. */
	sqlite3 *db;
	char *path;
	struct stat file; /* as it was opened */
	sqlite3_stmt *version, *new_traces, *next_level, *windows, *count, *gaps, *before, *after,
		*first, *last;
	int64_t last_version;
	uint64_t levels[LEVELS_MAX];
	size_t level_count;
};

/* ---- opening ---- */

static int prepare_all(struct store_news *news, struct err *err)
{
	const struct sqlite_statement all[] = {
		{ &news->version, "PRAGMA data_version" },
		{ &news->new_traces, READER_TRACES " WHERE trace > ? ORDER BY trace" },
		{ &news->next_level, SQLITE_NEXT_LEVEL },
		{ &news->windows, "SELECT begin, \"end\", complete FROM windows WHERE trace = ?"
				  " AND level = ? AND begin >= ? AND begin < ? ORDER BY begin" },
		{ &news->count, "SELECT count(*) FROM windows WHERE trace = ? AND level = ?"
				" AND begin >= ? AND begin < ?" },
		{ &news->before, "SELECT begin FROM windows WHERE trace = ? AND level = ?"
				 " AND begin >= ? AND begin < ? ORDER BY begin DESC LIMIT 1" },
		{ &news->after, "SELECT begin FROM windows WHERE trace = ? AND level = ?"
				" AND begin >= ? AND begin < ? ORDER BY begin LIMIT 1" },
		{ &news->first,
		  "SELECT begin FROM windows WHERE level = ? ORDER BY level, begin LIMIT 1" },
		{ &news->last, "SELECT max(\"end\") FROM windows WHERE level = ?1 AND begin >="
			       " (SELECT max(begin) FROM windows WHERE level = ?1) - ?1" },
		{ &news->gaps, READER_GAPS },
	};

	return sqlite_prepare_all(news->db, news->path, all, ARRAY_COUNT(all), err);
}

static int open_file(struct store_news *news, const char *url, struct err *err)
{
	const char *path = store_file_of(url, err);
	bool is_new = false;
	int r = path ? 0 : -EINVAL;

	if (r == 0) {
		news->path = mem_strdup(path);
		r = stat(path, &news->file) == 0 || errno != ENOENT
			    ? 0
			    : err_raise(err, -ENOENT, "%s: there is no such store yet", path);
	}
	r = r < 0 ? r : sqlite_open(path, SQLITE_OPEN_READONLY, &news->db, &is_new, err);
	if (r == 0 && is_new) {
		r = err_raise(err, -ENOENT, "%s: the store is empty yet", path);
	}
	return r < 0 ? r : prepare_all(news, err);
}

int store_news_open(const char *url, const atomic_bool *stop, struct store_news **ret,
		    struct err *err)
{
	struct store_news *news = mem_alloc(sizeof(*news));
	int r = store_is_clickhouse(url) ? clickhouse_news_open(url, stop, &news->server, err)
					 : open_file(news, url, err);

	news->last_version = -1;
	if (r < 0) {
		store_news_close(news);
		return r;
	}
	*ret = news;
	return 0;
}

void store_news_close(struct store_news *news)
{
	if (!news) {
		return;
	}
	clickhouse_news_close(news->server);
	vec_fini_each(&news->traces, reader_trace_fini);
	sqlite_close(news->db);
	free(news->path);
	free(news);
}

const char *store_news_name(const struct store_news *news)
{
	return news->server ? clickhouse_news_name(news->server) : news->path;
}

const struct store_trace *store_news_traces(const struct store_news *news, size_t *ret_count)
{
	*ret_count = news->traces.count;
	return news->traces.at;
}

uint64_t store_news_reach_ns(const struct store_news *news)
{
	return news->server ? CLICKHOUSE_NEWS_REACH_NS : UINT64_MAX;
}

/* ---- looking ---- */

static int failed(struct store_news *news, struct err *err)
{
	return sqlite_failed(news->db, news->path, err);
}

/* The rows of a statement have been read: it holds no lock from now on. */
static int end(struct store_news *news, sqlite3_stmt *statement, int step, struct err *err)
{
	int r = step == SQLITE_DONE || step == SQLITE_ROW ? 0 : failed(news, err);

	(void)sqlite3_reset(statement);
	return r;
}

static int find_traces(struct store_news *news, struct err *err)
{
	sqlite3_stmt *row = news->new_traces;
	size_t count = news->traces.count;
	int step;

	(void)sqlite3_bind_int64(row, 1, count > 0 ? news->traces.at[count - 1].number : INT64_MIN);
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		*vec_push(&news->traces) = reader_trace_of(row);
	}
	return end(news, row, step, err);
}

static int find_levels(struct store_news *news, struct err *err)
{
	uint64_t level = 0;
	int r = 0;

	news->level_count = 0;
	while (news->level_count < LEVELS_MAX &&
	       (r = sqlite_next_level(news->db, news->path, news->next_level, &level, err)) == 0 &&
	       level > 0) {
		news->levels[news->level_count++] = level;
	}
	return r;
}

static bool is_other_file(const struct store_news *news)
{
	struct stat now;

	return stat(news->path, &now) < 0 || now.st_ino != news->file.st_ino ||
	       now.st_dev != news->file.st_dev;
}

static int look_at_server(struct store_news *news, struct err *err)
{
	int r = clickhouse_news_traces(news->server, err);
	const struct clickhouse_trace *trace;

	while (r == 0 && (trace = clickhouse_news_trace(news->server, news->traces.count))) {
		*vec_push(&news->traces) = (struct store_trace){
			.id = mem_strdup(trace->id),
			.uuid = mem_strdup_if(trace->uuid),
			.identity = { .host = mem_strdup_if(trace->host),
				      .session = mem_strdup_if(trace->session),
				      .domain = mem_strdup_if(trace->domain),
				      .path = mem_strdup_if(trace->path) },
		};
	}
	return r < 0 ? r : 1;
}

int store_news_look(struct store_news *news, struct err *err)
{
	int64_t version = 0;
	int step, r;

	if (news->server) {
		return look_at_server(news, err);
	}
	if (is_other_file(news)) {
		return err_raise(err, -ENOENT, "%s: the store has gone", news->path);
	}
	step = sqlite3_step(news->version);
	version = step == SQLITE_ROW ? sqlite3_column_int64(news->version, 0) : 0;
	r = end(news, news->version, step, err);
	if (r < 0 || version == news->last_version) {
		return r;
	}
	r = find_traces(news, err);
	r = r < 0 ? r : find_levels(news, err);
	news->last_version = r < 0 ? -1 : version;
	return r < 0 ? r : 1;
}

/* ---- windows ---- */

static void bind_range(const struct store_news *news, sqlite3_stmt *statement,
		       const struct store_news_range *range, uint64_t level)
{
	uint64_t before = range->end < INT64_MAX ? range->end : INT64_MAX;

	assert(range->trace < news->traces.count);
	sqlite_bind(statement, 1, news->traces.at[range->trace].number, level,
		    (int64_t)(range->begin < INT64_MAX ? range->begin : INT64_MAX), before);
}

static int windows_of(struct store_news *news, const struct store_news_range *range, uint64_t level,
		      store_news_fn *each, void *user, struct err *err)
{
	int step;

	bind_range(news, news->windows, range, level);
	while ((step = sqlite3_step(news->windows)) == SQLITE_ROW) {
		const struct store_news_window window = {
			.level = level,
			.begin = (uint64_t)sqlite3_column_int64(news->windows, 0),
			.end = (uint64_t)sqlite3_column_int64(news->windows, 1),
			.is_complete = sqlite3_column_int64(news->windows, 2),
		};

		each(user, range->trace, &window);
	}
	return end(news, news->windows, step, err);
}

static int count_of(struct store_news *news, const struct store_news_range *range, uint64_t level,
		    uint64_t *ret, struct err *err)
{
	int step;

	bind_range(news, news->count, range, level);
	step = sqlite3_step(news->count);
	*ret += step == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(news->count, 0) : 0;
	return end(news, news->count, step, err);
}

int store_news_windows(struct store_news *news, const struct store_news_range *ranges, size_t count,
		       store_news_fn *each, void *user, struct err *err)
{
	int r = 0;

	if (news->server) {
		return clickhouse_news_windows(news->server, ranges, count, each, user, err);
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		for (size_t l = 0; r == 0 && l < news->level_count; l++) {
			if (ranges[i].level == 0 || ranges[i].level == news->levels[l]) {
				r = windows_of(news, &ranges[i], news->levels[l], each, user, err);
			}
		}
	}
	return r;
}

int store_news_count(struct store_news *news, const struct store_news_range *ranges, size_t count,
		     uint64_t *ret_counts, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		ret_counts[i] = 0;
	}
	if (news->server) {
		return clickhouse_news_count(news->server, ranges, count, ret_counts, err);
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		for (size_t l = 0; r == 0 && l < news->level_count; l++) {
			if (ranges[i].level == 0 || ranges[i].level == news->levels[l]) {
				r = count_of(news, &ranges[i], news->levels[l], &ret_counts[i],
					     err);
			}
		}
	}
	return r;
}

/* 1: there is one. */
static int next_of(struct store_news *news, const struct store_news_range *range, uint64_t level,
		   bool is_before, uint64_t *ret, struct err *err)
{
	sqlite3_stmt *row = is_before ? news->before : news->after;
	int step, r;

	bind_range(news, row, range, level);
	step = sqlite3_step(row);
	*ret = step == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(row, 0) : 0;
	r = end(news, row, step, err);
	return r < 0 ? r : step == SQLITE_ROW;
}

int store_news_next(struct store_news *news, const struct store_news_range *range, uint64_t time,
		    bool is_before, uint64_t *ret_begin, struct err *err)
{
	struct store_news_range side = *range;
	bool is_any = false;
	int r = 0;

	side.end = is_before && time < side.end ? time : side.end;
	side.begin = !is_before && time > side.begin ? time : side.begin;
	if (side.begin >= side.end) {
		return 0;
	}
	if (news->server) {
		return clickhouse_news_next(news->server, &side, is_before, ret_begin, err);
	}
	for (size_t l = 0; r >= 0 && l < news->level_count; l++) {
		uint64_t begin;

		r = next_of(news, &side, news->levels[l], is_before, &begin, err);
		if (r > 0 && (!is_any || (is_before ? begin > *ret_begin : begin < *ret_begin))) {
			*ret_begin = begin;
			is_any = true;
		}
	}
	return r < 0 ? r : is_any;
}

static int one_of(struct store_news *news, sqlite3_stmt *statement, uint64_t level, uint64_t *ret,
		  struct err *err)
{
	int step;

	(void)sqlite3_bind_int64(statement, 1, (int64_t)level);
	step = sqlite3_step(statement);
	*ret = step == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
	return end(news, statement, step, err);
}

int store_news_span(struct store_news *news, uint64_t *ret_first, uint64_t *ret_last,
		    struct err *err)
{
	int r = 0;

	*ret_first = *ret_last = 0;
	if (news->server) {
		return clickhouse_news_span(news->server, ret_first, ret_last, err);
	}
	for (size_t l = 0; r == 0 && l < news->level_count; l++) {
		uint64_t first, last;

		r = one_of(news, news->first, news->levels[l], &first, err);
		r = r < 0 ? r : one_of(news, news->last, news->levels[l], &last, err);
		if (r == 0 && last > 0) {
			*ret_first = *ret_last == 0 || first < *ret_first ? first : *ret_first;
			*ret_last = last > *ret_last ? last : *ret_last;
		}
	}
	return r;
}

int store_news_gaps(struct store_news *news, uint64_t begin, uint64_t end_, store_gap_fn *each,
		    void *user, struct err *err)
{
	sqlite3_stmt *gaps = news->gaps;

	if (news->server) {
		return clickhouse_news_gaps(news->server, begin, end_, each, user, err);
	}
	return end(news, gaps, reader_step_gaps(gaps, begin, end_, each, user), err);
}
