/*
 * web-state: what web.c keeps for web-server.c.
 */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "live/web/web.h"

struct web_server;

/* One event, as it is sent. */
struct web_item {
	uint64_t number;
	char *trace; /* the item is the window of this trace; NULL: it is no window */
	char *text;
	size_t len;
};

struct web_report {
	uint64_t number; /* of the capture */
	char *path;      /* of its report.html */
};

struct web {
	VEC(struct web_item) items; /* by number */
	uint64_t last;              /* number given */
	VEC(struct web_report) reports;
	struct web_server *server;
};

/* ---- web-server.c ---- */

/* See web_new().  @web must outlive the server. */
struct web_server *web_server_new(struct event_base *base, const struct web_config *config,
				  const struct web *web, struct err *err);
void web_server_free(struct web_server *server); /* NULL is fine */
/* A newer window takes the place of an item: those for which there was no room for it miss it. */
void web_server_misses(struct web_server *server, uint64_t number);
/* There are new items: viewers get them soon. */
void web_server_changed(struct web_server *server);

/* ---- made by embed.py; zero-terminated ---- */

extern const unsigned char web_page[], web_script[], web_style[];
