/*
 * report-text: see report.h; a report as text.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "deep/report/report-answer.h"
#include "deep/report/report-lines.h"
#include "deep/report/report-resources.h"
#include "deep/report/report.h"
#include "recorded/recorded.h"
#include "text/text-table.h"

static const char *us_text(char text[UNITS_TEXT_MAX], const struct deep_report *report, uint64_t ts)
{
	struct units_times times = report_times(report);

	times.has_us = true;
	return units_time(text, times, ts);
}

static void put_lacks(const struct timeline *timeline, FILE *out)
{
	for (unsigned int i = 0; i < LACKS; i++) {
		if (timeline->lacks >> i & 1) {
			(void)fprintf(out, "not recorded: %s: %s\n  to record it: %s\n",
				      timeline_events[i].event, timeline_events[i].means,
				      timeline_command(timeline, timeline_events[i].command));
		}
	}
}

/* Of a range that was chosen: which, and why. */
static void put_range(const struct deep_report *report, FILE *out)
{
	char end[UNITS_TEXT_MAX];

	if (report->range_count > 0) {
		(void)fprintf(out, "range %zu of %zu: ", report->range + 1, report->range_count);
		text_line(out, report->ranges[report->range].why);
	}
	if (report->timeline->is_cut) {
		(void)fprintf(out, "cut at %s: more does not fit into memory (--max-memory)\n",
			      us_text(end, report, report->timeline->end));
	}
}

static void put_busy_cpus(const struct deep_report *report, FILE *out)
{
	double whole = (double)(report->timeline->end - report->timeline->begin);

	VEC_EACH(&report->cpus, cpu) {
		(void)fprintf(out, "  CPU %-3" PRIu64 " busy %5.1f %%", cpu->id,
			      whole > 0 ? 100 * (double)cpu->busy_ns / whole : 0);
		if (cpu->unknown_ns > 0) {
			(void)fprintf(out, "  unknown %.1f %%",
				      whole > 0 ? 100 * (double)cpu->unknown_ns / whole : 0);
		}
		(void)fputc('\n', out);
	}
	text_more(out, report->timeline->cpus.count, report->cpus.count);
}

/* Of each process there may be a trace. */
#define JOINED_SHOWN 5

/* The traces of user space that are one with it. */
static void put_joined(const struct deep_report *report, FILE *out)
{
	size_t count = report->joined ? report->joined->at.count : 0;

	for (size_t i = 0; i < count && i < JOINED_SHOWN; i++) {
		const struct recorded_path *path = &report->joined->at.at[i];
		bool is_less = path->shift_ns < 0;
		char by[UNITS_TEXT_MAX], *line;

		(void)units_ns(by, is_less ? -(uint64_t)path->shift_ns : (uint64_t)path->shift_ns);
		line = !path->on.is_set
			       ? mem_printf("  with %s, by the time since the epoch: no uuid says "
					    "that the clock is the same",
					    path->name)
		       : path->shift_ns == 0
			       ? mem_printf("  with %s, by the same clock", path->name)
			       : mem_printf("  with %s, by the same clock: its own times are %s %s",
					    path->name, by, is_less ? "less" : "more");
		text_line(out, line);
		free(line);
	}
	text_more(out, count, count < JOINED_SHOWN ? count : JOINED_SHOWN);
	if (count > 0 && !report->jobs) {
		(void)fputs("  --job explains what lies between two of its events; --discover "
			    "finds them\n",
			    out);
	}
}

void deep_report_head(const struct deep_report *report, FILE *out)
{
	const struct timeline *timeline = report->timeline;
	char begin[UNITS_TEXT_MAX], end[UNITS_TEXT_MAX], length[UNITS_TEXT_MAX];
	char events[UNITS_TEXT_MAX];

	(void)fprintf(out, "%s  %s .. %s, %s  %s events", report->name,
		      us_text(begin, report, timeline->begin), us_text(end, report, timeline->end),
		      units_ns(length, timeline->end - timeline->begin),
		      units_count(events, timeline->events));
	if (timeline->gaps > 0) {
		(void)fprintf(out, ", %" PRIu64 " gap%s", timeline->gaps,
			      timeline->gaps == 1 ? "" : "s");
	}
	(void)fputc('\n', out);
	put_joined(report, out);
	put_range(report, out);
	put_lacks(timeline, out);
	if (report->why) {
		(void)fputs("captured because of ", out);
		text_line(out, report->why);
	}
	report_answer_text(report, out);
	(void)fputc('\n', out);
	put_busy_cpus(report, out);
	if (report->discover && !report->jobs) {
		(void)fprintf(out, "\nits jobs and deadlines: %s\n", report->discover);
	} else if (report->overview) {
		(void)fprintf(out, "\nwhen that changed: %s\n", report->overview);
	}
}

static void put_threads(const struct deep_report *report, size_t most, FILE *out)
{
	struct text_table table = text_table_of(
		out, "  WHO RAN<24| RUN>8| IN CALLS>8| IRQS>8| WAITED>8| PREEMPT>8| SLEPT>8");
	size_t shown = deep_report_rows(report->threads.count, most);

	(void)fputc('\n', out);
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct report_thread *row = &report->threads.at[i];

		report_put_who(&table, report, row->thread);
		text_ns(&table, row->run_ns);
		text_ns(&table, row->ns[STATE_SYSCALL]);
		text_ns(&table, row->ns[STATE_IRQ] + row->ns[STATE_SOFTIRQ]);
		text_ns(&table, row->ns[STATE_WAIT] + row->ns[STATE_NEW]);
		text_ns(&table, row->ns[STATE_PREEMPTED]);
		text_ns(&table, row->ns[STATE_BLOCKED]);
		text_end(&table);
	}
	text_more(out, report->threads.count, shown);
}

/* The name of the waker, or in brackets the cause of the wake-up or the state that waits. */
static const char *why(char text[REPORT_WHO_MAX], const struct deep_report *report,
		       const struct report_wait *wait)
{
	if (wait->state == STATE_WAIT && wait->waker != NOBODY) {
		return report_comm(text, report, wait->waker);
	}
	(void)snprintf(text, REPORT_WHO_MAX, "(%s)",
		       wait->state == STATE_WAIT ? timeline_cause_name((enum cause)wait->cause)
						 : timeline_state_name((enum state)wait->state));
	return text;
}

static void put_waits(const struct deep_report *report, size_t most, FILE *out)
{
	struct text_table table = text_table_of(
		out, "  WAITED LONGEST FOR A CPU<24| FOR>8|  SINCE<%d| WOKEN BY<15| WHO RAN THERE<",
		report_clock_width(report));
	size_t shown = deep_report_rows(report->waits.count, most);

	(void)fputc('\n', out);
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct report_wait *wait = &report->waits.at[i];
		uint32_t rival = deep_report_rival(report, wait, NULL);
		char text[REPORT_WHO_MAX];

		report_put_who(&table, report, wait->thread);
		text_ns(&table, wait->end - wait->begin);
		report_put_clock(&table, report, wait->begin);
		text_cell(&table, why(text, report, wait));
		text_cell(&table, rival != NOBODY ? report_comm(text, report, rival) : "-");
		text_end(&table);
	}
}

static void put_changes(const struct deep_report *report, FILE *out)
{
	char since[UNITS_TEXT_MAX];
	struct text_table table =
		text_table_of(out, "  WHAT CHANGED IN WHO RAN<24| BEFORE>8| AFTER>8|  since %s<",
			      us_text(since, report, report->changed_at));

	if (report->changes.count == 0) {
		return;
	}
	(void)fputc('\n', out);
	text_head(&table);
	VEC_EACH(&report->changes, change) {
		report_put_who(&table, report, change->thread);
		text_share(&table, change->before, 1);
		text_share(&table, change->after, 1);
		text_end(&table);
	}
}

static void put_path(const struct deep_report *report, size_t most, FILE *out)
{
	struct text_table table = text_table_of(
		out, "  CRITICAL PATH<24| ALL>8| RUN>8| WAITED>8| PREEMPT>8| SLEPT>8| UNKNOWN>8");
	const struct path_parts *parts = &report->parts;
	size_t shown = deep_report_rows(parts->at.count, most);
	char text[REPORT_WHO_MAX], length[UNITS_TEXT_MAX], segments[UNITS_TEXT_MAX];

	(void)fprintf(out, "\nWHERE THE TIME OF %s WENT: %s, in %s segments\n",
		      report_who(text, report, report->thread),
		      units_ns(length, report->path.end - report->path.begin),
		      units_count(segments, report->path.segments.count));
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct path_part *part = &parts->at.at[i];

		report_put_who(&table, report, part->thread);
		text_ns(&table, part->total);
		text_ns(&table, part->ns[STATE_USER]);
		text_ns(&table, part->ns[STATE_WAIT] + part->ns[STATE_NEW]);
		text_ns(&table, part->ns[STATE_PREEMPTED]);
		text_ns(&table, part->ns[STATE_BLOCKED]);
		text_ns(&table, part->ns[STATE_UNKNOWN]);
		text_end(&table);
	}
	text_more(out, parts->at.count, shown);
}

static void put_links(const struct deep_report *report, size_t most, FILE *out)
{
	struct text_table table =
		text_table_of(out, "  WHO WOKE IT, WAS WOKEN<24| WOKE IT>8| WOKEN>8");
	const struct links *links = &report->links;
	size_t direct = 0, shown;
	char text[UNITS_TEXT_MAX];

	while (direct < links->at.count && links->at.at[direct].hops == 1) {
		direct++;
	}
	if (direct == 0) {
		return;
	}
	shown = deep_report_rows(direct, most);
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		report_put_who(&table, report, links->at.at[i].thread);
		text_count(&table, links->at.at[i].wakes);
		text_count(&table, links->at.at[i].woken);
		text_end(&table);
	}
	text_more(out, direct, shown);
	if (links->at.count > direct) {
		(void)fprintf(out, "  and %s further away, at most %u wake-ups\n",
			      units_count(text, links->at.count - direct),
			      links->at.at[links->at.count - 1].hops);
	}
}

/* The keys that tell it from others. */
static void put_by(const char *before, const struct execution *one, FILE *out)
{
	if (one->by) {
		(void)fputs(before, out);
		text_put(out, one->by, -1);
	}
}

/* With responses, which order them: their rows have no room for the time preempted apart. */
static void put_executions(const struct deep_report *report, const char *title,
			   const execution_list *all, size_t most, FILE *out)
{
	bool has_responses = executions_have_responses(report->jobs);
	struct text_table table =
		has_responses
			? text_table_of(
				  out,
				  "  %s<19| RESPONSE>8| FOR>8|  SINCE<%d| RUN>8| WAITED>8| SLEPT>8",
				  title, report_clock_width(report))
			: text_table_of(
				  out,
				  "  %s<19| FOR>8|  SINCE<%d| RUN>8| WAITED>8| PREEMPT>8| SLEPT>8",
				  title, report_clock_width(report));
	size_t shown = deep_report_rows(all->count, most);
	char text[REPORT_WHO_MAX];

	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct execution *one = all->at[i];
		uint64_t waited = one->ns[STATE_WAIT] + one->ns[STATE_NEW];

		report_put_who(&table, report, one->thread);
		if (has_responses) {
			text_ns(&table, one->response_ns);
		}
		text_ns(&table, one->end - one->begin);
		report_put_clock(&table, report, one->begin);
		text_ns(&table, one->ns[STATE_USER] + one->ns[STATE_SYSCALL] + one->ns[STATE_IRQ] +
					one->ns[STATE_SOFTIRQ]);
		text_ns(&table, waited + (has_responses ? one->ns[STATE_PREEMPTED] : 0));
		if (!has_responses) {
			text_ns(&table, one->ns[STATE_PREEMPTED]);
		}
		text_ns(&table, one->ns[STATE_BLOCKED]);
		if (execution_leaves(one)) {
			(void)fprintf(out, "  to %s", report_who(text, report, one->last));
		}
		put_by("  ", one, out);
		text_end(&table);
	}
	text_more(out, all->count, shown);
}

/* Where arrivals are known from: "299 from a timer, 1 unknown". */
static void put_arrivals(const struct executions_figures *sum, FILE *out)
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

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (sum->arrivals[rows[i].from] > 0) {
			(void)fprintf(out, "%s %s %s", before,
				      units_count(text, sum->arrivals[rows[i].from]), rows[i].text);
			before = ",";
		}
	}
	(void)fputc('\n', out);
}

static void put_figures(const struct executions *jobs, FILE *out)
{
	const struct executions_figures *sum = &jobs->sum;
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
		uint64_t open = 0;

		VEC_EACH(&jobs->open, one) {
			open += one->is_missed;
		}
		(void)fprintf(out, "  %s later than their deadline of %s%s (%s in a row)\n",
			      units_count(text[0], sum->misses),
			      units_ns(text[1], jobs->config->deadline_ns),
			      report_deadline_is_period(jobs) ? ", their own period" : "",
			      units_count(text[2], sum->misses_run));
		if (open > 0) {
			(void)fprintf(out, "  %s of these ended, %s did not\n",
				      units_count(text[0], sum->misses - open),
				      units_count(text[1], open));
		}
	}
	if (executions_have_responses(jobs)) {
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
	const struct executions *jobs = report->jobs;
	size_t shown = deep_report_rows(jobs->groups.count, most);
	bool has_deadline = jobs->config->deadline_ns != UINT64_MAX;
	struct text_table table = text_table_of(
		out, "  BY THREAD<19| COUNT>6| OPEN>5| P50>8| P99>8| MAX>8| RESPONSE>8| LATE>6");

	table.count -= !has_deadline;
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct executions_figures *sum = &jobs->groups.at[i].sum;

		report_put_who(&table, report, jobs->groups.at[i].thread);
		text_count(&table, sum->count);
		text_count(&table, sum->open);
		text_ns(&table, sum->median_ns);
		text_ns(&table, sum->p99_ns);
		text_ns(&table, sum->max_ns);
		text_ns(&table, sum->response_max_ns);
		if (has_deadline) {
			text_count(&table, sum->misses);
		}
		text_end(&table);
	}
	text_more(out, jobs->groups.count, shown);
}

/* The level above: what they lie in. */
static void put_around(const struct deep_report *report, size_t most, FILE *out)
{
	const struct executions *jobs = report->jobs;
	size_t shown = deep_report_rows(jobs->outer.count, most);
	struct text_table table =
		text_table_of(out, "  AROUND THEM<19| FOR>8|  SINCE<%d| INSIDE>6| FOR>8| REST>8",
			      report_clock_width(report));
	char text[REPORT_WHO_MAX];

	(void)fprintf(out, "\nWITHIN %s: %s\n", jobs->config->within->pattern,
		      units_count(text, jobs->outer.count));
	if (jobs->outer.count == 0) {
		return;
	}
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct executions_outer *one = &jobs->outer.at[i];
		uint64_t ns = one->end - one->begin;

		report_put_who(&table, report, one->thread);
		text_ns(&table, ns);
		report_put_clock(&table, report, one->begin);
		text_count(&table, one->count);
		text_ns(&table, one->inner_ns);
		text_ns(&table, ns > one->inner_ns ? ns - one->inner_ns : 0);
		if (one->last != one->thread && one->last != NOBODY) {
			(void)fprintf(out, "  to %s", report_who(text, report, one->last));
		}
		(void)fputs(one->is_open ? "  open" : "", out);
		text_end(&table);
	}
	text_more(out, jobs->outer.count, shown);
}

/* What is left out of them, and why. */
static void put_dropped(const struct executions *jobs, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (jobs->cut > 0) {
		(void)fprintf(out, "  and %s that may have ended where events are missing\n",
			      units_count(text, jobs->cut));
	}
	if (jobs->outside > 0) {
		(void)fprintf(out, "  and %s that began before or after the kernel's trace\n",
			      units_count(text, jobs->outside));
	}
	if (jobs->dropped > 0) {
		(void)fprintf(out, "  and %s that were dropped: more than %d were open at once\n",
			      units_count(text, jobs->dropped), JOBS_OPEN_MAX);
	}
	if (jobs->forgotten > 0) {
		(void)fprintf(out, "  %s names of threads were forgotten: more than %d are known\n",
			      units_count(text, jobs->forgotten), JOBS_NAMES_MAX);
	}
}

/* There is none: who wants to know what there is instead. */
static void put_none(const struct deep_report *report, FILE *out)
{
	const struct executions_config *config = report->jobs->config;
	const char *who = config->who;

	(void)fprintf(out, "  nothing %s it%s%s%s; --job help lists the models\n",
		      report->jobs->open.count > 0 ? "ends" : "executes",
		      config->within ? " inside " : "",
		      config->within ? config->within->pattern : "",
		      !who                        ? ""
		      : who[strcspn(who, ",*?[")] ? " in these threads"
						  : " in this thread");
	if (report->discover) {
		(void)fprintf(out, "  what is done again and again: %s\n", report->discover);
	}
}

static void put_jobs(const struct deep_report *report, size_t most, FILE *out)
{
	const struct executions *jobs = report->jobs;
	char text[UNITS_TEXT_MAX];

	(void)fprintf(out, "\nEXECUTIONS of %s: %s", jobs->config->job->pattern,
		      units_count(text, jobs->all.count));
	if (jobs->open.count > 0) {
		(void)fprintf(out, ", %s not ended", units_count(text, jobs->open.count));
	}
	(void)fputc('\n', out);
	if (jobs->all.count == 0) {
		put_none(report, out);
	}
	if (jobs->all.count + jobs->open.count > 0) {
		put_figures(jobs, out);
	}
	if (jobs->groups.count > 1) {
		put_groups(report, most, out);
	}
	if (jobs->all.count > 0) {
		put_executions(report, executions_have_responses(jobs) ? "WORST" : "LONGEST",
			       &jobs->worst, most, out);
	}
	if (jobs->open.count > 0) {
		put_executions(report, "BEGUN, NOT ENDED", &jobs->worst_open, most, out);
	}
	put_dropped(jobs, out);
	if (jobs->config->within) {
		put_around(report, most, out);
	}
}

/* What the slow tenth of the executions had more of than the rest. */
static void put_slow(const struct deep_report *report, size_t most, FILE *out)
{
	struct text_table table =
		text_table_of(out, "  HAD MORE, IN MEAN, OF<32| MORE>8| THESE>8| OTHERS>8");
	const struct executions_slow *slow = &report->slow;
	size_t shown = deep_report_rows(slow->parts.count, most);
	char text[REPORT_WHO_MAX], slowest[UNITS_TEXT_MAX];

	if (slow->slow == 0) {
		return;
	}
	(void)fprintf(out, "THE SLOW TENTH: %s of at least %s\n", units_count(text, slow->slow),
		      units_ns(slowest, slow->shortest_ns));
	table.hangs = false;
	if (shown > 0) {
		text_head(&table);
	}
	for (size_t i = 0; i < shown; i++) {
		const struct executions_slow_part *part = &slow->parts.at[i];

		if (part->kind == EXECUTIONS_SLOW_STATE) {
			text_cell(&table, timeline_state_runs(part->state)
						  ? "running"
						  : timeline_state_name(part->state));
		} else if (part->kind == EXECUTIONS_SLOW_RIVAL) {
			text_cell_format(&table, "CPU taken by %.19s",
					 report_who(text, report, part->rival));
		} else {
			text_cell_format(&table, "asleep in %.22s",
					 part->call ? part->call : "no known call");
		}
		text_ns(&table, (uint64_t)part->more_ns);
		text_ns(&table, part->slow_ns / slow->slow);
		text_ns(&table, part->rest_ns / slow->rest);
		text_end(&table);
	}
	text_more(out, slow->parts.count, shown);
}

/* Each with its own critical path. */
static void put_worst(const struct deep_report *report, size_t most, FILE *out)
{
	for (size_t i = 0; i < report->worst.count; i++) {
		const struct report_worst *worst = &report->worst.at[i];
		const struct execution *one = worst->execution;
		struct deep_report of = *report; /* what it borrows is not freed */
		char text[3][UNITS_TEXT_MAX], name[REPORT_WHO_MAX];

		of.thread = worst->thread;
		of.path = worst->path;
		of.parts = worst->parts;
		of.rivals = worst->rivals;
		(void)fprintf(out, "\nWORST EXECUTION %zu: %s", i + 1,
			      report_who(name, report, one->thread));
		put_by(", ", one, out);
		(void)fprintf(out, " since %s\n  response %s%s",
			      us_text(text[0], report, one->begin),
			      units_ns(text[1], one->response_ns), one->is_open ? " so far" : "");
		if (one->begin > one->arrival.ts) {
			(void)fprintf(out, ", began %s after its arrival",
				      units_ns(text[2], one->begin - one->arrival.ts));
		}
		put_path(&of, most, out);
		report_put_rivals(&of, most, out);
		report_put_inversions(&of, most, out);
	}
}

void deep_report_text(const struct deep_report *report, size_t most, FILE *out)
{
	if (report->jobs) {
		put_jobs(report, most, out);
		put_slow(report, most, out);
		put_worst(report, most, out);
	}
	if (report->resources) {
		report_resources_text(report, most, out);
	}
	put_threads(report, most, out);
	put_changes(report, out);
	put_waits(report, most, out);
	report_put_victims(report, most, out);
	if (report->thread != NOBODY) {
		put_path(report, most, out);
		report_put_rivals(report, most, out);
		report_put_inversions(report, most, out);
		put_links(report, most, out);
	}
	(void)fputc('\n', out);
}
