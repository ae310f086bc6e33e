/*
 * sink: where reports go, and in which form.
 *
 * A sink is one file in sinks/ that ends in a const descriptor; sink.c has the table.
 * It keeps no state but in struct output.
 */
#ifndef SILLAGE_OUTPUT_SINK_H
#define SILLAGE_OUTPUT_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "engine/tables/report.h"

struct capture_order;
struct engine_warning;
struct trigger_event;

/* Which trace a line is about; NULL members are left out. */
struct trace_identity {
	char *host, *session, *domain, *path;
};

struct output {
	const struct sink *sink;
	FILE *out; /* writes through a function of ours, which keeps the reason of a failure */
	int fd;
	int failure;      /* errno of the first write that failed, 0: none */
	const char *path; /* NULL: standard output */
	uint64_t top;     /* rows per table, 0: all */
	bool shows_freq;  /* text: distributions as bars, */
	uint64_t bins;    /* so many of one width, 0: powers of two */
	bool is_terminal, has_colour;
	unsigned int columns; /* width of the terminal */
	uint64_t interval_ns;
	const struct analysis *const *analyses;
	void *state; /* of a sink that is no text */
};

struct run_summary {
	uint64_t events, packets, bytes, wall_ns;
	int exit;
};

/* All but report() may be NULL: a form that has nothing for it. */
struct sink {
	const char *name;
	void (*start)(struct output *output);
	void (*attach)(struct output *output, const struct trace_identity *trace, bool is_attach,
		       const char *reason);
	void (*report)(struct output *output, const struct trace_identity *trace,
		       const struct report *report);
	void (*warning)(struct output *output, const struct trace_identity *trace,
			const struct engine_warning *warning);
	void (*trigger)(struct output *output, const struct trace_identity *trace,
			const struct trigger_event *event);
	void (*capture)(struct output *output, const struct capture_order *order);
	void (*end)(struct output *output, const struct run_summary *summary);
};

extern const struct sink sink_text, sink_json, sink_lami;

/* LAMI's description of what sink_lami writes; that keeps a struct json in output.state. */
void lami_describe(FILE *out, const struct analysis *const *list);

/* These call the sink's function if it has one. */
void output_start(struct output *output);
void output_attach(struct output *output, const struct trace_identity *trace, bool is_attach,
		   const char *reason);
void output_report(struct output *output, const struct trace_identity *trace,
		   const struct report *report);
void output_warning(struct output *output, const struct trace_identity *trace,
		    const struct engine_warning *warning);
void output_trigger(struct output *output, const struct trace_identity *trace,
		    const struct trigger_event *event);
void output_capture(struct output *output, const struct capture_order *order);
void output_end(struct output *output, const struct run_summary *summary);

/* The line of a trigger. */
void json_trigger(FILE *out, const struct trace_identity *trace, const struct trigger_event *event);
/* The line of a capture that was made, or failed. */
void json_capture(FILE *out, const struct capture_order *order);
/* What the JSON sink writes for each analysis, for doc/json.md. */
void json_describe(FILE *out, const struct analysis *const *list);

/* NULL if there is no such sink. */
const struct sink *sink_find(const char *name);

/* Opens output->path, or standard output.  -errno with the reason.  @output must not move. */
int output_open(struct output *output, struct err *err);
/* SIGHUP: opens the path again, for log rotation. */
int output_reopen(struct output *output, struct err *err);
/* Flushes; negative if anything could not be written since. */
int output_check(struct output *output, struct err *err);
int output_close(struct output *output, struct err *err);

/* "host/session/domain", or its path if it has none of these; @with_path: and the path, which is
 * what tells two traces apart.  To be freed. */
char *output_trace_text(const struct trace_identity *identity, bool with_path);
void output_trace_fini(struct trace_identity *identity);

#endif
