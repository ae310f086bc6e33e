/*
 * due: when the long windows of a trace are printed while a store is followed.
 *
 *     windows of -i     |   printed    |      due     |     open     |
 *     stored windows    |0 |1 |2 |3 |4 |5 |6 |7 |8 |9 |10|11|
 *                                      ^ position           ^ known
 *
 * A long window is due when the trace has windows up to its end.  The newest window counts only as
 * far as its begin while it may be replaced: it is not complete, or shorter than others.  What is
 * left is due when nothing has come for a while (DUE_LAG_NS and the length of a stored window): at
 * once if the clock is past its end, else when so much time has passed as is left of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "store/rows/news.h"

#define DUE_LAG_NS (10 * NS_PER_S)

struct due_clock {
	uint64_t now, wall; /* since any moment; since the epoch */
};

struct due_trace {
	uint64_t since;    /* what begins before is not asked for */
	uint64_t position; /* what begins before is printed, or comes too late */
	uint64_t known;    /* windows up to here have landed */
	/* The newest window. */
	bool has_last, last_is_complete;
	uint64_t level, last_begin, last_end;
	uint64_t changed_at; /* when it came (due_clock.now); 0: long ago */
};

/* A window is there.  Returns false if it comes too late: all of its time was printed before it
 * was seen. */
bool due_note(struct due_trace *trace, const struct store_news_window *window,
	      const struct due_clock *clock);
/* From here on there may be windows that are not known. */
uint64_t due_unseen(const struct due_trace *trace);
/* Whether there is a window that is not printed. */
bool due_is_pending(const struct due_trace *trace);
/* Whether it is a while since something came. */
bool due_is_idle(const struct due_trace *trace, const struct due_clock *clock);
/* What begins before this time is due; at least the position.  @is_end: all that is there is. */
uint64_t due_until(const struct due_trace *trace, uint64_t interval_ns,
		   const struct due_clock *clock, bool is_end);

/* @time, or the next multiple of @interval_ns. */
uint64_t due_round_up(uint64_t time, uint64_t interval_ns);
