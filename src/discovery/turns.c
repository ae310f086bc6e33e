/*
 * turns: see turns.h.
 */
#include "discovery/turns.h"

#include <assert.h>

#define PAUSES_MAX 64 /* different ones of a thread: who waits on more waits for no turn */
#define NEARLY     10 /* one of so many may differ */

/* Sleeps in a call, on one thing. */
struct pause {
	uint32_t entry; /* of the call; SEQUENCE_NO_TYPE: in none */
	uint64_t arg;
	size_t count, by_timer;
};

typedef VEC(struct pause) pause_list;

static struct pause *find_pause(pause_list *pauses, uint32_t entry, uint64_t arg)
{
	VEC_EACH(pauses, one) {
		if (one->entry == entry && one->arg == arg) {
			return one;
		}
	}
	if (pauses->count == PAUSES_MAX) {
		return NULL;
	}
	*vec_push(pauses) = (struct pause){ .entry = entry, .arg = arg };
	return &pauses->at[pauses->count - 1];
}

/* Whether a timer ended the sleep that begins at @ts. */
static bool is_timer(const struct deep_thread *thread, uint64_t ts, size_t *hint)
{
	size_t at = timeline_thread_near(thread, ts + 1, hint);

	return at != SIZE_MAX && thread->intervals.at[at].state == STATE_BLOCKED &&
	       thread->intervals.at[at].cause == CAUSE_TIMER;
}

static void add_sleep(pause_list *pauses, uint32_t entry, uint64_t arg, bool by_timer)
{
	struct pause *pause = find_pause(pauses, entry, arg);

	if (pause) {
		pause->count++;
		pause->by_timer += by_timer;
	}
}

/* By the call, and by the call and what it waits on. */
static void find_pauses(const struct sequences *sequences, const struct timeline *timeline,
			const struct sequence *sequence, pause_list *ret)
{
	const struct deep_thread *thread = timeline->threads.at[sequence->thread];
	uint32_t entry = SEQUENCE_NO_TYPE;
	uint64_t arg = SEQUENCE_ANY;
	size_t hint = 0;

	for (size_t i = 0; i < sequence->types.count; i++) {
		uint32_t type = sequence->types.at[i];
		bool is_timed;

		if (type >= TYPES_OWN && sequences->types.at[type].is_entry) {
			entry = type;
			arg = sequence->args.at[i];
		} else if (type >= TYPES_OWN && sequences->types.at[type].partner == entry) {
			entry = SEQUENCE_NO_TYPE;
			arg = SEQUENCE_ANY;
		} else if (type == TYPE_SLEEP) {
			is_timed = is_timer(thread, sequence->times.at[i], &hint);
			add_sleep(ret, entry, SEQUENCE_ANY, is_timed);
			if (arg != SEQUENCE_ANY) {
				add_sleep(ret, entry, arg, is_timed);
			}
		}
	}
}

/* ---- one turn ---- */

static size_t count_type(const struct sequence *sequence, uint32_t type, uint64_t arg)
{
	size_t count = 0;

	for (size_t i = 0; i < sequence->types.count; i++) {
		count += sequence->types.at[i] == type &&
			 (arg == SEQUENCE_ANY || sequence->args.at[i] == arg);
	}
	return count;
}

/* From the call's return to its entry. */
static void take_call(const struct sequences *sequences, const struct pause *pause,
		      struct turn *turn)
{
	uint32_t exit = sequences->types.at[pause->entry].partner;
	bool repeats = sequences->types.at[exit].arg;

	turn->parts[0] = (struct sequence_part){ exit, repeats ? pause->arg : SEQUENCE_ANY };
	turn->parts[1] = (struct sequence_part){ pause->entry, pause->arg };
	turn->count = 2;
}

/* From the wake-up, or the switch if wake-ups are not recorded, to the sleep. */
static void take_sleep(const struct sequence *sequence, struct turn *turn)
{
	static const uint32_t types[] = { TYPE_WOKEN, TYPE_IN, TYPE_SLEEP };

	for (size_t i = count_type(sequence, TYPE_WOKEN, SEQUENCE_ANY) > 0 ? 0 : 1;
	     i < ARRAY_COUNT(types); i++) {
		turn->parts[turn->count++] = (struct sequence_part){ types[i], SEQUENCE_ANY };
	}
}

/* False: it comes too rarely. */
static bool measure_turn(const struct sequence *sequence, struct turn *turn)
{
	uint64_t *begins, sum = 0;

	sequence_match(sequence, turn->parts, turn->count, &turn->windows);
	if (turn->windows.count < DISCOVERY_EXECUTIONS) {
		return false;
	}
	begins = mem_alloc(turn->windows.count * sizeof(*begins));
	for (size_t i = 0; i < turn->windows.count; i++) {
		begins[i] = sequence->times.at[turn->windows.at[i].first];
		sum += sequence->times.at[turn->windows.at[i].last] - begins[i];
	}
	turn->pace = pace_of(begins, turn->windows.count);
	turn->mean_ns = sum / turn->windows.count;
	free(begins);
	return true;
}

/* ---- one for each loop ---- */

bool turn_has(const struct turn *turn, const episode_windows *windows)
{
	const episode_windows *own = &turn->windows;
	size_t at = 0, once = 0;

	for (size_t i = 0; i < own->count; i++) {
		uint32_t end = i + 1 < own->count ? own->at[i + 1].first : UINT32_MAX;
		size_t in = 0;

		while (at < windows->count && windows->at[at].first < own->at[i].first) {
			at++;
		}
		while (at < windows->count && windows->at[at].first < end) {
			at++;
			in++;
		}
		once += in == 1;
	}
	return (once + 1) * NEARLY >= own->count * (NEARLY - 1) &&
	       windows->count * NEARLY <= own->count * (NEARLY + 1) + NEARLY;
}

/* Which of two turns of one loop, or of one call, tells its executions apart. */
static bool is_better_turn(const struct turn *a, const struct turn *b)
{
	if (a->is_timed != b->is_timed) {
		return a->is_timed;
	}
	if (a->parts[1].type == b->parts[1].type) {
		return a->pace.variation < b->pace.variation * 0.9;
	}
	return a->mean_ns < b->mean_ns;
}

static bool is_same_loop(const struct turn *a, const struct turn *b)
{
	return a->parts[1].type == b->parts[1].type || turn_has(a, &b->windows) ||
	       turn_has(b, &a->windows);
}

/* Takes the turn's windows. */
static void add_turn(turn_list *turns, struct turn turn)
{
	VEC_EACH(turns, one) {
		if (is_same_loop(one, &turn)) {
			struct turn worse = turn;

			if (is_better_turn(&turn, one)) {
				worse = *one;
				*one = turn;
			}
			vec_fini(&worse.windows);
			return;
		}
	}
	*vec_push(turns) = turn;
}

/* Whether the pause may be one between turns. */
static bool is_worth(const struct sequences *sequences, const struct sequence *sequence,
		     const struct pause *pause, size_t sleeps)
{
	size_t all, its;

	if (pause->count < DISCOVERY_EXECUTIONS) {
		return false;
	}
	if (pause->entry == SEQUENCE_NO_TYPE) {
		return pause->count * 2 > sleeps;
	}
	if (sequences->types.at[pause->entry].partner == SEQUENCE_NO_TYPE) {
		return false;
	}
	/* Where all calls wait on one thing, it need not be named. */
	all = count_type(sequence, pause->entry, SEQUENCE_ANY);
	its = count_type(sequence, pause->entry, pause->arg);
	return pause->arg == SEQUENCE_ANY || its < all;
}

void turns_find(const struct sequences *sequences, const struct timeline *timeline,
		const struct sequence *sequence, turn_list *ret)
{
	size_t sleeps = count_type(sequence, TYPE_SLEEP, SEQUENCE_ANY);
	pause_list pauses = { 0 };

	find_pauses(sequences, timeline, sequence, &pauses);
	VEC_EACH(&pauses, pause) {
		struct turn turn = { .is_timed = pause->by_timer * 2 > pause->count };

		if (!is_worth(sequences, sequence, pause, sleeps)) {
			continue;
		}
		if (pause->entry == SEQUENCE_NO_TYPE) {
			take_sleep(sequence, &turn);
		} else {
			take_call(sequences, pause, &turn);
		}
		if (measure_turn(sequence, &turn)) {
			add_turn(ret, turn);
		} else {
			vec_fini(&turn.windows);
		}
	}
	vec_fini(&pauses);
}

void turns_fini(turn_list *turns)
{
	VEC_EACH(turns, one) {
		vec_fini(&one->windows);
	}
	vec_fini(turns);
}
