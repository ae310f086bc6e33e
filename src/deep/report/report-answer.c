/*
 * report-answer: see report-answer.h.
 */
#include "deep/report/report-answer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "deep/report/report-lines.h"
#include "deep/report/report-wronged.h"

#define PROSE_WIDTH 80
#define SAME_PART   64 /* of a time that is told: what is less is not told apart */

/* ---- the sentence ---- */

struct sentence {
	const struct deep_report *report;
	FILE *out;
};

static void say_ns(const struct sentence *s, uint64_t ns)
{
	char text[UNITS_TEXT_MAX];

	(void)fputs(units_ns(text, ns), s->out);
}

/* "job (28345, FIFO/RR 20)". */
static void say_thread(const struct sentence *s, uint32_t index)
{
	const struct deep_thread *thread = s->report->timeline->threads.at[index];
	char text[REPORT_WHO_MAX], prio[UNITS_TEXT_MAX];

	(void)fprintf(s->out, "%s (%d", report_comm(text, s->report, index), thread->tid);
	if (thread->urgency < 0) {
		(void)fprintf(s->out, ", %s", units_prio(prio, thread->urgency));
	}
	(void)fputc(')', s->out);
}

HASH_MAP(shares, uint64_t)

/* Inversions of a kind: how long they are in all, and whose most of that is, at whose expense. */
struct blamed {
	uint64_t ns, most;
	uint32_t by, of; /* of: whom the explained thread waits for meanwhile */
};

/* @only: of those in which it waits for this thread; NOBODY: all. */
static void blame(const struct deep_report *report, enum inversion kind, uint32_t only,
		  struct blamed *ret)
{
	struct shares shares = { 0 };

	*ret = (struct blamed){ .by = NOBODY, .of = NOBODY };
	VEC_EACH(&report->rivals.findings, one) {
		uint64_t *share;

		if (one->kind != kind || (only != NOBODY && one->on_path != only)) {
			continue;
		}
		share = shares_put(&shares, (uint64_t)one->on_path << 32 | one->rival, NULL);
		*share += one->end - one->begin;
		ret->ns += one->end - one->begin;
		if (*share > ret->most) {
			ret->most = *share;
			ret->by = one->rival;
			ret->of = one->on_path;
		}
	}
	shares_fini(&shares);
}

/* The threads of one name among rivals, who had the CPU longest of all names. */
struct takers {
	uint32_t first; /* of them: who had it longest */
	size_t count;   /* 0: there are no rivals */
	uint64_t ns;
};

struct taker {
	const char *comm;
	uint64_t ns;
	uint32_t thread;
};

ORDER(by_comm, struct taker, UP_TEXT(comm) DOWN(ns) UP(thread))

static void find_takers(const struct deep_report *report, const struct rivals *rivals,
			struct takers *ret)
{
	VEC(struct taker) all = { 0 };
	struct takers one = { 0 };

	VEC_EACH(&rivals->at, rival) {
		*vec_push(&all) =
			(struct taker){ .comm = report->timeline->threads.at[rival->thread]->comm,
					.ns = rival->total,
					.thread = rival->thread };
	}
	vec_sort(&all, by_comm);
	*ret = (struct takers){ .first = NOBODY };
	for (size_t i = 0; i < all.count; i++) {
		const struct taker *taker = &all.at[i];

		/* Names that are unknown are not one name. */
		if (i == 0 || !taker->comm[0] || strcmp(taker->comm, taker[-1].comm) != 0) {
			one = (struct takers){ .first = taker->thread };
		}
		one.count++;
		one.ns += taker->ns;
		if (one.ns > ret->ns) {
			*ret = one;
		}
	}
	vec_fini(&all);
}

static void say_takers(const struct sentence *s, const struct takers *takers)
{
	char text[REPORT_WHO_MAX];

	if (takers->count == 1) {
		say_thread(s, takers->first);
	} else {
		(void)fprintf(s->out, "%s (%zu threads)",
			      report_comm(text, s->report, takers->first), takers->count);
	}
}

static void put_inverted(const struct sentence *s, const struct blamed *direct,
			 const struct blamed *unbounded)
{
	char text[REPORT_WHO_MAX];
	struct blamed itself;

	say_thread(s, s->report->thread);
	if (unbounded->ns == 0) {
		(void)fputs(" waited for less urgent threads, which ran for ", s->out);
		say_ns(s, direct->ns);
		(void)fputs(" meanwhile, most of it ", s->out);
		say_thread(s, direct->by);
		(void)fputs(".", s->out);
		return;
	}
	(void)fputs(" was delayed by priority inversions: ", s->out);
	say_thread(s, unbounded->by);
	(void)fputs(" had the CPU of ", s->out);
	say_thread(s, unbounded->of);
	(void)fputs(" for ", s->out);
	say_ns(s, unbounded->most);
	if (unbounded->most < unbounded->ns - unbounded->ns / SAME_PART) {
		(void)fputs(" (with others ", s->out);
		say_ns(s, unbounded->ns);
		(void)fputc(')', s->out);
	}
	(void)fprintf(s->out, " while %s waited for that one",
		      report_comm(text, s->report, s->report->thread));
	blame(s->report, INVERSION_DIRECT, unbounded->of, &itself);
	if (itself.ns > 0) {
		(void)fputs(", which itself ran for ", s->out);
		say_ns(s, itself.ns);
	}
	(void)fputs(".", s->out);
}

static void say_since(const struct sentence *s, uint64_t ts)
{
	char text[UNITS_TEXT_MAX];

	(void)fprintf(s->out, " from %s on", units_time(text, report_times(s->report), ts));
}

/* The explained thread's waits: for a CPU that it lost, or also (@all) for one at all. */
static void find_waits(const struct deep_report *report, bool all, struct path *ret)
{
	const struct deep_thread *thread = report->timeline->threads.at[report->thread];

	*ret = (struct path){ .begin = report->timeline->begin, .end = report->timeline->end };
	for (size_t i = 0; i < thread->intervals.count; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		uint64_t end = timeline_thread_until(thread, i);

		if (end > interval->begin && (all ? timeline_state_waits(interval->state)
						  : interval->state == STATE_PREEMPTED)) {
			*vec_push(&ret->segments) =
				(struct path_segment){ .begin = interval->begin,
						       .end = end,
						       .thread = report->thread,
						       .cpu = interval->cpu,
						       .state = interval->state };
		}
	}
}

/* Who had the CPU during these waits. */
static void put_taken(const struct sentence *s, const struct path *path, const char *what)
{
	const struct deep_report *report = s->report;
	struct rivals rivals;
	struct takers takers;
	uint64_t ns = 0;

	VEC_EACH(&path->segments, segment) {
		ns += segment->end - segment->begin;
	}
	path_find_rivals(report->timeline, report->thread, path, NULL, &rivals);
	find_takers(report, &rivals, &takers);
	say_thread(s, report->thread);
	(void)fprintf(s->out, " %s for ", what);
	say_ns(s, ns);
	if (path->segments.count == 1) {
		say_since(s, path->segments.at[0].begin);
	} else {
		(void)fprintf(s->out, ", %zu times", path->segments.count);
	}
	if (takers.count > 0) {
		(void)fputs("; ", s->out);
		say_takers(s, &takers);
		(void)fputs(" had it for ", s->out);
		say_ns(s, takers.ns);
		(void)fputs(" of that", s->out);
	}
	path_fini_rivals(&rivals);
}

/* The longest wait during which another thread had the CPU, which need not be all the time. */
static void put_longest_wait(const struct sentence *s, const struct path *path,
			     const struct report_wait *wait)
{
	uint64_t ns = wait->end - wait->begin, rival_ns;
	uint32_t rival = deep_report_rival(s->report, wait, &rival_ns);
	bool is_longest = true;

	VEC_EACH(&path->segments, segment) {
		is_longest &= segment->end - segment->begin <= ns;
	}
	(void)fputs(is_longest ? ". The longest wait took "
			       : ". The longest in which another thread had it took ",
		    s->out);
	say_ns(s, ns);
	say_since(s, wait->begin);
	(void)fputs("; ", s->out);
	say_thread(s, rival);
	(void)fputs(" had the CPU", s->out);
	if (rival_ns < ns - ns / SAME_PART) {
		(void)fputs(" for ", s->out);
		say_ns(s, rival_ns);
		(void)fputs(" of it", s->out);
	}
}

/* It waited for nothing, as far as that is recorded. */
static void put_nothing(const struct sentence *s)
{
	uint32_t lacks = s->report->timeline->lacks;

	if (lacks >> LACKS_WAKEUPS & 1) {
		(void)fputs(" never lost its CPU to another thread; waits after a wake-up and for "
			    "locks are not recorded",
			    s->out);
	} else if (lacks >> LACKS_CALLS & 1) {
		(void)fputs(" never waited for a CPU that another thread had; waits for locks are "
			    "not recorded",
			    s->out);
	} else {
		(void)fputs(" never waited for a CPU that another thread had, or for its lock",
			    s->out);
	}
}

/* What the thread waited for. */
static void put_waited(const struct sentence *s)
{
	struct longest_waits longest;
	struct path path;

	report_longest(s->report, s->report->thread, &longest);
	if (longest.lock_ns > report_longest_cpu_ns(&longest)) {
		say_thread(s, s->report->thread);
		(void)fputs(" waited ", s->out);
		say_ns(s, longest.lock.end - longest.lock.begin);
		(void)fputs(" for a lock", s->out);
		say_since(s, longest.lock.begin);
		(void)fputs("; meanwhile most was done by ", s->out);
		say_thread(s, longest.lock.by);
	} else if (longest.has_cpu) {
		find_waits(s->report, true, &path);
		put_taken(s, &path, "waited for a CPU");
		if (path.segments.count > 1) {
			put_longest_wait(s, &path, &longest.cpu);
		}
		path_fini(&path);
	} else {
		say_thread(s, s->report->thread);
		put_nothing(s);
	}
	(void)fputs(".", s->out);
}

/* What delayed the explained thread. */
static void put_delay(const struct sentence *s)
{
	const struct deep_report *report = s->report;
	struct blamed direct, unbounded;
	uint64_t preempted = 0;
	struct path path;

	blame(report, INVERSION_DIRECT, NOBODY, &direct);
	blame(report, INVERSION_UNBOUNDED, NOBODY, &unbounded);
	VEC_EACH(&report->threads, row) {
		preempted = row->thread == report->thread ? row->ns[STATE_PREEMPTED] : preempted;
	}
	if (report->timeline->threads.at[report->thread]->urgency == 0) {
		put_waited(s);
	} else if (direct.ns + unbounded.ns > preempted) {
		put_inverted(s, &direct, &unbounded);
	} else if (preempted > 0) {
		find_waits(report, false, &path);
		put_taken(s, &path, "lost its CPU");
		(void)fputs(".", s->out);
		path_fini(&path);
	} else {
		put_waited(s);
	}
}

/* ---- executions ---- */

static bool goes_over(const struct deep_report *report)
{
	return report->jobs && report->jobs->config->job->is_across;
}

/* Those of the explained thread, or all that go over threads; NULL: it has none. */
static const struct executions_group *group_of(const struct deep_report *report)
{
	for (size_t i = 0; report->jobs && i < report->jobs->groups.count; i++) {
		if (goes_over(report) || report->jobs->groups.at[i].thread == report->thread) {
			return &report->jobs->groups.at[i];
		}
	}
	return NULL;
}

static bool is_late(const struct deep_report *report, const struct report_worst *one)
{
	return (goes_over(report) || one->thread == report->thread) && one->execution->is_missed;
}

/* But for the rival that had the CPU longest, it would not be late. */
static bool is_made_late(const struct deep_report *report, const struct report_worst *one)
{
	uint64_t deadline = report->jobs->config->deadline_ns;

	return is_late(report, one) && one->rivals.at.count > 0 &&
	       one->rivals.at.at[0].total >= one->execution->response_ns - deadline;
}

/* How many of the late executions that are explained one thread made late, and which. */
static size_t culprit_of(const struct deep_report *report, uint32_t *ret_by)
{
	struct shares shares = { 0 };
	size_t most = 0;

	VEC_EACH(&report->worst, one) {
		uint64_t *count;

		if (!is_made_late(report, one)) {
			continue;
		}
		count = shares_put(&shares, one->rivals.at.at[0].thread, NULL);
		if (++*count > most) {
			most = *count;
			*ret_by = one->rivals.at.at[0].thread;
		}
	}
	shares_fini(&shares);
	return most;
}

/* The worst late execution of the explained thread, if others had its CPU for half of the time that
 * it took too long; else NULL. */
static const struct report_worst *latest(const struct deep_report *report)
{
	uint64_t deadline = report->jobs->config->deadline_ns, taken = 0;
	const struct report_worst *found = NULL;

	VEC_EACH(&report->worst, one) {
		if (is_late(report, one) &&
		    (!found || one->execution->response_ns > found->execution->response_ns)) {
			found = one;
		}
	}
	if (!found) {
		return NULL;
	}
	VEC_EACH(&found->rivals.at, rival) {
		taken += rival->total;
	}
	return taken > 0 && taken >= (found->execution->response_ns - deadline) / 2 ? found : NULL;
}

static void put_culprit(const struct sentence *s)
{
	const struct report_worst *worst = latest(s->report);
	const char *whose = goes_over(s->report) ? "the" : "its";
	size_t late = 0, count;
	uint32_t by = NOBODY;
	struct takers takers;

	VEC_EACH(&s->report->worst, one) {
		late += is_late(s->report, one);
	}
	count = culprit_of(s->report, &by);
	if (count == 0 && !worst) {
		return; /* it is late by its own work, or waited for others */
	}
	if (count == 0 || late == 1) {
		(void)fputs("; in the worst ", s->out);
	} else if (count == late) {
		(void)fprintf(s->out, "; in each of the %zu worst ", late);
	} else {
		(void)fprintf(s->out, "; in %zu of the %zu worst ", count, late);
	}
	if (count > 0) {
		say_thread(s, by);
		(void)fprintf(s->out, " had %s CPU", whose);
	} else {
		find_takers(s->report, &worst->rivals, &takers);
		say_takers(s, &takers);
		(void)fprintf(s->out, " had %s CPU longest, for ", whose);
		say_ns(s, takers.ns);
	}
}

static void say_subject(const struct sentence *s)
{
	if (goes_over(s->report)) {
		(void)fputs("The job", s->out);
	} else {
		say_thread(s, s->report->thread);
	}
}

/* " (id=60)": the keys of the one that took longest, if it is the worst, too. */
static void say_longest(const struct sentence *s, uint64_t max_ns)
{
	const execution_list *worst = &s->report->jobs->worst;

	if (worst->count > 0 && worst->at[0]->by &&
	    worst->at[0]->end - worst->at[0]->begin == max_ns) {
		(void)fprintf(s->out, " (%s)", worst->at[0]->by);
	}
}

/* "job (7) executed 5 times, at most for 3.00 ms, and 1 more did not end. " */
static void put_executed(const struct sentence *s, const struct executions_figures *sum)
{
	say_subject(s);
	if (sum->count == 0) {
		(void)fprintf(s->out, " began %" PRIu64 " execution%s without an end. ", sum->open,
			      sum->open == 1 ? "" : "s");
		return;
	}
	if (sum->count == 1) {
		(void)fputs(goes_over(s->report) ? " was executed once, for "
						 : " executed once, for ",
			    s->out);
	} else {
		(void)fprintf(s->out, " %sexecuted %" PRIu64 " times, at most for ",
			      goes_over(s->report) ? "was " : "", sum->count);
	}
	say_ns(s, sum->max_ns);
	say_longest(s, sum->max_ns);
	if (sum->open > 0) {
		(void)fprintf(s->out, ", and %" PRIu64 " more did not end", sum->open);
	}
	(void)fputs(". ", s->out);
}

static void put_executions(const struct sentence *s, const struct executions_figures *sum)
{
	uint64_t deadline = s->report->jobs->config->deadline_ns, all = sum->count + sum->open;

	if (deadline == UINT64_MAX) {
		put_executed(s, sum);
		put_delay(s);
		return;
	}
	say_subject(s);
	(void)fprintf(s->out, " missed %" PRIu64 " of %" PRIu64 " deadline%s (", sum->misses, all,
		      all == 1 ? "" : "s");
	say_ns(s, deadline);
	(void)fputs(report_deadline_is_period(s->report->jobs) ? ", its own period)" : ")", s->out);
	if (sum->skipped > 0) {
		(void)fprintf(s->out, ", and %" PRIu64 " arrival%s had no execution of %s own",
			      sum->skipped, sum->skipped == 1 ? "" : "s",
			      sum->skipped == 1 ? "its" : "their");
	}
	(void)fputs("; its longest response was ", s->out);
	say_ns(s, sum->response_max_ns);
	if (sum->misses > 0) {
		put_culprit(s);
		(void)fputs(".", s->out);
	} else {
		(void)fputs(". ", s->out);
		put_delay(s);
	}
}

char *report_answer(const struct deep_report *report)
{
	const struct executions_group *group;
	struct sentence s = { .report = report };
	char *text = NULL;
	size_t len;

	if (report->thread == NOBODY) {
		return NULL;
	}
	s.out = open_memstream(&text, &len);
	if (!s.out) {
		mem_lacks("a stream");
	}
	group = group_of(report);
	if (group && group->sum.count + group->sum.open > 0) {
		put_executions(&s, &group->sum);
	} else {
		put_delay(&s);
	}
	(void)fclose(s.out);
	return text;
}

void report_answer_text(const struct deep_report *report, FILE *out)
{
	char *answer = report_answer(report);

	if (answer) {
		(void)fputc('\n', out);
		text_wrapped(out, "", answer, PROSE_WIDTH);
		free(answer);
	}
}
