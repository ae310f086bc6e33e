/*
 * store: where windows stay: a sink that writes them to a database (doc/store.md).
 *
 *     coordinator                       writer thread
 *     store_sink ──► items, a queue ──► sqlite-write.c: one transaction for what waits
 *
 * The coordinator never waits for the database when it is live: if the queue is full, windows are
 * lost, which is said once, counted, and recorded as a gap.  A command that reads recorded traces
 * can wait.
 *
 * Windows written + windows lost = windows closed, always; store_close() says both.
 */
#ifndef SILLAGE_STORE_STORE_H
#define SILLAGE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "output/sink.h"

struct store;

struct store_config {
	const char *url;
	bool may_wait; /* the caller can wait until there is room */
	uint64_t interval_ns;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct store_account {
	uint64_t closed, stored, lost; /* windows */
	uint64_t rows;
};

/* The file of "sqlite:FILE" or "FILE.db"; NULL: it is none.  @ret_why says why. */
const char *store_file_of(const char *url, struct err *ret_why);

/* Opens the store, and begins it if there is none.  -errno: one line in @err. */
int store_open(const struct store_config *config, struct store **ret, struct err *err);
/* Waits until all is written.  Negative: windows were lost, which was said. */
int store_close(struct store *store, struct store_account *ret_account);

/* A sink whose output has the store as its state.  It has no file. */
extern const struct sink sink_store;

#endif
