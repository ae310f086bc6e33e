/*
 * web: the state of a live run in browsers.
 *
 *     windows, triggers, captures ──> web.c: the newest line of each ──> web-server.c ──> viewers
 *
 * The page, its script and its style are served as they are; the data follow as server-sent events
 * whose data are the lines of the JSON sink, with few rows of each list.  A viewer that is slow
 * gets the newest window of each trace when it has taken what it was given, and one that takes
 * nothing is left; both is said (server/repeat.h).  It never holds others.
 *
 * Everything runs in the thread of the event loop.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct access;
struct event_base;
struct sink;
struct web;

struct web_config {
	const char *address;   /* [HOST]:PORT (server/address.h) */
	struct access *access; /* TLS and users; NULL: neither */
	bool is_insecure;      /* others than this host may connect without */
};

/* NULL with the reason. */
struct web *web_new(struct event_base *base, const struct web_config *config, struct err *err);
void web_free(struct web *web);

/* Takes windows, traces that come and go, triggers and captures; the state is a struct web.  The
 * report of a capture is served by its number. */
extern const struct sink sink_web;
