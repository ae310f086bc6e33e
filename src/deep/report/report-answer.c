/*
 * report-answer: see report-answer.h.
 */
#include "deep/report/report-answer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "text/text-table.h"

#define PROSE_WIDTH 80

/* ---- which thread ---- */

#define LOCKS_MAX 16 /* of the longest waits for locks, as many are looked into */

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
	uint32_t thread;
	uint64_t begin, end;
};

struct lock_waits {
	size_t count;
	struct lock_wait at[LOCKS_MAX]; /* the longest first */
};

static void keep_lock(struct lock_waits *waits, const struct lock_wait *wait)
{
	size_t at = waits->count < LOCKS_MAX ? waits->count++ : LOCKS_MAX - 1;

	if (at == LOCKS_MAX - 1 &&
	    waits->at[at].end - waits->at[at].begin >= wait->end - wait->begin) {
		return;
	}
	for (; at > 0 && waits->at[at - 1].end - waits->at[at - 1].begin < wait->end - wait->begin;
	     at--) {
		waits->at[at] = waits->at[at - 1];
	}
	waits->at[at] = *wait;
}

static void find_locks(const struct timeline *timeline, uint32_t index, struct lock_waits *waits)
{
	const struct deep_thread *thread = timeline->threads.at[index];

	for (size_t i = 0; i < thread->intervals.count; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		const struct lock_wait wait = { index, interval->begin,
						timeline_thread_until(thread, i) };
		const struct deep_call *call;

		if (interval->state != STATE_BLOCKED || interval->cause != CAUSE_TASK ||
		    wait.end <= wait.begin) {
			continue;
		}
		call = timeline_thread_call(timeline, thread, wait.begin);
		if (call && call->is_lock) {
			keep_lock(waits, &wait);
		}
	}
}

/* How long others were at work, or kept from it, while the thread slept.  Of a wait for a lock that
 * is most of it; an idle worker, which may sleep in the same call, has no work to wait for. */
static uint64_t caused_ns(const struct timeline *timeline, const struct lock_wait *wait,
			  uint32_t *ret_by)
{
	struct path path;
	struct path_parts parts;
	uint64_t ns = 0;

	path_find(timeline, wait->thread, wait->begin, wait->end, &path);
	path_sum(&path, &parts);
	*ret_by = NOBODY;
	VEC_EACH(&parts.at, part) {
		if (part->thread != wait->thread) {
			ns += part->total - part->ns[STATE_BLOCKED] - part->ns[STATE_UNKNOWN];
			*ret_by = *ret_by == NOBODY ? part->thread : *ret_by;
		}
	}
	vec_fini(&parts.at);
	path_fini(&path);
	return ns;
}

/* The longest wait for a lock that others caused; 0: there is none. */
static uint64_t longest_lock(const struct deep_report *report, uint32_t only, struct lock_wait *ret,
			     uint32_t *ret_by)
{
	struct lock_waits waits = { 0 };
	uint64_t longest = 0;

	VEC_EACH(&report->threads, row) {
		if (only == NOBODY || row->thread == only) {
			find_locks(report->timeline, row->thread, &waits);
		}
	}
	for (size_t i = 0; i < waits.count; i++) {
		uint32_t by;
		uint64_t ns = caused_ns(report->timeline, &waits.at[i], &by);

		if (ns > longest && ns >= (waits.at[i].end - waits.at[i].begin) / 2) {
			longest = ns;
			*ret = waits.at[i];
			*ret_by = by;
		}
	}
	return longest;
}

/* The longest wait for a CPU, of @only or of any thread, during which another thread had it. */
static const struct report_wait *longest_wait(const struct deep_report *report, uint32_t only)
{
	VEC_EACH(&report->waits, wait) {
		if ((only == NOBODY || wait->thread == only) &&
		    deep_report_rival(report, wait) != NOBODY) {
			return wait;
		}
	}
	return NULL;
}

uint32_t report_most_wronged(const struct deep_report *report)
{
	const struct report_wait *wait;
	struct lock_wait lock;
	uint32_t found = most_urgent(report), by;

	if (found != NOBODY || report->threads.count == 0) {
		return found;
	}
	wait = longest_wait(report, NOBODY);
	if (longest_lock(report, NOBODY, &lock, &by) > (wait ? wait->end - wait->begin : 0)) {
		return lock.thread;
	}
	return wait ? wait->thread : report->threads.at[0].thread;
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

	(void)fprintf(s->out, "%s (%d", thread->comm[0] ? thread->comm : "?", thread->tid);
	if (thread->urgency < -100) {
		(void)fputs(", deadline class", s->out);
	} else if (thread->urgency < 0) {
		(void)fprintf(s->out, ", real-time %d", -thread->urgency - 1);
	}
	(void)fputc(')', s->out);
}

/* The thread that has most of the findings of a kind, and how much. */
static uint64_t most_found(const struct deep_report *report, enum inversion kind, uint32_t *ret_by)
{
	uint64_t most = 0;

	VEC_EACH(&report->rivals.findings, one) {
		uint64_t ns = 0;

		if (one->kind != kind) {
			continue;
		}
		VEC_EACH(&report->rivals.findings, other) {
			ns += other->kind == kind && other->rival == one->rival
				      ? other->end - other->begin
				      : 0;
		}
		if (ns > most) {
			most = ns;
			*ret_by = one->rival;
		}
		if (one - report->rivals.findings.at >= LOCKS_MAX) {
			break; /* the longest come first */
		}
	}
	return most;
}

static uint64_t inversions_ns(const struct deep_report *report, enum inversion kind)
{
	uint64_t ns = 0;

	VEC_EACH(&report->rivals.findings, one) {
		ns += one->kind == kind ? one->end - one->begin : 0;
	}
	return ns;
}

static void put_inverted(const struct sentence *s, uint64_t direct, uint64_t unbounded)
{
	uint32_t by = NOBODY;

	say_thread(s, s->report->thread);
	(void)fputs(" was delayed ", s->out);
	say_ns(s, direct + unbounded);
	(void)fputs(" by less urgent threads:", s->out);
	if (direct > 0 && most_found(s->report, INVERSION_DIRECT, &by) > 0) {
		(void)fputc(' ', s->out);
		say_ns(s, direct);
		(void)fputs(" while it waited for ", s->out);
		say_thread(s, by);
	}
	if (unbounded > 0 && most_found(s->report, INVERSION_UNBOUNDED, &by) > 0) {
		(void)fputs(direct > 0 ? ", and " : " ", s->out);
		say_ns(s, unbounded);
		(void)fputs(direct > 0 ? " more while " : " while ", s->out);
		say_thread(s, by);
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
	const struct timeline *timeline = s->report->timeline;
	char text[UNITS_TEXT_MAX];

	(void)fprintf(s->out, " from %s on",
		      units_time(text, units_times_of(timeline->begin, timeline->end), ts));
}

/* What an ordinary thread waited for longest. */
static void say_longest(const struct sentence *s)
{
	const struct deep_report *report = s->report;
	const struct report_wait *wait = longest_wait(report, report->thread);
	struct lock_wait lock;
	uint32_t by;
	uint64_t locked = longest_lock(report, report->thread, &lock, &by);

	say_thread(s, report->thread);
	if (locked > (wait ? wait->end - wait->begin : 0)) {
		(void)fputs(" waited ", s->out);
		say_ns(s, lock.end - lock.begin);
		(void)fputs(" for a lock", s->out);
		say_since(s, lock.begin);
		(void)fputs("; meanwhile most was done by ", s->out);
		say_thread(s, by);
	} else if (wait) {
		(void)fputs(" waited ", s->out);
		say_ns(s, wait->end - wait->begin);
		(void)fputs(" for a CPU", s->out);
		say_since(s, wait->begin);
		(void)fputs("; ", s->out);
		say_thread(s, deep_report_rival(report, wait));
		(void)fputs(" had it", s->out);
	} else {
		(void)fputs(" ran; no long wait for a CPU or a lock delayed it", s->out);
	}
	(void)fputs(".", s->out);
}

/* The thread that had the CPU, or ran on the path, in most of the late executions. */
static size_t culprit_of(const struct deep_report *report, uint32_t *ret_by)
{
	size_t most = 0;

	VEC_EACH(&report->worst, one) {
		size_t count = 0;

		if (!one->execution->is_missed || one->rivals.at.count == 0) {
			continue;
		}
		VEC_EACH(&report->worst, other) {
			count += other->execution->is_missed && other->rivals.at.count > 0 &&
				 other->rivals.at.at[0].thread == one->rivals.at.at[0].thread;
		}
		if (count > most) {
			most = count;
			*ret_by = one->rivals.at.at[0].thread;
		}
	}
	return most;
}

static void put_missed(const struct sentence *s)
{
	const struct executions *jobs = s->report->jobs;
	const struct executions_figures *sum = &jobs->sum;
	uint64_t deadline = jobs->config->deadline_ns, explained = 0;
	uint32_t by = NOBODY;
	size_t count;

	say_thread(s, s->report->thread);
	(void)fprintf(s->out, " missed %" PRIu64 " of %" PRIu64 " deadlines", sum->misses,
		      sum->count + sum->open);
	if (deadline < UINT64_MAX) {
		(void)fputs(" (", s->out);
		say_ns(s, deadline);
		(void)fputs(")", s->out);
	}
	count = culprit_of(s->report, &by);
	VEC_EACH(&s->report->worst, one) {
		explained += one->execution->is_missed;
	}
	if (count > 0) {
		(void)fprintf(s->out, "; in %zu of the %" PRIu64 " worst ", count, explained);
		say_thread(s, by);
		(void)fputs(" had its CPU", s->out);
	}
	(void)fputs(".", s->out);
}

char *report_answer(const struct deep_report *report)
{
	struct sentence s = { .report = report };
	uint64_t direct, unbounded, preempted = 0;
	char *text = NULL;
	size_t len;

	if (report->thread == NOBODY) {
		return NULL;
	}
	s.out = open_memstream(&text, &len);
	if (!s.out) {
		mem_lacks("a stream");
	}
	direct = inversions_ns(report, INVERSION_DIRECT);
	unbounded = inversions_ns(report, INVERSION_UNBOUNDED);
	VEC_EACH(&report->threads, row) {
		preempted = row->thread == report->thread ? row->ns[STATE_PREEMPTED] : preempted;
	}
	if (report->jobs && report->jobs->sum.misses > 0) {
		put_missed(&s);
	} else if (report->timeline->threads.at[report->thread]->urgency == 0) {
		say_longest(&s);
	} else if (direct + unbounded > preempted) {
		put_inverted(&s, direct, unbounded);
	} else if (preempted > 0) {
		put_preempted(&s, preempted);
	} else {
		say_longest(&s);
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
