/*
 * preempt-thread: see preempt.h; when a thread waits, and for which CPU.
 *
 * The phases are those of sched (doc/definitions.md, 4.4), and depend on the thread's own records
 * alone.  What they say of its wait goes to preempt-place.c, as soon as it is known: a wait may
 * begin later than the note of it, when a switch in tells of the switch out as well.
 */
#include "analyses/preempt/preempt.h"
#include "base/check.h"
#include "engine/contract/untrusted.h"

/* READY: it is in a queue, whatever brought it there. */
enum thread_phase { UNKNOWN, RUNNING, BLOCKED, READY, DEAD };

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
	t->phase = READY;
	t->cpu = queue;
	t->has_cpu = true;
}

/* ---- switches ---- */

/* Its switch out was before @ts. */
static void apply_out(struct preempt_thread *t, uint64_t ts)
{
	if (t->phase != RUNNING || !t->has_out || ts <= t->out_ts) {
		return;
	}
	t->phase = t->out_flags & RECORD_DEAD ? DEAD : t->is_waiting ? READY : BLOCKED;
	t->cpu = t->is_waiting ? t->queue : t->cpu;
	t->has_out = t->has_pending = false;
}

/* It will leave its CPU: it waits from then on, if it could have gone on or was woken. */
static void set_out(struct preempt_thread *t, struct ordered *note, uint64_t ts, uint16_t flags)
{
	bool sleeps = flags & RECORD_SLEEPS;

	t->has_out = true;
	t->out_ts = ts;
	t->out_flags = flags;
	if (!(flags & RECORD_DEAD) && (!sleeps || t->has_pending)) {
		join(t, note, sleeps ? t->target : t->cpu, ts);
	}
}

void preempt_on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);
	struct ordered *note;

	if (shard_tid(thread) <= 0) {
		return;
	}
	apply_out(t, in->ts);
	note = shard_note_ordered(shard, thread, in->ts, NOTE_IN);
	note->words[WORD_CPU] = in->cpu;
	note->words[WORD_OUT] = in->out_ts;
	leave(t, note);
	*t = (struct preempt_thread){
		.phase = RUNNING, .cpu = in->cpu, .has_cpu = true, .is_told = in->out_ts != 0
	};
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
		t->has_pending &= t->phase == RUNNING;
		t->phase = RUNNING;
		t->cpu = cpu;
		t->has_cpu = true;
		set_out(t, note, out->ts, out->flags);
	}
}

/* ---- wake-ups ---- */

static uint64_t cpu_id(int32_t cpu)
{
	return cpu < 0 ? UINT64_MAX : (uint64_t)cpu;
}

/* A wake-up from another CPU: the thread is about to sleep, or the switch out is not traced yet. */
static void wake_running(struct shard *shard, struct thread *thread, struct preempt_thread *t,
			 const struct record *record, uint64_t target)
{
	bool is_source = record->arg16 == WAKE_SOURCE && record->arg64 != t->cpu;

	if (!is_source && (record->arg16 != WAKE_CONFIRMS || !t->has_pending)) {
		return;
	}
	t->has_pending = is_source; /* else it never left */
	t->target = target;
	if (t->has_out && (t->out_flags & RECORD_SLEEPS) && !(t->out_flags & RECORD_DEAD)) {
		struct ordered *note = shard_note_ordered(shard, thread, record->ts, NOTE_WAIT);

		leave(t, note);
		if (is_source) {
			join(t, note, target, t->out_ts);
		}
	}
}

static void on_wake(struct shard *shard, struct thread *thread, struct preempt_thread *t,
		    const struct record *record)
{
	uint64_t target = record->arg32 < 0 && t->has_cpu ? t->cpu : cpu_id(record->arg32);

	switch ((enum thread_phase)t->phase) {
	case RUNNING:
		wake_running(shard, thread, t, record, target);
		break;
	case READY:
		if (record->arg16 != WAKE_SOURCE && t->queue != target) {
			move(shard, thread, t, target, record->ts); /* the kernel has chosen */
		}
		break;
	case UNKNOWN:
	case BLOCKED:
		if (record->arg16 == WAKE_SOURCE ||
		    (record->arg16 == WAKE_NEW && t->phase == UNKNOWN)) {
			move(shard, thread, t, target, record->ts);
		}
		break;
	case DEAD:
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
	apply_out(t, record->ts);
	if (kind == OWN_WAKE) {
		on_wake(shard, thread, t, record);
	} else if (kind == OWN_EXEC) { /* who had the tid before is gone */
		(void)shard_note_ordered(shard, thread, record->ts, NOTE_EXEC);
	} else if (t->phase == READY && t->queue != cpu_id(record->arg32)) {
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
		*t = (struct preempt_thread){ .phase = RUNNING, .cpu = cpu, .has_cpu = true };
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
		t->phase = READY;
		t->cpu = cpu;
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
	apply_out(t, ts);
	if (t->phase != RUNNING) {
		leave(t, note); /* its switch in was not seen */
		*t = (struct preempt_thread){ .phase = RUNNING, .cpu = cpu, .has_cpu = true };
	}
}

/* Who waits did not run where events are lost. */
void preempt_on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct preempt_thread *t = shard_thread_state(shard, thread);

	if (what & DOUBT_HOLE) {
		*t = (struct preempt_thread){ .cpu = t->cpu, .has_cpu = t->has_cpu };
		(void)shard_note_ordered(shard, thread, ts, NOTE_HOLE);
	} else if ((what & DOUBT_SWITCHES) && !t->is_waiting) {
		t->phase = UNKNOWN;
		t->has_out = t->has_pending = false;
	}
}

void preempt_on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct preempt_thread *t = state;

	codec_u64(codec, &t->cpu);
	codec_u64(codec, &t->queue);
	codec_u64(codec, &t->target);
	codec_u64(codec, &t->out_ts);
	codec_u16(codec, &t->out_flags);
	codec_u8(codec, &t->phase);
	codec_bool(codec, &t->has_cpu);
	codec_bool(codec, &t->has_out);
	codec_bool(codec, &t->has_pending);
	codec_bool(codec, &t->is_waiting);
	codec_bool(codec, &t->is_told);
	(void)codec_check(codec, t->phase <= DEAD);
}
