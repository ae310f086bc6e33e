/*
 * metrics-server: serves metrics over HTTP.
 *
 * GET /metrics gets the text format 0.0.4, OpenMetrics 1.0.0 or protobuf, whichever the client
 * prefers; all other paths get 404.  What clients may do is bounded (server/server.h).
 */
#pragma once

#include "base/err.h"

struct access;
struct account;
struct event_base;
struct metrics;
struct metrics_server;

/* Listens on [HOST]:PORT (server/address.h); @access: TLS and users; NULL: neither.  NULL with the
 * reason.  It and @metrics must outlive the server.  Answers are of the account until they are sent
 * or dropped, which may be after metrics_server_free(). */
struct metrics_server *metrics_server_new(struct event_base *base, const char *address,
					  struct access *access, const struct metrics *metrics,
					  struct account *account, struct err *err);
void metrics_server_free(struct metrics_server *server); /* NULL is fine */
