/*
 * clickhouse-without: a build without libcurl has no store on a server, and says so.
 */
#include <errno.h>

#include "store/clickhouse/clickhouse-news.h"
#include "store/clickhouse/clickhouse-writer.h"

static int missing(struct err *err)
{
	return err_raise(err, -ENOTSUP,
			 "this sillage was built without stores in ClickHouse (libcurl)");
}

int clickhouse_writer_open(const char *url, uint64_t interval_ns, bool may_wait,
			   const struct sender_events *events, struct clickhouse_writer **ret,
			   struct err *err)
{
	(void)url;
	(void)interval_ns;
	(void)may_wait;
	(void)events;
	(void)ret;
	return missing(err);
}

/* No function below has something to do: nothing was opened. */

const char *clickhouse_writer_name(const struct clickhouse_writer *writer)
{
	(void)writer;
	return "";
}

void clickhouse_writer_put(struct clickhouse_writer *writer, struct store_item *const *items,
			   size_t count, const struct store_gap *gap)
{
	(void)writer;
	(void)items;
	(void)count;
	(void)gap;
}

uint64_t clickhouse_writer_settled(const struct clickhouse_writer *writer)
{
	(void)writer;
	return 0;
}

uint64_t clickhouse_writer_due_ns(const struct clickhouse_writer *writer)
{
	(void)writer;
	return UINT64_MAX;
}

void clickhouse_writer_flush(struct clickhouse_writer *writer)
{
	(void)writer;
}

void clickhouse_writer_note(struct clickhouse_writer *writer, const struct store_gap *gap)
{
	(void)writer;
	(void)gap;
}

void clickhouse_writer_close(struct clickhouse_writer *writer)
{
	(void)writer;
}

/* ---- following ---- */

int clickhouse_news_open(const char *url, const atomic_bool *stop, struct clickhouse_news **ret,
			 struct err *err)
{
	(void)url;
	(void)stop;
	(void)ret;
	return missing(err);
}

void clickhouse_news_close(struct clickhouse_news *news)
{
	(void)news;
}

const char *clickhouse_news_name(const struct clickhouse_news *news)
{
	(void)news;
	return "";
}

int clickhouse_news_traces(struct clickhouse_news *news, struct err *err)
{
	(void)news;
	return missing(err);
}

const struct clickhouse_trace *clickhouse_news_trace(struct clickhouse_news *news, size_t number)
{
	(void)news;
	(void)number;
	return NULL;
}

int clickhouse_news_windows(struct clickhouse_news *news, const struct store_news_range *ranges,
			    size_t count, store_news_fn *each, void *user, struct err *err)
{
	(void)news;
	(void)ranges;
	(void)count;
	(void)each;
	(void)user;
	return missing(err);
}

int clickhouse_news_count(struct clickhouse_news *news, const struct store_news_range *ranges,
			  size_t count, uint64_t *ret_counts, struct err *err)
{
	(void)news;
	(void)ranges;
	(void)count;
	(void)ret_counts;
	return missing(err);
}

int clickhouse_news_next(struct clickhouse_news *news, const struct store_news_range *range,
			 bool is_last, uint64_t *ret_begin, struct err *err)
{
	(void)news;
	(void)range;
	(void)is_last;
	(void)ret_begin;
	return missing(err);
}

int clickhouse_news_span(struct clickhouse_news *news, uint64_t *ret_first, uint64_t *ret_last,
			 struct err *err)
{
	(void)news;
	(void)ret_first;
	(void)ret_last;
	return missing(err);
}

int clickhouse_news_gaps(struct clickhouse_news *news, uint64_t begin, uint64_t end,
			 clickhouse_gap_fn *each, void *user, struct err *err)
{
	(void)news;
	(void)begin;
	(void)end;
	(void)each;
	(void)user;
	return missing(err);
}
