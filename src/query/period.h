/*
 * period: a user's own measure: the time from one event to another (doc/expressions.md).
 *
 *   - Without keys, a begin and an end belong together if they have the same thread: the one that a
 *     condition with $tid names, or else the running one (in user space: the context vtid).
 *   - With keys ("by"), they belong together if all keys are equal.  "global": there is none, so
 *     any two do.
 *   - With "then" the period is a chain: it goes on to the next such event, which belongs to END in
 *     the same way, by thread or by keys of its own; and so on, up to the last one.
 *   - With "each" every event that has the keys of one before it counts, not only the first: a
 *     message may be taken by many.
 *   - Uses after "group" (query/label.h) divide the periods of a name into rows.  The first of the
 *     events that has the fields gives their values.
 *   - "diff" takes the differences of fields, from the first event to the last.
 *   - "within" counts a period only while the other period is open on the same thread; the end of
 *     that one ends it, too.
 *
 * A call is written in the same way, and has two events; with one "*" in both, these stand for as
 * many pairs as the trace has: what "*" is, is the same in both.
 */
#pragma once

#include "base/mem.h"
#include "query/job.h"
#include "query/label.h"

#define PERIOD_KEYS_MAX   EXPRESSION_KEYS_MAX
#define PERIOD_STEPS_MAX  EXPRESSION_STEPS_MAX
#define PERIOD_NAME_BYTES PATTERN_NAME_BYTES

/* One of the events.  Members that stand for a field are indexes into `fields`. */
struct period_side {
	const struct definition *what;
	struct fields fields;
	uint8_t conditions[CONDITIONS_MAX];
	uint8_t thread; /* the field with $tid; FIELD_NONE: the running thread */
	struct thread_fields running;
	/* Keys that it shares with the event before it, and with the one after it. */
	uint8_t before[PERIOD_KEYS_MAX], after[PERIOD_KEYS_MAX];
	struct label_at groups[LABEL_GROUP_MAX];
	/* Of the first step and the last, as many as `diff_count`. */
	uint8_t diffs[EXPRESSION_DIFFS_MAX];
	size_t diff_count;
};

/* How an event belongs to the one before it. */
struct period_link {
	bool by_thread;
	bool by_process;      /* ids are of a process, where the trace has several */
	size_t key_count;     /* keys other than $tid */
	struct keys_met *met; /* NULL: it has no keys */
};

struct period {
	struct expression *is;
	char *text;                                 /* the user's, with a name */
	const char *name;                           /* in `is` */
	const char *model;                          /* the model that it is from; NULL: none */
	bool is_left_out;                           /* no trace has it (query/names.h) */
	struct period_side steps[PERIOD_STEPS_MAX]; /* the first step_count, two or more */
	struct period_link links[PERIOD_STEPS_MAX]; /* links[i] joins steps i and i + 1 */
	size_t step_count;
	bool is_call;   /* one of `calls` of the set */
	bool is_chain;  /* it has "then" or "each": it belongs to no thread, whatever links do */
	bool has_each;  /* "each" */
	bool by_thread; /* it belongs to one thread */
	struct label_group group;
	int within; /* index of another period, always a smaller one; -1: none */
	/* Of a call: the conditions that say it failed, of the last event; without them `result`
	 * below 0 does. */
	uint8_t errors[CONDITIONS_MAX], result;
	uint32_t ends_as; /* the first call whose second event and keys are written alike ... */
	/* ... and by field of "diff" which of its second event's `diffs`, which are those of all
	 * calls that end as it does. */
	uint8_t diffs_at[EXPRESSION_DIFFS_MAX];
};

struct periods {
	struct period **at;
	size_t count, room;
};

/* What the user wants to have measured. */
struct period_set {
	struct label_set labels;
	VEC(char *) models; /* names of those that items are from (query/model.h) */
	char *tracer;       /* what records the events of one of them; NULL: LTTng */
	struct periods all;
	struct periods calls; /* of two events each: what begins and ends a call */
	VEC(struct job_spec *) jobs;
	/* Programs' traces may be read as one with a kernel's: what that has of their threads is
	 * wanted, too. */
	bool with_kernel;
};

/* Adds a period.  -EINVAL with the place and what was expected there. */
int period_add(struct period_set *set, const char *text, struct err *err);
/* The same of a call (analyses/calls). */
int period_add_call(struct period_set *set, const char *text, struct err *err);
/* Adds a period "BEGIN,END", two names of events on one thread. */
int period_add_span(struct period_set *set, const char *text, struct err *err);
/* Adds a job (query/job.h), which may use labels that were added before. */
int period_add_job(struct period_set *set, const char *text, struct err *err);
/* Of all jobs but those of models and those that say it themselves, only executions count that lie
 * in one of @text, which becomes a job, the first one. */
int period_set_within(struct period_set *set, const char *text, struct err *err);
/* The first job that the user wants for its own sake, not for what lies in it; NULL: none. */
const struct job_spec *period_set_first_job(const struct period_set *set);
/* What was added since the set was @before is of a model, whose name has to outlive it. */
void period_set_mark(struct period_set *set, const struct period_set *before, const char *model);
/* All as texts: "label TEXT" for a label, "job TEXT" for a job, "call TEXT" for a call, else that
 * of a period; "model " comes before those of models.  period_add_text() adds one again. */
size_t period_set_count(const struct period_set *set);
char *period_set_text(const struct period_set *set, size_t i); /* from malloc() */
int period_add_text(struct period_set *set, const char *text, struct err *err);
/* Of a text that period_set_text() has the user's own, with "by global", if keys were equal in two
 * processes and none agreed in one (query/keys/keys-met.h); from malloc().  NULL: that did not
 * happen, or the text is a model's.  *ret_option is what it is given with: "period". */
char *period_set_text_global(const struct period_set *set, size_t i, const char **ret_option,
			     const char **ret_name);
/* Events of programs and of their kernel are read as one.  What pairs by a thread is of that
 * thread, whose process the kernel's events do not have. */
void period_set_join(struct period_set *set);
/* Periods, and behind them calls. */
size_t period_set_measures(const struct period_set *set);
/* Whether a period or job, of what is not left out, is of events of programs. */
bool period_set_is_of_programs(const struct period_set *set);
struct period *period_set_measure(const struct period_set *set, size_t i);
/* Whether an event of this name may be a step of a call.  With a "*" in both steps: what it stands
 * for, as text and length; else that is empty. */
bool period_call_takes(const struct period *call, size_t step, const char *event,
		       const char **ret_stem, size_t *ret_len);
/* As a job of the same name, from malloc(): its events and keys, without what divides it.  NULL: it
 * is none, as a chain is. */
char *period_as_job(const struct period *period);
void period_set_fini(struct period_set *set);
