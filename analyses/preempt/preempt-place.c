/*
 * preempt-place: see preempt.h; who runs on each CPU, who waits for it, and the pairs that come of
 * that.
 *
 *     CPU    A ────────── idle ── B ─────────────
 *     queue     W ─────────────────────┤ (W moves to another CPU)
 *     pairs     W by A    W by     W by B
 *                         idle
 *
 * A place is charged up to a time: what its threads waited until then is in pairs.  It is charged
 * when something changes there, and when a window ends.  An overlap is counted where its first part
 * is charged.
 *
 * Several threads may come and leave at one time, and the order of that is not known here.  It need
 * not be: who came more often than it left stays.  Who ran there before is one who came.  Switches
 * that are missing from that time on make the CPU unknown, unless they were missing before all
 * that: then NOTE_FOUND is there, too.
 */

#include "analyses/preempt/preempt.h"
#include "base/check.h"
#include "engine/contract/untrusted.h"

#define FOLD_EVERY 16384 /* so often, in switches, pairs are bounded */
#define NO_END     UINT64_MAX

/* The place of a CPU, made when new.  Pointers to others are invalid then. */
static struct preempt_place *place_of(struct preempt_trace *trace, uint64_t cpu)
{
	bool is_new;
	uint32_t *at;

	if (cpu < LOW_CPUS && trace->low[cpu] != 0) {
		return &trace->places.at[trace->low[cpu] - 1];
	}
	at = preempt_indexes_put(&trace->by_cpu, cpu, &is_new);
	if (is_new) {
		*at = (uint32_t)trace->places.count;
		*vec_push(&trace->places) =
			(struct preempt_place){ .id = cpu, .until = NO_END, .runs = PAIR_UNKNOWN };
	}
	if (cpu < LOW_CPUS) {
		trace->low[cpu] = *at + 1;
	}
	return &trace->places.at[*at];
}

/* ---- pairs ---- */

/* The waiter and who runs there did so from @from to @end. */
static void add_overlap(struct shard *shard, const struct preempt_place *place,
			const struct waiter *waiter, uint64_t from, uint64_t end)
{
	uint64_t since = place->since > waiter->since ? place->since : waiter->since;
	uint64_t *row, *totals;

	assert_hot(since <= from && from < end);
	shard_leave_out(shard, waiter->left_out, place->id);
	totals = shard_trace_row(shard, TOTALS);
	totals[WAITED] += end - from;
	totals[WAITED_IDLE] += place->runs == PAIR_IDLE ? end - from : 0;
	totals[WAITED_UNKNOWN] += place->runs == PAIR_UNKNOWN ? end - from : 0;
	row = shard_pair_row(shard, PAIRS, waiter->member, place->runs);
	row[PAIR_WAITED] += end - from;
	row[PAIR_TIMES] += from == since;
	column_raise(row, PAIR_LONGEST, end - since);
}

/* The same thread runs there from place->charged to @end. */
static void charge_until(struct shard *shard, const struct preempt_place *place,
			 const struct waiter *waiter, uint64_t end)
{
	uint64_t from = waiter->since > place->charged ? waiter->since : place->charged;

	if (from < end) {
		add_overlap(shard, place, waiter, from, end);
	}
}

static void charge_part(struct shard *shard, struct preempt_place *place, uint64_t end)
{
	for (size_t i = 0; i < place->queue.count; i++) {
		charge_until(shard, place, &place->queue.at[i], end);
	}
	place->charged = end;
}

/* ---- moments ---- */

/* From @ts on @member runs there. */
static void run(struct shard *shard, struct preempt_place *place, uint32_t member, uint64_t ts,
		uint64_t until)
{
	shard_pair_use(shard, member);
	shard_pair_release(shard, place->runs);
	place->runs = member;
	place->since = ts;
	place->until = until;
}

static struct moved *moved_of(struct shard *shard, struct moment *moment, uint32_t member)
{
	for (size_t i = 0; i < moment->moved.count; i++) {
		if (moment->moved.at[i].member == member) {
			return &moment->moved.at[i];
		}
	}
	shard_pair_use(shard, member);
	*vec_push(&moment->moved) = (struct moved){ .until = NO_END, .member = member };
	return &moment->moved.at[moment->moved.count - 1];
}

/* Who runs there once the moment is over, of those that came or left; NULL: none of them. */
static const struct moved *who_stays(const struct preempt_place *place)
{
	const struct moment *moment = &place->moment;
	bool was_there = place->until > place->charged && !moment->is_lost;
	const struct moved *came = NULL, *before = NULL;

	for (size_t i = 0; i < moment->moved.count; i++) {
		const struct moved *moved = &moment->moved.at[i];

		if (moved->member == place->runs) {
			before = moved;
		} else if (moved->times > 0) {
			came = moved;
		} else if (moved->times < 0) {
			was_there = false; /* switches are missing: that one was there */
		}
	}
	return !came && before && before->times + was_there > 0 ? before : came;
}

static void empty_moment(struct shard *shard, struct moment *moment)
{
	for (size_t i = 0; i < moment->moved.count; i++) {
		shard_pair_release(shard, moment->moved.at[i].member);
	}
	shard_pair_release(shard, moment->seen);
	moment->moved.count = 0;
	moment->seen = 0;
	moment->is_open = moment->has_switched = moment->is_lost = moment->is_found = false;
}

/* The moment is over: from then on somebody runs there. */
static void end_moment(struct shard *shard, struct preempt_place *place)
{
	struct moment *moment = &place->moment;
	uint64_t ts = place->charged;
	const struct moved *stays = moment->has_switched ? who_stays(place) : NULL;

	if (moment->is_lost && !moment->is_found) {
		if (place->runs != PAIR_UNKNOWN || moment->has_switched) {
			run(shard, place, PAIR_UNKNOWN, ts, NO_END);
		}
	} else if (stays) {
		run(shard, place, stays->member, ts, stays->until);
	} else if (moment->seen != 0 && (place->runs == PAIR_UNKNOWN || moment->is_lost)) {
		run(shard, place, moment->seen, ts, moved_of(shard, moment, moment->seen)->until);
	} else if (moment->has_switched || moment->is_found || place->until == ts) {
		run(shard, place, PAIR_IDLE, ts, NO_END);
	}
	empty_moment(shard, moment);
}

/* Accounts for the queue of the place up to @end. */
static void charge(struct shard *shard, struct preempt_place *place, uint64_t end)
{
	if (end <= place->charged) {
		return;
	}
	if (place->moment.is_open) {
		end_moment(shard, place);
	}
	if (place->until < end) {
		charge_part(shard, place, place->until);
		run(shard, place, PAIR_IDLE, place->until, NO_END);
	}
	charge_part(shard, place, end);
}

static void charge_all(struct shard *shard, struct preempt_trace *trace, uint64_t end)
{
	for (size_t i = 0; i < trace->places.count; i++) {
		charge(shard, &trace->places.at[i], end);
	}
}

/* What happens there now. */
static struct moment *moment_at(struct shard *shard, struct preempt_place *place, uint64_t ts)
{
	charge(shard, place, ts);
	place->moment.is_open = true;
	return &place->moment;
}

/* ---- queues ---- */

static void remove_waiter(struct shard *shard, struct preempt_place *place, size_t at)
{
	shard_pair_release(shard, place->queue.at[at].member);
	place->queue.at[at] = place->queue.at[--place->queue.count];
}

/* Accounts for one of the queue up to @ts; for all, if somebody else runs there by then. */
static void charge_waiter(struct shard *shard, struct preempt_place *place,
			  const struct waiter *waiter, uint64_t ts)
{
	if (ts > place->charged && place->moment.is_open) {
		end_moment(shard, place);
	}
	if (place->until < ts) {
		charge(shard, place, ts);
	} else {
		charge_until(shard, place, waiter, ts);
	}
}

static void leave(struct shard *shard, struct preempt_place *place, uint32_t member, uint64_t ts)
{
	for (size_t i = 0; i < place->queue.count; i++) {
		if (place->queue.at[i].member == member) {
			charge_waiter(shard, place, &place->queue.at[i], ts);
			remove_waiter(shard, place, i);
			return;
		}
	}
}

/* What was before it came does not concern it. */
static void join(struct shard *shard, struct preempt_place *place, const struct waiter *waiter,
		 uint64_t ts)
{
	if (waiter->since < ts) {
		charge(shard, place, ts);
	}
	shard_pair_use(shard, waiter->member);
	*vec_push(&place->queue) = *waiter;
}

/* Another thread has the tid: who had it before is gone. */
static void leave_former(struct shard *shard, struct preempt_trace *trace, int32_t tid,
			 uint32_t member, uint64_t ts)
{
	for (size_t p = 0; p < trace->places.count; p++) {
		struct preempt_place *place = &trace->places.at[p];

		for (size_t i = place->queue.count; i-- > 0;) {
			if (place->queue.at[i].tid == tid && place->queue.at[i].member != member) {
				charge(shard, place, ts);
				remove_waiter(shard, place, i);
			}
		}
	}
}

/* ---- ordered events ---- */

static void on_hole(struct shard *shard, struct preempt_trace *trace, uint64_t ts)
{
	for (size_t p = 0; p < trace->places.count; p++) {
		struct preempt_place *place = &trace->places.at[p];
		struct moment *moment = moment_at(shard, place, ts);

		moment->is_lost = true;
		moment->is_found = false;
		while (place->queue.count > 0) {
			remove_waiter(shard, place, place->queue.count - 1);
		}
	}
}

static void on_initial_cpu(struct shard *shard, struct preempt_place *place, bool is_idle,
			   uint64_t ts)
{
	charge(shard, place, ts);
	if (place->runs == PAIR_UNKNOWN && !place->moment.is_open) {
		run(shard, place,
		    is_idle               ? PAIR_IDLE
		    : place->initial != 0 ? place->initial
					  : PAIR_UNKNOWN,
		    ts, NO_END);
	}
	shard_pair_release(shard, place->initial);
	place->initial = 0;
}

/* @until: when it leaves again; 0: that is not known. */
static void on_in(struct shard *shard, struct preempt_trace *trace, struct preempt_place *place,
		  uint32_t member, uint64_t ts, uint64_t until)
{
	struct moment *moment = moment_at(shard, place, ts);

	moment->has_switched = true;
	if (until == 0 || until > ts) {
		struct moved *moved = moved_of(shard, moment, member);

		moved->times++;
		moved->until = until == 0 ? NO_END : until;
	}
	if (++trace->switches % FOLD_EVERY == 0) {
		charge_all(shard, trace, ts);
		shard_pair_fold(shard, PAIRS);
	}
}

/* It leaves now, or runs there until a later time. */
static void on_out(struct shard *shard, struct preempt_place *place, uint32_t member, uint64_t ts,
		   uint64_t until)
{
	struct moment *moment = moment_at(shard, place, ts);

	if (until <= ts) {
		moment->has_switched = true;
		moved_of(shard, moment, member)->times--;
	} else {
		moved_of(shard, moment, member)->until = until;
		place->until = place->runs == member && place->until > ts ? until : place->until;
	}
}

/* What is not about a thread; false: it is. */
static bool on_cpu_note(struct shard *shard, struct preempt_trace *trace,
			const struct ordered *ordered)
{
	struct preempt_place *place;

	switch ((enum note)ordered->kind) {
	case NOTE_HOLE:
		on_hole(shard, trace, trace->now);
		return true;
	case NOTE_INITIAL_CPU:
		place = place_of(trace, ordered->words[WORD_CPU]);
		on_initial_cpu(shard, place, ordered->words[1] != 0, trace->now);
		return true;
	case NOTE_LOST:
		place = place_of(trace, ordered->words[WORD_CPU]);
		moment_at(shard, place, trace->now)->is_lost = true;
		return true;
	case NOTE_FOUND:
		place = place_of(trace, ordered->words[WORD_CPU]);
		moment_at(shard, place, trace->now)->is_found = true;
		return true;
	default:
		return false;
	}
}

static void on_thread_note(struct shard *shard, struct preempt_trace *trace,
			   const struct ordered *ordered, uint32_t member)
{
	struct preempt_place *place;
	struct moment *moment;

	switch ((enum note)ordered->kind) {
	case NOTE_INITIAL:
		place = place_of(trace, ordered->words[WORD_CPU]);
		shard_pair_use(shard, member);
		shard_pair_release(shard, place->initial);
		place->initial = member;
		break;
	case NOTE_IN:
		place = place_of(trace, ordered->words[WORD_CPU]);
		on_in(shard, trace, place, member, trace->now, ordered->words[WORD_OUT]);
		break;
	case NOTE_OUT:
		place = place_of(trace, ordered->words[WORD_CPU]);
		on_out(shard, place, member, trace->now, ordered->words[WORD_OUT]);
		break;
	case NOTE_SEEN:
		moment = moment_at(shard, place_of(trace, ordered->words[WORD_CPU]), trace->now);
		shard_pair_use(shard, member);
		shard_pair_release(shard, moment->seen);
		moment->seen = member;
		break;
	case NOTE_FORK:
	case NOTE_EXEC:
		leave_former(shard, trace, shard_tid(ordered->thread), member, trace->now);
		break;
	default: /* NOTE_WAIT: what all of them may have */
		break;
	}
}

void preempt_on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct preempt_trace *trace = state;
	uint32_t member;

	trace->now = ordered->ts > trace->now ? ordered->ts : trace->now;
	if (on_cpu_note(shard, trace, ordered)) {
		return;
	}
	member = shard_pair_member(shard, ordered->thread);
	on_thread_note(shard, trace, ordered, member);
	if (ordered->words[WORD_FLAGS] & NOTE_LEAVES) {
		leave(shard, place_of(trace, ordered->words[WORD_FROM]), member, trace->now);
	}
	if (ordered->words[WORD_FLAGS] & NOTE_JOINS) {
		join(shard, place_of(trace, ordered->words[WORD_TO]),
		     &(struct waiter){ .since = ordered->words[WORD_SINCE],
				       .member = member,
				       .tid = shard_tid(ordered->thread),
				       .left_out = ordered->left_out },
		     trace->now);
	}
}

/* ---- states ---- */

void preempt_on_window_end(struct shard *shard, void *state, uint64_t end)
{
	struct preempt_trace *trace = state;

	trace->now = end > trace->now ? end : trace->now;
	charge_all(shard, trace, end);
}

void preempt_on_trace_forget(void *state)
{
	struct preempt_trace *trace = state;

	for (size_t i = 0; i < trace->places.count; i++) {
		vec_fini(&trace->places.at[i].queue);
		vec_fini(&trace->places.at[i].moment.moved);
	}
	vec_fini(&trace->places);
	preempt_indexes_fini(&trace->by_cpu);
}

/* A member that somebody needs, if it is a thread. */
static void member_codec(const struct checkpoint *checkpoint, uint32_t *member)
{
	codec_u32(checkpoint->codec, member);
	if (codec_reads(checkpoint->codec) && *member >= PAIR_FIRST &&
	    !codec_check(checkpoint->codec, shard_pair_claim(checkpoint->shard, *member))) {
		*member = PAIR_UNKNOWN;
	}
}

static void moment_codec(const struct checkpoint *checkpoint, struct moment *moment)
{
	struct codec *codec = checkpoint->codec;
	size_t count = codec_count(codec, moment->moved.count, 16);

	codec_each(codec, &moment->is_open, &moment->has_switched, &moment->is_lost,
		   &moment->is_found);
	member_codec(checkpoint, &moment->seen);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct moved *moved = codec_at(codec, &moment->moved, i);

		codec_u64(codec, &moved->until);
		member_codec(checkpoint, &moved->member);
		codec_i32(codec, &moved->times);
		(void)codec_check(codec,
				  moved->times > INT32_MIN / 2 && moved->times < INT32_MAX / 2);
	}
}

static void queue_codec(const struct checkpoint *checkpoint, struct preempt_place *place)
{
	struct codec *codec = checkpoint->codec;
	size_t count = codec_count(codec, place->queue.count, 17);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct waiter *waiter = codec_at(codec, &place->queue, i);

		codec_u64(codec, &waiter->since);
		member_codec(checkpoint, &waiter->member);
		codec_each(codec, &waiter->tid, &waiter->left_out);
		(void)codec_check(codec, waiter->member >= PAIR_FIRST);
	}
}

void preempt_on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct preempt_trace *trace = state;
	struct codec *codec = checkpoint->codec;
	size_t count = codec_count(codec, trace->places.count, 52);

	codec_each(codec, &trace->now, &trace->switches);
	for (uint32_t i = 0; i < count && codec_check(codec, true); i++) {
		struct preempt_place *place = codec_at(codec, &trace->places, i);
		bool is_new = true;

		codec_each(codec, &place->id, &place->charged, &place->since, &place->until);
		member_codec(checkpoint, &place->runs);
		member_codec(checkpoint, &place->initial);
		moment_codec(checkpoint, &place->moment);
		queue_codec(checkpoint, place);
		if (codec_reads(codec)) {
			*preempt_indexes_put(&trace->by_cpu, place->id, &is_new) = i;
		}
		(void)codec_check(codec, is_new && place->since <= place->charged &&
						 place->charged <= place->until);
	}
}
