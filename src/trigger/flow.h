/*
 * flow: what becomes of the reports of a trace.
 *
 *     engine ──► rollup ──► phases ──► output, and the outputs beside it
 *        └─────► triggers, which see the figures of phases, too
 */
#pragma once

#include <stdbool.h>

struct actions;
struct output;
struct phases;
struct report;
struct rollup;
struct trace_identity;

struct flow {
	const struct trace_identity *trace;
	struct output *output;
	struct actions *actions; /* triggers; NULL: none */
	struct rollup *rollup;   /* NULL: shown windows are the engine's */
	struct phases *phases;   /* NULL: not wanted */
	bool hides_windows;      /* they are made for others than the output itself */
	/* Called with each report that went to the output; NULL: nothing is. */
	void (*on_shown)(void *user, const struct report *report);
	void *user; /* also the context of actions_report() */
};

void flow_report(const struct flow *flow, const struct report *report);
