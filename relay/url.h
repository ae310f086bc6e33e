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
/* Where a session goes: its names may be in the URL, /host/TARGET/SESSION as viewers write it, or
 * /SESSION as `lttng create --set-url` does, and beside it, NULL: they are not.  -EINVAL: one has
 * two names, or a pattern. */
int url_parse_to(const char *text, const char *session, const char *target, struct url *ret_url,
		 struct err *err);
void url_fini(struct url *url);
/* Whether @text begins like a URL of a relay, as no path does. */
bool url_is_one(const char *text);
bool url_matches(const struct url *url, const char *host, const char *session);
