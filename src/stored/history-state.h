/*
 * history-state: windows of a store on their way to the output, shared by history.c (what is there)
 * and follow.c (what lands).
 */
#pragma once

#include <stdatomic.h>

#include "base/account.h"
#include "output/sink.h"
#include "rollup/rollup.h"
#include "run/run.h"
#include "store/reader.h"

struct actions;

#define HISTORY_ALL UINT32_MAX /* in place of a trace: all of them */

struct stored_history {
	const struct options *options;
	struct output *output;
	struct actions *actions;   /* conditions of --fail; NULL: none */
	struct baseline *baseline; /* what they are compared with; NULL: with numbers alone */
	bool hides_windows;        /* windows are made for these alone */
	const atomic_bool *stop;   /* becomes true: the user wants to end */
	/* What is read, with what the conditions need; ends with NULL.  The reader looks there. */
	const struct analysis *analyses[ANALYSES_MAX];
	struct store_reader *reader;
	const struct store_trace *traces;
	size_t trace_count;
	bool *wanted; /* by trace */
	struct store_windows windows;
	store_phases phases;                  /* of them, with --phases */
	struct rollup **longs, **totals;      /* by trace; NULL: it has no window */
	struct rollup *joined, *joined_total; /* of all traces, with --merged */
	struct account account;               /* of the rows of all of them */
	uint64_t ended;                       /* rows that were put together by name */
	struct run_summary summary;
	bool has_matched, has_unmatched; /* what the user selected, in some total */
	struct err err;
	/* Following: windows come by time, whatever their trace, there are no totals, and each long
	 * window is given to this function before it is shown.  NULL: not following. */
	void (*on_window)(void *user, uint32_t trace, struct report *window);
	void *user;
};

/* Takes the traces of the reader, and those of them that the options ask for. */
void history_choose_traces(struct stored_history *h);
/* Sorts windows by the slots of such a length, then by trace and time. */
void history_sort(struct store_windows *windows, uint64_t interval_ns);
/* Shows the windows, put together to those of -i.  Following, it ends early once @stop is set, with
 * whole windows. */
int history_show(struct stored_history *h);
/* Frees all but the options and the output; the reader, too. */
void history_fini(struct stored_history *h);
