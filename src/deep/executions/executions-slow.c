/*
 * executions-slow: see executions-slow.h.
 */
#include "deep/executions/executions-slow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

HASH_MAP(slow_calls, uint32_t)

/* Sums of the slow ones and of the rest. */
struct times {
	uint64_t of[2];
};

struct finder {
	const struct timeline *timeline;
	struct times states[STATES];
	struct times *rivals;    /* by thread */
	struct slow_calls names; /* index into calls, by name */
	VEC(struct executions_slow_part) calls;
	uint32_t *by_call; /* by index of timeline.calls: 1 + index into calls; 0: not yet known */
	/* Where the last execution of a thread ended, and where a CPU was looked at last. */
	size_t *thread_hints, *cpu_hints;
	bool is_rest; /* the execution that is being added */
};

/* ---- parts ---- */

/* Index of the CPU with this number; the number of CPUs: none. */
static size_t cpu_of(const struct timeline *timeline, uint16_t number)
{
	size_t low = 0, high = timeline->cpus.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->cpus.at[middle].id < number) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < timeline->cpus.count && timeline->cpus.at[low].id == number
		       ? low
		       : timeline->cpus.count;
}

#define NEAR 64 /* intervals on both sides of the last one to look at */

/* Index of the last on-CPU interval that does not begin after @ts.  *hint: the last result. */
static size_t oncpu_at(const struct deep_cpu *cpu, uint64_t ts, size_t *hint)
{
	size_t low = *hint > NEAR ? *hint - NEAR : 0;
	size_t high = cpu->oncpus.count - *hint > NEAR ? *hint + NEAR : cpu->oncpus.count;

	assert(*hint < cpu->oncpus.count);
	low = cpu->oncpus.at[low].begin <= ts ? low : 0;
	high = high < cpu->oncpus.count && cpu->oncpus.at[high].begin > ts ? high
									   : cpu->oncpus.count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (cpu->oncpus.at[middle].begin <= ts) {
			low = middle;
		} else {
			high = middle;
		}
	}
	*hint = low;
	return low;
}

/* The threads that had the CPU from @begin to @end. */
static void add_rivals(struct finder *finder, uint16_t number, uint64_t begin, uint64_t end)
{
	size_t index = cpu_of(finder->timeline, number);
	const struct deep_cpu *cpu;

	if (index == finder->timeline->cpus.count) {
		return;
	}
	cpu = &finder->timeline->cpus.at[index];
	for (size_t i = oncpu_at(cpu, begin, &finder->cpu_hints[index]); i < cpu->oncpus.count;
	     i++) {
		const struct cpu_oncpu *one = &cpu->oncpus.at[i];
		uint64_t from = one->begin > begin ? one->begin : begin;
		uint64_t until =
			i + 1 < cpu->oncpus.count && one[1].begin < end ? one[1].begin : end;

		if (one->begin >= end) {
			break;
		}
		if (one->thread < CPU_NOBODY && until > from) {
			finder->rivals[one->thread].of[finder->is_rest] += until - from;
		}
	}
}

/* The part of a call.  Calls of one name are one; NULL: asleep in no call that is known. */
static struct executions_slow_part *call_part(struct finder *finder, const struct deep_call *call)
{
	size_t index = call ? (size_t)(call - finder->timeline->calls.at) + 1 : 0;
	uint32_t *part = &finder->by_call[index];
	bool is_new;
	uint32_t *at;

	if (*part == 0) {
		at = slow_calls_put(&finder->names, call ? hash_text(0, call->name) : 0, &is_new);
		if (is_new) {
			*vec_push(&finder->calls) =
				(struct executions_slow_part){ .kind = EXECUTIONS_SLOW_CALL,
							       .call = call ? call->name : NULL };
			*at = (uint32_t)finder->calls.count;
		}
		*part = *at;
	}
	return &finder->calls.at[*part - 1];
}

static void add_interval(struct finder *finder, const struct deep_thread *thread,
			 const struct interval *interval, uint64_t begin, uint64_t end)
{
	enum state state =
		timeline_state_runs(interval->state) ? STATE_USER : (enum state)interval->state;
	const struct deep_call *call;
	struct executions_slow_part *part;

	finder->states[state].of[finder->is_rest] += end - begin;
	if (timeline_state_waits(state)) {
		add_rivals(finder, interval->cpu, begin, end);
	} else if (state == STATE_BLOCKED) {
		call = timeline_thread_call(finder->timeline, thread, interval->begin);
		part = call_part(finder, call);
		*(finder->is_rest ? &part->rest_ns : &part->slow_ns) += end - begin;
	}
}

static void add_execution(struct finder *finder, const struct execution *one)
{
	uint32_t of = execution_thread(one);
	const struct deep_thread *thread;
	size_t *hint, i;

	if (of == NOBODY) {
		return; /* from one idle CPU to another */
	}
	thread = finder->timeline->threads.at[of];
	hint = &finder->thread_hints[of];
	i = timeline_thread_near(thread, one->begin + 1, hint);
	for (i = i == SIZE_MAX ? 0 : i;
	     i < thread->intervals.count && thread->intervals.at[i].begin < one->end; i++) {
		const struct interval *interval = &thread->intervals.at[i];
		uint64_t from = interval->begin, until = timeline_thread_until(thread, i);

		*hint = i;
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

/* Of equal length: the earlier ones are slow. */
ORDER_POINTERS(by_begin, struct execution, UP(begin) UP(thread))

static int by_more(const void *left, const void *right)
{
	const struct executions_slow_part *a = left, *b = right;

	if (a->more_ns != b->more_ns) {
		return a->more_ns > b->more_ns ? -1 : 1;
	}
	if (a->kind != b->kind) {
		return a->kind < b->kind ? -1 : 1;
	}
	if (a->kind == EXECUTIONS_SLOW_CALL) {
		return strcmp(a->call ? a->call : "", b->call ? b->call : "");
	}
	return a->kind == EXECUTIONS_SLOW_STATE ? (a->state < b->state ? -1 : a->state > b->state)
						: (a->rival < b->rival ? -1 : a->rival > b->rival);
}

/* Keeps a part if the slow ones had more of it. */
static void add_part(struct executions_slow *slow, struct executions_slow_part part,
		     uint64_t slow_ns, uint64_t rest_ns)
{
	part.slow_ns = slow_ns;
	part.rest_ns = rest_ns;
	part.more_ns = (double)slow_ns / (double)slow->slow - (double)rest_ns / (double)slow->rest;
	if (part.more_ns > 0) {
		*vec_push(&slow->parts) = part;
	}
}

static void compare(const struct finder *finder, struct executions_slow *slow)
{
	for (unsigned int state = 0; state < STATES; state++) {
		const struct times *times = &finder->states[state];

		add_part(slow,
			 (struct executions_slow_part){ .kind = EXECUTIONS_SLOW_STATE,
							.state = state },
			 times->of[0], times->of[1]);
	}
	for (uint32_t i = 0; i < finder->timeline->threads.count; i++) {
		const struct times *times = &finder->rivals[i];

		add_part(slow,
			 (struct executions_slow_part){ .kind = EXECUTIONS_SLOW_RIVAL, .rival = i },
			 times->of[0], times->of[1]);
	}
	VEC_EACH(&finder->calls, part) {
		add_part(slow, *part, part->slow_ns, part->rest_ns);
	}
	vec_sort(&slow->parts, by_more);
}

/* In order of time, so that timelines are read from front to back. */
static void add_all(struct finder *finder, const struct executions *executions,
		    const struct executions_slow *slow)
{
	VEC(const struct execution *) equal = { 0 };
	size_t longer = 0;

	VEC_EACH(&executions->all, one) {
		if (length_of(one) == slow->shortest_ns) {
			*vec_push(&equal) = one;
			continue;
		}
		finder->is_rest = length_of(one) < slow->shortest_ns;
		longer += !finder->is_rest;
		add_execution(finder, one);
	}
	assert(longer < slow->slow);
	assert(longer + equal.count >= slow->slow);
	vec_sort(&equal, by_begin);
	for (size_t i = 0; i < equal.count; i++) {
		finder->is_rest = longer + i >= slow->slow;
		add_execution(finder, equal.at[i]);
	}
	vec_fini(&equal);
}

void executions_slow_find(const struct executions *executions, const struct timeline *timeline,
			  struct executions_slow *slow)
{
	struct finder finder = { .timeline = timeline };
	size_t count = executions->all.count, tenth = (count + 9) / 10;

	memset(slow, 0, sizeof(*slow));
	if (count < EXECUTIONS_SLOW_LEAST) {
		return;
	}
	slow->slow = tenth;
	slow->rest = count - tenth;
	slow->shortest_ns = executions->tenth_ns;
	finder.rivals = mem_alloc(timeline->threads.count * sizeof(*finder.rivals));
	finder.by_call = mem_alloc((timeline->calls.count + 1) * sizeof(*finder.by_call));
	finder.thread_hints = mem_alloc(timeline->threads.count * sizeof(*finder.thread_hints));
	finder.cpu_hints = mem_alloc((timeline->cpus.count + 1) * sizeof(*finder.cpu_hints));
	add_all(&finder, executions, slow);
	compare(&finder, slow);
	slow_calls_fini(&finder.names);
	vec_fini(&finder.calls);
	free(finder.rivals);
	free(finder.by_call);
	free(finder.thread_hints);
	free(finder.cpu_hints);
}

void executions_slow_fini(struct executions_slow *slow)
{
	vec_fini(&slow->parts);
}
