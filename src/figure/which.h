/*
 * which: which rows of a list a figure is about, and what rows are called.
 *
 *     [3]  [comm=redis*]  [name="a]b"]
 *
 * A value is a pattern as those of a shell.  Quotes around it may enclose any letters; they are not
 * part of it, and patterns hold inside, too.  A backslash takes the letter after it as it is.  What
 * no row can have is refused: a trigger that never fires helps no one.
 */
#pragma once

#include <stdio.h>

#include "figure/figure.h"

/* Parses [WHICH] of the list, whose bracket comes next. */
bool which_parse(struct scan *scan, const struct table *list, struct figure *figure);
/* Whether the list has rows of such a [WHICH], which begins @at. */
bool which_fits(const struct figure *figure, const struct table *list, const char *at);
/* The pattern of names of rows; NULL: they are not selected by that. */
const char *which_pattern(const struct figure *figure);
/* The value among those of the rows that is most like the one that the figure selects by, from
 * malloc(); NULL: none is near. */
char *which_nearest(const struct figure *figure, const struct report_table *table);
/* Whether the figure is about this row of its table. */
bool which_chooses(const struct figure *figure, const struct report_row *row);

/* Whether a row that it names may be among those of the selected threads and CPUs.  A process may
 * be called after a thread that is not. */
bool which_is_selected(const struct figure *figure, const struct selection *selection);

/* Identifies a row of a table across windows. */
struct which_identity {
	uint64_t of, which;
};
struct which_identity which_identity(const struct table *table, const struct report_row *row);

/* ---- names: what two runs have in common ---- */

/* What a row is called in another run: comm, the label or name of a key, a number; from malloc().
 */
char *which_name(const struct table *table, const struct report_row *row);
/* The key that selects rows by that: "comm", "path"; NULL: the table has one row, or names that
 * cannot be given. */
const char *which_name_key(const struct table *table);
/* Whether the figure is about the rows of this name, and selects by no other key. */
bool which_chooses_name(const struct figure *figure, const char *name);
/* Whether it selects rows by their names alone. */
bool which_is_by_name(const struct figure *figure);
/* Prints what selects the row of this name: [comm=redis]. */
void which_print(const struct table *table, const char *name, FILE *out);
