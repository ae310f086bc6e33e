/*
 * url: the name of a relay and of its sessions: net://HOST[:PORT[:PORT]][/host/TARGET/SESSION].
 *
 * These are the URLs of babeltrace2.  TARGET and SESSION may be shell patterns; a missing one
 * matches everything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define URL_PORT_LIVE 5344 /* a relay's default port for viewers */

struct url {
	char *text;
	char *host;
	uint16_t port, second_port; /* 0: not given */
	int family;                 /* AF_UNSPEC, AF_INET, AF_INET6 */
	char *target, *session;     /* NULL: all; may be shell patterns */
	bool is_exact;              /* names one session, no pattern */
};

/* -EINVAL with the reason. */
int url_parse(const char *text, struct url *ret_url, struct err *err);
void url_fini(struct url *url);
/* Whether @text begins like a URL of a relay, as no path does. */
bool url_is_one(const char *text);
/* Splits "[HOST]:PORT", the value of @option, to listen on: brackets around an IPv6 address;
 * without a host it is loopback.  -EINVAL with the reason. */
#define URL_HOST_BYTES 256
int url_split_listen(const char *option, const char *address, char host[URL_HOST_BYTES],
		     uint16_t *ret_port, struct err *err);
bool url_matches(const struct url *url, const char *host, const char *session);
