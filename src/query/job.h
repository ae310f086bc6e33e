/*
 * job: what a thread executes again and again, as a user describes it.
 *
 *     NAME = PATTERN|MODEL [; deadline TIME] [; every TIME] [; group USE, ...]
 *
 * PATTERN is a list of definitions of events (query/pattern.h), separated by semicolons: an
 * execution goes from the event of the first one to that of the last one, on one thread.  MODEL is
 * the name of a pattern that is known.  Uses after "group" (query/label.h) divide the executions of
 * a name into rows, as those of periods.  doc/definitions.md, 6.1, has the rules.
 *
 * The analysis of jobs takes the whole (analyses/jobs); reports take a pattern or model (src/deep).
 */
#ifndef SILLAGE_QUERY_JOB_H
#define SILLAGE_QUERY_JOB_H

#include "query/label.h"

#define JOB_EVENTS_MAX 16
#define JOB_NAME_BYTES PATTERN_NAME_BYTES

struct job_pattern {
	struct definition at[JOB_EVENTS_MAX];
	size_t count;
	bool is_across; /* from one thread to another (@WHO) */
};

struct job_model {
	const char *name, *pattern, *summary;
};
/* The last one has an empty name. */
extern const struct job_model job_models[];

/* @text: a pattern, or the name of a model.  -EINVAL with the place and what was expected there. */
int job_pattern_parse(const char *text, struct job_pattern *pattern, struct err *err);

/* What a definition takes from its event, by index of a field. */
struct job_event {
	struct fields fields;
	uint8_t conditions[CONDITIONS_MAX];
	struct thread_fields running;
	struct label_at groups[LABEL_GROUP_MAX];
};

struct job_spec {
	char *text;        /* the user's */
	const char *model; /* the model that it is from; NULL: none */
	bool is_left_out;  /* no trace has it (query/names.h) */
	char *pattern;     /* of it the pattern or model */
	char name[JOB_NAME_BYTES];
	struct job_pattern is;
	struct job_event events[JOB_EVENTS_MAX];
	uint64_t deadline_ns; /* UINT64_MAX: none */
	uint64_t period_ns;   /* of its arrivals; 0: none */
	struct label_group group;
};

/* -EINVAL with the place and what was expected there.  @labels: NULL if only the pattern and the
 * times are of interest. */
int job_parse(const char *text, const struct label_set *labels, struct job_spec **ret,
	      struct err *err);
void job_free(struct job_spec *job);

#endif
