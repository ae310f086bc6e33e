/*
 * clickhouse-proof: whether a server has what it took.
 *
 * A status of 200 says little: proxies and login pages give it to anything.  So the newest row of
 * each statement of a batch is asked back.  A server takes a statement of a batch as a whole, and a
 * row is replaced by newer ones only: if one of its key and version, or a newer one, is there, all
 * rows of the statement were.
 */
#pragma once

#include "store/clickhouse/clickhouse-batch.h"

/* -EREMOTEIO: rows are not there; -EBADMSG: the batch is damaged; or as http_run(). */
int clickhouse_prove(struct http *http, const struct clickhouse_batch *batch, struct err *err);
