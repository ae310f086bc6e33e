/*
 * spool: batches that wait on disk until the server can be written again: a file of SQLite.
 *
 * One process has a file at a time.  A run that died leaves its file, and the next one that has the
 * same store sends what is there.
 */
#pragma once

#include "store/clickhouse/clickhouse-batch.h"

struct spool;

/*
 * Opens the file of the URL, or a file of its own for each store in $STATE_DIRECTORY,
 * $XDG_STATE_HOME/sillage or ~/.local/state/sillage.  -errno: it cannot be made, another process
 * has it, or it is of another store.
 */
int spool_open(const struct clickhouse_url *url, struct spool **ret, struct err *err);
/* An empty file is removed.  NULL is fine. */
void spool_close(struct spool *spool);

const char *spool_path(const struct spool *spool);
/* The number of the newest batch; 0: it is empty. */
int64_t spool_last(const struct spool *spool);
bool spool_is_empty(const struct spool *spool);
/* -ENOSPC: that is more than it may take; or what the disk says.  Nothing is kept then. */
int spool_put(struct spool *spool, const struct clickhouse_batch *batch, struct err *err);
/* The oldest batch, which stays there.  -errno: it cannot be read. */
int spool_first(struct spool *spool, struct clickhouse_batch **ret, struct err *err);
/* Takes the batch out, and leaves it in a table `aside` for people to look at, with the reason; so
 * the newest SPOOL_ASIDE_MAX.  The file is not removed then. */
#define SPOOL_ASIDE_MAX 8
int spool_set_aside(struct spool *spool, int64_t number, const char *why, struct err *err);
int spool_drop(struct spool *spool, int64_t number, struct err *err);
/* Windows in batches from @number on. */
uint64_t spool_windows(const struct spool *spool, int64_t number);
