/*
 * names: whether the events and fields that a user names are in the metadata of a trace.
 *
 * A misspelt name would match nothing and count 0.  So names are looked up before a recorded trace
 * is read; in a live one they may come later.
 *
 *     period or definitions ── names_period(), names_definition() ──► 0, or -ENOENT: no event
 *                                                "sched_swich"; did you mean "sched_switch"?
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "query/period.h"

struct metadata;

/* A look-up in one trace. */
struct names {
	const struct metadata *metadata;
	unsigned int found; /* names that the trace has, before the first that it lacks */
	bool suggests;      /* the trace may have the one that it lacks by another name */
	struct err *err;
	/* Of traces that are one: each event of a job is looked up in one that has it. */
	const struct metadata *const *all;
	size_t all_count;
};

/* Each returns 0, or -ENOENT with what the trace lacks, and what was probably meant. */

/* The event, or one that the pattern matches. */
int names_event(struct names *names, const char *event);
/* The event, and the fields of its conditions. */
int names_definition(struct names *names, const struct definition *definition);
/* All its events, and all fields. */
int names_period(struct names *names, const struct period *period);
int names_job(struct names *names, const struct job_spec *job);
/* The event, and the fields of keys and name. */
int names_label(struct names *names, const struct label_source *source);

/* What may mix the ids of two processes: several write to one trace, which does not tell them
 * apart. -ENOENT with a text that says so and what helps; 0: nothing does, or the trace has not all
 * events.
 */
int names_mixes_period(struct names *names, const struct period *period);
int names_mixes_job(struct names *names, const struct job_spec *job);

/*
 * The same in several traces: one that has all is enough.  -ENOENT: the error is of the trace that
 * has the most, and of those of one that tells what was probably meant.
 */
typedef int names_look(struct names *names, const void *of);
/* The same, and that several have it together is enough, too; for names_job(). */
int names_in_all(const struct metadata *const *traces, size_t count, names_look *look,
		 const void *of, struct err *err);
int names_in_any(const struct metadata *const *traces, size_t count, names_look *look,
		 const void *of, struct err *err);
