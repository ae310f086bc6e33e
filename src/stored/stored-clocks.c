/*
 * stored-clocks: see stored.h; hosts whose clocks are off, or that have stopped.
 *
 * Times relative to the newest window count back from the newest one of all that is not in the
 * future.  A trace without a window in that range counts back from its own newest one, if that is
 * not older than a day; and so does one whose windows are in the future.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* The newest end of the windows of each trace in the list, from mem_alloc(); 0: it has none. */
static uint64_t *newest_of(const struct store_windows *windows, size_t traces)
{
	uint64_t *newest = mem_alloc((traces + 1) * sizeof(*newest));

	for (size_t i = 0; i < windows->at.count; i++) {
		uint64_t *at = &newest[windows->at.at[i].trace];

		*at = windows->at.at[i].end > *at ? windows->at.at[i].end : *at;
	}
	return newest;
}

/* Drops what a trace has before @begin. */
static void drop_before(struct store_windows *windows, uint32_t trace, uint64_t begin)
{
	size_t kept = 0;

	for (size_t i = 0; i < windows->at.count; i++) {
		if (windows->at.at[i].trace != trace || windows->at.at[i].begin >= begin) {
			windows->at.at[kept++] = windows->at.at[i];
		}
	}
	windows->at.count = kept;
}

/* Its windows are put together with those of others. */
static void move_back(const struct stored_range *range, uint32_t trace, const uint64_t *newest,
		      uint64_t interval_ns, struct store_windows *windows)
{
	bool is_joint = range->options->merged || range->options->per_host;
	uint64_t of_all = 0;
	size_t count;

	(void)store_reader_traces(range->reader, &count);
	for (size_t i = 0; i < count; i++) {
		bool is_off = newest[i] > range->newest + CLOCK_OFF_NS;

		of_all = !is_off && newest[i] > of_all ? newest[i] : of_all;
	}
	of_all = of_all > 0 ? of_all : range->newest;
	VEC_EACH(&windows->at, window) {
		if (is_joint && window->trace == trace && interval_ns < UINT64_MAX) {
			window->ahead_ns = stored_ahead_ns(
				newest[trace], of_all,
				interval_ns > window->level ? interval_ns : window->level);
		}
	}
}

/* The trace has no window in the range. */
static int count_back(const struct stored_range *range, uint32_t trace, uint64_t interval_ns,
		      struct store_windows *windows, struct err *err)
{
	uint64_t begin = range->newest > OWN_NEWEST_NS ? range->newest - OWN_NEWEST_NS : 0;
	size_t count;
	const struct store_trace *traces = store_reader_traces(range->reader, &count);
	bool *wanted = mem_alloc(count + 1);
	uint64_t *newest;
	int r;

	wanted[trace] = true;
	r = store_reader_windows(range->reader, wanted, interval_ns, begin, UINT64_MAX, windows,
				 err);
	newest = newest_of(windows, count);
	if (r == 0 && newest[trace] > 0) {
		stored_say_off(&traces[trace].identity, newest[trace], range->newest);
		drop_before(windows, trace, newest[trace] - (range->newest - range->begin));
	}
	free(newest);
	free(wanted);
	return r;
}

int stored_count_back(const struct stored_range *range, uint64_t interval_ns,
		      struct store_windows *windows, struct err *err)
{
	uint64_t length = range->newest - range->begin;
	size_t count;
	const struct store_trace *traces = store_reader_traces(range->reader, &count);
	uint64_t *newest;
	int r = 0;

	if (!stored_counts_back(range->options) || range->begin > range->newest) {
		return r;
	}
	newest = newest_of(windows, count);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		if (!range->wanted[i]) {
			continue;
		}
		if (newest[i] == 0) {
			r = count_back(range, i, interval_ns, windows, err);
		} else if (newest[i] > range->newest + CLOCK_OFF_NS) {
			stored_say_off(&traces[i].identity, newest[i], range->newest);
			drop_before(windows, i, newest[i] - length);
			move_back(range, i, newest, interval_ns, windows);
		}
	}
	free(newest);
	return r;
}
