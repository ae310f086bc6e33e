/*
 * notice: what output reports besides windows: triggers that fired, captures that were written.
 *
 * The shapes belong to output, so that a sink knows neither triggers nor captures; whoever has
 * them fills them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/contract/analysis.h"
#include "figure/op.h"

/* A comparison, as it was when the trigger fired. */
struct trigger_value {
	const char *figure; /* as written */
	bool holds;
	bool is_share; /* value and limit are shares: 1 is all */
	bool is_rate;  /* per second */
	bool is_quotient;
	enum unit unit;
	double value, limit; /* limit: NAN: auto() or the baseline has none in this window */
	bool is_baseline;    /* the limit is made of the median of other days: */
	double baseline;     /* NAN: they are too few, */
	unsigned int days;   /* that have the row */
	enum op op;
	char row[320]; /* the row, as text (format_row()); "": the trace as a whole */
	int64_t tid;   /* the row's thread; below 0: none, or unknown */
};

#define TRIGGER_VALUES_MAX 16

/* Of an objective ("99.9% of windows: ..."), what is left. */
struct trigger_budget {
	double objective;      /* the share of windows in which it has to hold; 0: it is none */
	uint64_t ns;           /* the time that they are counted in; 0: the run */
	uint64_t windows, bad; /* that count, and those of them in which it did not hold */
	double allowed;        /* so many may be bad */
	bool counts;           /* the window of the event does, */
	bool is_charged;       /* and is a bad one */
};

struct trigger_event {
	const char *name, *text;
	uint64_t begin, end; /* ns: since when it held, and the end of the window */
	size_t rows;         /* how many fire; the values are those of the most extreme one */
	size_t count;        /* of values */
	struct trigger_budget budget;
	struct trigger_value values[TRIGGER_VALUES_MAX];
	/* Of a trigger `on N hosts`: those on which it holds, and how it does there; the values are
	 * those of the most extreme one, and `begin` is since when it holds on N of them. */
	size_t host_count; /* 0: it is of one trace or host */
	const struct trigger_host *hosts;
};

struct trigger_host {
	const char *host;
	const struct trigger_event *event; /* there; it has no hosts */
};

/* Writes the values of the event as text for people. */
void notice_trigger_text(const struct trigger_event *event, char *text, size_t size);

/* Whether more windows are bad than may be. */
bool notice_is_spent(const struct trigger_budget *budget);
/* "held in 998 of 1000 windows (99.8 %); 2 bad, 3 allowed: 1 left". */
void notice_budget_text(const struct trigger_budget *budget, char *text, size_t size);

/* What is written of a capture, into its directory. */
/* CAPTURE_JOBS: the report lists the jobs that ran.  CAPTURE_SPANS: the report is a text, of
 * periods and jobs; no trace of the kernel was there. */
enum { CAPTURE_REPORT = 1, CAPTURE_PERFETTO = 2, CAPTURE_JOBS = 4, CAPTURE_SPANS = 8 };

/* A capture that was written, or failed.  All texts are borrowed. */
struct capture_result {
	uint64_t number; /* in this run */
	const char *host, *session;
	const char *triggers;            /* their names */
	uint64_t begin, end;             /* ns: the range */
	const char *path;                /* of the capture; NULL: it failed */
	const char *error;               /* why it failed; else NULL */
	uint64_t packets, bytes;         /* written */
	bool is_complete;                /* nothing is known to be missing in it */
	unsigned int extras, has_extras; /* CAPTURE_...: wanted, and written */
};
