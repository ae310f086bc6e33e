/*
 * stored: see stored.h.
 */
#include "stored/stored.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/units.h"
#include "run/run.h"
#include "run/say.h"

static bool matches(const char *pattern, const char *text)
{
	return !pattern || fnmatch(pattern, text ? text : "", 0) == 0;
}

bool stored_wants(const struct options *options, const struct trace_identity *trace)
{
	return matches(options->host, trace->host) && matches(options->session, trace->session);
}

bool *stored_wanted(const struct options *options, struct store_reader *reader)
{
	size_t count;
	const struct store_trace *traces = store_reader_traces(reader, &count);
	bool *wanted = mem_alloc(count + 1);

	for (size_t i = 0; i < count; i++) {
		wanted[i] = stored_wants(options, &traces[i].identity);
	}
	return wanted;
}

void stored_want(const struct options *options, const struct analysis *const *list,
		 struct store_reader *reader)
{
	store_reader_want(reader, list, &options->selection, options->display.per == PER_CONTAINER);
	if (options->has_analyses) {
		store_reader_say_all(reader);
	}
}

struct said_gaps {
	const struct store_reader *reader;
	uint64_t windows;
};

static void say_gap(void *user, uint64_t begin, uint64_t end, uint64_t windows, const char *why)
{
	struct said_gaps *gaps = user;
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX];

	gaps->windows += windows;
	say("%s: %llu windows between %s and %s are missing: %s", store_reader_name(gaps->reader),
	    (unsigned long long)windows, units_iso(from, begin), units_iso(to, end), why);
}

int stored_say_gaps(struct store_reader *reader, uint64_t begin, uint64_t end,
		    uint64_t *ret_windows, struct err *err)
{
	struct said_gaps gaps = { reader, 0 };
	int r = store_reader_gaps(reader, begin, end, say_gap, &gaps, err);

	*ret_windows += gaps.windows;
	return r;
}

#define AT_LONGEST_NS (24 * 3600 * NS_PER_S) /* no window is longer */

static void keep_at(struct store_windows *windows, uint64_t at)
{
	size_t kept = 0;

	VEC_EACH(&windows->at, window) {
		if (window->begin <= at && at < window->end) {
			windows->at.at[kept++] = *window;
		}
	}
	windows->at.count = kept;
}

/* The windows that --at lies in, the shortest of each trace and analysis. */
static int windows_at(const struct options *options, struct store_reader *reader,
		      const bool *wanted, const struct units_span *span, struct store_windows *ret,
		      struct err *err)
{
	struct options asked = *options;
	uint64_t at, ignored;
	int r;

	asked.begin = options->at;
	asked.begin_option = "--at";
	r = run_range_in(&asked, span, &at, &ignored, err);
	r = r < 0 ? r
		  : store_reader_windows(reader, wanted, 1,
					 at > AT_LONGEST_NS ? at - AT_LONGEST_NS : 0, at + 1, ret,
					 err);
	keep_at(ret, at);
	return r == 0 && ret->at.count == 0
		       ? err_raise(err, -ENOENT, "%s: it has no window of --at %s",
				   store_reader_name(reader), options->at)
		       : r;
}

int stored_windows(const struct options *options, struct store_reader *reader, const bool *wanted,
		   uint64_t interval_ns, struct store_windows *ret, uint64_t *ret_lost,
		   struct err *err)
{
	struct units_span span;
	uint64_t begin, end;
	int r = store_reader_span(reader, &span.first, &span.last, err);

	stored_cap_span(&span);
	if (r == 0 && options->at) {
		return windows_at(options, reader, wanted, &span, ret, err);
	}
	r = r < 0 ? r : run_range_in(options, &span, &begin, &end, err);
	r = r < 0 ? r : store_reader_windows(reader, wanted, interval_ns, begin, end, ret, err);
	r = r < 0 ? r
		  : stored_count_back(&(const struct stored_range){ reader, wanted, options,
								    span.last, begin, end },
				      interval_ns, ret, err);
	r = r < 0 ? r : stored_say_gaps(reader, begin, end, ret_lost, err);
	return r == 0 && ret->at.count == 0 ? err_raise(err, -ENOENT, "%s: it has no such windows",
							store_reader_name(reader))
					    : r;
}

static void say_longer(struct store_reader *reader, const struct store_windows *windows,
		       uint64_t interval_ns)
{
	uint64_t begin = UINT64_MAX, end = 0, level = 0;
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];

	VEC_EACH(&windows->at, window) {
		if (interval_ns % window->level != 0) {
			begin = window->begin < begin ? window->begin : begin;
			end = window->end > end ? window->end : end;
			level = window->level > level ? window->level : level;
		}
	}
	if (level > 0) {
		say("%s: between %s and %s there are windows that %s, up to %s",
		    store_reader_name(reader), units_iso(from, begin), units_iso(to, end),
		    level > interval_ns ? "are longer than asked" : "do not fit into those asked",
		    units_ns(length, level));
	}
}

/* ---- analyses that some windows lack ---- */

#define SHORT_TRACES_MAX 8 /* that are named */

/* The windows of one trace, from @at on: the next trace's begin is the result. */
static size_t add_times(const struct store_windows *windows, size_t at,
			uint64_t known[ANALYSES_MAX], uint64_t *ret_all)
{
	size_t i = at;

	assert(at < windows->at.count);
	for (; i < windows->at.count && windows->at.at[i].trace == windows->at.at[at].trace; i++) {
		const struct store_window *window = &windows->at.at[i];

		*ret_all += window->lists & STORE_HEAD ? window->end - window->begin : 0;
		for (size_t a = 0; analyses[a]; a++) {
			known[a] += window->lists >> a & 1 ? window->end - window->begin : 0;
		}
	}
	return i;
}

/* Whether something is said of the trace; @says: it is. */
static bool say_short(const struct store_reader *reader, const struct store_window *first,
		      const uint64_t *known, uint64_t all, bool says)
{
	char lacks[UNITS_TEXT_MAX], of[UNITS_TEXT_MAX], *name;
	size_t count;
	bool is_any = false;

	name = output_trace_text(&store_reader_traces(reader, &count)[first->trace].identity,
				 false);
	for (size_t a = 0; analyses[a]; a++) {
		if (!(first->expected >> a & 1) || known[a] >= all) {
			continue;
		}
		is_any = true;
		if (says) {
			say("%s: %s: %s of %s have no %s: another -a was stored",
			    store_reader_name(reader), name, units_ns(lacks, all - known[a]),
			    units_ns(of, all), analyses[a]->name);
		}
	}
	free(name);
	return is_any;
}

static void say_all_short(struct store_reader *reader, const struct store_windows *windows)
{
	size_t traces = 0;

	for (size_t i = 0, next; i < windows->at.count; i = next) {
		uint64_t known[ANALYSES_MAX] = { 0 }, all = 0;

		next = add_times(windows, i, known, &all);
		traces += say_short(reader, &windows->at.at[i], known, all,
				    traces < SHORT_TRACES_MAX);
	}
	if (traces > SHORT_TRACES_MAX) {
		say("%s: so it is with %zu more traces", store_reader_name(reader),
		    traces - SHORT_TRACES_MAX);
	}
}

void stored_say_windows(const struct options *options, struct store_reader *reader,
			const struct store_windows *windows, uint64_t interval_ns)
{
	if (options->verbosity >= 0 && interval_ns < UINT64_MAX) {
		say_longer(reader, windows, interval_ns);
	}
	if (options->verbosity >= 0) {
		say_all_short(reader, windows);
	}
}

/* ---- windows that are put together ---- */

static uint64_t window_slot(const struct store_window *window, uint64_t interval_ns)
{
	return interval_ns > 0 ? store_window_at(window) / interval_ns : 0;
}

/* A row of empty windows that does not fit into a slot (report.h) is shown on its own. */
static bool is_row(const struct store_window *window, uint64_t interval_ns)
{
	uint64_t slot = interval_ns > 0 ? interval_ns : UINT64_MAX;

	return window->end - window->begin > window->level &&
	       window->begin / slot != (window->end - 1) / slot;
}

bool stored_are_apart(const struct store_window *a, const struct store_window *b,
		      uint64_t interval_ns)
{
	return window_slot(a, interval_ns) != window_slot(b, interval_ns) ||
	       is_row(a, interval_ns) || is_row(b, interval_ns);
}
