/*
 * build-state: see build.h; threads and CPUs of a timeline, and their states.
 */
#include "deep/build.h"

#include <assert.h>
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
	assert_hot(timeline_state_runs(next.state) == thread_phase_runs(&thread->phase));
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

	thread->tid = tid;
	thread->pid = -1;
	thread->birth = birth;
	thread->end = UINT64_MAX;
	thread->parent = NOBODY;
	thread->phase.cpu = UINT64_MAX;
	thread->set_thread = NOBODY;
	*vec_push(&build->timeline->threads) = thread;
	*indexes_put(build->by_tid, (uint64_t)(uint32_t)tid, NULL) = index;
	return index;
}

uint32_t build_thread(const struct build *build, int32_t tid)
{
	uint32_t *at = indexes_get(build->by_tid, (uint64_t)(uint32_t)tid);
	uint64_t birth = build->timeline->begin;
	struct deep_thread *thread;
	uint32_t index;

	if (at) {
		thread = build_thread_at(build, *at);
		if (!thread_is_over(thread->end, build->now)) {
			return *at;
		}
		birth = thread->end; /* a new thread, whose fork is missing */
	}
	index = build_add_thread(build, tid, birth);
	thread = build_thread_at(build, index);
	build_put_unknown(build, thread, birth);
	thread->phase.is_lost = build->hole_ts != 0 && birth <= build->hole_ts;
	return index;
}

static uint32_t cpu_index(const struct build *build, uint64_t id)
{
	bool is_new;
	uint32_t *at = indexes_put(build->by_cpu, id, &is_new);
	struct deep_cpu *cpu;

	if (is_new) {
		*at = (uint32_t)build->timeline->cpus.count;
		cpu = vec_push(&build->timeline->cpus);
		*cpu = (struct deep_cpu){ .id = id,
					  .left = UINT64_MAX,
					  .contexts = mem_alloc(sizeof(*cpu->contexts)) };
		*vec_push(&cpu->oncpus) =
			(struct cpu_oncpu){ .begin = build->timeline->begin, .thread = CPU_NOBODY };
	}
	return *at;
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

void build_put_running(const struct build *build, struct deep_thread *thread, uint64_t ts,
		       const struct deep_cpu *cpu)
{
	const struct context_stack *contexts = cpu->contexts;
	struct interval next = { .state = STATE_USER,
				 .who = NOBODY,
				 .cpu = build_cpu_number(cpu->id) };

	if (cpu->is_doubted) { /* the time is of nobody, what happens there is of the thread */
		build_put_unknown(build, thread, ts);
		return;
	}
	if (contexts->count > 0) {
		next.state =
			contexts->at[contexts->count - 1].context == CONTEXT_SOFTIRQ ||
					contexts->at[contexts->count - 1].context == CONTEXT_NET
				? STATE_SOFTIRQ
				: STATE_IRQ;
	} else if (thread->is_in_call) {
		next.state = STATE_SYSCALL;
	}
	(void)thread_phase_seen(&thread->phase, ts, cpu->id);
	build_put(build, thread, ts, next);
}

void build_put_unknown(const struct build *build, struct deep_thread *thread, uint64_t ts)
{
	thread_phase_lose(&thread->phase);
	build_put(build, thread, ts, build_interval(STATE_UNKNOWN));
}

void build_wake(const struct build *build, struct deep_thread *thread, uint64_t ts,
		struct interval source, bool was_lost)
{
	struct interval *last = &thread->intervals.at[thread->intervals.count - 1];

	if (!was_lost) {
		last->state = STATE_BLOCKED;
		last->cause = source.cause;
		last->who = source.who;
		last->cpu = NO_CPU;
	}
	source.state = STATE_WAIT;
	build_put(build, thread, ts, source);
}

/* ---- priorities ---- */

/*
 *     event     shows 20      call ┌──────┐ shows -31         shows 20
 *     priority  20 ────────────────┤  ?   ├ -31 ──────┬─── ? ─┤ 20
 *                                  entry  exit        └ last seen
 *
 * Events show a priority.  Between two that show the same it is that.  System calls and inheritance
 * change it: the event that comes next shows to what.  If it changed without one of these, it is
 * unknown since it was last seen.
 */
static struct prio_change *last_prio(struct deep_thread *thread)
{
	size_t count = thread->prios.count;

	return count > 0 ? &thread->prios.at[count - 1] : NULL;
}

static void add_prio(struct deep_thread *thread, struct prio_change change)
{
	struct prio_change *last = last_prio(thread);

	if (last && last->ts >= change.ts) {
		change.ts = last->ts;
		*last = change;
	} else {
		*vec_push(&thread->prios) = change;
	}
}

void build_prio_seen(struct deep_thread *thread, uint64_t ts, int64_t prio)
{
	const struct prio_change now = { .ts = ts, .prio = (int32_t)prio };
	struct prio_change *last = last_prio(thread);

	if (!last || (last->is_unknown && !last->is_settled)) {
		add_prio(thread, now);
	} else if (last->is_unknown) {
		size_t count = thread->prios.count;

		last->is_unknown = false;
		last->prio = now.prio;
		/* The end of a boost that left another one. */
		last->is_boost = count > 1 && thread->prios.at[count - 2].is_boost &&
				 thread->prios.at[count - 2].prio == now.prio;
	} else if (last->prio != now.prio) {
		if (thread->prio_seen_ts + 1 < ts) {
			add_prio(thread, (struct prio_change){ .ts = thread->prio_seen_ts + 1,
							       .is_unknown = true });
		}
		add_prio(thread, now);
	}
	thread->prio_seen_ts = ts;
}

void build_prio_boost(struct deep_thread *thread, uint64_t ts, int64_t prio)
{
	add_prio(thread, (struct prio_change){ .ts = ts, .prio = (int32_t)prio, .is_boost = true });
	thread->prio_seen_ts = ts;
}

void build_prio_change(struct deep_thread *thread, uint64_t ts)
{
	add_prio(thread, (struct prio_change){ .ts = ts, .is_unknown = true, .is_settled = true });
}

void build_prio_set(const struct build *build, struct deep_thread *caller, uint64_t ts,
		    uint32_t target)
{
	struct deep_thread *thread = build_thread_at(build, target);
	const struct prio_change *last = last_prio(thread);

	caller->set_thread = target;
	caller->set_before =
		last ? *last : (struct prio_change){ .is_unknown = true, .is_settled = true };
	add_prio(thread, (struct prio_change){ .ts = ts, .is_unknown = true });
	caller->set_at = thread->prios.count - 1;
}

void build_prio_was_set(const struct build *build, struct deep_thread *caller, uint64_t ts,
			bool has_failed)
{
	const struct prio_change *before = &caller->set_before;
	struct deep_thread *thread;
	struct prio_change *since;

	if (caller->set_thread == NOBODY) {
		return;
	}
	thread = build_thread_at(build, caller->set_thread);
	caller->set_thread = NOBODY;
	assert(caller->set_at < thread->prios.count);
	since = &thread->prios.at[caller->set_at];
	if (has_failed && since->is_unknown) {
		*since = (struct prio_change){ .ts = since->ts,
					       .prio = before->prio,
					       .is_boost = before->is_boost,
					       .is_unknown = before->is_unknown,
					       .is_settled = before->is_settled };
	} else if (!has_failed) {
		const struct prio_change *last = last_prio(thread);

		/* What was seen in the call may be the priority from before. */
		if (last->is_unknown || before->is_unknown || last->prio == before->prio) {
			build_prio_change(thread, ts);
		}
	}
}

/* ---- holes, CPUs that leave ---- */

void build_lose(struct build *build, uint64_t ts)
{
	struct timeline *timeline = build->timeline;

	build->hole_ts = ts;
	for (size_t i = 0; i < timeline->cpus.count; i++) {
		timeline->cpus.at[i].contexts->count = 0;
		timeline->cpus.at[i].is_doubted = false;
		build_oncpu(&timeline->cpus.at[i], ts, CPU_NOBODY);
	}
	VEC_EACH_OF(&timeline->threads, thread) {
		thread->is_in_call = false;
		if (thread->end == UINT64_MAX) {
			build_put_unknown(build, thread, ts);
			thread->phase.is_lost = true;
		}
	}
}

/* Nothing is known from @ts on of who ran there; what events have shown since then stays. */
static void leave_thread(const struct build *build, uint32_t index, uint64_t id, uint64_t ts)
{
	struct deep_thread *thread = build_thread_at(build, index);
	size_t at = thread->intervals.count;

	if (thread_phase_runs(&thread->phase) && thread->phase.cpu == id) {
		build_put_unknown(build, thread, ts);
		if (thread->woken.begin > ts) {
			thread_phase_set(&thread->phase, thread->woken.begin, PHASE_WAIT);
			build_wake(build, thread, thread->woken.begin, thread->woken, false);
		}
		return;
	}
	while (at > 0 && thread->intervals.at[at - 1].begin >= ts) {
		at--;
	}
	if (at > 0 && at < thread->intervals.count && thread->intervals.at[at].begin > ts &&
	    timeline_state_runs(thread->intervals.at[at - 1].state)) {
		(void)vec_push(&thread->intervals);
		memmove(&thread->intervals.at[at + 1], &thread->intervals.at[at],
			(thread->intervals.count - 1 - at) * sizeof(*thread->intervals.at));
		thread->intervals.at[at] = build_interval(STATE_UNKNOWN);
		thread->intervals.at[at].begin = ts;
	}
}

void build_leave(const struct build *build, uint64_t id, uint64_t ts)
{
	struct deep_cpu *cpu = build_cpu(build, id);
	uint32_t who = CPU_IDLE;

	/* Its thread was seen elsewhere since. */
	while (cpu->oncpus.count > 0 && cpu->oncpus.at[cpu->oncpus.count - 1].begin > ts) {
		cpu->oncpus.count--;
	}
	if (cpu->oncpus.count > 0) {
		who = build_cpu_current(cpu);
	}
	if (who != CPU_NOBODY || cpu->is_doubted) {
		cpu->left = ts;
		cpu->contexts->count = 0;
	}
	if (who < CPU_NOBODY) {
		leave_thread(build, who, id, ts);
	}
	if (cpu->oncpus.count == 0) {
		*vec_push(&cpu->oncpus) = (struct cpu_oncpu){ .begin = ts };
	}
	build_oncpu(cpu, ts, CPU_NOBODY);
}
