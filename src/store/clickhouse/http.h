/*
 * http: requests to one server, by libcurl.
 *
 * All functions belong to one thread at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "base/vec.h"
#include "store/clickhouse/clickhouse-url.h"

struct http;

/* A piece of the answer; negative: it is damaged, which ends the request. */
typedef int http_data(void *user, const char *data, size_t len, struct err *err);

struct http_request {
	const char *body; /* a statement, with the rows that it inserts */
	size_t len;
	bool has_no_database; /* the statement is not about what is in the store's database */
	http_data *on_data;   /* NULL: nobody wants the answer */
	void *user;
};

/* @stop: becomes true if the caller wants to end; NULL: never.  Then a server may be silent after a
 * signal, but nothing goes on after now_must_end() (base/now.h).  Both outlive it. */
struct http *http_new(const struct clickhouse_url *url, const atomic_bool *stop);
void http_free(struct http *http);              /* NULL is fine */
const char *http_name(const struct http *http); /* of the server, for messages */

/*
 * Makes all requests, several at a time, and waits for them.  Negative: one failed, with the
 * reason, and others were not made or are undecided.
 *
 *     -EIO         the server is away, too slow, or left in the middle
 *     -EACCES      it does not know user and password
 *     -EREMOTEIO   it refused a statement
 *     -EBADMSG     it refused what the statement says, and will always do so
 *     -EINTR       @stop, or a signal
 */
int http_run(struct http *http, const struct http_request *requests, size_t count, struct err *err);

/* One statement, whose answer is short: a text that the caller frees.  Fails as above. */
int http_ask(struct http *http, const char *statement, bool has_no_database, char **ret,
	     struct err *err);
