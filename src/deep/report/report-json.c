/*
 * report-json: see report.h; a report as JSON, for users and for a page.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "deep/report/report-answer.h"
#include "deep/report/report-differences.h"
#include "deep/report/report-page.h"
#include "deep/report/report-print.h"
#include "deep/report/report-resources.h"
#include "recorded/recorded.h"

static void put_who(struct printer *p, const char *key, uint32_t index)
{
	const struct deep_thread *thread;

	if (index == NOBODY) {
		return;
	}
	assert(index < p->timeline->threads.count);
	if (p->names) {
		json_u64(&p->json, key, page_names_of(p->names, index));
		return;
	}
	thread = p->timeline->threads.at[index];
	json_open(&p->json, key, '{');
	json_i64(&p->json, "tid", thread->tid);
	if (thread->pid >= 0) {
		json_i64(&p->json, "pid", thread->pid);
	}
	json_text(&p->json, "comm", thread->comm);
	json_close(&p->json, '}');
}

static void put_span(struct printer *p, uint64_t begin, uint64_t end)
{
	assert(begin <= end);
	if (p->names) {
		assert(begin >= p->timeline->begin);
		json_u64(&p->json, "begin_ns", begin - p->timeline->begin);
		json_u64(&p->json, "ns", end - begin);
	} else {
		json_u64(&p->json, "begin", begin);
		json_u64(&p->json, "end", end);
	}
}

static void put_states(struct printer *p, const uint64_t ns[STATES])
{
	static const char *const keys[STATES] = {
		[STATE_UNKNOWN] = "unknown_ns", [STATE_NEW] = "new_ns",
		[STATE_USER] = "user_ns",       [STATE_SYSCALL] = "syscall_ns",
		[STATE_IRQ] = "irq_ns",         [STATE_SOFTIRQ] = "softirq_ns",
		[STATE_WAIT] = "wait_ns",       [STATE_PREEMPTED] = "preempted_ns",
		[STATE_BLOCKED] = "blocked_ns",
	};

	for (unsigned int state = 0; state < STATES; state++) {
		if (keys[state] && ns[state] > 0) {
			json_u64(&p->json, keys[state], ns[state]);
		}
	}
}

/* What is not recorded; left out if all is. */
static void put_missing(struct printer *p)
{
	if (p->timeline->lacks == 0) {
		return;
	}
	json_open(&p->json, "missing", '[');
	for (unsigned int i = 0; i < LACKS; i++) {
		if (p->timeline->lacks >> i & 1) {
			json_open(&p->json, NULL, '{');
			json_text(&p->json, "event", timeline_events[i].event);
			json_text(&p->json, "command",
				  timeline_command(p->timeline, timeline_events[i].command));
			json_close(&p->json, '}');
		}
	}
	json_close(&p->json, ']');
}

/* What else of the trace is explained; a page shows it apart. */
static void put_ranges(struct printer *p)
{
	const struct deep_report *report = p->report;

	if (report->range_count == 0 || p->names) {
		return;
	}
	json_open(&p->json, "ranges", '[');
	for (size_t i = 0; i < report->range_count; i++) {
		json_open(&p->json, NULL, '{');
		put_span(p, report->ranges[i].begin, report->ranges[i].end);
		json_text(&p->json, "why", report->ranges[i].why);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
	json_u64(&p->json, "range", report->range);
}

static void put_cpus(struct printer *p)
{
	json_open(&p->json, "cpus", '[');
	VEC_EACH(&p->report->cpus, cpu) {
		json_open(&p->json, NULL, '{');
		json_u64(&p->json, "cpu", cpu->id);
		json_u64(&p->json, "busy_ns", cpu->busy_ns);
		json_u64(&p->json, "unknown_ns", cpu->unknown_ns);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_threads(struct printer *p)
{
	json_open(&p->json, "threads", '[');
	for (size_t i = 0; i < deep_report_rows(p->report->threads.count, p->most); i++) {
		const struct report_thread *row = &p->report->threads.at[i];
		const struct deep_thread *thread = p->timeline->threads.at[row->thread];

		json_open(&p->json, NULL, '{');
		put_who(p, "thread", row->thread);
		put_span(p, thread->birth, thread->end);
		json_u64(&p->json, "run_ns", row->run_ns);
		put_states(p, row->ns);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_changes(struct printer *p)
{
	if (p->report->changed_at == 0) {
		return;
	}
	json_u64(&p->json, p->names ? "changed_ns" : "changed_at",
		 p->report->changed_at - (p->names ? p->timeline->begin : 0));
	json_open(&p->json, "changes", '[');
	VEC_EACH(&p->report->changes, change) {
		json_open(&p->json, NULL, '{');
		put_who(p, "thread", change->thread);
		json_fixed(&p->json, "before", change->before);
		json_fixed(&p->json, "after", change->after);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_waits(struct printer *p)
{
	json_open(&p->json, "waits", '[');
	for (size_t i = 0; i < deep_report_rows(p->report->waits.count, p->most); i++) {
		const struct report_wait *wait = &p->report->waits.at[i];

		json_open(&p->json, NULL, '{');
		put_who(p, "thread", wait->thread);
		json_text(&p->json, "state", timeline_state_name((enum state)wait->state));
		put_span(p, wait->begin, wait->end);
		put_who(p, "waker", wait->waker);
		put_who(p, "rival", deep_report_rival(p->report, wait, NULL));
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_segments(struct printer *p)
{
	const struct path *path = &p->report->path;

	json_open(&p->json, "segments", '[');
	VEC_EACH(&path->segments, segment) {
		bool runs = segment->state == STATE_USER;

		json_open(&p->json, NULL, '{');
		json_i64(&p->json, "tid", p->timeline->threads.at[segment->thread]->tid);
		put_span(p, segment->begin, segment->end);
		json_text(&p->json, "state",
			  runs ? "run" : timeline_state_name((enum state)segment->state));
		if (segment->state == STATE_BLOCKED) {
			json_text(&p->json, "cause",
				  timeline_cause_name((enum cause)segment->cause));
		}
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_path(struct printer *p)
{
	const struct path_parts *parts = &p->report->parts;

	json_open(&p->json, "path", '{');
	put_who(p, "thread", p->report->thread);
	put_span(p, p->report->path.begin, p->report->path.end);
	json_u64(&p->json, "segment_count", p->report->path.segments.count);
	json_u64(&p->json, "thread_count", parts->at.count);
	json_open(&p->json, "parts", '[');
	for (size_t i = 0; i < deep_report_rows(parts->at.count, p->most); i++) {
		json_open(&p->json, NULL, '{');
		put_who(p, "thread", parts->at.at[i].thread);
		put_states(p, parts->at.at[i].ns);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
	if (!p->names) { /* a page draws them from put_path_lane() */
		put_segments(p);
	}
	json_close(&p->json, '}');
}

static void put_findings(struct printer *p, const char *key, const struct finding *findings,
			 size_t count)
{
	count = deep_report_rows(count, p->most);
	json_open(&p->json, key, '[');
	for (size_t i = 0; i < count; i++) {
		const struct finding *finding = &findings[i];

		json_open(&p->json, NULL, '{');
		json_text(&p->json, "kind", path_inversion_name(finding->kind));
		json_text(&p->json, "wait", path_wait_name(finding->wait));
		put_span(p, finding->begin, finding->end);
		put_who(p, "on_path", finding->on_path);
		put_who(p, "rival", finding->rival);
		if (finding->is_fair) {
			json_bool(&p->json, "fair_class", true);
		}
		if (finding->call) {
			json_text(&p->json, "call", finding->call->name);
		}
		if (finding->call && finding->call->has_futex) {
			json_u64(&p->json, "futex", finding->call->futex);
		}
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_rivals(struct printer *p)
{
	const struct rivals *rivals = &p->report->rivals;

	json_open(&p->json, "rivals", '[');
	for (size_t i = 0; i < deep_report_rows(rivals->at.count, p->most); i++) {
		const struct rival *rival = &rivals->at.at[i];

		json_open(&p->json, NULL, '{');
		put_who(p, "thread", rival->thread);
		json_u64(&p->json, "total_ns", rival->total);
		json_u64(&p->json, "longest_ns", rival->longest);
		json_u64(&p->json, "longest_begin",
			 rival->longest_begin - (p->names ? p->timeline->begin : 0));
		json_u64(&p->json, "times", rival->times);
		json_u64(&p->json, "inversion_ns", rival->inverted);
		json_u64(&p->json, "fair_ns", rival->fair);
		json_u64(&p->json, "apart_ns", rival->apart);
		json_u64(&p->json, "same_level_ns", rival->same);
		json_u64(&p->json, "unknown_prio_ns", rival->unknown);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
	json_u64(&p->json, "idle_ns", rivals->idle_ns);
	json_u64(&p->json, "inherited_ns", rivals->inherited_ns);
	json_u64(&p->json, "unknown_prio_ns", rivals->unknown_ns);
	put_findings(p, "inversions", rivals->findings.at, rivals->findings.count);
	put_findings(p, "apart", rivals->apart.at, rivals->apart.count);
}

static void put_links(struct printer *p)
{
	const struct links *links = &p->report->links;

	json_open(&p->json, "links", '[');
	for (size_t i = 0; i < deep_report_rows(links->at.count, p->most); i++) {
		json_open(&p->json, NULL, '{');
		put_who(p, "thread", links->at.at[i].thread);
		json_u64(&p->json, "hops", links->at.at[i].hops);
		json_u64(&p->json, "wakes", links->at.at[i].wakes);
		json_u64(&p->json, "woken", links->at.at[i].woken);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_execution(struct printer *p, const struct execution *one)
{
	put_who(p, "thread", one->thread);
	put_span(p, one->begin, one->end);
	if (one->by) {
		json_text(&p->json, "by", one->by);
	}
	if (one->row) {
		json_text(&p->json, "row", one->row->name);
	}
	if (!p->names) {
		json_u64(&p->json, "arrival", one->arrival.ts);
	}
	json_u64(&p->json, "late_ns", one->begin - one->arrival.ts);
	json_text(&p->json, "arrival_from", arrivals_name(one->arrival.from));
	json_u64(&p->json, "response_ns", one->response_ns);
	put_states(p, one->ns);
	if (execution_leaves(one)) {
		put_who(p, "last", one->last);
		json_open(&p->json, "of_last", '{');
		put_states(p, p->report->jobs->of_last.at[one->of_last].ns);
		json_close(&p->json, '}');
	}
	report_json_differences(p, one);
	if (p->report->jobs->config->within) {
		json_u64(&p->json, "within_begin",
			 one->outer_begin - (p->names ? p->timeline->begin : 0));
	}
}

static void put_executions(struct printer *p, const char *key, const execution_list *all)
{
	size_t count = deep_report_rows(all->count, p->names ? PAGE_BARS : p->most);

	json_open(&p->json, key, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(&p->json, NULL, '{');
		put_execution(p, all->at[i]);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

/* The level above. */
static void put_outer(struct printer *p)
{
	const struct executions *jobs = p->report->jobs;
	size_t count = deep_report_rows(jobs->outer.count, p->names ? PAGE_BARS : p->most);

	json_open(&p->json, "outer", '[');
	for (size_t i = 0; i < count; i++) {
		const struct executions_outer *one = &jobs->outer.at[i];

		json_open(&p->json, NULL, '{');
		put_who(p, "thread", one->thread);
		put_span(p, one->begin, one->end);
		if (one->last != one->thread) {
			put_who(p, "last", one->last);
		}
		json_bool(&p->json, "is_open", one->is_open);
		json_u64(&p->json, "count", one->count);
		json_u64(&p->json, "inner_ns", one->inner_ns);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_durations(struct printer *p, const struct executions_figures *sum)
{
	json_u64(&p->json, "count", sum->count);
	json_u64(&p->json, "open_count", sum->open);
	json_u64(&p->json, "abandoned", sum->abandoned);
	json_u64(&p->json, "total_ns", sum->total_ns);
	json_u64(&p->json, "min_ns", sum->min_ns);
	json_u64(&p->json, "median_ns", sum->median_ns);
	json_u64(&p->json, "p95_ns", sum->p95_ns);
	json_u64(&p->json, "p99_ns", sum->p99_ns);
	json_u64(&p->json, "max_ns", sum->max_ns);
	json_fixed(&p->json, "deviation_ns", sum->deviation_ns);
	json_u64(&p->json, "outliers", sum->outliers);
	json_u64(&p->json, "response_max_ns", sum->response_max_ns);
	json_u64(&p->json, "jitter_ns", sum->jitter_ns);
	if (p->report->jobs->config->deadline_ns != UINT64_MAX) {
		json_u64(&p->json, "misses", sum->misses);
	}
}

static void put_figures(struct printer *p, const struct executions_figures *sum)
{
	put_durations(p, sum);
	if (p->report->jobs->config->deadline_ns != UINT64_MAX) {
		json_u64(&p->json, "misses_run", sum->misses_run);
	}
	json_u64(&p->json, "skipped", sum->skipped);
	json_open(&p->json, "arrivals", '{');
	for (unsigned int from = 0; from < ARRIVALS; from++) {
		json_u64(&p->json, arrivals_name((enum arrival_from)from), sum->arrivals[from]);
	}
	json_close(&p->json, '}');
	put_states(p, sum->ns);
}

static void put_worst(struct printer *p)
{
	const struct deep_report *report = p->report;

	json_open(&p->json, "worst", '[');
	for (size_t i = 0; i < deep_report_rows(report->worst.count, p->names ? PAGE_WORST : 0);
	     i++) {
		const struct report_worst *worst = &report->worst.at[i];
		struct deep_report of = *report; /* what it borrows is not freed */

		of.thread = worst->thread;
		of.path = worst->path;
		of.parts = worst->parts;
		of.rivals = worst->rivals;
		json_open(&p->json, NULL, '{');
		put_execution(p, worst->execution);
		json_bool(&p->json, "is_open", worst->execution->is_open);
		p->report = &of;
		put_path(p);
		put_rivals(p);
		p->report = report;
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

/* What the slow tenth had more of. */
static void put_slow(struct printer *p)
{
	const struct executions_slow *slow = &p->report->slow;

	if (slow->slow == 0) {
		return;
	}
	json_open(&p->json, "slow_tenth", '{');
	json_u64(&p->json, "slow", slow->slow);
	json_u64(&p->json, "rest", slow->rest);
	json_u64(&p->json, "shortest_ns", slow->shortest_ns);
	json_open(&p->json, "parts", '[');
	for (size_t i = 0; i < deep_report_rows(slow->parts.count, p->most); i++) {
		const struct executions_slow_part *part = &slow->parts.at[i];

		json_open(&p->json, NULL, '{');
		if (part->kind == EXECUTIONS_SLOW_STATE) {
			json_text(&p->json, "state",
				  timeline_state_runs(part->state)
					  ? "run"
					  : timeline_state_name(part->state));
		} else if (part->kind == EXECUTIONS_SLOW_RIVAL) {
			put_who(p, "rival", part->rival);
		} else {
			json_text(&p->json, "call", part->call ? part->call : "");
		}
		json_fixed(&p->json, "more_ns", part->more_ns);
		json_fixed(&p->json, "slow_mean_ns", (double)part->slow_ns / (double)slow->slow);
		json_fixed(&p->json, "rest_mean_ns", (double)part->rest_ns / (double)slow->rest);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
	json_close(&p->json, '}');
}

/* What follows one another is of a thread, whatever the row: these have no misses_run, skipped and
 * arrivals. */
static void put_rows(struct printer *p, const struct executions *jobs)
{
	if (jobs->config->job->group.count == 0) {
		return;
	}
	json_u64(&p->json, "ids_forgotten", jobs->names_forgotten);
	json_open(&p->json, "rows", '[');
	for (size_t i = 0; i < deep_report_rows(jobs->rows.count, p->most); i++) {
		json_open(&p->json, NULL, '{');
		json_text(&p->json, "name", jobs->rows.at[i]->name);
		put_durations(p, &jobs->rows.at[i]->sum);
		put_states(p, jobs->rows.at[i]->sum.ns);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_jobs(struct printer *p)
{
	const struct executions *jobs = p->report->jobs;

	json_open(&p->json, "jobs", '{');
	json_text(&p->json, "pattern", jobs->config->job->pattern);
	if (jobs->config->within) {
		json_text(&p->json, "within", jobs->config->within->pattern);
	}
	if (jobs->config->deadline_ns != UINT64_MAX) {
		json_u64(&p->json, "deadline_ns", jobs->config->deadline_ns);
	}
	if (jobs->config->period_ns > 0) {
		json_u64(&p->json, "period_ns", jobs->config->period_ns);
	}
	put_figures(p, &jobs->sum);
	report_json_all_differences(p);
	json_u64(&p->json, "cut", jobs->cut);
	json_u64(&p->json, "overlapped", jobs->overlapped);
	if (jobs->config->job->is_across) {
		if (p->report->joined) {
			json_u64(&p->json, "outside", jobs->outside);
		}
		json_u64(&p->json, "dropped", jobs->dropped);
		json_u64(&p->json, "names_forgotten", jobs->forgotten);
	}
	json_open(&p->json, "threads", '[');
	for (size_t i = 0; i < deep_report_rows(jobs->groups.count, p->most); i++) {
		json_open(&p->json, NULL, '{');
		put_who(p, "thread", jobs->groups.at[i].thread);
		put_figures(p, &jobs->groups.at[i].sum);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
	put_rows(p, jobs);
	put_executions(p, "longest", &jobs->worst);
	put_executions(p, "open", &jobs->worst_open);
	if (jobs->config->within) {
		put_outer(p);
	}
	put_worst(p);
	put_slow(p);
	json_close(&p->json, '}');
}

static void put_victims(struct printer *p)
{
	static const char *const keys[INVERSIONS][2] = {
		[INVERSION_DIRECT] = { "direct_ns", "direct_waits" },
		[INVERSION_UNBOUNDED] = { "unbounded_ns", "unbounded_waits" },
		[INVERSION_DISPATCH] = { "dispatch_ns", "dispatch_waits" },
	};

	json_open(&p->json, "victims", '[');
	for (size_t i = 0; i < deep_report_rows(p->report->victims.count, p->most); i++) {
		const struct report_victim *victim = &p->report->victims.at[i];

		json_open(&p->json, NULL, '{');
		put_who(p, "thread", victim->thread);
		json_i64(&p->json, "prio", victim->prio);
		for (unsigned int kind = 0; kind < INVERSIONS; kind++) {
			json_u64(&p->json, keys[kind][0], victim->ns[kind]);
			json_u64(&p->json, keys[kind][1], victim->times[kind]);
		}
		put_findings(p, "inversions", victim->findings.at, victim->findings.count);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

/* A page tells it by its tables. */
static void put_answer(struct printer *p)
{
	char *answer = p->names ? NULL : report_answer(p->report);

	if (answer) {
		json_text(&p->json, "answer", answer);
		free(answer);
	}
}

static void put_traces_beside(struct printer *p)
{
	if (!p->report->joined) {
		return;
	}
	json_open(&p->json, "joined", '[');
	for (size_t i = 0; i < p->report->joined->at.count; i++) {
		const struct recorded_path *path = &p->report->joined->at.at[i];

		json_open(&p->json, NULL, '{');
		json_text(&p->json, "trace", path->name);
		json_text(&p->json, "by", path->on.is_set ? "clock" : "epoch");
		json_i64(&p->json, "offset_ns", path->shift_ns);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

void report_json_put(struct printer *p, const char *key)
{
	const struct deep_report *report = p->report;
	char begin[UNITS_TEXT_MAX];

	json_open(&p->json, key, '{');
	json_text(&p->json, "type", "report");
	json_version(&p->json);
	json_text(&p->json, "trace", report->name);
	put_traces_beside(p);
	if (report->why) {
		json_text(&p->json, "triggers", report->why);
	}
	if (p->names) {
		json_text(&p->json, "begin_text", units_clock(begin, p->timeline->begin));
		json_u64(&p->json, "length_ns", p->timeline->end - p->timeline->begin);
	} else {
		json_moment(&p->json, "begin", p->timeline->begin);
		json_moment(&p->json, "end", p->timeline->end);
	}
	json_u64(&p->json, "events", p->timeline->events);
	json_u64(&p->json, "gaps", p->timeline->gaps);
	if (p->timeline->is_cut) {
		json_bool(&p->json, "is_cut", true);
	}
	put_missing(p);
	put_answer(p);
	put_ranges(p);
	put_cpus(p);
	put_threads(p);
	put_changes(p);
	put_waits(p);
	if (report->wants_victims) {
		put_victims(p);
	}
	if (report->thread != NOBODY) {
		put_path(p);
		put_rivals(p);
		put_links(p);
	}
	if (report->resources) {
		report_resources_json(p);
	}
	if (report->jobs) {
		put_jobs(p);
	}
	json_close(&p->json, '}');
}

void deep_report_json(const struct deep_report *report, size_t most, FILE *out)
{
	struct printer p = { .report = report, .timeline = report->timeline, .most = most };

	json_init(&p.json, out);
	report_json_put(&p, NULL);
	json_end_line(&p.json);
}
