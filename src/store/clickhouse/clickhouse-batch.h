/*
 * clickhouse-batch: rows of some windows, as statements that are ready to be sent.
 */
#pragma once

#include "store/clickhouse/clickhouse-tables.h"
#include "store/rows/item.h"

/* One statement: INSERT, and the rows of one table. */
struct clickhouse_part {
	uint32_t table;
	VEC(char) body;
};

struct clickhouse_batch {
	int64_t number;           /* in the order of time; above 0 */
	uint64_t before;          /* windows of this run in batches before it */
	struct store_gap windows; /* its windows and the time that they cover */
	uint64_t rows;
	size_t bytes;
	struct store_gap gap; /* windows that were lost before, which it notes */
	VEC(struct clickhouse_part) parts;
};

struct clickhouse_batch *clickhouse_batch_new(void);
void clickhouse_batch_free(struct clickhouse_batch *batch); /* NULL is fine */

/* Makes rows of items.  It remembers which traces it has named. */
struct clickhouse_encoder;

struct clickhouse_encoder *clickhouse_encoder_new(uint64_t interval_ns);
void clickhouse_encoder_free(struct clickhouse_encoder *encoder);
void clickhouse_encode(struct clickhouse_encoder *encoder, const struct store_item *item,
		       struct clickhouse_batch *batch);
void clickhouse_encode_gap(struct clickhouse_encoder *encoder, const struct store_gap *gap,
			   struct clickhouse_batch *batch);
/* A batch was lost: traces have to be named again. */
void clickhouse_encoder_forget(struct clickhouse_encoder *encoder);
