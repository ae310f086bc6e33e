/*
 * report: see report.h.
 */
#include "deep/report.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---- */

static int by_run(const void *left, const void *right)
{
	const struct report_thread *a = left, *b = right;

	if (a->run_ns != b->run_ns) {
		return a->run_ns > b->run_ns ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void list_threads(struct deep_report *report)
{
	const struct timeline *timeline = report->timeline;

	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		const struct deep_thread *thread = timeline->threads.at[i];
		struct report_thread row = { .thread = i };

		if (thread->end <= timeline->begin || thread->birth >= timeline->end) {
			continue;
		}
		timeline_thread_sums(thread, timeline->begin, timeline->end, row.ns);
		for (unsigned int state = 0; state < STATES; state++) {
			row.run_ns += timeline_state_runs(state) ? row.ns[state] : 0;
		}
		*vec_push(&report->threads) = row;
	}
	if (report->threads.count > 0) {
		qsort(report->threads.at, report->threads.count, sizeof(*report->threads.at),
		      by_run);
	}
}

/* ---- waits ---- */

static int by_length(const void *left, const void *right)
{
	const struct report_wait *a = left, *b = right;
	uint64_t a_ns = a->end - a->begin, b_ns = b->end - b->begin;

	if (a_ns != b_ns) {
		return a_ns > b_ns ? -1 : 1;
	}
	if (a->begin != b->begin) {
		return a->begin < b->begin ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static bool waits(unsigned int state)
{
	return state == STATE_WAIT || state == STATE_PREEMPTED || state == STATE_NEW;
}

/* Inserts the wait of interval @i into the sorted list, which keeps the @most longest; 0: appends.
 */
static void add_wait(struct deep_report *report, uint32_t thread, size_t i, size_t most)
{
	const struct deep_thread *of = report->timeline->threads.at[thread];
	const struct interval *interval = &of->intervals.at[i];
	struct report_wait wait = { .thread = thread,
				    .begin = interval->begin,
				    .end = timeline_thread_until(of, i),
				    .state = interval->state,
				    .cpu = interval->cpu,
				    .waker = interval->state == STATE_WAIT ? interval->who : NOBODY,
				    .cause = interval->cause };
	size_t count = report->waits.count;

	if (most > 0 && count == most && by_length(&wait, &report->waits.at[count - 1]) > 0) {
		return;
	}
	if (most == 0 || count < most) {
		(void)vec_push(&report->waits);
		count++;
	}
	if (most == 0) {
		report->waits.at[count - 1] = wait;
		return;
	}
	for (i = count - 1; i > 0 && by_length(&wait, &report->waits.at[i - 1]) < 0; i--) {
		report->waits.at[i] = report->waits.at[i - 1];
	}
	report->waits.at[i] = wait;
	assert(report->waits.count <= most);
}

static void list_waits(struct deep_report *report, size_t most)
{
	for (uint32_t t = 0; t < report->timeline->threads.count; t++) {
		const struct deep_thread *thread = report->timeline->threads.at[t];

		for (size_t i = 0; i < thread->intervals.count; i++) {
			if (waits(thread->intervals.at[i].state) &&
			    timeline_thread_until(thread, i) > thread->intervals.at[i].begin) {
				add_wait(report, t, i, most);
			}
		}
	}
	if (most == 0 && report->waits.count > 0) {
		qsort(report->waits.at, report->waits.count, sizeof(*report->waits.at), by_length);
	}
}

/* ---- changes ---- */

static int by_change(const void *left, const void *right)
{
	const struct report_change *a = left, *b = right;
	double a_change = fabs(a->after - a->before), b_change = fabs(b->after - b->before);

	if (a_change != b_change) {
		return a_change > b_change ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static double run_share(const struct deep_thread *thread, uint64_t begin, uint64_t end)
{
	uint64_t ns[STATES], run = 0;

	timeline_thread_sums(thread, begin, end, ns);
	for (unsigned int state = 0; state < STATES; state++) {
		run += timeline_state_runs(state) ? ns[state] : 0;
	}
	return (double)run / (double)(end - begin);
}

static void add_change(struct deep_report *report, uint32_t thread, double before, double after)
{
	if (before != after) {
		*vec_push(&report->changes) = (struct report_change){ .thread = thread,
								      .before = before,
								      .after = after };
	}
}

/* Compares the parts of the range before and after `changed_at`. */
static void list_within(struct deep_report *report)
{
	const struct timeline *timeline = report->timeline;
	uint64_t at = report->changed_at;

	for (size_t i = 0; i < report->threads.count; i++) {
		uint32_t index = report->threads.at[i].thread;
		const struct deep_thread *thread = timeline->threads.at[index];

		add_change(report, index, run_share(thread, timeline->begin, at),
			   run_share(thread, at, timeline->end));
	}
}

/* Compares the range with the time before it.  Both timelines were built from the trace's start: a
 * thread has the same index in both. */
static void list_since(struct deep_report *report)
{
	const struct timeline *before = report->before, *timeline = report->timeline;

	assert(before->threads.count <= timeline->threads.count);
	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		const struct deep_thread *thread = timeline->threads.at[i];
		bool is_gone = thread->end <= timeline->begin;

		add_change(report, i,
			   i < before->threads.count
				   ? run_share(before->threads.at[i], before->begin, before->end)
				   : 0,
			   is_gone ? 0 : run_share(thread, timeline->begin, timeline->end));
	}
	report->changed_at = timeline->begin;
}

static void list_changes(struct deep_report *report, size_t most)
{
	const struct timeline *timeline = report->timeline;

	if (report->before && report->before->begin < report->before->end) {
		list_since(report);
	} else if (report->changed_at > timeline->begin && report->changed_at < timeline->end) {
		list_within(report);
	} else {
		report->changed_at = 0;
	}
	if (report->changes.count > 0) {
		qsort(report->changes.at, report->changes.count, sizeof(*report->changes.at),
		      by_change);
	}
	report->changes.count = deep_report_rows(report->changes.count, most);
}

/* ---- the explained thread ---- */

static uint32_t choose(const struct deep_report *report, const char *who)
{
	for (size_t i = 0; i < report->threads.count; i++) {
		uint32_t index = report->threads.at[i].thread;

		if (!who || timeline_thread_is(report->timeline->threads.at[index], who)) {
			return index;
		}
	}
	return NOBODY;
}

bool deep_report_fill(struct deep_report *report, const char *who, size_t most)
{
	const struct timeline *timeline = report->timeline;
	struct path_spans work = { 0 };

	assert(timeline->begin < timeline->end);
	assert(report->threads.count == 0); /* fills once */
	list_threads(report);
	list_waits(report, most);
	list_changes(report, most);
	report->thread = choose(report, who);
	if (report->thread == NOBODY) {
		return false;
	}
	path_find(timeline, report->thread, timeline->begin, timeline->end, &report->path);
	path_sum(&report->path, &report->parts);
	if (report->jobs) {
		jobs_spans(report->jobs, report->thread, &work);
	}
	path_find_rivals(timeline, report->thread, &report->path, report->jobs ? &work : NULL,
			 &report->rivals);
	vec_fini(&work.at);
	links_find(timeline, report->thread, &report->links);
	return true;
}

void deep_report_fini(struct deep_report *report)
{
	vec_fini(&report->threads);
	vec_fini(&report->waits);
	vec_fini(&report->changes);
	vec_fini(&report->parts.at);
	path_fini(&report->path);
	path_fini_rivals(&report->rivals);
	links_fini(&report->links);
	timeline_free(report->timeline);
	timeline_free(report->before);
}

/* ---- for report-*.c ---- */

uint64_t deep_report_busy(const struct timeline *timeline, const struct deep_cpu *cpu,
			  uint64_t *ret_unknown)
{
	uint64_t busy = 0;

	assert(cpu->oncpus.count > 0);
	*ret_unknown = 0;
	for (size_t i = 0; i < cpu->oncpus.count; i++) {
		uint64_t begin = cpu->oncpus.at[i].begin;
		uint64_t end =
			i + 1 < cpu->oncpus.count ? cpu->oncpus.at[i + 1].begin : timeline->end;

		begin = begin < timeline->begin ? timeline->begin : begin;
		end = end > timeline->end ? timeline->end : end;
		if (end <= begin) {
			continue;
		}
		if (cpu->oncpus.at[i].thread == CPU_NOBODY) {
			*ret_unknown += end - begin;
		} else if (cpu->oncpus.at[i].thread != CPU_IDLE) {
			busy += end - begin;
		}
	}
	return busy;
}

uint32_t deep_report_rival(const struct deep_report *report, const struct report_wait *wait)
{
	const struct path path = {
		.segments = { .at = (struct path_segment[]){ { .begin = wait->begin,
							       .end = wait->end,
							       .thread = wait->thread,
							       .cpu = wait->cpu,
							       .state = wait->state } },
			      .count = 1 }
	};
	struct rivals rivals;
	uint32_t found;

	path_find_rivals(report->timeline, wait->thread, &path, NULL, &rivals);
	found = rivals.at.count > 0 ? rivals.at.at[0].thread : NOBODY;
	path_fini_rivals(&rivals);
	return found;
}
