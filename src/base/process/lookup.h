/*
 * lookup: turns host names into addresses without blocking.
 *
 * Only the C library's resolver knows all sources that the machine is configured for (files, DNS,
 * mDNS, LDAP), but it blocks, for a minute or more.  So each lookup has a thread, which is left
 * alone where nobody wants its result any more.  Numeric addresses need none.
 */
#pragma once

#include <netdb.h>
#include <stdint.h>

struct lookup;

/* @host: NULL: loopback. */
struct lookup *lookup_start(const char *host, uint16_t port, int family);
/* Readable once it is done. */
int lookup_fd(const struct lookup *lookup);
/* Of one that is done: the result of getaddrinfo(), with errno as it says.  If it is 0, the caller
 * owns *ret. */
int lookup_take(struct lookup *lookup, struct addrinfo **ret);
/* Also of one that is not done; NULL is fine. */
void lookup_free(struct lookup *lookup);

/* All of it.  Fails with EAI_INTR once a signal came (base/now.h). */
int lookup_wait(const char *host, uint16_t port, int family, struct addrinfo **ret);
