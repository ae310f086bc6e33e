/*
 * text-trigger: what triggers say, as text; see text.h.
 */
#pragma once

#include "output/sink.h"

/* Which trace it is, without a path that says no more. */
void text_trace_name(FILE *out, const struct trace_identity *trace);
void text_trigger(struct output *output, const struct trace_identity *trace,
		  const struct trigger_event *event);
/* A line for each bad window of an objective, and none for others. */
void text_budget(struct output *output, const struct trace_identity *trace,
		 const struct trigger_event *event);
