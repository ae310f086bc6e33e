/*
 * preempt-thread: see preempt.h; when a thread waits, and for which CPU.
 *
 * The phases are those of kernel/thread-phase.h, and depend on the thread's own records alone. What
 * they say of its wait goes to preempt-place.c, as soon as it is known: a wait may begin later than
 * the note of it, when a switch in tells of the switch out as well.
 */
#include "analyses/preempt/preempt.h"
#include "base/check.h"
#include "engine/contract/untrusted.h"

/* ---- notes ---- */

/* It waits no more, if it did. */
static void leave(struct preempt_thread *t, struct ordered *note)
{
	if (t->is_waiting) {
		note->words[WORD_FLAGS] |= NOTE_LEAVES;
		note->words[WORD_FROM] = t->queue;
	}
	t->is_waiting = false;
}

static void join(struct preempt_thread *t, struct ordered *note, uint64_t queue, uint64_t since)
{
	assert_hot(!t->is_waiting);
	t->is_waiting = true;
	t->queue = queue;
	note->words[WORD_FLAGS] |= NOTE_JOINS;
	note->words[WORD_TO] = queue;
	note->words[WORD_SINCE] = since;
}

static void move(struct shard *shard, struct thread *thread, struct preempt_thread *t,
		 uint64_t queue, uint64_t ts)
{
	struct ordered *note = shard_note_ordered(shard, thread, ts, NOTE_WAIT);

	leave(t, note);
	join(t, note, queue, ts);
	t->phase.cpu = queue;
	t->has_cpu = true;
}

/* ---- switches ---- */

/* Time has come to @ts. */
static void come_to(struct preempt_thread *t, uint64_t ts)
{
	if (thread_phase_until(&t->phase, ts) && t->is_waiting) {
		t->phase.cpu = t->queue;
	}
}

/* It will leave its CPU: it waits from then on, if it could have gone on or was woken. */
static void set_out(struct preempt_thread *t, struct ordered *note, uint64_t ts, uint16_t flags)
{
	bool sleeps = flags & RECORD_SLEEPS, dies = flags & RECORD_DEAD;

	thread_phase_out(&t->phase, ts, sleeps, dies);
	if (!dies && (!sleeps || t->phase.has_pending)) {
		join(t, note, sleeps ? t->target : t->phase.cpu, ts);
	}
}

/* It is on the CPU. */
static void set_running(struct preempt_thread *t, uint64_t ts, uint64_t cpu)
{
	*t = (struct preempt_thread){ .has_cpu = true };
	thread_phase_in(&t->phase, ts, cpu);
}

void preempt_on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);
	struct ordered *note;

	if (shard_tid(thread) <= 0) {
		return;
	}
	come_to(t, in->ts);
	note = shard_note_ordered(shard, thread, in->ts, NOTE_IN);
	note->words[WORD_CPU] = in->cpu;
	note->words[WORD_OUT] = in->out_ts;
	leave(t, note);
	set_running(t, in->ts, in->cpu);
	t->is_told = in->out_ts != 0;
	if (t->is_told) {
		set_out(t, note, in->out_ts, in->out_flags);
	}
}

void preempt_on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);
	uint64_t cpu = shard_source_cpu(shard);
	struct ordered *note;

	if (shard_tid(thread) <= 0) {
		return;
	}
	if (t->is_told) {
		t->is_told = false;
		return;
	}
	note = shard_note_ordered(shard, thread, out->known_ts, NOTE_OUT);
	note->words[WORD_CPU] = cpu;
	note->words[WORD_OUT] = out->ts;
	if (!out->is_tie) {
		leave(t, note); /* its switch in was not seen */
		t->phase.cpu = cpu;
		t->has_cpu = true;
		set_out(t, note, out->ts, out->flags);
	}
}

/* ---- wake-ups ---- */

static uint64_t cpu_id(int32_t cpu)
{
	return cpu < 0 ? UINT64_MAX : (uint64_t)cpu;
}

/* A wake-up from another CPU: the thread is about to sleep, or the switch out is not traced yet; or
 * another event shows that it never left. */
static void wake_running(struct shard *shard, struct thread *thread, struct preempt_thread *t,
			 uint64_t ts, uint64_t target)
{
	t->target = target;
	if (t->phase.has_out && t->phase.out_sleeps && !t->phase.out_dies) {
		struct ordered *note = shard_note_ordered(shard, thread, ts, NOTE_WAIT);

		leave(t, note);
		if (t->phase.has_pending) {
			join(t, note, target, t->phase.out_ts);
		}
	}
}

static void on_wake(struct shard *shard, struct thread *thread, struct preempt_thread *t,
		    const struct record *record)
{
	uint64_t target = record->arg32 < 0 && t->has_cpu ? t->phase.cpu : cpu_id(record->arg32);
	const struct phase_wake wake = { .ts = record->ts,
					 .cpu = record->arg64,
					 .kind = (enum wake_kind)record->arg16 };

	switch (thread_phase_wake(&t->phase, &wake)) {
	case WOKEN:
	case WOKEN_NEW:
		move(shard, thread, t, target, record->ts);
		break;
	case WOKEN_RACE:
	case WOKEN_STAYED:
		wake_running(shard, thread, t, record->ts, target);
		break;
	case WOKEN_NOT:
		if (wake.kind != WAKE_SOURCE && thread_phase_waits(&t->phase) &&
		    t->queue != target) {
			move(shard, thread, t, target, record->ts); /* the kernel has chosen */
		}
		break;
	}
}

/* ---- other records ---- */

void preempt_on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		       struct thread *thread)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);
	enum own_record kind = (enum own_record)record->kind;

	(void)numbers;
	if (kind == OWN_LOST || kind == OWN_FOUND) { /* about a CPU */
		shard_note_ordered(shard, thread, record->ts,
				   kind == OWN_LOST ? NOTE_LOST : NOTE_FOUND)
			->words[WORD_CPU] = record->arg64;
		return;
	}
	if (shard_tid(thread) <= 0) {
		return;
	}
	come_to(t, record->ts);
	if (kind == OWN_WAKE) {
		on_wake(shard, thread, t, record);
	} else if (kind == OWN_EXEC) { /* who had the tid before is gone */
		(void)shard_note_ordered(shard, thread, record->ts, NOTE_EXEC);
	} else if (thread_phase_waits(&t->phase) && t->queue != cpu_id(record->arg32)) {
		move(shard, thread, t, cpu_id(record->arg32), record->ts);
	}
}

/* It is told before all others, so that the thread has its place when NOTE_INITIAL_CPU comes. */
void preempt_on_initial_thread(struct shard *shard, struct thread *thread, uint64_t cpu)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);

	if (shard_tid(thread) <= 0) {
		return;
	}
	shard_note_ordered(shard, thread, 0, NOTE_INITIAL)->words[WORD_CPU] = cpu;
	if (!t->is_waiting) {
		set_running(t, 0, cpu);
	}
}

void preempt_on_initial_cpu(struct shard *shard, struct thread *unknown, uint64_t cpu, int32_t tid,
			    uint64_t ts)
{
	struct ordered *note = shard_note_ordered(shard, unknown, ts, NOTE_INITIAL_CPU);

	note->words[WORD_CPU] = cpu;
	note->words[1] = tid == 0;
}

void preempt_on_fork(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);
	uint64_t cpu = shard_source_cpu(shard);

	if (shard_tid(thread) > 0) {
		join(t, shard_note_ordered(shard, thread, ts, NOTE_FORK), cpu, ts);
		thread_phase_set(&t->phase, ts, PHASE_NEW);
		t->phase.cpu = cpu;
		t->has_cpu = true;
	}
}

void preempt_on_seen(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);
	uint64_t cpu = shard_source_cpu(shard);
	struct ordered *note;

	if (shard_tid(thread) <= 0) {
		return;
	}
	note = shard_note_ordered(shard, thread, ts, NOTE_SEEN);
	note->words[WORD_CPU] = cpu;
	come_to(t, ts);
	if (!thread_phase_runs(&t->phase)) {
		leave(t, note); /* its switch in was not seen */
		set_running(t, ts, cpu);
	}
}

/* Who waits did not run where events are lost. */
void preempt_on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);

	if (what & DOUBT_HOLE) {
		*t = (struct preempt_thread){ .phase.cpu = t->phase.cpu, .has_cpu = t->has_cpu };
		(void)shard_note_ordered(shard, thread, ts, NOTE_HOLE);
	} else if ((what & DOUBT_SWITCHES) && !t->is_waiting) {
		thread_phase_lose(&t->phase);
	}
}

void preempt_on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct preempt_thread *t = state;

	thread_phase_codec(codec, &t->phase);
	codec_each(codec, &t->queue, &t->target, &t->has_cpu, &t->is_waiting, &t->is_told);
}
