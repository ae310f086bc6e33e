/*
 * reader-without: a build without SQLite has no store to read, and says so.
 */
#include <errno.h>

#include "store/reader-news.h"

static int missing(const char *url, struct err *err)
{
	(void)url; /* it may have a password */
	return err_raise(err, -ENOTSUP, "this sillage was built without stores (libsqlite3)");
}

int store_reader_open(const char *url, const atomic_bool *stop, struct store_reader **ret,
		      struct err *err)
{
	(void)ret;
	(void)stop;
	return missing(url, err);
}

int store_reader_open_many(const char **urls, const atomic_bool *stop, struct store_reader **ret,
			   struct err *err)
{
	return store_reader_open(urls[0], stop, ret, err);
}

void store_reader_say_all(struct store_reader *reader)
{
	(void)reader;
}

int store_reader_check(const char *url, struct err *err)
{
	return missing(url, err);
}

void store_reader_close(struct store_reader *reader)
{
	(void)reader;
}

const char *store_reader_name(const struct store_reader *reader)
{
	(void)reader;
	return "";
}

const struct store_trace *store_reader_traces(const struct store_reader *reader, size_t *ret_count)
{
	(void)reader;
	*ret_count = 0;
	return NULL;
}

void store_reader_want(struct store_reader *reader, const struct analysis *const *list,
		       const struct selection *selection)
{
	(void)reader;
	(void)list;
	(void)selection;
}

void store_reader_want_tables(struct store_reader *reader, const bool (*tables)[TABLES_MAX])
{
	(void)reader;
	(void)tables;
}

int store_reader_span(struct store_reader *reader, uint64_t *ret_first, uint64_t *ret_last,
		      struct err *err)
{
	(void)reader;
	(void)ret_first;
	(void)ret_last;
	return missing("", err);
}

int store_reader_windows(struct store_reader *reader, const bool *wanted, uint64_t interval_ns,
			 uint64_t begin, uint64_t end, struct store_windows *ret, struct err *err)
{
	(void)reader;
	(void)wanted;
	(void)interval_ns;
	(void)begin;
	(void)end;
	(void)ret;
	return missing("", err);
}

int store_reader_read(struct store_reader *reader, const struct store_window *window,
		      struct report *ret, struct err *err)
{
	(void)reader;
	(void)window;
	(void)ret;
	return missing("", err);
}

int store_reader_gaps(struct store_reader *reader, uint64_t begin, uint64_t end, store_gap_fn *each,
		      void *user, struct err *err)
{
	(void)reader;
	(void)begin;
	(void)end;
	(void)each;
	(void)user;
	return missing("", err);
}

/* ---- following ---- */

int store_news_open(const char *url, const atomic_bool *stop, struct store_news **ret,
		    struct err *err)
{
	(void)ret;
	(void)stop;
	return missing(url, err);
}

void store_news_close(struct store_news *news)
{
	(void)news;
}

const char *store_news_name(const struct store_news *news)
{
	(void)news;
	return "";
}

int store_news_look(struct store_news *news, struct err *err)
{
	(void)news;
	return missing("", err);
}

const struct store_trace *store_news_traces(const struct store_news *news, size_t *ret_count)
{
	(void)news;
	*ret_count = 0;
	return NULL;
}

uint64_t store_news_reach_ns(const struct store_news *news)
{
	(void)news;
	return 0;
}

int store_news_windows(struct store_news *news, const struct store_news_range *ranges, size_t count,
		       store_news_fn *each, void *user, struct err *err)
{
	(void)news;
	(void)ranges;
	(void)count;
	(void)each;
	(void)user;
	return missing("", err);
}

int store_news_count(struct store_news *news, const struct store_news_range *ranges, size_t count,
		     uint64_t *ret_counts, struct err *err)
{
	(void)news;
	(void)ranges;
	(void)count;
	(void)ret_counts;
	return missing("", err);
}

int store_news_next(struct store_news *news, const struct store_news_range *range, uint64_t time,
		    bool is_before, uint64_t *ret_begin, struct err *err)
{
	(void)news;
	(void)range;
	(void)time;
	(void)is_before;
	(void)ret_begin;
	return missing("", err);
}

int store_news_span(struct store_news *news, uint64_t *ret_first, uint64_t *ret_last,
		    struct err *err)
{
	(void)news;
	(void)ret_first;
	(void)ret_last;
	return missing("", err);
}

int store_news_gaps(struct store_news *news, uint64_t begin, uint64_t end, store_gap_fn *each,
		    void *user, struct err *err)
{
	(void)news;
	(void)begin;
	(void)end;
	(void)each;
	(void)user;
	return missing("", err);
}
