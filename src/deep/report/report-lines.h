/*
 * report-lines: what the files of a report as text share: names of threads, and times.
 */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "deep/report/report.h"
#include "text/text-table.h"

#define REPORT_WHO_MAX 48

static inline const char *report_comm(char text[REPORT_WHO_MAX], const struct deep_report *report,
				      uint32_t index)
{
	const struct deep_thread *thread;

	assert(index < report->timeline->threads.count);
	thread = report->timeline->threads.at[index];
	(void)snprintf(text, REPORT_WHO_MAX, "%s", thread->comm[0] ? thread->comm : "?");
	return text;
}

/* Whether nobody asked for another deadline than the period of its arrivals. */
static inline bool report_deadline_is_period(const struct executions *jobs)
{
	return jobs->config->period_ns > 0 && jobs->config->deadline_ns == jobs->config->period_ns;
}

/* "comm (tid)". */
static inline const char *report_who(char text[REPORT_WHO_MAX], const struct deep_report *report,
				     uint32_t index)
{
	size_t len;

	if (index == NOBODY) {
		(void)snprintf(text, REPORT_WHO_MAX, "(idle)");
		return text;
	}
	len = strlen(report_comm(text, report, index));
	(void)snprintf(text + len, REPORT_WHO_MAX - len, " (%d)",
		       report->timeline->threads.at[index]->tid);
	return text;
}

static inline void report_put_who(struct text_table *table, const struct deep_report *report,
				  uint32_t index)
{
	char text[REPORT_WHO_MAX];

	text_cell(table, report_who(text, report, index));
}

static inline struct units_times report_times(const struct deep_report *report)
{
	return units_times_of(report->timeline->begin, report->timeline->end);
}

static inline int report_clock_width(const struct deep_report *report)
{
	return units_time_width(report_times(report));
}

static inline void report_put_clock(struct text_table *table, const struct deep_report *report,
				    uint64_t ts)
{
	char text[UNITS_TEXT_MAX];

	text_cell(table, units_time(text, report_times(report), ts));
}

/* ---- report-inversions.c ---- */

/* Who had the CPU that the explained thread, or whom it waited for, needed. */
void report_put_rivals(const struct deep_report *report, size_t most, FILE *out);
void report_put_victims(const struct deep_report *report, size_t most, FILE *out);
/* Of the explained thread. */
void report_put_inversions(const struct deep_report *report, size_t most, FILE *out);

/* ---- report-jobs.c ---- */

/* The keys and the row that tell an execution from others, behind a text. */
void report_put_by(const char *before, const struct execution *one, FILE *out);
void report_put_jobs(const struct deep_report *report, size_t most, FILE *out);
/* What the slow tenth of the executions had more of than the rest. */
void report_put_slow(const struct deep_report *report, size_t most, FILE *out);
