/*
 * reader-news: which windows land in a store, for those who follow it.
 *
 * It has a connection of its own, reads no rows of windows, and holds between calls nothing that
 * a writer would wait for.  Windows land in the order of time in each trace, as a rule; between
 * traces there is no order.
 */
#pragma once

#include "store/reader.h"
#include "store/rows/news.h"

struct store_news;

/*
 * -ENOENT: there is no store yet, no file, an empty one, or an empty database; else as
 * store_reader_open().
 */
int store_news_open(const char *url, const atomic_bool *stop, struct store_news **ret,
		    struct err *err);
void store_news_close(struct store_news *news); /* NULL is fine */
/* What the store is called in messages. */
const char *store_news_name(const struct store_news *news);

/* Looks for new traces.  1: something may have been written since the last call, 0: nothing was.
 * -ENOENT: the file has gone, or is another one. */
int store_news_look(struct store_news *news, struct err *err);
/* Those that are known; new ones come behind them. */
const struct store_trace *store_news_traces(const struct store_news *news, size_t *ret_count);
/* How far back from the newest window it should be asked for windows; UINT64_MAX: as far as you
 * like. */
uint64_t store_news_reach_ns(const struct store_news *news);

/* Calls @each for the windows that are there; those of a trace come by length and begin. */
int store_news_windows(struct store_news *news, const struct store_news_range *ranges, size_t count,
		       store_news_fn *each, void *user, struct err *err);
/* How many windows each range has. */
int store_news_count(struct store_news *news, const struct store_news_range *ranges, size_t count,
		     uint64_t *ret_counts, struct err *err);
/* The begin of the window of a trace that is next to a time: the last one before, or the first at
 * or after it, within [@range->begin, @range->end).  1: there is one, 0: there is none. */
int store_news_next(struct store_news *news, const struct store_news_range *range, uint64_t time,
		    bool is_before, uint64_t *ret_begin, struct err *err);
/* The first begin and the last end; 0, 0: there is no window. */
int store_news_span(struct store_news *news, uint64_t *ret_first, uint64_t *ret_last,
		    struct err *err);
/* Windows in [begin, end) that were lost before they came to the store. */
int store_news_gaps(struct store_news *news, uint64_t begin, uint64_t end, store_gap_fn *each,
		    void *user, struct err *err);
