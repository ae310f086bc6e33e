/*
 * due: see due.h.
 */
#include "stored/due.h"

#include <assert.h>

/* Whether the newest window may be replaced by more of it. */
static bool is_held(const struct due_trace *trace)
{
	uint64_t whole = due_round_up(trace->last_begin + 1, trace->level);

	return !trace->last_is_complete || trace->last_end < whole;
}

bool due_note(struct due_trace *trace, const struct store_news_window *window,
	      const struct due_clock *clock)
{
	bool is_last = !trace->has_last || window->end > trace->last_end ||
		       (window->end == trace->last_end && window->begin >= trace->last_begin);
	bool is_new = !trace->has_last || window->begin > trace->last_begin;
	bool is_changed = is_new || (window->begin == trace->last_begin &&
				     (window->end != trace->last_end ||
				      window->is_complete != trace->last_is_complete));

	if (is_last && is_changed) {
		trace->level = window->level;
		trace->last_begin = window->begin;
		trace->last_end = window->end;
		trace->last_is_complete = window->is_complete;
		trace->changed_at = clock->now;
		trace->has_last = true;
	}
	if (is_last) {
		uint64_t known = is_held(trace) ? trace->last_begin : trace->last_end;

		trace->known = known > trace->known ? known : trace->known;
	}
	assert(trace->has_last);
	return !is_new || window->begin >= trace->position;
}

uint64_t due_unseen(const struct due_trace *trace)
{
	return !trace->has_last ? trace->since
	       : is_held(trace) ? trace->last_begin
				: trace->last_begin + 1;
}

bool due_is_pending(const struct due_trace *trace)
{
	return trace->has_last && trace->last_begin >= trace->position;
}

static uint64_t lag(const struct due_trace *trace)
{
	return DUE_LAG_NS + trace->level;
}

bool due_is_idle(const struct due_trace *trace, const struct due_clock *clock)
{
	return trace->changed_at == 0 || clock->now - trace->changed_at >= lag(trace);
}

uint64_t due_until(const struct due_trace *trace, uint64_t interval_ns,
		   const struct due_clock *clock, bool is_end)
{
	uint64_t whole = trace->known / interval_ns * interval_ns;
	uint64_t all = due_round_up(trace->last_end, interval_ns);
	uint64_t idle = clock->now - trace->changed_at;

	if (!due_is_pending(trace)) {
		return trace->position;
	}
	if (is_end || trace->changed_at == 0 ||
	    (due_is_idle(trace, clock) &&
	     (clock->wall >= all + lag(trace) || idle >= interval_ns + lag(trace)))) {
		whole = all > trace->last_begin ? all : trace->last_begin + 1;
	}
	return whole > trace->position ? whole : trace->position;
}

uint64_t due_round_up(uint64_t time, uint64_t interval_ns)
{
	uint64_t rest = time % interval_ns;

	assert(interval_ns > 0);
	return rest == 0 ? time : time - rest + interval_ns;
}
