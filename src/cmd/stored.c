/*
 * stored: see stored.h.
 */
#include "cmd/stored.h"

#include <fnmatch.h>

#include "base/units.h"
#include "cmd/say.h"

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

struct gaps {
	const struct store_reader *reader;
	uint64_t windows;
};

static void say_gap(void *user, uint64_t begin, uint64_t end, uint64_t windows, const char *why)
{
	struct gaps *gaps = user;
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX];

	gaps->windows += windows;
	say("%s: %llu windows between %s and %s are missing: %s", store_reader_name(gaps->reader),
	    (unsigned long long)windows, units_iso(from, begin), units_iso(to, end), why);
}

int stored_say_gaps(struct store_reader *reader, uint64_t begin, uint64_t end,
		    uint64_t *ret_windows, struct err *err)
{
	struct gaps gaps = { reader, 0 };
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
