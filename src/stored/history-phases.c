/*
 * history-phases: see history-phases.h.
 */
#include "stored/history-phases.h"

#include <assert.h>
#include <stdlib.h>

#include "run/say.h"

struct trace_time {
	uint64_t begin, end, ahead_ns; /* end: 0: it has no window */
};

/* By trace; from malloc(). */
static struct trace_time *times_of_traces(const struct stored_history *h)
{
	struct trace_time *times = mem_alloc((h->trace_count + 1) * sizeof(*times));

	VEC_EACH(&h->windows.at, window) {
		struct trace_time *time = &times[window->trace];

		assert(window->trace < h->trace_count);
		time->begin =
			time->end == 0 || window->begin < time->begin ? window->begin : time->begin;
		time->end = window->end > time->end ? window->end : time->end;
		time->ahead_ns = window->ahead_ns;
	}
	return times;
}

ORDER(by_phase_begin, struct store_phase, UP(begin) UP(trace))

/* Those outside of a trace's windows go; with --merged they come by time, whatever their trace. */
static void choose_phases(struct stored_history *h, const struct trace_time *times)
{
	size_t kept = 0;

	VEC_EACH(&h->phases, phase) {
		const struct trace_time *time = &times[phase->trace];

		if (phase->begin < time->end && phase->end > time->begin &&
		    phase->begin >= time->ahead_ns) {
			h->phases.at[kept] = *phase;
			h->phases.at[kept++].ahead_ns = time->ahead_ns;
		}
	}
	h->phases.count = kept;
	if (h->options->merged) {
		vec_sort(&h->phases, by_phase_begin);
	}
}

int history_phases_find(struct stored_history *h)
{
	struct trace_time *times = times_of_traces(h);
	uint64_t begin = UINT64_MAX, end = 0;
	int r;

	for (size_t i = 0; i < h->trace_count; i++) {
		begin = times[i].end > 0 && times[i].begin < begin ? times[i].begin : begin;
		end = times[i].end > end ? times[i].end : end;
	}
	r = end > 0 ? store_reader_phases(h->reader, h->wanted, begin, end, &h->phases, &h->err)
		    : 0;
	choose_phases(h, times);
	free(times);
	if (r == 0 && h->phases.count == 0 && h->options->verbosity >= 0) {
		say("%s: no phases are stored of these windows: --phases of live and analyze finds "
		    "them",
		    store_reader_name(h->reader));
	}
	return r;
}

int history_phases_show(struct stored_history *h, uint32_t trace)
{
	struct phase_record record;
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->phases.count && !*h->stop; i++) {
		const struct store_phase *phase = &h->phases.at[i];

		if (trace != HISTORY_ALL && phase->trace != trace) {
			continue;
		}
		r = store_reader_phase(h->reader, phase, &record, &h->err);
		if (r == 0) {
			record.begin = phase->begin - phase->ahead_ns;
			record.end = phase->end - phase->ahead_ns;
			output_phase(h->output, &h->traces[phase->trace].identity, &record);
		}
	}
	return r;
}
