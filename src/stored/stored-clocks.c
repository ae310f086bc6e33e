/*
 * stored-clocks: see stored.h; hosts whose clocks are off, or that have stopped.
 *
 * Times relative to the newest window count back from the newest one of all that is not in the
 * future.  A trace without a window in that range counts back from its own newest one, if that is
 * not older than a day; and so does one whose windows are in the future.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/now.h"
#include "run/say.h"
#include "stored/stored.h"

#define OWN_NEWEST_NS (24 * 3600 * NS_PER_S)

void stored_cap_span(struct units_span *span)
{
	uint64_t now = now_wall_ns();

	span->last = span->last > now && span->first < now ? now : span->last;
}

bool stored_counts_back(const struct options *options)
{
	return options->begin && options->begin[0] == '-' && !options->end;
}

uint64_t stored_ahead_ns(uint64_t newest, uint64_t of_all, uint64_t interval_ns)
{
	assert(newest >= of_all && interval_ns > 0);
	return (newest - of_all + interval_ns / 2) / interval_ns * interval_ns;
}

void stored_say_off(const struct trace_identity *trace, uint64_t newest, uint64_t of_all)
{
	char *name = output_trace_text(trace, false), by[UNITS_TEXT_MAX];

	say(newest > of_all ? "%s: its clock is %s ahead: counted back from its own newest window"
			    : "%s: its newest window ended %s before that of others: counted back "
			      "from it",
	    name, units_ns(by, newest > of_all ? newest - of_all : of_all - newest));
	free(name);
}

/* Traces whose own newest window is where their range counts back from. */
struct off {
	const struct stored_range *range;
	const struct store_trace *traces;
	size_t count;
	uint64_t *newest; /* ns, by trace: the end of its newest window; 0: it has none in the range
			   */
	bool *is_silent;  /* it had none */
};

static void find_newest(struct off *off, const struct store_windows *windows)
{
	VEC_EACH(&windows->at, window) {
		uint64_t *newest = &off->newest[window->trace];

		assert(window->trace < off->count);
		*newest = window->end > *newest ? window->end : *newest;
	}
}

static bool is_ahead(const struct off *off, size_t trace)
{
	return off->newest[trace] > off->range->newest + CLOCK_OFF_NS;
}

static bool is_off(const struct off *off, size_t trace)
{
	return is_ahead(off, trace) || (off->is_silent[trace] && off->newest[trace] > 0);
}

/* The newest window of traces that are not off, which windows of others are put together with. */
static uint64_t newest_of_all(const struct off *off)
{
	uint64_t of_all = 0;

	for (size_t i = 0; i < off->count; i++) {
		of_all = !is_off(off, i) && off->newest[i] > of_all ? off->newest[i] : of_all;
	}
	return of_all > 0 ? of_all : off->range->newest;
}

/* Adds the windows of traces that have none in the range. */
static int take_silent(struct off *off, uint64_t interval_ns, struct store_windows *windows,
		       struct err *err)
{
	const struct stored_range *range = off->range;
	uint64_t begin = range->newest > OWN_NEWEST_NS ? range->newest - OWN_NEWEST_NS : 0;
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < off->count; i++) {
		off->is_silent[i] = range->wanted[i] && off->newest[i] == 0;
		any |= off->is_silent[i];
	}
	if (any) {
		r = store_reader_windows(range->reader, off->is_silent, interval_ns, begin,
					 UINT64_MAX, windows, err);
		find_newest(off, windows);
	}
	return r;
}

/* Names those that are off on one side; many are one line. */
static void say_side(const struct off *off, bool ahead)
{
	uint64_t most = 0, of_all = off->range->newest;
	size_t count = 0, first = 0;
	char *name, by[UNITS_TEXT_MAX];

	for (size_t i = off->count; i-- > 0;) {
		if (is_off(off, i) && is_ahead(off, i) == ahead) {
			uint64_t newest = off->newest[i];
			uint64_t ns = ahead ? newest - of_all : of_all - newest;

			most = ns > most ? ns : most;
			first = i;
			count++;
		}
	}
	for (size_t i = first; count <= HISTORY_HOSTS_MAX && i < off->count; i++) {
		if (is_off(off, i) && is_ahead(off, i) == ahead) {
			stored_say_off(&off->traces[i].identity, off->newest[i], of_all);
		}
	}
	if (count > HISTORY_HOSTS_MAX) {
		name = output_trace_text(&off->traces[first].identity, false);
		say(ahead ? "%zu traces, %s and others: their clocks are up to %s ahead: counted "
			    "back from their own newest windows"
			  : "%zu traces, %s and others: their newest windows ended up to %s before "
			    "those of others: counted back from them",
		    count, name, units_ns(by, most));
		free(name);
	}
}

/* Drops what is before the range of a trace that is off.  What is ahead is put together with
 * windows of others. */
static void count_back(const struct off *off, uint64_t of_all, uint64_t interval_ns,
		       struct store_windows *windows)
{
	const struct options *options = off->range->options;
	bool moves = (options->merged || options->per_host) && interval_ns < UINT64_MAX;
	uint64_t length = off->range->newest - off->range->begin;
	size_t kept = 0;

	VEC_EACH(&windows->at, window) {
		uint64_t newest = off->newest[window->trace];

		if (is_off(off, window->trace) && newest > length &&
		    window->begin < newest - length) {
			continue;
		}
		if (moves && is_ahead(off, window->trace)) {
			window->ahead_ns = stored_ahead_ns(
				newest, of_all,
				interval_ns > window->level ? interval_ns : window->level);
		}
		windows->at.at[kept++] = *window;
	}
	windows->at.count = kept;
}

int stored_count_back(const struct stored_range *range, uint64_t interval_ns,
		      struct store_windows *windows, struct err *err)
{
	struct off off = { .range = range };
	uint64_t of_all;
	int r;

	if (!stored_counts_back(range->options) || range->begin > range->newest) {
		return 0;
	}
	off.traces = store_reader_traces(range->reader, &off.count);
	off.newest = mem_alloc((off.count + 1) * sizeof(*off.newest));
	off.is_silent = mem_alloc(off.count + 1);
	find_newest(&off, windows);
	of_all = newest_of_all(&off);
	r = take_silent(&off, interval_ns, windows, err);
	if (r == 0) {
		if (range->options->verbosity >= 0) {
			say_side(&off, true);
			say_side(&off, false);
		}
		count_back(&off, of_all, interval_ns, windows);
	}
	free(off.newest);
	free(off.is_silent);
	return r;
}
