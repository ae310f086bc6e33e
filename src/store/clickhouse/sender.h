/*
 * sender: the thread that sends batches, and the spool that they wait in.
 *
 *     sender_put() ──► outbox, a few batches ──► the server          while it answers
 *          └─────────► spool, on disk ─────────► the server, later   while it is away or slow
 *
 * Batches arrive in their order.  What a batch has is in the server as a whole or not at all to a
 * reader: the heads of its windows are sent when all other rows are there.  A batch whose sending
 * was cut is sent again; its rows replace themselves.
 */
#pragma once

#include "store/clickhouse/clickhouse-batch.h"

struct sender;

/* What becomes of windows.  Called in the sender's thread or in that of sender_put(). */
struct sender_events {
	void *user;
	void (*stored)(void *user, uint64_t windows, uint64_t rows);
	/* Windows of this run that wait on disk. */
	void (*spooled)(void *user, int64_t more);
	/* @gap: what a store has to note, of which @windows are lost now. */
	void (*lost)(void *user, const struct store_gap *gap, uint64_t windows);
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/*
 * Looks whether the server is there, and starts.  @may_wait: the caller can wait for a server that
 * is slow; then it has to be there now, and -errno says that it is not, knows no such user, or has
 * another version.  Else windows go to the spool, whatever it answers.
 */
int sender_open(const struct clickhouse_url *url, bool may_wait, const struct sender_events *events,
		struct sender **ret, struct err *err);
/* Takes the batch. */
void sender_put(struct sender *sender, struct clickhouse_batch *batch);
/* So many windows, from the first that was put, are stored, on disk or lost: none of them is only
 * in memory.  Any thread. */
uint64_t sender_settled(struct sender *sender);
/* Whether a batch was lost since it was asked last. */
bool sender_has_lost(struct sender *sender);
/* Ends when all is sent, or waits in the spool, or is lost.  NULL is fine. */
void sender_close(struct sender *sender);
