/*
 * follow-show: which windows are due, and the way from the store to the output; see follow-state.h.
 */
#include <assert.h>
#include <stdlib.h>

#include "run/say.h"
#include "stored/follow-state.h"
#include "stored/stored.h"

/* ---- traces ---- */

uint32_t follow_trace(struct follow *f, const struct store_trace *trace)
{
	struct followed *new;

	for (size_t i = f->traces.count; i-- > 0;) {
		if (strcmp(f->traces.at[i].id, trace->id) == 0) {
			return (uint32_t)i;
		}
	}
	new = vec_push(&f->traces);
	*new = (struct followed){
		.id = mem_strdup(trace->id),
		.name = output_trace_text(&trace->identity, false),
		.is_wanted = stored_wants(&f->options, &trace->identity),
		.number = UINT32_MAX,
		.due = { .since = f->begin, .position = f->begin },
	};
	return (uint32_t)f->traces.count - 1;
}

/* ---- what is due ---- */

/* --merged, --per host: up to where all traces are known that are not silent; one that stays behind
 * for long is not waited for. */
static uint64_t all_until(struct follow *f, bool is_end)
{
	uint64_t interval = f->options.interval_ns, most = 0, least = UINT64_MAX, level = 0, until;

	VEC_EACH(&f->traces, trace) {
		const struct due_trace *due = &trace->due;
		uint64_t end = due->last_end - trace->ahead_ns;

		if (!trace->is_wanted || !due->has_last) {
			continue;
		}
		most = end > most ? end : most;
		level = due->level > level ? due->level : level;
		if (!due_is_idle(due, &f->clock)) {
			uint64_t known = due->known - trace->ahead_ns;

			least = known < least ? known : least;
		}
	}
	if (f->clock.now - f->after.at >= DUE_LAG_NS + level) {
		f->before = f->after;
		f->after.at = f->clock.now;
		f->after.newest = most;
	}
	if (is_end || least == UINT64_MAX) {
		return due_round_up(most, interval);
	}
	until = least > f->before.newest ? least : f->before.newest;
	return until / interval * interval;
}

/* Whether something is due. */
bool follow_choose(struct follow *f, bool is_end)
{
	bool is_joint = follow_is_joint(f);
	uint64_t all = is_joint ? all_until(f, is_end) : 0;
	bool is_any = false;

	VEC_EACH(&f->traces, trace) {
		struct due_trace *due = &trace->due;

		trace->shown = 0;
		trace->due_at = !is_joint
					? due_until(due, f->options.interval_ns, &f->clock, is_end)
				: all + trace->ahead_ns > due->position ? all + trace->ahead_ns
									: due->position;
		is_any |= trace->is_wanted && due_is_pending(due) &&
			  trace->due_at > due->position && due->last_end > due->position;
	}
	return is_any;
}

/* ---- showing ---- */

struct due_batch {
	struct follow *follow;
	struct stored_history history;
	VEC(uint32_t) of_reader; /* the index in follow->traces of a trace of the reader */
};

static struct followed *followed_in(const struct due_batch *batch, uint32_t trace)
{
	assert(trace < batch->of_reader.count);
	return &batch->follow->traces.at[batch->of_reader.at[trace]];
}

static void advance(struct followed *trace, uint64_t position)
{
	trace->due.position = position > trace->due.position ? position : trace->due.position;
}

/* A long window is shown: whatever comes next, it is not shown again. */
static void advance_all(struct follow *f, uint64_t begin)
{
	VEC_EACH(&f->traces, trace) {
		advance(trace, due_round_up(begin + 1, f->options.interval_ns) + trace->ahead_ns);
	}
}

static void on_shown(void *user, uint32_t index, struct report *report)
{
	struct due_batch *batch = user;
	struct follow *f = batch->follow;

	f->summary.events += report->events;
	if (index == HISTORY_ALL) {
		report->seq = f->all_seq++;
		advance_all(f, report->begin);
	} else {
		struct followed *trace = followed_in(batch, index);

		report->seq = trace->seq++;
		advance(trace, due_round_up(report->begin + 1, f->options.interval_ns));
	}
}

static void on_hosts_shown(void *user, uint64_t begin, uint64_t events)
{
	struct due_batch *batch = user;

	batch->follow->summary.events += events;
	advance_all(batch->follow, begin);
}

static int choose_windows(struct due_batch *batch)
{
	struct follow *f = batch->follow;
	struct stored_history *h = &batch->history;
	struct store_windows *windows = &h->windows;
	uint64_t begin = UINT64_MAX, end = 0;
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < h->trace_count; i++) {
		struct followed *trace;

		*vec_push(&batch->of_reader) = follow_trace(f, &h->traces[i]);
		trace = followed_in(batch, (uint32_t)i);
		if (f->view && trace->is_wanted && trace->number == UINT32_MAX) {
			trace->number = f->view_traces++; /* by name, as the reader has them */
			history_view_add_trace(f->view, &h->traces[i].identity);
		}
		h->wanted[i] = trace->is_wanted && due_is_pending(&trace->due) &&
			       trace->due_at > trace->due.position;
		if (h->wanted[i]) {
			begin = trace->due.position < begin ? trace->due.position : begin;
			end = trace->due_at > end ? trace->due_at : end;
		}
	}
	assert(batch->of_reader.count == h->trace_count);
	end = end < f->end ? end : f->end;
	r = begin < end ? store_reader_windows(h->reader, h->wanted, f->options.interval_ns, begin,
					       end, windows, &h->err)
			: 0;
	for (size_t i = 0; i < windows->at.count; i++) {
		struct followed *trace = followed_in(batch, windows->at.at[i].trace);

		if (windows->at.at[i].begin >= trace->due.position &&
		    windows->at.at[i].begin < trace->due_at) {
			windows->at.at[kept] = windows->at.at[i];
			windows->at.at[kept++].ahead_ns = trace->ahead_ns;
			trace->shown++;
		}
	}
	windows->at.count = kept;
	return r;
}

/* All that was due is shown; or it is no longer there. */
static void end_batch(struct follow *f)
{
	VEC_EACH(&f->traces, trace) {
		struct due_trace *due = &trace->due;

		if (!trace->is_wanted || trace->due_at <= due->position) {
			continue;
		}
		if (trace->shown == 0 && due_is_pending(due) && due->last_begin < trace->due_at &&
		    f->options.verbosity >= 0) {
			say("%s: windows of %s were removed, or merged, before they were shown",
			    f->name, trace->name);
		}
		advance(trace, trace->due_at);
	}
}

static int show_hosts(struct due_batch *batch)
{
	struct follow *f = batch->follow;
	struct stored_history *h = &batch->history;
	uint32_t *number = mem_alloc((h->trace_count + 1) * sizeof(*number));
	int r;

	for (size_t i = 0; i < h->trace_count; i++) {
		number[i] = followed_in(batch, (uint32_t)i)->number;
	}
	history_sort(&h->windows, f->options.interval_ns);
	r = history_view_show(f->view, h->reader, &h->windows, number, f->stop, on_hosts_shown,
			      batch, &h->err);
	free(number);
	return r;
}

static int want(const struct follow *f, struct store_reader *reader, struct err *err)
{
	if (f->view) {
		return history_view_want(f->view, reader, err);
	}
	stored_want(&f->options, f->output->analyses, reader);
	return 0;
}

int follow_show(struct follow *f, struct err *err)
{
	struct due_batch batch = { .follow = f,
				   .history = { .options = &f->options,
						.output = f->output,
						.stop = f->stop,
						.on_window = on_shown,
						.user = &batch } };
	struct stored_history *h = &batch.history;
	int r = store_reader_open(f->options.args[0], f->stop, &h->reader, &h->err);

	assert(f->has_range);
	if (r == 0) {
		r = want(f, h->reader, &h->err);
		history_choose_traces(h);
		r = r < 0 ? r : choose_windows(&batch);
		r = r < 0 ? r : f->view ? show_hosts(&batch) : history_show(h);
		if (r == 0 && !*f->stop) {
			end_batch(f);
		}
	}
	*err = h->err;
	vec_fini(&batch.of_reader);
	history_fini(h);
	return r;
}
