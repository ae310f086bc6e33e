/*
 * workers: processes that compute replies, one each (`sillage api`).
 *
 *     a request ──► waits ──► a process: its standard output ──► the reply
 *                     │            │ too long, too much, or nobody wants it: it is killed
 *                     └────────────┴──► workers_drop()
 *
 * What is in traces and stores is untrusted, and a computation may be long: another process takes
 * no time and no memory of the server's, can be left at any moment, and has none of its keys, users
 * or connections.  Everything here runs in the thread of the event loop.
 *
 * Bounds: of processes, of requests that wait, of the time, the memory and the reply of each.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>

struct event_base;
struct workers_one;
struct workers;

/* In the environment of each: "PID NS", the server, without which it does not go on, and its
 * max_time_ns. */
#define WORKERS_VARIABLE "SILLAGE_SERVE"

struct workers_config {
	/* Both end with NULL, and must outlive the workers. */
	const char *const *sources; /* what they are called: everybody on this machine sees it */
	const char *const *environment; /* "NAME=VALUE", beside that of this process: secrets */
	size_t most;                    /* at once */
	uint64_t jobs, max_memory;      /* of each */
	uint64_t max_time_ns;           /* of each, from when it begins; 0: no limit */
};

struct workers *workers_new(struct event_base *base, const struct workers_config *config);
/* Kills all; none is heard of.  NULL is fine. */
void workers_free(struct workers *workers);

/* The reply: its status of HTTP, and @len bytes from malloc(), which the function takes. */
typedef void workers_done_fn(void *user, int status, char *reply, size_t len);
/* NULL: too many wait. */
struct workers_one *workers_begin(struct workers *workers, const char *request,
				  workers_done_fn *done, void *user);
/* Nobody wants it any more; it may not have been done. */
void workers_drop(struct workers_one *work);
