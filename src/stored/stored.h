/*
 * stored: which traces and windows of a store the options ask for.
 */
#pragma once

#include "base/units.h"
#include "options/options.h"
#include "store/reader.h"

/* Whether --host and --session want the trace. */
bool stored_wants(const struct options *options, const struct trace_identity *trace);
/* By trace, whether --host and --session want it; from malloc(). */
bool *stored_wanted(const struct options *options, struct store_reader *reader);
/* Asks the reader for these analyses, as the options want them. */
void stored_want(const struct options *options, const struct analysis *const *list,
		 struct store_reader *reader);
/* Finds the windows of --since and --until of the traces that are @wanted, and says which of them
 * were lost, as stored_say_gaps().  -ENOENT: there is none. */
int stored_windows(const struct options *options, struct store_reader *reader, const bool *wanted,
		   uint64_t interval_ns, struct store_windows *ret, uint64_t *ret_lost,
		   struct err *err);
/* Says where windows are longer than asked (of old times a store may have such only: --store-keep),
 * unless @interval_ns is UINT64_MAX, and which analyses they lack, though others of their trace
 * have them, or the user named them. */
void stored_say_windows(const struct options *options, struct store_reader *reader,
			const struct store_windows *windows, uint64_t interval_ns);
/* Says which windows in [begin, end) were lost, and adds how many to *ret_windows; after
 * store_reader_windows().  Negative: they cannot be read. */
int stored_say_gaps(struct store_reader *reader, uint64_t begin, uint64_t end,
		    uint64_t *ret_windows, struct err *err);

/* ---- clocks of hosts that are off ---- */

/* More than windows are late. */
#define CLOCK_OFF_NS (60 * NS_PER_S)

/* The newest time is not in the future. */
void stored_cap_span(struct units_span *span);
/* Whether the range counts back from the newest window. */
bool stored_counts_back(const struct options *options);
/* Whether two windows of a trace, one after the other, are of two windows of this length; 0: of
 * any.
 */
bool stored_are_apart(const struct store_window *a, const struct store_window *b,
		      uint64_t interval_ns);
/* By how much such a clock is ahead, to the nearest @interval_ns. */
uint64_t stored_ahead_ns(uint64_t newest, uint64_t of_all, uint64_t interval_ns);
/* Names a trace whose @newest window is not near that of all. */
void stored_say_off(const struct trace_identity *trace, uint64_t newest, uint64_t of_all);

struct stored_range {
	struct store_reader *reader;
	const bool *wanted;
	const struct options *options;
	uint64_t newest, begin, end; /* the newest of all, as stored_cap_span() has it */
};
/* After store_reader_windows(): if the range counts back, each trace counts back from its own. */
int stored_count_back(const struct stored_range *range, uint64_t interval_ns,
		      struct store_windows *windows, struct err *err);
