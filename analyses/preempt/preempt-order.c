/*
 * preempt-order: see preempt.h; what each ordered event means.
 *
 * Events of one time come by tid, so the switch in of one thread may come before the switch out of
 * the thread that it replaces.  That one is due: it leaves when time goes on.  It also may be woken
 * at the time when it leaves to sleep; then it waits from then on (doc/definitions.md, 4.4).
 */
#include "analyses/preempt/preempt.h"

#include <assert.h>

#include "base/check.h"

#define FOLD_EVERY 16384 /* so often, in switches, pairs are bounded */

/* ---- switches ---- */

/* It runs in no place and waits nowhere, whatever it seemed to do. */
static void take_away(struct shard *shard, struct preempt_trace *trace, uint32_t task, uint64_t ts)
{
	const struct task *t = preempt_task(trace, task);

	if (t->phase == TASK_WAITS) {
		preempt_leave(shard, trace, task, ts);
	} else if (t->phase == TASK_RUNS && preempt_place(trace, t->place)->runs == task) {
		preempt_run(shard, trace, t->place, NO_TASK, true, ts);
	}
	preempt_drop_due(trace, task);
	preempt_task(trace, task)->phase = TASK_OTHER;
}

/* @is_empty: it leaves at the same time.  Others do so, too: then only who stays is put there. */
static void put_on(struct shard *shard, struct preempt_trace *trace, uint32_t task, uint64_t cpu,
		   uint64_t ts, bool is_empty)
{
	uint32_t place = preempt_place_of(trace, cpu);
	struct task *t;

	take_away(shard, trace, task, ts);
	if (is_empty) {
		preempt_pass(shard, trace, place, ts);
	} else {
		preempt_run(shard, trace, place, task, false, ts);
	}
	t = preempt_task(trace, task);
	t->phase = TASK_RUNS;
	t->place = place;
	t->has_out = t->has_pending = false;
}

static void set_out(struct preempt_trace *trace, uint32_t task, uint64_t ts, uint64_t flags)
{
	struct task *t = preempt_task(trace, task);

	t->has_out = true;
	t->out_ts = ts;
	t->out_flags = (uint16_t)flags;
	if (preempt_place(trace, t->place)->runs != task ||
	    (t->has_pending && (flags & RECORD_SLEEPS))) {
		preempt_add_due(trace, task);
	}
}

static void on_in(struct shard *shard, struct preempt_trace *trace, uint32_t task,
		  const struct ordered *ordered)
{
	put_on(shard, trace, task, ordered->words[0], ordered->ts,
	       ordered->words[1] == ordered->ts);
	if (ordered->words[1] != 0) {
		set_out(trace, task, ordered->words[1], ordered->words[2]);
	}
	if (++trace->switches % FOLD_EVERY == 0) {
		preempt_settle_all(shard, trace, ordered->ts);
		shard_pair_fold(shard, PAIRS);
	}
}

static void on_out(struct shard *shard, struct preempt_trace *trace, uint32_t task,
		   const struct ordered *ordered)
{
	uint32_t place = preempt_place_of(trace, ordered->words[0]);
	const struct task *t = preempt_task(trace, task);

	if (t->phase != TASK_RUNS || t->place != place) {
		const struct place *p = preempt_place(trace, place);

		/* It was seen on another CPU since, as if events were missing: NOTE_IN may have
		 * told the same, which is forgotten then. */
		if (p->runs == NO_TASK && p->is_idle) {
			return;
		}
		/* Its switch in was not traced. */
		put_on(shard, trace, task, ordered->words[0], ordered->ts, false);
	} else if (preempt_place(trace, place)->runs == task) {
		preempt_undo(trace, place, ordered->ts);
	}
	set_out(trace, task, ordered->ts, ordered->words[1]);
}

/* ---- wake-ups ---- */

/* Where it will wait; a wake-up that does not tell leaves it where it was. */
static uint32_t target_of(struct preempt_trace *trace, uint32_t task, uint64_t cpu)
{
	uint32_t last = preempt_task(trace, task)->place;

	return cpu == UINT64_MAX && last != NO_PLACE ? last : preempt_place_of(trace, cpu);
}

static void move(struct shard *shard, struct preempt_trace *trace, uint32_t task, uint32_t place,
		 uint64_t ts)
{
	if (preempt_task(trace, task)->place != place) {
		preempt_leave(shard, trace, task, ts);
		preempt_join(shard, trace, task, place, ts);
	}
}

static void on_wake(struct shard *shard, struct preempt_trace *trace, uint32_t task,
		    const struct ordered *ordered)
{
	enum wake_kind kind = (enum wake_kind)ordered->words[0];
	uint32_t target = target_of(trace, task, ordered->words[2]);
	struct task *t = preempt_task(trace, task);

	switch ((enum task_phase)t->phase) {
	case TASK_RUNS:
		if (kind == WAKE_CONFIRMS) { /* it never left */
			t->has_pending = false;
		} else if (kind == WAKE_SOURCE &&
			   preempt_place(trace, t->place)->id != ordered->words[1]) {
			t->has_pending = true;
			t->target = target;
			if (t->has_out && (t->out_flags & RECORD_SLEEPS)) {
				preempt_add_due(trace, task);
			}
		}
		break;
	case TASK_WAITS:
		if (kind != WAKE_SOURCE) { /* the kernel has chosen its CPU */
			move(shard, trace, task, target, ordered->ts);
		}
		break;
	case TASK_OTHER:
		if (kind != WAKE_CONFIRMS) {
			preempt_join(shard, trace, task, target, ordered->ts);
		}
		break;
	}
}

/* ---- threads ---- */

static uint32_t on_fork(struct shard *shard, struct preempt_trace *trace, uint32_t task,
			const struct ordered *ordered)
{
	int32_t tid = preempt_task(trace, task)->tid;

	preempt_end_task(shard, trace, task); /* another thread had the tid */
	task = preempt_task_of(shard, trace, tid);
	preempt_join(shard, trace, task, preempt_place_of(trace, ordered->words[0]), ordered->ts);
	return task;
}

/* A thread took the tid of its process' leader.  After a gap this also tells who runs. */
static uint32_t on_exec(struct shard *shard, struct preempt_trace *trace, uint32_t task,
			const struct ordered *ordered)
{
	uint32_t place = preempt_place_of(trace, ordered->words[0]), leader = task;
	uint64_t former = (uint32_t)ordered->words[1];
	khint_t at = kh_get(preempt_indexes, trace->by_tid, former);
	const struct place *p;
	int is_new;

	if (at != kh_end(trace->by_tid) && kh_value(trace->by_tid, at) != leader) {
		task = kh_value(trace->by_tid, at);
		kh_del(preempt_indexes, trace->by_tid, at);
		preempt_task(trace, task)->tid = preempt_task(trace, leader)->tid;
		preempt_end_task(shard, trace, leader);
		at = kh_put(preempt_indexes, trace->by_tid,
			    (uint64_t)(uint32_t)preempt_task(trace, task)->tid, &is_new);
		kh_value(trace->by_tid, at) = task;
	}
	p = preempt_place(trace, place);
	if (p->id != UINT64_MAX && p->runs == NO_TASK && !p->is_idle) {
		put_on(shard, trace, task, ordered->words[0], ordered->ts, false);
	}
	return task;
}

static void on_initial_cpu(struct shard *shard, struct preempt_trace *trace,
			   const struct ordered *ordered)
{
	int32_t tid = (int32_t)ordered->words[1];

	if (tid != 0) {
		put_on(shard, trace, preempt_task_of(shard, trace, tid), ordered->words[0],
		       ordered->ts, false);
	} else {
		preempt_run(shard, trace, preempt_place_of(trace, ordered->words[0]), NO_TASK, true,
			    ordered->ts);
	}
}

/* ---- what is missing ---- */

static void lose_place(struct shard *shard, struct preempt_trace *trace, uint32_t place,
		       uint64_t ts)
{
	preempt_run(shard, trace, place, NO_TASK, false, ts);
}

static void lose_all(struct shard *shard, struct preempt_trace *trace, uint64_t ts)
{
	for (uint32_t i = 0; i < trace->places.count; i++) {
		lose_place(shard, trace, i, ts);
	}
	for (uint32_t i = 0; i < trace->tasks.count; i++) {
		if (preempt_task(trace, i)->member != 0) {
			take_away(shard, trace, i, ts);
			preempt_task(trace, i)->has_pending = false;
		}
	}
}

/* ---- all ---- */

static uint32_t on_note(struct shard *shard, struct preempt_trace *trace, uint32_t task,
			const struct ordered *ordered)
{
	switch ((enum note)ordered->kind) {
	case NOTE_IN:
		on_in(shard, trace, task, ordered);
		break;
	case NOTE_OUT:
		on_out(shard, trace, task, ordered);
		break;
	case NOTE_WAKE:
		on_wake(shard, trace, task, ordered);
		break;
	case NOTE_FORK:
		return on_fork(shard, trace, task, ordered);
	case NOTE_EXEC:
		return on_exec(shard, trace, task, ordered);
	case NOTE_MIGRATE:
		if (preempt_task(trace, task)->phase == TASK_WAITS) {
			move(shard, trace, task, preempt_place_of(trace, ordered->words[0]),
			     ordered->ts);
		}
		break;
	default: /* NOTE_INITIAL: it is linked */
		break;
	}
	return task;
}

void preempt_on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct preempt_trace *trace = state;
	int32_t tid = shard_tid(ordered->thread);
	struct task *t;
	uint32_t task;

	preempt_begin(trace);
	preempt_advance(shard, trace, ordered->ts);
	switch ((enum note)ordered->kind) {
	case NOTE_INITIAL_CPU:
		on_initial_cpu(shard, trace, ordered);
		return;
	case NOTE_LOST:
		lose_place(shard, trace, preempt_place_of(trace, ordered->words[0]), ordered->ts);
		return;
	case NOTE_LOSE:
		lose_all(shard, trace, ordered->ts);
		return;
	default:
		break;
	}
	task = preempt_task_of(shard, trace, tid);
	if (preempt_task(trace, task)->phase == TASK_RUNS) { /* or has it left? */
		preempt_settle(shard, trace, preempt_task(trace, task)->place, ordered->ts);
		task = preempt_task_of(shard, trace, tid); /* it may have ended */
	}
	task = on_note(shard, trace, task, ordered);
	t = preempt_task(trace, task);
	t->left_out = ordered->left_out;
	t->member = shard_pair_link(shard, t->member, ordered->thread);
}

/* ---- states ---- */

void preempt_on_window_end(struct shard *shard, void *state, uint64_t end)
{
	struct preempt_trace *trace = state;

	preempt_advance(shard, trace, end);
	preempt_settle_all(shard, trace, end);
}

void preempt_on_trace_forget(void *state)
{
	struct preempt_trace *trace = state;

	for (size_t i = 0; i < trace->places.count; i++) {
		vec_fini(&trace->places.at[i].queue);
	}
	vec_fini(&trace->places);
	vec_fini(&trace->tasks);
	vec_fini(&trace->free);
	vec_fini(&trace->due);
	if (trace->by_tid) {
		kh_destroy(preempt_indexes, trace->by_tid);
		kh_destroy(preempt_indexes, trace->by_cpu);
	}
}

static void task_codec(const struct checkpoint *checkpoint, struct preempt_trace *trace,
		       struct task *task)
{
	struct codec *codec = checkpoint->codec;

	codec_i32(codec, &task->tid);
	codec_u32(codec, &task->member);
	codec_u32(codec, &task->place);
	codec_u32(codec, &task->target);
	codec_u64(codec, &task->joined);
	codec_u64(codec, &task->out_ts);
	codec_u16(codec, &task->out_flags);
	codec_u8(codec, &task->phase);
	codec_u8(codec, &task->left_out);
	codec_bool(codec, &task->has_out);
	codec_bool(codec, &task->has_pending);
	codec_bool(codec, &task->is_due);
	(void)codec_check(codec,
			  task->phase <= TASK_WAITS &&
				  (task->place < trace->places.count ||
				   (task->place == NO_PLACE && task->phase == TASK_OTHER)) &&
				  (!task->has_pending || task->target < trace->places.count) &&
				  (!task->is_due || task->phase == TASK_RUNS));
}

/* Tasks in use come without holes, so that no list of free ones is needed. */
static void tasks_codec(const struct checkpoint *checkpoint, struct preempt_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	size_t count = codec_count(codec, trace->tasks.count, 40);

	for (uint32_t i = 0; i < count && codec_check(codec, true); i++) {
		struct task *task = codec_at(codec, &trace->tasks, i);
		int is_new = 1;
		khint_t at;

		task_codec(checkpoint, trace, task);
		if (!codec_reads(codec) || !codec_check(codec, true)) {
			continue;
		}
		if (task->member == 0) {
			*vec_push(&trace->free) = i;
			continue;
		}
		at = kh_put(preempt_indexes, trace->by_tid, (uint64_t)(uint32_t)task->tid, &is_new);
		kh_value(trace->by_tid, at) = i;
		(void)codec_check(codec,
				  is_new && shard_pair_claim(checkpoint->shard, task->member));
		if (task->is_due) {
			*vec_push(&trace->due) = i;
		}
	}
}

/* Who runs and who waits there, once tasks are known: each task is in one place at most. */
static void queues_codec(struct codec *codec, struct preempt_trace *trace)
{
	size_t waiting = 0, listed = 0;

	for (uint32_t i = 0; i < trace->places.count && codec_check(codec, true); i++) {
		struct place *place = &trace->places.at[i];
		size_t count;

		codec_u64(codec, &place->before_since);
		codec_u32(codec, &place->before);
		place->before = place->before < trace->tasks.count ? place->before : NO_TASK;
		codec_u32(codec, &place->runs);
		if (!codec_check(codec, place->runs == NO_TASK ||
						(place->runs < trace->tasks.count &&
						 trace->tasks.at[place->runs].phase == TASK_RUNS &&
						 trace->tasks.at[place->runs].place == i))) {
			place->runs = NO_TASK;
		}
		count = codec_count(codec, place->queue.count, 4);
		for (size_t k = 0; k < count && codec_check(codec, true); k++) {
			uint32_t *task = codec_at(codec, &place->queue, k);

			codec_u32(codec, task);
			listed++;
			(void)codec_check(codec,
					  *task < trace->tasks.count &&
						  trace->tasks.at[*task].member != 0 &&
						  trace->tasks.at[*task].phase == TASK_WAITS &&
						  trace->tasks.at[*task].place == i);
		}
	}
	for (size_t i = 0; i < trace->tasks.count; i++) {
		waiting += trace->tasks.at[i].member != 0 && trace->tasks.at[i].phase == TASK_WAITS;
	}
	(void)codec_check(codec, waiting == listed);
}

void preempt_on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct preempt_trace *trace = state;
	struct codec *codec = checkpoint->codec;
	size_t count = codec_count(codec, trace->places.count, 25);

	preempt_begin(trace);
	codec_u64(codec, &trace->now);
	codec_u64(codec, &trace->switches);
	for (uint32_t i = 0; i < count && codec_check(codec, true); i++) {
		struct place *place = codec_at(codec, &trace->places, i);
		int is_new = 1;
		khint_t at;

		codec_u64(codec, &place->id);
		codec_u64(codec, &place->charged);
		codec_u64(codec, &place->since);
		codec_bool(codec, &place->is_idle);
		if (codec_reads(codec)) {
			place->runs = place->before = NO_TASK;
			at = kh_put(preempt_indexes, trace->by_cpu, place->id, &is_new);
			kh_value(trace->by_cpu, at) = i;
		}
		(void)codec_check(codec, is_new && place->since <= place->charged);
	}
	tasks_codec(checkpoint, trace);
	queues_codec(codec, trace);
}
