/*
 * clickhouse-send: sends batches to a server, whose tables it makes where they lack.
 */
#pragma once

#include "store/clickhouse/clickhouse-batch.h"

/* One connection; zeroed, but for the first two. */
struct clickhouse_link {
	struct http *http;
	const struct clickhouse_url *url;
	bool is_checked; /* it is a store that can be written */
	bool is_joined;  /* to the cluster */
	bool has_table[CLICKHOUSE_TABLES_MAX];
};

/* Windows of it are there when all is.  Fails as http_run() and clickhouse_check(); -EBADMSG: the
 * server will never take it. */
int clickhouse_send(struct clickhouse_link *link, const struct clickhouse_batch *batch,
		    struct err *err);
/* Of a batch that the server refuses: which traces it names, if it takes that. */
void clickhouse_send_traces(struct clickhouse_link *link, const struct clickhouse_batch *batch);
