/*
 * clickhouse-news: which windows land in a store in ClickHouse; see store/reader-news.h, whose
 * functions these serve.
 *
 * A server has no order in which windows came: they are looked for by trace and begin, each time
 * with few statements, so callers ask for what is near to the newest ones, as a rule.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "base/err.h"
#include "base/units.h"
#include "store/rows/news.h"

#define CLICKHOUSE_NEWS_REACH_NS (24 * 3600 * NS_PER_S)

struct clickhouse_news;

/* NULL: not known. */
struct clickhouse_trace {
	char *id, *uuid, *host, *session, *domain, *path;
};

typedef void clickhouse_gap_fn(void *user, uint64_t begin, uint64_t end, uint64_t windows,
			       const char *why);

int clickhouse_news_open(const char *url, const atomic_bool *stop, struct clickhouse_news **ret,
			 struct err *err);
void clickhouse_news_close(struct clickhouse_news *news); /* NULL is fine */
const char *clickhouse_news_name(const struct clickhouse_news *news);

/* Finds new traces; fails as http_run() does. */
int clickhouse_news_traces(struct clickhouse_news *news, struct err *err);
/* The trace of this number, in the order in which they were found; NULL: there is none. */
const struct clickhouse_trace *clickhouse_news_trace(struct clickhouse_news *news, size_t number);

int clickhouse_news_windows(struct clickhouse_news *news, const struct store_news_range *ranges,
			    size_t count, store_news_fn *each, void *user, struct err *err);
/* Adds to the counts. */
int clickhouse_news_count(struct clickhouse_news *news, const struct store_news_range *ranges,
			  size_t count, uint64_t *ret_counts, struct err *err);
/* 1: there is a window in the range; *ret_begin is that of the last or the first. */
int clickhouse_news_next(struct clickhouse_news *news, const struct store_news_range *range,
			 bool is_last, uint64_t *ret_begin, struct err *err);
int clickhouse_news_span(struct clickhouse_news *news, uint64_t *ret_first, uint64_t *ret_last,
			 struct err *err);
int clickhouse_news_gaps(struct clickhouse_news *news, uint64_t begin, uint64_t end,
			 clickhouse_gap_fn *each, void *user, struct err *err);
