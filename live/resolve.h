/*
 * resolve: host names to addresses, without stopping the loop.
 *
 * The C library's resolver is the one that knows what the machine is told to use (files, DNS,
 * mDNS, LDAP), but it blocks; so each lookup has a thread.  Addresses need none.
 */
#ifndef SILLAGE_LIVE_RESOLVE_H
#define SILLAGE_LIVE_RESOLVE_H

#include <netdb.h>
#include <stdint.h>

struct event_base;
struct resolve;

/* @code: of getaddrinfo(); @found is the callee's if it is 0. */
typedef void resolve_fn(void *user, int code, struct addrinfo *found);

/* Calls @done from the loop, never at once, unless it is cancelled. */
struct resolve *resolve_start(struct event_base *base, const char *host, uint16_t port, int family,
			      resolve_fn *done, void *user);

/* Of a lookup that is not done; NULL is fine. */
void resolve_cancel(struct resolve *resolve);

#endif
