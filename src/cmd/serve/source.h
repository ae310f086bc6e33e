/*
 * source: what `serve` and `api` are asked about: a trace, a capture, or a store.
 */
#pragma once

#include "api/request.h"

struct json_object;

struct served_source {
	enum api_kind kind;
	char *name; /* as it was given; of a URL without user, password and options */
	char *path; /* absolute, "sqlite:" and that, or a URL: no option, wherever it stands */
};

/* In the environment of `api` as a part of a server: the URL of a source, by its number. */
#define SOURCE_VARIABLE "SILLAGE_SERVE_URL_%zu"

/* What the argument is, and whether it is there.  Negative with the reason: it has a name, and may
 * have no path.  Call source_fini() whatever the result. */
int source_find(const char *arg, struct served_source *ret, struct err *err);
void source_fini(struct served_source *source);

/* A row of the request `sources`, but for events; what cannot be read has "why".  @why: it was not
 * found; NULL: it was. */
struct json_object *source_row(const struct served_source *source, size_t number, const char *why);
