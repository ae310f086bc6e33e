/*
 * phase-line: a phase as a line of JSON (doc/json.md) is a record again, for stores and
 * comparisons.
 *
 * The lines are untrusted: what is not there, or of another type, is an error.
 */
#pragma once

#include "base/arena.h"
#include "phases/phases.h"

struct json_object;

/* All that @ret points to is in @arena.  -EINVAL: it is no such line. */
int phase_line_take(struct json_object *line, struct arena *arena, struct phase_record *ret);
int phase_line_parse(const char *text, size_t len, struct arena *arena, struct phase_record *ret);
