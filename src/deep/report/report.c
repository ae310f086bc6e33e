/*
 * report: see report.h.
 */
#include "deep/report/report.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deep/report/report-wronged.h"

/* ---- threads ---- */

ORDER(by_run, struct report_thread, DOWN(run_ns) UP(thread))

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
	vec_sort(&report->threads, by_run);
}

/* ---- waits ---- */

ORDER(by_length, struct report_wait, LONGER UP(begin) UP(thread))

struct report_wait deep_report_wait(const struct deep_report *report, uint32_t thread, size_t i)
{
	const struct deep_thread *of = report->timeline->threads.at[thread];
	const struct interval *interval = &of->intervals.at[i];

	assert(timeline_state_waits(interval->state));
	return (struct report_wait){ .thread = thread,
				     .begin = interval->begin,
				     .end = timeline_thread_until(of, i),
				     .state = interval->state,
				     .cpu = interval->cpu,
				     .waker =
					     interval->state == STATE_WAIT ? interval->who : NOBODY,
				     .cause = interval->cause };
}

/* Inserts the wait of interval @i into the sorted list, which keeps the @most longest; 0: appends.
 */
static void add_wait(struct deep_report *report, uint32_t thread, size_t i, size_t most)
{
	struct report_wait wait = deep_report_wait(report, thread, i);
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
			if (timeline_state_waits(thread->intervals.at[i].state) &&
			    timeline_thread_until(thread, i) > thread->intervals.at[i].begin) {
				add_wait(report, t, i, most);
			}
		}
	}
	if (most == 0 && report->waits.count > 0) {
		vec_sort(&report->waits, by_length);
	}
}

/* ---- changes ---- */

static double size_of(const struct report_change *change)
{
	return fabs(change->after - change->before);
}

ORDER(by_change, struct report_change, DOWN_OF(size_of) UP(thread))

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
	vec_sort(&report->changes, by_change);
	report->changes.count = deep_report_rows(report->changes.count, most);
}

/* ---- the explained thread ---- */

static uint32_t named(const struct deep_report *report, const char *who)
{
	VEC_EACH(&report->threads, row) {
		if (timeline_thread_is(report->timeline->threads.at[row->thread], who)) {
			return row->thread;
		}
	}
	return NOBODY;
}

/* The first one that executes what is asked for: of these the one that missed most. */
static uint32_t chosen(const struct deep_report *report)
{
	const struct executions *jobs = report->jobs;

	uint32_t thread = NOBODY;

	/* Those that go over threads are one group: where the worst one ended. */
	if (jobs && jobs->config->job->is_across && jobs->worst.count > 0) {
		thread = execution_thread(jobs->worst.at[0]);
	} else if (jobs && jobs->groups.count > 0) {
		thread = jobs->groups.at[0].thread;
	}
	return thread != NOBODY ? thread : report_most_wronged(report);
}

/* Whether it names several threads, of which those that execute are asked for: their executions are
 * the only ones. */
static bool names_several(const struct deep_report *report, const char *who)
{
	const struct executions *jobs = report->jobs;

	return who[strcspn(who, ",*?[")] && jobs && !jobs->config->job->is_across &&
	       jobs->groups.count > 0;
}

/* ---- the worst executions ---- */

static void explain_worst(struct deep_report *report)
{
	const struct timeline *timeline = report->timeline;
	const struct execution **worst = mem_alloc((report->worst_count + 1) * sizeof(*worst));
	size_t count = executions_worst(report->jobs, worst, report->worst_count);

	for (size_t i = 0; i < count; i++) {
		uint64_t begin = worst[i]->arrival.ts, end = worst[i]->end;
		struct path_span span = { begin, end };
		const struct path_spans work = { .at = { .at = &span, .count = 1 } };
		struct report_worst *one;

		if (execution_thread(worst[i]) == NOBODY) {
			continue; /* from one idle CPU to another */
		}
		one = vec_push(&report->worst);
		one->execution = worst[i];
		one->thread = execution_thread(worst[i]);
		if (report->jobs->config->job->is_across) {
			path_find_back(timeline, one->thread, begin, end, &one->path);
		} else {
			path_find(timeline, one->thread, begin, end, &one->path);
		}
		path_sum(&one->path, &one->parts);
		path_find_rivals(timeline, one->thread, &one->path, &work, &one->rivals);
	}
	free(worst);
}

/* ---- victims ---- */

ORDER(by_wait, struct finding, UP(kind) UP(since))

ORDER(by_finding_length, struct finding, LONGER UP(begin))

/* How bad a kind is: without bound, by a lock, by the scheduler. */
static unsigned int badness(enum inversion kind)
{
	return kind == INVERSION_UNBOUNDED ? 2 : kind == INVERSION_DIRECT ? 1 : 0;
}

/* Takes the findings over. */
static void add_victim(struct deep_report *report, uint32_t thread, struct rivals *rivals)
{
	struct report_victim *victim = vec_push(&report->victims);
	size_t count = rivals->findings.count;
	struct finding *all = rivals->findings.at;

	*victim = (struct report_victim){ .thread = thread,
					  .prio = report->timeline->threads.at[thread]->urgency };
	assert(count > 0);
	qsort(all, count, sizeof(*all), by_wait);
	for (size_t i = 0; i < count; i++) {
		victim->ns[all[i].kind] += all[i].end - all[i].begin;
		victim->times[all[i].kind] += i == 0 || by_wait(&all[i - 1], &all[i]) != 0;
	}
	qsort(all, count, sizeof(*all), by_finding_length);
	victim->longest = all[0];
	for (size_t i = 1; i < count; i++) {
		if (badness(all[i].kind) > badness(victim->longest.kind)) {
			victim->longest = all[i];
		}
	}
	victim->findings.at = rivals->findings.at;
	victim->findings.count = rivals->findings.count;
	victim->findings.room = rivals->findings.room;
	memset(&rivals->findings, 0, sizeof(rivals->findings));
}

/* Those that only the dispatch of a CPU delayed come last: that is every real-time thread. */
static bool is_waiting(const struct report_victim *victim)
{
	return victim->longest.kind != INVERSION_DISPATCH;
}

ORDER(by_urgency, struct report_victim, DOWN_OF(is_waiting) UP(prio) UP(thread))

static void find_inversions(const struct deep_report *report, uint32_t thread,
			    const struct path *path, struct rivals *rivals)
{
	struct path_spans work = { 0 };

	if (report->jobs) {
		executions_spans(report->jobs, thread, &work);
	}
	path_find_rivals(report->timeline, thread, path, report->jobs ? &work : NULL, rivals);
	vec_fini(&work.at);
}

static void list_victims(struct deep_report *report)
{
	const struct timeline *timeline = report->timeline;

	for (size_t i = 0; i < report->threads.count; i++) {
		uint32_t thread = report->threads.at[i].thread;
		struct rivals rivals;
		struct path path;

		if (timeline->threads.at[thread]->urgency == 0) {
			continue;
		}
		path_find(timeline, thread, timeline->begin, timeline->end, &path);
		find_inversions(report, thread, &path, &rivals);
		if (rivals.findings.count > 0) {
			add_victim(report, thread, &rivals);
		}
		path_fini(&path);
		path_fini_rivals(&rivals);
	}
	vec_sort(&report->victims, by_urgency);
}

static struct report_cpu sum_cpu(const struct timeline *timeline, const struct deep_cpu *cpu)
{
	struct report_cpu row = { .id = cpu->id };

	assert(cpu->oncpus.count > 0);
	for (size_t i = 0; i < cpu->oncpus.count; i++) {
		uint64_t begin = cpu->oncpus.at[i].begin;
		uint64_t end =
			i + 1 < cpu->oncpus.count ? cpu->oncpus.at[i + 1].begin : timeline->end;

		begin = begin < timeline->begin ? timeline->begin : begin;
		end = end > timeline->end ? timeline->end : end;
		end = end > cpu->left ? cpu->left : end;
		if (end <= begin) {
			continue;
		}
		if (cpu->oncpus.at[i].thread == CPU_NOBODY) {
			row.unknown_ns += end - begin;
		} else if (cpu->oncpus.at[i].thread != CPU_IDLE) {
			row.busy_ns += end - begin;
		}
	}
	return row;
}

ORDER(by_busy, struct report_cpu, DOWN(busy_ns) UP(id))

static void fill_cpus(struct deep_report *report, size_t most)
{
	const struct timeline *timeline = report->timeline;

	for (size_t i = 0; i < timeline->cpus.count; i++) {
		*vec_push(&report->cpus) = sum_cpu(timeline, &timeline->cpus.at[i]);
	}
	if (deep_report_rows(report->cpus.count, most) < report->cpus.count) {
		vec_sort(&report->cpus, by_busy);
		report->cpus.count = most;
	}
}

bool deep_report_fill(struct deep_report *report, const char *who, size_t most)
{
	const struct timeline *timeline = report->timeline;

	assert(timeline->begin < timeline->end);
	assert(report->threads.count == 0); /* fills once */
	fill_cpus(report, most);
	list_threads(report);
	list_waits(report, most);
	list_changes(report, most);
	if (report->jobs) {
		explain_worst(report);
	}
	if (report->jobs && report->worst_count > 0) {
		executions_slow_find(report->jobs, timeline, &report->slow);
	}
	if (report->wants_victims) {
		list_victims(report);
	}
	report->thread = who && !names_several(report, who) ? named(report, who) : chosen(report);
	if (report->thread == NOBODY) {
		return false;
	}
	path_find(timeline, report->thread, timeline->begin, timeline->end, &report->path);
	path_sum(&report->path, &report->parts);
	find_inversions(report, report->thread, &report->path, &report->rivals);
	links_find(timeline, report->thread, &report->links);
	return true;
}

void deep_report_fini(struct deep_report *report)
{
	vec_fini(&report->cpus);
	vec_fini(&report->threads);
	vec_fini(&report->waits);
	vec_fini(&report->changes);
	vec_fini(&report->parts.at);
	for (size_t i = 0; i < report->worst.count; i++) {
		vec_fini(&report->worst.at[i].parts.at);
		path_fini(&report->worst.at[i].path);
		path_fini_rivals(&report->worst.at[i].rivals);
	}
	vec_fini(&report->worst);
	executions_slow_fini(&report->slow);
	for (size_t i = 0; i < report->victims.count; i++) {
		vec_fini(&report->victims.at[i].findings);
	}
	vec_fini(&report->victims);
	path_fini(&report->path);
	path_fini_rivals(&report->rivals);
	links_fini(&report->links);
	timeline_free(report->timeline);
	timeline_free(report->before);
}

/* ---- for report-*.c ---- */

uint32_t deep_report_rival(const struct deep_report *report, const struct report_wait *wait,
			   uint64_t *ret_ns)
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
	if (ret_ns) {
		*ret_ns = rivals.at.count > 0 ? rivals.at.at[0].total : 0;
	}
	path_fini_rivals(&rivals);
	return found;
}
