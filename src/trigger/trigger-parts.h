/*
 * trigger-parts: the parts of a trigger.  trigger-parse.c makes them from text, trigger-uses.c says
 * what they need, trigger.c evaluates them, with trigger-auto.c and trigger-baseline.c below it.
 */
#pragma once

#include "base/codec.h"
#include "base/mem.h"
#include "figure/figure.h"
#include "figure/op.h"
#include "figure/which.h"
#include "trigger/auto-limit.h"
#include "trigger/trigger.h"

struct fold;

enum node_kind { NODE_COMPARE, NODE_AND, NODE_OR };

struct condition {
	enum node_kind kind;
	struct condition *left, *right; /* NODE_AND, NODE_OR */
	struct figure figure;
	enum op op;
	double limit;
	bool is_auto; /* the limit is found: auto_setup, without the drift, which depends on windows
		       */
	struct auto_setup auto_setup;
	uint64_t drift_ns; /* 0: none */
	bool is_baseline;  /* the limit is so many times what is usual in this hour of the day: */
	double factor;
	bool has_row; /* some window of some trace had a row that WHICH names, or it names none */
	char *near;   /* what was probably meant by WHICH; NULL: not known */
};

/* The state of the trigger for one row; all 0 is the state of a new row. */
struct row_state {
	struct which_identity key;
	uint64_t since; /* ns: holds: begin of the first window in which it held */
	bool holds;
	bool has_fired; /* and is not armed again yet */
	bool is_seen;   /* the row is in the window being evaluated */
};

/* The limit of one row of a comparison with auto(). */
struct auto_row {
	const struct condition *condition;
	struct which_identity key;
	uint64_t seen;  /* end of the window that had its last value */
	bool has_limit; /* of that window: the warm-up was over, */
	bool is_beyond; /* the value was beyond the limit, */
	double shown;   /* and the limit */
	struct auto_limit *limit;
};

/* A part of the time that an objective is about. */
struct budget_slot {
	uint64_t at; /* its number since the epoch */
	uint64_t windows, bad;
};

/* The windows of one trace that an objective is about: all, or those of a time. */
struct budget {
	uint64_t since; /* ns: the begin of the first window; 0: there was none */
	uint64_t windows, bad;
	double to_come;                /* windows until the time is over for the first time */
	VEC(struct budget_slot) slots; /* with `in`, by number */
};

/* The state of the trigger in one trace. */
struct trace_state {
	char *trace;
	uint64_t fired;             /* ns: end of the window in which it last fired, 0: never */
	VEC(struct row_state) rows; /* those that hold or have fired, sorted by key */
	VEC(struct auto_row) autos;
	struct budget budget;
	bool was_measured; /* some window had all that decides whether it holds */
};

struct trigger {
	char *name, *text;
	struct condition *when;
	struct condition *until; /* arms it again; NULL: it is armed again once `when` fails */
	VEC(const struct condition *) all; /* comparisons, from the left: first those of `when` */
	size_t when_count;
	struct figure_list figures; /* of all of them, and what they are divided by */
	uint64_t for_ns, every_ns;
	uint64_t hosts; /* `on N hosts`; 0: each trace by itself */
	bool wants_complete;
	uint64_t interval_ns; /* length of a whole window; 0: any */
	/* The share of windows in which the condition has to hold, and `when` is the opposite of
	 * it; 0: it is no objective.  The time that they are counted in; 0: the run. */
	double objective;
	uint64_t objective_ns;
	const struct figure *subject; /* its rows are evaluated one by one; NULL: all together */
	bool uses_baseline, divides;  /* some comparison is of a quotient */
	const struct baseline_source *baseline; /* NULL: there is none */
	VEC(struct trace_state) states;
};

/* ---- trigger-parse.c ---- */

/* Parses all of the text into a trigger that has name and text only. */
bool trigger_parse(struct scan *scan, struct trigger *trigger);
void trigger_condition_free(struct condition *condition); /* NULL is fine */
/* Parses one that comes next, up to a blank or colon. */
bool trigger_take_duration(struct scan *scan, uint64_t *ret_ns);

/* ---- trigger.c ---- */

/* Whether the window has a value of it, in some row; of a sum none is 0. */
bool trigger_has_value(const struct condition *c, const struct report *report);
/* Whether some row is beyond the limit, which is a fixed one. */
bool trigger_is_beyond(const struct condition *c, const struct report *report);

/* ---- trigger-budget.c ---- */

/* Takes what a trigger of an objective begins with, if it comes next. */
bool budget_parse(struct scan *scan, struct trigger *trigger);
/* When all is parsed: makes of the condition that has to hold the one of bad windows. */
bool budget_negate(struct scan *scan, struct trigger *trigger);
enum budget_verdict { BUDGET_NO_VALUE, BUDGET_GOOD, BUDGET_BAD };
/* Takes a window, which does not count if it has no value. */
enum budget_verdict budget_take(const struct trigger *trigger, struct budget *budget,
				const struct report *report);
struct trigger_budget budget_state(const struct trigger *trigger, const struct budget *budget);
void budget_codec(const struct trigger *trigger, struct budget *budget, struct codec *codec);
void budget_fini(struct budget *budget);

/* ---- trigger-auto.c ---- */

/* Parses auto(...), which comes next; c->op is known. */
bool auto_parse(struct scan *scan, struct condition *c);
/* Takes the values of a window; then its rows can be asked about. */
void auto_take_window(const struct trigger *trigger, struct trace_state *state,
		      const struct report *report);
/* The limit of a row in the window that ends @now; NULL: it has no value there, or no limit. */
const struct auto_row *auto_find(const struct trace_state *state, const struct condition *c,
				 const struct report_row *row, uint64_t now);
/* Whether any row of the comparison has a limit and a value there. */
bool auto_has_any(const struct trace_state *state, const struct condition *c, uint64_t now);
/* Windows until some row has a limit; UINT64_MAX: no row had a value. */
uint64_t auto_warms_up(const struct trace_state *state);
void auto_rows_fini(struct trace_state *state);
/* Writes the limits, or reads them into a state without any. */
void auto_codec(const struct trigger *trigger, struct trace_state *state, struct codec *codec);

/* ---- trigger-baseline.c ---- */

/* Parses baseline, baseline +20% and so on, which comes next; c->figure and c->op are known, and
 * the figure becomes one that can be compared with that of an hour: a share, or per second. */
bool baseline_parse(struct scan *scan, struct condition *c);

/* What a comparison has to do with a row of a window. */
struct baseline_bound {
	unsigned int days;    /* that have the row */
	double median, limit; /* NAN: they are too few */
	bool has_value;       /* in the window */
	int64_t tid;          /* of its first thread; below 0: none */
};

/* The rows by name of the comparisons, and their limits, while a window is evaluated. */
struct baseline_part {
	const struct condition *condition;
	struct fold *fold; /* NULL: the window has no such table */
	struct baseline_bound *rows, absent;
};

struct baseline_window {
	struct report report; /* that is to be evaluated; its tables are in `tables` */
	struct report_table *tables;
	struct fold *subject; /* of a trigger whose rows are evaluated one by one */
	VEC(struct baseline_part) parts;
};

void baseline_window_init(struct baseline_window *window, const struct trigger *trigger,
			  const struct trace_identity *trace, const struct report *report);
void baseline_window_fini(struct baseline_window *window);
/* The table that the comparison is about; NULL: there is none. */
const struct report_table *baseline_table(const struct baseline_window *window,
					  const struct condition *c);
/* The limit of a row of that table; NULL: of the one that is missing. */
const struct baseline_bound *baseline_find(const struct baseline_window *window,
					   const struct condition *c, const struct report_row *row);
/* Whether any row has a limit and a value. */
bool baseline_has_any(const struct baseline_window *window, const struct condition *c);
