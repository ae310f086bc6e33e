/*
 * contexts: whether the CPU of the stream is in an interrupt, as far as the chunk tells; who wakes
 * (kernel/wake-context.h).
 */
#include <assert.h>

#include "base/mem.h"
#include "engine/worker/records.h"

#define PAIR(number, entry, exit, kind) [number] = { { entry, exit }, kind },

static const struct {
	const char *names[2];
	enum wake_context kind;
} pairs[] = { WAKE_PAIRS_OF(PAIR)[WAKE_PAIRS] = { { NULL }, WAKE_HARD } };

#define FOLLOWED 0x80 /* worker->contexts: beside a bit for each pair that counts */

_Static_assert(WAKE_PAIRS < 7, "a bit for each, and one for the vectors, below FOLLOWED");

/* Those that end, too.  With PREEMPT_RT soft ones run in threads. */
static uint8_t find_contexts(const struct worker *worker)
{
	uint8_t found = FOLLOWED | 1u << WAKE_PAIRS;

	for (unsigned int i = 0; i < WAKE_PAIRS; i++) {
		if ((pairs[i].kind == WAKE_HARD || !worker->is_rt) &&
		    plan_has_event(worker->plan, pairs[i].names[0]) &&
		    plan_has_event(worker->plan, pairs[i].names[1])) {
			found |= (uint8_t)(1u << i);
		}
	}
	return found;
}

uint32_t worker_vector_user(const char *event)
{
	size_t len = strlen(event);

	if (len > 6 && strcmp(event + len - 6, "_entry") == 0) {
		return WAKE_PAIRS;
	}
	return len > 5 && strcmp(event + len - 5, "_exit") == 0 ? WAKE_PAIRS | CONTEXT_ENDS
								: FOLLOWED;
}

void worker_on_context(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t user)
{
	uint32_t pair = user & ~CONTEXT_ENDS;

	if (worker->contexts == 0) {
		worker->contexts = find_contexts(worker);
	}
	if (pair > WAKE_PAIRS || !(worker->contexts & 1u << pair)) {
		return;
	}
	if (user & CONTEXT_ENDS) {
		wake_depth_leave(&worker->partial->depths[pairs[pair].kind]);
	} else {
		wake_depth_enter(&worker->partial->depths[pairs[pair].kind]);
	}
}

/* Before the first evidence it depends on the chunks before; behind it no interrupt is open that
 * the chunk does not show. */
void worker_note_waker(struct worker *worker, struct record *record)
{
	const struct wake_depth *depths = worker->partial->depths;
	struct current *current;

	assert_hot(worker->setup->names_wakers);
	worker_note_current(worker, record);
	if (worker->known != KNOWN_INITIAL) {
		record->arg32 =
			wake_context_waker(depths[WAKE_HARD].least > 0, depths[WAKE_SOFT].least > 0,
					   record->arg32, worker->serves);
		return;
	}
	current = &worker->partial->currents.at[worker->partial->currents.count - 1];
	for (unsigned int i = 0; i < WAKE_CONTEXTS; i++) {
		current->limits[i] = wake_depth_limit(depths[i]);
	}
}
