/*
 * side: reads one side of `sillage compare`, whatever it is.
 *
 *     TRACE, CAPTURE, URL   its traces are analysed
 *     STORE                 windows are added up, trace by trace
 *     FILE                  the totals in the JSON lines of a run; "-": standard input
 *
 * Behind traces and stores may stand a range: @BEGIN..END, either of them may be left out.
 */
#pragma once

#include "cmd/compare/objectives.h"
#include "compare/profile.h"
#include "options/options.h"

/* What takes the windows of a side, whose number it is. */
struct side_objectives {
	struct objectives *take; /* NULL: nothing does */
	int side;
};
/* @list: the analyses that are compared; ends with NULL.  -EINVAL: it is used wrongly. */
int side_read(const struct options *options, const char *arg, const struct analysis *const *list,
	      const struct side_objectives *objectives, struct profile **ret, struct err *err);
/*
 * The same, phase by phase, each with its figures: of a trace the phases of `overview`, of a store
 * those that live or analyze found (--phases), of JSON those in its lines, with the windows
 * between. Of several traces, those of the one that has CPU time.  The caller frees them.
 */
int side_read_phases(const struct options *options, const char *arg,
		     const struct analysis *const *list, compared_phases *ret, struct err *err);
/* Cuts @BEGIN..END off a name, into the options; it may be no part of the name of a file. */
void side_take_range(struct options *options, char *name);
enum side_kind { SIDE_TRACES, SIDE_STORE, SIDE_JSON };

/* What it is, or would be if it were there. */
enum side_kind side_kind(const char *arg);
