/*
 * serve: the server of `sillage serve`: requests of HTTP to workers, and their replies back.
 *
 *     /               the page (page/app.html), with its script and style
 *     /api/v1/...     replies (doc/api.md); /api/v1/schema: what they are
 *
 * A request that cannot be one is refused here (api/request.h); others are computed by a process
 * (workers.h), which is killed when its client leaves.  Replies that are not read yet are bounded.
 *
 * Everything runs in the thread of the event loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/request.h"
#include "serve/workers.h"

struct access;
struct serve;

struct serve_source {
	enum api_kind kind;
	const char *name;
};

struct serve_config {
	const char *option, *address; /* for messages; [HOST]:PORT, 0: any that is free */
	struct access *access;        /* TLS and users; NULL: neither */
	bool is_insecure;             /* others than this host may connect without */
	const struct serve_source *sources;
	size_t source_count;
	const char *analyses; /* for the page, JSON: [[name, what it is], ...] */
	struct workers_config workers;
};

/* NULL with the reason.  What the configuration points to must outlive it. */
struct serve *serve_new(struct event_base *base, const struct serve_config *config,
			struct err *err);
void serve_free(struct serve *serve); /* NULL is fine */
unsigned int serve_port(const struct serve *serve);

/* ---- made by embed.py; zero-terminated ---- */

extern const unsigned char serve_schema[];
extern const unsigned char serve_page[], serve_script[], serve_style[];
