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

/* Where it waits once it has left its CPU, with these flags; false: it does not. */
static bool will_wait(const struct preempt_thread *t, uint16_t flags, uint64_t *ret_queue)
{
	bool sleeps = flags & RECORD_SLEEPS;

	*ret_queue = sleeps ? t->target : t->phase.cpu;
	return !(flags & RECORD_DEAD) && (!sleeps || t->phase.has_pending);
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
	uint64_t queue;

	if (shard_tid(thread) <= 0) {
		return;
	}
	note = shard_note_ordered(shard, thread, in->ts, NOTE_IN);
	note->words[WORD_CPU] = in->cpu;
	note->words[WORD_OUT] = in->out_ts;
	leave(t, note);
	set_running(t, in->ts, in->cpu);
	t->is_told = in->out_ts != 0;
	if (t->is_told && will_wait(t, in->out_flags, &queue)) {
		join(t, note, queue, in->out_ts);
	}
}

/* The note of a switch-out that the one of the switch-in did not have. */
static struct ordered *note_out(struct shard *shard, struct thread *thread,
				const struct switch_out *out)
{
	struct ordered *note = shard_note_ordered(shard, thread, out->ts, NOTE_OUT);

	note->words[WORD_CPU] = out->cpu;
	note->words[WORD_OUT] = out->ts;
	return note;
}

void preempt_on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);
	struct ordered *note = NULL;
	bool is_told = t->is_told && t->phase.cpu == out->cpu, waits;
	uint64_t queue;

	if (shard_tid(thread) <= 0) {
		return;
	}
	if (is_told) {
		t->is_told = false;
	} else { /* it moved there in the ns of its switch in, or that was in another chunk */
		note = note_out(shard, thread, out);
	}
	if (out->is_tie) {
		return;
	}
	waits = will_wait(t, out->flags, &queue);
	thread_phase_out(&t->phase, out->ts, out->flags & RECORD_SLEEPS, out->flags & RECORD_DEAD);
	if (waits && !t->is_waiting) {
		note = note ? note : shard_note_ordered(shard, thread, out->ts, NOTE_WAIT);
		join(t, note, queue, out->ts);
	}
	t->phase.cpu = t->is_waiting ? t->queue : t->phase.cpu;
}

/* ---- wake-ups ---- */

static uint64_t cpu_id(int32_t cpu)
{
	return cpu < 0 ? UINT64_MAX : (uint64_t)cpu;
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
		t->target = target;
		break;
	case WOKEN_STAYED:
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

	if (kind == OWN_LOST || kind == OWN_FOUND) { /* about a CPU */
		shard_note_ordered(shard, thread, record->ts,
				   kind == OWN_LOST ? NOTE_LOST : NOTE_FOUND)
			->words[WORD_CPU] = record->arg64;
		return;
	}
	if (shard_tid(thread) <= 0) {
		return;
	}
	if (kind == OWN_WAKE) {
		on_wake(shard, thread, t, record);
	} else if (kind == OWN_EXEC) { /* who had the tid before is gone */
		(void)shard_note_ordered(shard, thread, record->ts, NOTE_EXEC);
	} else if (thread_phase_waits(&t->phase) && t->queue != cpu_id(record->arg32)) {
		move(shard, thread, t, cpu_id(record->arg32), record->ts);
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

/* Who ran there first is noted before all others, so that the thread has its place when
 * NOTE_INITIAL_CPU comes.  What it leaves is noted with that. */
void preempt_on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		     enum seen how)
{
	static const uint8_t notes[] = {
		[SEEN_FIRST] = NOTE_INITIAL, [SEEN_RENAMED] = NOTE_SEEN, [SEEN_LEAVING] = NOTE_WAIT
	};
	struct preempt_thread *t = shard_thread_state(shard, thread);
	bool is_new = how == SEEN_FIRST ? !t->is_waiting : !thread_phase_runs(&t->phase);
	struct ordered *note;

	if (shard_tid(thread) <= 0) {
		return;
	}
	if (how != SEEN_LEAVING || (is_new && t->is_waiting)) {
		note = shard_note_ordered(shard, thread, how == SEEN_FIRST ? 0 : ts, notes[how]);
		note->words[WORD_CPU] = cpu;
		if (is_new) {
			leave(t, note); /* its switch in was not seen */
		}
	}
	if (is_new) {
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
