/*
 * figure: what is compared, shown and sorted by, as the user names it.
 *
 *     cpu.busy                        of the trace as a whole
 *     cpu.threads[comm=redis*].run    of the rows that are selected (which.h)
 *     sched.wake.p99                  a part of a distribution
 *     syscalls.errors / syscalls.calls
 *     periods[name="req status=5*"].count / periods[name=req*].count
 *
 *     FIGURE  ONE [/ ONE];  ONE  ANALYSIS.COLUMN, ANALYSIS[.LIST][WHICH].COLUMN; then .PART, .rate
 *
 * doc/expressions.md describes it.  Triggers, --fail, --figure and --sort all read it here; columns
 * and lists have the names of their JSON keys, "_ns" and the plural's ending may be left out.
 *
 * Of a quotient the second figure is of the same row, of the trace, or of rows of its own.  With
 * rows of its own it is one number: the sum over the rows of the one by that over the rows of the
 * other.  A quotient has no value where the second figure is 0, and is NAN there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/mem.h"
#include "engine/tables/report.h"
#include "query/scan.h"

struct figure {
	char *text; /* as written, of a quotient all of it */
	const struct analysis *analysis;
	const struct table *table;
	unsigned int column;
	enum histogram_part part;
	bool is_rate;        /* per second */
	bool is_share;       /* of the time, or as a quotient: 1 is all */
	bool has_id;         /* rows are selected by id ... */
	int64_t id;          /* (CPU, tid, pid, number of a keyed row) */
	char *key, *pattern; /* ... or where the text of `key` matches; NULL: no pattern */
	struct figure *per;  /* what it is divided by, which has no `per`; NULL: nothing */
};

/* Figures that belong to others. */
struct figure_list {
	VEC(const struct figure *) at;
};

/* ---- figure-parse.c ---- */

/* Parses one into a zeroed figure, which has to be freed even if that fails (false). */
bool figure_parse(struct scan *scan, struct figure *ret);
/* The same, of a text that is one figure and nothing else. */
bool figure_parse_alone(struct figure *ret, const char *what, const char *text, struct err *err);
/* Reads a number with its unit (90%, 3ms, 200K/s), from which the figure becomes a share or a rate.
 * False: the word is none. */
bool figure_parse_value(struct figure *figure, const char *word, double *ret);
/* What such a word has to be: "expected a duration: 3ms". */
const char *figure_value_form(const struct figure *figure);
void figure_copy(struct figure *to, const struct figure *from);
void figure_fini(struct figure *figure);

/* ---- figure.c ---- */

static inline const struct column *figure_column(const struct figure *figure)
{
	return &figure->table->columns[figure->column];
}

/* What its values are, before they become shares or rates. */
enum unit figure_unit(const struct figure *figure);
/* Whether it may be compared with a %. */
bool figure_has_shares(const struct figure *figure);
/* Whether its numbers add up, those of other rows and those of other times. */
bool figure_adds_up(const struct figure *figure);
/* Whether it adds up over time: it is 0 where there is no row, and may be per second. */
bool figure_is_sum(const struct figure *figure);
/* Whether it is a quotient of sums, each over rows of its own: one number, and not one a row. */
bool figure_is_of_sums(const struct figure *figure);
/* Whether it is of one row, or all of it is one number. */
bool figure_is_of_trace(const struct figure *figure);
/* Whether it is of an analysis that stores and files have. */
bool figure_is_stored(const struct figure *figure);
/* Whether both are the same, however they are written. */
bool figure_is_same(const struct figure *figure, const struct figure *other);
/* Whether both select the same rows of one list. */
bool figure_has_rows_of(const struct figure *figure, const struct figure *other);
/* Sets in used[i][k], of each table k of analyses[i] that it needs, the bits of its columns. */
void figure_uses(const struct figure *figure, uint16_t used[ANALYSES_MAX][TABLES_MAX]);
/* Adds the tables of threads, as a whole, that others are made of, and lists the analyses (NULL
 * ends them). */
void figure_needs(uint16_t used[ANALYSES_MAX][TABLES_MAX],
		  const struct analysis *list[ANALYSES_MAX]);

/* Its table in the report; NULL: there is none. */
const struct report_table *figure_table(const struct figure *figure, const struct report *report);
/* Whether the report has the table, but not the events that it is made of. */
bool figure_is_unknown(const struct figure *figure, const struct report *report);
/* Whether the row has a value of it: an empty distribution has no percentiles, one value no
 * deviation. */
bool figure_has_value(const struct figure *figure, const struct report_row *row);
/* The value in a row of its table, which a quotient of sums does not need: NAN: none. */
double figure_value(const struct figure *figure, const struct report *report,
		    const struct report_row *row);
/* A number of the first column as a share or a rate, if the figure is one.  @ns: the time that it
 * is of; @values: of the row. */
double figure_scale(const struct figure *figure, double number, double ns, const uint64_t *values);
