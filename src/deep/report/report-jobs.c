/*
 * report-jobs: executions of a report as text: their figures, the longest ones, what they lie in,
 * and what the slow tenth of them had more of.
 */
#include <inttypes.h>

#include "base/limits.h"
#include "deep/report/report-differences.h"
#include "deep/report/report-lines.h"

void report_put_by(const char *before, const struct execution *one, FILE *out)
{
	if (one->by) {
		(void)fputs(before, out);
		text_put(out, one->by, -1);
	}
	if (one->row) {
		(void)fputs(one->by ? ", " : before, out);
		text_put(out, one->row->name, -1);
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
		report_put_by("  ", one, out);
		report_put_differences(report->jobs, one, out);
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

/* The rest of a line of put_groups(), put_rows(). */
static void put_group(struct text_table *table, const struct executions *jobs,
		      const struct executions_figures *sum)
{
	text_count(table, sum->count);
	text_count(table, sum->open);
	text_ns(table, sum->median_ns);
	text_ns(table, sum->p99_ns);
	text_ns(table, sum->max_ns);
	text_ns(table, sum->response_max_ns);
	if (jobs->config->deadline_ns != UINT64_MAX) {
		text_count(table, sum->misses);
	}
	text_end(table);
}

static struct text_table table_by(const struct executions *jobs, const char *what, FILE *out)
{
	struct text_table table = text_table_of(
		out, "  BY %s<19| COUNT>6| OPEN>5| P50>8| P99>8| MAX>8| RESPONSE>8| LATE>6", what);

	table.count -= jobs->config->deadline_ns == UINT64_MAX;
	text_head(&table);
	return table;
}

static void put_groups(const struct deep_report *report, size_t most, FILE *out)
{
	const struct executions *jobs = report->jobs;
	size_t shown = deep_report_rows(jobs->groups.count, most);
	struct text_table table = table_by(jobs, "THREAD", out);

	for (size_t i = 0; i < shown; i++) {
		report_put_who(&table, report, jobs->groups.at[i].thread);
		put_group(&table, jobs, &jobs->groups.at[i].sum);
	}
	text_more(out, jobs->groups.count, shown);
}

static void put_rows(const struct executions *jobs, size_t most, FILE *out)
{
	size_t shown = deep_report_rows(jobs->rows.count, most);
	struct text_table table = table_by(jobs, "GROUP", out);

	for (size_t i = 0; i < shown; i++) {
		text_cell(&table, jobs->rows.at[i]->name);
		put_group(&table, jobs, &jobs->rows.at[i]->sum);
	}
	text_more(out, jobs->rows.count, shown);
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
	if (jobs->names_forgotten > 0) {
		(void)fprintf(out, "  %s names of ids were forgotten: more than %d are known\n",
			      units_count(text, jobs->names_forgotten), LABELS_KNOWN_MAX);
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

/* analyze -a jobs has these as `abandoned`, and the others as `open`. */
static void put_abandoned(const struct executions *jobs, FILE *out)
{
	char text[UNITS_TEXT_MAX];
	uint64_t abandoned = 0;

	VEC_EACH(&jobs->open, one) {
		abandoned += one->is_abandoned;
	}
	if (abandoned > 0) {
		(void)fprintf(out, " (of %s the thread has ended)", units_count(text, abandoned));
	}
}

void report_put_jobs(const struct deep_report *report, size_t most, FILE *out)
{
	const struct executions *jobs = report->jobs;
	char text[UNITS_TEXT_MAX];

	(void)fprintf(out, "\nEXECUTIONS of %s", jobs->config->job->pattern);
	if (jobs->config->job->only >= 0) {
		const struct expression *is = jobs->config->job->is;

		(void)fprintf(out, "; only %.*s", (int)(is->only.end - is->only.at), is->only.at);
	}
	(void)fprintf(out, ": %s", units_count(text, jobs->all.count));
	if (jobs->open.count > 0) {
		(void)fprintf(out, ", %s not ended", units_count(text, jobs->open.count));
		put_abandoned(jobs, out);
	}
	(void)fputc('\n', out);
	if (jobs->all.count == 0) {
		put_none(report, out);
	}
	if (jobs->all.count + jobs->open.count > 0) {
		put_figures(jobs, out);
	}
	if (jobs->rows.count > 0) {
		put_rows(jobs, most, out);
	}
	if (jobs->groups.count > 1) {
		put_groups(report, most, out);
	}
	if (jobs->config->job->is->diff_count > 0 && jobs->all.count > 0) {
		report_put_all_differences(jobs, out);
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
void report_put_slow(const struct deep_report *report, size_t most, FILE *out)
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
