/*
 * preempt-queue: see preempt.h; queues of CPUs, who runs there, and the pairs that come of it.
 *
 *     CPU    A ────────── idle ── B ─────────────
 *     queue     W ─────────────────────┤ (W moves to another CPU)
 *     pairs     W by A    W by     W by B
 *                         idle
 *
 * A place is charged up to a time: what its threads waited until then is in pairs.  It is charged
 * when something changes there, and when a window ends.  An overlap is counted where its first part
 * is charged.
 */
#include <assert.h>

#include "analyses/preempt/preempt.h"
#include "base/check.h"

void preempt_begin(struct preempt_trace *trace)
{
	if (!trace->by_tid) {
		trace->by_tid = kh_init(preempt_indexes);
		trace->by_cpu = kh_init(preempt_indexes);
	}
}

/* ---- places and tasks ---- */

uint32_t preempt_place_of(struct preempt_trace *trace, uint64_t cpu)
{
	int is_new;
	khint_t at = kh_put(preempt_indexes, trace->by_cpu, cpu, &is_new);

	if (is_new) {
		kh_value(trace->by_cpu, at) = (uint32_t)trace->places.count;
		*vec_push(&trace->places) =
			(struct place){ .id = cpu, .runs = NO_TASK, .before = NO_TASK };
	}
	return kh_value(trace->by_cpu, at);
}

uint32_t preempt_task_of(struct shard *shard, struct preempt_trace *trace, int32_t tid)
{
	int is_new;
	khint_t at = kh_put(preempt_indexes, trace->by_tid, (uint64_t)(uint32_t)tid, &is_new);
	uint32_t task;

	if (!is_new) {
		return kh_value(trace->by_tid, at);
	}
	if (trace->free.count > 0) {
		task = trace->free.at[--trace->free.count];
	} else {
		task = (uint32_t)trace->tasks.count;
		(void)vec_push(&trace->tasks);
	}
	kh_value(trace->by_tid, at) = task;
	*preempt_task(trace, task) = (struct task){ .tid = tid,
						    .member = shard_pair_member(shard, tid),
						    .place = NO_PLACE };
	return task;
}

static void drop(uint32_t *at, size_t *count, uint32_t value)
{
	size_t i = 0;

	while (i < *count && at[i] != value) {
		i++;
	}
	if (i < *count) {
		at[i] = at[--*count];
	}
}

/* The task is in no list any more. */
static void free_task(struct shard *shard, struct preempt_trace *trace, uint32_t task)
{
	struct task *t = preempt_task(trace, task);
	khint_t at = kh_get(preempt_indexes, trace->by_tid, (uint64_t)(uint32_t)t->tid);

	assert(!t->is_due && t->phase == TASK_OTHER);
	if (at != kh_end(trace->by_tid) && kh_value(trace->by_tid, at) == task) {
		kh_del(preempt_indexes, trace->by_tid, at);
	}
	shard_pair_release(shard, t->member);
	t->member = 0;
	*vec_push(&trace->free) = task;
}

void preempt_end_task(struct shard *shard, struct preempt_trace *trace, uint32_t task)
{
	struct task *t = preempt_task(trace, task);

	if (t->phase == TASK_WAITS) {
		preempt_leave(shard, trace, task, trace->now);
	} else if (t->phase == TASK_RUNS && preempt_place(trace, t->place)->runs == task) {
		preempt_run(shard, trace, t->place, NO_TASK, false, trace->now);
	}
	t = preempt_task(trace, task);
	preempt_drop_due(trace, task);
	t->phase = TASK_OTHER;
	free_task(shard, trace, task);
}

/* ---- pairs ---- */

/* The task waited from @begin to @end; @runs: the place's, since it is the same. */
static void add_overlap(struct shard *shard, const struct place *place, const struct task *waits,
			uint32_t by, uint64_t begin, uint64_t end)
{
	uint64_t since = place->since > waits->joined ? place->since : waits->joined;
	uint64_t *row, *totals;

	assert_hot(since <= begin && begin < end);
	shard_leave_out(shard, waits->left_out, place->id);
	totals = shard_trace_row(shard, TOTALS);
	totals[WAITED] += end - begin;
	totals[WAITED_IDLE] += by == PAIR_IDLE ? end - begin : 0;
	totals[WAITED_UNKNOWN] += by == PAIR_UNKNOWN ? end - begin : 0;
	row = shard_pair_row(shard, PAIRS, waits->member, by);
	row[PAIR_WAITED] += end - begin;
	row[PAIR_TIMES] += begin == since;
	column_raise(row, PAIR_LONGEST, end - since);
}

/* Nothing changes in the place until @end. */
static void charge(struct shard *shard, const struct preempt_trace *trace, struct place *place,
		   uint64_t end)
{
	uint64_t begin = place->charged;
	uint32_t by = place->runs != NO_TASK ? preempt_task(trace, place->runs)->member
		      : place->is_idle       ? PAIR_IDLE
					     : PAIR_UNKNOWN;

	if (end <= begin) {
		return;
	}
	for (size_t i = 0; i < place->queue.count; i++) {
		add_overlap(shard, place, preempt_task(trace, place->queue.at[i]), by, begin, end);
	}
	place->charged = end;
}

/* ---- who runs ---- */

/* The task left its CPU, where nothing shows it any more. */
static void apply_out(struct shard *shard, struct preempt_trace *trace, uint32_t task)
{
	struct task *t = preempt_task(trace, task);
	bool sleeps = t->out_flags & RECORD_SLEEPS, is_woken = t->has_pending;

	preempt_drop_due(trace, task);
	t->phase = TASK_OTHER;
	t->has_out = t->has_pending = false;
	if (t->out_flags & RECORD_DEAD) {
		free_task(shard, trace, task);
	} else if (!sleeps || is_woken) {
		preempt_join(shard, trace, task, sleeps ? t->target : t->place, t->out_ts);
	}
}

void preempt_settle(struct shard *shard, struct preempt_trace *trace, uint32_t place, uint64_t ts)
{
	struct place *p = preempt_place(trace, place);
	uint32_t task = p->runs;
	uint64_t out_ts;

	if (task != NO_TASK && preempt_task(trace, task)->has_out &&
	    preempt_task(trace, task)->out_ts < ts) {
		out_ts = preempt_task(trace, task)->out_ts;
		charge(shard, trace, p, out_ts);
		p->runs = NO_TASK;
		p->is_idle = true;
		p->since = out_ts > p->charged ? out_ts : p->charged;
		p->charged = p->since;
		apply_out(shard, trace, task);
	}
	charge(shard, trace, preempt_place(trace, place), ts);
}

void preempt_settle_all(struct shard *shard, struct preempt_trace *trace, uint64_t ts)
{
	for (uint32_t i = 0; i < trace->places.count; i++) {
		preempt_settle(shard, trace, i, ts);
	}
}

void preempt_run(struct shard *shard, struct preempt_trace *trace, uint32_t place, uint32_t task,
		 bool is_idle, uint64_t ts)
{
	struct place *p;

	preempt_settle(shard, trace, place, ts);
	p = preempt_place(trace, place);
	if (p->runs == NO_TASK && task == NO_TASK && p->is_idle == is_idle) {
		return; /* it goes on */
	}
	if (p->runs != NO_TASK && p->runs != task) {
		preempt_add_due(trace, p->runs);
	}
	p->before = p->runs;
	p->before_since = p->since;
	p->runs = task;
	p->is_idle = is_idle;
	p->since = ts > p->charged ? ts : p->charged;
	p->charged = p->since;
}

void preempt_pass(struct shard *shard, struct preempt_trace *trace, uint32_t place, uint64_t ts)
{
	const struct place *p;

	preempt_settle(shard, trace, place, ts);
	p = preempt_place(trace, place);
	if (p->runs == NO_TASK || p->since != ts) {
		preempt_run(shard, trace, place, NO_TASK, true, ts);
	}
}

void preempt_undo(struct preempt_trace *trace, uint32_t place, uint64_t ts)
{
	struct place *p = preempt_place(trace, place);
	uint32_t before = p->before;

	if (p->since != ts || p->runs == NO_TASK) {
		return;
	}
	p->runs = NO_TASK;
	p->is_idle = true;
	if (before != NO_TASK && p->before_since == ts && preempt_task(trace, before)->is_due &&
	    preempt_task(trace, before)->phase == TASK_RUNS &&
	    preempt_task(trace, before)->place == place) {
		p->runs = before;
		preempt_drop_due(trace, before);
	}
}

/* ---- queues ---- */

void preempt_join(struct shard *shard, struct preempt_trace *trace, uint32_t task, uint32_t place,
		  uint64_t ts)
{
	struct place *p;
	struct task *t;

	preempt_settle(shard, trace, place, ts);
	p = preempt_place(trace, place);
	t = preempt_task(trace, task);
	assert(t->phase == TASK_OTHER);
	p->charged = ts > p->charged ? ts : p->charged;
	t->phase = TASK_WAITS;
	t->place = place;
	t->joined = p->charged;
	*vec_push(&p->queue) = task;
}

void preempt_leave(struct shard *shard, struct preempt_trace *trace, uint32_t task, uint64_t ts)
{
	struct task *t = preempt_task(trace, task);
	struct place *p;

	assert(t->phase == TASK_WAITS);
	preempt_settle(shard, trace, t->place, ts);
	p = preempt_place(trace, t->place);
	drop(p->queue.at, &p->queue.count, task);
	t->phase = TASK_OTHER;
}

/* ---- when time goes on ---- */

void preempt_add_due(struct preempt_trace *trace, uint32_t task)
{
	if (!preempt_task(trace, task)->is_due) {
		preempt_task(trace, task)->is_due = true;
		*vec_push(&trace->due) = task;
	}
}

void preempt_drop_due(struct preempt_trace *trace, uint32_t task)
{
	if (preempt_task(trace, task)->is_due) {
		preempt_task(trace, task)->is_due = false;
		drop(trace->due.at, &trace->due.count, task);
	}
}

/* The task that leaves first, before @ts; NO_TASK: none does. */
static uint32_t first_due(const struct preempt_trace *trace, uint64_t ts)
{
	uint32_t first = NO_TASK;
	uint64_t first_ts = ts;

	for (size_t i = 0; i < trace->due.count; i++) {
		const struct task *t = preempt_task(trace, trace->due.at[i]);
		uint64_t out_ts = t->has_out ? t->out_ts : 0;

		if (out_ts < first_ts) {
			first = trace->due.at[i];
			first_ts = out_ts;
		}
	}
	return first;
}

void preempt_advance(struct shard *shard, struct preempt_trace *trace, uint64_t ts)
{
	uint32_t task;

	if (ts <= trace->now) {
		return;
	}
	while ((task = first_due(trace, ts)) != NO_TASK) {
		struct task *t = preempt_task(trace, task);

		if (t->phase != TASK_RUNS || !t->has_out) { /* how it left is not known */
			preempt_drop_due(trace, task);
			t->phase = t->phase == TASK_RUNS ? TASK_OTHER : t->phase;
			t->has_pending = false;
		} else if (preempt_place(trace, t->place)->runs == task) {
			preempt_settle(shard, trace, t->place, t->out_ts + 1);
		} else {
			apply_out(shard, trace, task);
		}
	}
	trace->now = ts;
}
