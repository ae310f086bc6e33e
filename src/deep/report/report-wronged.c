/*
 * report-wronged: see report-wronged.h.
 */
#include "deep/report/report-wronged.h"

#include <string.h>

#include "base/limits.h"

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

struct lock_waits {
	VEC(struct lock_wait) at;
};

ORDER(by_wait_length, struct lock_wait, LONGER UP(begin) UP(thread))

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
		if (timeline_state_waits(interval->state) &&
		    end - begin > report_longest_cpu_ns(longest)) {
			const struct report_wait wait = deep_report_wait(report, index, i);

			if (deep_report_rival(report, &wait, NULL) != NOBODY) {
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

void report_longest(const struct deep_report *report, uint32_t only, struct longest_waits *longest)
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
	report_longest(report, NOBODY, &longest);
	if (longest.lock_ns > report_longest_cpu_ns(&longest)) {
		return longest.lock.thread;
	}
	return longest.has_cpu ? longest.cpu.thread : report->threads.at[0].thread;
}
