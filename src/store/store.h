/*
 * store: where windows stay: a sink that writes them to a database (doc/store.md).
 *
 *     coordinator                       writer thread
 *     store_sink ──► items, a queue ──► sqlite/sqlite-write.c: one transaction for what waits
 *                                  └──► clickhouse/clickhouse-writer.c: batches, a spool
 *
 * The coordinator never waits for the database when it is live: if the queue is full, windows are
 * lost, which is said once, counted, and recorded as a gap.  A command that reads recorded traces
 * can wait.
 *
 * Windows stored + windows in the spool + windows lost = windows closed, always; store_close() says
 * them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/account.h"
#include "base/err.h"
#include "output/sink.h"
#include "store/keep.h"
#include "store/rows/store-url.h"

struct store;

struct store_config {
	const char *url;
	bool may_wait; /* the caller can wait until there is room */
	uint64_t interval_ns;
	uint64_t also_ns; /* windows of this length are kept, too; 0: none */
	struct store_keep keep;
	uint64_t top;            /* of the longest instances in a window, so many rows */
	struct account *account; /* what waits for the writer is of it; NULL: nobody counts */
	const atomic_bool *stop; /* becomes true: @keep may wait for the next run; NULL: never */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct store_account {
	uint64_t closed, stored, spooled, lost; /* windows; before the end some are in none yet */
	uint64_t rows;
	/* Windows that were given to the writer, and how many of them, from the first, are not only
	 * in memory any more. */
	uint64_t given, settled;
};

/* Opens the store, and begins it if there is none.  -errno: one line in @err; -EINVAL: it is none,
 * or of a newer version. */
int store_open(const struct store_config *config, struct store **ret, struct err *err);
/* What it is called in messages, without a password. */
const char *store_name(const struct store *store);
struct store_account store_account(struct store *store);
/* Waits until all is written.  Negative: windows were lost, which was said. */
int store_close(struct store *store, struct store_account *ret_account);

/* A sink whose output has the store as its state.  It has no file. */
extern const struct sink sink_store;
