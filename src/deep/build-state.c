/*
 * build-state: see build.h; threads and CPUs of a timeline, and their states.
 */
#include "deep/build.h"

#include <string.h>

/* ---- threads and CPUs ---- */

void build_put(const struct build *build, struct deep_thread *thread, uint64_t ts,
	       struct interval next)
{
	struct interval *last;

	assert_hot(next.cause != CAUSE_TASK || next.who < build->timeline->threads.count);
	if (ts >= thread->end) {
		return; /* another thread has its tid now */
	}
	next.begin = ts;
	/* Only the last state before the range counts. */
	if (build->range_begin > 0 && ts <= build->range_begin) {
		thread->intervals.count = 0;
	}
	while (thread->intervals.count > 0) {
		last = &thread->intervals.at[thread->intervals.count - 1];
		if (last->begin < ts) {
			break;
		}
		thread->intervals.count--; /* empty interval */
	}
	if (thread->intervals.count > 0) {
		last = &thread->intervals.at[thread->intervals.count - 1];
		if (last->state == next.state && last->who == next.who && last->cpu == next.cpu &&
		    last->cause == next.cause) {
			return;
		}
	}
	*vec_push(&thread->intervals) = next;
}

uint32_t build_add_thread(const struct build *build, int32_t tid, uint64_t birth)
{
	struct deep_thread *thread = mem_alloc(sizeof(*thread));
	uint32_t index = (uint32_t)build->timeline->threads.count;
	khint_t at;
	int is_new;

	thread->tid = tid;
	thread->pid = -1;
	thread->birth = birth;
	thread->end = UINT64_MAX;
	thread->parent = NOBODY;
	thread->cpu = NO_CPU;
	*vec_push(&build->timeline->threads) = thread;
	at = kh_put(indexes, build->by_tid, (uint64_t)(uint32_t)tid, &is_new);
	kh_value(build->by_tid, at) = index;
	return index;
}

uint32_t build_thread(const struct build *build, int32_t tid)
{
	khint_t at = kh_get(indexes, build->by_tid, (uint64_t)(uint32_t)tid);
	uint64_t birth = build->timeline->begin;
	struct deep_thread *thread;
	uint32_t index;

	if (at != kh_end(build->by_tid)) {
		thread = build_thread_at(build, kh_value(build->by_tid, at));
		if (thread->end == UINT64_MAX) {
			return kh_value(build->by_tid, at);
		}
		birth = thread->end; /* a new thread, whose fork is missing */
	}
	index = build_add_thread(build, tid, birth);
	build_put(build, build_thread_at(build, index), birth, build_interval(STATE_UNKNOWN));
	return index;
}

static uint32_t cpu_index(const struct build *build, uint64_t id)
{
	int is_new;
	khint_t at = kh_put(indexes, build->by_cpu, id, &is_new);
	struct deep_cpu *cpu;

	if (is_new) {
		kh_value(build->by_cpu, at) = (uint32_t)build->timeline->cpus.count;
		cpu = vec_push(&build->timeline->cpus);
		*cpu = (struct deep_cpu){ .id = id, .contexts = mem_alloc(sizeof(*cpu->contexts)) };
		*vec_push(&cpu->oncpus) =
			(struct cpu_oncpu){ .begin = build->timeline->begin, .thread = CPU_NOBODY };
	}
	return kh_value(build->by_cpu, at);
}

struct deep_cpu *build_cpu(const struct build *build, uint64_t id)
{
	uint32_t index = cpu_index(build, id); /* may move the array */

	return &build->timeline->cpus.at[index];
}

void build_oncpu(struct deep_cpu *cpu, uint64_t ts, uint32_t thread)
{
	struct cpu_oncpu *last = &cpu->oncpus.at[cpu->oncpus.count - 1];

	if (last->begin == ts) {
		last->thread = thread; /* the last interval was empty */
	} else {
		*vec_push(&cpu->oncpus) = (struct cpu_oncpu){ .begin = ts, .thread = thread };
	}
}

/* ---- properties of threads ---- */

void build_set_comm(struct deep_thread *thread, const struct value *value)
{
	size_t len = value->len < sizeof(thread->comm) - 1 ? (size_t)value->len
							   : sizeof(thread->comm) - 1;

	len = strnlen((const char *)value->bytes, len);
	memcpy(thread->comm, value->bytes, len);
	thread->comm[len] = '\0';
}

void build_set_prio(struct deep_thread *thread, uint64_t ts, int64_t prio, bool is_boost)
{
	size_t count = thread->prios.count;

	if (count == 0 || thread->prios.at[count - 1].prio != (int32_t)prio) {
		*vec_push(&thread->prios) = (struct prio_change){ .ts = ts,
								  .prio = (int32_t)prio,
								  .is_boost = is_boost };
	}
}

void build_put_running(const struct build *build, struct deep_thread *thread, uint64_t ts,
		       const struct deep_cpu *cpu)
{
	const struct context_stack *contexts = cpu->contexts;
	struct interval next = { .state = STATE_USER,
				 .who = NOBODY,
				 .cpu = build_cpu_number(cpu->id) };

	if (contexts->count > 0) {
		next.state =
			contexts->at[contexts->count - 1].context == CONTEXT_SOFTIRQ ||
					contexts->at[contexts->count - 1].context == CONTEXT_NET
				? STATE_SOFTIRQ
				: STATE_IRQ;
	} else if (thread->is_in_call) {
		next.state = STATE_SYSCALL;
	}
	build_put(build, thread, ts, next);
}
