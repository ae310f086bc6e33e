/*
 * json: the JSON sink: an object per line, for programs (doc/json.md).
 *
 *     {"type":"start",...}                            one
 *     {"type":"window","trace":{...},"cpu":{...},...}   for each window, with -i
 *     {"type":"total",...}                            for each trace
 *     {"type":"end",...}                              one
 *
 * and lines of the types attach, detach, warning, trigger, phase and capture in between.  Keys and
 * rows come from the analyses' tables, so that a new analysis needs nothing here.  A line is
 * written with json_end_line() and has no newline within, so that readers may take a line at a
 * time.
 */
#pragma once

#include "output/sink.h"

extern const struct sink sink_json;

/* The line of a trigger. */
void json_trigger(FILE *out, const struct trace_identity *trace, const struct trigger_event *event);
struct json;
struct trigger_budget;
/* A member "budget": what is left of that of an objective. */
void json_budget(struct json *json, const struct trigger_budget *budget);
/* The line of a capture that was made, or that failed. */
void json_phase(FILE *out, const struct trace_identity *trace, const struct phase_record *phase);
void json_capture(FILE *out, const struct capture_result *capture);
/* The keys of each analysis, for doc/json.md. */
void json_describe(FILE *out, const struct analysis *const *list);
