/*
 * report-text: see report.h; a report as text.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "deep/report/report-resources.h"
#include "deep/report/report.h"

#define WHO_MAX 48

/* Names come from an untrusted trace: control characters must not reach the terminal. */
static const char *comm(char text[WHO_MAX], const struct deep_report *report, uint32_t index)
{
	const struct deep_thread *thread;

	assert(index < report->timeline->threads.count);
	thread = report->timeline->threads.at[index];
	(void)snprintf(text, WHO_MAX, "%s", thread->comm[0] ? thread->comm : "?");
	for (char *c = text; *c; c++) {
		*c = units_letter(*c);
	}
	return text;
}

/* "comm (tid)". */
static const char *who(char text[WHO_MAX], const struct deep_report *report, uint32_t index)
{
	size_t len;

	if (index == NOBODY) {
		(void)snprintf(text, WHO_MAX, "(idle)");
		return text;
	}
	len = strlen(comm(text, report, index));
	(void)snprintf(text + len, WHO_MAX - len, " (%d)",
		       report->timeline->threads.at[index]->tid);
	return text;
}

static void put_ns(FILE *out, uint64_t ns)
{
	char text[UNITS_TEXT_MAX];

	if (ns == 0) {
		(void)fprintf(out, " %8s", "-");
	} else {
		(void)fprintf(out, " %8s", units_ns(text, ns));
	}
}

static void put_more(FILE *out, size_t count, size_t shown)
{
	if (count > shown) {
		(void)fprintf(out, "  ... and %zu more\n", count - shown);
	}
}

static void put_lacks(const struct timeline *timeline, FILE *out)
{
	for (unsigned int i = 0; i < LACKS; i++) {
		if (timeline->lacks >> i & 1) {
			(void)fprintf(out, "not recorded: %s: %s\n  to record it: %s\n",
				      timeline_events[i].event, timeline_events[i].means,
				      timeline_events[i].command);
		}
	}
}

/* Names in it come from an untrusted trace. */
static void put_printable(const char *text, FILE *out)
{
	for (const char *c = text; *c; c++) {
		(void)fputc(units_letter(*c), out);
	}
	(void)fputc('\n', out);
}

/* Of a range that was chosen: which, and why. */
static void put_range(const struct deep_report *report, FILE *out)
{
	char end[UNITS_TEXT_MAX];

	if (report->range_count > 0) {
		(void)fprintf(out, "range %zu of %zu: ", report->range + 1, report->range_count);
		put_printable(report->ranges[report->range].why, out);
	}
	if (report->timeline->is_cut) {
		(void)fprintf(out, "cut at %.15s: more does not fit into memory (--max-memory)\n",
			      units_clock(end, report->timeline->end));
	}
}

static void put_head(const struct deep_report *report, FILE *out)
{
	const struct timeline *timeline = report->timeline;
	char begin[UNITS_TEXT_MAX], end[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];
	char events[UNITS_TEXT_MAX];

	(void)fprintf(out, "%s  %.15s .. %.15s, %s  %s events", report->name,
		      units_clock(begin, timeline->begin), units_clock(end, timeline->end),
		      units_ns(length, timeline->end - timeline->begin),
		      units_count(events, timeline->events));
	if (timeline->gaps > 0) {
		(void)fprintf(out, ", %" PRIu64 " gap%s", timeline->gaps,
			      timeline->gaps == 1 ? "" : "s");
	}
	(void)fputc('\n', out);
	put_range(report, out);
	put_lacks(timeline, out);
	if (report->why) {
		(void)fputs("captured because of ", out);
		put_printable(report->why, out);
	}
	(void)fputc('\n', out);
	for (size_t i = 0; i < timeline->cpus.count; i++) {
		uint64_t unknown,
			busy = deep_report_busy(timeline, &timeline->cpus.at[i], &unknown);
		double whole = (double)(timeline->end - timeline->begin);

		(void)fprintf(out, "  CPU %-3" PRIu64 " busy %5.1f %%", timeline->cpus.at[i].id,
			      whole > 0 ? 100 * (double)busy / whole : 0);
		if (unknown > 0) {
			(void)fprintf(out, "  unknown %.1f %%",
				      whole > 0 ? 100 * (double)unknown / whole : 0);
		}
		(void)fputc('\n', out);
	}
}

static void put_threads(const struct deep_report *report, size_t most, FILE *out)
{
	size_t shown = deep_report_rows(report->threads.count, most);

	(void)fprintf(out, "\n%-26s %8s %8s %8s %8s %8s %8s\n", "WHO RAN", "RUN", "IN CALLS",
		      "IRQS", "WAITED", "PREEMPT", "SLEPT");
	for (size_t i = 0; i < shown; i++) {
		const struct report_thread *row = &report->threads.at[i];
		char text[WHO_MAX];

		(void)fprintf(out, "  %-24.24s", who(text, report, row->thread));
		put_ns(out, row->run_ns);
		put_ns(out, row->ns[STATE_SYSCALL]);
		put_ns(out, row->ns[STATE_IRQ] + row->ns[STATE_SOFTIRQ]);
		put_ns(out, row->ns[STATE_WAIT] + row->ns[STATE_NEW]);
		put_ns(out, row->ns[STATE_PREEMPTED]);
		put_ns(out, row->ns[STATE_BLOCKED]);
		(void)fputc('\n', out);
	}
	put_more(out, report->threads.count, shown);
}

/* The name of the waker, or in brackets the cause of the wake-up or the state that waits. */
static const char *why(char text[WHO_MAX], const struct deep_report *report,
		       const struct report_wait *wait)
{
	if (wait->state == STATE_WAIT && wait->waker != NOBODY) {
		return comm(text, report, wait->waker);
	}
	(void)snprintf(text, WHO_MAX, "(%s)",
		       wait->state == STATE_WAIT ? timeline_cause_name((enum cause)wait->cause)
						 : timeline_state_name((enum state)wait->state));
	return text;
}

static void put_waits(const struct deep_report *report, size_t most, FILE *out)
{
	size_t shown = deep_report_rows(report->waits.count, most);

	(void)fprintf(out, "\n%-26s %8s  %-12s %-15s %s\n", "WAITED LONGEST FOR A CPU", "FOR",
		      "SINCE", "WOKEN BY", "WHO RAN THERE");
	for (size_t i = 0; i < shown; i++) {
		const struct report_wait *wait = &report->waits.at[i];
		uint32_t rival = deep_report_rival(report, wait);
		char text[WHO_MAX], clock[UNITS_TEXT_MAX];

		(void)fprintf(out, "  %-24.24s", who(text, report, wait->thread));
		put_ns(out, wait->end - wait->begin);
		(void)fprintf(out, "  %.12s %-15.15s", units_clock(clock, wait->begin),
			      why(text, report, wait));
		(void)fprintf(out, " %s\n", rival != NOBODY ? comm(text, report, rival) : "-");
	}
}

static void put_changes(const struct deep_report *report, FILE *out)
{
	char text[WHO_MAX], clock[UNITS_TEXT_MAX];

	if (report->changes.count == 0) {
		return;
	}
	(void)fprintf(out, "\n%-26s %8s %8s  since %.15s\n", "WHAT CHANGED IN WHO RAN", "BEFORE",
		      "AFTER", units_clock(clock, report->changed_at));
	for (size_t i = 0; i < report->changes.count; i++) {
		const struct report_change *change = &report->changes.at[i];

		(void)fprintf(out, "  %-24.24s %6.1f %% %6.1f %%\n",
			      who(text, report, change->thread), 100 * change->before,
			      100 * change->after);
	}
}

static void put_path(const struct deep_report *report, size_t most, FILE *out)
{
	const struct path_parts *parts = &report->parts;
	size_t shown = deep_report_rows(parts->at.count, most);
	char text[WHO_MAX], length[UNITS_TEXT_MAX], segments[UNITS_TEXT_MAX];

	(void)fprintf(out,
		      "\nWHERE THE TIME OF %s WENT: %s, in %s segments\n"
		      "%-26s %8s %8s %8s %8s %8s %8s\n",
		      who(text, report, report->thread),
		      units_ns(length, report->path.end - report->path.begin),
		      units_count(segments, report->path.segments.count), "CRITICAL PATH", "ALL",
		      "RUN", "WAITED", "PREEMPT", "SLEPT", "UNKNOWN");
	for (size_t i = 0; i < shown; i++) {
		const struct path_part *part = &parts->at.at[i];

		(void)fprintf(out, "  %-24.24s", who(text, report, part->thread));
		put_ns(out, part->total);
		put_ns(out, part->ns[STATE_USER]);
		put_ns(out, part->ns[STATE_WAIT] + part->ns[STATE_NEW]);
		put_ns(out, part->ns[STATE_PREEMPTED]);
		put_ns(out, part->ns[STATE_BLOCKED]);
		put_ns(out, part->ns[STATE_UNKNOWN]);
		(void)fputc('\n', out);
	}
	put_more(out, parts->at.count, shown);
}

static void put_rest(FILE *out, const char *what, uint64_t ns)
{
	if (ns > 0) {
		(void)fprintf(out, "  %-24s", what);
		put_ns(out, ns);
		(void)fputc('\n', out);
	}
}

static void put_rivals(const struct deep_report *report, size_t most, FILE *out)
{
	const struct rivals *rivals = &report->rivals;
	size_t shown = deep_report_rows(rivals->at.count, most);
	char text[WHO_MAX], count[UNITS_TEXT_MAX];

	if (rivals->at.count == 0 && rivals->idle_ns == 0) {
		return;
	}
	(void)fprintf(out, "%-26s %8s %8s %8s %8s %8s %8s\n", "WHO HAD ITS CPU", "ALL", "LONGEST",
		      "TIMES", "PRIO", "INVERTED", "UNKNOWN");
	for (size_t i = 0; i < shown; i++) {
		const struct rival *rival = &rivals->at.at[i];

		(void)fprintf(out, "  %-24.24s", who(text, report, rival->thread));
		put_ns(out, rival->total);
		put_ns(out, rival->longest);
		(void)fprintf(out, " %8s", units_count(count, rival->times));
		if (!rival->has_prio) {
			(void)fprintf(out, " %8s", "?");
		} else {
			(void)snprintf(text, sizeof(text),
				       rival->prio_min == rival->prio_max ? "%d" : "%d to %d",
				       rival->prio_min, rival->prio_max);
			(void)fprintf(out, " %8s", text);
		}
		put_ns(out, rival->inverted);
		put_ns(out, rival->unknown);
		(void)fputc('\n', out);
	}
	put_more(out, rivals->at.count, shown);
	put_rest(out, "nobody", rivals->idle_ns);
	put_rest(out, "(by inherited priority)", rivals->inherited_ns);
	put_rest(out, "(of unknown priority)", rivals->unknown_ns);
}

static void put_findings(const struct deep_report *report, const char *title,
			 const struct finding *findings, size_t count, size_t most, FILE *out)
{
	size_t shown = deep_report_rows(count, most);

	if (count > 0) {
		(void)fprintf(out, "%-26s %8s  %-12s %-10s %s\n", title, "FOR", "SINCE", "KIND",
			      "DELAYS (WAIT IN)");
	}
	for (size_t i = 0; i < shown; i++) {
		bool is_other = findings[i].kind == INVERSION_UNBOUNDED;
		const struct deep_call *call = findings[i].call;
		char text[WHO_MAX], clock[UNITS_TEXT_MAX], whom[2 * WHO_MAX];

		(void)fprintf(out, "  %-24.24s", who(text, report, findings[i].rival));
		put_ns(out, findings[i].end - findings[i].begin);
		(void)snprintf(whom, sizeof(whom), "%s%s%.40s%s",
			       comm(text, report, is_other ? findings[i].on_path : report->thread),
			       call ? " (" : "", call ? call->name : "", call ? ")" : "");
		(void)fprintf(out, "  %.12s %-10s %.19s\n", units_clock(clock, findings[i].begin),
			      path_inversion_name(findings[i].kind), whom);
	}
	put_more(out, count, shown);
}

static void put_inversions(const struct deep_report *report, size_t most, FILE *out)
{
	const struct rivals *rivals = &report->rivals;

	put_findings(report, "PRIORITY INVERSIONS", rivals->findings.at, rivals->findings.count,
		     most, out);
	put_findings(report, "NONE: WAITS FOR AN EVENT", rivals->apart.at, rivals->apart.count,
		     most, out);
	if (rivals->apart.count > 0 && !report->jobs) {
		(void)fputs("  --job says which waits lie in an execution: there they count\n",
			    out);
	}
}

static void put_links(const struct deep_report *report, size_t most, FILE *out)
{
	const struct links *links = &report->links;
	size_t direct = 0, shown;
	char text[WHO_MAX], wakes[UNITS_TEXT_MAX], woken[UNITS_TEXT_MAX];

	while (direct < links->at.count && links->at.at[direct].hops == 1) {
		direct++;
	}
	if (direct == 0) {
		return;
	}
	shown = deep_report_rows(direct, most);
	(void)fprintf(out, "%-26s %8s %8s\n", "WHO WOKE IT, WAS WOKEN", "WOKE IT", "WOKEN");
	for (size_t i = 0; i < shown; i++) {
		(void)fprintf(out, "  %-24.24s %8s %8s\n",
			      who(text, report, links->at.at[i].thread),
			      units_count(wakes, links->at.at[i].wakes),
			      units_count(woken, links->at.at[i].woken));
	}
	put_more(out, direct, shown);
	if (links->at.count > direct) {
		(void)fprintf(out, "  and %s further away, at most %u wake-ups\n",
			      units_count(wakes, links->at.count - direct),
			      links->at.at[links->at.count - 1].hops);
	}
}

/* With responses, which order them: their rows have no room for the time preempted apart. */
static void put_executions(const struct deep_report *report, const char *title,
			   const execution_list *all, size_t most, FILE *out)
{
	bool has_responses = jobs_have_responses(report->jobs);
	size_t shown = deep_report_rows(all->count, most);
	char text[WHO_MAX], clock[UNITS_TEXT_MAX];

	(void)fprintf(out, "%-21s%s %8s  %-12s %8s %8s%s %8s\n", title,
		      has_responses ? " RESPONSE" : "", "FOR", "SINCE", "RUN", "WAITED",
		      has_responses ? "" : "  PREEMPT", "SLEPT");
	for (size_t i = 0; i < shown; i++) {
		const struct execution *one = all->at[i];
		uint64_t waited = one->ns[STATE_WAIT] + one->ns[STATE_NEW];

		(void)fprintf(out, "  %-19.19s", who(text, report, one->thread));
		if (has_responses) {
			put_ns(out, one->response_ns);
		}
		put_ns(out, one->end - one->begin);
		(void)fprintf(out, "  %.12s", units_clock(clock, one->begin));
		put_ns(out, one->ns[STATE_USER] + one->ns[STATE_SYSCALL] + one->ns[STATE_IRQ] +
				    one->ns[STATE_SOFTIRQ]);
		put_ns(out, waited + (has_responses ? one->ns[STATE_PREEMPTED] : 0));
		if (!has_responses) {
			put_ns(out, one->ns[STATE_PREEMPTED]);
		}
		put_ns(out, one->ns[STATE_BLOCKED]);
		if (one->last != one->thread) {
			(void)fprintf(out, "  to %s", who(text, report, one->last));
		}
		(void)fputc('\n', out);
	}
	put_more(out, all->count, shown);
}

/* Where arrivals are known from: "299 from a timer, 1 unknown". */
static void put_arrivals(const struct jobs_figures *sum, FILE *out)
{
	static const struct {
		enum arrival_from from;
		const char *text;
	} rows[] = {
		{ ARRIVAL_TIMER, "from a timer" },  { ARRIVAL_SIGNAL, "from a signal" },
		{ ARRIVAL_WAKE, "from a wake-up" }, { ARRIVAL_GRID, "from the period" },
		{ ARRIVAL_UNKNOWN, "not known" },
	};
	const char *before = "  arrivals:";
	char text[UNITS_TEXT_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (sum->arrivals[rows[i].from] > 0) {
			(void)fprintf(out, "%s %s %s", before,
				      units_count(text, sum->arrivals[rows[i].from]), rows[i].text);
			before = ",";
		}
	}
	(void)fputc('\n', out);
}

static void put_figures(const struct jobs *jobs, FILE *out)
{
	const struct jobs_figures *sum = &jobs->sum;
	char text[6][UNITS_TEXT_MAX];

	/* Figures of several threads say little: each has its row. */
	if (sum->count > 0 && jobs->groups.count == 1) {
		(void)fprintf(out, "  min %s  p50 %s  mean %s  p95 %s  p99 %s  max %s\n",
			      units_ns(text[0], sum->min_ns), units_ns(text[1], sum->median_ns),
			      units_ns(text[2], sum->total_ns / sum->count),
			      units_ns(text[3], sum->p95_ns), units_ns(text[4], sum->p99_ns),
			      units_ns(text[5], sum->max_ns));
		(void)fprintf(out, "  deviation %s, %s outliers\n",
			      units_ns(text[0], (uint64_t)sum->deviation_ns),
			      units_count(text[1], sum->outliers));
	}
	if (jobs->config->deadline_ns != UINT64_MAX) {
		(void)fprintf(out, "  %s later than their deadline of %s (%s in a row)\n",
			      units_count(text[0], sum->misses),
			      units_ns(text[1], jobs->config->deadline_ns),
			      units_count(text[2], sum->misses_run));
	}
	if (jobs_have_responses(jobs)) {
		if (jobs->groups.count == 1) {
			(void)fprintf(
				out,
				"  longest response %s, latest begin %s, %s arrivals left out\n",
				units_ns(text[0], sum->response_max_ns),
				units_ns(text[1], sum->jitter_ns),
				units_count(text[2], sum->skipped));
		}
		put_arrivals(sum, out);
	}
}

static void put_groups(const struct deep_report *report, size_t most, FILE *out)
{
	const struct jobs *jobs = report->jobs;
	size_t shown = deep_report_rows(jobs->groups.count, most);
	bool has_deadline = jobs->config->deadline_ns != UINT64_MAX;
	char text[WHO_MAX];

	(void)fprintf(out, "%-21s %6s %5s %8s %8s %8s %8s%s\n", "BY THREAD", "COUNT", "OPEN", "P50",
		      "P99", "MAX", "RESPONSE", has_deadline ? "   LATE" : "");
	for (size_t i = 0; i < shown; i++) {
		const struct jobs_figures *sum = &jobs->groups.at[i].sum;

		(void)fprintf(out, "  %-19.19s", who(text, report, jobs->groups.at[i].thread));
		(void)fprintf(out, " %6s", units_count(text, sum->count));
		(void)fprintf(out, " %5s", units_count(text, sum->open));
		put_ns(out, sum->median_ns);
		put_ns(out, sum->p99_ns);
		put_ns(out, sum->max_ns);
		put_ns(out, sum->response_max_ns);
		if (has_deadline) {
			(void)fprintf(out, " %6s", units_count(text, sum->misses));
		}
		(void)fputc('\n', out);
	}
	put_more(out, jobs->groups.count, shown);
}

static void put_jobs(const struct deep_report *report, size_t most, FILE *out)
{
	const struct jobs *jobs = report->jobs;
	char text[UNITS_TEXT_MAX];

	(void)fprintf(out, "\nEXECUTIONS of %s: %s\n", jobs->config->job->pattern,
		      units_count(text, jobs->all.count));
	if (jobs->all.count + jobs->open.count > 0) {
		put_figures(jobs, out);
	}
	if (jobs->groups.count > 1) {
		put_groups(report, most, out);
	}
	if (jobs->all.count > 0) {
		put_executions(report, jobs_have_responses(jobs) ? "WORST" : "LONGEST",
			       &jobs->worst, most, out);
	}
	if (jobs->open.count > 0) {
		put_executions(report, "BEGUN, NOT ENDED", &jobs->worst_open, most, out);
	}
	if (jobs->cut > 0) {
		(void)fprintf(out, "  and %s that may have ended where events are missing\n",
			      units_count(text, jobs->cut));
	}
}

/* What the slow tenth of the executions had more of than the rest. */
static void put_slow(const struct deep_report *report, size_t most, FILE *out)
{
	const struct jobs_slow *slow = &report->slow;
	size_t shown = deep_report_rows(slow->parts.count, most);
	char text[WHO_MAX], slowest[UNITS_TEXT_MAX];

	if (slow->slow == 0) {
		return;
	}
	(void)fprintf(out, "THE SLOW TENTH: %s of at least %s\n", units_count(text, slow->slow),
		      units_ns(slowest, slow->shortest_ns));
	if (shown > 0) {
		(void)fprintf(out, "%-34s %8s %8s %8s\n", "  HAD MORE, IN MEAN, OF", "MORE",
			      "THESE", "OTHERS");
	}
	for (size_t i = 0; i < shown; i++) {
		const struct jobs_slow_part *part = &slow->parts.at[i];

		if (part->kind == JOBS_SLOW_STATE) {
			(void)fprintf(out, "  %-32s",
				      timeline_state_runs(part->state)
					      ? "running"
					      : timeline_state_name(part->state));
		} else if (part->kind == JOBS_SLOW_RIVAL) {
			(void)fprintf(out, "  CPU taken by %-19.19s",
				      who(text, report, part->rival));
		} else {
			(void)fprintf(out, "  asleep in %-22.22s",
				      part->call ? part->call : "no known call");
		}
		put_ns(out, (uint64_t)part->more_ns);
		put_ns(out, part->slow_ns / slow->slow);
		put_ns(out, part->rest_ns / slow->rest);
		(void)fputc('\n', out);
	}
	put_more(out, slow->parts.count, shown);
}

/* Each with its own critical path. */
static void put_worst(const struct deep_report *report, size_t most, FILE *out)
{
	for (size_t i = 0; i < report->worst.count; i++) {
		const struct report_worst *worst = &report->worst.at[i];
		const struct execution *one = worst->execution;
		struct deep_report of = *report; /* what it borrows is not freed */
		char text[3][UNITS_TEXT_MAX], name[WHO_MAX];

		of.thread = worst->thread;
		of.path = worst->path;
		of.parts = worst->parts;
		of.rivals = worst->rivals;
		(void)fprintf(out, "\nWORST EXECUTION %zu: %s since %.15s\n  response %s%s", i + 1,
			      who(name, report, one->thread), units_clock(text[0], one->begin),
			      units_ns(text[1], one->response_ns), one->is_open ? " so far" : "");
		if (one->begin > one->arrival.ts) {
			(void)fprintf(out, ", began %s after its arrival",
				      units_ns(text[2], one->begin - one->arrival.ts));
		}
		put_path(&of, most, out);
		put_rivals(&of, most, out);
		put_inversions(&of, most, out);
	}
}

static void put_victims(const struct deep_report *report, size_t most, FILE *out)
{
	size_t count = report->victims.count, shown = deep_report_rows(count, most);

	if (count == 0) {
		return;
	}
	(void)fprintf(out, "\n%-18s %5s %5s %8s %8s %8s %8s  %s\n", "WHO WAS DELAYED", "PRIO",
		      "WAITS", "UNBOUND", "DIRECT", "DISPATCH", "LONGEST", "SINCE");
	for (size_t i = 0; i < shown; i++) {
		const struct report_victim *victim = &report->victims.at[i];
		char text[WHO_MAX], clock[UNITS_TEXT_MAX];

		(void)fprintf(out, "  %-16.16s %5d", who(text, report, victim->thread),
			      victim->prio);
		(void)fprintf(out, " %5s", units_count(text, victim->times[INVERSION_UNBOUNDED]));
		put_ns(out, victim->ns[INVERSION_UNBOUNDED]);
		put_ns(out, victim->ns[INVERSION_DIRECT]);
		put_ns(out, victim->ns[INVERSION_DISPATCH]);
		put_ns(out, victim->longest.end - victim->longest.begin);
		(void)fprintf(out, "  %.12s\n", units_clock(clock, victim->longest.begin));
	}
	put_more(out, count, shown);
}

void deep_report_text(const struct deep_report *report, size_t most, FILE *out)
{
	put_head(report, out);
	put_threads(report, most, out);
	put_changes(report, out);
	put_waits(report, most, out);
	put_victims(report, most, out);
	if (report->thread != NOBODY) {
		put_path(report, most, out);
		put_rivals(report, most, out);
		put_inversions(report, most, out);
		put_links(report, most, out);
	}
	if (report->resources) {
		report_resources_text(report, most, out);
	}
	if (report->jobs) {
		put_jobs(report, most, out);
		put_slow(report, most, out);
		put_worst(report, most, out);
	}
	(void)fputc('\n', out);
}
