/*
 * stored: see stored.h.
 */
#include "stored/stored.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/units.h"
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

void stored_say_longer(struct store_reader *reader, const struct store_windows *windows,
		       uint64_t interval_ns)
{
	uint64_t begin = UINT64_MAX, end = 0, level = 0;
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];

	for (size_t i = 0; i < windows->at.count; i++) {
		const struct store_window *window = &windows->at.at[i];

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

void stored_say_short(struct store_reader *reader, const struct store_windows *windows)
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
