/*
 * report-print: a report as text, and as JSON.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "deep/report.h"

static size_t at_most(size_t count, size_t most)
{
	return most > 0 && count > most ? most : count;
}

static const struct deep_thread *thread_at(const struct deep_report *report, uint32_t index)
{
	return report->timeline->threads.at[index];
}

static uint64_t busy_ns(const struct timeline *timeline, const struct deep_cpu *cpu,
			uint64_t *ret_unknown)
{
	uint64_t busy = 0;

	*ret_unknown = 0;
	for (size_t i = 0; i < cpu->stays.count; i++) {
		uint64_t begin = cpu->stays.at[i].begin;
		uint64_t end =
			i + 1 < cpu->stays.count ? cpu->stays.at[i + 1].begin : timeline->end;

		begin = begin < timeline->begin ? timeline->begin : begin;
		end = end > timeline->end ? timeline->end : end;
		if (end <= begin) {
			continue;
		}
		if (cpu->stays.at[i].thread == CPU_NOBODY) {
			*ret_unknown += end - begin;
		} else if (cpu->stays.at[i].thread != CPU_IDLE) {
			busy += end - begin;
		}
	}
	return busy;
}

/* ---- text ---- */

#define WHO_MAX 48

/* "comm (tid)"; names come from a trace: nothing in them may command the terminal. */
static const char *who(char text[WHO_MAX], const struct deep_report *report, uint32_t index)
{
	const struct deep_thread *thread = thread_at(report, index);

	(void)snprintf(text, WHO_MAX, "%s (%d)", thread->comm[0] ? thread->comm : "?", thread->tid);
	for (char *c = text; *c; c++) {
		*c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7F ? '?' : *c;
	}
	return text;
}

static void put_ns(FILE *out, uint64_t ns)
{
	char text[UNITS_TEXT_MAX];

	if (ns == 0) {
		(void)fprintf(out, " %10s", "-");
	} else {
		(void)fprintf(out, " %10s", units_ns(text, ns));
	}
}

static void put_more(FILE *out, size_t count, size_t shown)
{
	if (count > shown) {
		(void)fprintf(out, "  ... and %zu more\n", count - shown);
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
	if (report->why) {
		(void)fputs("captured because of ", out);
		for (const char *c = report->why; *c; c++) {
			(void)fputc((unsigned char)*c < 0x20 || *c == 0x7F ? '?' : *c, out);
		}
		(void)fputc('\n', out);
	}
	(void)fputc('\n', out);
	for (size_t i = 0; i < timeline->cpus.count; i++) {
		uint64_t unknown, busy = busy_ns(timeline, &timeline->cpus.at[i], &unknown);
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
	size_t shown = at_most(report->threads.count, most);

	(void)fprintf(out, "\n%-28s %10s %10s %10s %10s %10s %10s\n", "WHO RAN", "RUN", "IN CALLS",
		      "INTERRUPTS", "WAITED", "PREEMPTED", "SLEPT");
	for (size_t i = 0; i < shown; i++) {
		const struct report_thread *row = &report->threads.at[i];
		char text[WHO_MAX];

		(void)fprintf(out, "  %-26.26s", who(text, report, row->thread));
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

/* Who ran longest on the CPU meanwhile. */
static uint32_t ran_meanwhile(const struct deep_report *report, const struct report_wait *wait)
{
	const struct path path = {
		.segments = { .at = (struct segment_of_path[]){ { .begin = wait->begin,
								  .end = wait->end,
								  .thread = wait->thread,
								  .cpu = wait->cpu,
								  .state = wait->state } },
			      .count = 1 }
	};
	struct rivals rivals;
	uint32_t found;

	rivals_find(report->timeline, wait->thread, &path, &rivals);
	found = rivals.at.count > 0 ? rivals.at.at[0].thread : NOBODY;
	rivals_fini(&rivals);
	return found;
}

static void put_waits(const struct deep_report *report, size_t most, FILE *out)
{
	size_t shown = at_most(report->waits.count, most);

	(void)fprintf(out, "\n%-28s %10s  %-15s  %s\n", "WHO WAITED LONGEST FOR A CPU", "FOR",
		      "SINCE", "WHY");
	for (size_t i = 0; i < shown; i++) {
		const struct report_wait *wait = &report->waits.at[i];
		uint32_t rival = ran_meanwhile(report, wait);
		char text[WHO_MAX], clock[UNITS_TEXT_MAX];

		(void)fprintf(out, "  %-26.26s", who(text, report, wait->thread));
		put_ns(out, wait->end - wait->begin);
		(void)fprintf(out, "  %.15s  ", units_clock(clock, wait->begin));
		if (wait->state != STATE_WAIT) {
			(void)fputs(wait->state == STATE_NEW ? "new" : "preempted", out);
		} else if (wait->waker != NOBODY) {
			(void)fprintf(out, "woken by %s", who(text, report, wait->waker));
		} else {
			(void)fprintf(out, "woken (%s)", cause_name((enum cause)wait->cause));
		}
		if (rival != NOBODY) {
			(void)fprintf(out, ", while %s ran", who(text, report, rival));
		}
		(void)fputc('\n', out);
	}
}

static void put_path(const struct deep_report *report, size_t most, FILE *out)
{
	const struct path_parts *parts = &report->parts;
	size_t shown = at_most(parts->at.count, most);
	char text[WHO_MAX], length[UNITS_TEXT_MAX], segments[UNITS_TEXT_MAX];

	(void)fprintf(out,
		      "\nWHERE THE TIME OF %s WENT: %s, in %s segments\n"
		      "%-28s %10s %10s %10s %10s %10s %10s\n",
		      who(text, report, report->thread),
		      units_ns(length, report->path.end - report->path.begin),
		      units_count(segments, report->path.segments.count), "CRITICAL PATH", "ALL",
		      "RUN", "WAITED", "PREEMPTED", "SLEPT", "UNKNOWN");
	for (size_t i = 0; i < shown; i++) {
		const struct path_part *part = &parts->at.at[i];

		(void)fprintf(out, "  %-26.26s", who(text, report, part->thread));
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

static void put_rivals(const struct deep_report *report, size_t most, FILE *out)
{
	const struct rivals *rivals = &report->rivals;
	size_t shown = at_most(rivals->at.count, most);
	char text[WHO_MAX], count[UNITS_TEXT_MAX];

	if (rivals->at.count == 0 && rivals->idle_ns == 0) {
		return;
	}
	(void)fprintf(out, "%-28s %10s %10s %10s %10s %10s\n", "WHO HAD ITS CPU", "ALL", "LONGEST",
		      "TIMES", "PRIO", "INVERSION");
	for (size_t i = 0; i < shown; i++) {
		const struct rival *rival = &rivals->at.at[i];

		(void)fprintf(out, "  %-26.26s", who(text, report, rival->thread));
		put_ns(out, rival->total);
		put_ns(out, rival->longest);
		(void)fprintf(out, " %10s", units_count(count, rival->times));
		if (!rival->has_prio) {
			(void)fprintf(out, " %10s", "?");
		} else {
			(void)snprintf(text, sizeof(text),
				       rival->prio_min == rival->prio_max ? "%d" : "%d to %d",
				       rival->prio_min, rival->prio_max);
			(void)fprintf(out, " %10s", text);
		}
		put_ns(out, rival->inverted);
		(void)fputc('\n', out);
	}
	put_more(out, rivals->at.count, shown);
	if (rivals->idle_ns > 0) {
		(void)fprintf(out, "  %-26s", "nobody");
		put_ns(out, rivals->idle_ns);
		(void)fputc('\n', out);
	}
}

static int longest_first(const void *left, const void *right)
{
	const struct finding *a = *(const struct finding *const *)left;
	const struct finding *b = *(const struct finding *const *)right;
	uint64_t a_ns = a->end - a->begin, b_ns = b->end - b->begin;

	if (a_ns != b_ns) {
		return a_ns > b_ns ? -1 : 1;
	}
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* To be freed. */
static const struct finding **sorted_findings(const struct rivals *rivals)
{
	size_t count = rivals->findings.count;
	const struct finding **sorted = mem_alloc((count + 1) * sizeof(const struct finding *));

	for (size_t i = 0; i < count; i++) {
		sorted[i] = &rivals->findings.at[i];
	}
	if (count > 0) {
		qsort(sorted, count, sizeof(const struct finding *), longest_first);
	}
	return sorted;
}

static void put_findings(const struct deep_report *report, size_t most, FILE *out)
{
	const struct finding **sorted = sorted_findings(&report->rivals);
	size_t count = report->rivals.findings.count, shown = at_most(count, most);

	if (count > 0) {
		(void)fprintf(out, "%-28s %10s  %-15s  %s\n", "PRIORITY INVERSIONS", "FOR", "SINCE",
			      "KIND");
	}
	for (size_t i = 0; i < shown; i++) {
		char text[WHO_MAX], other[WHO_MAX], clock[UNITS_TEXT_MAX];

		(void)fprintf(out, "  %-26.26s", who(text, report, sorted[i]->rival));
		put_ns(out, sorted[i]->end - sorted[i]->begin);
		(void)fprintf(out, "  %.15s  %s", units_clock(clock, sorted[i]->begin),
			      inversion_name(sorted[i]->kind));
		if (sorted[i]->kind == INVERSION_UNBOUNDED) {
			(void)fprintf(out, ", keeps %s from running",
				      who(other, report, sorted[i]->on_path));
		}
		(void)fputc('\n', out);
	}
	put_more(out, count, shown);
	free(sorted);
}

static void put_jobs(const struct deep_report *report, size_t most, FILE *out)
{
	const struct jobs *jobs = report->jobs;
	size_t count = jobs->all.count, shown = at_most(count, most);
	char text[6][UNITS_TEXT_MAX];

	(void)fprintf(out, "\nEXECUTIONS of %s: %s\n", jobs->config->pattern,
		      units_count(text[0], count));
	if (count == 0) {
		return;
	}
	(void)fprintf(out, "  min %s  median %s  mean %s  p95 %s  p99 %s  max %s\n",
		      units_ns(text[0], jobs->min_ns), units_ns(text[1], jobs->median_ns),
		      units_ns(text[2], jobs->total_ns / count), units_ns(text[3], jobs->p95_ns),
		      units_ns(text[4], jobs->p99_ns), units_ns(text[5], jobs->max_ns));
	(void)fprintf(out, "  deviation %s, %s outliers",
		      units_ns(text[0], (uint64_t)jobs->deviation_ns),
		      units_count(text[1], jobs->outliers));
	if (jobs->config->deadline_ns != UINT64_MAX) {
		(void)fprintf(out, ", %s later than their deadline of %s",
			      units_count(text[2], jobs->misses),
			      units_ns(text[3], jobs->config->deadline_ns));
	}
	(void)fprintf(out, "\n%-28s %10s  %-15s %10s %10s %10s %10s\n", "LONGEST", "FOR", "SINCE",
		      "RUN", "WAITED", "PREEMPTED", "SLEPT");
	for (size_t i = 0; i < shown; i++) {
		const struct execution *one = &jobs->all.at[i];
		char name[WHO_MAX];

		(void)fprintf(out, "  %-26.26s", who(name, report, one->thread));
		put_ns(out, one->end - one->begin);
		(void)fprintf(out, "  %.15s", units_clock(text[0], one->begin));
		put_ns(out, one->ns[STATE_USER] + one->ns[STATE_SYSCALL] + one->ns[STATE_IRQ] +
				    one->ns[STATE_SOFTIRQ]);
		put_ns(out, one->ns[STATE_WAIT] + one->ns[STATE_NEW]);
		put_ns(out, one->ns[STATE_PREEMPTED]);
		put_ns(out, one->ns[STATE_BLOCKED]);
		(void)fputc('\n', out);
	}
	put_more(out, count, shown);
}

void deep_report_text(const struct deep_report *report, size_t most, FILE *out)
{
	put_head(report, out);
	put_threads(report, most, out);
	put_waits(report, most, out);
	if (report->thread != NOBODY) {
		put_path(report, most, out);
		put_rivals(report, most, out);
		put_findings(report, most, out);
	}
	if (report->jobs) {
		put_jobs(report, most, out);
	}
	(void)fputc('\n', out);
}

/* ---- JSON ---- */

static void json_who(struct json *json, const char *key, const struct deep_report *report,
		     uint32_t index)
{
	if (index != NOBODY) {
		json_open(json, key, '{');
		json_i64(json, "tid", thread_at(report, index)->tid);
		if (thread_at(report, index)->pid >= 0) {
			json_i64(json, "pid", thread_at(report, index)->pid);
		}
		json_text(json, "comm", thread_at(report, index)->comm);
		json_close(json, '}');
	}
}

static void json_states(struct json *json, const uint64_t ns[STATES])
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
			json_u64(json, keys[state], ns[state]);
		}
	}
}

static void json_threads(struct json *json, const struct deep_report *report, size_t most)
{
	json_open(json, "threads", '[');
	for (size_t i = 0; i < at_most(report->threads.count, most); i++) {
		const struct report_thread *row = &report->threads.at[i];
		const struct deep_thread *thread = thread_at(report, row->thread);

		json_open(json, NULL, '{');
		json_who(json, "thread", report, row->thread);
		json_u64(json, "begin", thread->birth);
		json_u64(json, "end", thread->end);
		json_u64(json, "run_ns", row->run_ns);
		json_states(json, row->ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_cpus(struct json *json, const struct timeline *timeline)
{
	json_open(json, "cpus", '[');
	for (size_t i = 0; i < timeline->cpus.count; i++) {
		uint64_t unknown, busy = busy_ns(timeline, &timeline->cpus.at[i], &unknown);

		json_open(json, NULL, '{');
		json_u64(json, "cpu", timeline->cpus.at[i].id);
		json_u64(json, "busy_ns", busy);
		json_u64(json, "unknown_ns", unknown);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_waits(struct json *json, const struct deep_report *report, size_t most)
{
	json_open(json, "waits", '[');
	for (size_t i = 0; i < at_most(report->waits.count, most); i++) {
		const struct report_wait *wait = &report->waits.at[i];

		json_open(json, NULL, '{');
		json_who(json, "thread", report, wait->thread);
		json_text(json, "state", state_name((enum state)wait->state));
		json_u64(json, "begin", wait->begin);
		json_u64(json, "end", wait->end);
		json_who(json, "waker", report, wait->waker);
		json_who(json, "rival", report, ran_meanwhile(report, wait));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_path(struct json *json, const struct deep_report *report, size_t most)
{
	const struct path *path = &report->path;

	json_open(json, "path", '{');
	json_who(json, "thread", report, report->thread);
	json_u64(json, "begin", path->begin);
	json_u64(json, "end", path->end);
	json_u64(json, "segment_count", path->segments.count);
	json_u64(json, "thread_count", report->parts.at.count);
	json_open(json, "parts", '[');
	for (size_t i = 0; i < at_most(report->parts.at.count, most); i++) {
		json_open(json, NULL, '{');
		json_who(json, "thread", report, report->parts.at.at[i].thread);
		json_states(json, report->parts.at.at[i].ns);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "segments", '[');
	for (size_t i = 0; i < path->segments.count; i++) {
		const struct segment_of_path *segment = &path->segments.at[i];

		json_open(json, NULL, '{');
		json_i64(json, "tid", thread_at(report, segment->thread)->tid);
		json_u64(json, "begin", segment->begin);
		json_u64(json, "end", segment->end);
		json_text(json, "state",
			  segment->state == STATE_USER ? "run"
						       : state_name((enum state)segment->state));
		if (segment->state == STATE_BLOCKED) {
			json_text(json, "cause", cause_name((enum cause)segment->cause));
		}
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void json_rivals(struct json *json, const struct deep_report *report, size_t most)
{
	const struct rivals *rivals = &report->rivals;
	const struct finding **sorted = sorted_findings(rivals);

	json_open(json, "rivals", '[');
	for (size_t i = 0; i < at_most(rivals->at.count, most); i++) {
		const struct rival *rival = &rivals->at.at[i];

		json_open(json, NULL, '{');
		json_who(json, "thread", report, rival->thread);
		json_u64(json, "total_ns", rival->total);
		json_u64(json, "longest_ns", rival->longest);
		json_u64(json, "times", rival->times);
		json_u64(json, "inversion_ns", rival->inverted);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "idle_ns", rivals->idle_ns);
	json_open(json, "inversions", '[');
	for (size_t i = 0; i < at_most(rivals->findings.count, most); i++) {
		json_open(json, NULL, '{');
		json_text(json, "kind", inversion_name(sorted[i]->kind));
		json_u64(json, "begin", sorted[i]->begin);
		json_u64(json, "end", sorted[i]->end);
		json_who(json, "on_path", report, sorted[i]->on_path);
		json_who(json, "rival", report, sorted[i]->rival);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(sorted);
}

static void json_jobs(struct json *json, const struct deep_report *report, size_t most)
{
	const struct jobs *jobs = report->jobs;

	json_open(json, "jobs", '{');
	json_text(json, "pattern", jobs->config->pattern);
	json_u64(json, "count", jobs->all.count);
	json_u64(json, "total_ns", jobs->total_ns);
	json_u64(json, "min_ns", jobs->min_ns);
	json_u64(json, "median_ns", jobs->median_ns);
	json_u64(json, "p95_ns", jobs->p95_ns);
	json_u64(json, "p99_ns", jobs->p99_ns);
	json_u64(json, "max_ns", jobs->max_ns);
	json_fixed(json, "deviation_ns", jobs->deviation_ns);
	json_u64(json, "outliers", jobs->outliers);
	if (jobs->config->deadline_ns != UINT64_MAX) {
		json_u64(json, "deadline_ns", jobs->config->deadline_ns);
		json_u64(json, "misses", jobs->misses);
	}
	json_states(json, jobs->ns);
	json_open(json, "longest", '[');
	for (size_t i = 0; i < at_most(jobs->all.count, most); i++) {
		const struct execution *one = &jobs->all.at[i];

		json_open(json, NULL, '{');
		json_who(json, "thread", report, one->thread);
		json_u64(json, "begin", one->begin);
		json_u64(json, "end", one->end);
		json_states(json, one->ns);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

void deep_report_json(const struct deep_report *report, size_t most, FILE *out)
{
	struct json json = { .out = out };

	json_open(&json, NULL, '{');
	json_text(&json, "type", "report");
	json_text(&json, "trace", report->name);
	if (report->why) {
		json_text(&json, "triggers", report->why);
	}
	json_u64(&json, "begin", report->timeline->begin);
	json_u64(&json, "end", report->timeline->end);
	json_u64(&json, "events", report->timeline->events);
	json_u64(&json, "gaps", report->timeline->gaps);
	json_cpus(&json, report->timeline);
	json_threads(&json, report, most);
	json_waits(&json, report, most);
	if (report->thread != NOBODY) {
		json_path(&json, report, most);
		json_rivals(&json, report, most);
	}
	if (report->jobs) {
		json_jobs(&json, report, most);
	}
	json_close(&json, '}');
	(void)fputc('\n', out);
}
