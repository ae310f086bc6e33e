/*
 * address: where a server listens, and by which names it is asked for there.
 *
 *     :PORT            loopback: 127.0.0.1 and, where the host has it, ::1
 *     HOST:PORT        every address of the host
 *     0.0.0.0:PORT     every address of IPv4
 *     [::]:PORT        every address, of IPv4 too, whatever net.ipv6.bindv6only says
 *
 * Port 0, where it may be given, is one that is free on all of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ADDRESS_HOST_BYTES  256
#define ADDRESS_SOCKETS_MAX 8

struct address {
	char host[ADDRESS_HOST_BYTES]; /* without brackets; empty: loopback */
	uint16_t port;
};

struct address_sockets {
	int fds[ADDRESS_SOCKETS_MAX];
	size_t count;
	uint16_t port;
	bool is_loopback; /* only programs of this host reach them */
};

/* Reads [HOST]:PORT, the value of @option.  -EINVAL with the reason. */
int address_parse(const char *option, const char *text, struct address *ret, struct err *err);

/* The same with port 0. */
int address_parse_any(const char *option, const char *text, struct address *ret, struct err *err);

/* Listens; what listens is the caller's to close.  An address that this host does not have is left
 * out if it has another one.  @loopback_only: -EPERM, and nothing listens, where others could
 * connect.  Negative with the reason. */
int address_listen(const char *option, const struct address *address, bool loopback_only,
		   struct address_sockets *ret, struct err *err);

/* Whether @asked, the Host of a request or NULL, means loopback or the host as it was given.  A
 * page of another site whose name was made to lead here (DNS rebinding) still says that name. */
bool address_is_asked_for(const struct address *address, const char *asked);
