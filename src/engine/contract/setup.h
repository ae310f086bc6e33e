/*
 * setup: the parameters of a run: analyses, windows, range.  All traces and threads of a process
 * share one setup.  It is immutable once setup_init() has filled it.
 */
#pragma once

#include "engine/contract/analysis-rare.h"
#include "engine/contract/partial.h"

struct metadata;
struct stats;
struct selection;

/* What containers are called on the host that this runs on, whose traces have numbers only. */
#define HOST_CONTAINERS_WHY 256
struct host_containers {
	/* Whether the trace is of that host and boot; else @why says what it is. */
	bool (*fits)(const struct metadata *trace, char why[HOST_CONTAINERS_WHY]);
	/* false: no container there has the PID namespace. */
	bool (*name)(uint32_t pid_ns, char room[CONTAINER_NAME_BYTES]);
};

/* Which analyses have a hook: bit i stands for analyses[i]. */
#define HOOKS(each)                                                                                \
	each(on_oncpu_end);                                                                        \
	each(on_switch_in);                                                                        \
	each(on_switch_out);                                                                       \
	each(on_fork);                                                                             \
	each(on_seen);                                                                             \
	each(on_doubt);                                                                            \
	each(on_window_end);
/* The same of analysis.rare. */
#define RARE_HOOKS(each)                                                                           \
	each(on_lost);                                                                             \
	each(on_slice_end);                                                                        \
	each(on_run);                                                                              \
	each(on_end);                                                                              \
	each(on_spans_end);                                                                        \
	each(on_no_open_calls);                                                                    \
	each(on_initial_cpu);                                                                      \
	each(on_ordered_window_end);                                                               \
	each(on_ordered_hole);                                                                     \
	each(on_cpu);                                                                              \
	each(on_slice);                                                                            \
	each(on_tally);
struct callers {
#define CALLER(member) uint32_t member
	HOOKS(CALLER)
	RARE_HOOKS(CALLER)
#undef CALLER
};
_Static_assert(ANALYSES_MAX <= 32, "one bit for each analysis");

/* Loops over the indexes @i of the analyses that have the hook @member. */
#define each_analysis_with(setup, member, i) each_analysis_of((setup)->callers.member, i)
#define each_analysis_of(bits, i)                                                                  \
	for (uint32_t left_ = (bits), i = 0;                                                       \
	     left_ != 0 && (i = (uint32_t)__builtin_ctz(left_), true); left_ &= left_ - 1)

/* Beside the bits of analyses: the engine's own needs, which only follows_rt wants. */
#define SETUP_BASE_RESTS (UINT32_C(1) << 31)

/* The handler of the events of a request. */
struct route {
	handler_fn *on_event;
	uint32_t state; /* offset of the analysis' state in a worker */
	uint8_t analysis;
};

struct setup {
	const struct analysis *analyses[ANALYSES_MAX]; /* the first analysis_count */
	size_t analysis_count;
	uint64_t interval_ns;
	uint64_t window_ns; /* length of a window; longer than the interval if no windows are shown
			     */
	uint64_t shown_ns; /* a multiple of that: rows of empty windows begin and end at it; 0: that
			    */
	bool keeps_windows; /* also long rows of empty ones, one by one */
	bool wants_windows; /* else only the total is reported */
	const struct analysis *const
		*reported;     /* ends with NULL; reports have no others; NULL: all */
	bool wants_containers; /* reports list containers */
	bool wants_places;     /* rows of processes say which container they are in */
	const struct host_containers *host_containers; /* NULL: what they are called is not asked */
	bool wants_order; /* all rows of reports are in order, not only the first @top */
	bool wants_views; /* reports have struct report_view */
	bool wants_spans; /* analyses tell them (shard_span()) */
	bool is_usual;    /* see struct engine_config */
	/* ns, recorded traces: only [range_begin, range_end) is reported; 0 and UINT64_MAX: all. */
	uint64_t range_begin, range_end;
	unsigned int jobs;                 /* workers in the pool */
	struct stats *stats;               /* NULL: none are kept */
	struct account *account;           /* of partials; NULL: nobody counts */
	size_t top;                        /* rows of a table that have to be sorted, 0: all */
	const struct selection *selection; /* NULL: all rows */
	const struct period_set *periods;  /* defined by the user; NULL: none */
	/* Filled in by setup_init(). */
	struct plan_request *requests;
	struct route *routes; /* the route of each request */
	size_t request_count;
	size_t base_count; /* the first of them: the engine's own */
	bool uses_threads; /* else no analysis needs to know which thread runs */
	bool has_ordered;  /* some analysis has on_ordered() */
	bool names_wakers; /* some analysis does */
	struct callers callers;
	uint32_t oncpu_ends_of_rt; /* analyses with oncpu_end_is_for_rt, by bit */
	bool follows_rt; /* no analysis uses threads, but who runs is followed where that counts */
	uint32_t may_rest; /* analyses with a need that may rest, by bit, and SETUP_BASE_RESTS */
	size_t state_offsets[ANALYSES_MAX];
	size_t state_size;
	struct partial_cache *partial_cache;
};

/* Whether reports have the analysis. */
bool setup_reports(const struct setup *setup, const struct analysis *analysis);
/* The number of the window that @ts lies in, or WINDOW_BEFORE or WINDOW_AFTER. */
int64_t setup_window(const struct setup *setup, uint64_t ts);

/*
 * Fills in the other members.  @base: the engine's own needs, requested if any analysis uses
 * threads.  The first of them is sched_switch, which becomes request 0 (REQUEST_SWITCH).
 */
#define REQUEST_SWITCH 0
void setup_init(struct setup *setup, const struct need *base, size_t base_count);
void setup_fini(struct setup *setup);
