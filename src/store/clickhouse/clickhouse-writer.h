/*
 * clickhouse-writer: writes items to ClickHouse.
 *
 *     items ──► rows, gathered in a batch ──► sender ──► server, or spool
 *
 * All functions belong to one thread at a time; events come from it and from the sender's.
 */
#pragma once

#include "base/err.h"
#include "store/clickhouse/sender.h"
#include "store/rows/item.h"

struct clickhouse_writer;

/* Fails as sender_open(). */
int clickhouse_writer_open(const char *url, uint64_t interval_ns, bool may_wait,
			   const struct sender_events *events, struct clickhouse_writer **ret,
			   struct err *err);
/* What the store is called in messages: without a password. */
const char *clickhouse_writer_name(const struct clickhouse_writer *writer);
/* Makes rows of the items; and sends what was gathered if it is due.  @gap: windows that were lost
 * before; NULL: none. */
void clickhouse_writer_put(struct clickhouse_writer *writer, struct store_item *const *items,
			   size_t count, const struct store_gap *gap);
/* When put() is to be called, with items or without; UINT64_MAX: nothing is gathered. */
uint64_t clickhouse_writer_due_ns(const struct clickhouse_writer *writer);
/* See sender_settled(): of the windows that were put.  Any thread. */
uint64_t clickhouse_writer_settled(const struct clickhouse_writer *writer);
/* Sends what was gathered, and waits: nothing is undecided afterwards, and no more can be put. NULL
 * is fine, here and below. */
void clickhouse_writer_flush(struct clickhouse_writer *writer);
/* After that: tries to note windows that were lost. */
void clickhouse_writer_note(struct clickhouse_writer *writer, const struct store_gap *gap);
void clickhouse_writer_close(struct clickhouse_writer *writer);
