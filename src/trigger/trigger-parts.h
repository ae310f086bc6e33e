/*
 * trigger-parts: the parts of a trigger.  trigger-parse.c makes them from text, trigger-uses.c says
 * what they need, trigger.c evaluates them.
 */
#ifndef SILLAGE_TRIGGER_TRIGGER_PARTS_H
#define SILLAGE_TRIGGER_TRIGGER_PARTS_H

#include "base/codec.h"
#include "base/histogram.h"
#include "base/mem.h"
#include "trigger/auto-limit.h"
#include "trigger/trigger.h"

struct fold;

/* What is compared: a column of a table, in the selected rows. */
struct figure {
	char *text;
	const struct analysis *analysis;
	const struct table *table;
	unsigned int column;
	enum histogram_part part;
	bool is_rate;        /* per second */
	bool has_id;         /* rows are selected by id ... */
	int64_t id;          /* (CPU, tid, pid, number of a keyed row) */
	char *key, *pattern; /* ... or where the text of `key` matches; NULL: no pattern */
};

/* ---- trigger-which.c ---- */

/* Parses [WHICH] of the list; *at is moved from the bracket to what is behind.  False: *at is where
 * the fault is, and @why says what. */
bool which_parse(const char **at, const struct table *list, struct figure *figure, char *why,
		 size_t size);
/* The pattern of names of rows; NULL: they are not selected by that. */
const char *which_name(const struct figure *figure);
/* Whether the figure is about this row of its table. */
bool which_chooses(const struct figure *figure, const struct report_row *row);
/* What a row is called in another run: comm, the label or name of a key, a number; from malloc().
 */
char *which_row_name(const struct table *table, const struct report_row *row);

enum node_kind { NODE_COMPARE, NODE_AND, NODE_OR };

struct condition {
	enum node_kind kind;
	struct condition *left, *right; /* NODE_AND, NODE_OR */
	struct figure figure;
	char op; /* '>' '<' 'g' (>=) 'l' (<=) */
	double limit;
	bool is_share;
	bool is_auto; /* the limit is found: auto_setup, without the drift, which depends on windows
		       */
	struct auto_setup auto_setup;
	uint64_t drift_ns; /* 0: none */
	bool is_baseline;  /* the limit is so many times what is usual in this hour of the day: */
	double factor;
};

struct condition_list {
	VEC(const struct condition *) at;
};

/* Identifies a row of the subject's table across windows. */
struct row_identity {
	uint64_t of, which;
};

/* The state of the trigger for one row; all 0 is the state of a new row. */
struct row_state {
	struct row_identity key;
	uint64_t since; /* ns: holds: begin of the first window in which it held */
	bool holds;
	bool has_fired; /* and is not armed again yet */
	bool is_seen;   /* the row is in the window being evaluated */
};

/* The limit of one row of a comparison with auto(). */
struct auto_row {
	const struct condition *condition;
	struct row_identity key;
	uint64_t seen;  /* end of the window that had its last value */
	bool has_limit; /* of that window: the warm-up was over, */
	bool is_beyond; /* the value was beyond the limit, */
	double shown;   /* and the limit */
	struct auto_limit *limit;
};

/* The state of the trigger in one trace. */
struct trace_state {
	char *trace;
	uint64_t fired;             /* ns: end of the window in which it last fired, 0: never */
	VEC(struct row_state) rows; /* those that hold or have fired, sorted by key */
	VEC(struct auto_row) autos;
	bool was_measured; /* some window had all that decides whether it holds */
};

struct trigger {
	char *name, *text;
	struct condition *when;
	struct condition *until; /* arms it again; NULL: it is armed again once `when` fails */
	uint64_t for_ns, every_ns;
	uint64_t hosts; /* `on N hosts`; 0: each trace by itself */
	bool wants_complete;
	uint64_t interval_ns;         /* length of a whole window; 0: any */
	const struct figure *subject; /* its rows are evaluated one by one; NULL: all together */
	bool uses_baseline;
	const struct baseline_source *baseline; /* NULL: there is none */
	VEC(struct trace_state) states;
};

/* ---- trigger-parse.c; for what compares figures in other ways, too ---- */

/* Parses FIGURE and the comparison behind it into a zeroed condition.  Returns where the value
 * begins; NULL with an error that names the place in @text, which is called @what. */
const char *figure_op_parse(struct condition *c, const char *what, const char *text,
			    struct err *err);
/* Parses a text that is a FIGURE alone, without a comparison, in the same way.  False: it is none.
 */
bool figure_alone_parse(struct condition *c, const char *what, const char *text, struct err *err);
/* Reads a number with its unit, without /s, into c->limit; false: the word is none. */
bool figure_value_parse(struct condition *c, const char *word);
/* Frees what a comparison owns. */
void trigger_condition_fini(struct condition *c);

/* ---- trigger-auto.c ---- */

/* Parses auto(...), where *at is; c->op is known.  False: *at is where the fault is, and @why says
 * what. */
bool auto_parse(const char **at, struct condition *c, char *why, size_t size);
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

/* Parses baseline, baseline +20% and so on, where *at is; c->figure and c->op are known, and the
 * figure becomes one that can be compared with that of an hour: a share, or per second.  False: as
 * auto_parse(). */
bool baseline_parse(const char **at, struct condition *c, char *why, size_t size);
/* Whether it is a sum, which is 0 where there is no row. */
bool baseline_is_sum(const struct figure *figure);
/* Whether the row has a value of the figure: an empty distribution has no percentiles. */
bool baseline_has_value(const struct figure *figure, const struct report_row *row);
/* Adds the comparisons of the trigger that refer to it. */
void baseline_list(const struct trigger *trigger, struct condition_list *ret);

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

/* ---- trigger.c ---- */

/* The table of a report; NULL: it has none. */
const struct report_table *trigger_table(const struct report *report, const struct table *table);
/* The figure of a comparison in a row, per second or as a share if it is so compared. */
double trigger_figure(const struct condition *c, const struct report *report,
		      const struct report_table *table, const struct report_row *row);
struct row_identity trigger_row_identity(const struct figure *figure, const struct report_row *row);

void trigger_condition_free(struct condition *condition); /* NULL is fine */

/* Whether its value is a time in ns. */
static inline bool figure_is_time(const struct figure *figure)
{
	return figure->table->columns[figure->column].unit == UNIT_NS &&
	       figure->part != HISTOGRAM_COUNT;
}

#endif
