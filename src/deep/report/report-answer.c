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
#include "base/limits.h"
#include "deep/report/report-lines.h"

#define PROSE_WIDTH 80
#define SAME_PART   64 /* of a time that is told: what is less is not told apart */

/* ---- which thread ---- */

/* A part of the greatest wrong counts, so that a thread of which others took microseconds while the
 * programs started does not stand for one that lost its CPU again and again. */
#define WRONG_LEAST 10

static uint64_t inverted_ns(const struct deep_report *report, uint32_t thread)
{
	VEC_EACH(&report->victims, victim) {
		if (victim->thread == thread) {
			return victim->ns[INVERSION_DIRECT] + victim->ns[INVERSION_UNBOUNDED];
		}
	}
	return 0;
}

/* What less urgent threads, and those that took its CPU, cost a real-time thread. */
static uint64_t wrong_of(const struct deep_report *report, const struct report_thread *row)
{
	return report->timeline->threads.at[row->thread]->urgency == 0
		       ? 0
		       : inverted_ns(report, row->thread) + row->ns[STATE_PREEMPTED];
}

static uint32_t most_urgent(const struct deep_report *report)
{
	const struct timeline *timeline = report->timeline;
	uint64_t most = 0;
	uint32_t found = NOBODY;

	VEC_EACH(&report->threads, row) {
		uint64_t wrong = wrong_of(report, row);

		most = wrong > most ? wrong : most;
	}
	VEC_EACH(&report->threads, row) {
		uint64_t wrong = wrong_of(report, row);

		if (wrong > 0 && wrong >= most / WRONG_LEAST &&
		    (found == NOBODY || timeline->threads.at[row->thread]->urgency <
						timeline->threads.at[found]->urgency)) {
			found = row->thread;
		}
	}
	return found;
}

/* A sleep for a lock. */
struct lock_wait {
	uint32_t thread, by; /* by: who did most meanwhile */
	uint64_t begin, end;
};

struct lock_waits {
	VEC(struct lock_wait) at;
};

ORDER(by_wait_length, struct lock_wait, LONGER UP(begin) UP(thread))

/* The longest waits of one thread, or of all. */
struct longest_waits {
	struct report_wait cpu; /* another thread had it */
	bool has_cpu;
	struct lock_wait lock;
	uint64_t lock_ns; /* caused_ns(); 0: there is none */
};

static uint64_t cpu_ns(const struct longest_waits *longest)
{
	return longest->has_cpu ? longest->cpu.end - longest->cpu.begin : 0;
}

static void look_at(const struct deep_report *report, uint32_t index, struct longest_waits *longest,
		    struct lock_waits *locks)
{
	const struct timeline *timeline = report->timeline;
	const struct deep_thread *thread = timeline->threads.at[index];

	for (size_t i = 0; i < thread->intervals.count; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		uint64_t begin = interval->begin, end = timeline_thread_until(thread, i);
		const struct deep_call *call;

		if (end <= begin) {
			continue;
		}
		if (timeline_state_waits(interval->state) && end - begin > cpu_ns(longest)) {
			const struct report_wait wait = deep_report_wait(report, index, i);

			if (deep_report_rival(report, &wait) != NOBODY) {
				longest->cpu = wait;
				longest->has_cpu = true;
			}
		} else if (interval->state == STATE_BLOCKED && interval->cause == CAUSE_TASK) {
			call = timeline_thread_call(timeline, thread, begin);
			if (call && call->is_lock) {
				*vec_push(&locks->at) = (struct lock_wait){ .thread = index,
									    .begin = begin,
									    .end = end };
			}
		}
	}
}

/* How long others were at work, or kept from it, while the thread slept.  Of a wait for a lock that
 * is most of it; an idle worker, which may sleep in the same call, has no work to wait for. */
static uint64_t caused_ns(const struct timeline *timeline, struct lock_wait *wait)
{
	struct path path;
	struct path_parts parts;
	uint64_t ns = 0, most = 0;

	path_find(timeline, wait->thread, wait->begin, wait->end, &path);
	path_sum(&path, &parts);
	VEC_EACH(&parts.at, part) {
		uint64_t did = part->total - part->ns[STATE_BLOCKED] - part->ns[STATE_UNKNOWN];

		if (part->thread == wait->thread) {
			continue;
		}
		ns += did;
		if (did > most) {
			most = did;
			wait->by = part->thread;
		}
	}
	vec_fini(&parts.at);
	path_fini(&path);
	return ns >= (wait->end - wait->begin) / 2 ? ns : 0;
}

/* Of @only, or of all threads (NOBODY). */
static void find_longest(const struct deep_report *report, uint32_t only,
			 struct longest_waits *longest)
{
	struct lock_waits locks = { 0 };

	memset(longest, 0, sizeof(*longest));
	VEC_EACH(&report->threads, row) {
		if (only == NOBODY || row->thread == only) {
			look_at(report, row->thread, longest, &locks);
		}
	}
	vec_sort(&locks.at, by_wait_length);
	for (size_t i = 0; i < locks.at.count && i < LOCKS_JUDGED_MAX; i++) {
		struct lock_wait *wait = &locks.at.at[i];
		uint64_t ns;

		if (wait->end - wait->begin <= longest->lock_ns) {
			break;
		}
		ns = caused_ns(report->timeline, wait);
		if (ns > longest->lock_ns) {
			longest->lock_ns = ns;
			longest->lock = *wait;
		}
	}
	vec_fini(&locks.at);
}

uint32_t report_most_wronged(const struct deep_report *report)
{
	struct longest_waits longest;
	uint32_t found = most_urgent(report);

	if (found != NOBODY || report->threads.count == 0) {
		return found;
	}
	find_longest(report, NOBODY, &longest);
	if (longest.lock_ns > cpu_ns(&longest)) {
		return longest.lock.thread;
	}
	return longest.has_cpu ? longest.cpu.thread : report->threads.at[0].thread;
}

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

/* "job (28345, real-time 20)". */
static void say_thread(const struct sentence *s, uint32_t index)
{
	const struct deep_thread *thread = s->report->timeline->threads.at[index];
	char text[REPORT_WHO_MAX];

	(void)fprintf(s->out, "%s (%d", report_comm(text, s->report, index), thread->tid);
	if (thread->urgency < -100) {
		(void)fputs(", deadline class", s->out);
	} else if (thread->urgency < 0) {
		(void)fprintf(s->out, ", real-time %d", -thread->urgency - 1);
	}
	(void)fputc(')', s->out);
}

HASH_MAP(shares, uint64_t)

/* Inversions of a kind: how long they are in all, and whose most of that is. */
struct blamed {
	uint64_t ns, most;
	uint32_t by;
};

static void blame(const struct deep_report *report, enum inversion kind, struct blamed *ret)
{
	struct shares shares = { 0 };

	*ret = (struct blamed){ .by = NOBODY };

	VEC_EACH(&report->rivals.findings, one) {
		uint64_t *share;

		if (one->kind != kind) {
			continue;
		}
		share = shares_put(&shares, one->rival, NULL);
		*share += one->end - one->begin;
		ret->ns += one->end - one->begin;
		if (*share > ret->most) {
			ret->most = *share;
			ret->by = one->rival;
		}
	}
	shares_fini(&shares);
}

/* The threads of one name among rivals, who had the CPU longest of all names. */
struct takers {
	char name[REPORT_WHO_MAX];
	uint32_t first; /* of them: who had it longest */
	size_t count;
	uint64_t ns;
};

static void find_takers(const struct deep_report *report, const struct rivals *rivals,
			struct takers *ret)
{
	*ret = (struct takers){ .first = NOBODY };
	for (size_t i = 0; i < rivals->at.count && i < TAKERS_JUDGED_MAX; i++) {
		struct takers one = { .first = rivals->at.at[i].thread };

		(void)report_comm(one.name, report, one.first);
		VEC_EACH(&rivals->at, rival) {
			char name[REPORT_WHO_MAX];

			if (strcmp(report_comm(name, report, rival->thread), one.name) == 0) {
				one.count++;
				one.ns += rival->total;
			}
		}
		if (one.ns > ret->ns) {
			*ret = one;
		}
	}
}

static void say_takers(const struct sentence *s, const struct takers *takers)
{
	if (takers->count == 1) {
		say_thread(s, takers->first);
	} else {
		(void)fprintf(s->out, "%s (%zu threads)", takers->name, takers->count);
	}
}

static void put_inverted(const struct sentence *s, const struct blamed *direct,
			 const struct blamed *unbounded)
{
	char text[REPORT_WHO_MAX];

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
	if (direct->ns > 0) {
		say_thread(s, direct->by);
	} else {
		(void)fputs("a thread", s->out);
	}
	(void)fputs(" for ", s->out);
	say_ns(s, unbounded->most);
	if (unbounded->most < unbounded->ns - unbounded->ns / SAME_PART) {
		(void)fputs(" (with others ", s->out);
		say_ns(s, unbounded->ns);
		(void)fputc(')', s->out);
	}
	(void)fprintf(s->out, " while %s waited for that one",
		      report_comm(text, s->report, s->report->thread));
	if (direct->ns > 0) {
		(void)fputs(", which itself ran for ", s->out);
		say_ns(s, direct->most);
	}
	(void)fputs(".", s->out);
}

/* Who had the CPU while the explained thread had lost it, or also (@all) waited for one. */
static void put_taken(const struct sentence *s, bool all)
{
	const struct deep_report *report = s->report;
	const struct deep_thread *thread = report->timeline->threads.at[report->thread];
	struct path path = { .begin = report->timeline->begin, .end = report->timeline->end };
	struct rivals rivals;
	struct takers takers;
	uint64_t ns = 0;

	for (size_t i = 0; i < thread->intervals.count; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		uint64_t end = timeline_thread_until(thread, i);

		if (end > interval->begin && (all ? timeline_state_waits(interval->state)
						  : interval->state == STATE_PREEMPTED)) {
			ns += end - interval->begin;
			*vec_push(&path.segments) =
				(struct path_segment){ .begin = interval->begin,
						       .end = end,
						       .thread = report->thread,
						       .cpu = interval->cpu,
						       .state = interval->state };
		}
	}
	path_find_rivals(report->timeline, report->thread, &path, NULL, &rivals);
	find_takers(report, &rivals, &takers);
	say_thread(s, report->thread);
	(void)fputs(all ? " waited for a CPU for " : " lost its CPU for ", s->out);
	say_ns(s, ns);
	(void)fprintf(s->out, ", %zu time%s", path.segments.count,
		      path.segments.count == 1 ? "" : "s");
	if (takers.count > 0) {
		(void)fputs("; ", s->out);
		say_takers(s, &takers);
		(void)fputs(" had it for ", s->out);
		say_ns(s, takers.ns);
		(void)fputs(" of that", s->out);
	}
	(void)fputs(".", s->out);
	path_fini_rivals(&rivals);
	path_fini(&path);
}

static void say_since(const struct sentence *s, uint64_t ts)
{
	char text[UNITS_TEXT_MAX];

	(void)fprintf(s->out, " from %s on", units_time(text, report_times(s->report), ts));
}

/* What the thread waited for. */
static void put_waited(const struct sentence *s)
{
	struct longest_waits longest;

	find_longest(s->report, s->report->thread, &longest);
	if (longest.lock_ns > cpu_ns(&longest)) {
		say_thread(s, s->report->thread);
		(void)fputs(" waited ", s->out);
		say_ns(s, longest.lock.end - longest.lock.begin);
		(void)fputs(" for a lock", s->out);
		say_since(s, longest.lock.begin);
		(void)fputs("; meanwhile most was done by ", s->out);
		say_thread(s, longest.lock.by);
	} else if (longest.has_cpu) {
		put_taken(s, true);
		(void)fputs(" The longest wait took ", s->out);
		say_ns(s, cpu_ns(&longest));
		say_since(s, longest.cpu.begin);
		(void)fputs("; ", s->out);
		say_thread(s, deep_report_rival(s->report, &longest.cpu));
		(void)fputs(" had the CPU", s->out);
	} else {
		say_thread(s, s->report->thread);
		(void)fputs(" never waited for a CPU that another thread had, or for its lock",
			    s->out);
	}
	(void)fputs(".", s->out);
}

/* What delayed the explained thread. */
static void put_delay(const struct sentence *s)
{
	const struct deep_report *report = s->report;
	struct blamed direct, unbounded;
	uint64_t preempted = 0;

	blame(report, INVERSION_DIRECT, &direct);
	blame(report, INVERSION_UNBOUNDED, &unbounded);
	VEC_EACH(&report->threads, row) {
		preempted = row->thread == report->thread ? row->ns[STATE_PREEMPTED] : preempted;
	}
	if (report->timeline->threads.at[report->thread]->urgency == 0) {
		put_waited(s);
	} else if (direct.ns + unbounded.ns > preempted) {
		put_inverted(s, &direct, &unbounded);
	} else if (preempted > 0) {
		put_taken(s, false);
	} else {
		put_waited(s);
	}
}

/* ---- executions ---- */

/* Those of the explained thread; NULL: it has none. */
static const struct executions_group *group_of(const struct deep_report *report)
{
	for (size_t i = 0; report->jobs && i < report->jobs->groups.count; i++) {
		if (report->jobs->groups.at[i].thread == report->thread) {
			return &report->jobs->groups.at[i];
		}
	}
	return NULL;
}

static bool is_late(const struct deep_report *report, const struct report_worst *one)
{
	return one->thread == report->thread && one->execution->is_missed;
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
		(void)fputs(" had its CPU", s->out);
	} else {
		find_takers(s->report, &worst->rivals, &takers);
		say_takers(s, &takers);
		(void)fputs(" had its CPU longest, for ", s->out);
		say_ns(s, takers.ns);
	}
}

static void put_executions(const struct sentence *s, const struct executions_figures *sum)
{
	uint64_t deadline = s->report->jobs->config->deadline_ns, all = sum->count + sum->open;

	say_thread(s, s->report->thread);
	if (deadline == UINT64_MAX) {
		(void)fprintf(s->out, " executed %" PRIu64 " times, at most for ", all);
		say_ns(s, sum->max_ns);
		(void)fputs(". ", s->out);
		put_delay(s);
		return;
	}
	(void)fprintf(s->out, " missed %" PRIu64 " of %" PRIu64 " deadlines (", sum->misses, all);
	say_ns(s, deadline);
	(void)fputc(')', s->out);
	if (sum->skipped > 0) {
		(void)fprintf(s->out, ", and %" PRIu64 " arrivals had no execution of their own",
			      sum->skipped);
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
