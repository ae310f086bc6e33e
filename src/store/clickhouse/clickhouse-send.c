/*
 * clickhouse-send: see clickhouse-send.h.
 */
#include "store/clickhouse/clickhouse-send.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "store/clickhouse/clickhouse-proof.h"

static int make_tables(struct clickhouse_link *link, const struct clickhouse_batch *batch,
		       struct err *err)
{
	int r = link->is_checked ? 0 : clickhouse_check(link->http, link->url, true, err);

	link->is_checked = r == 0;
	if (r == 0 && link->url->cluster && !link->is_joined) {
		r = clickhouse_join_cluster(link->http, link->url, err);
		link->is_joined = r == 0;
	}
	for (size_t i = 0; r == 0 && i < batch->parts.count; i++) {
		uint32_t table = batch->parts.at[i].table;

		assert(table < CLICKHOUSE_TABLES_MAX);
		if (!link->has_table[table]) {
			r = clickhouse_make_table(link->http, link->url, table, err);
			link->has_table[table] = r == 0;
		}
	}
	return r;
}

typedef bool part_fn(uint32_t table);

static bool is_head(uint32_t table)
{
	return table == CLICKHOUSE_WINDOWS;
}

static bool is_no_head(uint32_t table)
{
	return table != CLICKHOUSE_WINDOWS;
}

static bool is_trace(uint32_t table)
{
	return table == CLICKHOUSE_TRACES;
}

static int send_parts(struct clickhouse_link *link, const struct clickhouse_batch *batch,
		      part_fn *is_wanted, struct err *err)
{
	VEC(struct http_request) requests = { 0 };
	int r;

	VEC_EACH(&batch->parts, part) {
		if (is_wanted(part->table)) {
			*vec_push(&requests) = (struct http_request){ .body = part->body.at,
								      .len = part->body.count };
		}
	}
	r = http_run(link->http, requests.at, requests.count, err);
	vec_fini(&requests);
	return r;
}

/* A window is there when its head is. */
static int send_once(struct clickhouse_link *link, const struct clickhouse_batch *batch,
		     struct err *err)
{
	int r = make_tables(link, batch, err);

	r = r < 0 ? r : send_parts(link, batch, is_no_head, err);
	r = r < 0 ? r : send_parts(link, batch, is_head, err);
	r = r < 0 ? r : clickhouse_prove(link->http, batch, err);
	if (r < 0) { /* it may be another server when it comes back */
		link->is_checked = link->is_joined = false;
		memset(link->has_table, 0, sizeof(link->has_table));
	}
	return r;
}

int clickhouse_send(struct clickhouse_link *link, const struct clickhouse_batch *batch,
		    struct err *err)
{
	int r = send_once(link, batch, err);

	assert(link->http && link->url);
	/* Tables may have changed since they were made. */
	return r == -EBADMSG ? send_once(link, batch, err) : r;
}

void clickhouse_send_traces(struct clickhouse_link *link, const struct clickhouse_batch *batch)
{
	struct err ignored; /* that the batch is refused is said */

	(void)send_parts(link, batch, is_trace, &ignored);
}
