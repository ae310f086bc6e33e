/*
 * follow-state: the inside of `history --follow`.
 *
 *   follow.c        looks at what lands, from second to second
 *   follow-show.c   shows what is due
 *   follow-late.c   what came too late, or never came to the store
 *   due.c           when a window is due
 */
#pragma once

#include "store/reader-news.h"
#include "stored/due.h"
#include "stored/history-fleet.h"
#include "stored/history-state.h"

#define FOLLOW_EVERY_NS     NS_PER_S          /* between looks */
#define FOLLOW_EVERY_MAX_NS (60 * NS_PER_S)   /* if they take long */
#define FOLLOW_REST         20                /* a look takes one part of so many, at most */
#define FOLLOW_NEAR_NS      (60 * NS_PER_S)   /* silent traces are looked at less often: */
#define FOLLOW_FAR_NS       (10 * NS_PER_S)   /* so often, and what came too late */
#define FOLLOW_LATE_NS      (3600 * NS_PER_S) /* how far back that is looked for */
#define FOLLOW_GAPS_MAX     1024              /* that are known to be said */

/* A trace: some hundred bytes for as long as the run lasts. */
struct followed {
	char *id, *name;         /* as stores have it; for messages */
	bool is_wanted, is_past; /* it has windows behind --until */
	struct due_trace due;
	uint64_t due_at; /* of the windows that are shown now: those that begin before */
	size_t shown;    /* how many of it they are */
	uint32_t number; /* --per host: that of the view */
	uint64_t seq;    /* of the next long window */
	/* --merged, --per host: its clock is ahead by so many long windows, in ns: its windows
	 * count that much earlier.  All else is in its own time. */
	uint64_t ahead_ns;
	/* Windows of one length that were in a time whose windows are printed, if they were
	 * counted. */
	bool is_count;
	struct store_news_range counted;
	uint64_t count;
};

struct follow {
	struct options options;
	struct output *output;
	const atomic_bool *stop;
	struct store_news *news; /* NULL: the store is not there, or away */
	char *name;              /* what it is called; NULL: it was never there */
	bool is_away;            /* which was said */
	VEC(struct followed) traces;
	VEC(uint32_t) of_news; /* the index in traces of a trace of news */
	struct due_clock clock;
	/* The range, when it is known: some times depend on what the store has. */
	bool has_range, has_seen; /* has_seen: the windows that were there at the start */
	uint64_t begin, end;
	uint64_t newest;           /* the last end of a window */
	bool has_news;             /* since the last look at silent traces */
	uint64_t far_at, waits;    /* when silent traces are looked at again; ns to wait */
	struct history_view *view; /* --per host; NULL: not */
	uint32_t view_traces;
	/* --merged, --per host: numbers of windows; the newest end of a while ago and of now. */
	uint64_t all_seq;
	struct {
		uint64_t at, newest;
	} before, after;
	/* What is said of what is missing. */
	uint64_t late, late_said_at;
	bool has_said_unmatched;
	bool has_gaps;      /* those of the range were said; */
	VEC(uint64_t) gaps; /* hashes of those that were */
	struct run_summary summary;
	struct err err;
};

/* Whether the windows of all traces are put together. */
static inline bool follow_is_joint(const struct follow *follow)
{
	return follow->options.merged || follow->options.per_host;
}
/* The index in @follow->traces of a trace, which is added if it is new. */
uint32_t follow_trace(struct follow *follow, const struct store_trace *trace);
/* Notes up to where windows are due; whether some are.  @is_end: all that is there is. */
bool follow_choose(struct follow *follow, bool is_end);
/* Reads those that are due, and shows them.  Fails as the functions of reader.h; what was shown
 * is not shown again. */
int follow_show(struct follow *follow, struct err *err);
/* Looks for windows that landed in a time whose windows are printed, and for windows that were
 * lost on the way to the store; says both.  Fails as the functions of reader-news.h. */
int follow_late(struct follow *follow, struct err *err);
/* Says how many came too late, if it is time for it, or @is_end. */
void follow_say_late(struct follow *follow, bool is_end);
