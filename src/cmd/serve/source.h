/*
 * source: what `serve` and `api` are asked about: a trace, a capture, or a store.
 */
#pragma once

#include "api/request.h"

struct json_object;

struct served_source {
	enum api_kind kind;
	char *name; /* as it was given */
	char *path; /* absolute, or the URL of a store on a server: no option, wherever it stands */
};

/* What the argument is, and whether it is there.  Negative with the reason.  Call source_fini()
 * whatever the result. */
int source_find(const char *arg, struct served_source *ret, struct err *err);
void source_fini(struct served_source *source);

/* A row of the request `sources`, but for events; what cannot be read has "why". */
struct json_object *source_row(const struct served_source *source, size_t number);
