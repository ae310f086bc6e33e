/*
 * clickhouse-without: a build without libcurl has no store on a server, and says so.
 */
#include <errno.h>

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
