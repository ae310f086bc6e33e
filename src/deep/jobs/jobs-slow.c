/*
 * jobs-slow: see jobs-slow.h.
 */
#include "deep/jobs/jobs-slow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

HASH_DECLARE(slow_parts, size_t)

struct finder {
	const struct timeline *timeline;
	struct jobs_slow *slow;
	khash_t(slow_parts) * parts; /* index into slow->parts, by kind and what it is about */
	bool is_slow;                /* the execution that is being added */
};

/* ---- parts ---- */

/* Adds time to a part, which is made if it is new. */
static void add(struct finder *finder, struct jobs_slow_part part, uint64_t about, uint64_t ns)
{
	uint64_t key = hash_bytes(part.kind + UINT64_C(1), &about, sizeof(about));
	struct jobs_slow_part *at;
	int is_new;
	khint_t found;

	if (ns == 0) {
		return;
	}
	found = kh_put(slow_parts, finder->parts, key, &is_new);
	if (is_new) {
		kh_value(finder->parts, found) = finder->slow->parts.count;
		*vec_push(&finder->slow->parts) = part;
	}
	at = &finder->slow->parts.at[kh_value(finder->parts, found)];
	if (finder->is_slow) {
		at->slow_ns += ns;
	} else {
		at->rest_ns += ns;
	}
}

static const struct deep_cpu *cpu_of(const struct timeline *timeline, uint16_t number)
{
	for (size_t i = 0; i < timeline->cpus.count; i++) {
		if (timeline->cpus.at[i].id == number) {
			return &timeline->cpus.at[i];
		}
	}
	return NULL;
}

/* Index of the last on-CPU interval that does not begin after @ts. */
static size_t oncpu_at(const struct deep_cpu *cpu, uint64_t ts)
{
	size_t low = 0, high = cpu->oncpus.count;

	assert(high > 0);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (cpu->oncpus.at[middle].begin <= ts) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

/* The threads that had the CPU from @begin to @end. */
static void add_rivals(struct finder *finder, uint16_t number, uint64_t begin, uint64_t end)
{
	const struct deep_cpu *cpu = cpu_of(finder->timeline, number);

	if (!cpu) {
		return;
	}
	for (size_t i = oncpu_at(cpu, begin); i < cpu->oncpus.count; i++) {
		const struct cpu_oncpu *one = &cpu->oncpus.at[i];
		uint64_t from = one->begin > begin ? one->begin : begin;
		uint64_t until =
			i + 1 < cpu->oncpus.count && one[1].begin < end ? one[1].begin : end;

		if (one->begin >= end) {
			break;
		}
		if (one->thread < CPU_NOBODY && until > from) {
			add(finder,
			    (struct jobs_slow_part){ .kind = JOBS_SLOW_RIVAL,
						     .rival = one->thread },
			    one->thread, until - from);
		}
	}
}

static void add_interval(struct finder *finder, const struct deep_thread *thread,
			 const struct interval *interval, uint64_t begin, uint64_t end)
{
	enum state state =
		timeline_state_runs(interval->state) ? STATE_USER : (enum state)interval->state;
	const struct deep_call *call;

	add(finder, (struct jobs_slow_part){ .kind = JOBS_SLOW_STATE, .state = state }, state,
	    end - begin);
	if (state == STATE_WAIT || state == STATE_PREEMPTED || state == STATE_NEW) {
		add_rivals(finder, interval->cpu, begin, end);
	} else if (state == STATE_BLOCKED) {
		call = timeline_thread_call(finder->timeline, thread, interval->begin);
		add(finder,
		    (struct jobs_slow_part){ .kind = JOBS_SLOW_CALL,
					     .call = call ? call->name : NULL },
		    call ? hash_text(0, call->name) : 0, end - begin);
	}
}

static void add_execution(struct finder *finder, const struct execution *one)
{
	const struct deep_thread *thread = finder->timeline->threads.at[one->last];
	size_t i = timeline_thread_before(thread, one->begin + 1);

	for (i = i == SIZE_MAX ? 0 : i;
	     i < thread->intervals.count && thread->intervals.at[i].begin < one->end; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		uint64_t from = interval->begin, until = timeline_thread_until(thread, i);

		from = from < one->begin ? one->begin : from;
		until = until > one->end ? one->end : until;
		if (until > from) {
			add_interval(finder, thread, interval, from, until);
		}
	}
}

/* ---- all of them ---- */

static uint64_t length_of(const struct execution *one)
{
	return one->end - one->begin;
}

/* Longest first; of equal ones the earlier. */
static int by_length(const void *left, const void *right)
{
	const struct execution *a = *(const struct execution *const *)left;
	const struct execution *b = *(const struct execution *const *)right;

	if (length_of(a) != length_of(b)) {
		return length_of(a) > length_of(b) ? -1 : 1;
	}
	if (a->begin != b->begin) {
		return a->begin < b->begin ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int by_more(const void *left, const void *right)
{
	const struct jobs_slow_part *a = left, *b = right;

	if (a->more_ns != b->more_ns) {
		return a->more_ns > b->more_ns ? -1 : 1;
	}
	if (a->kind != b->kind) {
		return a->kind < b->kind ? -1 : 1;
	}
	if (a->kind == JOBS_SLOW_CALL) {
		return strcmp(a->call ? a->call : "", b->call ? b->call : "");
	}
	return a->kind == JOBS_SLOW_STATE ? (a->state < b->state ? -1 : a->state > b->state)
					  : (a->rival < b->rival ? -1 : a->rival > b->rival);
}

/* Leaves the parts that the slow ones had more of. */
static void compare(struct jobs_slow *slow)
{
	size_t kept = 0;

	for (size_t i = 0; i < slow->parts.count; i++) {
		struct jobs_slow_part part = slow->parts.at[i];

		part.more_ns = (double)part.slow_ns / (double)slow->slow -
			       (double)part.rest_ns / (double)slow->rest;
		if (part.more_ns > 0) {
			slow->parts.at[kept++] = part;
		}
	}
	slow->parts.count = kept;
	if (kept > 0) {
		qsort(slow->parts.at, kept, sizeof(*slow->parts.at), by_more);
	}
}

void jobs_slow_find(const struct jobs *jobs, const struct timeline *timeline,
		    struct jobs_slow *slow)
{
	struct finder finder = { .timeline = timeline, .slow = slow };
	size_t count = jobs->all.count, tenth = (count + 9) / 10;
	const struct execution **all;

	memset(slow, 0, sizeof(*slow));
	if (count < JOBS_SLOW_LEAST) {
		return;
	}
	all = mem_alloc(count * sizeof(*all));
	for (size_t i = 0; i < count; i++) {
		all[i] = &jobs->all.at[i];
	}
	qsort(all, count, sizeof(*all), by_length);
	finder.parts = kh_init(slow_parts);
	slow->slow = tenth;
	slow->rest = count - tenth;
	slow->shortest_ns = length_of(all[tenth - 1]);
	for (size_t i = 0; i < count; i++) {
		finder.is_slow = i < tenth;
		add_execution(&finder, all[i]);
	}
	compare(slow);
	kh_destroy(slow_parts, finder.parts);
	free(all);
}

void jobs_slow_fini(struct jobs_slow *slow)
{
	vec_fini(&slow->parts);
}
