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
		report_put_by(", ", one, out);
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
		report_put_jobs(report, most, out);
		report_put_slow(report, most, out);
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
