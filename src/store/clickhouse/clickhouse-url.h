/*
 * clickhouse-url: what a store in ClickHouse is called:
 *
 *     clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?OPTION[=VALUE]&...]
 *
 *     https               by TLS; the default port is 8443, and not 8123
 *     ca=FILE             whom to trust, in place of the system's list
 *     password-file=FILE  its first line is the password; else $SILLAGE_STORE_PASSWORD
 *     timeout=DURATION    how long the server may be silent (30s)
 *     every=DURATION      how long windows are gathered (1s)
 *     spool=FILE          where windows wait while the server is away
 *     spool-size=SIZE     at most so much (1G)
 *     proxy=URL           a proxy to go through; that of the environment is not used
 *     cluster=NAME        the server is a shard of this cluster: DATABASE_all shows what all have
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct clickhouse_url {
	char *shown;    /* for messages: without user, password and options */
	char *address;  /* "http://host:port/" */
	char *database; /* letters, digits and _ */
	char *user, *password, *ca, *spool, *proxy, *cluster; /* NULL: not given */
	uint64_t timeout_ns, every_ns, spool_bytes;
	bool is_https;
};

/* Takes $SILLAGE_STORE_PASSWORD out of the environment, which programs that are started inherit,
 * and keeps it for URLs without a password.  Before other threads are. */
void clickhouse_url_take_password(void);
const char *clickhouse_url_kept_password(void); /* NULL: none */
/* -EINVAL: it is none; -ENOENT: libcurl is not installed; -errno: the password's file cannot be
 * read. */
int clickhouse_url_parse(const char *text, struct clickhouse_url *ret, struct err *err);
void clickhouse_url_fini(struct clickhouse_url *url);
