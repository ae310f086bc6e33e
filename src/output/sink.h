/*
 * sink: the forms of output, and the files they go to.
 *
 *     struct sink     a form: text, JSON, LAMI; also the full screen (cmd/top), stores, and in
 *                     live the page, metrics and the control socket
 *     struct output   a form and a file, and the other outputs that get the same
 *
 * A sink is one file in sinks/ that ends in a const descriptor; sink.c has the table of those that
 * --format names.  Its state is in struct output.  Failed writes are recorded there and reported by
 * output_check() or output_close(), so that sinks need not look.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "engine/tables/report.h"

struct capture_result;
struct engine_warning;
struct phase_record;
struct trigger_event;

/* The trace that a line is about.  Members that are NULL are not printed. */
struct trace_identity {
	char *host, *session, *domain, *path;
	char *tracer;    /* "lttng-modules 2.13.5" (metadata_tracer()); NULL: not known */
	bool tells_path; /* others of the run have the same names: the path is in headings */
	bool has_uuid;
	uint8_t uuid[16];
};

#define OUTPUT_COLUMNS_ALL (1u << 20) /* width of text in a file or a pipe: nothing is left out */

struct output {
	const struct sink *sink;
	FILE *out;        /* writes to fd, and records why that failed */
	int fd;           /* changes when the file is opened again */
	bool waits;       /* it is no file: its reader may be slow */
	int failure;      /* errno of the first failed write; 0: none */
	const char *path; /* NULL: standard output */
	/* The sink writes JSON, of which tables are made (tables.h): this one, or if it is "" all
	 * of them, and `path` is a directory; NULL: none. */
	const char *tables;
	struct csv *csv;
	bool is_text; /* for people: nothing but plain text reaches the file (text/plain.h) */
	char held[4]; /* is_text: the begin of a letter, which was not written yet */
	size_t held_count, held_blanks; /* and blanks before it, which may end a line */
	bool is_whole;    /* the file appears at the end, if anything was written (whole.h) */
	bool is_unnamed;  /* so far */
	bool has_no_rows; /* closed: a table that was asked for is empty */
	bool has_written;
	uint64_t top; /* rows per table; 0: all */
	/* Whether the user chose rows, lists and analyses: text leaves some out if not. */
	bool has_top, has_per, has_analyses;
	bool shows_freq;    /* text: distributions as bars, */
	bool shows_buckets; /* JSON: distributions with all buckets */
	uint64_t bins;      /* in so many bins of equal width; 0: powers of two */
	bool is_terminal, has_colour;
	bool has_width;
	uint64_t width;       /* has_width: of the text, as the user wants it; 0: no limit */
	unsigned int columns; /* width of the text; set by output_open() */
	bool shows_phases;
	uint64_t interval_ns;
	const struct analysis *const *analyses; /* to print; ends with NULL; NULL: all */
	const struct display *display;          /* which lists of them; NULL: all, as they are */
	void *state;                            /* of the sink */
	/* All that is written goes there, too, whatever is shown: stores, servers. */
	VEC(struct output *) also;
	bool hides_containers; /* reports list them for others only */
};

struct run_summary {
	uint64_t events, packets, bytes, wall_ns;
	bool is_interrupted; /* by a signal, before all was read */
	int exit;
	/* Live: packets whose index a relay gave, each time it did; of them those that came again
	 * and were dropped, and those that were not analysed before their connection ended; packets
	 * that are missing.  Bytes of packets that came from relays, and packets that were not
	 * fetched: they are before --from, or an earlier connection, or the run that was resumed,
	 * had them. */
	bool is_live;
	uint64_t turn_ns; /* processor time of the longest turn of the loop */
	uint64_t announced, duplicates, unfetched_packets, lost_packets;
	uint64_t fetched_bytes, passed_packets;
};

/* Functions may be NULL: the form has nothing for it.  Those that --format names have report(). */
struct sink {
	const char *name;
	bool lacks_missing;  /* it has no place for what is not recorded: the command says it */
	bool sees_unprinted; /* also triggers that fire without an action that prints them */
	void (*start)(struct output *output);
	void (*attach)(struct output *output, const struct trace_identity *trace, bool is_attach,
		       const char *reason);
	void (*report)(struct output *output, const struct trace_identity *trace,
		       const struct report *report);
	void (*warning)(struct output *output, const struct trace_identity *trace,
			const struct engine_warning *warning);
	void (*trigger)(struct output *output, const struct trace_identity *trace,
			const struct trigger_event *event);
	/* Each window that counts for an objective. */
	void (*budget)(struct output *output, const struct trace_identity *trace,
		       const struct trigger_event *event);
	void (*phase)(struct output *output, const struct trace_identity *trace,
		      const struct phase_record *phase);
	void (*capture)(struct output *output, const struct capture_result *capture);
	void (*end)(struct output *output, const struct run_summary *summary);
};

/* NULL: there is no such form. */
const struct sink *sink_find(const char *name);

/* ---- writing: these call the sink's function, if it has one ---- */

/* Whether the user wants to see the analysis. */
bool output_wants(const struct output *output, const struct analysis *analysis);
void output_start(struct output *output);
void output_attach(struct output *output, const struct trace_identity *trace, bool is_attach,
		   const char *reason);
/* What is shown of it (shown.h) to the sink, all of it to output->also. */
void output_report(struct output *output, const struct trace_identity *trace,
		   const struct report *report);
/* To those of output->also alone: a window that is not shown. */
void output_unseen(struct output *output, const struct trace_identity *trace,
		   const struct report *report);
void output_warning(struct output *output, const struct trace_identity *trace,
		    const struct engine_warning *warning);
/* @is_printed: an action prints it. */
void output_trigger(struct output *output, const struct trace_identity *trace,
		    const struct trigger_event *event, bool is_printed);
void output_budget(struct output *output, const struct trace_identity *trace,
		   const struct trigger_event *event);
void output_phase(struct output *output, const struct trace_identity *trace,
		  const struct phase_record *phase);
/* To those of output->also alone: the one that goes on, as far as it is known. */
void output_phase_unseen(struct output *output, const struct trace_identity *trace,
			 const struct phase_record *phase);
void output_capture(struct output *output, const struct capture_result *capture);
void output_end(struct output *output, const struct run_summary *summary);

/* Around text that is bold, where there are colours. */
const char *output_bold(const struct output *output);
const char *output_normal(const struct output *output);

/* ---- the file; failures are -errno with the reason ---- */

/* Opens output->path, or standard output.  @output must not move afterwards. */
int output_open(struct output *output, struct err *err);
/* Opens the path again, for log rotation (SIGHUP). */
int output_reopen(struct output *output, struct err *err);
/* Flushes.  Negative: a write has failed, at any time. */
int output_check(struct output *output, struct err *err);
int output_close(struct output *output, struct err *err);

/* ---- traces ---- */

/* "host/session/domain", or the path if it has none of these.  @with_path: and the path, which
 * makes it unique.  The caller frees it. */
char *output_trace_text(const struct trace_identity *identity, bool with_path);
void output_trace_fini(struct trace_identity *identity);

#include "output/sinks/json.h" /* lines of triggers and captures, for control sockets and commands */
