/*
 * history: what a store has, as `analyze` would print it (src/store).
 *
 *     store ──► windows of a trace ──► a long window (-i) ──► total        each trace
 *                                           └──► joined with those of other traces (--merged)
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "base/units.h"
#include "baseline/baseline.h"
#include "engine/engine.h"
#include "rollup/rollup.h"
#include "run/run.h"
#include "run/say.h"
#include "stored/history-fleet.h"
#include "stored/history-many.h"
#include "stored/history-phases.h"
#include "stored/history-state.h"
#include "stored/history.h"
#include "stored/stored.h"
#include "trigger/actions.h"
#include "trigger/gate.h"

/* ---- output ---- */

static struct rollup *long_new(struct stored_history *h, uint64_t interval_ns)
{
	/* A condition may be about any row. */
	size_t top = h->actions ? 0 : h->output->top;
	struct rollup *rollup = rollup_new(interval_ns, top, &h->options->selection,
					   h->options->display.per == PER_CONTAINER);

	rollup_bound(rollup, &h->account);
	return rollup;
}

/* Nobody asks for it any more. */
static void long_free(struct stored_history *h, struct rollup **rollup)
{
	h->ended += *rollup ? rollup_ended(*rollup) : 0;
	rollup_free(*rollup);
	*rollup = NULL;
}

/* @index: of the trace; HISTORY_ALL: of all. */
static void show(struct stored_history *h, uint32_t index, const struct trace_identity *trace,
		 const struct report *report)
{
	struct report shown = *report;

	if (h->on_window) {
		h->on_window(h->user, index, &shown);
	}
	if (!h->hides_windows || shown.kind == REPORT_TOTAL) {
		output_report(h->output, trace, &shown);
	}
	if (h->actions) {
		actions_report(h->actions, h->output, trace, &shown, NULL);
	}
}

/* Whether the user selected rows, and the lists that tell such rows apart have none.  Without such
 * a list nobody knows. */
static void note_matches(struct stored_history *h, const struct report *total)
{
	const struct selection *selection = &h->options->selection;
	bool has_list = false, has_row = false;

	for (size_t i = 0; i < total->table_count; i++) {
		const struct report_table *table = &total->tables[i];
		const char *class = table->table->lami_class;

		if (table->is_whole || table->table->scope == SCOPE_TRACE ||
		    (selection_of(selection) & OF_ALL_IRQS &&
		     (!class || strcmp(class, "irq") != 0))) {
			continue;
		}
		has_list = true;
		has_row |= table->row_count > 0;
	}
	h->has_matched |= has_row || !has_list;
	h->has_unmatched |= selection_of(selection) != 0 && has_list && !has_row;
}

static void show_total(struct stored_history *h, const struct trace_identity *trace,
		       const struct report *total)
{
	struct report shown = *total;

	shown.kind = REPORT_TOTAL;
	shown.seq = 0;
	h->summary.events += total->events;
	note_matches(h, total);
	show(h, HISTORY_ALL, trace, &shown);
}

/* ---- windows ---- */

static bool are_apart(const struct stored_history *h, const struct store_window *a,
		      const struct store_window *b)
{
	return stored_are_apart(a, b, h->options->has_interval ? h->options->interval_ns : 0);
}

/* A long window of the trace is over. */
static void end_long(struct stored_history *h, uint32_t trace)
{
	const struct report *window;

	assert(trace < h->trace_count && h->longs[trace]);
	window = rollup_take(h->longs[trace]);
	if (!window) {
		return;
	}
	if (h->joined) {
		rollup_add(h->joined, window, trace + 1);
	} else {
		show(h, trace, &h->traces[trace].identity, window);
	}
}

static void end_joined(struct stored_history *h, const struct trace_identity *all)
{
	const struct report *window = h->joined ? rollup_take(h->joined) : NULL;

	if (window) {
		show(h, HISTORY_ALL, all, window);
	}
}

static int add_window(struct stored_history *h, const struct store_window *window)
{
	struct report report;
	int r = store_reader_read(h->reader, window, &report, &h->err);

	if (r < 0) {
		return r;
	}
	assert(window->trace < h->trace_count && h->wanted[window->trace]);
	if (!h->longs[window->trace]) {
		h->longs[window->trace] = long_new(h, h->options->interval_ns);
		h->totals[window->trace] = long_new(h, h->options->interval_ns);
	}
	if (h->options->has_interval) {
		rollup_add(h->longs[window->trace], &report, 0);
	}
	if (!h->on_window) {
		rollup_add(h->totals[window->trace], &report, 0);
	}
	return 0;
}

static int end_trace(struct stored_history *h, uint32_t trace)
{
	const struct report *total = rollup_take(h->totals[trace]);
	int r = h->joined_total ? 0 : history_phases_show(h, trace);

	if (total && h->joined_total) {
		rollup_add(h->joined_total, total, trace + 1);
	} else if (total) {
		show_total(h, &h->traces[trace].identity, total);
	}
	long_free(h, &h->totals[trace]);
	long_free(h, &h->longs[trace]);
	return r;
}

static int end_all(struct stored_history *h, const struct trace_identity *all)
{
	int r = 0;

	for (uint32_t i = 0; i < h->trace_count; i++) {
		if (h->totals[i]) {
			r = r < 0 ? r : end_trace(h, i);
		}
	}
	if (h->joined_total) {
		r = r < 0 ? r : history_phases_show(h, HISTORY_ALL);
		show_total(h, all, rollup_take(h->joined_total));
	}
	return r;
}

/* Windows come by trace and time; with --merged, or following, by time and trace. */
static int go_through(struct stored_history *h, const struct trace_identity *all)
{
	const struct store_window *last = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->windows.at.count && !*h->stop; i++) {
		const struct store_window *window = &h->windows.at.at[i];
		bool is_other = last && last->trace != window->trace;
		bool is_later = last && are_apart(h, last, window);

		if (is_other || is_later) {
			end_long(h, last->trace);
		}
		if (is_later && h->joined) {
			end_joined(h, all);
		}
		if (is_other && !h->joined && !h->on_window) {
			r = end_trace(h, last->trace);
		}
		r = r < 0 ? r : add_window(h, window);
		last = window;
		if (r == 0 && output_check(h->output, &h->err) < 0) {
			run_stop = true;
		}
	}
	if (r < 0 || !last || (h->on_window && *h->stop)) {
		return r;
	}
	end_long(h, last->trace);
	end_joined(h, all);
	return h->on_window ? 0 : end_all(h, all);
}

static uint64_t sorted_ns; /* the length of a slot, for by_slot() */

static uint64_t sorted_slot(const struct store_window *window)
{
	return store_window_at(window) / sorted_ns;
}

ORDER(by_slot, struct store_window, UP_OF(sorted_slot) UP(trace) UP(begin))

void history_sort(struct store_windows *windows, uint64_t interval_ns)
{
	assert(interval_ns > 0);
	sorted_ns = interval_ns;
	vec_sort(&windows->at, by_slot);
}

/* ---- what is there ---- */

void history_choose_traces(struct stored_history *h)
{
	account_init(&h->account, h->options->max_memory, 0, false);
	assert(!h->wanted && !h->longs && !h->totals);
	h->traces = store_reader_traces(h->reader, &h->trace_count);
	h->wanted = stored_wanted(h->options, h->reader);
	h->longs = mem_alloc((h->trace_count + 1) * sizeof(*h->longs));
	h->totals = mem_alloc((h->trace_count + 1) * sizeof(*h->totals));
}

static int choose_windows(struct stored_history *h)
{
	const struct options *options = h->options;
	uint64_t interval = options->has_interval ? options->interval_ns : UINT64_MAX, lost = 0;
	int r = stored_windows(options, h->reader, h->wanted, interval, &h->windows, &lost,
			       &h->err);

	if (lost > 0 && h->actions && actions_gate(h->actions)) {
		gate_lost(actions_gate(h->actions), "windows are missing in the store");
	}
	if (r == 0) {
		stored_say_windows(options, h->reader, &h->windows, interval);
	}
	return r < 0 || !options->phases ? r : history_phases_find(h);
}

int history_show(struct stored_history *h)
{
	char star[] = "*";
	const struct trace_identity all = { .host = h->options->host ? (char *)h->options->host
								     : star };

	if (h->options->merged || h->on_window) {
		history_sort(&h->windows,
			     h->options->has_interval ? h->options->interval_ns : UINT64_MAX);
	}
	if (h->options->merged) {
		h->joined = long_new(h, 1);
		h->joined_total = long_new(h, 1);
		rollup_join(h->joined);
		rollup_join(h->joined_total);
	}
	return go_through(h, &all);
}

void history_fini(struct stored_history *h)
{
	for (size_t i = 0; i < h->trace_count; i++) {
		long_free(h, &h->longs[i]);
		long_free(h, &h->totals[i]);
	}
	long_free(h, &h->joined);
	long_free(h, &h->joined_total);
	if (h->ended > 0 && !h->on_window) {
		say("%s: %llu rows of threads that did nothing for longest are put together by "
		    "name: --max-memory says how many are kept",
		    store_reader_name(h->reader), (unsigned long long)h->ended);
	}
	assert(account_lasting(&h->account) == 0);
	free(h->wanted);
	free(h->longs);
	free(h->totals);
	vec_fini(&h->windows.at);
	vec_fini(&h->phases);
	store_reader_close(h->reader);
}

/* What is judged is windows, of -i or of a second; all analyses that this needs are read. */
static int take_conditions(struct stored_history *h, struct options *options)
{
	int r = run_actions(options, &h->actions, &h->err);

	r = r < 0 ? r : baseline_open(options, h->actions, &run_stop, say, &h->baseline, &h->err);
	for (size_t i = 0; h->output->analyses && h->output->analyses[i]; i++) {
		h->analyses[i] = h->output->analyses[i];
	}
	if (h->actions) {
		h->hides_windows = !options->has_interval;
		options->has_interval = true;
		actions_add_analyses(h->actions, h->analyses);
	}
	stored_want(options, h->analyses, h->reader);
	return r;
}

int history_past(const struct options *given, struct output *output)
{
	struct options options = *given;
	struct stored_history h = { .options = &options, .output = output, .stop = &run_stop };
	uint64_t begin = now_monotonic_ns();
	bool is_many;
	int r;

	options.begin_option = "--since";
	options.end_option = "--until";
	run_stop_on_signals();
	r = store_reader_open_many(options.args, &run_stop, &h.reader, &h.err);
	if (r < 0) {
		say("%s", h.err.text);
		return run_signal_status() != 0 ? run_signal_status()
		       : r == -EINVAL           ? EXIT_USAGE
						: EXIT_FAILED;
	}
	r = take_conditions(&h, &options);
	store_reader_defer_rows(h.reader);
	history_choose_traces(&h);
	r = r < 0 ? r : choose_windows(&h);
	is_many = r == 0 && !h.actions && history_is_many(&h);
	r = r < 0 || is_many ? r : store_reader_rows(h.reader, &h.windows, &h.err);
	h.summary.exit = r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	if (r == 0 && is_many) {
		history_many(&h);
		r = run_stop ? err_raise(&h.err, -EINTR, "interrupted") : 0;
	} else if (r == 0) {
		output_start(output);
		r = history_show(&h);
		h.summary.exit = r < 0 ? EXIT_FAILED : EXIT_DONE;
	}
	if (r < 0) {
		say("%s", h.err.text);
	}
	if (r == 0 && !run_stop && h.has_unmatched && !h.has_matched) {
		char *asked = selection_asked(&options.selection);

		say("%s: nothing matched %s", store_reader_name(h.reader), asked);
		free(asked);
		h.summary.exit = EXIT_FAILED;
	}
	if (baseline_close(h.baseline) < 0) {
		h.summary.exit = EXIT_FAILED;
	}
	h.summary.exit = run_signal_status() != 0 ? run_signal_status() : h.summary.exit;
	h.summary.exit = run_gate(&options, h.actions, h.summary.exit);
	h.summary.is_interrupted = run_signal_status() != 0;
	h.summary.wall_ns = now_monotonic_ns() - begin;
	if (h.windows.at.count > 0 && !is_many) {
		output_end(output, &h.summary);
	}
	run_actions_free(h.actions);
	history_fini(&h);
	return h.summary.exit;
}
