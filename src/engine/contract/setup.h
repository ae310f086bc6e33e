/*
 * setup: what a run consists of: analyses, windows, range.  The same for all traces and threads of
 * a process, and immutable once setup_init() has filled it.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_SETUP_H
#define SILLAGE_ENGINE_CONTRACT_SETUP_H

#include "engine/contract/analysis.h"

struct stats;
struct selection;

/* Which analyses have a function that is called often: bit i is that of analyses[i]. */
#define CALLED_OFTEN(each)                                                                         \
	each(on_oncpu_end);                                                                        \
	each(on_lost);                                                                             \
	each(on_switch_in);                                                                        \
	each(on_switch_out);                                                                       \
	each(on_run);                                                                              \
	each(on_fork);                                                                             \
	each(on_initial_thread);                                                                   \
	each(on_no_open_calls);                                                                    \
	each(on_gap);                                                                              \
	each(on_unseen);                                                                           \
	each(on_window_end);                                                                       \
	each(on_cpu);                                                                              \
	each(on_slice);                                                                            \
	each(on_tally);
struct callers {
#define CALLER(member) uint32_t member
	CALLED_OFTEN(CALLER)
#undef CALLER
};
_Static_assert(ANALYSES_MAX <= 32, "there is a bit for each");

/* For each analysis that has a function, which it is: @i. */
#define each_analysis_with(setup, member, i)                                                       \
	for (uint32_t left_ = (setup)->callers.member, i = 0;                                      \
	     left_ != 0 && (i = (uint32_t)__builtin_ctz(left_), true); left_ &= left_ - 1)

/* Where the events of a request go. */
struct route {
	handler_fn *on_event;
	uint32_t state; /* offset of its analysis' worker state */
	uint8_t analysis;
};

struct setup {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	size_t analysis_count;
	uint64_t interval_ns, shown_interval_ns;
	uint64_t window_ns; /* a window's length; longer than the interval if none is shown */
	bool wants_windows; /* else only totals are reported */
	/* Recorded traces: only [range_begin, range_end) is reported; 0 and UINT64_MAX: all. */
	uint64_t range_begin, range_end;
	unsigned int jobs;                 /* threads of the pool */
	struct stats *stats;               /* NULL: not wanted */
	size_t top;                        /* rows of a table that are to be in order, 0: all */
	const struct selection *selection; /* NULL: all rows */
	const struct period_set *periods;  /* of the user; NULL: none */
	/* Derived by setup_init(). */
	struct plan_request *requests;
	struct route *routes; /* by request */
	size_t request_count;
	bool uses_threads; /* if not, nobody asks who runs */
	bool has_ordered;  /* some analysis wants them */
	struct callers callers;
	uint32_t may_rest; /* analyses with a need that may, by bit */
	size_t state_offsets[ANALYSES_MAX];
	size_t state_size;
	struct partial_cache *partial_cache;
};

/* The number of the window of a time, or WINDOW_BEFORE or AFTER. */
int64_t setup_window(const struct setup *setup, uint64_t ts);

/*
 * Fills the derived members.  @base: what the engine itself needs, asked for if any analysis uses
 * threads; its first is sched_switch, which becomes request 0 (REQUEST_SWITCH).
 */
#define REQUEST_SWITCH 0
void setup_init(struct setup *setup, const struct need *base, size_t base_count);
void setup_fini(struct setup *setup);

#endif
