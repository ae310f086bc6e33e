/*
 * json-known: what a report does not know, as members of its line: what was not recorded, not
 * selected, or not stored.
 */
#pragma once

#include "output/sink.h"

struct json;

/* What the trace does not record of what the analysis needs; left out if it records all. */
void json_known_missing(struct json *json, const struct report *report,
			const struct analysis *analysis);
/* The tables of an analysis, from @first on, whose figures are those of the whole system although
 * the user selected threads, CPUs or interrupts. */
void json_known_whole(struct json *json, const struct report *report, size_t first);
/* What only a part of the time has; left out if nothing is. */
void json_known_parts(struct json *json, const struct output *output, const struct report *report);
