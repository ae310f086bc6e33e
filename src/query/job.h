/*
 * job: what a thread executes again and again, as a user describes it (doc/expressions.md).
 *
 * An execution goes from the event of the first definition of a pattern to that of the last one, on
 * one thread.  With @WHO or "by" it goes over threads: from the first of two events to the second,
 * which agree in keys.  Uses after "group" (query/label.h) divide the executions of a name into
 * rows, as those of periods, and so does "diff".  With "within" only those count that lie in an
 * execution of another job.  doc/definitions.md, 6.1, has the rules.
 *
 * The analysis of jobs takes it (analyses/jobs), and reports do (src/deep).
 */
#pragma once

#include "query/label.h"

#define JOB_EVENTS_MAX EXPRESSION_EVENTS_MAX
#define JOB_NAME_BYTES PATTERN_NAME_BYTES
#define JOB_KEY_BYTES  96 /* of the keys as text */

/* What a definition takes from its event, by index of a field. */
struct job_event {
	struct fields fields;
	uint8_t conditions[CONDITIONS_MAX];
	struct thread_fields running;
	uint8_t keys[EXPRESSION_KEYS_MAX]; /* of "by" */
	struct label_at groups[LABEL_GROUP_MAX], looked[LABEL_GROUP_MAX];
	/* Of the first event and the last, as many as `diff_count`. */
	uint8_t diffs[EXPRESSION_DIFFS_MAX];
	size_t diff_count;
};

struct job_spec {
	struct expression *is;       /* its events are the pattern */
	bool is_across;              /* it goes over threads: it has @WHO or "by" */
	bool has_keys;               /* "by" */
	bool by_process;             /* which are of a process: by is not global */
	bool has_names;              /* a @WHO has names */
	bool of_kernel, of_programs; /* some of its events are: names of programs' have a colon */
	char *text;                  /* the user's, with a name */
	char *pattern;               /* of it the pattern or model */
	const char *name;            /* in `is` */
	const char *model;           /* the model that it is from; NULL: none */
	bool is_left_out;            /* no trace has it (query/names.h) */
	int within;                  /* index of the job that it lies in, a smaller one; -1: none */
	bool is_around;              /* another one lies in it */
	bool is_around_any;          /* one that is: */
	bool is_joined; /* `within`, and one of the two goes over threads: any thread's do */
	struct job_event events[JOB_EVENTS_MAX];
	uint64_t deadline_ns; /* UINT64_MAX: none */
	uint64_t period_ns;   /* of its arrivals; 0: none, or it is looked up: */
	struct label_group group;
	/* Names that say how an execution is taken when it begins: of "every" and "only". */
	struct label_group looked;
	int due, only; /* in `looked`; -1: not given */
};

/* -EINVAL with the place and what was expected there.  @form: FORM_JOB or FORM_AROUND.  @labels:
 * NULL if only the pattern and the times are of interest. */
int job_parse(const char *text, enum expression_form form, const struct label_set *labels,
	      struct job_spec **ret, struct err *err);
/* "id=60 shard=1": the keys of the first event, but for the thread, as far as they have room;
 * returns the length, of a job without keys 0. */
size_t job_key_text(const struct job_spec *job, const struct fields_event *event,
		    char text[JOB_KEY_BYTES]);
void job_free(struct job_spec *job); /* NULL is fine */

/* Of what lies in another one over threads: in which order they began is not known. */
#define JOB_NO_PERIOD "no every: over threads the order in which executions begin is not known"

/* Whether its arrivals may have a period, of each key if it has keys. */
static inline bool job_has_period(const struct job_spec *job)
{
	return job->period_ns > 0 || job->due >= 0;
}

/* What the first and the last event of a job that goes over threads have to agree in, but for the
 * thread, as a hash; of one without keys: 0.  False: the event, which is definition @at, lacks a
 * part. */
bool job_key(const struct job_spec *job, size_t at, const struct fields_event *event,
	     uint64_t *ret);
/* The same with the thread that the event is about; false: it has to be known, and is not. */
bool job_key_with(const struct job_spec *job, int32_t tid, uint64_t *key);
