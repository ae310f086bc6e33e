/*
 * clickhouse-news: see clickhouse-news.h.
 */
#include "store/clickhouse/clickhouse-news.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "store/clickhouse/clickhouse-rows.h"
#include "store/clickhouse/clickhouse-tables.h"
#include "store/clickhouse/mirror-rows.h"
#include "store/rows/item.h"

#define RANGES_MAX 200 /* in one statement */

struct news_trace {
	char id[STORE_TRACE_TEXT];
	uint32_t number;
};

struct clickhouse_news {
	struct clickhouse_url url;
	struct http *http;
	bool has_traces, has_windows; /* tables that are known to be there */
	char *traces_state;           /* changes when a trace is added; NULL: unknown */
	VEC(struct clickhouse_trace) traces;
	VEC(struct news_trace) by_id; /* sorted */
};

/* ---- opening ---- */

int clickhouse_news_open(const char *url, const atomic_bool *stop, struct clickhouse_news **ret,
			 struct err *err)
{
	struct clickhouse_news *news = mem_alloc(sizeof(*news));
	int r = clickhouse_url_parse(url, &news->url, err);

	if (r < 0) {
		free(news);
		return r;
	}
	news->http = http_new(&news->url, stop);
	r = clickhouse_check(news->http, &news->url, false, err);
	if (r < 0) {
		clickhouse_news_close(news);
		return r;
	}
	*ret = news;
	return 0;
}

void clickhouse_news_close(struct clickhouse_news *news)
{
	if (!news) {
		return;
	}
	http_free(news->http);
	clickhouse_url_fini(&news->url);
	VEC_EACH(&news->traces, trace) {
		free(trace->id);
		free(trace->uuid);
		free(trace->host);
		free(trace->session);
		free(trace->domain);
		free(trace->path);
	}
	vec_fini(&news->traces);
	vec_fini(&news->by_id);
	free(news->traces_state);
	free(news);
}

const char *clickhouse_news_name(const struct clickhouse_news *news)
{
	return news->url.shown;
}

/* ---- traces ---- */

ORDER(by_id, struct news_trace, UP_TEXT(id))

static const struct news_trace *find(const struct clickhouse_news *news, const char *id)
{
	struct news_trace key = { .number = 0 };

	(void)snprintf(key.id, sizeof(key.id), "%s", id);
	return news->by_id.count == 0 ? NULL
				      : bsearch(&key, news->by_id.at, news->by_id.count,
						sizeof(news->by_id.at[0]), by_id);
}

static char *text_of(char *field, size_t len)
{
	if (strcmp(field, "\\N") == 0) {
		return NULL;
	}
	field[mirror_unescape(field, len)] = '\0';
	return mem_strdup(field);
}

static int take_trace(void *user, char *const *fields, const size_t *lens, struct err *err)
{
	struct clickhouse_news *news = user;

	/* The new ones are behind by_id, which is sorted when all have come. */
	if (!clickhouse_is_trace(fields[0], lens[0])) {
		return false;
	}
	if (find(news, fields[0])) {
		return true;
	}
	*vec_push(&news->traces) = (struct clickhouse_trace){
		.id = mem_strdup(fields[0]),
		.uuid = text_of(fields[1], lens[1]),
		.host = text_of(fields[2], lens[2]),
		.session = text_of(fields[3], lens[3]),
		.domain = text_of(fields[4], lens[4]),
		.path = text_of(fields[5], lens[5]),
	};
	return true;
}

/* A line for each table.  The caller frees it. */
static int list_tables(struct clickhouse_news *news, char **ret, struct err *err)
{
	char *statement = mem_printf("SELECT `name` FROM system.tables WHERE `database` = '%s'"
				     " FORMAT TabSeparated",
				     news->url.database);
	int r = http_ask(news->http, statement, true, ret, err);

	free(statement);
	return r;
}

/* The first writer makes them when it has something for them. */
static int find_tables(struct clickhouse_news *news, struct err *err)
{
	char *tables = NULL;
	int r = news->has_traces && news->has_windows ? 0 : list_tables(news, &tables, err);

	if (r == 0 && tables) {
		news->has_traces = clickhouse_has_line(tables, "traces");
		news->has_windows = clickhouse_has_line(tables, "windows");
	}
	free(tables);
	return r;
}

int clickhouse_news_traces(struct clickhouse_news *news, struct err *err)
{
	size_t known = news->traces.count;
	char *state = NULL;
	int r = find_tables(news, err);

	if (r < 0 || !news->has_traces) {
		return r;
	}
	r = http_ask(news->http, "SELECT count(), max(`version`) FROM `traces` FORMAT TabSeparated",
		     false, &state, err);
	if (r < 0 || (news->traces_state && strcmp(state, news->traces_state) == 0)) {
		free(state);
		return r;
	}
	r = clickhouse_rows(
		news->http,
		"SELECT `trace`, `uuid`, `host`, `session`, `domain`, `path` FROM `traces` FINAL"
		" FORMAT TabSeparated",
		NULL, 6, take_trace, news, err);
	for (size_t i = known; i < news->traces.count; i++) {
		struct news_trace *one = vec_push(&news->by_id);

		one->number = (uint32_t)i;
		(void)snprintf(one->id, sizeof(one->id), "%s", news->traces.at[i].id);
	}
	vec_sort(&news->by_id, by_id);
	assert(news->by_id.count == news->traces.count);
	free(news->traces_state);
	news->traces_state = r < 0 ? (free(state), NULL) : state;
	return r;
}

const struct clickhouse_trace *clickhouse_news_trace(struct clickhouse_news *news, size_t number)
{
	return number < news->traces.count ? &news->traces.at[number] : NULL;
}

/* ---- windows ---- */

static void put_range(FILE *out, const struct clickhouse_news *news,
		      const struct store_news_range *range)
{
	uint64_t before = range->end < INT64_MAX ? range->end : INT64_MAX;

	assert(range->trace < news->traces.count);
	(void)fprintf(out, "(`trace` = '%s' AND `begin` >= %" PRIu64 " AND `begin` < %" PRIu64,
		      news->traces.at[range->trace].id, range->begin, before);
	if (range->level > 0) {
		(void)fprintf(out, " AND `level` = %" PRIu64, range->level);
	}
	(void)fputs(")", out);
}

/* The span of all comes first, so that the server can pass over what lies before. */
static void put_ranges(FILE *out, const struct clickhouse_news *news,
		       const struct store_news_range *ranges, size_t count)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (size_t i = 0; i < count; i++) {
		begin = ranges[i].begin < begin ? ranges[i].begin : begin;
		end = ranges[i].end > end ? ranges[i].end : end;
	}
	(void)fprintf(out,
		      " FROM `windows` FINAL WHERE `begin` >= %" PRIu64 " AND `begin` < %" PRIu64
		      " AND (",
		      begin, end < INT64_MAX ? end : INT64_MAX);
	for (size_t i = 0; i < count; i++) {
		(void)fputs(i > 0 ? " OR " : "", out);
		put_range(out, news, &ranges[i]);
	}
	(void)fputs(")", out);
}

static char *statement_of(const struct clickhouse_news *news, const char *what,
			  const struct store_news_range *ranges, size_t count, const char *order)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(count > 0 && count <= RANGES_MAX);
	(void)fputs(what, out);
	put_ranges(out, news, ranges, count);
	(void)fprintf(out, " %s FORMAT TabSeparated", order);
	(void)fclose(out);
	return text;
}

struct news_windows {
	const struct clickhouse_news *news;
	store_news_fn *each;
	void *user;
};

static int take_window(void *user, char *const *fields, const size_t *lens, struct err *err)
{
	const struct news_windows *windows = user;
	const struct news_trace *trace = find(windows->news, fields[0]);
	struct store_news_window window = { .is_complete = fields[4][0] != '0' };

	if (!clickhouse_take_ns(fields[1], lens[1], &window.level) || window.level == 0 ||
	    !clickhouse_take_ns(fields[2], lens[2], &window.begin) ||
	    !clickhouse_take_ns(fields[3], lens[3], &window.end) || window.end < window.begin) {
		return false;
	}
	if (trace) {
		windows->each(windows->user, trace->number, &window);
	}
	return true;
}

int clickhouse_news_windows(struct clickhouse_news *news, const struct store_news_range *ranges,
			    size_t count, store_news_fn *each, void *user, struct err *err)
{
	struct news_windows windows = { news, each, user };
	int r = 0;

	for (size_t at = 0; r == 0 && news->has_windows && at < count; at += RANGES_MAX) {
		size_t some = count - at < RANGES_MAX ? count - at : RANGES_MAX;
		char *statement =
			statement_of(news, "SELECT `trace`, `level`, `begin`, `end`, `complete`",
				     ranges + at, some,
				     "ORDER BY `trace`, `level`, `begin`, `version` DESC"
				     " LIMIT 1 BY `trace`, `level`, `begin`");

		r = clickhouse_rows(news->http, statement, NULL, 5, take_window, &windows, err);
		free(statement);
	}
	return r;
}

struct counts {
	const struct clickhouse_news *news;
	const struct store_news_range *ranges;
	size_t count;
	uint64_t *ret;
};

static int take_count(void *user, char *const *fields, const size_t *lens, struct err *err)
{
	const struct counts *counts = user;
	const struct news_trace *trace = find(counts->news, fields[0]);
	uint64_t count;

	if (!clickhouse_take_ns(fields[1], lens[1], &count)) {
		return false;
	}
	for (size_t i = 0; trace && i < counts->count; i++) {
		if (counts->ranges[i].trace == trace->number) {
			counts->ret[i] += count;
			break;
		}
	}
	return true;
}

int clickhouse_news_count(struct clickhouse_news *news, const struct store_news_range *ranges,
			  size_t count, uint64_t *ret_counts, struct err *err)
{
	int r = 0;

	for (size_t at = 0; r == 0 && news->has_windows && at < count; at += RANGES_MAX) {
		size_t some = count - at < RANGES_MAX ? count - at : RANGES_MAX;
		struct counts counts = { news, ranges + at, some, ret_counts + at };
		char *statement = statement_of(news, "SELECT `trace`, uniqExact(`level`, `begin`)",
					       ranges + at, some, "GROUP BY `trace`");

		r = clickhouse_rows(news->http, statement, NULL, 2, take_count, &counts, err);
		free(statement);
	}
	return r;
}

/* ---- one window ---- */

struct next {
	uint64_t count, begin;
};

static int take_next(void *user, char *const *fields, const size_t *lens, struct err *err)
{
	struct next *next = user;

	return clickhouse_take_ns(fields[0], lens[0], &next->count) &&
	       clickhouse_take_ns(fields[1], lens[1], &next->begin);
}

/* What is near is found without a look at all that a trace has. */
int clickhouse_news_next(struct clickhouse_news *news, const struct store_news_range *range,
			 bool is_last, uint64_t *ret_begin, struct err *err)
{
	static const uint64_t lengths[] = { 3600 * NS_PER_S, CLICKHOUSE_NEWS_REACH_NS, UINT64_MAX };
	struct next next = { 0, 0 };
	int r = 0;

	assert(range->begin < range->end);
	for (size_t i = 0; r == 0 && next.count == 0 && news->has_windows && i < 3; i++) {
		struct store_news_range near = *range;
		char *statement;

		if (range->end - range->begin > lengths[i]) {
			near.begin = is_last ? near.end - lengths[i] : near.begin;
			near.end = is_last ? near.end : near.begin + lengths[i];
		}
		statement = statement_of(news,
					 is_last ? "SELECT count(), max(`begin`)"
						 : "SELECT count(), min(`begin`)",
					 &near, 1, "");
		r = clickhouse_rows(news->http, statement, NULL, 2, take_next, &next, err);
		free(statement);
	}
	*ret_begin = next.begin;
	return r < 0 ? r : next.count > 0;
}

/* ---- all of the store ---- */

struct news_span {
	uint64_t first, last;
};

static int take_span(void *user, char *const *fields, const size_t *lens, struct err *err)
{
	struct news_span *span = user;

	return clickhouse_take_ns(fields[0], lens[0], &span->first) &&
	       clickhouse_take_ns(fields[1], lens[1], &span->last) && span->first <= span->last;
}

int clickhouse_news_span(struct clickhouse_news *news, uint64_t *ret_first, uint64_t *ret_last,
			 struct err *err)
{
	struct news_span span = { 0, 0 };
	int r = news->has_windows ? clickhouse_rows(news->http,
						    "SELECT min(`begin`), max(`end`) FROM "
						    "`windows` FORMAT TabSeparated",
						    NULL, 2, take_span, &span, err)
				  : 0;

	*ret_first = span.first;
	*ret_last = span.last;
	return r;
}

struct gaps {
	clickhouse_gap_fn *each;
	void *user;
};

static int take_gap(void *user, char *const *fields, const size_t *lens, struct err *err)
{
	const struct gaps *gaps = user;
	uint64_t begin, end, windows;

	if (!clickhouse_take_ns(fields[0], lens[0], &begin) ||
	    !clickhouse_take_ns(fields[1], lens[1], &end) ||
	    !clickhouse_take_ns(fields[2], lens[2], &windows)) {
		return false;
	}
	fields[3][mirror_unescape(fields[3], lens[3])] = '\0';
	gaps->each(gaps->user, begin, end, windows, fields[3]);
	return true;
}

int clickhouse_news_gaps(struct clickhouse_news *news, uint64_t begin, uint64_t end,
			 clickhouse_gap_fn *each, void *user, struct err *err)
{
	struct gaps gaps = { each, user };
	char *statement, *tables = NULL;
	int r = list_tables(news, &tables, err);

	if (r < 0 || !clickhouse_has_line(tables, "gaps")) {
		free(tables);
		return r;
	}
	free(tables);
	statement = mem_printf("SELECT `begin`, `end`, `windows`, `why` FROM `gaps` FINAL"
			       " WHERE `end` > %" PRIu64 " AND `begin` < %" PRIu64
			       " ORDER BY `begin`, `end` FORMAT TabSeparated",
			       begin < INT64_MAX ? begin : INT64_MAX,
			       end < INT64_MAX ? end : INT64_MAX);
	r = clickhouse_rows(news->http, statement, NULL, 4, take_gap, &gaps, err);
	free(statement);
	return r;
}
