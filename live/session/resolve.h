/*
 * resolve: lookups of host names (base/process/lookup.h) as events of the live loop.
 */
#pragma once

#include <netdb.h>
#include <stdint.h>

struct event_base;
struct resolve;

/* @code: the result of getaddrinfo().  If it is 0, the callee owns @found. */
typedef void resolve_fn(void *user, int code, struct addrinfo *found);

/* Calls @done from the loop, never from within this call.  After resolve_cancel() it is not called.
 */
struct resolve *resolve_start(struct event_base *base, const char *host, uint16_t port, int family,
			      resolve_fn *done, void *user);

/* Cancels a lookup that is not done; NULL is fine. */
void resolve_cancel(struct resolve *resolve);
