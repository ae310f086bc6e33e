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

/* How long the inversions of a kind are in all, and whose most of that is. */
static uint64_t blame(const struct deep_report *report, enum inversion kind, uint32_t *ret_by)
{
	struct shares shares = { 0 };
	uint64_t ns = 0, most = 0;

	VEC_EACH(&report->rivals.findings, one) {
		uint64_t *share;

		if (one->kind != kind) {
			continue;
		}
		share = shares_put(&shares, one->rival, NULL);
		*share += one->end - one->begin;
		ns += one->end - one->begin;
		if (*share > most) {
			most = *share;
			*ret_by = one->rival;
		}
	}
	shares_fini(&shares);
	return ns;
}

struct blamed {
	uint64_t direct, unbounded;
	uint32_t on, by; /* who ran, or had the CPU of that one, most of each */
};

static void put_inverted(const struct sentence *s, const struct blamed *blamed)
{
	uint64_t direct = blamed->direct, unbounded = blamed->unbounded;

	say_thread(s, s->report->thread);
	(void)fputs(" was delayed ", s->out);
	say_ns(s, direct + unbounded);
	(void)fputs(" by less urgent threads:", s->out);
	if (direct > 0) {
		(void)fputc(' ', s->out);
		say_ns(s, direct);
		(void)fputs(" while it waited for ", s->out);
		say_thread(s, blamed->on);
	}
	if (unbounded > 0) {
		(void)fputs(direct > 0 ? ", and " : " ", s->out);
		say_ns(s, unbounded);
		(void)fputs(direct > 0 ? " more while " : " while ", s->out);
		say_thread(s, blamed->by);
		(void)fputs(" had the CPU of that one", s->out);
	}
	(void)fputs(".", s->out);
}

/* Who had the CPU while the explained thread had lost it. */
static void put_preempted(const struct sentence *s, uint64_t ns)
{
	const struct deep_report *report = s->report;
	const struct deep_thread *thread = report->timeline->threads.at[report->thread];
	struct path path = { .begin = report->timeline->begin, .end = report->timeline->end };
	struct rivals rivals;
	size_t times;

	for (size_t i = 0; i < thread->intervals.count; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		uint64_t end = timeline_thread_until(thread, i);

		if (interval->state == STATE_PREEMPTED && end > interval->begin) {
			*vec_push(&path.segments) =
				(struct path_segment){ .begin = interval->begin,
						       .end = end,
						       .thread = report->thread,
						       .cpu = interval->cpu,
						       .state = STATE_PREEMPTED };
		}
	}
	times = path.segments.count;
	path_find_rivals(report->timeline, report->thread, &path, NULL, &rivals);
	say_thread(s, report->thread);
	(void)fputs(" lost its CPU for ", s->out);
	say_ns(s, ns);
	(void)fprintf(s->out, ", %zu time%s", times, times == 1 ? "" : "s");
	if (rivals.at.count > 0) {
		(void)fputs("; ", s->out);
		say_thread(s, rivals.at.at[0].thread);
		(void)fputs(" had it for ", s->out);
		say_ns(s, rivals.at.at[0].total);
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

/* What the thread waited for longest. */
static void say_longest(const struct sentence *s)
{
	struct longest_waits longest;

	find_longest(s->report, s->report->thread, &longest);
	say_thread(s, s->report->thread);
	if (longest.lock_ns > cpu_ns(&longest)) {
		(void)fputs(" waited ", s->out);
		say_ns(s, longest.lock.end - longest.lock.begin);
		(void)fputs(" for a lock", s->out);
		say_since(s, longest.lock.begin);
		(void)fputs("; meanwhile most was done by ", s->out);
		say_thread(s, longest.lock.by);
	} else if (longest.has_cpu) {
		(void)fputs(" waited ", s->out);
		say_ns(s, cpu_ns(&longest));
		(void)fputs(" for a CPU", s->out);
		say_since(s, longest.cpu.begin);
		(void)fputs("; ", s->out);
		say_thread(s, deep_report_rival(s->report, &longest.cpu));
		(void)fputs(" had it", s->out);
	} else {
		(void)fputs(" never waited for a CPU that another thread had, or for its lock",
			    s->out);
	}
	(void)fputs(".", s->out);
}

/* What delayed the explained thread. */
static void put_delay(const struct sentence *s)
{
	const struct deep_report *report = s->report;
	struct blamed blamed = { 0 };
	uint64_t preempted = 0;

	blamed.direct = blame(report, INVERSION_DIRECT, &blamed.on);
	blamed.unbounded = blame(report, INVERSION_UNBOUNDED, &blamed.by);
	VEC_EACH(&report->threads, row) {
		preempted = row->thread == report->thread ? row->ns[STATE_PREEMPTED] : preempted;
	}
	if (report->timeline->threads.at[report->thread]->urgency == 0) {
		say_longest(s);
	} else if (blamed.direct + blamed.unbounded > preempted) {
		put_inverted(s, &blamed);
	} else if (preempted > 0) {
		put_preempted(s, preempted);
	} else {
		say_longest(s);
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

static void put_culprit(const struct sentence *s)
{
	size_t late = 0, count;
	uint32_t by = NOBODY;

	VEC_EACH(&s->report->worst, one) {
		late += is_late(s->report, one);
	}
	count = culprit_of(s->report, &by);
	if (count > 0) {
		(void)fprintf(s->out, "; in %zu of the %zu worst ", count, late);
		say_thread(s, by);
		(void)fputs(" had its CPU", s->out);
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
	(void)fputs("); its longest response was ", s->out);
	say_ns(s, sum->response_max_ns);
	put_culprit(s);
	(void)fputs(".", s->out);
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
