/*
 * shard-select: what counts when the user selects threads or CPUs.
 *
 * A figure counts if the event that adds it belongs to a selected thread and CPU.  What is known of
 * the thread when it is switched in decides for all that follows until it is switched in again: its
 * tid, its process, its name.  (A thread that was never switched in: what is known at the event.)
 * So the result does not depend on where windows and chunks end, although workers add up what a
 * thread does while it is on a CPU.
 *
 * Analyses need to know nothing of this: what does not count goes to rows of accumulator->left_out,
 * which nobody reads.
 */
#include <assert.h>

#include "engine/tables/shard.h"

static bool is_picked(const struct layout *layout, struct thread *thread)
{
	if ((thread->picked & (PICKED_YES | PICKED_NO)) == 0) {
		thread->picked = selection_wants_thread(layout->setup->selection, &thread->view)
					 ? PICKED_YES
					 : PICKED_NO;
	}
	return thread->picked & PICKED_YES;
}

void shard_pick(const struct shard *shard, struct thread *thread)
{
	thread->picked = 0;
	(void)is_picked(shard->layout, thread);
	thread->picked |= PICKED_STAYS;
}

void shard_select(struct shard *shard, struct thread *thread, uint64_t cpu)
{
	const struct layout *layout = shard->layout;

	assert(layout->selects != 0);
	shard->left_out = 0;
	if ((layout->selects & OF_ALL_THREADS) && !is_picked(layout, thread)) {
		shard->left_out |= OF_ALL_THREADS;
	}
	if (!selection_wants_cpu(layout->setup->selection, cpu)) {
		shard->left_out |= OF_ALL_CPUS;
	}
	shard->has_picked |= shard->left_out == 0;
}

void shard_select_cpu(struct shard *shard, uint64_t cpu)
{
	const struct layout *layout = shard->layout;

	assert(layout->selects != 0);
	shard->left_out = layout->selects & OF_ALL_THREADS;
	if (!selection_wants_cpu(layout->setup->selection, cpu)) {
		shard->left_out |= OF_ALL_CPUS;
	}
	shard->has_picked |= shard->left_out == 0;
}

void shard_leave_out(struct shard *shard, uint8_t left_out, uint64_t cpu)
{
	const struct layout *layout = shard->layout;

	shard->left_out = left_out & OF_ALL_THREADS;
	if ((layout->selects & OF_ALL_CPUS) &&
	    !selection_wants_cpu(layout->setup->selection, cpu)) {
		shard->left_out |= OF_ALL_CPUS;
	}
}
